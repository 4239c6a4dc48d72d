#include <cstdint>
#include <memory>
#include <vector>

#include "glog/logging.h"

#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"

namespace infini_train::kernels::cpu {
namespace {

// The same memory with another shape.
std::shared_ptr<Tensor> Reshape(const std::shared_ptr<Tensor> &tensor, const std::vector<int64_t> &dims) {
    auto view = std::make_shared<Tensor>(*tensor, 0, dims);
    CHECK_EQ(view->NumElements(), tensor->NumElements());
    return view;
}

} // namespace

std::shared_ptr<Tensor> NoOpForward(const std::shared_ptr<Tensor> &input, const std::vector<int64_t> &dims) {
    return Reshape(input, dims);
}

std::shared_ptr<Tensor> NoOpBackward(const std::vector<int64_t> &dims, const std::shared_ptr<Tensor> &grad_output) {
    return Reshape(grad_output, dims);
}

REGISTER_KERNEL(Device::DeviceType::kCPU, NoOpForward, NoOpForward)
REGISTER_KERNEL(Device::DeviceType::kCPU, NoOpBackward, NoOpBackward)

} // namespace infini_train::kernels::cpu
