#include <tuple>
#include <vector>

#include "gtest/gtest.h"

#include "tests/kernels/kernel_test.h"

namespace infini_train::test {
namespace {

class LinearKernelTest : public KernelTest {};

TEST_P(LinearKernelTest, LinearForward) {
    const auto x = Make({1, 2, 3, 4, 5, 6}, {2, 3});
    const auto by_out = Make({1, 0, -1, 2, 1, 0}, {2, 3});
    const auto by_in = Make({1, 2, 0, 1, -1, 0}, {3, 2});
    const auto bias = Make({10, 20}, {2});
    Expect(Call("LinearForward", x, by_out, true, TensorPtr()), {2, 2}, {-2, 4, -2, 13});
    Expect(Call("LinearForward", x, by_out, true, bias), {2, 2}, {8, 24, 8, 33});
    Expect(Call("LinearForward", x, by_in, false, bias), {2, 2}, {8, 24, 8, 33});
    const auto cube = Make({1, 2, 3, 4, 5, 6}, {1, 2, 3});
    Expect(Call("LinearForward", cube, by_out, true, bias), {1, 2, 2}, {8, 24, 8, 33});
}

TEST_P(LinearKernelTest, LinearBackward) {
    const auto x = Make({1, 2, 3, 4, 5, 6}, {2, 3});
    const auto by_out = Make({1, 0, -1, 2, 1, 0}, {2, 3});
    const auto by_in = Make({1, 2, 0, 1, -1, 0}, {3, 2});
    const auto grad = Make({1, 2, 3, 4}, {2, 2});
    // The weight comes first.
    Expect(Call("LinearBackwardInput", by_out, grad, true, int64_t{3}, int64_t{2}, Dims{2, 3}), {2, 3},
           {5, 2, -1, 11, 4, -3});
    Expect(Call("LinearBackwardInput", by_in, grad, false, int64_t{3}, int64_t{2}, Dims{2, 3}), {2, 3},
           {5, 2, -1, 11, 4, -3});
    Expect(Call("LinearBackwardWeight", x, grad, true, int64_t{3}, int64_t{2}), {2, 3}, {13, 17, 21, 18, 24, 30});
    Expect(Call("LinearBackwardWeight", x, grad, false, int64_t{3}, int64_t{2}), {3, 2}, {13, 18, 17, 24, 21, 30});
    Expect(Call("LinearBackwardBias", grad, int64_t{2}), {2}, {4, 6});
}

TEST_P(LinearKernelTest, Matmul) {
    const auto a = Make({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
    const auto b = Make({1, 0, 0, 1, 2, 1, 1, 0}, {2, 2, 2});
    Expect(Call("MatmulForward", a, b), {2, 2, 2}, {1, 2, 3, 4, 16, 5, 22, 7});
    const auto grad = Make({1, 1, 0, 2, 1, 0, 0, 1}, {2, 2, 2});
    // The other operand comes first.
    Expect(Call("MatmulBackwardInput", b, grad, Dims{2, 2, 2}), {2, 2, 2}, {1, 1, 0, 2, 2, 1, 1, 0});
    Expect(Call("MatmulBackwardOther", a, grad, Dims{2, 2, 2}), {2, 2, 2}, {1, 7, 2, 10, 5, 7, 6, 8});
    const auto wide = Make({1, 2, 3}, {1, 3});
    const auto tall = Make({4, 5, 6, 7, 8, 9}, {3, 2});
    Expect(Call("MatmulForward", wide, tall), {1, 2}, {40, 46});
}

TEST_P(LinearKernelTest, Outer) {
    const auto a = Make({1, 2}, {2});
    const auto b = Make({3, 4, 5}, {3});
    Expect(Call("OuterForward", a, b), {2, 3}, {3, 4, 5, 6, 8, 10});
    const auto grad = Make({1, 0, 2, 0, 1, 1}, {2, 3});
    auto [grad_a, grad_b] = Call<std::tuple<TensorPtr, TensorPtr>>("OuterBackward", a, b, grad);
    Expect(grad_a, {2}, {13, 9});
    Expect(grad_b, {3}, {1, 2, 4});
}

INFINI_TRAIN_REGISTER_TEST(LinearKernelTest);

} // namespace
} // namespace infini_train::test
