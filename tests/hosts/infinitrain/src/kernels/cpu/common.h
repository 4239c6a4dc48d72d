#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "glog/logging.h"

#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"

// Shared by the CPU kernels. They behave as the framework's do: fp32 only and without looking (other dtypes are read
// and written as float), results on the CPU.
namespace infini_train::kernels::cpu {

using TensorPtr = std::shared_ptr<Tensor>;
using Dims = std::vector<int64_t>;

inline float *Data(const TensorPtr &tensor) { return static_cast<float *>(tensor->DataPtr()); }

inline const int64_t *Indices(const TensorPtr &tensor) {
    CHECK(tensor->Dtype() == DataType::kINT64) << "index tensors are int64";
    return static_cast<const int64_t *>(tensor->DataPtr());
}

// A result of the kernels that always answer in fp32.
inline TensorPtr MakeFloat(const Dims &dims) { return std::make_shared<Tensor>(dims, DataType::kFLOAT32); }

// A result of the kernels that answer in the dtype of an input. They write floats all the same: with a 2-byte dtype
// past the end of the buffer.
inline TensorPtr MakeLike(const Dims &dims, const TensorPtr &input) {
    return std::make_shared<Tensor>(dims, input->Dtype(), input->GetDevice());
}

inline void Clear(const TensorPtr &tensor) { std::fill_n(Data(tensor), tensor->NumElements(), 0.0f); }

inline int64_t Product(std::span<const int64_t> dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

inline int64_t Count(const TensorPtr &tensor) { return static_cast<int64_t>(tensor->NumElements()); }

inline int64_t Rank(const Dims &dims) { return static_cast<int64_t>(dims.size()); }

// An axis counted from the end becomes one counted from the start.
inline int64_t NormalizeAxis(int64_t axis, int64_t rank) {
    const int64_t normal = axis < 0 ? axis + rank : axis;
    CHECK_GE(normal, 0);
    CHECK_LT(normal, rank);
    return normal;
}

// A shape seen from one axis: [outer, axis, inner].
struct AxisView {
    AxisView(const Dims &dims, int64_t axis)
        : outer(Product(std::span(dims).first(static_cast<size_t>(axis)))), axis(dims[static_cast<size_t>(axis)]),
          inner(Product(std::span(dims).subspan(static_cast<size_t>(axis) + 1))) {}

    int64_t outer;
    int64_t axis;
    int64_t inner;
};

// Counts through all indices of `dims` in memory order.
class IndexCounter {
public:
    explicit IndexCounter(Dims dims) : dims_(std::move(dims)), index_(dims_.size(), 0) {}

    const Dims &index() const { return index_; }

    void Next() {
        for (size_t axis = dims_.size(); axis-- > 0;) {
            if (++index_[axis] < dims_[axis]) {
                return;
            }
            index_[axis] = 0;
        }
    }

private:
    Dims dims_;
    Dims index_;
};

} // namespace infini_train::kernels::cpu

#define REGISTER_CPU_KERNEL(NAME) REGISTER_KERNEL(infini_train::Device::DeviceType::kCPU, NAME, NAME)
