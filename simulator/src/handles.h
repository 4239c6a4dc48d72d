// Handles: every object that the vendor API hands out is kept here under a value that is never used twice.
#pragma once

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "fl_sim/engine.h"

namespace fl::sim {

inline constexpr const char *kStreamKind = "stream";
inline constexpr const char *kEventKind = "event";
inline constexpr const char *kPoolKind = "memory pool";
inline constexpr const char *kCommKind = "communicator";

class Object {
public:
    Object(const char *kind_, int device_) : kind(kind_), device(device_) {}
    virtual ~Object() = default;
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;

    const char *const kind;
    const int device;
    Handle handle = nullptr; // set once by AddObject, before anybody else sees the object
    const char *api = "";    // the call that made it, likewise
    bool internal = false;   // belongs to the engine: never in the leak report
    std::atomic<bool> process_lifetime{false};
};

// Gives the object its handle. kOutOfMemory when the values are used up.
Result AddObject(const std::shared_ptr<Object> &object);

// Null, with a fault, when `handle` is not a live object of `kind`.
std::shared_ptr<Object> LookUp(Handle handle, const char *kind);

// Takes the object out of the table; null, with a fault, as above.
std::shared_ptr<Object> RemoveObject(Handle handle, const char *kind);

// As LookUp for engine classes.
template <typename T> std::shared_ptr<T> LookUpAs(Handle handle, const char *kind) {
    return std::static_pointer_cast<T>(LookUp(handle, kind));
}

// All live objects in the order of their creation.
std::vector<std::shared_ptr<Object>> AllObjects();

// Marks a live object as meant to live as long as the process; false when `handle` is none.
bool MarkObject(const void *handle);

} // namespace fl::sim
