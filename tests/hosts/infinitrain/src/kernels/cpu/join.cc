// Kernels that put tensors together along an axis or take them apart: Concat, Split, Stack.
#include <algorithm>
#include <vector>

#include "src/kernels/cpu/common.h"

namespace infini_train::kernels::cpu {
namespace {

// Moves part [begin, begin + length) of the axis between a whole tensor and a piece that holds just that part.
void CopyPart(float *to, int64_t to_axis, int64_t to_begin, const float *from, int64_t from_axis, int64_t from_begin,
              int64_t length, int64_t outer, int64_t inner) {
    for (int64_t o = 0; o < outer; ++o) {
        const float *source = from + (o * from_axis + from_begin) * inner;
        std::copy_n(source, length * inner, to + (o * to_axis + to_begin) * inner);
    }
}

void CheckEqualBut(const Dims &a, const Dims &b, int64_t axis) {
    CHECK_EQ(a.size(), b.size());
    for (int64_t i = 0; i < Rank(a); ++i) {
        if (i != axis) {
            CHECK_EQ(a[i], b[i]) << "All non-concat dims must match";
        }
    }
}

} // namespace

std::shared_ptr<Tensor> ConcatForward(const std::vector<std::shared_ptr<Tensor>> &inputs, int64_t dim) {
    CHECK(!inputs.empty());
    Dims dims = inputs[0]->Dims();
    const int64_t axis = NormalizeAxis(dim, Rank(dims));
    dims[axis] = 0;
    for (const auto &input : inputs) {
        CHECK(input->Dtype() == inputs[0]->Dtype());
        CheckEqualBut(input->Dims(), dims, axis);
        dims[axis] += input->Dims()[axis];
    }

    auto output = MakeFloat(dims);
    const AxisView view(dims, axis);
    int64_t begin = 0;
    for (const auto &input : inputs) {
        const int64_t length = input->Dims()[axis];
        CopyPart(Data(output), view.axis, begin, Data(input), length, 0, length, view.outer, view.inner);
        begin += length;
    }
    return output;
}

std::vector<std::shared_ptr<Tensor>> ConcatBackward(const std::shared_ptr<Tensor> &grad_output,
                                                    const std::vector<std::vector<int64_t>> &input_dims_list,
                                                    int64_t dim) {
    CHECK(!input_dims_list.empty());
    CHECK(grad_output->Dtype() == DataType::kFLOAT32) << "CPU ConcatBackward assumes float32";
    const int64_t axis = NormalizeAxis(dim, Rank(grad_output->Dims()));
    const AxisView view(grad_output->Dims(), axis);

    std::vector<std::shared_ptr<Tensor>> grads;
    int64_t begin = 0;
    for (const auto &dims : input_dims_list) {
        CheckEqualBut(dims, input_dims_list[0], axis);
        const int64_t length = dims[axis];
        grads.push_back(MakeFloat(dims));
        CopyPart(Data(grads.back()), length, 0, Data(grad_output), view.axis, begin, length, view.outer, view.inner);
        begin += length;
    }
    return grads;
}

// The axis is an int and must not be negative, unlike everywhere else.
std::vector<std::shared_ptr<Tensor>> SplitForward(const std::shared_ptr<Tensor> &input, int64_t split_size, int dim) {
    CHECK_GT(split_size, 0);
    CHECK_GE(dim, 0) << "Currently we do not support negative dimension";
    CHECK_LT(dim, Rank(input->Dims()));
    const AxisView view(input->Dims(), dim);

    std::vector<std::shared_ptr<Tensor>> outputs;
    for (int64_t begin = 0; begin < view.axis; begin += split_size) {
        Dims dims = input->Dims();
        dims[dim] = std::min(split_size, view.axis - begin);
        outputs.push_back(MakeFloat(dims));
        CopyPart(Data(outputs.back()), dims[dim], 0, Data(input), view.axis, begin, dims[dim], view.outer, view.inner);
    }
    return outputs;
}

std::shared_ptr<Tensor> SplitBackward(const std::vector<int64_t> &input_dims, int64_t split_size, int dim,
                                      const std::vector<std::shared_ptr<Tensor>> &grad_outputs) {
    CHECK_GT(split_size, 0);
    CHECK_GE(dim, 0) << "Currently we do not support negative dimension";
    CHECK_LT(dim, Rank(input_dims));
    const AxisView view(input_dims, dim);
    CHECK_EQ(static_cast<int64_t>(grad_outputs.size()), (view.axis + split_size - 1) / split_size);

    auto grad_input = MakeFloat(input_dims);
    int64_t begin = 0;
    for (const auto &grad : grad_outputs) {
        Dims dims = input_dims;
        dims[dim] = std::min(split_size, view.axis - begin);
        CHECK(grad->Dims() == dims);
        CopyPart(Data(grad_input), view.axis, begin, Data(grad), dims[dim], 0, dims[dim], view.outer, view.inner);
        begin += dims[dim];
    }
    return grad_input;
}

std::shared_ptr<Tensor> StackForward(const std::vector<std::shared_ptr<Tensor>> &inputs, int64_t dim) {
    CHECK(!inputs.empty());
    Dims dims = inputs[0]->Dims();
    const int64_t axis = NormalizeAxis(dim, Rank(dims) + 1);
    const auto length = static_cast<int64_t>(inputs.size());
    dims.insert(dims.begin() + axis, length);

    auto output = MakeFloat(dims);
    const AxisView view(dims, axis);
    for (int64_t i = 0; i < length; ++i) {
        CHECK(inputs[i]->Dims() == inputs[0]->Dims());
        CopyPart(Data(output), length, i, Data(inputs[i]), 1, 0, 1, view.outer, view.inner);
    }
    return output;
}

std::vector<std::shared_ptr<Tensor>> StackBackward(const std::vector<int64_t> &input_dims, int64_t dim,
                                                   const std::shared_ptr<Tensor> &grad_output) {
    const int64_t axis = NormalizeAxis(dim, Rank(grad_output->Dims()));
    const AxisView view(grad_output->Dims(), axis);

    std::vector<std::shared_ptr<Tensor>> grads;
    for (int64_t i = 0; i < view.axis; ++i) {
        grads.push_back(MakeFloat(input_dims));
        CHECK_EQ(Count(grads.back()), view.outer * view.inner);
        CopyPart(Data(grads.back()), 1, 0, Data(grad_output), view.axis, i, 1, view.outer, view.inner);
    }
    return grads;
}

REGISTER_CPU_KERNEL(ConcatForward)
REGISTER_CPU_KERNEL(ConcatBackward)
REGISTER_CPU_KERNEL(SplitForward)
REGISTER_CPU_KERNEL(SplitBackward)
REGISTER_CPU_KERNEL(StackForward)
REGISTER_CPU_KERNEL(StackBackward)

} // namespace infini_train::kernels::cpu
