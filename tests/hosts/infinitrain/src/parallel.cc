#include <charconv>
#include <cstdlib>
#include <string_view>

#include "glog/logging.h"

#include "infini_train/include/nn/parallel/global.h"
#include "infini_train/include/nn/parallel/rank.h"

namespace infini_train::nn::parallel {

Rank::Rank(int process_rank, int thread_rank, int process_size, int thread_size)
    : process_rank_(process_rank), thread_rank_(thread_rank), process_size_(process_size), thread_size_(thread_size) {}

int Rank::process_rank() const { return process_rank_; }

int Rank::thread_rank() const { return thread_rank_; }

int Rank::process_size() const { return process_size_; }

int Rank::thread_size() const { return thread_size_; }

int Rank::GlobalRank() const { return process_rank_ * thread_size_ + thread_rank_; }

bool Rank::IsParallel() const { return process_size_ * thread_size_ > 1; }

bool Rank::IsMainRank() const { return GlobalRank() == 0; }

bool Rank::IsLastRank() const { return GlobalRank() + 1 == global::GetWorldSize(); }

namespace global {
namespace {

int FromEnvironment(const char *name, int fallback) {
    const char *text = std::getenv(name);
    if (text == nullptr) {
        return fallback;
    }
    const std::string_view view(text);
    int value = 0;
    const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
    CHECK(error == std::errc() && end == view.data() + view.size()) << name << " is not a number: " << text;
    return value;
}

} // namespace

thread_local int thread_global_rank = 0;

GlobalEnv &GlobalEnv::Instance() {
    static GlobalEnv env;
    return env;
}

void GlobalEnv::Init(int threads_per_process, int tensor_parallel_size, bool, int pipeline_parallel_size, int) {
    CHECK(!initialized_) << "Repeated initialization of GlobalEnv!";
    CHECK_GE(threads_per_process, 1);
    CHECK_GE(tensor_parallel_size, 1);
    CHECK_GE(pipeline_parallel_size, 1);
    nthread_per_process_ = threads_per_process;
    nnodes_ = FromEnvironment("NNODES", 1);
    nproc_per_node_ = FromEnvironment("NPROC_PER_NODE", 1);
    // PROC_WORLD_SIZE counts processes, the world counts threads.
    world_size_ = FromEnvironment("PROC_WORLD_SIZE", 1) * threads_per_process;
    global_proc_rank_ = FromEnvironment("GLOBAL_PROC_RANK", 0);
    local_proc_rank_ = FromEnvironment("LOCAL_PROC_RANK", 0);
    initialized_ = true;
}

int GlobalEnv::nnodes() const { return nnodes_; }

int GlobalEnv::nproc_per_node() const { return nproc_per_node_; }

int GlobalEnv::world_size() const { return world_size_; }

int GlobalEnv::global_proc_rank() const { return global_proc_rank_; }

int GlobalEnv::local_proc_rank() const { return local_proc_rank_; }

int GlobalEnv::nthread_per_process() const { return nthread_per_process_; }

int GetWorldSize() { return GlobalEnv::Instance().world_size(); }

int GetNprocPerNode() { return GlobalEnv::Instance().nproc_per_node(); }

int GetNthreadPerProc() { return GlobalEnv::Instance().nthread_per_process(); }

int GetGlobalProcRank() { return GlobalEnv::Instance().global_proc_rank(); }

int GetLocalProcRank() { return GlobalEnv::Instance().local_proc_rank(); }

} // namespace global
} // namespace infini_train::nn::parallel
