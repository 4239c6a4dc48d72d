#include "infini_train/include/core/ccl/ccl.h"

#include <memory>
#include <utility>

#include "glog/logging.h"

namespace infini_train::core {

using nn::parallel::function::ReduceOpType;

#define FATAL_DEFAULT_(METHOD) LOG(FATAL) << "CclImpl::" METHOD " is not implemented."

void CclImpl::GroupStart() const { FATAL_DEFAULT_("GroupStart"); }

void CclImpl::GroupEnd() const { FATAL_DEFAULT_("GroupEnd"); }

void CclImpl::GetAsyncError(const CclComm *, CclStatus *) const { FATAL_DEFAULT_("GetAsyncError"); }

void CclImpl::GetUniqueId(CclUniqueId **) const { FATAL_DEFAULT_("GetUniqueId"); }

void CclImpl::CommInitAll(CclComm **, int, const int *) const { FATAL_DEFAULT_("CommInitAll"); }

void CclImpl::CommInitRank(CclComm **, int, const CclUniqueId &, int) const { FATAL_DEFAULT_("CommInitRank"); }

void CclImpl::CommDestroy(CclComm *) const { FATAL_DEFAULT_("CommDestroy"); }

void CclImpl::AllReduce(const void *, void *, size_t, DataType, ReduceOpType, const CclComm *, Stream *) const {
    FATAL_DEFAULT_("AllReduce");
}

void CclImpl::Broadcast(const void *, void *, size_t, DataType, int, const CclComm *, Stream *) const {
    FATAL_DEFAULT_("Broadcast");
}

void CclImpl::Reduce(const void *, void *, size_t, DataType, ReduceOpType, int, const CclComm *, Stream *) const {
    FATAL_DEFAULT_("Reduce");
}

void CclImpl::AllGather(const void *, void *, size_t, DataType, const CclComm *, Stream *) const {
    FATAL_DEFAULT_("AllGather");
}

void CclImpl::ReduceScatter(const void *, void *, size_t, DataType, ReduceOpType, const CclComm *, Stream *) const {
    FATAL_DEFAULT_("ReduceScatter");
}

void CclImpl::Send(const void *, size_t, DataType, int, const CclComm *, Stream *) const { FATAL_DEFAULT_("Send"); }

void CclImpl::Recv(void *, size_t, DataType, int, const CclComm *, Stream *) const { FATAL_DEFAULT_("Recv"); }

#undef FATAL_DEFAULT_

CclGroupGuard::CclGroupGuard(Device::DeviceType type) : impl_(GetCclImpl(type)) { impl_->GroupStart(); }

CclGroupGuard::~CclGroupGuard() { impl_->GroupEnd(); }

CclImplRegistry &CclImplRegistry::Instance() {
    static CclImplRegistry registry;
    return registry;
}

void CclImplRegistry::Register(Device::DeviceType type, std::unique_ptr<CclImpl> impl) {
    CHECK(type == impl->Type()) << "Register CclImpl with type " << static_cast<int>(impl->Type()) << ", but as type "
                                << static_cast<int>(type);
    const bool is_new = impls_.emplace(type, std::move(impl)).second;
    CHECK(is_new) << "CclImpl for type " << static_cast<int>(type) << " already registered";
}

bool CclImplRegistry::Has(Device::DeviceType type) const { return impls_.count(type) != 0; }

CclImpl *CclImplRegistry::Get(Device::DeviceType type) const {
    const auto entry = impls_.find(type);
    CHECK(entry != impls_.end()) << "No CclImpl registered for type " << static_cast<int>(type);
    return entry->second.get();
}

CclImpl *GetCclImpl(Device::DeviceType type) { return CclImplRegistry::Instance().Get(type); }

} // namespace infini_train::core
