#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"
#include "tests/common/test_utils.h"

namespace infini_train::test {
namespace {

using TensorPtr = std::shared_ptr<Tensor>;
using Dims = std::vector<int64_t>;

template <typename RetT = TensorPtr, typename... ArgsT> RetT Call(const std::string &name, ArgsT... args) {
    return Dispatcher::Instance().Call<RetT, ArgsT...>({Device::DeviceType::kCPU, name}, std::move(args)...);
}

TensorPtr Make(const std::vector<float> &values, const Dims &dims) { return MakeTensor(values, dims, Device()); }

TEST(CpuKernelTest, AllAreRegistered) {
    const std::vector<std::string> both_ways = {"Add",
                                                "AddScalar",
                                                "Concat",
                                                "Cos",
                                                "CrossEntropy",
                                                "Div",
                                                "Embedding",
                                                "Exp",
                                                "Gather",
                                                "LayerNorm",
                                                "Log",
                                                "Mask",
                                                "Max",
                                                "Mean",
                                                "Min",
                                                "Mul",
                                                "MulScalar",
                                                "Neg",
                                                "NoOp",
                                                "Outer",
                                                "Pow",
                                                "Reciprocal",
                                                "RepeatInterleave",
                                                "Rsqrt",
                                                "Scatter",
                                                "Sigmoid",
                                                "Sin",
                                                "Slice",
                                                "Softmax",
                                                "Split",
                                                "Stack",
                                                "Sub",
                                                "Sum",
                                                "Tanh",
                                                "Transpose",
                                                "Tril",
                                                "Triu"};
    const std::vector<std::string> others = {"AccumulateGrad",
                                             "AdamAccumulateGrad",
                                             "AndForward",
                                             "Cast",
                                             "EqualsForward",
                                             "EqualsScalarForward",
                                             "Fill",
                                             "GeForward",
                                             "GeScalarForward",
                                             "GtForward",
                                             "GtScalarForward",
                                             "LeForward",
                                             "LeScalarForward",
                                             "LinearBackwardBias",
                                             "LinearBackwardInput",
                                             "LinearBackwardWeight",
                                             "LinearForward",
                                             "LtForward",
                                             "LtScalarForward",
                                             "MatmulBackwardInput",
                                             "MatmulBackwardOther",
                                             "MatmulForward",
                                             "OrForward"};
    EXPECT_EQ(2 * both_ways.size() + others.size(), 97u);
    const auto has = [](const std::string &name) {
        EXPECT_TRUE(Dispatcher::Instance().HasKernel({Device::DeviceType::kCPU, name})) << name;
    };
    for (const auto &name : both_ways) {
        has(name + "Forward");
        has(name + "Backward");
    }
    for (const auto &name : others) { has(name); }
    // These exist on accelerators only.
    for (const char *name : {"Gemm", "VocabParallelCrossEntropyBackward", "Broadcast", "Gather", "Scatter"}) {
        EXPECT_FALSE(Dispatcher::Instance().HasKernel({Device::DeviceType::kCPU, name})) << name;
    }
}

// Over another axis than the last the CPU kernels read neighbours in memory: 1 + 2 and 2 + 3 instead of 1 + 3 and 2
// + 4.
TEST(CpuKernelTest, ReductionsIgnoreTheInnerAxes) {
    const auto x = Make({1, 2, 3, 4}, {2, 2});
    ExpectTensorFloatEqual(Call("SumForward", x, int64_t{0}, false), {3, 5});
    ExpectTensorFloatEqual(Call("MeanForward", x, int64_t{0}, false), {1.5f, 2.5f});
    ExpectTensorFloatEqual(Call("MaxForward", x, int64_t{0}, false), {2, 3});
    ExpectTensorFloatEqual(Call("MinForward", x, int64_t{0}, false), {1, 2});
}

// A mask over the leading axes is taken for one over the trailing ones.
TEST(CpuKernelTest, MaskKnowsOnlyTrailingAxes) {
    const auto x = Make({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
    ExpectTensorFloatEqual(Call("MaskForward", x, Make({1, 0, 0, 0}, {2, 2}), 0.0f), {0, 2, 3, 4, 0, 6, 7, 8});
    const auto half = std::make_shared<Tensor>(x->To(DataType::kBFLOAT16));
    EXPECT_DEATH(Call("MaskForward", x, half, 0.0f), "Dtype");
}

// Other dtypes than fp32 are read as if they were fp32, without a word. fp64 is wide enough that nothing is overrun.
TEST(CpuKernelTest, OtherDtypesAreMisread) {
    const auto wide = std::make_shared<Tensor>(Make({1, 2}, {2})->To(DataType::kFLOAT64));
    const auto sum = Call("AddScalarForward", wide, 0.0f);
    EXPECT_EQ(sum->Dtype(), DataType::kFLOAT32);
    EXPECT_NE(ReadBack<float>(sum), (std::vector<float>{1, 2}));
    const auto like = Call("SoftmaxForward", wide, int64_t{0});
    EXPECT_EQ(like->Dtype(), DataType::kFLOAT64);
    EXPECT_DEATH(Call<std::vector<TensorPtr>>("ConcatBackward", wide, std::vector<Dims>{{2}}, int64_t{0}),
                 "CPU ConcatBackward assumes float32");
}

// The offset of a view counts twice in a To() that has nothing to do.
TEST(CpuKernelTest, ToOfAViewOnItsOwnDevice) {
    const auto whole = Make({0, 1, 2, 3, 4, 5, 6, 7}, {8});
    auto view = std::make_shared<Tensor>(*whole, 2 * sizeof(float), Dims{2});
    ExpectTensorFloatEqual(std::make_shared<Tensor>(view->To(Device())), {4, 5});
    ExpectTensorFloatEqual(std::make_shared<Tensor>(view->To(DataType::kFLOAT32)), {4, 5});
    auto end = std::make_shared<Tensor>(*whole, 6 * sizeof(float), Dims{2});
    EXPECT_DEATH(end->To(Device()), "Check failed");
}

TEST(CpuKernelTest, ShapesThatDoNotFitAreFatal) {
    const auto x = Make({1, 2, 3, 4}, {2, 2});
    EXPECT_DEATH(Call("AddForward", x, Make({1, 2, 3}, {3})), "Check failed");
    EXPECT_DEATH(Call("MatmulForward", x, Make({1, 2, 3}, {3, 1})), "Check failed");
    EXPECT_DEATH(Call("NoOpForward", x, Dims{3}), "Check failed");
    EXPECT_DEATH(Call("EmbeddingForward", x, x), "int64");
    EXPECT_DEATH(Call<void>("Fill", std::make_shared<Tensor>(Dims{1}, DataType::kBOOL), Scalar(1)),
                 "CPU Fill: Unsupported data type: bool");
    EXPECT_DEATH(Call<std::vector<TensorPtr>>("SplitForward", x, int64_t{1}, -1), "negative dimension");
}

} // namespace
} // namespace infini_train::test
