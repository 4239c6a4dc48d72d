#pragma once

#include <cstddef>
#include <mcr/mc_runtime_api.h>

#include "infini_train/include/core/runtime/device_guard.h"

namespace infini_train::core::maca {
void KeepGuard();

class QuietEvent : public Event {
public:
    mcEvent_t event = nullptr;
};

class QuietStream : public Stream {
public:
    mcStream_t stream = nullptr;
};

class Guard final : public DeviceGuardImpl {
public:
    Device GetDevice() const override;
    void SetDevice(Device device) const override;
    Device::DeviceType Type() const override { return Device::DeviceType::kPrivateUse1; }
    int DeviceCount();
    Stream *GetStream(Device device) const override;
    void EventRecord(Event *event, Stream *stream) const override;
    void Malloc(void **pointer, size_t size) override;
    void Free(void *pointer) override;
    void Memcpy(void *dst, const void *src, size_t size, MemcpyKind kind) override;
    void MemcpyAsync(void *dst, const void *src, size_t size, MemcpyKind kind, Stream *stream) override;
};
} // namespace infini_train::core::maca
