#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

#include "infini_train/include/core/runtime/device_guard.h"
#include "infini_train/include/device.h"
#include "infini_train/include/tensor.h"

// One binary runs on one device type, which the build sets.
#ifndef INFINI_TRAIN_TEST_DEVICE_TYPE
#define INFINI_TRAIN_TEST_DEVICE_TYPE infini_train::Device::DeviceType::kCPU
#endif
#ifndef INFINI_TRAIN_TEST_DEVICE_INDEX
#define INFINI_TRAIN_TEST_DEVICE_INDEX 0
#endif
#ifndef INFINI_TRAIN_TEST_PREFIX
#define INFINI_TRAIN_TEST_PREFIX CPU
#endif

namespace infini_train::test {

// The fixture of every suite; the parameter is the device type under test.
class InfiniTrainTest : public ::testing::TestWithParam<Device::DeviceType> {
protected:
    Device GetDevice() const { return Device(GetParam(), INFINI_TRAIN_TEST_DEVICE_INDEX); }

    int DeviceCount() const { return core::GetDeviceGuardImpl(GetParam())->DeviceCount(); }

    bool IsAccelerator() const { return GetParam() != Device::DeviceType::kCPU; }
};

// The elements of a tensor of any device, as bytes of its dtype read as T.
template <typename T> std::vector<T> ReadBack(const std::shared_ptr<Tensor> &tensor) {
    Tensor host(tensor->Dims(), tensor->Dtype());
    host.CopyFrom(*tensor);
    EXPECT_EQ(host.SizeInBytes(), tensor->NumElements() * sizeof(T));
    std::vector<T> values(tensor->NumElements());
    if (!values.empty()) {
        std::memcpy(values.data(), host.DataPtr(), values.size() * sizeof(T));
    }
    return values;
}

// An fp32 tensor on `device`.
inline std::shared_ptr<Tensor> MakeTensor(const std::vector<float> &values, const std::vector<int64_t> &dims,
                                          const Device &device) {
    return std::make_shared<Tensor>(values.data(), dims, DataType::kFLOAT32, device);
}

// A tensor of another dtype on `device`, from values of its host type.
template <typename T>
std::shared_ptr<Tensor> MakeTensorOf(DataType dtype, const std::vector<T> &values, const std::vector<int64_t> &dims,
                                     const Device &device) {
    Tensor host(dims, dtype);
    EXPECT_EQ(host.SizeInBytes(), values.size() * sizeof(T));
    std::memcpy(host.DataPtr(), values.data(), host.SizeInBytes());
    auto tensor = std::make_shared<Tensor>(dims, dtype, device);
    tensor->CopyFrom(host);
    return tensor;
}

// Every element within `tolerance` of what is expected, by place. The tensor may live on any device.
inline void ExpectTensorNear(const std::shared_ptr<Tensor> &tensor, const std::vector<float> &expected,
                             float tolerance) {
    ASSERT_NE(tensor, nullptr);
    ASSERT_EQ(tensor->Dtype(), DataType::kFLOAT32);
    ASSERT_EQ(tensor->NumElements(), expected.size());
    const auto values = ReadBack<float>(tensor);
    for (size_t i = 0; i < values.size(); ++i) { EXPECT_NEAR(values[i], expected[i], tolerance) << "element " << i; }
}

// Equal up to four units in the last place.
inline void ExpectTensorFloatEqual(const std::shared_ptr<Tensor> &tensor, const std::vector<float> &expected) {
    ASSERT_NE(tensor, nullptr);
    ASSERT_EQ(tensor->Dtype(), DataType::kFLOAT32);
    ASSERT_EQ(tensor->NumElements(), expected.size());
    const auto values = ReadBack<float>(tensor);
    for (size_t i = 0; i < values.size(); ++i) { EXPECT_FLOAT_EQ(values[i], expected[i]) << "element " << i; }
}

} // namespace infini_train::test

#define SKIP_CPU()                                                                                                     \
    do {                                                                                                               \
        if (!IsAccelerator()) {                                                                                        \
            GTEST_SKIP() << "skipped on CPU";                                                                          \
        }                                                                                                              \
    } while (0)

#define ONLY_CPU()                                                                                                     \
    do {                                                                                                               \
        if (IsAccelerator()) {                                                                                         \
            GTEST_SKIP() << "CPU-only test";                                                                           \
        }                                                                                                              \
    } while (0)

#define REQUIRE_MIN_DEVICES(n)                                                                                         \
    do {                                                                                                               \
        if (DeviceCount() < (n)) {                                                                                     \
            GTEST_SKIP() << "requires at least " << (n) << " devices (found " << DeviceCount() << ")";                 \
        }                                                                                                              \
    } while (0)

#define INFINI_TRAIN_INSTANTIATE_(PREFIX, NAME)                                                                        \
    INSTANTIATE_TEST_SUITE_P(PREFIX, NAME, ::testing::Values(INFINI_TRAIN_TEST_DEVICE_TYPE))
#define INFINI_TRAIN_REGISTER_TEST(NAME) INFINI_TRAIN_INSTANTIATE_(INFINI_TRAIN_TEST_PREFIX, NAME)
