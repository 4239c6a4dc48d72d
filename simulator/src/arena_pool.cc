// The arena's accounts: memory limit, pools, and what the leak report asks.
#include <algorithm>

#include "arena.h"

namespace fl::sim {

// Whether `fresh` more bytes fit under the limit; unused pool memory is given up when it does not. Mutex held.
bool Arena::FitsLimit(std::size_t fresh) {
    std::uint64_t slack = 0;
    for (const auto &pool : pools_) { slack += pool->reserved - pool->used; }
    if (used_ + slack + fresh <= limit_) {
        return true;
    }
    if (used_ + fresh > limit_) {
        return false;
    }
    for (const auto &pool : pools_) { pool->reserved = pool->used; }
    return true;
}

void Arena::MemoryInfo(std::size_t *free_bytes, std::size_t *total_bytes) {
    const std::lock_guard lock(mutex_);
    std::uint64_t taken = used_;
    for (const auto &pool : pools_) { taken += pool->reserved - pool->used; }
    *total_bytes = limit_;
    *free_bytes = limit_ - static_cast<std::size_t>(taken);
}

std::shared_ptr<Block> Arena::Find(const void *address, Block *copy) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Block> block = FindLocked(reinterpret_cast<std::uintptr_t>(address));
    if (block != nullptr) {
        *copy = *block;
    }
    return block;
}

bool Arena::Mark(const void *address) {
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<Block> block = FindLocked(reinterpret_cast<std::uintptr_t>(address));
    if (block == nullptr) {
        return false;
    }
    block->process_lifetime = true;
    return true;
}

std::vector<Block> Arena::LiveBlocks() {
    const std::lock_guard lock(mutex_);
    std::vector<Block> blocks;
    for (const auto &entry : blocks_) {
        if (!entry.second->free_called) {
            blocks.push_back(*entry.second);
        }
    }
    return blocks;
}

bool Arena::HasPendingFrees() {
    const std::lock_guard lock(mutex_);
    return std::any_of(blocks_.begin(), blocks_.end(), [](const auto &entry) { return entry.second->free_called; });
}

void Arena::AddPool(const std::shared_ptr<Pool> &pool) {
    const std::lock_guard lock(mutex_);
    pools_.push_back(pool);
}

void Arena::ClosePool(const std::shared_ptr<Pool> &pool) {
    const std::lock_guard lock(mutex_);
    pool->destroyed = true;
    pool->reserved = pool->used;
    std::erase(pools_, pool);
}

void Arena::ReleaseUnused() {
    const std::lock_guard lock(mutex_);
    for (const auto &pool : pools_) {
        pool->reserved = std::max(pool->used, std::min(pool->reserved, pool->threshold));
    }
}

void Arena::Trim(const std::shared_ptr<Pool> &pool, std::uint64_t keep) {
    const std::lock_guard lock(mutex_);
    pool->reserved = std::max(pool->used, std::min(pool->reserved, keep));
}

Result Arena::ReadPool(const std::shared_ptr<Pool> &pool, PoolAttribute attribute, std::uint64_t *value) {
    const std::lock_guard lock(mutex_);
    switch (attribute) {
    case PoolAttribute::kReleaseThreshold:
        *value = pool->threshold;
        return Result::kSuccess;
    case PoolAttribute::kReservedCurrent:
        *value = pool->reserved;
        return Result::kSuccess;
    case PoolAttribute::kReservedHigh:
        *value = pool->reserved_high;
        return Result::kSuccess;
    case PoolAttribute::kUsedCurrent:
        *value = pool->used;
        return Result::kSuccess;
    case PoolAttribute::kUsedHigh:
        *value = pool->used_high;
        return Result::kSuccess;
    }
    return Result::kInvalidValue;
}

Result Arena::WritePool(const std::shared_ptr<Pool> &pool, PoolAttribute attribute, std::uint64_t value) {
    const std::lock_guard lock(mutex_);
    switch (attribute) {
    case PoolAttribute::kReleaseThreshold:
        pool->threshold = value;
        return Result::kSuccess;
    case PoolAttribute::kReservedHigh:
        if (value != 0) {
            return Result::kInvalidValue;
        }
        pool->reserved_high = pool->reserved;
        return Result::kSuccess;
    case PoolAttribute::kUsedHigh:
        if (value != 0) {
            return Result::kInvalidValue;
        }
        pool->used_high = pool->used;
        return Result::kSuccess;
    case PoolAttribute::kReservedCurrent:
    case PoolAttribute::kUsedCurrent:
        break;
    }
    return Result::kInvalidValue;
}

} // namespace fl::sim
