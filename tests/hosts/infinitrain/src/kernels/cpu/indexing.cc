// Kernels that pick or place elements by an int64 index tensor: Embedding, Gather, Scatter.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "infini_train/include/common/common.h"
#include "src/kernels/cpu/common.h"

namespace infini_train::kernels::cpu {
namespace {

// The place in the gathered tensor that every element of the index tensor points at, in memory order.
Dims GatherPlaces(const Dims &dims, const TensorPtr &index, int64_t dim) {
    const int64_t axis = NormalizeAxis(dim, Rank(dims));
    const Dims &index_dims = index->Dims();
    CHECK_EQ(index_dims.size(), dims.size());
    for (int64_t i = 0; i < Rank(dims); ++i) {
        if (i != axis) {
            CHECK_LE(index_dims[i], dims[i]) << "an index must fit into the input on axis " << i;
        }
    }
    const auto strides = ComputeStrides(dims);
    const int64_t *picks = Indices(index);
    Dims places(index->NumElements());
    IndexCounter counter(index_dims);
    for (size_t element = 0; element < places.size(); ++element, counter.Next()) {
        // Negative picks count from the end; what is still outside is moved to the border.
        const int64_t pick = picks[element] < 0 ? picks[element] + dims[axis] : picks[element];
        for (int64_t i = 0; i < Rank(dims); ++i) {
            const int64_t at
                = i == axis ? std::clamp<int64_t>(pick, 0, std::max<int64_t>(dims[axis] - 1, 0)) : counter.index()[i];
            places[element] += at * strides[i];
        }
    }
    return places;
}

// Calls move(row in the small tensor, row in the large one) for every index; the last axis of `indices` picks from
// `width`.
template <typename Move> void ForEachPick(const TensorPtr &indices, int64_t width, Move &&move) {
    const int64_t *picks = Indices(indices);
    const int64_t per_row = indices->Dims().back();
    for (int64_t i = 0; i < Count(indices); ++i) {
        CHECK_GE(picks[i], 0);
        CHECK_LT(picks[i], width);
        move(i, i / per_row * width + picks[i]);
    }
}

} // namespace

std::shared_ptr<Tensor> EmbeddingForward(const std::shared_ptr<Tensor> &input, const std::shared_ptr<Tensor> &weight) {
    CHECK_EQ(weight->Dims().size(), 2u);
    const int64_t *tokens = Indices(input);
    const int64_t width = weight->Dims()[1];
    Dims dims = input->Dims();
    dims.push_back(width);
    auto output = MakeFloat(dims);
    for (int64_t i = 0; i < Count(input); ++i) {
        std::copy_n(Data(weight) + tokens[i] * width, width, Data(output) + i * width);
    }
    return output;
}

std::shared_ptr<Tensor> EmbeddingBackward(const std::shared_ptr<Tensor> &input, const std::vector<int64_t> &weight_dims,
                                          const std::shared_ptr<Tensor> &grad_output) {
    CHECK_EQ(weight_dims.size(), 2u);
    const int64_t *tokens = Indices(input);
    const int64_t width = weight_dims[1];
    Dims dims = input->Dims();
    dims.push_back(width);
    CHECK(grad_output->Dims() == dims);
    auto grad_weight = MakeFloat(weight_dims);
    Clear(grad_weight);
    for (int64_t i = 0; i < Count(input); ++i) {
        float *row = Data(grad_weight) + tokens[i] * width;
        for (int64_t j = 0; j < width; ++j) { row[j] += Data(grad_output)[i * width + j]; }
    }
    return grad_weight;
}

std::shared_ptr<Tensor> GatherForward(const std::shared_ptr<Tensor> &input, const std::shared_ptr<Tensor> &index,
                                      int64_t dim) {
    const Dims places = GatherPlaces(input->Dims(), index, dim);
    auto output = MakeLike(index->Dims(), input);
    for (size_t i = 0; i < places.size(); ++i) { Data(output)[i] = Data(input)[places[i]]; }
    return output;
}

std::shared_ptr<Tensor> GatherBackward(const std::shared_ptr<Tensor> &grad_output, const std::shared_ptr<Tensor> &index,
                                       int64_t dim, const std::vector<int64_t> &input_dims) {
    const Dims places = GatherPlaces(input_dims, index, dim);
    auto grad_input = MakeLike(input_dims, grad_output);
    grad_input->Fill(0.0f);
    for (size_t i = 0; i < places.size(); ++i) { Data(grad_input)[places[i]] += Data(grad_output)[i]; }
    return grad_input;
}

// Scatter moves elements without looking at them, so it works for every dtype.
std::shared_ptr<Tensor> ScatterForward(const std::shared_ptr<Tensor> &values, const std::shared_ptr<Tensor> &indices,
                                       const std::vector<int64_t> &output_dims) {
    CHECK(values->Dims() == indices->Dims());
    CHECK(!output_dims.empty());
    CHECK_EQ(values->Dims().size(), output_dims.size());
    const int64_t width = output_dims.back();
    CHECK_GT(values->Dims().back(), 0);
    CHECK_GT(width, 0);
    CHECK_EQ(Product(output_dims), Count(values) / values->Dims().back() * width);

    auto output = MakeLike(output_dims, values);
    std::memset(output->DataPtr(), 0, output->SizeInBytes());
    const auto bytes = static_cast<int64_t>(kDataTypeToSize.at(values->Dtype()));
    const auto *from = static_cast<const std::byte *>(values->DataPtr());
    auto *to = static_cast<std::byte *>(output->DataPtr());
    ForEachPick(indices, width, [&](int64_t small, int64_t large) {
        std::memcpy(to + large * bytes, from + small * bytes, static_cast<size_t>(bytes));
    });
    return output;
}

std::shared_ptr<Tensor> ScatterBackward(const std::shared_ptr<Tensor> &grad_output,
                                        const std::shared_ptr<Tensor> &indices) {
    CHECK_GE(grad_output->Dims().size(), 1u);
    CHECK_GE(indices->Dims().size(), 1u);
    const int64_t width = grad_output->Dims().back();
    CHECK_EQ(Count(grad_output), Count(indices) / indices->Dims().back() * width);

    auto grad_values = MakeLike(indices->Dims(), grad_output);
    const auto bytes = static_cast<int64_t>(kDataTypeToSize.at(grad_output->Dtype()));
    const auto *from = static_cast<const std::byte *>(grad_output->DataPtr());
    auto *to = static_cast<std::byte *>(grad_values->DataPtr());
    ForEachPick(indices, width, [&](int64_t small, int64_t large) {
        std::memcpy(to + small * bytes, from + large * bytes, static_cast<size_t>(bytes));
    });
    return grad_values;
}

REGISTER_CPU_KERNEL(EmbeddingForward)
REGISTER_CPU_KERNEL(EmbeddingBackward)
REGISTER_CPU_KERNEL(GatherForward)
REGISTER_CPU_KERNEL(GatherBackward)
REGISTER_CPU_KERNEL(ScatterForward)
REGISTER_CPU_KERNEL(ScatterBackward)

} // namespace infini_train::kernels::cpu
