#include "infini_train/include/core/privateuse1_backend.h"

#include <mutex>
#include <optional>
#include <string>

#include "glog/logging.h"

#include "infini_train/include/core/runtime/device_guard.h"
#include "infini_train/include/dispatcher.h"

namespace infini_train::core {
namespace {

// The one backend of the process. Never destroyed: devices are printed and tensors are freed until the very end.
struct Published {
    std::mutex mutex;
    std::optional<PrivateUse1BackendRegistration> backend;
};

Published &GetPublished() {
    static auto *published = new Published;
    return *published;
}

bool IsGoodName(const std::string &name) {
    return !name.empty() && name != "cpu" && name != "cuda"
        && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

} // namespace

void RegisterPrivateUse1Backend(const PrivateUse1BackendRegistration &registration) {
    constexpr auto kType = Device::DeviceType::kPrivateUse1;
    CHECK(IsGoodName(registration.name)) << "PrivateUse1 backend name '" << registration.name
                                         << "' must be a non-reserved name of lowercase ASCII letters, digits and "
                                            "underscores";
    const auto &dtype = registration.default_autocast_dtype;
    CHECK(dtype.has_value()) << "PrivateUse1 backend " << registration.name << " must declare a default autocast dtype";
    CHECK(*dtype == DataType::kFLOAT16 || *dtype == DataType::kBFLOAT16)
        << "default autocast dtype of PrivateUse1 backend " << registration.name << " must be float16 or bfloat16";

    auto &published = GetPublished();
    const std::lock_guard lock(published.mutex);
    CHECK(!published.backend.has_value())
        << "PrivateUse1 backend " << published.backend->name << " is already registered";
    CHECK(DeviceGuardImplRegistry::Instance().Has(kType))
        << "PrivateUse1 backend " << registration.name << " did not register a DeviceGuardImpl";
    for (const char *kernel : {"Cast", "Fill", "NoOpForward", "NoOpBackward"}) {
        CHECK(Dispatcher::Instance().HasKernel({kType, kernel}))
            << "PrivateUse1 backend " << registration.name << " is missing required kernel " << kernel;
    }
    published.backend = registration;
}

bool HasPrivateUse1Backend() {
    auto &published = GetPublished();
    const std::lock_guard lock(published.mutex);
    return published.backend.has_value();
}

std::string GetPrivateUse1BackendName() {
    auto &published = GetPublished();
    const std::lock_guard lock(published.mutex);
    return published.backend ? published.backend->name : "privateuse1";
}

DataType GetPrivateUse1BackendDefaultAutocastDtype() {
    auto &published = GetPublished();
    const std::lock_guard lock(published.mutex);
    CHECK(published.backend.has_value()) << "PrivateUse1 backend is not registered";
    return *published.backend->default_autocast_dtype;
}

} // namespace infini_train::core
