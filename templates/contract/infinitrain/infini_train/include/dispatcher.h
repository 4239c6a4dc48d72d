#pragma once

#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "glog/logging.h"

#include "infini_train/include/common/common.h"
#include "infini_train/include/device.h"

// The call below goes through a function type that differs from the kernel's wherever a kernel takes a const reference:
// the framework relies on both being one pointer. Clang's check of indirect calls is right to complain, and of no use
// here.
#if defined(__clang__)
#define INFINI_TRAIN_UNCHECKED_CALL_ __attribute__((no_sanitize("function")))
#else
#define INFINI_TRAIN_UNCHECKED_CALL_
#endif

namespace infini_train {

// A kernel without its type. Call believes the caller: the return type is the first template argument, the parameter
// types are those of the arguments as deduced by value, and nothing compares them with the function that was
// registered.
class KernelFunction {
public:
    template <typename FuncT> explicit KernelFunction(FuncT &&func) : func_ptr_(reinterpret_cast<void *>(func)) {}

    template <typename RetT, class... ArgsT> INFINI_TRAIN_UNCHECKED_CALL_ RetT Call(ArgsT... args) const {
        return reinterpret_cast<RetT (*)(ArgsT...)>(func_ptr_)(std::forward<ArgsT>(args)...);
    }

private:
    void *func_ptr_ = nullptr;
};

// All kernels of the process, by device type and name. Filled by static initialisers, only read afterwards.
class Dispatcher {
public:
    using KeyT = std::pair<Device::DeviceType, std::string>;

    static Dispatcher &Instance() {
        static Dispatcher dispatcher;
        return dispatcher;
    }

    bool HasKernel(const KeyT &key) const { return kernels_.count(key) != 0; }

    const KernelFunction &GetKernel(KeyT key) const {
        const auto entry = kernels_.find(key);
        CHECK(entry != kernels_.end()) << "Kernel not found: " << key.second
                                       << " on device: " << static_cast<int>(key.first);
        return entry->second;
    }

    template <typename FuncT> void Register(const KeyT &key, FuncT &&kernel) {
        const bool is_new = kernels_.emplace(key, KernelFunction(std::forward<FuncT>(kernel))).second;
        CHECK(is_new) << "Kernel already registered: " << key.second << " on device: " << static_cast<int>(key.first);
    }

    template <typename RetT, class... ArgsT> RetT Call(KeyT key, ArgsT... args) const {
        return GetKernel(std::move(key)).template Call<RetT, ArgsT...>(std::forward<ArgsT>(args)...);
    }

private:
    std::map<KeyT, KernelFunction> kernels_;
};

} // namespace infini_train

// Registers a function as a kernel when the program starts. For namespace or function scope; complete with its
// semicolon.
#define REGISTER_KERNEL(device, kernel_name, kernel_func)                                                              \
    [[maybe_unused]] static const bool CAT(CAT(infini_train_kernel_, kernel_name), CAT(_registered_, __COUNTER__))     \
        = []() {                                                                                                       \
              infini_train::Dispatcher::Instance().Register({device, #kernel_name}, kernel_func);                      \
              return true;                                                                                             \
          }();
