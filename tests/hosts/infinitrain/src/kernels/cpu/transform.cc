// Kernels that move or drop elements: Tril, Triu, Transpose, Mask, RepeatInterleave, Slice. Their results have the
// dtype of the input, although they write floats.
#include <algorithm>
#include <cmath>
#include <utility>

#include "infini_train/include/common/common.h"
#include "src/kernels/cpu/common.h"

namespace infini_train::kernels::cpu {
namespace {

// Keeps the elements of a matrix for which keep(row, column) holds and clears the others.
template <typename Keep> TensorPtr KeepWhere(const TensorPtr &input, Keep &&keep) {
    CHECK_EQ(input->Dims().size(), 2u);
    const int64_t columns = input->Dims()[1];
    auto output = MakeLike(input->Dims(), input);
    for (int64_t i = 0; i < Count(input); ++i) {
        Data(output)[i] = keep(i / columns, i % columns) ? Data(input)[i] : 0.0f;
    }
    return output;
}

TensorPtr LowerTriangle(const TensorPtr &input, int64_t diagonal) {
    return KeepWhere(input, [=](int64_t row, int64_t column) { return column - row <= diagonal; });
}

TensorPtr UpperTriangle(const TensorPtr &input, int64_t diagonal) {
    return KeepWhere(input, [=](int64_t row, int64_t column) { return column - row >= diagonal; });
}

// Puts `value` where the mask is one. The mask covers the trailing axes and repeats over the leading ones: the CPU
// knows no other mask, and none of another dtype.
TensorPtr Masked(const TensorPtr &input, const TensorPtr &mask, float value) {
    CHECK_EQ(Count(input) % Count(mask), 0);
    CHECK(input->Dtype() == mask->Dtype());
    auto output = MakeLike(input->Dims(), input);
    for (int64_t i = 0; i < Count(input); ++i) {
        const bool hit = std::abs(Data(mask)[i % Count(mask)] - 1.0f) < 1e-5f;
        Data(output)[i] = hit ? value : Data(input)[i];
    }
    return output;
}

// For every element of the slice, its place in the sliced tensor.
struct Slicer {
    Slicer(const Dims &whole, const Dims &starts, const Dims &ends, const Dims &steps) {
        CHECK_EQ(starts.size(), ends.size());
        CHECK_EQ(starts.size(), steps.size());
        CHECK_EQ(starts.size(), whole.size());
        const auto strides = ComputeStrides(whole);
        for (size_t axis = 0; axis < whole.size(); ++axis) {
            CHECK_LE(starts[axis], ends[axis]);
            CHECK_GT(steps[axis], 0);
            dims.push_back((ends[axis] - starts[axis] + steps[axis] - 1) / steps[axis]);
        }
        places.resize(static_cast<size_t>(Product(dims)));
        IndexCounter counter(dims);
        for (auto &place : places) {
            for (size_t axis = 0; axis < whole.size(); ++axis) {
                place += (starts[axis] + counter.index()[axis] * steps[axis]) * strides[axis];
            }
            counter.Next();
        }
    }

    Dims dims;
    Dims places;
};

} // namespace

std::shared_ptr<Tensor> TrilForward(const std::shared_ptr<Tensor> &input, int64_t diagonal) {
    return LowerTriangle(input, diagonal);
}

std::shared_ptr<Tensor> TrilBackward(const std::shared_ptr<Tensor> &grad_output, int64_t diagonal) {
    return LowerTriangle(grad_output, diagonal);
}

std::shared_ptr<Tensor> TriuForward(const std::shared_ptr<Tensor> &input, int64_t diagonal) {
    return UpperTriangle(input, diagonal);
}

std::shared_ptr<Tensor> TriuBackward(const std::shared_ptr<Tensor> &grad_output, int64_t diagonal) {
    return UpperTriangle(grad_output, diagonal);
}

std::shared_ptr<Tensor> TransposeForward(const std::shared_ptr<Tensor> &input, int64_t dim0, int64_t dim1) {
    Dims dims = input->Dims();
    Dims strides = ComputeStrides(dims);
    const int64_t first = NormalizeAxis(dim0, Rank(dims));
    const int64_t second = NormalizeAxis(dim1, Rank(dims));
    std::swap(dims[first], dims[second]);
    std::swap(strides[first], strides[second]);
    auto output = MakeLike(dims, input);
    IndexCounter counter(dims);
    for (int64_t i = 0; i < Count(output); ++i, counter.Next()) {
        const auto &index = counter.index();
        Data(output)[i] = Data(input)[std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0})];
    }
    return output;
}

std::shared_ptr<Tensor> TransposeBackward(const std::shared_ptr<Tensor> &grad_output, int64_t dim0, int64_t dim1) {
    return TransposeForward(grad_output, dim1, dim0);
}

std::shared_ptr<Tensor> MaskForward(const std::shared_ptr<Tensor> &input, const std::shared_ptr<Tensor> &mask,
                                    float value) {
    return Masked(input, mask, value);
}

std::shared_ptr<Tensor> MaskBackward(const std::shared_ptr<Tensor> &grad_output, const std::shared_ptr<Tensor> &mask) {
    return Masked(grad_output, mask, 0.0f);
}

std::shared_ptr<Tensor> RepeatInterleaveForward(const std::shared_ptr<Tensor> &input, int64_t repeat, int64_t dim) {
    CHECK_GT(repeat, 0);
    CHECK_GE(dim, 0);
    CHECK_LT(dim, Rank(input->Dims()));
    const AxisView view(input->Dims(), dim);
    Dims dims = input->Dims();
    dims[dim] *= repeat;
    auto output = MakeLike(dims, input);
    float *out = Data(output);
    for (int64_t block = 0; block < view.outer * view.axis; ++block) {
        for (int64_t r = 0; r < repeat; ++r) { out = std::copy_n(Data(input) + block * view.inner, view.inner, out); }
    }
    return output;
}

std::shared_ptr<Tensor> RepeatInterleaveBackward(const std::shared_ptr<Tensor> &grad_output,
                                                 const std::vector<int64_t> &input_dims, int64_t dim) {
    CHECK_GE(dim, 0);
    CHECK_LT(dim, Rank(input_dims));
    const AxisView view(input_dims, dim);
    const int64_t repeat = grad_output->Dims()[dim] / view.axis;
    CHECK_EQ(grad_output->Dims()[dim], view.axis * repeat);
    auto grad_input = MakeLike(input_dims, grad_output);
    for (int64_t block = 0; block < view.outer * view.axis; ++block) {
        for (int64_t i = 0; i < view.inner; ++i) {
            float sum = 0.0f;
            for (int64_t r = 0; r < repeat; ++r) { sum += Data(grad_output)[(block * repeat + r) * view.inner + i]; }
            Data(grad_input)[block * view.inner + i] = sum;
        }
    }
    return grad_input;
}

std::shared_ptr<Tensor> SliceForward(const std::shared_ptr<Tensor> &input, const std::vector<int64_t> &starts,
                                     const std::vector<int64_t> &ends, const std::vector<int64_t> &steps) {
    const Slicer slicer(input->Dims(), starts, ends, steps);
    auto output = MakeLike(slicer.dims, input);
    for (int64_t i = 0; i < Count(output); ++i) { Data(output)[i] = Data(input)[slicer.places[i]]; }
    return output;
}

std::shared_ptr<Tensor> SliceBackward(const std::shared_ptr<Tensor> &grad_output, const std::shared_ptr<Tensor> &input,
                                      const std::vector<int64_t> &starts, const std::vector<int64_t> &ends,
                                      const std::vector<int64_t> &steps) {
    const Slicer slicer(input->Dims(), starts, ends, steps);
    auto grad_input = MakeLike(input->Dims(), input);
    grad_input->Fill(0.0f);
    for (int64_t i = 0; i < Count(grad_output); ++i) { Data(grad_input)[slicer.places[i]] = Data(grad_output)[i]; }
    return grad_input;
}

REGISTER_CPU_KERNEL(TrilForward)
REGISTER_CPU_KERNEL(TrilBackward)
REGISTER_CPU_KERNEL(TriuForward)
REGISTER_CPU_KERNEL(TriuBackward)
REGISTER_CPU_KERNEL(TransposeForward)
REGISTER_CPU_KERNEL(TransposeBackward)
REGISTER_CPU_KERNEL(MaskForward)
REGISTER_CPU_KERNEL(MaskBackward)
REGISTER_CPU_KERNEL(RepeatInterleaveForward)
REGISTER_CPU_KERNEL(RepeatInterleaveBackward)
REGISTER_CPU_KERNEL(SliceForward)
REGISTER_CPU_KERNEL(SliceBackward)

} // namespace infini_train::kernels::cpu
