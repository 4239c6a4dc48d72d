// Library work on streams, and the registry of library objects.
#include "device.h"
#include "handles.h"
#include "stream.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

struct LibraryObject : Object {
    using Object::Object;
    std::shared_ptr<void> payload;
    std::mutex mutex;
    Handle stream = nullptr;
};

std::shared_ptr<LibraryObject> FindLibraryObject(Handle object, const char *kind) {
    return LookUpAs<LibraryObject>(object, kind);
}

} // namespace

Result LaunchOnStream(Handle stream, const char *name, std::vector<Range> ranges, Kernel kernel) {
    Result result;
    const auto target = FindStreamHere(stream, name, &result);
    if (target == nullptr) {
        return result;
    }
    Arena *const arena = &Devices()[static_cast<std::size_t>(target->device)]->arena;
    for (const Range &range : ranges) {
        result = arena->Check(range.address, range.bytes, Moment::kCall, nullptr);
        if (result != Result::kSuccess) {
            return result;
        }
    }
    return target->Enqueue([arena, ranges = std::move(ranges), kernel = std::move(kernel)] {
        std::vector<PinnedRange> pinned(ranges.size());
        std::vector<std::byte *> views(ranges.size());
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            const Result checked = arena->Check(ranges[i].address, ranges[i].bytes, Moment::kRun, &pinned[i]);
            if (checked != Result::kSuccess) {
                return checked;
            }
            views[i] = pinned[i].view();
        }
        return kernel(views);
    });
}

Result CreateObject(Handle *object, const char *kind, std::shared_ptr<void> payload) {
    Result result;
    const Device *const device = CurrentDevice(&result);
    if (device == nullptr) {
        return result;
    }
    if (object == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    const auto fresh = std::make_shared<LibraryObject>(kind, device->ordinal);
    fresh->payload = std::move(payload);
    result = AddObject(fresh);
    if (result == Result::kSuccess) {
        *object = fresh->handle;
    }
    return result;
}

Result DestroyObject(Handle object, const char *kind) {
    return RemoveObject(object, kind) == nullptr ? Result::kInvalidHandle : Result::kSuccess;
}

Result FindObject(Handle object, const char *kind, std::shared_ptr<void> *payload) {
    const auto found = FindLibraryObject(object, kind);
    if (found == nullptr) {
        return Result::kInvalidHandle;
    }
    *payload = found->payload;
    return Result::kSuccess;
}

Result SetObjectStream(Handle object, const char *kind, Handle stream) {
    const auto found = FindLibraryObject(object, kind);
    if (found == nullptr) {
        return Result::kInvalidHandle;
    }
    if (stream != nullptr) {
        const auto target = LookUpAs<Stream>(stream, kStreamKind);
        if (target == nullptr) {
            return Result::kInvalidHandle;
        }
        if (target->device != found->device) {
            return Fault(Result::kInvalidHandle, Text("wrong device: a ", kind, " of device ", found->device,
                                                      " with a stream of device ", target->device));
        }
    }
    const std::lock_guard lock(found->mutex);
    found->stream = stream;
    return Result::kSuccess;
}

Result GetObjectStream(Handle object, const char *kind, Handle *stream) {
    const auto found = FindLibraryObject(object, kind);
    if (found == nullptr) {
        return Result::kInvalidHandle;
    }
    if (stream == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    const std::lock_guard lock(found->mutex);
    *stream = found->stream;
    return Result::kSuccess;
}

Result ObjectDevice(Handle object, const char *kind, int *device) {
    const auto found = FindLibraryObject(object, kind);
    if (found == nullptr) {
        return Result::kInvalidHandle;
    }
    if (device == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    *device = found->device;
    return Result::kSuccess;
}

} // namespace fl::sim
