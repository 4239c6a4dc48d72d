// The handle table. Values are addresses inside a reserved, inaccessible window, so that following one ends the
// program, and they are never used twice, so that use after destroy is always found.
#include "handles.h"

#include <sys/mman.h>

#include <map>
#include <mutex>

#include "device.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

constexpr std::size_t kStride = 64;
constexpr std::size_t kWindowBytes = std::size_t{16} << 30;

struct Table {
    std::mutex mutex;
    std::byte *window = nullptr;
    std::map<std::size_t, std::shared_ptr<Object>> live; // by number, so in the order of creation
    std::vector<const char *> kinds;                     // by number, also of destroyed ones: for explanations
};

Table &TheTable() {
    static Table *const table = [] {
        auto *fresh = new Table;
        void *window = mmap(nullptr, kWindowBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        fresh->window = window == MAP_FAILED ? nullptr : static_cast<std::byte *>(window);
        return fresh;
    }();
    return *table;
}

// The number behind a handle value that was given out at some time.
std::optional<std::size_t> Number(const Table &table, const void *handle) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    const auto base = reinterpret_cast<std::uintptr_t>(table.window);
    if (table.window == nullptr || value < base || (value - base) % kStride != 0
        || (value - base) / kStride >= table.kinds.size()) {
        return std::nullopt;
    }
    return (value - base) / kStride;
}

std::string WhyNot(const Table &table, Handle handle, const char *kind) {
    if (handle == nullptr) {
        return Text("the ", kind, " is null");
    }
    const std::optional<std::size_t> number = Number(table, handle);
    if (!number) {
        return Text(handle, " is not a ", kind, " and never was (unknown pointer)");
    }
    if (std::strcmp(table.kinds[*number], kind) != 0) {
        return Text(handle, " is a ", table.kinds[*number], ", not a ", kind);
    }
    return Text("the ", kind, " ", handle, " was destroyed before (use after destroy)");
}

} // namespace

Result AddObject(const std::shared_ptr<Object> &object) {
    Table &table = TheTable();
    const std::lock_guard lock(table.mutex);
    const std::size_t number = table.kinds.size();
    if (table.window == nullptr || (number + 1) * kStride > kWindowBytes) {
        return Result::kOutOfMemory;
    }
    object->handle = table.window + number * kStride;
    object->api = CurrentApi();
    table.kinds.push_back(object->kind);
    table.live.emplace(number, object);
    return Result::kSuccess;
}

std::shared_ptr<Object> LookUp(Handle handle, const char *kind) {
    Table &table = TheTable();
    std::string reason;
    {
        const std::lock_guard lock(table.mutex);
        if (const std::optional<std::size_t> number = Number(table, handle)) {
            const auto found = table.live.find(*number);
            if (found != table.live.end() && std::strcmp(found->second->kind, kind) == 0) {
                return found->second;
            }
        }
        reason = WhyNot(table, handle, kind);
    }
    Fault(Result::kInvalidHandle, reason);
    return nullptr;
}

std::shared_ptr<Object> RemoveObject(Handle handle, const char *kind) {
    Table &table = TheTable();
    std::string reason;
    {
        const std::lock_guard lock(table.mutex);
        if (const std::optional<std::size_t> number = Number(table, handle)) {
            const auto found = table.live.find(*number);
            if (found != table.live.end() && std::strcmp(found->second->kind, kind) == 0) {
                std::shared_ptr<Object> object = std::move(found->second);
                table.live.erase(found);
                return object;
            }
        }
        reason = WhyNot(table, handle, kind);
    }
    Fault(Result::kInvalidHandle, reason);
    return nullptr;
}

std::vector<std::shared_ptr<Object>> AllObjects() {
    Table &table = TheTable();
    const std::lock_guard lock(table.mutex);
    std::vector<std::shared_ptr<Object>> objects;
    objects.reserve(table.live.size());
    for (const auto &entry : table.live) { objects.push_back(entry.second); }
    return objects;
}

bool MarkObject(const void *handle) {
    Table &table = TheTable();
    const std::lock_guard lock(table.mutex);
    const std::optional<std::size_t> number = Number(table, handle);
    if (!number) {
        return false;
    }
    const auto found = table.live.find(*number);
    if (found == table.live.end()) {
        return false;
    }
    found->second->process_lifetime.store(true);
    return true;
}

} // namespace fl::sim
