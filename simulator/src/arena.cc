// The arena's allocator and range checks. See arena_pool.cc for the accounts of pools.
#include "arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "device.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kGap = 256;              // inaccessible to every check, after each block
constexpr std::size_t kQuarantine = 16u << 20; // freed bytes that are kept from reuse, so that stale pointers are found
constexpr std::size_t kHistory = 4096;
constexpr int kFreedByte = 0xFF;

std::size_t RoundUp(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

std::string Address(std::uintptr_t address) { return Text(reinterpret_cast<const void *>(address)); }

} // namespace

PinnedRange &PinnedRange::operator=(PinnedRange &&other) noexcept {
    std::swap(arena_, other.arena_);
    std::swap(block_, other.block_);
    std::swap(view_, other.view_);
    return *this;
}

PinnedRange::~PinnedRange() {
    if (arena_ != nullptr) {
        arena_->Unpin(block_);
    }
}

bool Arena::MapWindow() {
    if (window_.load() != 0) {
        return true;
    }
    // Four times the limit: room for gaps, quarantine and fragmentation. The pages that are never touched cost nothing.
    const std::size_t bytes = limit_ * 4;
    const int fd = memfd_create("fl-sim-device-memory", MFD_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
        close(fd);
        return false;
    }
    void *const window = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    void *const view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    if (window == MAP_FAILED || view == MAP_FAILED) {
        return false;
    }
    madvise(view, bytes, MADV_DONTFORK);
    view_ = static_cast<std::byte *>(view);
    window_bytes_ = bytes;
    free_spans_.emplace(reinterpret_cast<std::uintptr_t>(window), bytes);
    window_.store(reinterpret_cast<std::uintptr_t>(window));
    return true;
}

bool Arena::Owns(const void *address) const {
    const std::uintptr_t begin = window_.load();
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    return begin != 0 && value >= begin && value - begin < window_bytes_;
}

std::optional<std::uintptr_t> Arena::TakeSpan(std::size_t span) {
    for (auto it = free_spans_.begin(); it != free_spans_.end(); ++it) {
        const auto [base, bytes] = *it;
        if (bytes >= span) {
            free_spans_.erase(it);
            if (bytes > span) {
                free_spans_.emplace(base + span, bytes - span);
            }
            return base;
        }
    }
    return std::nullopt;
}

void Arena::GiveSpan(std::uintptr_t base, std::size_t span) {
    auto next = free_spans_.lower_bound(base);
    if (next != free_spans_.end() && base + span == next->first) {
        span += next->second;
        next = free_spans_.erase(next);
    }
    if (next != free_spans_.begin()) {
        const auto previous = std::prev(next);
        if (previous->first + previous->second == base) {
            previous->second += span;
            return;
        }
    }
    free_spans_.emplace(base, span);
}

Result Arena::Allocate(std::size_t bytes, std::shared_ptr<Pool> pool, bool pending, std::shared_ptr<Block> *block) {
    if (bytes > limit_) {
        return Result::kOutOfMemory;
    }
    auto fresh = std::make_shared<Block>();
    fresh->bytes = bytes;
    fresh->footprint = RoundUp(bytes, kAlignment);
    fresh->state = pending ? BlockState::kPending : BlockState::kLive;
    fresh->pool = std::move(pool);
    fresh->api = CurrentApi();
    const std::size_t span = fresh->footprint + kGap;
    {
        const std::lock_guard lock(mutex_);
        if (!MapWindow()) {
            return Result::kOutOfMemory;
        }
        Pool *const account = fresh->pool.get();
        const std::uint64_t slack = account == nullptr ? 0 : account->reserved - account->used;
        const std::size_t from_slack = std::min<std::uint64_t>(slack, fresh->footprint);
        if (!FitsLimit(fresh->footprint - from_slack)) {
            return Result::kOutOfMemory;
        }
        std::optional<std::uintptr_t> base = TakeSpan(span);
        while (!base && !quarantine_.empty()) {
            GiveSpan(quarantine_.front().first, quarantine_.front().second);
            quarantined_ -= quarantine_.front().second;
            quarantine_.pop_front();
            base = TakeSpan(span);
        }
        if (!base) {
            return Result::kOutOfMemory;
        }
        fresh->base = *base;
        used_ += fresh->footprint;
        if (account != nullptr) {
            account->used += fresh->footprint;
            account->reserved = std::max(account->reserved, account->used);
            account->used_high = std::max(account->used_high, account->used);
            account->reserved_high = std::max(account->reserved_high, account->reserved);
        }
        // Nobody knows the address yet, but a stray one may be checked: fill before it becomes visible.
        std::memset(View(*base), kFreedByte, span);
        blocks_.emplace(*base, fresh);
    }
    *block = std::move(fresh);
    return Result::kSuccess;
}

void Arena::MarkReady(const std::shared_ptr<Block> &block) {
    const std::lock_guard lock(mutex_);
    if (block->state == BlockState::kPending) {
        block->state = BlockState::kLive;
    }
}

std::shared_ptr<Block> Arena::FindLocked(std::uintptr_t address) const {
    auto it = blocks_.upper_bound(address);
    if (it == blocks_.begin()) {
        return nullptr;
    }
    --it;
    const Block &block = *it->second;
    return address - block.base < std::max<std::size_t>(block.bytes, 1) ? it->second : nullptr;
}

std::string Arena::Explain(std::uintptr_t address, std::size_t bytes) const {
    auto it = blocks_.upper_bound(address);
    if (it != blocks_.begin()) {
        const Block &before = *std::prev(it)->second;
        const std::size_t past = address - (before.base + before.bytes);
        if (past <= kGap) {
            return Text("out of bounds: ", Address(address), " is ", past, " bytes past the end of the block of ",
                        before.bytes, " bytes at ", Address(before.base), " on device ", device_);
        }
    }
    // The newest entry first: an address may have been freed several times.
    for (auto freed = history_.rbegin(); freed != history_.rend(); ++freed) {
        if (address >= freed->base && address - freed->base < std::max<std::size_t>(freed->bytes, 1)) {
            return Text("use after free: ", Address(address), " lies in a block of ", freed->bytes, " bytes at ",
                        Address(freed->base), " on device ", device_, " that was freed (allocated by ", freed->api,
                        ")");
        }
    }
    return Text("unknown pointer: ", Address(address), " (", bytes, " bytes) is in no allocation of device ", device_);
}

Result Arena::Check(const void *pointer, std::size_t bytes, Moment moment, PinnedRange *pinned) {
    if (bytes == 0) {
        return Result::kSuccess;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    if (!Owns(pointer)) {
        if (pointer == nullptr) {
            return Fault(Result::kInvalidAddress,
                         Text("null pointer where ", bytes, " bytes of device memory are needed"));
        }
        const int owner = OwnerOf(pointer);
        if (owner >= 0) {
            return Fault(Result::kInvalidAddress, Text("wrong device: ", pointer, " belongs to device ", owner,
                                                       ", but the operation is on device ", device_));
        }
        return Fault(Result::kInvalidAddress,
                     Text("unknown pointer: ", pointer, " is no device address (host memory?), but ", bytes,
                          " bytes of memory of device ", device_, " are needed"));
    }
    std::string reason;
    {
        const std::lock_guard lock(mutex_);
        const std::shared_ptr<Block> block = FindLocked(address);
        if (block == nullptr) {
            reason = Explain(address, bytes);
        } else if (bytes > block->bytes - (address - block->base)) {
            reason = Text("overflow: ", bytes, " bytes at ", pointer, " run ",
                          bytes - (block->bytes - (address - block->base)), " bytes past the end of the block of ",
                          block->bytes, " bytes at ", Address(block->base), " on device ", device_, " (allocated by ",
                          block->api, ")");
        } else if (moment == Moment::kCall && block->free_called) {
            reason = Text("use after free: ", pointer, " lies in the block at ", Address(block->base), " on device ",
                          device_, " whose stream-ordered free was already called");
        } else if (moment == Moment::kRun && block->state == BlockState::kPending) {
            reason = Text("used too early: the stream-ordered allocation of the block at ", Address(block->base),
                          " on device ", device_, " has not run yet (missing wait between streams)");
        } else {
            if (pinned != nullptr) {
                ++block->pins;
                pinned->arena_ = this;
                pinned->block_ = block;
                pinned->view_ = View(address);
            }
            return Result::kSuccess;
        }
    }
    return Fault(Result::kInvalidAddress, reason);
}

void Arena::Unpin(const std::shared_ptr<Block> &block) {
    const std::lock_guard lock(mutex_);
    --block->pins;
    if (block->pins == 0 && block->state == BlockState::kFreed) {
        Release(block);
    }
}

// Gives the block's bytes back; the block is in no map any more and nobody uses it. Called with the mutex held.
void Arena::Release(const std::shared_ptr<Block> &block) {
    const std::size_t span = block->footprint + kGap;
    std::memset(View(block->base), kFreedByte, span);
    quarantine_.emplace_back(block->base, span);
    quarantined_ += span;
    while (quarantined_ > kQuarantine) {
        GiveSpan(quarantine_.front().first, quarantine_.front().second);
        quarantined_ -= quarantine_.front().second;
        quarantine_.pop_front();
    }
    used_ -= block->footprint;
    if (block->pool != nullptr && !block->pool->destroyed) {
        block->pool->used -= block->footprint;
    }
}

Result Arena::Free(std::uintptr_t address) {
    std::string reason;
    Result result = Result::kInvalidAddress;
    {
        const std::lock_guard lock(mutex_);
        const std::shared_ptr<Block> block = FindLocked(address);
        if (block == nullptr) {
            reason = Explain(address, 0);
            if (reason.starts_with("use after free")) {
                reason = "double free: " + reason;
            }
        } else if (block->base != address) {
            reason = Text("not the start of an allocation: ", Address(address), " is ", address - block->base,
                          " bytes into the block at ", Address(block->base), " on device ", device_);
        } else if (block->free_called) {
            reason = Text("double free: the stream-ordered free of ", Address(address), " was already called");
        } else {
            blocks_.erase(address);
            block->state = BlockState::kFreed;
            history_.push_back({block->base, block->bytes, block->api});
            if (history_.size() > kHistory) {
                history_.pop_front();
            }
            if (block->pins == 0) {
                Release(block);
                return Result::kSuccess;
            }
            result = Result::kIllegalState;
            reason = Text("freed while in use: an operation is running on the block of ", block->bytes, " bytes at ",
                          Address(address), " on device ", device_, " (missing synchronisation)");
        }
    }
    return Fault(result, reason);
}

Result Arena::BeginFree(std::uintptr_t address, std::shared_ptr<Block> *out) {
    std::string reason;
    {
        const std::lock_guard lock(mutex_);
        const std::shared_ptr<Block> block = FindLocked(address);
        if (block == nullptr) {
            reason = Explain(address, 0);
            if (reason.starts_with("use after free")) {
                reason = "double free: " + reason;
            }
        } else if (block->base != address) {
            reason = Text("not the start of an allocation: ", Address(address), " is ", address - block->base,
                          " bytes into the block at ", Address(block->base), " on device ", device_);
        } else if (block->free_called) {
            reason = Text("double free: the stream-ordered free of ", Address(address), " was already called");
        } else {
            *out = block;
            block->free_called = true;
            return Result::kSuccess;
        }
    }
    return Fault(Result::kInvalidAddress, reason);
}

Result Arena::FinishFree(const std::shared_ptr<Block> &block) {
    std::string reason;
    {
        const std::lock_guard lock(mutex_);
        if (block->state == BlockState::kFreed) {
            reason = Text("double free: ", Address(block->base), " was freed before its stream-ordered free ran");
        } else {
            if (block->state == BlockState::kPending) {
                reason = Text("freed too early: the stream-ordered allocation of the block at ", Address(block->base),
                              " on device ", device_, " has not run yet (missing wait between streams)");
            } else if (block->pins > 0) {
                reason = Text("freed while in use: an operation of another stream is running on the block of ",
                              block->bytes, " bytes at ", Address(block->base), " on device ", device_,
                              " (missing wait between streams)");
            }
            blocks_.erase(block->base);
            block->state = BlockState::kFreed;
            history_.push_back({block->base, block->bytes, block->api});
            if (history_.size() > kHistory) {
                history_.pop_front();
            }
            if (block->pins == 0) {
                Release(block);
            }
            if (reason.empty()) {
                return Result::kSuccess;
            }
        }
    }
    return Fault(Result::kIllegalState, reason);
}

} // namespace fl::sim
