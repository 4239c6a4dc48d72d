#include "infini_train/include/device.h"

#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "glog/logging.h"

#include "infini_train/include/core/privateuse1_backend.h"
#include "infini_train/include/nn/parallel/global.h"

namespace infini_train {

Device::Device() : type_(DeviceType::kCPU), index_(0) {}

Device::Device(DeviceType type, int8_t index) : type_(type), index_(index) {
    CHECK(type != DeviceType::kCPU || index == 0) << "CPU device index should be 0";
}

std::optional<Device::DeviceType> Device::ParseType(std::string_view name) {
    if (name == "cpu") {
        return DeviceType::kCPU;
    }
    if (name == "cuda") {
        return DeviceType::kCUDA;
    }
    // Before a registration the backend is called privateuse1; afterwards both names work.
    if (name == "privateuse1" || name == core::GetPrivateUse1BackendName()) {
        return DeviceType::kPrivateUse1;
    }
    return std::nullopt;
}

Device::DeviceType Device::type() const { return type_; }

int8_t Device::index() const { return index_; }

bool Device::IsCPU() const { return type_ == DeviceType::kCPU; }

bool Device::IsCUDA() const { return type_ == DeviceType::kCUDA; }

std::string Device::ToString() const {
    std::string name = "Invalid";
    switch (type_) {
    case DeviceType::kCPU:
        name = "CPU";
        break;
    case DeviceType::kCUDA:
        name = "CUDA";
        break;
    case DeviceType::kPrivateUse1:
        name = core::GetPrivateUse1BackendName();
        break;
    case DeviceType::kCount:
    case DeviceType::kInvalid:
        break;
    }
    return "Device(" + name + ", " + std::to_string(index_) + ")";
}

nn::parallel::Rank Device::Rank() const {
    using namespace nn::parallel::global;
    return {GetGlobalProcRank(), index_, GetNprocPerNode(), GetNthreadPerProc()};
}

std::ostream &operator<<(std::ostream &os, const Device &device) { return os << device.ToString(); }

bool operator==(const Device &a, const Device &b) { return a.type_ == b.type_ && a.index_ == b.index_; }

bool operator!=(const Device &a, const Device &b) { return !(a == b); }

} // namespace infini_train
