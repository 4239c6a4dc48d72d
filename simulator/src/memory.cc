// Allocation functions and pools of the public interface.
#include "arena.h"
#include "device.h"
#include "host_memory.h"
#include "stream.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

std::shared_ptr<Pool> FindPool(Handle handle) { return LookUpAs<Pool>(handle, kPoolKind); }

Arena &ArenaOf(int device) { return Devices()[static_cast<std::size_t>(device)]->arena; }

// The arena that owns an address that is about to be freed; null, with a fault, if none.
Arena *ArenaToFree(const void *pointer) {
    const int owner = OwnerOf(pointer);
    if (owner >= 0) {
        return &ArenaOf(owner);
    }
    Fault(Result::kInvalidAddress, Text("unknown pointer: ", pointer, " is not device memory and cannot be freed"));
    return nullptr;
}

} // namespace

Result Malloc(void **pointer, std::size_t bytes) {
    if (pointer == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    *pointer = nullptr;
    Result result;
    Device *const device = CurrentDevice(&result);
    if (device == nullptr || bytes == 0) {
        return result;
    }
    std::shared_ptr<Block> block;
    result = device->arena.Allocate(bytes, nullptr, false, &block);
    if (result == Result::kSuccess) {
        *pointer = reinterpret_cast<void *>(block->base);
    }
    return result;
}

Result Free(void *pointer) {
    if (pointer == nullptr) {
        return Result::kSuccess;
    }
    Arena *const arena = ArenaToFree(pointer);
    return arena == nullptr ? Result::kInvalidAddress : arena->Free(reinterpret_cast<std::uintptr_t>(pointer));
}

Result MallocAsync(void **pointer, std::size_t bytes, Handle stream, Handle pool) {
    if (pointer == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    *pointer = nullptr;
    Result result;
    const auto target = FindStream(stream, &result);
    if (target == nullptr) {
        return result;
    }
    Device &device = *Devices()[static_cast<std::size_t>(target->device)];
    std::shared_ptr<Pool> account;
    if (pool == nullptr) {
        const std::lock_guard lock(device.mutex);
        account = device.current_pool;
    } else {
        account = FindPool(pool);
        if (account == nullptr) {
            return Result::kInvalidHandle;
        }
        if (account->device != device.ordinal) {
            return Fault(Result::kInvalidHandle, Text("wrong device: a pool of device ", account->device,
                                                      " with a stream of device ", device.ordinal));
        }
    }
    if (bytes == 0) {
        return Result::kSuccess;
    }
    std::shared_ptr<Block> block;
    result = device.arena.Allocate(bytes, account, true, &block);
    if (result == Result::kOutOfMemory && !OnWorkerThread()) {
        // Memory that the stream is about to free can be used by an allocation ordered behind it. Without a pending
        // free the second try still matters: the free may have run since the first one.
        const Result waited = device.arena.HasPendingFrees() ? target->Synchronize() : Result::kSuccess;
        if (waited != Result::kSuccess) {
            return waited;
        }
        result = device.arena.Allocate(bytes, account, true, &block);
    }
    if (result != Result::kSuccess) {
        return result;
    }
    Arena *const arena = &device.arena;
    result = target->Enqueue([arena, block] {
        arena->MarkReady(block);
        return Result::kSuccess;
    });
    if (result != Result::kSuccess) {
        const Result freed = arena->Free(block->base);
        return freed == Result::kSuccess ? result : freed;
    }
    *pointer = reinterpret_cast<void *>(block->base);
    return Result::kSuccess;
}

Result FreeAsync(void *pointer, Handle stream) {
    Result result;
    const auto target = FindStream(stream, &result);
    if (target == nullptr || pointer == nullptr) {
        return result;
    }
    Arena *const arena = ArenaToFree(pointer);
    if (arena == nullptr) {
        return Result::kInvalidAddress;
    }
    const int owner = OwnerOf(pointer);
    if (owner != target->device) {
        return Fault(Result::kInvalidAddress, Text("wrong device: ", pointer, " belongs to device ", owner,
                                                   ", but the stream to device ", target->device));
    }
    std::shared_ptr<Block> block;
    result = arena->BeginFree(reinterpret_cast<std::uintptr_t>(pointer), &block);
    return result != Result::kSuccess ? result : target->Enqueue([arena, block] { return arena->FinishFree(block); });
}

Result PointerAttributes(PointerInfo *info, const void *pointer) {
    if (info == nullptr || pointer == nullptr) {
        return Fault(Result::kInvalidValue, "a pointer is null");
    }
    *info = PointerInfo();
    const int owner = OwnerOf(pointer);
    if (owner >= 0) {
        Block block;
        if (ArenaOf(owner).Find(pointer, &block) == nullptr) {
            // Says which kind of stray address it is.
            return ArenaOf(owner).Check(pointer, 1, Moment::kCall, nullptr);
        }
        info->kind = PointerKind::kDevice;
        info->device = owner;
        info->base = reinterpret_cast<void *>(block.base);
        info->bytes = block.bytes;
        info->process_lifetime = block.process_lifetime;
        return Result::kSuccess;
    }
    if (const auto block = FindHostBlock(pointer)) {
        info->kind = PointerKind::kHost;
        info->device = block->device;
        info->base = block->base;
        info->bytes = block->bytes;
        info->process_lifetime = block->process_lifetime.load();
    }
    return Result::kSuccess;
}

Result DefaultPool(Handle *pool, int device) {
    Result result;
    Device *const found = FindDevice(device, &result);
    if (found == nullptr) {
        return result;
    }
    if (pool == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    *pool = found->default_pool->handle;
    return Result::kSuccess;
}

Result CurrentPool(Handle *pool, int device) {
    Result result;
    Device *const found = FindDevice(device, &result);
    if (found == nullptr) {
        return result;
    }
    if (pool == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    const std::lock_guard lock(found->mutex);
    *pool = found->current_pool->handle;
    return Result::kSuccess;
}

Result SetCurrentPool(int device, Handle pool) {
    Result result;
    Device *const found = FindDevice(device, &result);
    if (found == nullptr) {
        return result;
    }
    const auto object = FindPool(pool);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    if (object->device != device) {
        return Fault(Result::kInvalidHandle,
                     Text("wrong device: a pool of device ", object->device, " for device ", device));
    }
    const std::lock_guard lock(found->mutex);
    found->current_pool = object;
    return Result::kSuccess;
}

Result CreatePool(Handle *pool, int device) {
    Result result;
    Device *const found = FindDevice(device, &result);
    if (found == nullptr) {
        return result;
    }
    if (pool == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    const auto object = std::make_shared<Pool>(device);
    result = AddObject(object);
    if (result == Result::kSuccess) {
        found->arena.AddPool(object);
        *pool = object->handle;
    }
    return result;
}

Result DestroyPool(Handle pool) {
    const auto object = FindPool(pool);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    if (object->internal) {
        return Fault(Result::kInvalidValue, "a device's default pool cannot be destroyed");
    }
    if (RemoveObject(pool, kPoolKind) == nullptr) {
        return Result::kInvalidHandle;
    }
    Device &device = *Devices()[static_cast<std::size_t>(object->device)];
    {
        const std::lock_guard lock(device.mutex);
        if (device.current_pool == object) {
            device.current_pool = device.default_pool;
        }
    }
    device.arena.ClosePool(object);
    return Result::kSuccess;
}

Result GetPoolAttribute(Handle pool, PoolAttribute attribute, std::uint64_t *value) {
    const auto object = FindPool(pool);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    if (value == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    return ArenaOf(object->device).ReadPool(object, attribute, value);
}

Result SetPoolAttribute(Handle pool, PoolAttribute attribute, std::uint64_t value) {
    const auto object = FindPool(pool);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    const Result result = ArenaOf(object->device).WritePool(object, attribute, value);
    return result == Result::kSuccess
             ? result
             : Fault(result, "this pool attribute cannot be set to this value (watermarks take only 0)");
}

Result TrimPool(Handle pool, std::size_t min_bytes_to_keep) {
    const auto object = FindPool(pool);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    ArenaOf(object->device).Trim(object, min_bytes_to_keep);
    return Result::kSuccess;
}

} // namespace fl::sim
