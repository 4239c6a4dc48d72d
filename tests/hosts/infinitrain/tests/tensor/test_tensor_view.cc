#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

#include "infini_train/include/tensor.h"
#include "tests/common/test_utils.h"

namespace infini_train {
namespace {

class TensorViewTest : public test::InfiniTrainTest {};

TEST_P(TensorViewTest, StartsAtAByteOffset) {
    auto tensor = test::MakeTensor({0, 1, 2, 3, 4, 5}, {6}, GetDevice());
    auto view = std::make_shared<Tensor>(*tensor, 2 * sizeof(float), std::vector<int64_t>{2, 2});
    EXPECT_EQ(static_cast<char *>(view->DataPtr()) - static_cast<char *>(tensor->DataPtr()), 8);
    test::ExpectTensorFloatEqual(view, {2, 3, 4, 5});
}

TEST_P(TensorViewTest, WritesThroughToTheBuffer) {
    auto tensor = test::MakeTensor({0, 1, 2, 3}, {4}, GetDevice());
    auto view = std::make_shared<Tensor>(*tensor, sizeof(float), std::vector<int64_t>{2});
    view->Fill(7.0f);
    test::ExpectTensorFloatEqual(tensor, {0, 7, 7, 3});
    view->CopyFrom(test::MakeTensor({8, 9}, {2}, Device()));
    test::ExpectTensorFloatEqual(tensor, {0, 8, 9, 3});
}

TEST_P(TensorViewTest, KeepsTheBufferAlive) {
    auto tensor = test::MakeTensor({0, 1, 2, 3}, {4}, GetDevice());
    auto view = std::make_shared<Tensor>(*tensor, 3 * sizeof(float), std::vector<int64_t>{1});
    tensor.reset();
    test::ExpectTensorFloatEqual(view, {3});
}

TEST_P(TensorViewTest, CastsFromAnOffset) {
    auto tensor = test::MakeTensor({0, 1, 2, 3}, {4}, GetDevice());
    auto view = std::make_shared<Tensor>(*tensor, 2 * sizeof(float), std::vector<int64_t>{2});
    auto integers = std::make_shared<Tensor>(view->To(DataType::kINT64));
    EXPECT_EQ(test::ReadBack<int64_t>(integers), (std::vector<int64_t>{2, 3}));
}

TEST_P(TensorViewTest, ViewReshapesWithoutACopy) {
    auto tensor = test::MakeTensor({0, 1, 2, 3, 4, 5}, {2, 3}, GetDevice());
    auto view = tensor->View({3, 2});
    EXPECT_EQ(view->Dims(), (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(view->DataPtr(), tensor->DataPtr());
    EXPECT_EQ(tensor->Contiguous()->DataPtr(), tensor->DataPtr());
}

TEST_P(TensorViewTest, SetDataMovesIntoAnotherBuffer) {
    auto pool = test::MakeTensor({0, 0, 0, 0, 0}, {5}, GetDevice());
    auto tensor = test::MakeTensor({1, 2}, {2}, GetDevice());
    tensor->SetData(*pool, 2 * sizeof(float), true);
    test::ExpectTensorFloatEqual(pool, {0, 0, 1, 2, 0});
    tensor->Fill(5.0f);
    test::ExpectTensorFloatEqual(pool, {0, 0, 5, 5, 0});
}

INFINI_TRAIN_REGISTER_TEST(TensorViewTest);

} // namespace
} // namespace infini_train
