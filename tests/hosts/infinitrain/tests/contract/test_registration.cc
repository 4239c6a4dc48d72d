#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "infini_train/include/core/ccl/ccl.h"
#include "infini_train/include/core/privateuse1_backend.h"
#include "infini_train/include/core/runtime/device_guard.h"
#include "infini_train/include/device.h"
#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"

namespace infini_train {
namespace {

using core::DeviceGuardImplRegistry;
using core::PrivateUse1BackendRegistration;
using core::RegisterPrivateUse1Backend;
constexpr auto kPrivateUse1 = Device::DeviceType::kPrivateUse1;

int initialize_calls = 0;
Device current(kPrivateUse1, 0);

// The least a backend may be: what is pure, and what a DeviceGuard needs.
class LeastGuardImpl final : public core::DeviceGuardImpl {
public:
    void Initialize() override { ++initialize_calls; }
    Device GetDevice() const override { return current; }
    void SetDevice(Device device) const override { current = device; }
    Device::DeviceType Type() const override { return kPrivateUse1; }
    void Malloc(void **, size_t) override {}
    void Free(void *) override {}
    void Memcpy(void *, const void *, size_t, core::MemcpyKind) override {}
};

class WrongTypeGuardImpl final : public core::DeviceGuardImpl {
public:
    Device GetDevice() const override { return Device(); }
    Device::DeviceType Type() const override { return Device::DeviceType::kCUDA; }
    void Malloc(void **, size_t) override {}
    void Free(void *) override {}
    void Memcpy(void *, const void *, size_t, core::MemcpyKind) override {}
};

int group_depth = 0;

class LeastCclImpl final : public core::CclImpl {
public:
    Device::DeviceType Type() const override { return kPrivateUse1; }
    void GroupStart() const override { ++group_depth; }
    void GroupEnd() const override { --group_depth; }
};

int Twice(int value) { return 2 * value; }

void RegisterRuntime() {
    DeviceGuardImplRegistry::Instance().Register(kPrivateUse1, std::make_unique<LeastGuardImpl>());
}

void RegisterKernels(const std::vector<std::string> &names) {
    for (const auto &name : names) { Dispatcher::Instance().Register({kPrivateUse1, name}, Twice); }
}

PrivateUse1BackendRegistration Registration(std::string name, std::optional<DataType> dtype = DataType::kBFLOAT16) {
    return {std::move(name), dtype};
}

// Registries are per process, so whatever changes them runs in a child.
TEST(RegistrationDeathTest, NameMustFollowTheRule) {
    for (const char *name : {"", "cpu", "cuda", "Chip", "my-chip", "chip "}) {
        EXPECT_DEATH(RegisterPrivateUse1Backend(Registration(name)), "non-reserved.*lowercase ASCII") << name;
    }
}

TEST(RegistrationDeathTest, AutocastDtype) {
    EXPECT_DEATH(RegisterPrivateUse1Backend(Registration("chip", std::nullopt)),
                 "must declare a default autocast dtype");
    EXPECT_DEATH(RegisterPrivateUse1Backend(Registration("chip", DataType::kFLOAT32)), "must be float16 or bfloat16");
}

TEST(RegistrationDeathTest, NeedsGuardAndKernels) {
    EXPECT_DEATH(RegisterPrivateUse1Backend(Registration("chip")), "did not register a DeviceGuardImpl");
    EXPECT_DEATH(
        {
            RegisterRuntime();
            RegisterKernels({"Cast", "Fill", "NoOpForward"});
            RegisterPrivateUse1Backend(Registration("chip"));
        },
        "missing required kernel NoOpBackward");
}

TEST(RegistrationDeathTest, OnlyOnce) {
    EXPECT_DEATH(
        {
            RegisterRuntime();
            RegisterKernels({"Cast", "Fill", "NoOpForward", "NoOpBackward"});
            RegisterPrivateUse1Backend(Registration("chip"));
            RegisterPrivateUse1Backend(Registration("other"));
        },
        "already registered");
}

TEST(RegistrationDeathTest, PublishesTheName) {
    EXPECT_EXIT(
        {
            RegisterRuntime();
            RegisterKernels({"Cast", "Fill", "NoOpForward", "NoOpBackward"});
            const bool before = Device::ParseType("chip").has_value();
            RegisterPrivateUse1Backend(Registration("chip"));
            const bool touched = initialize_calls != 0;
            const bool parsed = Device::ParseType("chip") == kPrivateUse1;
            core::GetDeviceGuardImpl(kPrivateUse1);
            const bool good = !before && !touched && parsed && initialize_calls == 1 && core::HasPrivateUse1Backend()
                           && Device(kPrivateUse1, 1).ToString() == "Device(chip, 1)"
                           && core::GetPrivateUse1BackendDefaultAutocastDtype() == DataType::kBFLOAT16;
            std::exit(good ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST(RegistrationTest, BeforeARegistration) {
    EXPECT_FALSE(core::HasPrivateUse1Backend());
    EXPECT_EQ(core::GetPrivateUse1BackendName(), "privateuse1");
    EXPECT_EQ(Device::ParseType("cpu"), Device::DeviceType::kCPU);
    EXPECT_EQ(Device::ParseType("cuda"), Device::DeviceType::kCUDA);
    EXPECT_EQ(Device::ParseType("privateuse1"), kPrivateUse1);
    EXPECT_EQ(Device::ParseType("chip"), std::nullopt);
    EXPECT_EQ(Device().ToString(), "Device(CPU, 0)");
    EXPECT_DEATH(core::GetPrivateUse1BackendDefaultAutocastDtype(), "is not registered");
    EXPECT_DEATH(Device(Device::DeviceType::kCPU, 1), "CPU device index should be 0");
}

TEST(GuardRegistryDeathTest, RefusesWhatDoesNotFit) {
    auto &registry = DeviceGuardImplRegistry::Instance();
    EXPECT_TRUE(registry.Has(Device::DeviceType::kCPU));
    EXPECT_FALSE(registry.Has(kPrivateUse1));
    EXPECT_DEATH(registry.Register(kPrivateUse1, std::make_unique<WrongTypeGuardImpl>()), "but as type 2");
    EXPECT_DEATH(registry.Get(kPrivateUse1), "No DeviceGuardImpl registered for type 2");
    EXPECT_DEATH(
        {
            RegisterRuntime();
            RegisterRuntime();
        },
        "already registered");
    EXPECT_DEATH(
        {
            RegisterRuntime();
            registry.Register(Device::DeviceType::kCUDA, std::make_unique<WrongTypeGuardImpl>());
        },
        "Only CPU and one GPU backend allowed");
}

TEST(GuardDeathTest, DefaultsAreFatal) {
    LeastGuardImpl guard;
    EXPECT_DEATH(guard.GetStream(current), "DeviceGuardImpl::GetStream is not implemented");
    EXPECT_DEATH(guard.MallocAsync(nullptr, 0, nullptr), "DeviceGuardImpl::MallocAsync is not implemented");
    EXPECT_DEATH(guard.EventQuery(nullptr), "DeviceGuardImpl::EventQuery is not implemented");
    EXPECT_DEATH(guard.GetMemPoolPeakMB(current), "DeviceGuardImpl::GetMemPoolPeakMB is not implemented");
}

TEST(GuardDeathTest, RestoresTheDevice) {
    EXPECT_EXIT(
        {
            RegisterRuntime();
            bool good = true;
            {
                core::DeviceGuard outer(Device(kPrivateUse1, 3));
                good = good && current.index() == 3 && outer.original_device().index() == 0;
                outer.SetDevice(Device(kPrivateUse1, 5));
                good = good && current.index() == 5 && outer.current_device().index() == 5;
            }
            std::exit(good && current.index() == 0 ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST(CclDeathTest, RegistryAndGroupGuard) {
    EXPECT_DEATH(core::GetCclImpl(kPrivateUse1), "No CclImpl registered for type 2");
    EXPECT_DEATH(LeastCclImpl().AllReduce(nullptr, nullptr, 0, DataType::kFLOAT32,
                                          nn::parallel::function::ReduceOpType::kSum, nullptr, nullptr),
                 "CclImpl::AllReduce is not implemented");
    EXPECT_EXIT(
        {
            core::CclImplRegistry::Instance().Register(kPrivateUse1, std::make_unique<LeastCclImpl>());
            bool good = core::CclImplRegistry::Instance().Has(kPrivateUse1);
            {
                core::CclGroupGuard guard(kPrivateUse1);
                good = good && group_depth == 1;
            }
            std::exit(good && group_depth == 0 ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

// Two registrations in one scope must not collide; a macro argument with a comma in a template needs its own function.
int Thrice(int value) { return 3 * value; }
REGISTER_KERNEL(Device::DeviceType::kCPU, TestTwice, Twice)
REGISTER_KERNEL(Device::DeviceType::kCUDA, TestTwice, Thrice)

TEST(DispatcherTest, FindsByDeviceAndName) {
    auto &dispatcher = Dispatcher::Instance();
    EXPECT_EQ(dispatcher.Call<int>({Device::DeviceType::kCPU, "TestTwice"}, 21), 42);
    EXPECT_EQ(dispatcher.GetKernel({Device::DeviceType::kCUDA, "TestTwice"}).Call<int>(2), 6);
    EXPECT_TRUE(dispatcher.HasKernel({Device::DeviceType::kCPU, "TestTwice"}));
    EXPECT_FALSE(dispatcher.HasKernel({kPrivateUse1, "TestTwice"}));
    EXPECT_DEATH(dispatcher.GetKernel({kPrivateUse1, "TestTwice"}), "Kernel not found: TestTwice");
    EXPECT_DEATH(dispatcher.Register({Device::DeviceType::kCPU, "TestTwice"}, Twice),
                 "Kernel already registered: TestTwice");
}

} // namespace
} // namespace infini_train
