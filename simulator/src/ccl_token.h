// Unique ids of communicators: a token that says who made it, so that a token of a dead run is found.
#pragma once

#include <cstdint>
#include <string>

#include "fl_sim/engine.h"

namespace fl::sim {

// The names under which ranks meet are derived from this, so it is what makes two tokens equal.
struct TokenKey {
    std::int32_t pid = 0;
    std::uint64_t start = 0; // start time of that process, in clock ticks since boot
    std::uint64_t random[2] = {0, 0};

    std::string ShmName() const; // "/flsim-<pid>-<start>-<random>"
};

// Reads a token of exactly `bytes` bytes. kInvalidValue, with a fault, when it is damaged, cut or no token;
// kIllegalState when the process that made it is gone.
Result ReadToken(const void *token, std::size_t bytes, TokenKey *key);

// Start time of a process in clock ticks since boot; 0 when there is no such process (or it cannot be seen).
std::uint64_t ProcessStart(std::int32_t pid);

// True when the process is certainly gone (or is another one with the same number).
bool ProcessIsGone(std::int32_t pid, std::uint64_t start);

// Removes what processes that died before all of their ranks had met left in /dev/shm.
void RemoveStaleNames();

} // namespace fl::sim
