#include <algorithm>
#include <memory>

#include "infini_train/include/dispatcher.h"
#include "infini_train/include/dtype_dispatch.h"
#include "infini_train/include/tensor.h"
#include "src/kernels/cpu/cpu_types.h"

namespace infini_train::kernels::cpu {

// Every dtype but bool, as in the framework.
void Fill(std::shared_ptr<Tensor> tensor, Scalar scalar) {
    DispatchByTypeMap<CpuTypeMap, INFINI_ALL_NUMERIC_TYPES>(
        tensor->Dtype(),
        [&]<typename T>() { std::fill_n(static_cast<T *>(tensor->DataPtr()), tensor->NumElements(), scalar.to<T>()); },
        "CPU Fill");
}

REGISTER_KERNEL(Device::DeviceType::kCPU, Fill, Fill)

} // namespace infini_train::kernels::cpu
