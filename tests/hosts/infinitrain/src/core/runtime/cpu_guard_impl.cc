#include <cstdlib>
#include <cstring>
#include <utility>

#include "glog/logging.h"

#include "infini_train/include/core/runtime/device_guard.h"

namespace infini_train::core::cpu {
namespace {

void CheckIsCpu(const Device &device) { CHECK(device.IsCPU()) << device; }

} // namespace

// The host as a device: one device, no streams, no events, every operation done when the call returns.
class CpuGuardImpl final : public DeviceGuardImpl {
public:
    Device GetDevice() const override { return Device(); }

    void SetDevice(Device device) const override { CheckIsCpu(device); }

    int DeviceCount() const override { return 1; }

    Device::DeviceType Type() const override { return Device::DeviceType::kCPU; }

    Stream *GetStream(Device device) const override {
        CheckIsCpu(device);
        return nullptr;
    }

    Stream *CreateStream(Device device) const override {
        CheckIsCpu(device);
        return nullptr;
    }

    Stream *CreateStreamWithPriority(Device device, int) const override {
        CheckIsCpu(device);
        return nullptr;
    }

    void DestroyStream(Stream *) const override {}

    void GetStreamPriorityRange(int *low, int *high) const override {
        *low = 0;
        *high = 0;
    }

    void EventCreate(Event **event) const override { *CHECK_NOTNULL(event) = nullptr; }

    void EventCreateWithFlags(Event **event, EventFlag) const override { *CHECK_NOTNULL(event) = nullptr; }

    void EventDestroy(Event *) const override {}

    void EventRecord(Event *, Stream *) const override {}

    void StreamWaitEvent(Stream *, Event *, uint32_t) const override {}

    // There is no event to ask about.
    RuntimeStatus EventSynchronize(Event *) const override { return RuntimeStatus::kError; }

    RuntimeStatus EventQuery(Event *) const override { return RuntimeStatus::kError; }

    float EventElapsedTime(Event *, Event *) const override { return 0.0f; }

    void SynchronizeDevice(Device device) const override { CheckIsCpu(device); }

    void SynchronizeStream(Stream *) const override {}

    BlasHandle *GetBlasHandle(Device device) const override {
        CheckIsCpu(device);
        return nullptr;
    }

    void Malloc(void **dev_ptr, size_t size) override { *dev_ptr = std::malloc(size); }

    void MallocAsync(void **dev_ptr, size_t size, Stream *) override { Malloc(dev_ptr, size); }

    void Free(void *dev_ptr) override { std::free(dev_ptr); }

    void FreeAsync(void *dev_ptr, Stream *) override { Free(dev_ptr); }

    void Memcpy(void *dst, const void *src, size_t count, MemcpyKind kind) override {
        CHECK(kind == MemcpyKind::kD2D) << "the CPU copies host to host as kD2D only, not " << MemcpyKindToString(kind);
        if (count > 0) {
            std::memcpy(dst, src, count);
        }
    }

    void MemcpyAsync(void *dst, const void *src, size_t count, MemcpyKind kind, Stream *) override {
        Memcpy(dst, src, count, kind);
    }

    void ResetMemPoolHighWatermarks(Device device) const override { CheckIsCpu(device); }

    std::pair<size_t, size_t> GetMemPoolPeakMB(Device device) const override {
        CheckIsCpu(device);
        return {0, 0};
    }
};

INFINI_TRAIN_REGISTER_DEVICE_GUARD_IMPL(Device::DeviceType::kCPU, CpuGuardImpl)

} // namespace infini_train::core::cpu
