// API calls: counting, fault injection, the trace file, and the record of faults.
#include "trace.h"

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <string_view>
#include <unordered_map>

#include "config.h"
#include "device.h"
#include "text.h"

namespace fl::sim {
namespace {

// Only trivially destructible thread locals: they stay usable in static destructors.
thread_local const char *t_api = nullptr;
// The calls around the current one, when a vendor function calls another: their names come back when the inner one
// ends.
constexpr int kMaxNesting = 8;
thread_local const char *t_outer[kMaxNesting];
thread_local int t_nesting = 0;
thread_local Result t_last_error = Result::kSuccess;

struct Rule {
    std::string name;
    std::uint64_t number = 0;
    bool from_then_on = false;
    Result result = Result::kInternal;
    std::uint64_t seen = 0;
};

struct State {
    std::mutex mutex;
    std::unordered_map<std::string, std::uint64_t> counts;
    std::vector<Rule> rules;
    std::string last_fault;
    std::uint64_t faults = 0;
    int trace_fd = -1;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

std::optional<Result> ParseKind(std::string_view kind) {
    if (kind == "oom") {
        return Result::kOutOfMemory;
    }
    if (kind == "not_ready") {
        return Result::kNotReady;
    }
    if (kind == "invalid") {
        return Result::kInvalidValue;
    }
    if (kind == "internal") {
        return Result::kInternal;
    }
    if (kind == "handle") {
        return Result::kInvalidHandle;
    }
    if (kind == "timeout") {
        return Result::kTimeout;
    }
    if (kind == "unsupported") {
        return Result::kNotSupported;
    }
    return std::nullopt;
}

std::optional<Rule> ParseRule(std::string_view text) {
    Rule rule;
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0) {
        return std::nullopt;
    }
    rule.name = text.substr(0, colon);
    std::string_view rest = text.substr(colon + 1);
    const std::size_t second = rest.find(':');
    if (second != std::string_view::npos) {
        const std::optional<Result> kind = ParseKind(rest.substr(second + 1));
        if (!kind) {
            return std::nullopt;
        }
        rule.result = *kind;
        rest = rest.substr(0, second);
    }
    if (!rest.empty() && rest.back() == '+') {
        rule.from_then_on = true;
        rest.remove_suffix(1);
    }
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), rule.number);
    if (rest.empty() || error != std::errc() || end != rest.data() + rest.size() || rule.number == 0) {
        return std::nullopt;
    }
    return rule;
}

bool ParseRules(std::string_view text, std::vector<Rule> *rules) {
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::optional<Rule> rule = ParseRule(text.substr(0, comma));
        if (!rule) {
            return false;
        }
        rules->push_back(*rule);
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    return true;
}

State &TheState() {
    static State *const state = [] {
        auto *fresh = new State;
        const Config &config = GetConfig();
        if (!ParseRules(config.failures, &fresh->rules)) {
            fresh->rules.clear();
            WriteAll(STDERR_FILENO, Text("fl-sim: FL_SIM_FAIL='", config.failures,
                                         "' is not a list of name:number[+][:kind]; no fault is injected\n"));
        }
        if (!config.trace.empty()) {
            fresh->trace_fd = open(config.trace.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
            if (fresh->trace_fd < 0) {
                WriteAll(STDERR_FILENO, Text("fl-sim: FL_SIM_TRACE='", config.trace, "' cannot be opened (",
                                             std::strerror(errno), "); no trace is written\n"));
            }
        }
        return fresh;
    }();
    return *state;
}

long ThreadId() { return syscall(SYS_gettid); }

// One line per write: lines of several threads and processes do not mix.
void WriteTrace(State &state, const char *type, const char *api, const char *result, const std::string &detail) {
    const auto now = std::chrono::steady_clock::now() - state.start;
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    std::string line
        = Text("{\"type\":\"", type, "\",\"api\":", JsonString(api), ",\"device\":", ThreadDevice(),
               ",\"pid\":", getpid(), ",\"thread\":", ThreadId(), ",\"t_us\":", micros, ",\"result\":\"", result, "\"");
    if (!detail.empty()) {
        line += Text(",\"detail\":", JsonString(detail));
    }
    line += "}\n";
    WriteAll(state.trace_fd, line);
}

} // namespace

std::string JsonString(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof(escaped), "\\u%04x", byte);
            out += escaped;
        } else {
            out += c;
        }
    }
    return out + '"';
}

void WriteAll(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(fd, text.data(), text.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return;
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

const char *CurrentApi() { return t_api == nullptr ? "engine" : t_api; }

void SetCurrentApi(const char *api) { t_api = api; }

Result Fault(Result result, const std::string &explanation) {
    State &state = TheState();
    const char *const api = CurrentApi();
    {
        const std::lock_guard lock(state.mutex);
        state.last_fault = Text(api, ": ", explanation);
        ++state.faults;
    }
    if (!GetConfig().quiet) {
        WriteAll(STDERR_FILENO, Text("fl-sim: fault: ", api, ": ", explanation, "\n"));
    }
    if (state.trace_fd >= 0) {
        WriteTrace(state, "fault", api, ResultName(result), explanation);
    }
    return result;
}

ApiCall::ApiCall(const char *api) : api_(api) {
    if (InForkedChild()) {
        // The locks may be held by threads that do not exist here.
        injected_ = Result::kIllegalState;
        return;
    }
    if (t_nesting < kMaxNesting) {
        t_outer[t_nesting] = t_api;
    }
    ++t_nesting;
    t_api = api;
    State &state = TheState();
    const std::lock_guard lock(state.mutex);
    ++state.counts[api];
    for (Rule &rule : state.rules) {
        if (rule.name != api) {
            continue;
        }
        ++rule.seen;
        if (!injected_ && (rule.seen == rule.number || (rule.from_then_on && rule.seen > rule.number))) {
            injected_ = rule.result;
            detail_ = "injected";
        }
    }
}

ApiCall::~ApiCall() {
    if (InForkedChild()) {
        return;
    }
    --t_nesting;
    t_api = t_nesting < kMaxNesting ? t_outer[t_nesting] : nullptr;
    State &state = TheState();
    if (state.trace_fd >= 0) {
        WriteTrace(state, "call", api_, ResultName(result_), detail_);
    }
}

Result ApiCall::Return(Result result) {
    result_ = result;
    if (result != Result::kSuccess && result != Result::kNotReady) {
        t_last_error = result;
    }
    return result;
}

void ApiCall::Detail(std::string text) { detail_ = std::move(text); }

Result PeekLastError() { return t_last_error; }

Result TakeLastError() { return std::exchange(t_last_error, Result::kSuccess); }

std::uint64_t ApiCallCount(const char *api) {
    State &state = TheState();
    const std::lock_guard lock(state.mutex);
    const auto found = state.counts.find(api);
    return found == state.counts.end() ? 0 : found->second;
}

Result SetFailures(const char *rules) {
    std::vector<Rule> parsed;
    if (rules != nullptr && !ParseRules(rules, &parsed)) {
        return Result::kInvalidValue;
    }
    State &state = TheState();
    const std::lock_guard lock(state.mutex);
    state.rules = std::move(parsed);
    return Result::kSuccess;
}

std::string LastFault() {
    State &state = TheState();
    const std::lock_guard lock(state.mutex);
    return state.last_fault;
}

std::uint64_t FaultCount() {
    State &state = TheState();
    const std::lock_guard lock(state.mutex);
    return state.faults;
}

void ClearFaults() {
    State &state = TheState();
    const std::lock_guard lock(state.mutex);
    state.last_fault.clear();
    state.faults = 0;
}

} // namespace fl::sim

// Visible whatever the flags of the library that this is linked into: other libraries look for them.
#pragma GCC visibility push(default)
extern "C" {

int fl_sim_set_failures(const char *rules) { return fl::sim::SetFailures(rules) == fl::sim::Result::kSuccess ? 0 : 1; }

unsigned long long fl_sim_fault_count(void) { return fl::sim::FaultCount(); }

size_t fl_sim_last_fault(char *buffer, size_t bytes) {
    const std::string text = fl::sim::LastFault();
    if (buffer != nullptr && bytes > 0) {
        const std::size_t length = text.size() < bytes - 1 ? text.size() : bytes - 1;
        std::memcpy(buffer, text.data(), length);
        buffer[length] = '\0';
    }
    return text.size();
}
}
#pragma GCC visibility pop
