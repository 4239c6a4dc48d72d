#include <cmath>
#include <utility>

#include "infini_train/include/common/common.h"
#include "src/kernels/cpu/common.h"

namespace infini_train::kernels::cpu {
namespace {

using UnaryFn = float (*)(float);
using ScalarFn = float (*)(float, float);
using BinaryFn = float (*)(float, float);
using TensorPair = std::pair<TensorPtr, TensorPtr>;

TensorPtr Map(const TensorPtr &input, UnaryFn fn) {
    auto output = MakeFloat(input->Dims());
    for (int64_t i = 0; i < Count(input); ++i) { Data(output)[i] = fn(Data(input)[i]); }
    return output;
}

TensorPtr MapScalar(const TensorPtr &input, float scalar, ScalarFn fn) {
    auto output = MakeFloat(input->Dims());
    for (int64_t i = 0; i < Count(input); ++i) { Data(output)[i] = fn(Data(input)[i], scalar); }
    return output;
}

// grad times the slope at the saved value.
TensorPtr Chain(const TensorPtr &grad, const TensorPtr &saved, UnaryFn slope) {
    auto output = MakeFloat(grad->Dims());
    for (int64_t i = 0; i < Count(grad); ++i) { Data(output)[i] = Data(grad)[i] * slope(Data(saved)[i]); }
    return output;
}

// For every element of a, the place in b that it meets: b is broadcast to a, never the other way round.
class Broadcast {
public:
    Broadcast(const Dims &a, const Dims &b) : a_(a), steps_(a.size(), 0), counter_(a) {
        CHECK_GE(a.size(), b.size());
        const auto strides = ComputeStrides(b);
        const size_t lead = a.size() - b.size();
        for (size_t axis = 0; axis < b.size(); ++axis) { steps_[lead + axis] = b[axis] == 1 ? 0 : strides[axis]; }
    }

    int64_t Place() const {
        int64_t place = 0;
        for (size_t axis = 0; axis < steps_.size(); ++axis) { place += counter_.index()[axis] * steps_[axis]; }
        return place;
    }

    void Next() { counter_.Next(); }

private:
    Dims a_;
    Dims steps_;
    IndexCounter counter_;
};

TensorPtr Zip(const TensorPtr &a, const TensorPtr &b, BinaryFn fn) {
    CHECK(a->Dtype() == b->Dtype());
    CHECK(Count(a) >= Count(b) && Count(a) % Count(b) == 0);
    auto output = MakeFloat(a->Dims());
    Broadcast broadcast(a->Dims(), b->Dims());
    for (int64_t i = 0; i < Count(a); ++i, broadcast.Next()) {
        Data(output)[i] = fn(Data(a)[i], Data(b)[broadcast.Place()]);
    }
    return output;
}

// Both gradients of a binary operation; that of b is summed over the axes on which b was broadcast. a and b are null
// where the slopes do not depend on them.
TensorPair ZipBackward(const TensorPtr &grad, const TensorPtr &a, const TensorPtr &b, const Dims &a_dims,
                       const Dims &b_dims, BinaryFn slope_a, BinaryFn slope_b) {
    CHECK_EQ(Product(a_dims), Count(grad));
    CHECK(!a || Count(a) == Product(a_dims));
    CHECK(!b || Count(b) == Product(b_dims));
    auto grad_a = MakeFloat(a_dims);
    auto grad_b = MakeFloat(b_dims);
    Clear(grad_b);
    Broadcast broadcast(a_dims, b_dims);
    for (int64_t i = 0; i < Count(grad); ++i, broadcast.Next()) {
        const int64_t place = broadcast.Place();
        const float x = a ? Data(a)[i] : 0.0f;
        const float y = b ? Data(b)[place] : 0.0f;
        Data(grad_a)[i] = Data(grad)[i] * slope_a(x, y);
        Data(grad_b)[place] += Data(grad)[i] * slope_b(x, y);
    }
    return {grad_a, grad_b};
}

float Truth(bool value) { return value ? 1.0f : 0.0f; }

} // namespace

// Declares and registers `std::shared_ptr<Tensor> NAME(input)` and its kin. X is the input, Y the other operand or the
// scalar.
#define UNARY_KERNEL(NAME, PARAM, EXPRESSION)                                                                          \
    std::shared_ptr<Tensor> NAME(const std::shared_ptr<Tensor> &PARAM) {                                               \
        return Map(PARAM, [](float x) { return static_cast<float>(EXPRESSION); });                                     \
    }                                                                                                                  \
    REGISTER_CPU_KERNEL(NAME)
#define CHAIN_KERNEL(NAME, SAVED, EXPRESSION)                                                                          \
    std::shared_ptr<Tensor> NAME(const std::shared_ptr<Tensor> &grad_output, const std::shared_ptr<Tensor> &SAVED) {   \
        return Chain(grad_output, SAVED, [](float x) { return static_cast<float>(EXPRESSION); });                      \
    }                                                                                                                  \
    REGISTER_CPU_KERNEL(NAME)
#define SCALAR_KERNEL(NAME, PARAM, EXPRESSION)                                                                         \
    std::shared_ptr<Tensor> NAME(const std::shared_ptr<Tensor> &PARAM, float scalar) {                                 \
        return MapScalar(PARAM, scalar, [](float x, float y) { return EXPRESSION; });                                  \
    }                                                                                                                  \
    REGISTER_CPU_KERNEL(NAME)
#define BINARY_KERNEL(NAME, EXPRESSION)                                                                                \
    std::shared_ptr<Tensor> NAME(const std::shared_ptr<Tensor> &a, const std::shared_ptr<Tensor> &b) {                 \
        return Zip(a, b, [](float x, float y) { return EXPRESSION; });                                                 \
    }                                                                                                                  \
    REGISTER_CPU_KERNEL(NAME)

UNARY_KERNEL(NegForward, input, -x)
UNARY_KERNEL(NegBackward, grad_output, -x)
UNARY_KERNEL(ReciprocalForward, input, 1.0f / x)
CHAIN_KERNEL(ReciprocalBackward, input, -1.0f / (x * x))
UNARY_KERNEL(SinForward, input, std::sin(x))
CHAIN_KERNEL(SinBackward, input, std::cos(x))
UNARY_KERNEL(CosForward, input, std::cos(x))
CHAIN_KERNEL(CosBackward, input, -std::sin(x))
UNARY_KERNEL(TanhForward, input, std::tanh(x))
CHAIN_KERNEL(TanhBackward, output, 1.0 - x * x)
UNARY_KERNEL(RsqrtForward, input, 1.0f / std::sqrt(x))
CHAIN_KERNEL(RsqrtBackward, input, -0.5f / (x * std::sqrt(x)))
UNARY_KERNEL(ExpForward, input, std::exp(x))
CHAIN_KERNEL(ExpBackward, output, x)
UNARY_KERNEL(LogForward, input, std::log(x))
CHAIN_KERNEL(LogBackward, input, 1.0f / x)
UNARY_KERNEL(SigmoidForward, input, 1.0f / (1.0f + std::exp(-x)))

BINARY_KERNEL(EqualsForward, Truth(x == y))
SCALAR_KERNEL(EqualsScalarForward, a, Truth(x == y))
BINARY_KERNEL(LtForward, Truth(x < y))
SCALAR_KERNEL(LtScalarForward, a, Truth(x < y))
BINARY_KERNEL(LeForward, Truth(x <= y))
SCALAR_KERNEL(LeScalarForward, a, Truth(x <= y))
BINARY_KERNEL(GtForward, Truth(x > y))
SCALAR_KERNEL(GtScalarForward, a, Truth(x > y))
BINARY_KERNEL(GeForward, Truth(x >= y))
SCALAR_KERNEL(GeScalarForward, a, Truth(x >= y))
BINARY_KERNEL(OrForward, Truth(x != 0.0f || y != 0.0f))
BINARY_KERNEL(AndForward, Truth(x != 0.0f && y != 0.0f))

BINARY_KERNEL(AddForward, x + y)
SCALAR_KERNEL(AddScalarForward, a, x + y)
UNARY_KERNEL(AddScalarBackward, grad_output, x)
BINARY_KERNEL(SubForward, x - y)
BINARY_KERNEL(MulForward, x *y)
SCALAR_KERNEL(MulScalarForward, a, x *y)
SCALAR_KERNEL(MulScalarBackward, grad_output, x *y)
BINARY_KERNEL(DivForward, x / y)

#undef UNARY_KERNEL
#undef CHAIN_KERNEL
#undef SCALAR_KERNEL
#undef BINARY_KERNEL

// The saved output comes first here, unlike in TanhBackward.
std::shared_ptr<Tensor> SigmoidBackward(const std::shared_ptr<Tensor> &output,
                                        const std::shared_ptr<Tensor> &grad_output) {
    auto grad_input = MakeFloat(output->Dims());
    for (int64_t i = 0; i < Count(output); ++i) {
        const float y = Data(output)[i];
        Data(grad_input)[i] = Data(grad_output)[i] * y * (1.0f - y);
    }
    return grad_input;
}

std::shared_ptr<Tensor> PowForward(const std::shared_ptr<Tensor> &input, float scalar, bool scalar_is_base) {
    return scalar_is_base ? MapScalar(input, scalar, [](float x, float base) { return std::pow(base, x); })
                          : MapScalar(input, scalar, [](float x, float exponent) { return std::pow(x, exponent); });
}

std::shared_ptr<Tensor> PowBackward(const std::shared_ptr<Tensor> &grad_output, const std::shared_ptr<Tensor> &input,
                                    float scalar, bool scalar_is_base) {
    auto slope
        = scalar_is_base
            ? MapScalar(input, scalar, [](float x, float base) { return std::log(base) * std::pow(base, x); })
            : MapScalar(input, scalar, [](float x, float exponent) { return exponent * std::pow(x, exponent - 1.0f); });
    return Chain(grad_output, slope, [](float x) { return x; });
}

std::pair<std::shared_ptr<Tensor>, std::shared_ptr<Tensor>> AddBackward(const std::shared_ptr<Tensor> &grad_output,
                                                                        const std::vector<int64_t> &a_dims,
                                                                        const std::vector<int64_t> &b_dims) {
    return ZipBackward(
        grad_output, nullptr, nullptr, a_dims, b_dims, [](float, float) { return 1.0f; },
        [](float, float) { return 1.0f; });
}

std::pair<std::shared_ptr<Tensor>, std::shared_ptr<Tensor>> SubBackward(const std::shared_ptr<Tensor> &grad_output,
                                                                        const std::vector<int64_t> &a_dims,
                                                                        const std::vector<int64_t> &b_dims) {
    return ZipBackward(
        grad_output, nullptr, nullptr, a_dims, b_dims, [](float, float) { return 1.0f; },
        [](float, float) { return -1.0f; });
}

std::pair<std::shared_ptr<Tensor>, std::shared_ptr<Tensor>> MulBackward(const std::shared_ptr<Tensor> &grad_output,
                                                                        const std::shared_ptr<Tensor> &a,
                                                                        const std::shared_ptr<Tensor> &b) {
    return ZipBackward(
        grad_output, a, b, a->Dims(), b->Dims(), [](float, float y) { return y; }, [](float x, float) { return x; });
}

std::pair<std::shared_ptr<Tensor>, std::shared_ptr<Tensor>> DivBackward(const std::shared_ptr<Tensor> &grad_output,
                                                                        const std::shared_ptr<Tensor> &a,
                                                                        const std::shared_ptr<Tensor> &b) {
    return ZipBackward(
        grad_output, a, b, a->Dims(), b->Dims(), [](float, float y) { return 1.0f / y; },
        [](float x, float y) { return -x / (y * y); });
}

REGISTER_CPU_KERNEL(SigmoidBackward)
REGISTER_CPU_KERNEL(PowForward)
REGISTER_CPU_KERNEL(PowBackward)
REGISTER_CPU_KERNEL(AddBackward)
REGISTER_CPU_KERNEL(SubBackward)
REGISTER_CPU_KERNEL(MulBackward)
REGISTER_CPU_KERNEL(DivBackward)

} // namespace infini_train::kernels::cpu
