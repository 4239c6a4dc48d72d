// Reads the environment. A value that cannot be used gives one message, and the default holds.
#include "config.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "fl_sim/engine.h"
#include "text.h"

namespace fl::sim {
namespace {

std::atomic<bool> g_forked{false};

void Complain(const char *name, const char *value, const std::string &wanted, const std::string &used) {
    WriteAll(STDERR_FILENO, Text("fl-sim: ", name, "='", value, "' is not ", wanted, "; using ", used, "\n"));
}

std::uint64_t ReadNumber(const char *name, std::uint64_t fallback, std::uint64_t least, std::uint64_t greatest) {
    const char *value = std::getenv(name);
    if (value == nullptr || *value == '\0') {
        return fallback;
    }
    char *end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(value, &end, 10);
    // strtoull takes "-1" and " 1": only plain digits are meant here.
    const bool digits = std::strspn(value, "0123456789") == std::strlen(value);
    if (!digits || errno != 0 || number < least || number > greatest) {
        Complain(name, value, Text("a number from ", least, " to ", greatest), Text(fallback));
        return fallback;
    }
    return number;
}

std::string ReadString(const char *name) {
    const char *value = std::getenv(name);
    return value == nullptr ? std::string() : std::string(value);
}

LeakMode ReadLeakMode() {
    const std::string value = ReadString("FL_SIM_LEAKS");
    if (value.empty() || value == "report") {
        return LeakMode::kReport;
    }
    if (value == "fail") {
        return LeakMode::kFail;
    }
    if (value == "off") {
        return LeakMode::kOff;
    }
    Complain("FL_SIM_LEAKS", value.c_str(), "report, fail or off", "report");
    return LeakMode::kReport;
}

Config Read() {
    Config config;
    config.devices = static_cast<int>(ReadNumber("FL_SIM_DEVICES", 2, 0, 64));
    config.memory_bytes = static_cast<std::size_t>(ReadNumber("FL_SIM_MEMORY_MB", 512, 1, 65536)) << 20;
    config.seed = ReadNumber("FL_SIM_SEED", 1, 0, UINT64_MAX);
    config.delay_us = static_cast<unsigned>(ReadNumber("FL_SIM_DELAY_US", 50, 0, 1000000));
    config.ccl_timeout_ms = static_cast<unsigned>(ReadNumber("FL_SIM_CCL_TIMEOUT_MS", 30000, 1, 3600000));
    config.leaks = ReadLeakMode();
    config.leak_report = ReadString("FL_SIM_LEAK_REPORT");
    config.trace = ReadString("FL_SIM_TRACE");
    config.failures = ReadString("FL_SIM_FAIL");
    config.quiet = ReadNumber("FL_SIM_QUIET", 0, 0, 1) == 1;
    return config;
}

} // namespace

const Config &GetConfig() {
    static const Config *const config = [] {
        pthread_atfork(nullptr, nullptr, [] { g_forked.store(true, std::memory_order_relaxed); });
        return new Config(Read());
    }();
    return *config;
}

bool InForkedChild() { return g_forked.load(std::memory_order_relaxed); }

const char *ResultName(Result result) {
    switch (result) {
    case Result::kSuccess:
        return "kSuccess";
    case Result::kNotReady:
        return "kNotReady";
    case Result::kOutOfMemory:
        return "kOutOfMemory";
    case Result::kInvalidValue:
        return "kInvalidValue";
    case Result::kInvalidHandle:
        return "kInvalidHandle";
    case Result::kInvalidDevice:
        return "kInvalidDevice";
    case Result::kNoDevice:
        return "kNoDevice";
    case Result::kInvalidAddress:
        return "kInvalidAddress";
    case Result::kInvalidDirection:
        return "kInvalidDirection";
    case Result::kNotSupported:
        return "kNotSupported";
    case Result::kIllegalState:
        return "kIllegalState";
    case Result::kInvalidUsage:
        return "kInvalidUsage";
    case Result::kTimeout:
        return "kTimeout";
    case Result::kRemoteError:
        return "kRemoteError";
    case Result::kInternal:
        return "kInternal";
    }
    return "unknown result";
}

const char *ResultText(Result result) {
    switch (result) {
    case Result::kSuccess:
        return "success";
    case Result::kNotReady:
        return "not ready";
    case Result::kOutOfMemory:
        return "out of memory";
    case Result::kInvalidValue:
        return "invalid argument";
    case Result::kInvalidHandle:
        return "invalid handle";
    case Result::kInvalidDevice:
        return "invalid device ordinal";
    case Result::kNoDevice:
        return "no device";
    case Result::kInvalidAddress:
        return "invalid device address";
    case Result::kInvalidDirection:
        return "invalid copy direction";
    case Result::kNotSupported:
        return "not supported";
    case Result::kIllegalState:
        return "illegal state";
    case Result::kInvalidUsage:
        return "invalid usage of a collective";
    case Result::kTimeout:
        return "timeout in a collective";
    case Result::kRemoteError:
        return "another rank failed";
    case Result::kInternal:
        return "internal error";
    }
    return "unknown result";
}

} // namespace fl::sim
