// Trains a small MLP for a few steps on the device of a generated backend, through the dispatcher's kernels alone, and
// holds it against the same training on the CPU; then sums a tensor over two devices. Prints one JSON object per line
// for the script that runs it. Exit code 0: everything held.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "glog/logging.h"

#include "infini_train/include/core/ccl/ccl.h"
#include "infini_train/include/core/runtime/device_guard.h"
#include "infini_train/include/datatype.h"
#include "infini_train/include/device.h"
#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"

#include DEMO_BACKEND_HEADER

namespace {
using infini_train::DataType;
using infini_train::Device;
using infini_train::Dispatcher;
using infini_train::Tensor;
using TensorPtr = std::shared_ptr<Tensor>;

constexpr int64_t kBatch = 32;
constexpr int64_t kIn = 16;
constexpr int64_t kHidden = 24;
constexpr int64_t kClasses = 4;
constexpr int kSteps = 5;
constexpr float kLearningRate = 0.5f;

// A fixed pseudo random sequence in [-1, 1): the same weights and data wherever this runs.
class Sequence {
public:
    explicit Sequence(uint32_t seed) : state_(seed) {}

    float Next() {
        state_ = state_ * 1664525u + 1013904223u;
        return static_cast<float>(state_ >> 8) / 8388608.0f - 1.0f;
    }

private:
    uint32_t state_;
};

TensorPtr RandomTensor(const std::vector<int64_t> &dims, float scale, uint32_t seed, Device device) {
    Sequence sequence(seed);
    int64_t count = 1;
    for (const int64_t dim : dims) { count *= dim; }
    std::vector<float> values(static_cast<size_t>(count));
    for (float &value : values) { value = scale * sequence.Next(); }
    return std::make_shared<Tensor>(values.data(), dims, DataType::kFLOAT32, device);
}

TensorPtr Targets(Device device) {
    auto targets = std::make_shared<Tensor>(std::vector<int64_t>{kBatch}, DataType::kINT64, Device());
    auto *values = static_cast<int64_t *>(targets->DataPtr());
    for (int64_t i = 0; i < kBatch; ++i) { values[i] = (i * 7 + 3) % kClasses; }
    return std::make_shared<Tensor>(targets->To(device));
}

template <typename Result, typename... Arguments>
Result Call(Device device, const char *kernel, Arguments... arguments) {
    return Dispatcher::Instance().Call<Result>({device.type(), kernel}, std::move(arguments)...);
}

float ScalarOnHost(const TensorPtr &tensor) {
    Tensor host = Call<TensorPtr>(tensor->GetDevice(), "Cast", tensor, DataType::kFLOAT32)->To(Device());
    return *static_cast<const float *>(host.DataPtr());
}

// Casts when there is something to cast, as autocast does for the Linear layers.
TensorPtr As(const TensorPtr &tensor, DataType dtype) {
    return tensor->Dtype() == dtype ? tensor : Call<TensorPtr>(tensor->GetDevice(), "Cast", tensor, dtype);
}

struct Mlp {
    TensorPtr w1;
    TensorPtr b1;
    TensorPtr w2;
    TensorPtr b2;

    explicit Mlp(Device device)
        : w1(RandomTensor({kHidden, kIn}, 0.25f, 1, device)), b1(RandomTensor({kHidden}, 0.25f, 2, device)),
          w2(RandomTensor({kClasses, kHidden}, 0.2f, 3, device)), b2(RandomTensor({kClasses}, 0.2f, 4, device)) {}
};

// One step of SGD. `compute` is the dtype of the Linear layers; parameters and loss stay in float32.
float Step(const Mlp &net, const TensorPtr &input, const TensorPtr &targets, DataType compute) {
    const Device device = input->GetDevice();
    const auto x = As(input, compute);
    const auto w1 = As(net.w1, compute);
    const auto w2 = As(net.w2, compute);
    const auto b1 = As(net.b1, compute);
    const auto b2 = As(net.b2, compute);

    const auto z1 = Call<TensorPtr>(device, "LinearForward", x, w1, true, b1);
    const auto a1 = Call<TensorPtr>(device, "SigmoidForward", z1);
    const auto z2 = Call<TensorPtr>(device, "LinearForward", a1, w2, true, b2);
    const auto logits = As(z2, DataType::kFLOAT32);
    const auto loss = Call<TensorPtr>(device, "CrossEntropyForward", logits, targets);

    const auto one = std::make_shared<Tensor>(loss->Dims(), DataType::kFLOAT32, device);
    Call<void>(device, "Fill", one, infini_train::Scalar(1.0));
    const auto grad_logits = Call<TensorPtr>(device, "CrossEntropyBackward", logits, targets, one);
    const auto grad_z2 = As(grad_logits, z2->Dtype());
    const auto grad_w2 = Call<TensorPtr>(device, "LinearBackwardWeight", a1, grad_z2, true, kHidden, kClasses);
    const auto grad_b2 = Call<TensorPtr>(device, "LinearBackwardBias", grad_z2, kClasses);
    const auto grad_a1
        = Call<TensorPtr>(device, "LinearBackwardInput", w2, grad_z2, true, kHidden, kClasses, a1->Dims());
    const auto grad_z1 = Call<TensorPtr>(device, "SigmoidBackward", a1, As(grad_a1, a1->Dtype()));
    const auto grad_w1 = Call<TensorPtr>(device, "LinearBackwardWeight", x, grad_z1, true, kIn, kHidden);
    const auto grad_b1 = Call<TensorPtr>(device, "LinearBackwardBias", grad_z1, kHidden);

    const std::pair<TensorPtr, TensorPtr> updates[]
        = {{grad_w1, net.w1}, {grad_b1, net.b1}, {grad_w2, net.w2}, {grad_b2, net.b2}};
    for (const auto &[gradient, parameter] : updates) {
        Call<void>(device, "AccumulateGrad", As(gradient, DataType::kFLOAT32), -kLearningRate, parameter);
    }
    return ScalarOnHost(loss);
}

std::vector<float> Train(Device device, DataType compute) {
    const infini_train::core::DeviceGuard guard(device);
    const Mlp net(device);
    const auto input = RandomTensor({kBatch, kIn}, 1.0f, 5, device);
    const auto targets = Targets(device);
    std::vector<float> losses;
    for (int step = 0; step < kSteps; ++step) { losses.push_back(Step(net, input, targets, compute)); }
    return losses;
}

void PrintLosses(const std::string &name, const std::vector<float> &losses) {
    std::cout << "{\"train\": \"" << name << "\", \"loss\": [";
    for (size_t i = 0; i < losses.size(); ++i) { std::cout << (i == 0 ? "" : ", ") << losses[i]; }
    std::cout << "]}\n";
}

float LargestDifference(const std::vector<float> &a, const std::vector<float> &b) {
    float largest = 0.0f;
    for (size_t i = 0; i < a.size(); ++i) { largest = std::max(largest, std::fabs(a[i] - b[i])); }
    return largest;
}

// Each device contributes rank + 1; every element of the sum must be 1 + 2 + ... + devices.
bool AllReduceHolds(Device::DeviceType type, int devices) {
    constexpr int64_t kCount = 100000;
    const auto *ccl = infini_train::core::GetCclImpl(type);
    auto *runtime = infini_train::core::GetDeviceGuardImpl(type);
    std::vector<infini_train::core::CclComm *> comms(static_cast<size_t>(devices));
    std::vector<int> ranks(static_cast<size_t>(devices));
    for (int rank = 0; rank < devices; ++rank) { ranks[static_cast<size_t>(rank)] = rank; }
    ccl->CommInitAll(comms.data(), devices, ranks.data());

    std::vector<uint8_t> right(static_cast<size_t>(devices), 0);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < devices; ++rank) {
        threads.emplace_back([&, rank] {
            const Device device(type, static_cast<int8_t>(rank));
            const infini_train::core::DeviceGuard guard(device);
            const auto tensor = std::make_shared<Tensor>(std::vector<int64_t>{kCount}, DataType::kFLOAT32, device);
            Call<void>(device, "Fill", tensor, infini_train::Scalar(static_cast<double>(rank + 1)));
            ccl->AllReduce(tensor->DataPtr(), tensor->DataPtr(), static_cast<size_t>(kCount), DataType::kFLOAT32,
                           infini_train::nn::parallel::function::ReduceOpType::kSum, comms[static_cast<size_t>(rank)],
                           runtime->GetStream(device));
            const Tensor host = tensor->To(Device());
            const auto *values = static_cast<const float *>(host.DataPtr());
            const float expected = static_cast<float>(devices * (devices + 1) / 2);
            right[static_cast<size_t>(rank)]
                = std::all_of(values, values + kCount, [expected](float value) { return value == expected; }) ? 1 : 0;
        });
    }
    for (std::thread &thread : threads) { thread.join(); }
    for (infini_train::core::CclComm *comm : comms) {
        ccl->CommDestroy(comm);
        delete comm;
    }
    return std::all_of(right.begin(), right.end(), [](uint8_t ok) { return ok == 1; });
}
} // namespace

int main(int, char **argv) {
    google::InitGoogleLogging(argv[0]);
    FLAGS_logtostderr = true;
    FLAGS_minloglevel = google::GLOG_ERROR;

    DEMO_BACKEND_REGISTRAR();
    const auto type = Device::ParseType(DEMO_BACKEND_NAME);
    CHECK(type.has_value()) << DEMO_BACKEND_NAME << " is not registered";
    const Device device(*type, 0);
    const int devices = infini_train::core::GetDeviceGuardImpl(*type)->DeviceCount();
    std::cout << "{\"device\": \"" << device.ToString() << "\", \"count\": " << devices << "}\n";

    const auto cpu = Train(Device(), DataType::kFLOAT32);
    const auto fp32 = Train(device, DataType::kFLOAT32);
    const auto bf16 = Train(device, DataType::kBFLOAT16);
    PrintLosses("cpu fp32", cpu);
    PrintLosses("device fp32", fp32);
    PrintLosses("device bf16", bf16);
    const float fp32_difference = LargestDifference(cpu, fp32);
    const float bf16_difference = LargestDifference(cpu, bf16);
    const bool learned = fp32.back() < fp32.front() && bf16.back() < bf16.front();
    const bool reduced = devices >= 2 && AllReduceHolds(*type, 2);
    std::cout << "{\"fp32_difference\": " << fp32_difference << ", \"bf16_difference\": " << bf16_difference
              << ", \"learned\": " << (learned ? "true" : "false")
              << ", \"all_reduce\": " << (reduced ? "true" : "false") << "}\n";
    // The fallback runs the CPU's own kernels in fp32, so nothing may differ; bf16 keeps 8 bits of the mantissa.
    return fp32_difference == 0.0f && bf16_difference < 2e-2f && learned && reduced ? 0 : 1;
}
