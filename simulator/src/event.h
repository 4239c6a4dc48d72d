// Events: each record has a state of its own, shared by everything that refers to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "handles.h"

namespace fl::sim {

// One record of an event. It outlives the event's handle as long as queued work refers to it.
struct EventRecord {
    std::mutex mutex;
    std::condition_variable completed;
    bool done = false;
    std::chrono::steady_clock::time_point when;
    Result error = Result::kSuccess; // of the recorded stream's earlier work
};

struct Event : Object {
    Event(int device_, unsigned flags_) : Object(kEventKind, device_), flags(flags_) {}
    std::shared_ptr<EventRecord> Current();

    const unsigned flags;
    std::mutex mutex;
    std::shared_ptr<EventRecord> current; // null: never recorded
};

} // namespace fl::sim
