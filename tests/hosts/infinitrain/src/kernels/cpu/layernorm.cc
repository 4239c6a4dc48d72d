#include <cmath>
#include <tuple>

#include "src/kernels/cpu/common.h"

namespace infini_train::kernels::cpu {
namespace {

using TensorTriple = std::tuple<TensorPtr, TensorPtr, TensorPtr>;

void CheckShapes(const TensorPtr &input, const TensorPtr &weight, const TensorPtr &bias) {
    CHECK_EQ(input->Dims().size(), 3u);
    CHECK_LE(input->Dims()[2], weight->Dims()[0]);
    CHECK_LE(input->Dims()[2], bias->Dims()[0]);
}

} // namespace

// Over the last of exactly three axes. Returns the output, and mean and 1 / deviation of every row for the backward
// pass.
std::tuple<std::shared_ptr<Tensor>, std::shared_ptr<Tensor>, std::shared_ptr<Tensor>>
LayerNormForward(const std::shared_ptr<Tensor> &input, const std::shared_ptr<Tensor> &weight,
                 const std::shared_ptr<Tensor> &bias, const float eps) {
    CheckShapes(input, weight, bias);
    const Dims &dims = input->Dims();
    const int64_t width = dims[2];
    auto output = MakeFloat(dims);
    auto mean = MakeFloat({dims[0], dims[1]});
    auto rstd = MakeFloat({dims[0], dims[1]});
    for (int64_t row = 0; row < dims[0] * dims[1]; ++row) {
        const float *x = Data(input) + row * width;
        float *y = Data(output) + row * width;
        float sum = 0.0f;
        for (int64_t i = 0; i < width; ++i) { sum += x[i]; }
        const float center = sum / static_cast<float>(width);
        float squares = 0.0f;
        for (int64_t i = 0; i < width; ++i) { squares += (x[i] - center) * (x[i] - center); }
        const float scale = 1.0f / std::sqrt(squares / static_cast<float>(width) + eps);
        for (int64_t i = 0; i < width; ++i) { y[i] = scale * (x[i] - center) * Data(weight)[i] + Data(bias)[i]; }
        Data(mean)[row] = center;
        Data(rstd)[row] = scale;
    }
    return TensorTriple{output, mean, rstd};
}

std::tuple<std::shared_ptr<Tensor>, std::shared_ptr<Tensor>, std::shared_ptr<Tensor>>
LayerNormBackward(const std::shared_ptr<Tensor> &input, const std::shared_ptr<Tensor> &weight,
                  const std::shared_ptr<Tensor> &bias, const std::shared_ptr<Tensor> &mean,
                  const std::shared_ptr<Tensor> &rstd, const std::shared_ptr<Tensor> &grad_output) {
    CheckShapes(input, weight, bias);
    CHECK(mean != nullptr);
    CHECK(rstd != nullptr);
    const Dims &dims = input->Dims();
    const int64_t width = dims[2];
    auto grad_input = MakeFloat(dims);
    auto grad_weight = MakeFloat(weight->Dims());
    auto grad_bias = MakeFloat(bias->Dims());
    Clear(grad_weight);
    Clear(grad_bias);
    for (int64_t row = 0; row < dims[0] * dims[1]; ++row) {
        const float *x = Data(input) + row * width;
        const float *upstream = Data(grad_output) + row * width;
        float *out = Data(grad_input) + row * width;
        const float center = Data(mean)[row];
        const float scale = Data(rstd)[row];
        // The gradient of a row loses its mean and its part along the normalised row.
        float mean_grad = 0.0f;
        float mean_along = 0.0f;
        for (int64_t i = 0; i < width; ++i) {
            const float normal = (x[i] - center) * scale;
            const float grad = Data(weight)[i] * upstream[i];
            mean_grad += grad;
            mean_along += grad * normal;
            Data(grad_bias)[i] += upstream[i];
            Data(grad_weight)[i] += normal * upstream[i];
        }
        mean_grad /= static_cast<float>(width);
        mean_along /= static_cast<float>(width);
        for (int64_t i = 0; i < width; ++i) {
            const float normal = (x[i] - center) * scale;
            out[i] = (Data(weight)[i] * upstream[i] - mean_grad - normal * mean_along) * scale;
        }
    }
    return TensorTriple{grad_input, grad_weight, grad_bias};
}

REGISTER_CPU_KERNEL(LayerNormForward)
REGISTER_CPU_KERNEL(LayerNormBackward)

} // namespace infini_train::kernels::cpu
