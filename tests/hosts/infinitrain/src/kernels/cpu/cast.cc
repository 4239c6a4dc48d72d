#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "infini_train/include/common/cpu/common_cpu.h"
#include "infini_train/include/dispatcher.h"
#include "infini_train/include/dtype_dispatch.h"
#include "infini_train/include/tensor.h"
#include "src/kernels/cpu/cpu_types.h"

namespace infini_train::kernels::cpu {
namespace {

// 13 dtypes in 13 dtypes would be 169 loops. Every dtype fits without loss in one of three wide types, and going
// through it gives what a direct conversion gives: 13 loops in, 39 out.
template <typename T> struct WideOf {
    using type = std::conditional_t<std::is_same_v<T, bool> || std::is_unsigned_v<T>, uint64_t,
                                    std::conditional_t<std::is_integral_v<T>, int64_t, double>>;
};

template <typename Wide> void Store(const Wide *values, size_t count, DataType dtype, void *place, size_t offset) {
    DispatchByTypeMap<CpuTypeMap, INFINI_ALL_NUMERIC_TYPES, INFINI_LOGICAL_TYPES>(
        dtype,
        [&]<typename T>() {
            T *out = static_cast<T *>(place) + offset;
            for (size_t i = 0; i < count; ++i) { out[i] = common::cpu::Cast<T>(values[i]); }
        },
        "CPU Cast");
}

} // namespace

std::shared_ptr<Tensor> Cast(std::shared_ptr<Tensor> input, DataType dtype) {
    auto output = std::make_shared<Tensor>(input->Dims(), dtype, input->GetDevice());
    DispatchByTypeMap<CpuTypeMap, INFINI_ALL_NUMERIC_TYPES, INFINI_LOGICAL_TYPES>(
        input->Dtype(),
        [&]<typename T>() {
            using Wide = typename WideOf<T>::type;
            constexpr size_t kBlock = 256;
            Wide block[kBlock];
            const T *in = static_cast<const T *>(input->DataPtr());
            for (size_t begin = 0; begin < input->NumElements(); begin += kBlock) {
                const size_t count = std::min(kBlock, input->NumElements() - begin);
                for (size_t i = 0; i < count; ++i) { block[i] = common::cpu::Cast<Wide>(in[begin + i]); }
                Store(block, count, dtype, output->DataPtr(), begin);
            }
        },
        "CPU Cast");
    return output;
}

REGISTER_KERNEL(Device::DeviceType::kCPU, Cast, Cast)

} // namespace infini_train::kernels::cpu
