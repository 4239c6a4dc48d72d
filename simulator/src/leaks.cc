// The leak report at process exit.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>

#include "config.h"
#include "device.h"
#include "handles.h"
#include "host_memory.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

constexpr std::size_t kDetailsPerKind = 20;

struct Item {
    std::string kind;
    const void *address = nullptr;
    std::uint64_t bytes = 0;
    int device = 0;
    bool process_lifetime = false;
    const char *api = "";
};

std::vector<Item> Collect() {
    std::vector<Item> items;
    for (Device *device : Devices()) {
        for (const Block &block : device->arena.LiveBlocks()) {
            items.push_back({"device memory", reinterpret_cast<const void *>(block.base), block.bytes, device->ordinal,
                             block.process_lifetime, block.api});
        }
    }
    for (const auto &block : LiveHostBlocks()) {
        items.push_back({block->registered ? "registered host memory" : "pinned host memory", block->base, block->bytes,
                         block->device, block->process_lifetime.load(), block->api});
    }
    for (const auto &object : AllObjects()) {
        if (!object->internal) {
            items.push_back(
                {object->kind, object->handle, 0, object->device, object->process_lifetime.load(), object->api});
        }
    }
    return items;
}

std::vector<LeakCount> Count(const std::vector<Item> &items) {
    std::map<std::string, LeakCount> counts;
    for (const Item &item : items) {
        LeakCount &count = counts[item.kind];
        count.kind = item.kind;
        if (item.process_lifetime) {
            ++count.process_lifetime;
        } else {
            ++count.leaked;
            count.bytes += item.bytes;
        }
    }
    std::vector<LeakCount> list;
    for (const auto &entry : counts) { list.push_back(entry.second); }
    return list;
}

std::string Report(const std::vector<Item> &items, const std::vector<LeakCount> &counts, std::uint64_t leaked) {
    std::uint64_t kept = 0;
    for (const LeakCount &count : counts) { kept += count.process_lifetime; }
    std::string text = Text("fl-sim: leak report (", Profile().vendor, ", pid ", getpid(), "): ", leaked,
                            " objects leaked, ", kept, " of process lifetime\n");
    for (const LeakCount &count : counts) {
        text += Text("fl-sim:   ", count.kind, ": ", count.leaked, " leaked");
        text += count.bytes > 0 ? Text(" (", count.bytes, " bytes)") : std::string();
        text += Text(", ", count.process_lifetime, " of process lifetime\n");
        std::size_t shown = 0;
        for (const Item &item : items) {
            if (item.kind != count.kind || item.process_lifetime) {
                continue;
            }
            if (++shown > kDetailsPerKind) {
                text += Text("fl-sim:     and ", count.leaked - kDetailsPerKind, " more\n");
                break;
            }
            text
                += Text("fl-sim:     ", item.address, item.bytes > 0 ? Text(", ", item.bytes, " bytes") : std::string(),
                        ", device ", item.device, ", made by ", item.api, "\n");
        }
    }
    return text;
}

void WriteJson(const std::string &path, const std::vector<LeakCount> &counts, std::uint64_t leaked) {
    std::string text = Text("{\"vendor\":", JsonString(Profile().vendor), ",\"pid\":", getpid(), ",\"leaked\":", leaked,
                            ",\"faults\":", FaultCount(), ",\"kinds\":[");
    const char *comma = "";
    for (const LeakCount &count : counts) {
        text += Text(comma, "{\"kind\":", JsonString(count.kind), ",\"leaked\":", count.leaked,
                     ",\"process_lifetime\":", count.process_lifetime, ",\"bytes\":", count.bytes, "}");
        comma = ",";
    }
    text += "]}\n";
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) {
        WriteAll(STDERR_FILENO,
                 Text("fl-sim: FL_SIM_LEAK_REPORT='", path, "' cannot be written (", std::strerror(errno), ")\n"));
        return;
    }
    WriteAll(fd, text);
    close(fd);
}

std::atomic<bool> g_used{false};
std::atomic<bool> g_reported{false};

// A destructor function runs after the destructors of static objects and after atexit handlers, so what those release
// is not reported. Priority 101 is the last one that programs may use.
__attribute__((destructor(101))) void ReportAtExit() {
    if (!g_used.load() || InForkedChild() || g_reported.exchange(true)) {
        return;
    }
    const Config &config = GetConfig();
    if (config.leaks == LeakMode::kOff) {
        return;
    }
    const std::vector<Item> items = Collect();
    const std::vector<LeakCount> counts = Count(items);
    std::uint64_t leaked = 0;
    for (const LeakCount &count : counts) { leaked += count.leaked; }
    if (!config.leak_report.empty()) {
        WriteJson(config.leak_report, counts, leaked);
    }
    if (leaked > 0) {
        WriteAll(STDERR_FILENO, Report(items, counts, leaked));
        if (config.leaks == LeakMode::kFail) {
            std::fflush(nullptr);
            _exit(kLeakExitCode);
        }
    }
}

} // namespace

void NoteEngineUsed() { g_used.store(true, std::memory_order_relaxed); }

std::vector<LeakCount> LiveObjects() { return Count(Collect()); }

} // namespace fl::sim

// That it is there tells generated code that this is no vendor's library.
extern "C" __attribute__((visibility("default"))) int fl_simulated_sdk(void) { return 1; }

// Visible whatever the flags of the library that this is linked into: generated code looks for it.
extern "C" __attribute__((visibility("default"))) void fl_process_lifetime_object(const void *handle_or_pointer) {
    using namespace fl::sim;
    if (handle_or_pointer == nullptr || InForkedChild() || MarkObject(handle_or_pointer)) {
        return;
    }
    const int owner = OwnerOf(handle_or_pointer);
    if (owner >= 0) {
        Devices()[static_cast<std::size_t>(owner)]->arena.Mark(handle_or_pointer);
    } else if (const auto block = FindHostBlock(handle_or_pointer)) {
        block->process_lifetime.store(true);
    }
}
