// Events and their functions of the public interface.
#include "event.h"

#include "stream.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {

std::shared_ptr<EventRecord> Event::Current() {
    const std::lock_guard lock(mutex);
    return current;
}

Result CreateEvent(Handle *event, unsigned flags) {
    Result result;
    const Device *const device = CurrentDevice(&result);
    if (device == nullptr) {
        return result;
    }
    if (event == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    if ((flags & ~(kEventBlockingSync | kEventDisableTiming | kEventInterprocess)) != 0) {
        return Fault(Result::kInvalidValue, Text("unknown event flags ", flags));
    }
    if ((flags & kEventInterprocess) != 0 && (flags & kEventDisableTiming) == 0) {
        return Fault(Result::kInvalidValue, "an interprocess event must have its timing disabled");
    }
    const auto object = std::make_shared<Event>(device->ordinal, flags);
    result = AddObject(object);
    if (result == Result::kSuccess) {
        *event = object->handle;
    }
    return result;
}

Result DestroyEvent(Handle event) {
    return RemoveObject(event, kEventKind) == nullptr ? Result::kInvalidHandle : Result::kSuccess;
}

Result RecordEvent(Handle event, Handle stream) {
    const auto object = LookUpAs<Event>(event, kEventKind);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    Result result;
    const auto target = FindStream(stream, &result);
    if (target == nullptr) {
        return result;
    }
    if (target->device != object->device) {
        return Fault(Result::kInvalidHandle, Text("wrong device: an event of device ", object->device,
                                                  " recorded on a stream of device ", target->device));
    }
    const auto record = std::make_shared<EventRecord>();
    // Kept until the record is queued, so that two threads recording one event leave the later queued one current.
    const std::lock_guard lock(object->mutex);
    // A stream never ends before its queue is empty, so the plain pointer outlives the operation.
    Stream *const recorded = target.get();
    result = target->Enqueue([record, recorded] {
        const Result error = recorded->PeekError();
        const std::lock_guard record_lock(record->mutex);
        record->done = true;
        record->when = std::chrono::steady_clock::now();
        record->error = error;
        record->completed.notify_all();
        return Result::kSuccess;
    });
    if (result == Result::kSuccess) {
        object->current = record;
    }
    return result;
}

Result EventQuery(Handle event) {
    const auto object = LookUpAs<Event>(event, kEventKind);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    const auto record = object->Current();
    if (record == nullptr) {
        return Result::kSuccess;
    }
    const std::lock_guard lock(record->mutex);
    return record->done ? record->error : Result::kNotReady;
}

Result EventSynchronize(Handle event) {
    const auto object = LookUpAs<Event>(event, kEventKind);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    if (OnWorkerThread()) {
        return Fault(Result::kIllegalState, "a waiting call on a stream's own thread (in a host function) cannot end");
    }
    const auto record = object->Current();
    if (record == nullptr) {
        return Result::kSuccess;
    }
    std::unique_lock lock(record->mutex);
    record->completed.wait(lock, [&] { return record->done; });
    return record->error;
}

Result EventElapsed(double *milliseconds, Handle start, Handle end) {
    if (milliseconds == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    std::chrono::steady_clock::time_point when[2];
    const Handle handles[2] = {start, end};
    for (int i = 0; i < 2; ++i) {
        const auto object = LookUpAs<Event>(handles[i], kEventKind);
        if (object == nullptr) {
            return Result::kInvalidHandle;
        }
        const auto record = object->Current();
        if ((object->flags & kEventDisableTiming) != 0 || record == nullptr) {
            return Fault(Result::kInvalidHandle, Text("the ", i == 0 ? "start" : "end", " event ",
                                                      record == nullptr ? "was never recorded" : "has no timing"));
        }
        const std::lock_guard lock(record->mutex);
        if (!record->done) {
            return Result::kNotReady;
        }
        when[i] = record->when;
    }
    *milliseconds = std::chrono::duration<double, std::milli>(when[1] - when[0]).count();
    return Result::kSuccess;
}

Result StreamWaitEvent(Handle stream, Handle event) {
    const auto object = LookUpAs<Event>(event, kEventKind);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    Result result;
    const auto target = FindStream(stream, &result);
    if (target == nullptr) {
        return result;
    }
    const auto record = object->Current();
    if (record == nullptr) {
        return Result::kSuccess;
    }
    return target->Enqueue([record] {
        std::unique_lock lock(record->mutex);
        record->completed.wait(lock, [&] { return record->done; });
        return Result::kSuccess;
    });
}

} // namespace fl::sim
