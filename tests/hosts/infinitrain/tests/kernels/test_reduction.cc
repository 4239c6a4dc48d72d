#include <cmath>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

#include "tests/kernels/kernel_test.h"

namespace infini_train::test {
namespace {

class ReductionTest : public KernelTest {};

TEST_P(ReductionTest, OverTheLastAxis) {
    const auto x = Make({1, 5, 3, 4, 2, 6}, {2, 3});
    Expect(Call("SumForward", x, int64_t{1}, false), {2}, {9, 12});
    Expect(Call("SumForward", x, int64_t{-1}, true), {2, 1}, {9, 12});
    Expect(Call("MeanForward", x, int64_t{1}, false), {2}, {3, 4});
    Expect(Call("MaxForward", x, int64_t{1}, false), {2}, {5, 6});
    Expect(Call("MinForward", x, int64_t{1}, true), {2, 1}, {1, 2});
}

TEST_P(ReductionTest, BackwardOverAnyAxis) {
    const auto per_row = Make({10, 20}, {2});
    Expect(Call("SumBackward", per_row, Dims{2, 3}, int64_t{1}, false), {2, 3}, {10, 10, 10, 20, 20, 20});
    const auto per_column = Make({3, 6, 9}, {1, 3});
    Expect(Call("MeanBackward", per_column, Dims{3, 3}, int64_t{0}, true), {3, 3}, {1, 2, 3, 1, 2, 3, 1, 2, 3});
    const auto x = Make({1, 5, 5, 4, 2, 6}, {2, 3});
    Expect(Call("MaxBackward", per_row, x, Make({5, 6}, {2}), int64_t{1}, false), {2, 3}, {0, 10, 10, 0, 0, 20});
    Expect(Call("MinBackward", Make({7, 8, 9}, {3}), x, Make({1, 2, 5}, {3}), int64_t{0}, false), {2, 3},
           {7, 0, 9, 0, 8, 0});
}

TEST_P(ReductionTest, Softmax) {
    const float log2 = std::log(2.0f);
    Expect(Call("SoftmaxForward", Make({0, log2, 100, 100}, {2, 2}), int64_t{-1}), {2, 2},
           {1 / 3.0f, 2 / 3.0f, 0.5f, 0.5f});
    Expect(Call("SoftmaxForward", Make({0, 5, log2, 5}, {2, 2}), int64_t{0}), {2, 2}, {1 / 3.0f, 0.5f, 2 / 3.0f, 0.5f});
    Expect(Call("SoftmaxBackward", Make({1, 0}, {2}), Make({0.25f, 0.75f}, {2}), int64_t{0}), {2}, {0.1875f, -0.1875f});
}

TEST_P(ReductionTest, LayerNorm) {
    using Triple = std::tuple<TensorPtr, TensorPtr, TensorPtr>;
    const auto x = Make({1, 3, -2, 2}, {1, 2, 2});
    const auto weight = Make({2, 3}, {2});
    const auto bias = Make({10, 20}, {2});
    auto [output, mean, rstd] = Call<Triple>("LayerNormForward", x, weight, bias, 0.0f);
    Expect(output, {1, 2, 2}, {8, 23, 8, 23});
    Expect(mean, {1, 2}, {2, 0});
    Expect(rstd, {1, 2}, {1, 0.5f});
    const auto grad = Make({1, 0, 2, 1}, {1, 2, 2});
    auto [grad_x, grad_weight, grad_bias] = Call<Triple>("LayerNormBackward", x, weight, bias, mean, rstd, grad);
    // With two elements the normalised row is (-1, 1): whatever gradient comes, mean and projection take all of it.
    Expect(grad_x, {1, 2, 2}, {0, 0, 0, 0});
    Expect(grad_weight, {2}, {-3, 1});
    Expect(grad_bias, {2}, {3, 1});
}

// Against a difference quotient in double.
TEST_P(ReductionTest, LayerNormGradientOfALongerRow) {
    using Triple = std::tuple<TensorPtr, TensorPtr, TensorPtr>;
    const std::vector<double> x = {0.5, -1.0, 2.0, 0.25};
    const std::vector<double> w = {1.0, 2.0, -0.5, 1.5};
    const std::vector<double> upstream = {1.0, -2.0, 0.5, 3.0};
    constexpr double kEps = 1e-5;
    const auto loss = [&](const std::vector<double> &row) {
        double mean = 0;
        for (const double v : row) { mean += v / 4; }
        double variance = 0;
        for (const double v : row) { variance += (v - mean) * (v - mean) / 4; }
        double sum = 0;
        for (size_t i = 0; i < 4; ++i) { sum += upstream[i] * w[i] * (row[i] - mean) / std::sqrt(variance + kEps); }
        return sum;
    };
    std::vector<float> expected;
    for (size_t i = 0; i < 4; ++i) {
        auto up = x;
        auto down = x;
        up[i] += 1e-5;
        down[i] -= 1e-5;
        expected.push_back(static_cast<float>((loss(up) - loss(down)) / 2e-5));
    }
    const auto to_float = [](const std::vector<double> &v) { return std::vector<float>(v.begin(), v.end()); };
    const auto input = Make(to_float(x), {1, 1, 4});
    const auto weight = Make(to_float(w), {4});
    const auto bias = Make({0, 0, 0, 0}, {4});
    auto [output, mean, rstd] = Call<Triple>("LayerNormForward", input, weight, bias, static_cast<float>(kEps));
    auto [grad, grad_weight, grad_bias]
        = Call<Triple>("LayerNormBackward", input, weight, bias, mean, rstd, Make(to_float(upstream), {1, 1, 4}));
    Expect(grad, {1, 1, 4}, expected);
}

TEST_P(ReductionTest, CrossEntropy) {
    const float log2 = std::log(2.0f);
    const auto logits = Make({0, log2, 0, 0, 0, log2}, {2, 3});
    const auto targets = MakeIndex({1, 2}, {2});
    // Softmax (1/4, 1/2, 1/4) in both rows up to order, so both losses are log 2.
    Expect(Call("CrossEntropyForward", logits, targets), {}, {log2});
    const auto bytes = MakeTensorOf<uint8_t>(DataType::kUINT8, {1, 2}, {2}, GetDevice());
    Expect(Call("CrossEntropyForward", logits, bytes), {}, {log2});
    Expect(Call("CrossEntropyBackward", logits, targets, Make({2}, {})), {2, 3},
           {0.25f, -0.5f, 0.25f, 0.25f, 0.25f, -0.5f});
    Expect(Call("CrossEntropyBackward", logits, bytes, Make({2}, {})), {2, 3},
           {0.25f, -0.5f, 0.25f, 0.25f, 0.25f, -0.5f});
}

INFINI_TRAIN_REGISTER_TEST(ReductionTest);

} // namespace
} // namespace infini_train::test
