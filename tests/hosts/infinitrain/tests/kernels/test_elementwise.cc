#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "tests/kernels/kernel_test.h"

namespace infini_train::test {
namespace {

using TensorPair = std::pair<TensorPtr, TensorPtr>;

class ElementwiseTest : public KernelTest {
protected:
    // fn over the values, computed in double.
    template <typename Fn> std::vector<float> Each(const std::vector<float> &values, Fn &&fn) const {
        std::vector<float> results;
        for (const double value : values) { results.push_back(static_cast<float>(fn(value))); }
        return results;
    }
};

TEST_P(ElementwiseTest, UnaryForward) {
    const std::vector<float> values = {0.25f, 0.5f, 1.0f, 2.0f, 3.5f, 0.1f};
    const auto x = Make(values, {2, 3});
    const Dims dims = {2, 3};
    Expect(Call("NegForward", x), dims, Each(values, [](double v) { return -v; }));
    Expect(Call("ReciprocalForward", x), dims, Each(values, [](double v) { return 1 / v; }));
    Expect(Call("SinForward", x), dims, Each(values, [](double v) { return std::sin(v); }));
    Expect(Call("CosForward", x), dims, Each(values, [](double v) { return std::cos(v); }));
    Expect(Call("TanhForward", x), dims, Each(values, [](double v) { return std::tanh(v); }));
    Expect(Call("RsqrtForward", x), dims, Each(values, [](double v) { return 1 / std::sqrt(v); }));
    Expect(Call("ExpForward", x), dims, Each(values, [](double v) { return std::exp(v); }));
    Expect(Call("LogForward", x), dims, Each(values, [](double v) { return std::log(v); }));
    Expect(Call("SigmoidForward", x), dims, Each(values, [](double v) { return 1 / (1 + std::exp(-v)); }));
    Expect(Call("PowForward", x, 3.0f, false), dims, Each(values, [](double v) { return v * v * v; }));
    Expect(Call("PowForward", x, 3.0f, true), dims, Each(values, [](double v) { return std::pow(3.0, v); }));
}

TEST_P(ElementwiseTest, UnaryBackward) {
    const std::vector<float> values = {0.25f, 0.5f, 1.0f, 2.0f};
    const auto x = Make(values, {4});
    const auto grad = Make({2, 2, 2, 2}, {4});
    const Dims dims = {4};
    const auto twice = [&](auto fn) { return Each(values, [=](double v) { return 2 * fn(v); }); };
    Expect(Call("NegBackward", grad), dims, twice([](double) { return -1.0; }));
    Expect(Call("ReciprocalBackward", grad, x), dims, twice([](double v) { return -1 / (v * v); }));
    Expect(Call("SinBackward", grad, x), dims, twice([](double v) { return std::cos(v); }));
    Expect(Call("CosBackward", grad, x), dims, twice([](double v) { return -std::sin(v); }));
    Expect(Call("TanhBackward", grad, x), dims, twice([](double v) { return 1 - v * v; }));
    Expect(Call("RsqrtBackward", grad, x), dims, twice([](double v) { return -0.5 / (v * std::sqrt(v)); }));
    Expect(Call("ExpBackward", grad, x), dims, twice([](double v) { return v; }));
    Expect(Call("LogBackward", grad, x), dims, twice([](double v) { return 1 / v; }));
    // The saved output comes first.
    Expect(Call("SigmoidBackward", x, grad), dims, twice([](double v) { return v * (1 - v); }));
    Expect(Call("PowBackward", grad, x, 3.0f, false), dims, twice([](double v) { return 3 * v * v; }));
    Expect(Call("PowBackward", grad, x, 3.0f, true), dims,
           twice([](double v) { return std::log(3.0) * std::pow(3.0, v); }));
}

TEST_P(ElementwiseTest, Scalar) {
    const auto x = Make({1, 2, 3}, {3});
    Expect(Call("AddScalarForward", x, 0.5f), {3}, {1.5f, 2.5f, 3.5f});
    Expect(Call("AddScalarBackward", x), {3}, {1, 2, 3});
    Expect(Call("MulScalarForward", x, -2.0f), {3}, {-2, -4, -6});
    Expect(Call("MulScalarBackward", x, -2.0f), {3}, {-2, -4, -6});
    Expect(Call("EqualsScalarForward", x, 2.0f), {3}, {0, 1, 0});
    Expect(Call("LtScalarForward", x, 2.0f), {3}, {1, 0, 0});
    Expect(Call("LeScalarForward", x, 2.0f), {3}, {1, 1, 0});
    Expect(Call("GtScalarForward", x, 2.0f), {3}, {0, 0, 1});
    Expect(Call("GeScalarForward", x, 2.0f), {3}, {0, 1, 1});
}

TEST_P(ElementwiseTest, BinaryForward) {
    const auto a = Make({1, 2, 3, 4}, {2, 2});
    const auto b = Make({4, 2, 1, 8}, {2, 2});
    const Dims dims = {2, 2};
    Expect(Call("AddForward", a, b), dims, {5, 4, 4, 12});
    Expect(Call("SubForward", a, b), dims, {-3, 0, 2, -4});
    Expect(Call("MulForward", a, b), dims, {4, 4, 3, 32});
    Expect(Call("DivForward", a, b), dims, {0.25f, 1, 3, 0.5f});
    Expect(Call("EqualsForward", a, b), dims, {0, 1, 0, 0});
    Expect(Call("LtForward", a, b), dims, {1, 0, 0, 1});
    Expect(Call("LeForward", a, b), dims, {1, 1, 0, 1});
    Expect(Call("GtForward", a, b), dims, {0, 0, 1, 0});
    Expect(Call("GeForward", a, b), dims, {0, 1, 1, 0});
    const auto p = Make({0, 0, 2, -1}, {2, 2});
    const auto q = Make({0, 3, 0, 1}, {2, 2});
    Expect(Call("OrForward", p, q), dims, {0, 1, 1, 1});
    Expect(Call("AndForward", p, q), dims, {0, 0, 0, 1});
}

TEST_P(ElementwiseTest, TheSecondOperandIsBroadcast) {
    const auto a = Make({1, 2, 3, 4, 5, 6}, {2, 3});
    Expect(Call("AddForward", a, Make({10, 20, 30}, {3})), {2, 3}, {11, 22, 33, 14, 25, 36});
    Expect(Call("SubForward", a, Make({10, 20}, {2, 1})), {2, 3}, {-9, -8, -7, -16, -15, -14});
    Expect(Call("MulForward", a, Make({3}, {})), {2, 3}, {3, 6, 9, 12, 15, 18});
    const auto cube = Make({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
    Expect(Call("DivForward", cube, Make({1, 2}, {2, 1, 1})), {2, 2, 2}, {1, 2, 3, 4, 2.5f, 3, 3.5f, 4});
}

TEST_P(ElementwiseTest, BinaryBackwardSumsOverTheBroadcastAxes) {
    const auto grad = Make({1, 2, 3, 4, 5, 6}, {2, 3});
    const auto a = Make({1, 2, 3, 4, 5, 6}, {2, 3});
    const auto row = Make({1, 2, 4}, {3});

    auto [add_a, add_b] = Call<TensorPair>("AddBackward", grad, Dims{2, 3}, Dims{3});
    Expect(add_a, {2, 3}, {1, 2, 3, 4, 5, 6});
    Expect(add_b, {3}, {5, 7, 9});
    auto [sub_a, sub_b] = Call<TensorPair>("SubBackward", grad, Dims{2, 3}, Dims{2, 1});
    Expect(sub_a, {2, 3}, {1, 2, 3, 4, 5, 6});
    Expect(sub_b, {2, 1}, {-6, -15});
    auto [mul_a, mul_b] = Call<TensorPair>("MulBackward", grad, a, row);
    Expect(mul_a, {2, 3}, {1, 4, 12, 4, 10, 24});
    Expect(mul_b, {3}, {17, 29, 45});
    auto [div_a, div_b] = Call<TensorPair>("DivBackward", grad, a, row);
    Expect(div_a, {2, 3}, {1, 1, 0.75f, 4, 2.5f, 1.5f});
    Expect(div_b, {3}, {-17, -7.25f, -2.8125f});
}

TEST_P(ElementwiseTest, TakesViewsAtAnOffset) {
    const auto whole = Make({0, 1, 2, 3, 4, 5}, {6});
    const auto a = std::make_shared<Tensor>(*whole, 2 * sizeof(float), Dims{2});
    const auto b = std::make_shared<Tensor>(*whole, 4 * sizeof(float), Dims{2});
    Expect(Call("AddForward", a, b), {2}, {6, 8});
    Expect(Call("NegForward", b), {2}, {-4, -5});
}

INFINI_TRAIN_REGISTER_TEST(ElementwiseTest);

} // namespace
} // namespace infini_train::test
