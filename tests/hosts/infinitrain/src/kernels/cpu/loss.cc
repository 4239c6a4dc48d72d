#include <algorithm>
#include <cmath>

#include "src/kernels/cpu/common.h"

namespace infini_train::kernels::cpu {
namespace {

// Logits as rows of classes, with the class every row should have.
struct Rows {
    Rows(const TensorPtr &input, const TensorPtr &target) : logits(Data(input)), target(target) {
        CHECK_GE(input->Dims().size(), 2u);
        CHECK(target->Dtype() == DataType::kUINT8 || target->Dtype() == DataType::kINT64)
            << "Unsupported target data type: " << kDataTypeToDesc.at(target->Dtype());
        classes = input->Dims().back();
        count = classes == 0 ? 0 : Count(input) / classes;
    }

    const float *Row(int64_t row) const { return logits + row * classes; }

    int64_t Target(int64_t row) const {
        return target->Dtype() == DataType::kUINT8 ? static_cast<const uint8_t *>(target->DataPtr())[row]
                                                   : static_cast<const int64_t *>(target->DataPtr())[row];
    }

    float Max(int64_t row) const { return *std::max_element(Row(row), Row(row) + classes); }

    // Sum of exp(logit - max) over the row.
    float SumExp(int64_t row, float max) const {
        float sum = 0.0f;
        for (int64_t c = 0; c < classes; ++c) { sum += std::exp(Row(row)[c] - max); }
        return sum;
    }

    const float *logits;
    TensorPtr target;
    int64_t classes;
    int64_t count;
};

} // namespace

// The mean over the rows of -log(softmax), as a scalar.
std::shared_ptr<Tensor> CrossEntropyForward(const std::shared_ptr<Tensor> &input,
                                            const std::shared_ptr<Tensor> &target) {
    const Rows rows(input, target);
    float loss = 0.0f;
    for (int64_t row = 0; row < rows.count; ++row) {
        const float max = rows.Max(row);
        loss -= std::log(std::exp(rows.Row(row)[rows.Target(row)] - max) / rows.SumExp(row, max));
    }
    auto output = MakeFloat({});
    *Data(output) = loss / static_cast<float>(rows.count);
    return output;
}

std::shared_ptr<Tensor> CrossEntropyBackward(const std::shared_ptr<Tensor> &input,
                                             const std::shared_ptr<Tensor> &target,
                                             const std::shared_ptr<Tensor> &grad_output) {
    CHECK_EQ(grad_output->Dims().size(), 0u);
    const Rows rows(input, target);
    const float upstream = *Data(grad_output);
    auto grad_input = MakeFloat(input->Dims());
    float *out = Data(grad_input);
    for (int64_t row = 0; row < rows.count; ++row) {
        const float max = rows.Max(row);
        const float sum = rows.SumExp(row, max);
        for (int64_t c = 0; c < rows.classes; ++c) {
            const float softmax = std::exp(rows.Row(row)[c] - max) / sum;
            const float hit = c == rows.Target(row) ? 1.0f : 0.0f;
            out[row * rows.classes + c] = upstream * (softmax - hit) / static_cast<float>(rows.count);
        }
    }
    return grad_input;
}

REGISTER_CPU_KERNEL(CrossEntropyForward)
REGISTER_CPU_KERNEL(CrossEntropyBackward)

} // namespace infini_train::kernels::cpu
