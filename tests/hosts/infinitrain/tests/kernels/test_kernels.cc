#include <memory>
#include <vector>

#include "gtest/gtest.h"

#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"
#include "tests/common/test_utils.h"

namespace infini_train {
namespace {

class KernelSmokeTest : public test::InfiniTrainTest {};

TEST_P(KernelSmokeTest, NoOp) {
    auto tensor = test::MakeTensor({1, 2, 3, 4}, {4}, GetDevice());
    const auto view = Dispatcher::Instance().Call<std::shared_ptr<Tensor>>({GetParam(), "NoOpForward"}, tensor,
                                                                           std::vector<int64_t>{2, 2});
    EXPECT_EQ(view->DataPtr(), tensor->DataPtr());
}

INFINI_TRAIN_REGISTER_TEST(KernelSmokeTest);

} // namespace
} // namespace infini_train
