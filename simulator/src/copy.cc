// Copies and memset. Every device range is checked by the call and again when the operation runs.
#include <cstring>

#include "device.h"
#include "host_memory.h"
#include "stream.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

// One side of a copy.
struct Side {
    const void *pointer = nullptr;
    std::size_t pitch = 0;
    Device *device = nullptr;         // null: host
    std::shared_ptr<HostBlock> block; // the pinned block, for host memory that is tracked
    std::size_t extent = 0;           // bytes from the first to the last one touched
};

struct CopyJob {
    Side dst;
    Side src;
    std::size_t width = 0;
    std::size_t height = 0;
};

Result CheckSide(Side &side, Moment moment, PinnedRange *pinned) {
    if (side.device != nullptr) {
        return side.device->arena.Check(side.pointer, side.extent, moment, pinned);
    }
    if (moment == Moment::kCall) {
        return CheckHost(side.pointer, side.extent, &side.block);
    }
    if (side.block != nullptr && side.block->freed.load()) {
        return Fault(Result::kInvalidValue, Text("use after free: the pinned host memory at ", side.pointer,
                                                 " was freed while its copy was still queued"));
    }
    return Result::kSuccess;
}

Result RunCopy(CopyJob &job) {
    PinnedRange dst_range;
    PinnedRange src_range;
    Result result = CheckSide(job.src, Moment::kRun, &src_range);
    if (result == Result::kSuccess) {
        result = CheckSide(job.dst, Moment::kRun, &dst_range);
    }
    if (result != Result::kSuccess) {
        return result;
    }
    auto *dst
        = job.dst.device != nullptr ? dst_range.view() : static_cast<std::byte *>(const_cast<void *>(job.dst.pointer));
    const auto *src = job.src.device != nullptr ? src_range.view() : static_cast<const std::byte *>(job.src.pointer);
    for (std::size_t row = 0; row < job.height; ++row) {
        std::memmove(dst + row * job.dst.pitch, src + row * job.src.pitch, job.width);
    }
    return Result::kSuccess;
}

// Queues a checked job, or runs it through the stream and waits.
Result Submit(CopyJob job, const std::shared_ptr<Stream> &stream, bool wait) {
    Result result = CheckSide(job.src, Moment::kCall, nullptr);
    if (result == Result::kSuccess) {
        result = CheckSide(job.dst, Moment::kCall, nullptr);
    }
    if (result != Result::kSuccess) {
        return result;
    }
    const auto shared = std::make_shared<CopyJob>(std::move(job));
    auto work = [shared] { return RunCopy(*shared); };
    return wait ? stream->RunAndWait(work) : stream->Enqueue(work);
}

// Fits the copy direction to the two addresses, and the addresses to the stream's device.
Result Direct(CopyJob *job, CopyKind kind, int device) {
    const bool dst_device = OwnerOf(job->dst.pointer) >= 0;
    const bool src_device = OwnerOf(job->src.pointer) >= 0;
    const bool want_dst
        = kind == CopyKind::kAuto ? dst_device : kind == CopyKind::kHostToDevice || kind == CopyKind::kDeviceToDevice;
    const bool want_src
        = kind == CopyKind::kAuto ? src_device : kind == CopyKind::kDeviceToHost || kind == CopyKind::kDeviceToDevice;
    if (kind < CopyKind::kHostToHost || kind > CopyKind::kAuto) {
        return Fault(Result::kInvalidDirection, Text("unknown copy direction ", static_cast<int>(kind)));
    }
    if (want_dst != dst_device || want_src != src_device) {
        const bool wrong_dst = want_dst != dst_device;
        return Fault(Result::kInvalidDirection, Text("the ", wrong_dst ? "destination " : "source ",
                                                     wrong_dst ? job->dst.pointer : job->src.pointer, " is ",
                                                     (wrong_dst ? dst_device : src_device) ? "device" : "host",
                                                     " memory, but the direction says otherwise"));
    }
    Device *const target = Devices()[static_cast<std::size_t>(device)];
    job->dst.device = dst_device ? target : nullptr;
    job->src.device = src_device ? target : nullptr;
    return Result::kSuccess;
}

Result Copy2D(void *dst, std::size_t dst_pitch, const void *src, std::size_t src_pitch, std::size_t width,
              std::size_t height, CopyKind kind, Handle stream, bool wait) {
    Result result;
    const auto target = FindStream(stream, &result);
    if (target == nullptr || width == 0 || height == 0) {
        return result;
    }
    if (height > 1 && (dst_pitch < width || src_pitch < width)) {
        return Fault(Result::kInvalidValue,
                     Text("a pitch (", dst_pitch, ", ", src_pitch, ") is less than the width ", width));
    }
    CopyJob job;
    job.width = width;
    job.height = height;
    std::size_t extents[2];
    const std::size_t pitches[2] = {dst_pitch, src_pitch};
    for (int i = 0; i < 2; ++i) {
        if (__builtin_mul_overflow(pitches[i], height - 1, &extents[i])
            || __builtin_add_overflow(extents[i], width, &extents[i])) {
            return Fault(Result::kInvalidValue, "the size of the copy overflows");
        }
    }
    job.dst = {dst, dst_pitch, nullptr, nullptr, extents[0]};
    job.src = {src, src_pitch, nullptr, nullptr, extents[1]};
    result = Direct(&job, kind, target->device);
    return result == Result::kSuccess ? Submit(std::move(job), target, wait) : result;
}

Result CopyPeer(void *dst, int dst_device, const void *src, int src_device, std::size_t bytes,
                const std::shared_ptr<Stream> &stream, bool wait) {
    Result result;
    Device *const to = FindDevice(dst_device, &result);
    Device *const from = to == nullptr ? nullptr : FindDevice(src_device, &result);
    if (from == nullptr) {
        return result;
    }
    if (stream->device != dst_device && stream->device != src_device) {
        return Fault(Result::kInvalidHandle, Text("wrong device: a copy between devices ", src_device, " and ",
                                                  dst_device, " on a stream of device ", stream->device));
    }
    if (bytes == 0) {
        return Result::kSuccess;
    }
    CopyJob job;
    job.width = bytes;
    job.height = 1;
    job.dst = {dst, bytes, to, nullptr, bytes};
    job.src = {src, bytes, from, nullptr, bytes};
    return Submit(std::move(job), stream, wait);
}

Result Set(void *pointer, int value, std::size_t bytes, Handle stream, bool wait) {
    Result result;
    const auto target = FindStream(stream, &result);
    if (target == nullptr || bytes == 0) {
        return result;
    }
    Arena *const arena = &Devices()[static_cast<std::size_t>(target->device)]->arena;
    result = arena->Check(pointer, bytes, Moment::kCall, nullptr);
    if (result != Result::kSuccess) {
        return result;
    }
    auto work = [arena, pointer, value, bytes] {
        PinnedRange range;
        const Result checked = arena->Check(pointer, bytes, Moment::kRun, &range);
        if (checked == Result::kSuccess) {
            std::memset(range.view(), value, bytes);
        }
        return checked;
    };
    return wait ? target->RunAndWait(work) : target->Enqueue(work);
}

} // namespace

Result Memcpy(void *dst, const void *src, std::size_t bytes, CopyKind kind) {
    return Copy2D(dst, bytes, src, bytes, bytes, 1, kind, nullptr, true);
}

Result MemcpyAsync(void *dst, const void *src, std::size_t bytes, CopyKind kind, Handle stream) {
    return Copy2D(dst, bytes, src, bytes, bytes, 1, kind, stream, false);
}

Result Memcpy2D(void *dst, std::size_t dst_pitch, const void *src, std::size_t src_pitch, std::size_t width,
                std::size_t height, CopyKind kind) {
    return Copy2D(dst, dst_pitch, src, src_pitch, width, height, kind, nullptr, true);
}

Result Memcpy2DAsync(void *dst, std::size_t dst_pitch, const void *src, std::size_t src_pitch, std::size_t width,
                     std::size_t height, CopyKind kind, Handle stream) {
    return Copy2D(dst, dst_pitch, src, src_pitch, width, height, kind, stream, false);
}

Result MemcpyPeer(void *dst, int dst_device, const void *src, int src_device, std::size_t bytes) {
    Result result;
    Device *const from = FindDevice(src_device, &result);
    return from == nullptr ? result : CopyPeer(dst, dst_device, src, src_device, bytes, DefaultStream(*from), true);
}

Result MemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, std::size_t bytes, Handle stream) {
    Result result;
    const auto target = FindStream(stream, &result);
    return target == nullptr ? result : CopyPeer(dst, dst_device, src, src_device, bytes, target, false);
}

Result Memset(void *pointer, int value, std::size_t bytes) { return Set(pointer, value, bytes, nullptr, true); }

Result MemsetAsync(void *pointer, int value, std::size_t bytes, Handle stream) {
    return Set(pointer, value, bytes, stream, false);
}

} // namespace fl::sim
