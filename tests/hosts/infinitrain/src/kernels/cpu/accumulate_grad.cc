#include <cmath>

#include "src/kernels/cpu/common.h"

namespace infini_train::kernels::cpu {

void AccumulateGrad(const std::shared_ptr<Tensor> &gradient, float rate, const std::shared_ptr<Tensor> &tensor) {
    const float *in = Data(gradient);
    float *out = Data(tensor);
    for (int64_t i = 0; i < Count(gradient); ++i) { out[i] += rate * in[i]; }
}

void AdamAccumulateGrad(const std::shared_ptr<Tensor> &grad, const std::shared_ptr<Tensor> &param,
                        const std::shared_ptr<Tensor> &m, const std::shared_ptr<Tensor> &v, float learning_rate,
                        float beta1, float beta2, float eps, int64_t t) {
    // In double: both are small differences from one.
    const auto first_correction = static_cast<float>(1.0 - std::pow(double{beta1}, static_cast<double>(t)));
    const auto second_correction = static_cast<float>(1.0 - std::pow(double{beta2}, static_cast<double>(t)));
    const float *gradient = Data(grad);
    float *first = Data(m);
    float *second = Data(v);
    float *value = Data(param);
    for (int64_t i = 0; i < Count(grad); ++i) {
        const float g = gradient[i];
        first[i] = beta1 * first[i] + (1.0f - beta1) * g;
        second[i] = beta2 * second[i] + (1.0f - beta2) * g * g;
        value[i] -= learning_rate * (first[i] / first_correction) / (std::sqrt(second[i] / second_correction) + eps);
    }
}

REGISTER_CPU_KERNEL(AccumulateGrad)
REGISTER_CPU_KERNEL(AdamAccumulateGrad)

} // namespace infini_train::kernels::cpu
