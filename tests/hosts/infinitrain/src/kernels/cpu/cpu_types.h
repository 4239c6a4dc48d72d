#pragma once

#include "infini_train/include/core/backend_type_map.h"
#include "infini_train/include/datatype.h"

// The host computes with the framework's own 16-bit storage classes.
namespace infini_train::core {

template <> struct BackendTypeMap<Device::DeviceType::kCPU, DataType::kFLOAT16> {
    using type = FP16;
};

template <> struct BackendTypeMap<Device::DeviceType::kCPU, DataType::kBFLOAT16> {
    using type = BF16;
};

} // namespace infini_train::core

INFINI_REGISTER_STANDARD_BACKEND_TYPES(infini_train::Device::DeviceType::kCPU)

namespace infini_train::kernels::cpu {

template <DataType DType> struct CpuTypeMap : core::BackendTypeMap<Device::DeviceType::kCPU, DType> {};

} // namespace infini_train::kernels::cpu
