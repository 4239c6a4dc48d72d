#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "glog/logging.h"

#include "infini_train/include/datatype.h"
#include "infini_train/include/device.h"
#include "infini_train/include/scalar.h"

namespace infini_train {

// Device memory of one tensor or of several views. Allocated and freed in stream order on the default stream of its
// device.
class TensorBuffer {
public:
    TensorBuffer(Device device, size_t size);
    ~TensorBuffer();

    TensorBuffer(const TensorBuffer &) = delete;
    TensorBuffer &operator=(const TensorBuffer &) = delete;

    void *DataPtr();
    const void *DataPtr() const;

    Device GetDevice() const;
    size_t Size() const;

private:
    Device device_;
    size_t size_ = 0;
    void *data_ = nullptr;
};

// Contiguous, row-major. A view shares the buffer of another tensor and starts at a byte offset in it.
class Tensor : public std::enable_shared_from_this<Tensor> {
public:
    Tensor() = default;

    Tensor(const std::vector<int64_t> &dims, DataType dtype, Device device, bool requires_grad = false);
    // On the CPU.
    Tensor(const std::vector<int64_t> &dims, DataType dtype) : Tensor(dims, dtype, Device()) {}

    // A view; offset is in bytes and counts from the start of `tensor`.
    Tensor(const Tensor &tensor, size_t offset, const std::vector<int64_t> &dims);

    // Takes a place in the buffer of `tensor` instead of its own, with or without its present content.
    void SetData(const Tensor &tensor, size_t offset, bool preserve_data = false);

    // fp32 only. The source may die as soon as the constructor returns.
    Tensor(const float *data, const std::vector<int64_t> &dims, DataType dtype, Device device);
    Tensor(const float *data, const std::vector<int64_t> &dims, DataType dtype) : Tensor(data, dims, dtype, Device()) {}

    Device GetDevice() const;

    void *DataPtr();
    const void *DataPtr() const;

    size_t SizeInBytes() const;

    const std::vector<int64_t> &Dims() const;
    size_t NumElements() const;
    DataType Dtype() const;

    std::shared_ptr<Tensor> Detach() const;

    // Runs the kernel Fill of the tensor's device. The tensor must be owned by a shared_ptr.
    void Fill(Scalar value);

    Tensor To(Device device);
    // Runs the kernel Cast of the tensor's device. The tensor must be owned by a shared_ptr.
    Tensor To(DataType dtype);

    void CopyFrom(const Tensor &src);
    void CopyFrom(const std::shared_ptr<Tensor> &src);

    // Reshapes through the kernel NoOpForward of the tensor's device.
    std::shared_ptr<Tensor> View(const std::vector<int64_t> &dims);
    std::shared_ptr<Tensor> Contiguous();
    bool IsContiguous() const;

    std::shared_ptr<Tensor> grad() const;
    void set_grad(const std::shared_ptr<Tensor> &grad);

    bool requires_grad() const;
    void set_requires_grad(bool requires_grad);

    bool is_leaf() const;
    void set_is_leaf(bool is_leaf);

private:
    std::shared_ptr<TensorBuffer> buffer_;
    size_t offset_ = 0;
    std::vector<int64_t> dims_;
    size_t num_elements_ = 0;
    DataType dtype_ = DataType::kFLOAT32;

    std::shared_ptr<Tensor> grad_;
    bool requires_grad_ = false;
    bool is_leaf_ = true;
};

// The framework's operators on tensors run kernels: == and < compare the elements. Which tensor it is tells get().
std::shared_ptr<Tensor> operator==(const std::shared_ptr<Tensor> &a, const std::shared_ptr<Tensor> &b) = delete;
std::shared_ptr<Tensor> operator<(const std::shared_ptr<Tensor> &a, const std::shared_ptr<Tensor> &b) = delete;

} // namespace infini_train
