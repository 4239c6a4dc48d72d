// Trains a small model with a real InfiniTrain and writes losses and parameters as text, one file per rank. All values
// come from hashes, so every layout of a run starts from the same whole model and its files can be compared.
//   train DEVICE MODEL OPTIMIZER DTYPE LAYOUT THREADS OUT
// MODEL gpt, llama, mlp; OPTIMIZER sgd, adam; DTYPE fp32, or default for autocast with the dtype that the backend
// registered, or bf16; LAYOUT single, ddp, tp, pp. The framework reads the number of processes from the environment.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "glog/logging.h"

#include "infini_train/include/autocast.h"
#include "infini_train/include/core/privateuse1_backend.h"
#include "infini_train/include/core/runtime/device_guard.h"
#include "infini_train/include/device.h"
#include "infini_train/include/nn/modules/activations.h"
#include "infini_train/include/nn/modules/container.h"
#include "infini_train/include/nn/modules/linear.h"
#include "infini_train/include/nn/modules/loss.h"
#include "infini_train/include/nn/modules/transformer/transformer.h"
#include "infini_train/include/nn/parallel/ddp/distributed_data_parallel.h"
#include "infini_train/include/nn/parallel/ddp/distributed_data_parallel_config.h"
#include "infini_train/include/nn/parallel/global.h"
#include "infini_train/include/nn/parallel/parallel_functional.h"
#include "infini_train/include/nn/parallel/pp/pipeline_parallel.h"
#include "infini_train/include/nn/parallel/process_group.h"
#include "infini_train/include/nn/parallel/rank.h"
#include "infini_train/include/nn/parallel/tensor_parallel.h"
#include "infini_train/include/nn/parallel/utils.h"
#include "infini_train/include/optimizer.h"
#include "infini_train/include/tensor.h"
#include TRAIN_BACKEND_HEADER

using namespace infini_train;
namespace par = infini_train::nn::parallel;

namespace {

struct Options {
    std::string device, model, optimizer, dtype, layout;
    int threads;
    std::string out;
} options;

constexpr int64_t kBatch = 4;
constexpr int64_t kTokens = 8;
constexpr int64_t kVocab = 64;
constexpr int64_t kWidth = 32;
constexpr int64_t kLayers = 2;
constexpr int kMicroBatches = 2; // of a pipeline
constexpr int kSteps = 5;

uint64_t Mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// From -1 to 1.
float Unit(uint64_t seed, uint64_t i) {
    return static_cast<float>(Mix(seed ^ Mix(i)) >> 40) / static_cast<float>(1 << 24) * 2.0f - 1.0f;
}

uint64_t Seed(const std::string &name) {
    uint64_t h = 1469598103934665603ULL;
    for (char c : name) { h = (h ^ static_cast<uint8_t>(c)) * 1099511628211ULL; }
    return h;
}

bool Has(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

// The name that a parameter has in the whole model.
std::string WholeName(std::string name, int pp_rank, int pp_size) {
    const std::string h = "transformer.h.";
    if (pp_size > 1 && name.rfind(h, 0) == 0) {
        const int local = std::stoi(name.substr(h.size()));
        name = h + std::to_string(local + pp_rank * static_cast<int>(kLayers / pp_size))
             + name.substr(name.find('.', h.size()));
    }
    return name;
}

void SetParameters(nn::Module &model, int tp_rank, int tp_size, int pp_rank, int pp_size) {
    for (auto &[local_name, tensor] : model.StateDict()) {
        if (!tensor->requires_grad()) {
            continue;
        }
        const auto name = WholeName(local_name, pp_rank, pp_size);
        const auto dims = tensor->Dims();
        const int64_t rows = dims[0], columns = dims.size() > 1 ? dims[1] : 1;
        const bool column_parallel
            = Has(name, "c_attn") || Has(name, "c_fc") || Has(name, "lm_head") || Has(name, "wte");
        const bool row_parallel = Has(name, "c_proj") && dims.size() > 1;
        const int64_t all_columns = row_parallel ? columns * tp_size : columns;
        const bool norm = Has(name, "ln_");
        Tensor host(dims, DataType::kFLOAT32);
        auto *values = static_cast<float *>(host.DataPtr());
        for (int64_t r = 0; r < rows; ++r) {
            int64_t whole_row = r;
            if (column_parallel && tp_size > 1) {
                if (Has(name, "c_attn")) {
                    const int64_t part = rows / 3;
                    whole_row = (r / part) * part * tp_size + tp_rank * part + r % part;
                } else {
                    whole_row = r + tp_rank * rows;
                }
            }
            for (int64_t c = 0; c < columns; ++c) {
                const int64_t whole_column = row_parallel ? c + tp_rank * columns : c;
                const float u = Unit(Seed(name), whole_row * all_columns + whole_column);
                values[r * columns + c] = norm && Has(name, "weight") ? 1.0f + 0.1f * u : 0.2f * u;
            }
        }
        tensor->CopyFrom(host);
    }
}

std::shared_ptr<nn::Module> MakeModel() {
    if (options.model == "mlp") {
        return std::make_shared<nn::Sequential>(std::vector<std::shared_ptr<nn::Module>>{
            std::make_shared<nn::Linear>(784, 30), std::make_shared<nn::Sigmoid>(),
            std::make_shared<nn::Linear>(30, 10)});
    }
    nn::TransformerConfig config;
    config.block_size = 16;
    config.vocab_size = config.original_vocab_size = kVocab;
    config.n_layer = kLayers;
    config.n_head = config.n_kv_head = 4;
    config.n_embd = kWidth;
    config.tie_weights = false;
    if (options.model == "llama") {
        config.n_kv_head = 2;
        config.attention_type = nn::AttentionType::kRoPE;
        config.activation_type = nn::MLPType::kSwiGLU;
        config.norm_type = nn::NormType::kRMSNorm;
        config.add_bias_linear = false;
    }
    return std::make_shared<nn::TransformerModel>(config);
}

// Rows [first, first + rows) of the batch of a step, and what is to be predicted.
std::pair<std::shared_ptr<Tensor>, std::shared_ptr<Tensor>> Data(int step, int64_t first, int64_t rows, Device device) {
    std::shared_ptr<Tensor> x, y;
    if (options.model == "mlp") {
        x = std::make_shared<Tensor>(std::vector<int64_t>{rows, 784}, DataType::kFLOAT32);
        y = std::make_shared<Tensor>(std::vector<int64_t>{rows}, DataType::kUINT8);
        for (int64_t i = 0; i < rows; ++i) {
            for (int64_t j = 0; j < 784; ++j) {
                static_cast<float *>(x->DataPtr())[i * 784 + j] = 0.5f + 0.5f * Unit(step + 100, (first + i) * 784 + j);
            }
            static_cast<uint8_t *>(y->DataPtr())[i] = Mix(step * 977 + first + i) % 10;
        }
    } else {
        x = std::make_shared<Tensor>(std::vector<int64_t>{rows, kTokens}, DataType::kINT64);
        y = std::make_shared<Tensor>(std::vector<int64_t>{rows, kTokens}, DataType::kINT64);
        for (int64_t i = 0; i < rows * kTokens; ++i) {
            const auto at = [&](int64_t p) { return static_cast<int64_t>(Mix(step * 7919 + p) % kVocab); };
            static_cast<int64_t *>(x->DataPtr())[i] = at(first * kTokens + i);
            static_cast<int64_t *>(y->DataPtr())[i] = at(first * kTokens + i + 1);
        }
    }
    return {std::make_shared<Tensor>(x->To(device)), std::make_shared<Tensor>(y->To(device))};
}

// One way in which ranks share the work: how many do, which of them this is, and the group they talk in.
struct Axis {
    int size = 1;
    int rank = 0;
    const par::ProcessGroup *group = nullptr;
};

Axis Join(Device::DeviceType type, int size, const std::string &name, const std::vector<int> &members,
          int global_rank) {
    if (size == 1) {
        return {};
    }
    const auto *group = par::ProcessGroupFactory::Instance(type)->GetOrCreate(name, members);
    return {size, group->GetGroupRank(global_rank), group};
}

DataType AutocastDtype(Device::DeviceType type) {
    if (options.dtype == "default") {
        return type == Device::DeviceType::kPrivateUse1 ? core::GetPrivateUse1BackendDefaultAutocastDtype()
                                                        : DataType::kBFLOAT16;
    }
    return options.dtype == "bf16" ? DataType::kBFLOAT16 : DataType::kFLOAT32;
}

float ReadScalar(const std::shared_ptr<Tensor> &tensor) {
    const Tensor host = tensor->To(Device());
    return *static_cast<const float *>(host.DataPtr());
}

void WriteNumber(std::ostream &out, float value) {
    char text[32];
    std::snprintf(text, sizeof(text), " %.9g", value);
    out << text;
}

void WriteParameters(std::ostream &out, const nn::Module &model, const Axis &pp) {
    for (const auto &[local_name, tensor] : model.StateDict()) {
        if (!tensor->requires_grad()) {
            continue;
        }
        out << "param " << WholeName(local_name, pp.rank, pp.size);
        const Tensor host = tensor->To(Device());
        const auto *values = static_cast<const float *>(host.DataPtr());
        for (size_t i = 0; i < host.NumElements(); ++i) { WriteNumber(out, values[i]); }
        out << "\n";
    }
}

// Initial values are drawn from one generator of the process, which is not locked.
std::mutex building;

void Train(par::Rank rank) {
    const int global_rank = rank.GlobalRank();
    par::global::thread_global_rank = global_rank;
    const auto type = Device::ParseType(options.device).value();
    const Device device(type, type == Device::DeviceType::kCPU ? 0 : rank.thread_rank());

    const Axis dp = Join(type, par::global::GetDataParallelSize(), par::GetDataParallelProcessGroupName(global_rank),
                         par::GetDataParallelGroupRanks(global_rank), global_rank);
    const Axis tp
        = Join(type, par::global::GetTensorParallelSize(), par::GetTensorParallelProcessGroupName(global_rank),
               par::GetTensorParallelGroupRanks(global_rank), global_rank);
    const Axis pp
        = Join(type, par::global::GetPipelineParallelSize(), par::GetPipelineParallelProcessGroupName(global_rank),
               par::GetPipelineParallelGroupRanks(global_rank), global_rank);
    par::tp_rank = tp.rank;
    par::pp_rank = pp.rank;

    std::shared_ptr<nn::Module> whole;
    {
        const std::lock_guard lock(building);
        whole = MakeModel();
    }
    SetParameters(*whole, tp.rank, tp.size, pp.rank, pp.size);
    whole->To(device);
    const auto parameters = whole->Parameters();
    auto model = whole;
    if (pp.size > 1) {
        const std::vector<std::vector<int64_t>> shapes{{kBatch / kMicroBatches, kTokens, kWidth}};
        model = std::make_shared<par::PipelineParallel>(whole, pp.size, kMicroBatches, shapes, pp.rank, device, 1);
    } else if (dp.size > 1) {
        model = std::make_shared<par::DistributedDataParallel>(whole, rank, par::DistributedDataParallelConfig{});
    }
    const auto create = options.optimizer == "adam" ? optimizers::Adam::Create(1e-3f) : optimizers::SGD::Create(0.1f);
    const auto optimizer = create(parameters);
    std::shared_ptr<nn::Module> loss_function = std::make_shared<nn::CrossEntropyLoss>();
    if (tp.size > 1) {
        loss_function = std::make_shared<par::VocabParallelCrossEntropyLoss>(kVocab);
    }

    const DataType dtype = AutocastDtype(type);
    std::ofstream out(options.out + "." + std::to_string(global_rank));
    for (int step = 0; step < kSteps; ++step) {
        const int64_t rows = kBatch / dp.size;
        const auto [x, y] = Data(step, dp.rank * rows, rows, device);
        float value = 0.0f;
        if (pp.size > 1) {
            value = model->TrainStep({x}, {y}, optimizer, loss_function, dtype);
        } else {
            optimizer->ZeroGrad();
            std::shared_ptr<Tensor> loss;
            {
                const AutocastGuard guard(type, dtype);
                loss = (*loss_function)({(*model)({x, y})[0], y})[0];
            }
            value = ReadScalar(loss);
            loss->Backward();
            optimizer->Step();
        }
        if (dp.size > 1) {
            const auto mean = std::make_shared<Tensor>(&value, std::vector<int64_t>{}, DataType::kFLOAT32, device);
            par::function::AllReduce(mean, par::function::ReduceOpType::kAvg, dp.group);
            value = ReadScalar(mean);
        }
        out << "loss " << step;
        WriteNumber(out, value);
        out << "\n";
    }
    core::GetDeviceGuardImpl(type)->SynchronizeDevice(device);
    WriteParameters(out, *whole, pp);
    out << "done " << device << "\n";
}

} // namespace

int main(int argc, char **argv) {
    google::InitGoogleLogging(argv[0]);
    FLAGS_logtostderr = true;
    FLAGS_minloglevel = 1;
    CHECK_EQ(argc, 8) << "DEVICE MODEL OPTIMIZER DTYPE LAYOUT THREADS OUT";
    options = {argv[1], argv[2], argv[3], argv[4], argv[5], std::atoi(argv[6]), argv[7]};
    TRAIN_BACKEND_REGISTRAR();
    par::global::InitAllEnv(options.threads, options.layout == "tp" ? 2 : 1, false, options.layout == "pp" ? 2 : 1, 1);
    std::vector<std::thread> threads;
    for (int i = 0; i < options.threads; ++i) {
        threads.emplace_back([i] {
            Train(par::Rank(par::global::GetGlobalProcRank(), i, par::global::GetNprocPerNode(), options.threads));
        });
    }
    for (auto &thread : threads) { thread.join(); }
    return 0;
}
