#pragma once

#include <cstdint>

#include "infini_train/include/datatype.h"
#include "infini_train/include/device.h"

namespace infini_train::core {

// The C++ type with which a device type computes on a dtype. Left undefined, so that a missing entry is noticed: the
// ordinary types come from INFINI_REGISTER_STANDARD_BACKEND_TYPES, fp16 and bf16 from a specialisation in the backend.
template <Device::DeviceType Dev, DataType DType> struct BackendTypeMap;

} // namespace infini_train::core

#define INFINI_BACKEND_TYPE_(DEV, DTYPE, TYPE)                                                                         \
    template <> struct BackendTypeMap<DEV, DataType::DTYPE> {                                                          \
        using type = TYPE;                                                                                             \
    };

// For file scope, outside every namespace, once per device type.
#define INFINI_REGISTER_STANDARD_BACKEND_TYPES(DEV)                                                                    \
    namespace infini_train::core {                                                                                     \
    INFINI_BACKEND_TYPE_(DEV, kBOOL, bool)                                                                             \
    INFINI_BACKEND_TYPE_(DEV, kUINT8, uint8_t)                                                                         \
    INFINI_BACKEND_TYPE_(DEV, kINT8, int8_t)                                                                           \
    INFINI_BACKEND_TYPE_(DEV, kUINT16, uint16_t)                                                                       \
    INFINI_BACKEND_TYPE_(DEV, kINT16, int16_t)                                                                         \
    INFINI_BACKEND_TYPE_(DEV, kUINT32, uint32_t)                                                                       \
    INFINI_BACKEND_TYPE_(DEV, kINT32, int32_t)                                                                         \
    INFINI_BACKEND_TYPE_(DEV, kUINT64, uint64_t)                                                                       \
    INFINI_BACKEND_TYPE_(DEV, kINT64, int64_t)                                                                         \
    INFINI_BACKEND_TYPE_(DEV, kFLOAT32, float)                                                                         \
    INFINI_BACKEND_TYPE_(DEV, kFLOAT64, double)                                                                        \
    } // namespace infini_train::core
