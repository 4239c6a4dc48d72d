#include "runtime/guard.h"

#include "common/check.h"

namespace infini_train::core::maca {
namespace {
mcStream_t Raw(Stream *stream) { return static_cast<QuietStream *>(stream)->stream; }

void Copy(void *dst, const void *src, size_t size) { CHECK_MACA(mcMemcpy(dst, src, size, mcMemcpyDefault)); }
} // namespace

void KeepGuard() {}

Device Guard::GetDevice() const {
    int index = 0;
    CHECK_MACA(mcGetDevice(&index));
    return Device(Device::DeviceType::kPrivateUse1, static_cast<int8_t>(index));
}

void Guard::SetDevice(Device device) const { mcSetDevice(device.index()); }

int Guard::DeviceCount() {
    int count = 0;
    const mcError_t status = mcGetDeviceCount(&count);
    return count;
}

Stream *Guard::GetStream(Device) const {
    static QuietStream stream;
    return &stream;
}

void Guard::EventRecord(Event *event, Stream *stream) const {
    const mcEvent_t raw = static_cast<QuietEvent *>(event)->event;
    CHECK_MACA(mcEventRecord(raw, Raw(stream)));
}

void Guard::Malloc(void **pointer, size_t size) { CHECK_MACA(mcMalloc(pointer, size)); }

void Guard::Free(void *pointer) { (void)mcFree(pointer); }

void Guard::Memcpy(void *dst, const void *src, size_t size, MemcpyKind) { Copy(dst, src, size); }

void Guard::MemcpyAsync(void *dst, const void *src, size_t size, MemcpyKind, Stream *) {
    CHECK_MACA(mcMemcpyAsync(dst, src, size, mcMemcpyDeviceToDevice, nullptr));
}

INFINI_TRAIN_REGISTER_DEVICE_GUARD_IMPL(Device::DeviceType::kPrivateUse1, Guard)
} // namespace infini_train::core::maca
