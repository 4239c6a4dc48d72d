#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "infini_train/include/core/runtime/device_guard.h"
#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"
#include "tests/common/test_utils.h"

namespace infini_train::test {

using TensorPtr = std::shared_ptr<Tensor>;
using TensorList = std::vector<std::shared_ptr<Tensor>>;
using Dims = std::vector<int64_t>;

// Calls kernels of the device under test as the framework does: by name, with the types of the arguments as they are.
class KernelTest : public InfiniTrainTest {
protected:
    template <typename RetT = TensorPtr, typename... ArgsT> RetT Call(const std::string &name, ArgsT... args) const {
        const core::DeviceGuard guard(GetDevice());
        return Dispatcher::Instance().Call<RetT, ArgsT...>({GetParam(), name}, std::move(args)...);
    }

    TensorPtr Make(const std::vector<float> &values, const Dims &dims) const {
        return MakeTensor(values, dims, GetDevice());
    }

    TensorPtr MakeIndex(const std::vector<int64_t> &values, const Dims &dims) const {
        return MakeTensorOf<int64_t>(DataType::kINT64, values, dims, GetDevice());
    }

    void Expect(const TensorPtr &tensor, const Dims &dims, const std::vector<float> &values) const {
        ASSERT_NE(tensor, nullptr);
        EXPECT_EQ(tensor->GetDevice(), GetDevice());
        EXPECT_EQ(tensor->Dims(), dims);
        ExpectTensorNear(tensor, values, 1e-5f);
    }
};

} // namespace infini_train::test
