// What a call of a kernel costs on its different ways, for one element, where nothing but the way costs. Prints a JSON
// object of nanoseconds per call: the least of several rounds, in each of which every way has its turn.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "infini_train/include/core/runtime/device_guard.h"
#include "infini_train/include/datatype.h"
#include "infini_train/include/device.h"
#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"

#include "infini_train_mlu/backend.h"
#include "kernels/library/library.h"
#include "kernels/router.h"

namespace {

using infini_train::DataType;
using infini_train::Device;
using infini_train::Dispatcher;
using infini_train::Tensor;
using TensorPtr = std::shared_ptr<Tensor>;
namespace mlu = infini_train::kernels::mlu;

constexpr int kRounds = 15;

struct Way {
    std::string name;
    int calls; // per round
    std::function<void()> call;
    double least = std::numeric_limits<double>::max();
};

// Something that the compiler cannot leave out.
volatile size_t sink = 0;

} // namespace

int main() {
    infini_train::mlu::RegisterBackend();
    const Device host;
    const Device device(Device::DeviceType::kPrivateUse1, 0);
    const infini_train::core::DeviceGuard guard(device);
    const float value = 1.5F;
    const TensorPtr on_host = std::make_shared<Tensor>(&value, std::vector<int64_t>{1}, DataType::kFLOAT32, host);
    const TensorPtr on_device = std::make_shared<Tensor>(&value, std::vector<int64_t>{1}, DataType::kFLOAT32, device);

    std::vector<Way> ways = {
        {"host_kernel", 4000,
         [&] { Dispatcher::Instance().Call<TensorPtr>({host.type(), "NegForward"}, on_host); }},
        {"copies_in_and_out", 200,
         [&] {
             Tensor copy = on_device->To(host);
             sink = sink + copy.To(device).SizeInBytes();
         }},
        {"fallback", 200, [&] { Dispatcher::Instance().Call<TensorPtr>({device.type(), "NegForward"}, on_device); }},
        {"library_direct", 1000, [&] { mlu::library::Cast(on_device, DataType::kBFLOAT16); }},
        {"library_by_router", 1000, [&] { mlu::router::Cast(on_device, DataType::kBFLOAT16); }},
        {"router_decision", 2000000,
         [&] {
             const bool takes = mlu::DeviceKernelEnabled(mlu::Op::kCast)
                             && mlu::library::TakesCast(on_device, DataType::kBFLOAT16);
             sink = sink + static_cast<size_t>(takes);
         }},
    };
    for (int round = 0; round < kRounds; ++round) {
        for (Way &way : ways) {
            const auto begin = std::chrono::steady_clock::now();
            for (int i = 0; i < way.calls; ++i) {
                way.call();
            }
            const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
            way.least = std::min(way.least, spent.count() / way.calls);
        }
    }
    std::cout << "{";
    const char *separator = "";
    for (const Way &way : ways) {
        std::cout << separator << "\"" << way.name << "\": " << way.least;
        separator = ", ";
    }
    std::cout << "}\n";
    return 0;
}
