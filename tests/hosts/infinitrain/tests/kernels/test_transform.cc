#include <vector>

#include "gtest/gtest.h"

#include "tests/kernels/kernel_test.h"

namespace infini_train::test {
namespace {

class TransformTest : public KernelTest {};

TEST_P(TransformTest, Triangles) {
    const auto x = Make({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
    for (const char *name : {"TrilForward", "TrilBackward"}) {
        Expect(Call(name, x, int64_t{0}), {3, 3}, {1, 0, 0, 4, 5, 0, 7, 8, 9});
        Expect(Call(name, x, int64_t{-1}), {3, 3}, {0, 0, 0, 4, 0, 0, 7, 8, 0});
    }
    for (const char *name : {"TriuForward", "TriuBackward"}) {
        Expect(Call(name, x, int64_t{0}), {3, 3}, {1, 2, 3, 0, 5, 6, 0, 0, 9});
        Expect(Call(name, x, int64_t{1}), {3, 3}, {0, 2, 3, 0, 0, 6, 0, 0, 0});
    }
}

TEST_P(TransformTest, Transpose) {
    const auto x = Make({1, 2, 3, 4, 5, 6}, {2, 3});
    Expect(Call("TransposeForward", x, int64_t{0}, int64_t{1}), {3, 2}, {1, 4, 2, 5, 3, 6});
    const auto cube = Make({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 3, 2});
    const auto turned = Call("TransposeForward", cube, int64_t{0}, int64_t{-1});
    Expect(turned, {2, 3, 2}, {0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11});
    Expect(Call("TransposeBackward", turned, int64_t{0}, int64_t{-1}), {2, 3, 2},
           {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST_P(TransformTest, MaskOverTheTrailingAxes) {
    const auto x = Make({1, 2, 3, 4}, {2, 2});
    Expect(Call("MaskForward", x, Make({0, 1}, {2}), -9.0f), {2, 2}, {1, -9, 3, -9});
    Expect(Call("MaskBackward", x, Make({1, 0, 0, 1}, {2, 2})), {2, 2}, {0, 2, 3, 0});
}

TEST_P(TransformTest, RepeatInterleave) {
    const auto x = Make({1, 2, 3, 4}, {2, 2});
    Expect(Call("RepeatInterleaveForward", x, int64_t{2}, int64_t{0}), {4, 2}, {1, 2, 1, 2, 3, 4, 3, 4});
    Expect(Call("RepeatInterleaveForward", x, int64_t{2}, int64_t{1}), {2, 4}, {1, 1, 2, 2, 3, 3, 4, 4});
    const auto grad = Make({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
    Expect(Call("RepeatInterleaveBackward", grad, Dims{2, 2}, int64_t{1}), {2, 2}, {3, 7, 11, 15});
}

TEST_P(TransformTest, Slice) {
    const auto x = Make({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4});
    Expect(Call("SliceForward", x, Dims{1, 0}, Dims{3, 4}, Dims{1, 2}), {2, 2}, {4, 6, 8, 10});
    Expect(Call("SliceForward", x, Dims{0, 1}, Dims{3, 2}, Dims{2, 1}), {2, 1}, {1, 9});
    const auto grad = Make({1, 2, 3, 4}, {2, 2});
    Expect(Call("SliceBackward", grad, x, Dims{1, 0}, Dims{3, 4}, Dims{1, 2}), {3, 4},
           {0, 0, 0, 0, 1, 0, 2, 0, 3, 0, 4, 0});
}

TEST_P(TransformTest, Concat) {
    const auto a = Make({1, 2, 3, 4}, {2, 2});
    const auto b = Make({5, 6}, {2, 1});
    const auto joined = Call("ConcatForward", TensorList{a, b}, int64_t{-1});
    Expect(joined, {2, 3}, {1, 2, 5, 3, 4, 6});
    const auto parts = Call<TensorList>("ConcatBackward", joined, std::vector<Dims>{{2, 2}, {2, 1}}, int64_t{1});
    ASSERT_EQ(parts.size(), 2u);
    Expect(parts[0], {2, 2}, {1, 2, 3, 4});
    Expect(parts[1], {2, 1}, {5, 6});
}

TEST_P(TransformTest, Split) {
    const auto x = Make({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {2, 5});
    const auto parts = Call<TensorList>("SplitForward", x, int64_t{2}, 1);
    ASSERT_EQ(parts.size(), 3u);
    Expect(parts[0], {2, 2}, {0, 1, 5, 6});
    Expect(parts[1], {2, 2}, {2, 3, 7, 8});
    Expect(parts[2], {2, 1}, {4, 9});
    Expect(Call("SplitBackward", Dims{2, 5}, int64_t{2}, 1, parts), {2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_P(TransformTest, Stack) {
    const auto a = Make({1, 2}, {2});
    const auto b = Make({3, 4}, {2});
    Expect(Call("StackForward", TensorList{a, b}, int64_t{0}), {2, 2}, {1, 2, 3, 4});
    const auto stacked = Call("StackForward", TensorList{a, b}, int64_t{-1});
    Expect(stacked, {2, 2}, {1, 3, 2, 4});
    const auto parts = Call<TensorList>("StackBackward", Dims{2}, int64_t{1}, stacked);
    ASSERT_EQ(parts.size(), 2u);
    Expect(parts[0], {2}, {1, 2});
    Expect(parts[1], {2}, {3, 4});
}

INFINI_TRAIN_REGISTER_TEST(TransformTest);

} // namespace
} // namespace infini_train::test
