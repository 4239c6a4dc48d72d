#pragma once

namespace infini_train::nn::parallel::global {

// The rank of the calling thread; set by the program that starts the threads.
extern thread_local int thread_global_rank;

// Layout of the processes, read once from the environment that the launcher sets (NNODES, NPROC_PER_NODE,
// PROC_WORLD_SIZE, GLOBAL_PROC_RANK, LOCAL_PROC_RANK).
class GlobalEnv {
public:
    static GlobalEnv &Instance();

    // Once per process; a second call is FATAL.
    void Init(int threads_per_process, int tensor_parallel_size, bool sequence_parallel_enabled,
              int pipeline_parallel_size, int virtual_pipeline_parallel_size);

    int nnodes() const;
    int nproc_per_node() const;
    int world_size() const;
    int global_proc_rank() const;
    int local_proc_rank() const;
    int nthread_per_process() const;

    GlobalEnv(const GlobalEnv &) = delete;
    GlobalEnv &operator=(const GlobalEnv &) = delete;

private:
    GlobalEnv() = default;
    ~GlobalEnv() = default;

    bool initialized_ = false;
    int nnodes_ = 1;
    int nproc_per_node_ = 1;
    int nthread_per_process_ = 1;
    int world_size_ = 1;
    int global_proc_rank_ = 0;
    int local_proc_rank_ = 0;
};

int GetWorldSize();
int GetNprocPerNode();
int GetNthreadPerProc();
int GetGlobalProcRank();
int GetLocalProcRank();

} // namespace infini_train::nn::parallel::global
