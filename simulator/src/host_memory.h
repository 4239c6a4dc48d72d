// Pinned host memory: ordinary memory that is tracked, so that a copy still queued when it is freed is found.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "fl_sim/engine.h"

namespace fl::sim {

struct HostBlock {
    ~HostBlock();
    std::byte *base = nullptr;
    std::size_t bytes = 0;
    int device = 0;
    bool registered = false; // the memory belongs to the caller
    const char *api = "";
    std::atomic<bool> process_lifetime{false};
    std::atomic<bool> freed{false};
};

// The tracked block around an address; null if none.
std::shared_ptr<HostBlock> FindHostBlock(const void *address);

// Checks that [address, address + bytes) does not run past the end of a tracked block. Untracked memory is fine. Hands
// out the block so that the operation can hold it.
Result CheckHost(const void *address, std::size_t bytes, std::shared_ptr<HostBlock> *block);

std::vector<std::shared_ptr<HostBlock>> LiveHostBlocks();

} // namespace fl::sim
