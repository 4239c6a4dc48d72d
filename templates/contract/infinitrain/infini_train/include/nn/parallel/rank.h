#pragma once

namespace infini_train::nn::parallel {

// Where a thread stands among all threads that train together.
class Rank {
public:
    Rank(int process_rank, int thread_rank, int process_size, int thread_size);

    int process_rank() const;
    int thread_rank() const;
    int process_size() const;
    int thread_size() const;

    // Threads of earlier processes first.
    int GlobalRank() const;

    bool IsParallel() const;

    bool IsMainRank() const;

    bool IsLastRank() const;

private:
    const int process_rank_ = 0;
    const int thread_rank_ = 0;
    const int process_size_ = 1;
    const int thread_size_ = 1;
};

} // namespace infini_train::nn::parallel
