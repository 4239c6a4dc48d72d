#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

#include "infini_train/include/tensor.h"
#include "tests/common/test_utils.h"

namespace infini_train {
namespace {

class TensorCopyTest : public test::InfiniTrainTest {};

TEST_P(TensorCopyTest, ToTheHostAndBack) {
    auto tensor = test::MakeTensor({1, 2, 3, 4, 5, 6}, {2, 3}, GetDevice());
    auto host = std::make_shared<Tensor>(tensor->To(Device()));
    EXPECT_TRUE(host->GetDevice().IsCPU());
    test::ExpectTensorFloatEqual(host, {1, 2, 3, 4, 5, 6});

    auto back = std::make_shared<Tensor>(host->To(GetDevice()));
    EXPECT_EQ(back->GetDevice(), GetDevice());
    EXPECT_EQ(back->Dims(), (std::vector<int64_t>{2, 3}));
    test::ExpectTensorFloatEqual(back, {1, 2, 3, 4, 5, 6});
}

TEST_P(TensorCopyTest, ToTheSameDeviceSharesTheMemory) {
    auto tensor = test::MakeTensor({1, 2}, {2}, GetDevice());
    const Tensor same = tensor->To(GetDevice());
    EXPECT_EQ(same.DataPtr(), tensor->DataPtr());
}

TEST_P(TensorCopyTest, KeepsRequiresGradAndMovesTheGradient) {
    SKIP_CPU();
    auto tensor = test::MakeTensor({1, 2}, {2}, Device());
    tensor->set_requires_grad(true);
    tensor->set_grad(test::MakeTensor({3, 4}, {2}, Device()));
    const Tensor moved = tensor->To(GetDevice());
    EXPECT_TRUE(moved.requires_grad());
    ASSERT_NE(moved.grad(), nullptr);
    EXPECT_EQ(moved.grad()->GetDevice(), GetDevice());
    test::ExpectTensorFloatEqual(moved.grad(), {3, 4});
}

TEST_P(TensorCopyTest, CopyFromTheSameDevice) {
    auto source = test::MakeTensor({1, 2, 3}, {3}, GetDevice());
    auto target = test::MakeTensor({0, 0, 0}, {3}, GetDevice());
    target->CopyFrom(source);
    source->Fill(9.0f);
    test::ExpectTensorFloatEqual(target, {1, 2, 3});
}

TEST_P(TensorCopyTest, CopyFromTheHost) {
    auto target = test::MakeTensor({0, 0, 0}, {3}, GetDevice());
    target->CopyFrom(test::MakeTensor({4, 5, 6}, {3}, Device()));
    test::ExpectTensorFloatEqual(target, {4, 5, 6});
}

TEST_P(TensorCopyTest, OneDeviceToAnother) {
    REQUIRE_MIN_DEVICES(2);
    const Device other(GetParam(), 1);
    auto source = test::MakeTensor({1, 2, 3, 4}, {4}, GetDevice());
    auto moved = std::make_shared<Tensor>(source->To(other));
    EXPECT_EQ(moved->GetDevice(), other);
    test::ExpectTensorFloatEqual(moved, {1, 2, 3, 4});

    auto target = test::MakeTensor({0, 0, 0, 0}, {4}, other);
    target->CopyFrom(source);
    test::ExpectTensorFloatEqual(target, {1, 2, 3, 4});
}

TEST_P(TensorCopyTest, ToAnotherDtype) {
    auto tensor = test::MakeTensor({1.0f, -2.0f, 0.5f}, {3}, GetDevice());
    auto half = std::make_shared<Tensor>(tensor->To(DataType::kBFLOAT16));
    EXPECT_EQ(half->Dtype(), DataType::kBFLOAT16);
    EXPECT_EQ(half->GetDevice(), GetDevice());
    EXPECT_EQ(test::ReadBack<uint16_t>(half), (std::vector<uint16_t>{0x3f80, 0xc000, 0x3f00}));
    auto back = std::make_shared<Tensor>(half->To(DataType::kFLOAT32));
    test::ExpectTensorFloatEqual(back, {1.0f, -2.0f, 0.5f});

    auto integers = std::make_shared<Tensor>(tensor->To(DataType::kINT32));
    EXPECT_EQ(test::ReadBack<int32_t>(integers), (std::vector<int32_t>{1, -2, 0}));
}

INFINI_TRAIN_REGISTER_TEST(TensorCopyTest);

} // namespace
} // namespace infini_train
