#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

#include "infini_train/include/tensor.h"
#include "tests/common/test_utils.h"

namespace infini_train {
namespace {

class TensorCreateTest : public test::InfiniTrainTest {};

TEST_P(TensorCreateTest, HasTheShapeItWasGiven) {
    const Tensor tensor({2, 3, 4}, DataType::kFLOAT32, GetDevice());
    EXPECT_EQ(tensor.Dims(), (std::vector<int64_t>{2, 3, 4}));
    EXPECT_EQ(tensor.NumElements(), 24u);
    EXPECT_EQ(tensor.SizeInBytes(), 96u);
    EXPECT_EQ(tensor.Dtype(), DataType::kFLOAT32);
    EXPECT_EQ(tensor.GetDevice(), GetDevice());
    EXPECT_NE(tensor.DataPtr(), nullptr);
    EXPECT_FALSE(tensor.requires_grad());
}

TEST_P(TensorCreateTest, ScalarHasOneElement) {
    const Tensor tensor({}, DataType::kINT64, GetDevice());
    EXPECT_EQ(tensor.NumElements(), 1u);
    EXPECT_EQ(tensor.SizeInBytes(), 8u);
}

TEST_P(TensorCreateTest, MayBeEmpty) {
    const Tensor tensor({0, 3}, DataType::kFLOAT32, GetDevice());
    EXPECT_EQ(tensor.NumElements(), 0u);
    EXPECT_EQ(tensor.GetDevice(), GetDevice());
}

TEST_P(TensorCreateTest, TakesValuesFromMemoryThatDies) {
    std::shared_ptr<Tensor> tensor;
    {
        std::vector<float> values(1000);
        for (size_t i = 0; i < values.size(); ++i) { values[i] = static_cast<float>(i); }
        tensor = test::MakeTensor(values, {10, 100}, GetDevice());
        values.assign(values.size(), -1.0f);
    }
    const auto values = test::ReadBack<float>(tensor);
    for (size_t i = 0; i < values.size(); ++i) { ASSERT_EQ(values[i], static_cast<float>(i)); }
}

TEST_P(TensorCreateTest, FillSetsEveryElement) {
    auto tensor = std::make_shared<Tensor>(std::vector<int64_t>{3, 5}, DataType::kFLOAT32, GetDevice());
    tensor->Fill(2.5f);
    test::ExpectTensorFloatEqual(tensor, std::vector<float>(15, 2.5f));
}

TEST_P(TensorCreateTest, FillKeepsTheDtype) {
    auto tensor = std::make_shared<Tensor>(std::vector<int64_t>{4}, DataType::kINT64, GetDevice());
    tensor->Fill(int64_t{-7});
    EXPECT_EQ(test::ReadBack<int64_t>(tensor), std::vector<int64_t>(4, -7));

    auto half = std::make_shared<Tensor>(std::vector<int64_t>{3}, DataType::kBFLOAT16, GetDevice());
    half->Fill(1.0f);
    EXPECT_EQ(test::ReadBack<uint16_t>(half), std::vector<uint16_t>(3, 0x3f80));
}

TEST_P(TensorCreateTest, ManyTensorsComeAndGo) {
    for (int round = 0; round < 50; ++round) {
        auto first = std::make_shared<Tensor>(std::vector<int64_t>{257}, DataType::kFLOAT32, GetDevice());
        auto second = std::make_shared<Tensor>(std::vector<int64_t>{257}, DataType::kFLOAT32, GetDevice());
        first->Fill(static_cast<float>(round));
        second->CopyFrom(first);
        first.reset();
        test::ExpectTensorFloatEqual(second, std::vector<float>(257, static_cast<float>(round)));
    }
}

INFINI_TRAIN_REGISTER_TEST(TensorCreateTest);

} // namespace
} // namespace infini_train
