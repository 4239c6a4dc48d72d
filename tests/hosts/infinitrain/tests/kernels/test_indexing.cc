#include <vector>

#include "gtest/gtest.h"

#include "tests/kernels/kernel_test.h"

namespace infini_train::test {
namespace {

class IndexingTest : public KernelTest {};

TEST_P(IndexingTest, Embedding) {
    const auto weight = Make({0, 1, 10, 11, 20, 21}, {3, 2});
    const auto tokens = MakeIndex({2, 0, 2}, {1, 3});
    Expect(Call("EmbeddingForward", tokens, weight), {1, 3, 2}, {20, 21, 0, 1, 20, 21});
    const auto grad = Make({1, 2, 3, 4, 5, 6}, {1, 3, 2});
    Expect(Call("EmbeddingBackward", tokens, Dims{3, 2}, grad), {3, 2}, {3, 4, 0, 0, 6, 8});
}

TEST_P(IndexingTest, Gather) {
    const auto input = Make({1, 2, 3, 4, 5, 6}, {2, 3});
    const auto columns = MakeIndex({2, 0, 1, 1}, {2, 2});
    Expect(Call("GatherForward", input, columns, int64_t{1}), {2, 2}, {3, 1, 5, 5});
    const auto grad = Make({1, 2, 3, 4}, {2, 2});
    Expect(Call("GatherBackward", grad, columns, int64_t{-1}, Dims{2, 3}), {2, 3}, {2, 0, 1, 0, 7, 0});
    const auto rows = MakeIndex({1, 0, 1}, {1, 3});
    Expect(Call("GatherForward", input, rows, int64_t{0}), {1, 3}, {4, 2, 6});
}

TEST_P(IndexingTest, GatherNormalisesAndClamps) {
    const auto input = Make({1, 2, 3}, {3});
    Expect(Call("GatherForward", input, MakeIndex({-1, 7, -9}, {3}), int64_t{0}), {3}, {3, 3, 1});
}

TEST_P(IndexingTest, Scatter) {
    const auto values = Make({0.5f, 0.25f, 0.75f, 1.0f}, {2, 2});
    const auto places = MakeIndex({3, 0, 1, 2}, {2, 2});
    Expect(Call("ScatterForward", values, places, Dims{2, 4}), {2, 4}, {0.25f, 0, 0, 0.5f, 0, 0.75f, 1.0f, 0});
    const auto grad = Make({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
    Expect(Call("ScatterBackward", grad, places), {2, 2}, {4, 1, 6, 7});
}

INFINI_TRAIN_REGISTER_TEST(IndexingTest);

} // namespace
} // namespace infini_train::test
