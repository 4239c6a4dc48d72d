#include "host_memory.h"

#include <cstdlib>
#include <cstring>

#include <map>
#include <mutex>

#include "device.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

struct Registry {
    std::mutex mutex;
    std::map<std::uintptr_t, std::shared_ptr<HostBlock>> blocks;
};

Registry &TheRegistry() {
    static Registry *const registry = new Registry;
    return *registry;
}

std::shared_ptr<HostBlock> FindLocked(Registry &registry, const void *address) {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    auto it = registry.blocks.upper_bound(value);
    if (it == registry.blocks.begin()) {
        return nullptr;
    }
    --it;
    return value - it->first < it->second->bytes ? it->second : nullptr;
}

Result Add(void *base, std::size_t bytes, bool registered) {
    Result result;
    const Device *const device = CurrentDevice(&result);
    if (device == nullptr) {
        return result;
    }
    auto block = std::make_shared<HostBlock>();
    block->base = static_cast<std::byte *>(base);
    block->bytes = bytes;
    block->device = device->ordinal;
    block->registered = registered;
    block->api = CurrentApi();
    Registry &registry = TheRegistry();
    const std::lock_guard lock(registry.mutex);
    registry.blocks.emplace(reinterpret_cast<std::uintptr_t>(base), std::move(block));
    return Result::kSuccess;
}

Result Remove(void *pointer, bool registered) {
    Registry &registry = TheRegistry();
    std::shared_ptr<HostBlock> block;
    {
        const std::lock_guard lock(registry.mutex);
        const auto found = registry.blocks.find(reinterpret_cast<std::uintptr_t>(pointer));
        if (found != registry.blocks.end() && found->second->registered == registered) {
            block = std::move(found->second);
            registry.blocks.erase(found);
        }
    }
    if (block == nullptr) {
        return Fault(Result::kInvalidValue, Text(pointer, " is not the start of ", registered ? "registered" : "pinned",
                                                 " host memory (double free or unknown pointer)"));
    }
    block->freed.store(true);
    return Result::kSuccess;
}

} // namespace

HostBlock::~HostBlock() {
    if (!registered) {
        std::free(base);
    }
}

std::shared_ptr<HostBlock> FindHostBlock(const void *address) {
    Registry &registry = TheRegistry();
    const std::lock_guard lock(registry.mutex);
    return FindLocked(registry, address);
}

Result CheckHost(const void *address, std::size_t bytes, std::shared_ptr<HostBlock> *block) {
    if (address == nullptr) {
        return Fault(Result::kInvalidValue, Text("null pointer where ", bytes, " bytes of host memory are needed"));
    }
    *block = FindHostBlock(address);
    if (*block != nullptr) {
        const auto offset = static_cast<std::size_t>(static_cast<const std::byte *>(address) - (*block)->base);
        if (bytes > (*block)->bytes - offset) {
            return Fault(Result::kInvalidValue,
                         Text("overflow: ", bytes, " bytes at ", address, " run ", bytes - ((*block)->bytes - offset),
                              " bytes past the end of the pinned host block of ", (*block)->bytes, " bytes"));
        }
    }
    return Result::kSuccess;
}

std::vector<std::shared_ptr<HostBlock>> LiveHostBlocks() {
    Registry &registry = TheRegistry();
    const std::lock_guard lock(registry.mutex);
    std::vector<std::shared_ptr<HostBlock>> blocks;
    for (const auto &entry : registry.blocks) { blocks.push_back(entry.second); }
    return blocks;
}

Result MallocHost(void **pointer, std::size_t bytes) {
    if (pointer == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    *pointer = nullptr;
    if (bytes == 0) {
        return Result::kSuccess;
    }
    if (bytes > SIZE_MAX / 2) {
        return Result::kOutOfMemory;
    }
    void *const memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == nullptr) {
        return Result::kOutOfMemory;
    }
    std::memset(memory, 0xFF, bytes);
    const Result result = Add(memory, bytes, false);
    if (result == Result::kSuccess) {
        *pointer = memory;
    } else {
        std::free(memory);
    }
    return result;
}

Result FreeHost(void *pointer) { return pointer == nullptr ? Result::kSuccess : Remove(pointer, false); }

Result HostRegister(void *pointer, std::size_t bytes) {
    if (pointer == nullptr || bytes == 0) {
        return Fault(Result::kInvalidValue, "an empty range cannot be registered");
    }
    if (OwnerOf(pointer) >= 0) {
        return Fault(Result::kInvalidValue, Text(pointer, " is a device address"));
    }
    if (FindHostBlock(pointer) != nullptr) {
        return Fault(Result::kInvalidValue, Text(pointer, " is registered or pinned already"));
    }
    return Add(pointer, bytes, true);
}

Result HostUnregister(void *pointer) { return Remove(pointer, true); }

} // namespace fl::sim
