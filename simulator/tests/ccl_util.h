// Helpers of the collective tests.
#pragma once

#include <functional>

#include "test_util.h"

namespace fl::sim {

// Runs `body(rank)` on one thread per rank, each on the rank's device.
inline void OnRanks(int nranks, const std::function<void(int)> &body) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < nranks; ++rank) {
        threads.emplace_back([rank, &body] {
            EXPECT_OK(SetDevice(rank));
            body(rank);
        });
    }
    for (std::thread &thread : threads) { thread.join(); }
}

// All ranks of one process.
class World {
public:
    explicit World(int nranks) : comms(static_cast<std::size_t>(nranks)) {
        EXPECT_OK(CclInitAll(comms.data(), nranks, nullptr));
    }
    ~World() {
        for (const Handle comm : comms) { EXPECT_OK(CclDestroy(comm)); }
    }
    World(const World &) = delete;
    World &operator=(const World &) = delete;
    Handle operator[](int rank) const { return comms[static_cast<std::size_t>(rank)]; }

    std::vector<Handle> comms;
};

inline Result AsyncError(Handle comm) {
    Result error = Result::kInternal;
    EXPECT_OK(CclAsyncError(comm, &error));
    return error;
}

} // namespace fl::sim
