// What the router and the host fallback cost. Prints one JSON object. The device is simulated: times of copies are
// those of the simulator, so only the parts that run on the host (decision, conversion, CPU kernel) say something about
// a chip.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

#include "infini_train/include/core/runtime/device_guard.h"
#include "infini_train/include/datatype.h"
#include "infini_train/include/device.h"
#include "infini_train/include/dispatcher.h"
#include "infini_train/include/scalar.h"
#include "infini_train/include/tensor.h"

#include BENCH_BACKEND_HEADER
#include BENCH_FALLBACK_HEADER
#include "kernels/router.h"

namespace {

using namespace infini_train;
using TensorPtr = std::shared_ptr<Tensor>;
namespace generated = infini_train::kernels::BENCH_VENDOR;

// Median over rounds of the nanoseconds that one of `calls` calls takes.
double NanosecondsPerCall(int64_t calls, const std::function<void(int64_t)> &work) {
    constexpr int kRounds = 7;
    std::vector<double> rounds;
    work(calls / 10 + 1);
    for (int round = 0; round < kRounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        work(calls);
        const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
        rounds.push_back(elapsed.count() / static_cast<double>(calls));
    }
    std::sort(rounds.begin(), rounds.end());
    return rounds[kRounds / 2];
}

// The loop and the loads of the op's number without a decision, to be taken off.
double LoopNanoseconds(int64_t calls) {
    return NanosecondsPerCall(calls, [](int64_t count) {
        volatile uint16_t op = static_cast<uint16_t>(generated::Op::kCast);
        volatile bool sink = false;
        for (int64_t call = 0; call < count; ++call) { sink = op != 0; }
        static_cast<void>(sink);
    });
}

double DecisionNanoseconds(int64_t calls) {
    return NanosecondsPerCall(calls, [](int64_t count) {
        volatile uint16_t op = static_cast<uint16_t>(generated::Op::kCast);
        volatile bool sink = false;
        for (int64_t call = 0; call < count; ++call) {
            sink = generated::DeviceKernelEnabled(static_cast<generated::Op>(op));
        }
        static_cast<void>(sink);
    });
}

// The cheapest kernel there is, through the dispatcher: what a decision is to be compared with.
double ViewNanoseconds(const TensorPtr &tensor) {
    const std::vector<int64_t> dims{static_cast<int64_t>(tensor->NumElements())};
    return NanosecondsPerCall(20000, [&](int64_t count) {
        for (int64_t call = 0; call < count; ++call) {
            Dispatcher::Instance().Call<TensorPtr>({tensor->GetDevice().type(), "NoOpForward"}, tensor, dims);
        }
    });
}

TensorPtr Filled(int64_t elements, DataType dtype, const Device &device) {
    auto tensor = std::make_shared<Tensor>(std::vector<int64_t>{elements}, dtype, device);
    tensor->Fill(Scalar(1.5));
    return tensor;
}

double AddNanoseconds(const TensorPtr &a, const TensorPtr &b, int64_t calls) {
    return NanosecondsPerCall(calls, [&](int64_t count) {
        for (int64_t call = 0; call < count; ++call) {
            Dispatcher::Instance().Call<TensorPtr>({a->GetDevice().type(), "AddForward"}, a, b);
        }
    });
}

} // namespace

int main() {
    infini_train::BENCH_VENDOR::RegisterBackend();
    infini_train::BENCH_VENDOR::SetFallbackMode(infini_train::BENCH_VENDOR::FallbackMode::kSilent);
    const Device device(Device::DeviceType::kPrivateUse1, 0);
    const core::DeviceGuard guard(device);

    constexpr int64_t kDecisions = 20'000'000;
    const double decision = DecisionNanoseconds(kDecisions) - LoopNanoseconds(kDecisions);
    std::printf("{\"router_decision_ns\": %.3f, \"cheapest_kernel_ns\": %.1f, \"fallback\": [",
                decision < 0 ? 0.0 : decision, ViewNanoseconds(Filled(64, DataType::kFLOAT32, device)));
    const char *separator = "";
    for (const int64_t elements : {int64_t{256}, int64_t{16384}, int64_t{1048576}}) {
        const int64_t calls = elements > 100000 ? 3 : 200;
        const double cpu = AddNanoseconds(Filled(elements, DataType::kFLOAT32, Device()),
                                          Filled(elements, DataType::kFLOAT32, Device()), calls);
        for (const DataType dtype : {DataType::kFLOAT32, DataType::kBFLOAT16}) {
            const double fallback
                = AddNanoseconds(Filled(elements, dtype, device), Filled(elements, dtype, device), calls);
            std::printf(
                "%s\n  {\"kernel\": \"AddForward\", \"dtype\": \"%s\", \"elements\": %lld, \"cpu_kernel_us\": %.1f, "
                "\"fallback_us\": %.1f}",
                separator, kDataTypeToDesc.at(dtype).c_str(), static_cast<long long>(elements), cpu / 1e3,
                fallback / 1e3);
            separator = ",";
        }
    }
    std::printf("\n]}\n");
    return 0;
}
