// Streams and their functions of the public interface.
#include "stream.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <system_error>
#include <thread>

#include "config.h"
#include "event.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

thread_local bool t_worker = false;
std::atomic<std::uint64_t> g_stream_number{0};

// Upper bound of the delay: all of it at the least priority, half of it at the greatest.
unsigned DelayBound(int priority) {
    const VendorProfile &profile = Profile();
    const double range = profile.greatest_priority - profile.least_priority;
    const double position = range == 0 ? 0 : (priority - profile.least_priority) / range;
    return static_cast<unsigned>(GetConfig().delay_us * (1.0 - position / 2));
}

} // namespace

bool OnWorkerThread() { return t_worker; }

Stream::Stream(int device_, unsigned flags_, int priority_)
    : Object(kStreamKind, device_), flags(flags_), priority(priority_),
      seed_(GetConfig().seed * 0x9E3779B97F4A7C15u + g_stream_number.fetch_add(1)) {}

Result Stream::Enqueue(std::function<Result()> work) {
    const std::lock_guard lock(mutex_);
    if (!started_) {
        try {
            std::thread([self = shared_from_this()] { self->Work(); }).detach();
        } catch (const std::system_error &error) {
            return Fault(Result::kInternal, Text("no thread for the stream: ", error.what()));
        }
        started_ = true;
    }
    queue_.push_back({CurrentApi(), std::move(work)});
    ++enqueued_;
    queued_.notify_one();
    return Result::kSuccess;
}

void Stream::Work() {
    t_worker = true;
    SetThreadDevice(device);
    std::mt19937_64 random(seed_);
    const unsigned bound = DelayBound(priority);
    std::unique_lock lock(mutex_);
    while (true) {
        queued_.wait(lock, [this] { return !queue_.empty() || closing_; });
        if (queue_.empty()) {
            return;
        }
        Operation operation = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        if (bound > 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(random() % (bound + 1)));
        }
        SetCurrentApi(operation.api);
        const Result result = operation.work();
        operation.work = nullptr; // whatever it holds is released before the operation counts as done
        lock.lock();
        if (error_ == Result::kSuccess) {
            error_ = result;
        }
        ++completed_;
        done_.notify_all();
    }
}

Result Stream::WaitUntilDone(std::uint64_t number) {
    if (t_worker) {
        return Fault(Result::kIllegalState, "a waiting call on a stream's own thread (in a host function) cannot end");
    }
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return completed_ >= number; });
    return Result::kSuccess;
}

Result Stream::TakeError() {
    const std::lock_guard lock(mutex_);
    return std::exchange(error_, Result::kSuccess);
}

Result Stream::PeekError() {
    const std::lock_guard lock(mutex_);
    return error_;
}

Result Stream::Synchronize() {
    std::uint64_t number;
    {
        const std::lock_guard lock(mutex_);
        number = enqueued_;
    }
    const Result waited = WaitUntilDone(number);
    return waited == Result::kSuccess ? TakeError() : waited;
}

Result Stream::RunAndWait(std::function<Result()> work) {
    if (t_worker) {
        return Fault(Result::kIllegalState, "a waiting call on a stream's own thread (in a host function) cannot end");
    }
    struct Outcome {
        std::mutex mutex;
        std::condition_variable changed;
        bool done = false;
        Result result = Result::kSuccess;
    };
    const auto outcome = std::make_shared<Outcome>();
    const Result queued = Enqueue([outcome, work = std::move(work)] {
        const Result result = work();
        const std::lock_guard lock(outcome->mutex);
        outcome->result = result;
        outcome->done = true;
        outcome->changed.notify_all();
        return Result::kSuccess; // reported by the waiting call, not by the stream
    });
    if (queued != Result::kSuccess) {
        return queued;
    }
    {
        std::unique_lock lock(outcome->mutex);
        outcome->changed.wait(lock, [&] { return outcome->done; });
        if (outcome->result != Result::kSuccess) {
            return outcome->result;
        }
    }
    return TakeError();
}

Result Stream::Query() {
    const std::lock_guard lock(mutex_);
    if (completed_ < enqueued_) {
        return Result::kNotReady;
    }
    return std::exchange(error_, Result::kSuccess);
}

void Stream::Close() {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    queued_.notify_one();
}

std::shared_ptr<Stream> DefaultStream(Device &device) {
    const std::lock_guard lock(device.mutex);
    if (device.default_stream == nullptr) {
        device.default_stream = std::make_shared<Stream>(device.ordinal, kStreamDefault, Profile().default_priority);
        device.streams.push_back(device.default_stream);
    }
    return device.default_stream;
}

std::shared_ptr<Stream> FindStream(Handle handle, Result *result) {
    if (handle == nullptr) {
        Device *const device = CurrentDevice(result);
        return device == nullptr ? nullptr : DefaultStream(*device);
    }
    std::shared_ptr<Stream> stream = LookUpAs<Stream>(handle, kStreamKind);
    *result = stream == nullptr ? Result::kInvalidHandle : Result::kSuccess;
    return stream;
}

std::shared_ptr<Stream> FindStreamHere(Handle handle, const char *what, Result *result) {
    std::shared_ptr<Stream> stream = FindStream(handle, result);
    if (stream != nullptr && stream->device != ThreadDevice()) {
        *result = Fault(Result::kInvalidHandle, Text("wrong device: ", what, " on a stream of device ", stream->device,
                                                     " while device ", ThreadDevice(), " is current"));
        return nullptr;
    }
    return stream;
}

Result SynchronizeDevice(Device &device) {
    std::vector<std::shared_ptr<Stream>> streams;
    {
        const std::lock_guard lock(device.mutex);
        for (const auto &weak : device.streams) {
            if (auto stream = weak.lock()) {
                streams.push_back(std::move(stream));
            }
        }
    }
    Result first = Result::kSuccess;
    for (const auto &stream : streams) {
        const Result result = stream->Synchronize();
        first = first == Result::kSuccess ? result : first;
    }
    device.arena.ReleaseUnused();
    return first;
}

Result CreateStream(Handle *stream, unsigned flags, std::optional<int> priority) {
    Result result;
    Device *const device = CurrentDevice(&result);
    if (device == nullptr) {
        return result;
    }
    const VendorProfile &profile = Profile();
    const auto [low, high] = std::minmax(profile.least_priority, profile.greatest_priority);
    const int wanted = priority.value_or(profile.default_priority);
    if (stream == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    if ((flags & ~kStreamNonBlocking) != 0) {
        return Fault(Result::kInvalidValue, Text("unknown stream flags ", flags));
    }
    if (wanted < low || wanted > high) {
        return Fault(Result::kInvalidValue, Text("stream priority ", wanted, " is not in ", low, "..", high));
    }
    const auto object = std::make_shared<Stream>(device->ordinal, flags, wanted);
    result = AddObject(object);
    if (result == Result::kSuccess) {
        const std::lock_guard lock(device->mutex);
        std::erase_if(device->streams, [](const auto &weak) { return weak.expired(); });
        device->streams.push_back(object);
        *stream = object->handle;
    }
    return result;
}

Result DestroyStream(Handle stream) {
    Result result;
    if (stream == nullptr) {
        return Fault(Result::kInvalidHandle, "the default stream cannot be destroyed");
    }
    if (FindStreamHere(stream, "destroy", &result) == nullptr) {
        return result;
    }
    const auto object = std::static_pointer_cast<Stream>(RemoveObject(stream, kStreamKind));
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    object->Close();
    return Result::kSuccess;
}

Result StreamQuery(Handle stream) {
    Result result;
    const auto object = FindStream(stream, &result);
    return object == nullptr ? result : object->Query();
}

Result StreamSynchronize(Handle stream) {
    Result result;
    const auto object = FindStream(stream, &result);
    if (object == nullptr) {
        return result;
    }
    result = object->Synchronize();
    Devices()[static_cast<std::size_t>(object->device)]->arena.ReleaseUnused();
    return result;
}

Result StreamPriority(Handle stream, int *priority) {
    Result result;
    const auto object = FindStream(stream, &result);
    if (object != nullptr && priority == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    if (object != nullptr) {
        *priority = object->priority;
    }
    return result;
}

Result StreamFlags(Handle stream, unsigned *flags) {
    Result result;
    const auto object = FindStream(stream, &result);
    if (object != nullptr && flags == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    if (object != nullptr) {
        *flags = object->flags;
    }
    return result;
}

Result StreamDevice(Handle stream, int *device) {
    Result result;
    const auto object = FindStream(stream, &result);
    if (object != nullptr && device == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    if (object != nullptr) {
        *device = object->device;
    }
    return result;
}

Result StreamPriorityRange(int *least, int *greatest) {
    if (least == nullptr || greatest == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    *least = Profile().least_priority;
    *greatest = Profile().greatest_priority;
    return Result::kSuccess;
}

Result LaunchHostFunc(Handle stream, void (*fn)(void *), void *user_data) {
    Result result;
    const auto object = FindStream(stream, &result);
    if (object == nullptr) {
        return result;
    }
    if (fn == nullptr) {
        return Fault(Result::kInvalidValue, "the host function is null");
    }
    return object->Enqueue([fn, user_data] {
        fn(user_data);
        return Result::kSuccess;
    });
}

} // namespace fl::sim
