#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

#include "tests/kernels/kernel_test.h"

namespace infini_train::test {
namespace {

class UpdateTest : public KernelTest {};

TEST_P(UpdateTest, AccumulateGradInPlace) {
    const auto gradient = Make({1, 2, 3}, {3});
    const auto tensor = Make({10, 20, 30}, {3});
    Call<void>("AccumulateGrad", gradient, -0.5f, tensor);
    Expect(tensor, {3}, {9.5f, 19, 28.5f});
    Expect(gradient, {3}, {1, 2, 3});
}

// Two steps against the formula in double.
TEST_P(UpdateTest, AdamInPlace) {
    const std::vector<double> gradients = {0.5, -0.25};
    double m = 0;
    double v = 0;
    double value = 1;
    const auto param = Make({1}, {1});
    const auto first = Make({0}, {1});
    const auto second = Make({0}, {1});
    for (int64_t t = 1; t <= 2; ++t) {
        const double g = gradients[static_cast<size_t>(t - 1)];
        m = 0.9 * m + 0.1 * g;
        v = 0.99 * v + 0.01 * g * g;
        value -= 0.1 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.99, t))) + 1e-8);
        Call<void>("AdamAccumulateGrad", Make({static_cast<float>(g)}, {1}), param, first, second, 0.1f, 0.9f, 0.99f,
                   1e-8f, t);
    }
    Expect(first, {1}, {static_cast<float>(m)});
    Expect(second, {1}, {static_cast<float>(v)});
    Expect(param, {1}, {static_cast<float>(value)});
}

INFINI_TRAIN_REGISTER_TEST(UpdateTest);

} // namespace
} // namespace infini_train::test
