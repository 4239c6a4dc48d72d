// Device memory: one arena per device, its allocations and the checks of every range that the engine touches.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fl_sim/engine.h"
#include "handles.h"

namespace fl::sim {

// A pool of stream-ordered memory. It is an account, not a place: its blocks come from the arena like all others, and
// what is reserved but not used counts against the device's limit. Guarded by the mutex of the device's arena.
struct Pool : Object {
    explicit Pool(int device_) : Object(kPoolKind, device_) {}
    std::uint64_t threshold = 0;
    std::uint64_t reserved = 0;
    std::uint64_t reserved_high = 0;
    std::uint64_t used = 0;
    std::uint64_t used_high = 0;
    bool destroyed = false;
};

enum class BlockState {
    kPending, // allocated by a stream-ordered call that has not run yet
    kLive,
    kFreed,
};

// One allocation. Guarded by its arena's mutex.
struct Block {
    std::uintptr_t base = 0;
    std::size_t bytes = 0;     // as asked for
    std::size_t footprint = 0; // rounded up, counted against the limit
    BlockState state = BlockState::kLive;
    bool free_called = false; // a stream-ordered free was called (and may not have run yet)
    int pins = 0;             // running operations that use it
    std::shared_ptr<Pool> pool;
    bool process_lifetime = false;
    const char *api = ""; // the call that made it
};

// When a range is checked: by the API call, or when the operation runs on its stream.
enum class Moment { kCall, kRun };

class Arena;

// A checked device range that stays allocated while this object lives.
class PinnedRange {
public:
    PinnedRange() = default;
    PinnedRange(PinnedRange &&other) noexcept { *this = std::move(other); }
    PinnedRange &operator=(PinnedRange &&other) noexcept;
    ~PinnedRange();
    // Where the engine sees the first byte; null for an empty range.
    std::byte *view() const { return view_; }

private:
    friend class Arena;
    Arena *arena_ = nullptr;
    std::shared_ptr<Block> block_;
    std::byte *view_ = nullptr;
};

class Arena {
public:
    Arena(int device, std::size_t limit) : device_(device), limit_(limit) {}

    // A fresh block; with `pending` it is only valid after MarkReady. `pool` may be null.
    Result Allocate(std::size_t bytes, std::shared_ptr<Pool> pool, bool pending, std::shared_ptr<Block> *block);
    void MarkReady(const std::shared_ptr<Block> &block);
    // Frees at once. The address must be the start of a live block.
    Result Free(std::uintptr_t address);
    // The two halves of a stream-ordered free.
    Result BeginFree(std::uintptr_t address, std::shared_ptr<Block> *block);
    Result FinishFree(const std::shared_ptr<Block> &block);
    // Checks [address, address + bytes). At kRun, `pinned` receives the view. Zero bytes: always fine.
    Result Check(const void *address, std::size_t bytes, Moment moment, PinnedRange *pinned);

    bool Owns(const void *address) const;
    void MemoryInfo(std::size_t *free_bytes, std::size_t *total_bytes);
    // The live block around an address; null if none.
    std::shared_ptr<Block> Find(const void *address, Block *copy);
    bool Mark(const void *address);
    // Copies of all live blocks, by address.
    std::vector<Block> LiveBlocks();
    bool HasPendingFrees();

    // Pools. AddPool makes one known to the arena; ReleaseUnused is what a synchronisation does.
    void AddPool(const std::shared_ptr<Pool> &pool);
    void ClosePool(const std::shared_ptr<Pool> &pool);
    void ReleaseUnused();
    void Trim(const std::shared_ptr<Pool> &pool, std::uint64_t keep);
    Result ReadPool(const std::shared_ptr<Pool> &pool, PoolAttribute attribute, std::uint64_t *value);
    Result WritePool(const std::shared_ptr<Pool> &pool, PoolAttribute attribute, std::uint64_t value);

private:
    friend class PinnedRange;
    struct Freed {
        std::uintptr_t base;
        std::size_t bytes;
        const char *api;
    };
    bool MapWindow();
    std::byte *View(std::uintptr_t address) const { return view_ + (address - window_.load()); }
    std::optional<std::uintptr_t> TakeSpan(std::size_t span);
    void GiveSpan(std::uintptr_t base, std::size_t span);
    bool FitsLimit(std::size_t fresh);
    std::shared_ptr<Block> FindLocked(std::uintptr_t address) const;
    std::string Explain(std::uintptr_t address, std::size_t bytes) const;
    void Release(const std::shared_ptr<Block> &block);
    void Unpin(const std::shared_ptr<Block> &block);

    const int device_;
    const std::size_t limit_;
    std::size_t window_bytes_ = 0;
    std::atomic<std::uintptr_t> window_{0}; // inaccessible addresses that are handed out; 0: not mapped yet
    std::byte *view_ = nullptr;             // the engine's own mapping of the same memory
    std::mutex mutex_;
    std::map<std::uintptr_t, std::shared_ptr<Block>> blocks_; // all but kFreed
    std::map<std::uintptr_t, std::size_t> free_spans_;
    std::deque<std::pair<std::uintptr_t, std::size_t>> quarantine_; // freed spans that are not reused yet
    std::size_t quarantined_ = 0;
    std::deque<Freed> history_; // the last freed blocks, for explanations
    std::size_t used_ = 0;
    std::vector<std::shared_ptr<Pool>> pools_;
};

} // namespace fl::sim
