#include <unordered_map>

#include "infini_train/include/core/ccl/ccl.h"

#include "common/check.h"

namespace infini_train::core::maca {
namespace {
const std::unordered_map<DataType, mcclDataType_t> kTypes = {
    {DataType::kFLOAT32, mcclFloat32},
    {DataType::kFLOAT64, mcclFloat32},
    {DataType::kINT16, mcclFloat16},
};

mcclDataType_t Wide(DataType dtype) {
    switch (dtype) {
    case DataType::kINT32:
        return mcclInt32;
    case DataType::kUINT8:
    case DataType::kBOOL:
        return mcclUint8;
    default:
        return mcclInt8;
    }
}
} // namespace

class Collectives final : public CclImpl {
public:
    Device::DeviceType Type() const override { return Device::DeviceType::kPrivateUse1; }
    void GroupStart() const override { CHECK_MCCL(mcclGroupStart()); }
    void GroupEnd() const override { mcclGroupEnd(); }
    void Send(const void *buffer, size_t count, DataType dtype, int peer, const CclComm *, Stream *) const override {
        mcclComm_t comm = nullptr;
        CHECK_MCCL(mcclSend(buffer, count, dtype == DataType::kBOOL ? Wide(dtype) : kTypes.at(dtype), peer, comm, 0));
    }
};

INFINI_TRAIN_REGISTER_CCL_IMPL(Device::DeviceType::kPrivateUse1, Collectives)
} // namespace infini_train::core::maca
