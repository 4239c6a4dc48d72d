// Kernels along one axis: Mean, Sum, Max, Min, Softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/kernels/cpu/common.h"

namespace infini_train::kernels::cpu {
namespace {

using ReduceFn = float (*)(const float *values, int64_t count);

// The framework's CPU kernels reduce `axis` elements that lie side by side in memory, whatever axis was asked for. That
// is right for the last axis only, and a backend must not take these kernels as the truth for another one; kept on
// purpose.
TensorPtr Reduce(const TensorPtr &input, int64_t dim, bool keep_dim, ReduceFn fn) {
    Dims dims = input->Dims();
    const int64_t axis = NormalizeAxis(dim, Rank(dims));
    const AxisView view(dims, axis);
    if (keep_dim) {
        dims[axis] = 1;
    } else {
        dims.erase(dims.begin() + axis);
    }
    auto output = MakeFloat(dims);
    for (int64_t o = 0; o < view.outer; ++o) {
        for (int64_t i = 0; i < view.inner; ++i) {
            Data(output)[o * view.inner + i] = fn(Data(input) + o * view.axis * view.inner + i, view.axis);
        }
    }
    return output;
}

float Sum(const float *values, int64_t count) { return std::accumulate(values, values + count, 0.0f); }

float Mean(const float *values, int64_t count) { return Sum(values, count) / static_cast<float>(count); }

float Max(const float *values, int64_t count) {
    float max = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < count; ++i) { max = std::max(max, values[i]); }
    return max;
}

float Min(const float *values, int64_t count) {
    float min = std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < count; ++i) { min = std::min(min, values[i]); }
    return min;
}

// The gradient of a reduced element goes to every element it came from; the backward passes know the inner axes.
template <typename Share> TensorPtr Spread(const Dims &input_dims, int64_t dim, Share &&share) {
    const AxisView view(input_dims, NormalizeAxis(dim, Rank(input_dims)));
    auto grad_input = MakeFloat(input_dims);
    for (int64_t o = 0; o < view.outer; ++o) {
        for (int64_t a = 0; a < view.axis; ++a) {
            for (int64_t i = 0; i < view.inner; ++i) {
                const int64_t whole = (o * view.axis + a) * view.inner + i;
                Data(grad_input)[whole] = share(whole, o * view.inner + i, view.axis);
            }
        }
    }
    return grad_input;
}

// Every element that equals the reduced one gets the whole gradient.
TensorPtr SpreadToEqual(const TensorPtr &grad_output, const TensorPtr &input, const TensorPtr &reduced, int64_t dim) {
    return Spread(input->Dims(), dim, [&](int64_t whole, int64_t part, int64_t) {
        return Data(input)[whole] == Data(reduced)[part] ? Data(grad_output)[part] : 0.0f;
    });
}

} // namespace

std::shared_ptr<Tensor> MeanForward(const std::shared_ptr<Tensor> &input, const int64_t dim, const bool keep_dim) {
    return Reduce(input, dim, keep_dim, Mean);
}

std::shared_ptr<Tensor> MeanBackward(const std::shared_ptr<Tensor> &grad_output, const std::vector<int64_t> &input_dims,
                                     const int64_t dim, bool) {
    return Spread(input_dims, dim, [&](int64_t, int64_t part, int64_t axis) {
        return Data(grad_output)[part] / static_cast<float>(axis);
    });
}

std::shared_ptr<Tensor> SumForward(const std::shared_ptr<Tensor> &input, const int64_t dim, const bool keep_dim) {
    return Reduce(input, dim, keep_dim, Sum);
}

std::shared_ptr<Tensor> SumBackward(const std::shared_ptr<Tensor> &grad_output, const std::vector<int64_t> &input_dims,
                                    const int64_t dim, bool) {
    return Spread(input_dims, dim, [&](int64_t, int64_t part, int64_t) { return Data(grad_output)[part]; });
}

std::shared_ptr<Tensor> MaxForward(const std::shared_ptr<Tensor> &input, const int64_t dim, const bool keep_dim) {
    return Reduce(input, dim, keep_dim, Max);
}

std::shared_ptr<Tensor> MaxBackward(const std::shared_ptr<Tensor> &grad_output, const std::shared_ptr<Tensor> &input,
                                    const std::shared_ptr<Tensor> &reduced, const int64_t dim, bool) {
    return SpreadToEqual(grad_output, input, reduced, dim);
}

std::shared_ptr<Tensor> MinForward(const std::shared_ptr<Tensor> &input, const int64_t dim, const bool keep_dim) {
    return Reduce(input, dim, keep_dim, Min);
}

std::shared_ptr<Tensor> MinBackward(const std::shared_ptr<Tensor> &grad_output, const std::shared_ptr<Tensor> &input,
                                    const std::shared_ptr<Tensor> &reduced, const int64_t dim, bool) {
    return SpreadToEqual(grad_output, input, reduced, dim);
}

std::shared_ptr<Tensor> SoftmaxForward(const std::shared_ptr<Tensor> &input, int64_t dim) {
    const AxisView view(input->Dims(), NormalizeAxis(dim, Rank(input->Dims())));
    auto output = MakeLike(input->Dims(), input);
    for (int64_t o = 0; o < view.outer; ++o) {
        for (int64_t i = 0; i < view.inner; ++i) {
            const int64_t begin = o * view.axis * view.inner + i;
            const float *x = Data(input) + begin;
            float *y = Data(output) + begin;
            float max = x[0];
            for (int64_t a = 1; a < view.axis; ++a) { max = std::max(max, x[a * view.inner]); }
            float sum = 0.0f;
            for (int64_t a = 0; a < view.axis; ++a) {
                y[a * view.inner] = std::exp(x[a * view.inner] - max);
                sum += y[a * view.inner];
            }
            for (int64_t a = 0; a < view.axis; ++a) { y[a * view.inner] /= sum; }
        }
    }
    return output;
}

std::shared_ptr<Tensor> SoftmaxBackward(const std::shared_ptr<Tensor> &grad_output,
                                        const std::shared_ptr<Tensor> &output, int64_t dim) {
    const AxisView view(output->Dims(), NormalizeAxis(dim, Rank(output->Dims())));
    auto grad_input = MakeLike(output->Dims(), output);
    for (int64_t o = 0; o < view.outer; ++o) {
        for (int64_t i = 0; i < view.inner; ++i) {
            const int64_t begin = o * view.axis * view.inner + i;
            const float *y = Data(output) + begin;
            const float *grad = Data(grad_output) + begin;
            float along = 0.0f;
            for (int64_t a = 0; a < view.axis; ++a) { along += y[a * view.inner] * grad[a * view.inner]; }
            for (int64_t a = 0; a < view.axis; ++a) {
                Data(grad_input)[begin + a * view.inner] = y[a * view.inner] * (grad[a * view.inner] - along);
            }
        }
    }
    return grad_input;
}

REGISTER_CPU_KERNEL(MeanForward)
REGISTER_CPU_KERNEL(MeanBackward)
REGISTER_CPU_KERNEL(SumForward)
REGISTER_CPU_KERNEL(SumBackward)
REGISTER_CPU_KERNEL(MaxForward)
REGISTER_CPU_KERNEL(MaxBackward)
REGISTER_CPU_KERNEL(MinForward)
REGISTER_CPU_KERNEL(MinBackward)
REGISTER_CPU_KERNEL(SoftmaxForward)
REGISTER_CPU_KERNEL(SoftmaxBackward)

} // namespace infini_train::kernels::cpu
