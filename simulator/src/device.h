// Devices: the visible ones, the current one of a thread, and what each owns.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "arena.h"
#include "fl_sim/engine.h"

namespace fl::sim {

class Stream;

struct Device {
    Device(int ordinal_, int physical_, std::size_t limit)
        : ordinal(ordinal_), physical(physical_), arena(ordinal_, limit) {}

    const int ordinal;
    const int physical;
    Arena arena;
    std::mutex mutex; // guards the rest
    std::shared_ptr<Stream> default_stream;
    std::vector<std::weak_ptr<Stream>> streams; // all of them, also destroyed ones that still work
    std::shared_ptr<Pool> default_pool;
    std::shared_ptr<Pool> current_pool;
};

// The visible devices; never destroyed.
const std::vector<Device *> &Devices();

// Null, with a fault, when the ordinal is out of range.
Device *FindDevice(int ordinal, Result *result);

// The current device of the thread; null, with a fault, when there is none.
Device *CurrentDevice(Result *result);

// Ordinal of the thread's current device, without touching anything.
int ThreadDevice();
void SetThreadDevice(int ordinal);

// Called once when the devices come into being: from then on there is something to report at exit. It also makes the
// linker keep the object file with the report and the C entry points.
void NoteEngineUsed();

// The device whose window holds the address; -1: none.
int OwnerOf(const void *address);

} // namespace fl::sim
