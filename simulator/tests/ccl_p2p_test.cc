// Point-to-point messages between threads.
#include <numeric>

#include "ccl_util.h"

namespace fl::sim {
namespace {

class P2pTest : public EngineTest {};

TEST_F(P2pTest, UngroupedBothWays) {
    const World world(2);
    const std::size_t count = 100003; // several chunks
    OnRanks(2, [&](int rank) {
        std::vector<int> numbers(count);
        std::iota(numbers.begin(), numbers.end(), 1000 * rank);
        const Buffer<int> send(numbers);
        const Buffer<int> recv(count);
        if (rank == 0) {
            EXPECT_OK(CclSend(send.get(), count, DType::kInt32, 1, world[0], nullptr));
            EXPECT_OK(CclRecv(recv.get(), count, DType::kInt32, 1, world[0], nullptr));
        } else {
            EXPECT_OK(CclRecv(recv.get(), count, DType::kInt32, 0, world[1], nullptr));
            EXPECT_OK(CclSend(send.get(), count, DType::kInt32, 0, world[1], nullptr));
        }
        std::vector<int> expected(count);
        std::iota(expected.begin(), expected.end(), 1000 * (1 - rank));
        EXPECT_EQ(recv.Read(), expected);
    });
}

TEST_F(P2pTest, ManyMessagesKeepTheirOrder) {
    const World world(2);
    OnRanks(2, [&](int rank) {
        std::vector<std::unique_ptr<Buffer<int>>> buffers;
        for (int i = 0; i < 50; ++i) {
            buffers.push_back(
                std::make_unique<Buffer<int>>(std::vector<int>(static_cast<std::size_t>(i + 1), i * (1 - rank))));
            int *const data = buffers.back()->get();
            const auto count = static_cast<std::size_t>(i + 1);
            EXPECT_OK(rank == 0 ? CclSend(data, count, DType::kInt32, 1, world[0], nullptr)
                                : CclRecv(data, count, DType::kInt32, 0, world[1], nullptr));
        }
        for (int i = 0; i < 50; ++i) {
            EXPECT_EQ(buffers[static_cast<std::size_t>(i)]->Read(),
                      std::vector<int>(static_cast<std::size_t>(i + 1), i));
        }
    });
}

// Everybody sends first: without the fusing of a group's messages this would never end.
TEST_F(P2pTest, RingInAGroup) {
    const int nranks = 4;
    const World world(nranks);
    const std::size_t count = 200001;
    OnRanks(nranks, [&](int rank) {
        const Buffer<int> send(std::vector<int>(count, rank));
        const Buffer<int> recv(count);
        EXPECT_OK(CclGroupStart());
        EXPECT_OK(CclSend(send.get(), count, DType::kInt32, (rank + 1) % nranks, world[rank], nullptr));
        EXPECT_OK(CclRecv(recv.get(), count, DType::kInt32, (rank + nranks - 1) % nranks, world[rank], nullptr));
        EXPECT_OK(CclGroupEnd());
        EXPECT_EQ(recv.Read(), std::vector<int>(count, (rank + nranks - 1) % nranks));
    });
}

// Scatter as a framework does it: one thread, all ranks, the root sends to itself too, on the same stream.
TEST_F(P2pTest, ScatterWithSelfSendFromOneThread) {
    const int nranks = 3;
    const World world(nranks);
    const int root = 1;
    ASSERT_OK(SetDevice(root));
    const Buffer<int> source(std::vector<int>{10, 11, 20, 21, 30, 31});
    std::vector<std::unique_ptr<Buffer<int>>> parts;
    for (int rank = 0; rank < nranks; ++rank) {
        ASSERT_OK(SetDevice(rank));
        parts.push_back(std::make_unique<Buffer<int>>(2));
    }
    ASSERT_OK(SetDevice(0));
    ASSERT_OK(CclGroupStart());
    for (int rank = 0; rank < nranks; ++rank) {
        ASSERT_OK(CclSend(source.get() + 2 * rank, 2, DType::kInt32, rank, world[root], nullptr));
        ASSERT_OK(CclRecv(parts[static_cast<std::size_t>(rank)]->get(), 2, DType::kInt32, root, world[rank], nullptr));
    }
    ASSERT_OK(CclGroupEnd());
    for (int rank = 0; rank < nranks; ++rank) {
        EXPECT_EQ(parts[static_cast<std::size_t>(rank)]->Read(),
                  (std::vector<int>{10 * (rank + 1), 10 * (rank + 1) + 1}));
    }
}

// Two communicators whose messages are fused on one stream.
TEST_F(P2pTest, GroupOverTwoCommunicators) {
    const World first(2);
    const World second(2);
    OnRanks(2, [&](int rank) {
        const Buffer<int> send(std::vector<int>{rank});
        const Buffer<int> recv(2);
        EXPECT_OK(CclGroupStart());
        // The two ranks name the communicators in opposite order.
        for (const int step : {rank, 1 - rank}) {
            const World &world = step == 0 ? first : second;
            EXPECT_OK(CclSend(send.get(), 1, DType::kInt32, 1 - rank, world[rank], nullptr));
            EXPECT_OK(CclRecv(recv.get() + step, 1, DType::kInt32, 1 - rank, world[rank], nullptr));
        }
        EXPECT_OK(CclGroupEnd());
        EXPECT_EQ(recv.Read(), std::vector<int>(2, 1 - rank));
    });
}

TEST_F(P2pTest, GroupWithMessagesAndCollectives) {
    const World world(2);
    OnRanks(2, [&](int rank) {
        const Buffer<int> send(std::vector<int>{rank});
        const Buffer<int> recv(1);
        const Buffer<int> sum(std::vector<int>{rank + 1});
        EXPECT_OK(CclGroupStart());
        EXPECT_OK(CclRecv(recv.get(), 1, DType::kInt32, 1 - rank, world[rank], nullptr));
        EXPECT_OK(CclAllReduce(sum.get(), sum.get(), 1, DType::kInt32, ReduceOp::kSum, world[rank], nullptr));
        EXPECT_OK(CclSend(send.get(), 1, DType::kInt32, 1 - rank, world[rank], nullptr));
        EXPECT_OK(CclGroupEnd());
        EXPECT_EQ(recv.Read()[0], 1 - rank);
        EXPECT_EQ(sum.Read()[0], 3);
    });
}

TEST_F(P2pTest, ZeroCount) {
    const World world(2);
    OnRanks(2, [&](int rank) {
        EXPECT_OK(rank == 0 ? CclSend(nullptr, 0, DType::kInt32, 1, world[0], nullptr)
                            : CclRecv(nullptr, 0, DType::kInt32, 0, world[1], nullptr));
        EXPECT_OK(StreamSynchronize(nullptr));
        EXPECT_EQ(AsyncError(world[rank]), Result::kSuccess);
    });
}

} // namespace
} // namespace fl::sim
