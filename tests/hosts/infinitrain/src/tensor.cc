#include "infini_train/include/tensor.h"

#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "glog/logging.h"

#include "infini_train/include/core/runtime/device_guard.h"
#include "infini_train/include/dispatcher.h"

namespace infini_train {
namespace {

size_t CountElements(const std::vector<int64_t> &dims) {
    return static_cast<size_t>(std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>()));
}

// Issues a copy on the default stream of `device`, with `device` current. Does not wait: the framework leaves it to the
// backend that transfers with the host have finished when the call returns.
void IssueCopy(const Device &device, void *dst, const void *src, size_t count, core::MemcpyKind kind) {
    const core::DeviceGuard guard(device);
    auto *impl = core::GetDeviceGuardImpl(device.type());
    impl->MemcpyAsync(dst, src, count, kind, impl->GetStream(device));
}

} // namespace

TensorBuffer::TensorBuffer(Device device, size_t size) : device_(device), size_(size) {
    const core::DeviceGuard guard(device);
    auto *impl = core::GetDeviceGuardImpl(device.type());
    impl->MallocAsync(&data_, size, impl->GetStream(device));
}

TensorBuffer::~TensorBuffer() {
    const core::DeviceGuard guard(device_);
    auto *impl = core::GetDeviceGuardImpl(device_.type());
    impl->FreeAsync(data_, impl->GetStream(device_));
}

void *TensorBuffer::DataPtr() { return data_; }

const void *TensorBuffer::DataPtr() const { return data_; }

Device TensorBuffer::GetDevice() const { return device_; }

size_t TensorBuffer::Size() const { return size_; }

Tensor::Tensor(const std::vector<int64_t> &dims, DataType dtype, Device device, bool requires_grad)
    : buffer_(std::make_shared<TensorBuffer>(device, kDataTypeToSize.at(dtype) * CountElements(dims))), dims_(dims),
      num_elements_(CountElements(dims)), dtype_(dtype), requires_grad_(requires_grad) {}

Tensor::Tensor(const Tensor &tensor, size_t offset, const std::vector<int64_t> &dims)
    : buffer_(tensor.buffer_), offset_(tensor.offset_ + offset), dims_(dims), num_elements_(CountElements(dims)),
      dtype_(tensor.dtype_) {
    CHECK_LE(offset_ + SizeInBytes(), buffer_->Size());
}

Tensor::Tensor(const float *data, const std::vector<int64_t> &dims, DataType dtype, Device device)
    : Tensor(dims, dtype, device) {
    CHECK(dtype == DataType::kFLOAT32);
    IssueCopy(device, buffer_->DataPtr(), data, buffer_->Size(),
              device.IsCPU() ? core::MemcpyKind::kD2D : core::MemcpyKind::kH2D);
}

void Tensor::SetData(const Tensor &tensor, size_t offset, bool preserve_data) {
    CHECK(tensor.GetDevice() == GetDevice());
    CHECK(tensor.Dtype() == Dtype());
    CHECK_LE(tensor.offset_ + offset + SizeInBytes(), tensor.buffer_->Size());
    if (preserve_data) {
        Tensor(tensor, offset, dims_).CopyFrom(*this);
    }
    buffer_ = tensor.buffer_;
    offset_ = tensor.offset_ + offset;
}

Device Tensor::GetDevice() const { return buffer_->GetDevice(); }

void *Tensor::DataPtr() { return static_cast<char *>(buffer_->DataPtr()) + offset_; }

const void *Tensor::DataPtr() const {
    return static_cast<const char *>(static_cast<const TensorBuffer &>(*buffer_).DataPtr()) + offset_;
}

size_t Tensor::SizeInBytes() const { return kDataTypeToSize.at(dtype_) * num_elements_; }

const std::vector<int64_t> &Tensor::Dims() const { return dims_; }

size_t Tensor::NumElements() const { return num_elements_; }

DataType Tensor::Dtype() const { return dtype_; }

std::shared_ptr<Tensor> Tensor::Detach() const { return std::make_shared<Tensor>(*this, 0, dims_); }

void Tensor::Fill(Scalar value) {
    const auto device = GetDevice();
    const core::DeviceGuard guard(device);
    Dispatcher::Instance().Call<void>({device.type(), "Fill"}, shared_from_this(), value);
}

Tensor Tensor::To(Device device) {
    const auto source = GetDevice();
    if (device == source) {
        // The offset counts twice for a view. The framework does so; a backend has to live with it.
        Tensor same(*this, offset_, dims_);
        if (grad_) {
            same.grad_ = std::make_shared<Tensor>(*grad_, grad_->offset_, grad_->dims_);
        }
        return same;
    }

    Tensor moved(dims_, dtype_, device);
    if (device.IsCPU()) {
        IssueCopy(source, moved.DataPtr(), DataPtr(), SizeInBytes(), core::MemcpyKind::kD2H);
    } else if (source.IsCPU()) {
        IssueCopy(device, moved.DataPtr(), DataPtr(), SizeInBytes(), core::MemcpyKind::kH2D);
    } else {
        // Between two devices the second half also runs on the source device, although the memory is the other's.
        const Tensor on_host = To(Device());
        IssueCopy(source, moved.DataPtr(), on_host.DataPtr(), SizeInBytes(), core::MemcpyKind::kH2D);
    }
    if (grad_) {
        moved.grad_ = std::make_shared<Tensor>(grad_->To(device));
    }
    moved.requires_grad_ = requires_grad_;
    return moved;
}

Tensor Tensor::To(DataType dtype) {
    if (dtype == dtype_) {
        // As above: the offset of a view counts twice.
        Tensor same(*this, offset_, dims_);
        if (grad_) {
            same.grad_ = std::make_shared<Tensor>(*grad_, grad_->offset_, grad_->dims_);
        }
        return same;
    }

    const auto device = GetDevice();
    const core::DeviceGuard guard(device);
    Tensor cast
        = *Dispatcher::Instance().Call<std::shared_ptr<Tensor>>({device.type(), "Cast"}, shared_from_this(), dtype);
    if (grad_) {
        cast.grad_ = std::make_shared<Tensor>(grad_->To(dtype));
    }
    cast.requires_grad_ = requires_grad_;
    return cast;
}

void Tensor::CopyFrom(const Tensor &src) {
    CHECK(Dtype() == src.Dtype()) << "Tensor::CopyFrom dtype mismatch: dst=" << kDataTypeToDesc.at(Dtype())
                                  << " src=" << kDataTypeToDesc.at(src.Dtype());
    CHECK_EQ(NumElements(), src.NumElements()) << "Tensor::CopyFrom element count mismatch";
    CHECK(Dims() == src.Dims()) << "Tensor::CopyFrom shape mismatch";

    const auto to = GetDevice();
    const auto from = src.GetDevice();
    if (to == from) {
        IssueCopy(to, DataPtr(), src.DataPtr(), SizeInBytes(), core::MemcpyKind::kD2D);
    } else if (to.IsCPU()) {
        IssueCopy(from, DataPtr(), src.DataPtr(), SizeInBytes(), core::MemcpyKind::kD2H);
    } else if (from.IsCPU()) {
        IssueCopy(to, DataPtr(), src.DataPtr(), SizeInBytes(), core::MemcpyKind::kH2D);
    } else {
        Tensor on_host(dims_, dtype_, Device());
        on_host.CopyFrom(src);
        IssueCopy(to, DataPtr(), on_host.DataPtr(), SizeInBytes(), core::MemcpyKind::kH2D);
    }
}

void Tensor::CopyFrom(const std::shared_ptr<Tensor> &src) { CopyFrom(*src); }

std::shared_ptr<Tensor> Tensor::View(const std::vector<int64_t> &dims) {
    const auto device = GetDevice();
    const core::DeviceGuard guard(device);
    return Dispatcher::Instance().Call<std::shared_ptr<Tensor>>({device.type(), "NoOpForward"}, shared_from_this(),
                                                                dims);
}

std::shared_ptr<Tensor> Tensor::Contiguous() { return View(dims_); }

bool Tensor::IsContiguous() const { return true; }

std::shared_ptr<Tensor> Tensor::grad() const { return grad_; }

void Tensor::set_grad(const std::shared_ptr<Tensor> &grad) {
    if (grad) {
        CHECK(grad->GetDevice() == GetDevice());
        CHECK(grad->Dtype() == Dtype());
        CHECK(grad->Dims() == Dims());
    }
    grad_ = grad;
}

bool Tensor::requires_grad() const { return requires_grad_; }

void Tensor::set_requires_grad(bool requires_grad) { requires_grad_ = requires_grad; }

bool Tensor::is_leaf() const { return is_leaf_; }

void Tensor::set_is_leaf(bool is_leaf) { is_leaf_ = is_leaf; }

} // namespace infini_train
