// Streams: queues of operations, each worked off in order by a thread of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "device.h"
#include "handles.h"

namespace fl::sim {

class Stream : public Object, public std::enable_shared_from_this<Stream> {
public:
    Stream(int device_, unsigned flags_, int priority_);

    // Appends an operation and starts the worker if there is none. `work` runs on the worker; a result other than
    // kSuccess becomes the stream's error. kInternal when no thread can be made.
    Result Enqueue(std::function<Result()> work);
    // Waits for everything queued so far and takes the pending error. kIllegalState on a worker thread.
    Result Synchronize();
    // Appends `work` and waits for it. Its own result is returned, else the stream's pending error.
    Result RunAndWait(std::function<Result()> work);
    // kNotReady, or the pending error.
    Result Query();
    // The pending error, left in place.
    Result PeekError();
    // No more operations will come: the worker ends when the queue is empty.
    void Close();

    const unsigned flags;
    const int priority;

private:
    struct Operation {
        const char *api;
        std::function<Result()> work;
    };
    void Work();
    Result WaitUntilDone(std::uint64_t number);
    Result TakeError();

    const std::uint64_t seed_;
    std::mutex mutex_;
    std::condition_variable queued_;
    std::condition_variable done_;
    std::deque<Operation> queue_;
    std::uint64_t enqueued_ = 0;
    std::uint64_t completed_ = 0;
    bool started_ = false;
    bool closing_ = false;
    Result error_ = Result::kSuccess;
};

// The stream behind a handle; null means the default stream of the current device. Null, with a fault, on failure.
std::shared_ptr<Stream> FindStream(Handle handle, Result *result);

// As FindStream, and the stream's device must be the current one (`what` needs it).
std::shared_ptr<Stream> FindStreamHere(Handle handle, const char *what, Result *result);

std::shared_ptr<Stream> DefaultStream(Device &device);

// Waits for all streams of the device; the first pending error.
Result SynchronizeDevice(Device &device);

// True on a worker thread (a host function or the engine itself): waiting there could never end.
bool OnWorkerThread();

} // namespace fl::sim
