// Kernels that are matrix products: Linear, Matmul, Outer.
#include <algorithm>
#include <tuple>

#include "src/kernels/cpu/common.h"

namespace infini_train::kernels::cpu {
namespace {

// A row-major matrix, or its transpose.
struct Matrix {
    const float *data;
    int64_t rows;
    int64_t columns;
    int64_t row_step;
    int64_t column_step;

    Matrix Transposed() const { return {data, columns, rows, column_step, row_step}; }
};

Matrix RowMajor(const float *data, int64_t rows, int64_t columns) { return {data, rows, columns, columns, 1}; }

// All axes but the last as one.
Matrix Flattened(const TensorPtr &tensor) {
    const int64_t columns = tensor->Dims().back();
    const auto &dims = tensor->Dims();
    return RowMajor(Data(tensor), Product(std::span(dims).first(dims.size() - 1)), columns);
}

// out = a * b, row-major.
void Multiply(const Matrix &a, const Matrix &b, float *out) {
    CHECK_EQ(a.columns, b.rows);
    std::fill_n(out, a.rows * b.columns, 0.0f);
    for (int64_t i = 0; i < a.rows; ++i) {
        for (int64_t k = 0; k < a.columns; ++k) {
            const float factor = a.data[i * a.row_step + k * a.column_step];
            const float *row = b.data + k * b.row_step;
            for (int64_t j = 0; j < b.columns; ++j) { out[i * b.columns + j] += factor * row[j * b.column_step]; }
        }
    }
}

// Two tensors of one rank as batches of matrices; their leading axes must be the same.
int64_t CountBatches(const Dims &a, const Dims &b) {
    CHECK_GE(a.size(), 2u);
    CHECK_EQ(a.size(), b.size());
    int64_t batches = 1;
    for (size_t axis = 0; axis + 2 < a.size(); ++axis) {
        CHECK_EQ(a[axis], b[axis]) << "Batch dims must match";
        batches *= a[axis];
    }
    return batches;
}

Matrix Batch(const TensorPtr &tensor, int64_t batch) {
    const auto &dims = tensor->Dims();
    const int64_t rows = dims[dims.size() - 2];
    const int64_t columns = dims[dims.size() - 1];
    return RowMajor(Data(tensor) + batch * rows * columns, rows, columns);
}

} // namespace

// The weight is [out, in] with transpose and [in, out] without; the bias may be null.
std::shared_ptr<Tensor> LinearForward(const std::shared_ptr<Tensor> &input, const std::shared_ptr<Tensor> &weight,
                                      bool transpose, const std::shared_ptr<Tensor> &bias) {
    CHECK_GE(input->Dims().size(), 2u);
    CHECK_EQ(weight->Dims().size(), 2u);
    const Matrix x = Flattened(input);
    const Matrix w = transpose ? Flattened(weight).Transposed() : Flattened(weight);
    Dims dims = input->Dims();
    dims.back() = w.columns;
    auto output = MakeFloat(dims);
    Multiply(x, w, Data(output));
    if (bias) {
        CHECK_EQ(bias->Dims().size(), 1u);
        CHECK_EQ(bias->Dims()[0], w.columns);
        for (int64_t i = 0; i < Count(output); ++i) { Data(output)[i] += Data(bias)[i % w.columns]; }
    }
    return output;
}

// The weight comes first, the features are not looked at.
std::shared_ptr<Tensor> LinearBackwardInput(const std::shared_ptr<Tensor> &weight,
                                            const std::shared_ptr<Tensor> &grad_output, bool transpose, int64_t,
                                            int64_t, const std::vector<int64_t> &input_dims) {
    CHECK_GE(input_dims.size(), 2u);
    auto grad_input = MakeFloat(input_dims);
    const Matrix w = transpose ? Flattened(weight) : Flattened(weight).Transposed();
    const Matrix grad = Flattened(grad_output);
    CHECK_EQ(Count(grad_input), grad.rows * w.columns);
    Multiply(grad, w, Data(grad_input));
    return grad_input;
}

std::shared_ptr<Tensor> LinearBackwardWeight(const std::shared_ptr<Tensor> &input,
                                             const std::shared_ptr<Tensor> &grad_output, bool transpose,
                                             int64_t in_features, int64_t out_features) {
    auto grad_weight = MakeFloat(transpose ? Dims{out_features, in_features} : Dims{in_features, out_features});
    const Matrix x = Flattened(input);
    const Matrix grad = Flattened(grad_output);
    CHECK_EQ(x.columns, in_features);
    CHECK_EQ(grad.columns, out_features);
    if (transpose) {
        Multiply(grad.Transposed(), x, Data(grad_weight));
    } else {
        Multiply(x.Transposed(), grad, Data(grad_weight));
    }
    return grad_weight;
}

std::shared_ptr<Tensor> LinearBackwardBias(const std::shared_ptr<Tensor> &grad_output, int64_t out_features) {
    auto grad_bias = MakeFloat({out_features});
    Clear(grad_bias);
    const Matrix grad = Flattened(grad_output);
    CHECK_EQ(grad.columns, out_features);
    for (int64_t i = 0; i < Count(grad_output); ++i) { Data(grad_bias)[i % out_features] += grad.data[i]; }
    return grad_bias;
}

std::shared_ptr<Tensor> MatmulForward(const std::shared_ptr<Tensor> &input, const std::shared_ptr<Tensor> &other) {
    const int64_t batches = CountBatches(input->Dims(), other->Dims());
    Dims dims = input->Dims();
    dims.back() = other->Dims().back();
    auto output = MakeFloat(dims);
    for (int64_t b = 0; b < batches; ++b) {
        Multiply(Batch(input, b), Batch(other, b), Data(output) + b * (Count(output) / batches));
    }
    return output;
}

// The other operand comes first.
std::shared_ptr<Tensor> MatmulBackwardInput(const std::shared_ptr<Tensor> &other,
                                            const std::shared_ptr<Tensor> &grad_output,
                                            const std::vector<int64_t> &input_dims) {
    const int64_t batches = CountBatches(other->Dims(), grad_output->Dims());
    auto grad_input = MakeFloat(input_dims);
    for (int64_t b = 0; b < batches; ++b) {
        Multiply(Batch(grad_output, b), Batch(other, b).Transposed(),
                 Data(grad_input) + b * (Count(grad_input) / batches));
    }
    return grad_input;
}

std::shared_ptr<Tensor> MatmulBackwardOther(const std::shared_ptr<Tensor> &input1,
                                            const std::shared_ptr<Tensor> &grad_output,
                                            const std::vector<int64_t> &other_dims) {
    const int64_t batches = CountBatches(input1->Dims(), grad_output->Dims());
    auto grad_other = MakeFloat(other_dims);
    for (int64_t b = 0; b < batches; ++b) {
        Multiply(Batch(input1, b).Transposed(), Batch(grad_output, b),
                 Data(grad_other) + b * (Count(grad_other) / batches));
    }
    return grad_other;
}

std::shared_ptr<Tensor> OuterForward(const std::shared_ptr<Tensor> &input, const std::shared_ptr<Tensor> &other) {
    CHECK_EQ(input->Dims().size(), 1u);
    CHECK_EQ(other->Dims().size(), 1u);
    auto output = MakeFloat({Count(input), Count(other)});
    Multiply(RowMajor(Data(input), Count(input), 1), RowMajor(Data(other), 1, Count(other)), Data(output));
    return output;
}

std::tuple<std::shared_ptr<Tensor>, std::shared_ptr<Tensor>> OuterBackward(const std::shared_ptr<Tensor> &input,
                                                                           const std::shared_ptr<Tensor> &other,
                                                                           const std::shared_ptr<Tensor> &grad_output) {
    CHECK(grad_output->Dims() == (Dims{input->Dims()[0], other->Dims()[0]}));
    const Matrix grad = Flattened(grad_output);
    auto grad_input = MakeFloat({grad.rows});
    auto grad_other = MakeFloat({grad.columns});
    Multiply(grad, RowMajor(Data(other), grad.columns, 1), Data(grad_input));
    Multiply(grad.Transposed(), RowMajor(Data(input), grad.rows, 1), Data(grad_other));
    return {grad_input, grad_other};
}

REGISTER_CPU_KERNEL(LinearForward)
REGISTER_CPU_KERNEL(LinearBackwardInput)
REGISTER_CPU_KERNEL(LinearBackwardWeight)
REGISTER_CPU_KERNEL(LinearBackwardBias)
REGISTER_CPU_KERNEL(MatmulForward)
REGISTER_CPU_KERNEL(MatmulBackwardInput)
REGISTER_CPU_KERNEL(MatmulBackwardOther)
REGISTER_CPU_KERNEL(OuterForward)
REGISTER_CPU_KERNEL(OuterBackward)

} // namespace infini_train::kernels::cpu
