#include "infini_train/include/core/runtime/device_guard.h"

#include <memory>
#include <utility>

#include "glog/logging.h"

namespace infini_train::core {

// What a backend gets for a method that it does not override. A method with a value ends in the same abort, so the
// return statements below are never reached.
#define FATAL_DEFAULT_(METHOD) LOG(FATAL) << "DeviceGuardImpl::" METHOD " is not implemented."

void DeviceGuardImpl::Initialize() {}

void DeviceGuardImpl::SetDevice(Device) const { FATAL_DEFAULT_("SetDevice"); }

int DeviceGuardImpl::DeviceCount() const {
    FATAL_DEFAULT_("DeviceCount");
    return -1;
}

Stream *DeviceGuardImpl::GetStream(Device) const {
    FATAL_DEFAULT_("GetStream");
    return nullptr;
}

Stream *DeviceGuardImpl::CreateStream(Device) const {
    FATAL_DEFAULT_("CreateStream");
    return nullptr;
}

Stream *DeviceGuardImpl::CreateStreamWithPriority(Device, int) const {
    FATAL_DEFAULT_("CreateStreamWithPriority");
    return nullptr;
}

void DeviceGuardImpl::DestroyStream(Stream *) const { FATAL_DEFAULT_("DestroyStream"); }

void DeviceGuardImpl::GetStreamPriorityRange(int *, int *) const { FATAL_DEFAULT_("GetStreamPriorityRange"); }

void DeviceGuardImpl::EventCreate(Event **) const { FATAL_DEFAULT_("EventCreate"); }

void DeviceGuardImpl::EventCreateWithFlags(Event **, EventFlag) const { FATAL_DEFAULT_("EventCreateWithFlags"); }

void DeviceGuardImpl::EventDestroy(Event *) const { FATAL_DEFAULT_("EventDestroy"); }

void DeviceGuardImpl::EventRecord(Event *, Stream *) const { FATAL_DEFAULT_("EventRecord"); }

void DeviceGuardImpl::StreamWaitEvent(Stream *, Event *, uint32_t) const { FATAL_DEFAULT_("StreamWaitEvent"); }

RuntimeStatus DeviceGuardImpl::EventSynchronize(Event *) const {
    FATAL_DEFAULT_("EventSynchronize");
    return RuntimeStatus::kError;
}

RuntimeStatus DeviceGuardImpl::EventQuery(Event *) const {
    FATAL_DEFAULT_("EventQuery");
    return RuntimeStatus::kError;
}

float DeviceGuardImpl::EventElapsedTime(Event *, Event *) const {
    FATAL_DEFAULT_("EventElapsedTime");
    return 0.0f;
}

void DeviceGuardImpl::SynchronizeDevice(Device) const { FATAL_DEFAULT_("SynchronizeDevice"); }

void DeviceGuardImpl::SynchronizeStream(Stream *) const { FATAL_DEFAULT_("SynchronizeStream"); }

BlasHandle *DeviceGuardImpl::GetBlasHandle(Device) const {
    FATAL_DEFAULT_("GetBlasHandle");
    return nullptr;
}

void DeviceGuardImpl::MallocAsync(void **, size_t, Stream *) { FATAL_DEFAULT_("MallocAsync"); }

void DeviceGuardImpl::FreeAsync(void *, Stream *) { FATAL_DEFAULT_("FreeAsync"); }

void DeviceGuardImpl::MemcpyAsync(void *, const void *, size_t, MemcpyKind, Stream *) { FATAL_DEFAULT_("MemcpyAsync"); }

void DeviceGuardImpl::ResetMemPoolHighWatermarks(Device) const { FATAL_DEFAULT_("ResetMemPoolHighWatermarks"); }

std::pair<size_t, size_t> DeviceGuardImpl::GetMemPoolPeakMB(Device) const {
    FATAL_DEFAULT_("GetMemPoolPeakMB");
    return {0, 0};
}

#undef FATAL_DEFAULT_

DeviceGuard::DeviceGuard(Device device)
    : impl_(GetDeviceGuardImpl(device.type())), original_device_(impl_->GetDevice()), current_device_(device) {
    impl_->SetDevice(device);
}

DeviceGuard::~DeviceGuard() { impl_->SetDevice(original_device_); }

void DeviceGuard::SetDevice(Device device) {
    if (device != current_device_) {
        impl_->SetDevice(device);
        current_device_ = device;
    }
}

Device DeviceGuard::current_device() const { return current_device_; }

Device DeviceGuard::original_device() const { return original_device_; }

DeviceGuardImplRegistry &DeviceGuardImplRegistry::Instance() {
    static DeviceGuardImplRegistry registry;
    return registry;
}

void DeviceGuardImplRegistry::Register(Device::DeviceType type, std::unique_ptr<DeviceGuardImpl> impl) {
    CHECK(type == impl->Type()) << "Register device guard impl with type " << static_cast<int>(impl->Type())
                                << ", but as type " << static_cast<int>(type);
    CHECK(!Has(type)) << "DeviceGuardImpl for type " << static_cast<int>(type) << " already registered";
    // The order of static initialisers is open, so the CPU may come second.
    if (type != Device::DeviceType::kCPU) {
        for (const auto &[other, unused] : impls_) {
            CHECK(other == Device::DeviceType::kCPU)
                << "Only CPU and one GPU backend allowed. Already have GPU=" << static_cast<int>(other)
                << ", new=" << static_cast<int>(type) << " rejected.";
        }
    }
    impls_.emplace(type, std::move(impl));
}

bool DeviceGuardImplRegistry::Has(Device::DeviceType type) const { return impls_.count(type) != 0; }

DeviceGuardImpl *DeviceGuardImplRegistry::Get(Device::DeviceType type) const {
    const auto entry = impls_.find(type);
    CHECK(entry != impls_.end()) << "No DeviceGuardImpl registered for type " << static_cast<int>(type);
    entry->second->Initialize();
    return entry->second.get();
}

DeviceGuardImpl *GetDeviceGuardImpl(Device::DeviceType type) { return DeviceGuardImplRegistry::Instance().Get(type); }

} // namespace infini_train::core
