// What happens when ranks do not agree, do not come, leave, or pass something wrong. The timeout is short here.
#include <cmath>
#include <cstring>

#include "ccl_util.h"

namespace fl::sim {
namespace {

class CclErrorTest : public EngineTest {
protected:
    // Waits until the communicator has an error; the test's own limit is generous.
    static Result WaitForError(Handle comm) {
        for (int i = 0; i < 10000; ++i) {
            const Result error = AsyncError(comm);
            if (error != Result::kSuccess) {
                return error;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return Result::kSuccess;
    }
};

TEST_F(CclErrorTest, MissingRankTimesOut) {
    const World world(2);
    const Buffer<float> buffer(std::vector<float>(4, 1));
    const auto start = std::chrono::steady_clock::now();
    ASSERT_OK(CclAllReduce(buffer.get(), buffer.get(), 4, DType::kFloat32, ReduceOp::kSum, world[0], nullptr));
    EXPECT_EQ(AsyncError(world[0]), Result::kSuccess) << "not yet";
    EXPECT_OK(StreamSynchronize(nullptr)) << "the stream goes on";
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(800));
    EXPECT_EQ(AsyncError(world[0]), Result::kTimeout);
    EXPECT_EQ(AsyncError(world[1]), Result::kTimeout) << "the other rank learns it";
    EXPECT_NE(CclErrorText(world[0]).find("rank 1 did not come to AllReduce (collective 1)"), std::string::npos)
        << CclErrorText(world[0]);
    EXPECT_NE(CclErrorText(nullptr).find("AllReduce"), std::string::npos);
    for (const float value : buffer.Read()) { EXPECT_TRUE(std::isnan(value)) << "nothing that looks like a result"; }
    // Later operations end at once.
    ASSERT_OK(CclAllReduce(buffer.get(), buffer.get(), 4, DType::kFloat32, ReduceOp::kSum, world[0], nullptr));
    EXPECT_OK(StreamSynchronize(nullptr));
}

TEST_F(CclErrorTest, MismatchesAreFound) {
    struct Case {
        const char *name;
        std::function<Result(Handle, void *)> first;
        std::function<Result(Handle, void *)> second;
    };
    const auto reduce = [](std::size_t count, DType dtype, ReduceOp op) {
        return [=](Handle comm, void *data) { return CclAllReduce(data, data, count, dtype, op, comm, nullptr); };
    };
    const auto broadcast = [](int root) {
        return
            [=](Handle comm, void *data) { return CclBroadcast(data, data, 4, DType::kFloat32, root, comm, nullptr); };
    };
    const auto standard = reduce(4, DType::kFloat32, ReduceOp::kSum);
    const std::vector<Case> cases = {
        {"count", standard, reduce(3, DType::kFloat32, ReduceOp::kSum)},
        {"dtype", standard, reduce(4, DType::kInt32, ReduceOp::kSum)},
        {"op", standard, reduce(4, DType::kFloat32, ReduceOp::kMax)},
        {"kind", standard, broadcast(0)},
        {"root", broadcast(0), broadcast(1)},
    };
    for (const Case &entry : cases) {
        const World world(2);
        OnRanks(2, [&](int rank) {
            const Buffer<float> buffer(std::vector<float>(4, 1));
            EXPECT_OK((rank == 0 ? entry.first : entry.second)(world[rank], buffer.get()));
            EXPECT_OK(StreamSynchronize(nullptr));
            EXPECT_EQ(AsyncError(world[rank]), Result::kInvalidUsage) << entry.name;
            EXPECT_NE(CclErrorText(world[rank]).find("do not agree on collective 1"), std::string::npos);
            EXPECT_TRUE(std::isnan(buffer.Read()[0])) << entry.name;
        });
    }
    ExpectFault("rank 0 calls Broadcast(count 4, float32, root 0), rank 1 calls Broadcast(count 4, float32, root 1)");
}

TEST_F(CclErrorTest, MessageMismatch) {
    const World world(2);
    OnRanks(2, [&](int rank) {
        const Buffer<int> buffer(8);
        EXPECT_OK(rank == 0 ? CclSend(buffer.get(), 4, DType::kInt32, 1, world[0], nullptr)
                            : CclRecv(buffer.get(), 8, DType::kInt32, 0, world[1], nullptr));
        EXPECT_OK(StreamSynchronize(nullptr));
        EXPECT_EQ(AsyncError(world[rank]), Result::kInvalidUsage);
    });
    ExpectFault("rank 1 calls Recv(count 8, int32, from rank 0), but rank 0 sends count 4, int32");
}

TEST_F(CclErrorTest, UngroupedSelfSendTimesOut) {
    const World world(1);
    const Buffer<int> buffer(std::vector<int>{1, 2});
    ASSERT_OK(CclSend(buffer.get(), 1, DType::kInt32, 0, world[0], nullptr));
    ASSERT_OK(CclRecv(buffer.get() + 1, 1, DType::kInt32, 0, world[0], nullptr));
    EXPECT_OK(StreamSynchronize(nullptr));
    EXPECT_EQ(AsyncError(world[0]), Result::kTimeout) << "a send waits for its receiver";
}

TEST_F(CclErrorTest, MissingReceiverTimesOut) {
    const World world(2);
    const Buffer<int> buffer(1);
    ASSERT_OK(CclRecv(buffer.get(), 1, DType::kInt32, 1, world[0], nullptr));
    EXPECT_OK(StreamSynchronize(nullptr));
    EXPECT_EQ(AsyncError(world[0]), Result::kTimeout);
    EXPECT_NE(CclErrorText(world[0]).find("rank 1 did not answer Recv(count 1, int32, from rank 1)"), std::string::npos)
        << CclErrorText(world[0]);
}

TEST_F(CclErrorTest, RankThatLeft) {
    std::vector<Handle> comms(2);
    ASSERT_OK(CclInitAll(comms.data(), 2, nullptr));
    ASSERT_OK(CclDestroy(comms[1]));
    const Buffer<int> buffer(1);
    const auto start = std::chrono::steady_clock::now();
    ASSERT_OK(CclAllReduce(buffer.get(), buffer.get(), 1, DType::kInt32, ReduceOp::kSum, comms[0], nullptr));
    EXPECT_OK(StreamSynchronize(nullptr));
    EXPECT_EQ(AsyncError(comms[0]), Result::kRemoteError);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(700)) << "found without the timeout";
    ASSERT_OK(CclDestroy(comms[0]));
}

TEST_F(CclErrorTest, Abort) {
    std::vector<Handle> comms(2);
    ASSERT_OK(CclInitAll(comms.data(), 2, nullptr));
    const Buffer<float> buffer(std::vector<float>(1, 1));
    ASSERT_OK(CclAllReduce(buffer.get(), buffer.get(), 1, DType::kFloat32, ReduceOp::kSum, comms[0], nullptr));
    ASSERT_OK(CclAbort(comms[0]));
    EXPECT_EQ(CclAbort(comms[0]), Result::kInvalidHandle);
    EXPECT_OK(StreamSynchronize(nullptr));
    EXPECT_TRUE(std::isnan(buffer.Read()[0]));
    EXPECT_EQ(WaitForError(comms[1]), Result::kRemoteError);
    EXPECT_NE(CclErrorText(comms[1]).find("aborted"), std::string::npos);
    ASSERT_OK(CclDestroy(comms[1]));
}

TEST_F(CclErrorTest, BufferFreedBeforeItRan) {
    const World world(2);
    const ScopedStream stream;
    void *memory = nullptr;
    ASSERT_OK(Malloc(&memory, 64));
    {
        Gate gate(stream);
        ASSERT_OK(CclAllReduce(memory, memory, 16, DType::kFloat32, ReduceOp::kSum, world[0], stream));
        ASSERT_OK(Free(memory));
    }
    EXPECT_EQ(StreamSynchronize(stream), Result::kInvalidAddress);
    EXPECT_EQ(AsyncError(world[0]), Result::kInvalidAddress);
    EXPECT_EQ(AsyncError(world[1]), Result::kRemoteError);
}

TEST_F(CclErrorTest, ArgumentsAtTheCall) {
    const World world(2);
    const Buffer<float> buffer(4);
    float *const data = buffer.get();
    EXPECT_EQ(CclAllReduce(data, data, 5, DType::kFloat32, ReduceOp::kSum, world[0], nullptr), Result::kInvalidAddress);
    EXPECT_EQ(CclAllReduce(nullptr, data, 4, DType::kFloat32, ReduceOp::kSum, world[0], nullptr),
              Result::kInvalidAddress);
    EXPECT_EQ(CclAllReduce(data, data, 4, static_cast<DType>(50), ReduceOp::kSum, world[0], nullptr),
              Result::kInvalidValue);
    EXPECT_EQ(CclAllReduce(data, data, 4, DType::kFloat32, static_cast<ReduceOp>(9), world[0], nullptr),
              Result::kInvalidValue);
    EXPECT_EQ(CclBroadcast(data, data, 4, DType::kFloat32, 2, world[0], nullptr), Result::kInvalidValue);
    EXPECT_EQ(CclSend(data, 4, DType::kFloat32, 2, world[0], nullptr), Result::kInvalidValue);
    EXPECT_EQ(CclAllReduce(data, data, SIZE_MAX / 2, DType::kFloat32, ReduceOp::kSum, world[0], nullptr),
              Result::kInvalidValue);
    EXPECT_EQ(CclAllReduce(data, data, 4, DType::kFloat32, ReduceOp::kSum, nullptr, nullptr), Result::kInvalidHandle);
    // The buffer of another device, and a stream of another device.
    EXPECT_EQ(CclAllReduce(data, data, 4, DType::kFloat32, ReduceOp::kSum, world[1], nullptr), Result::kInvalidAddress);
    const ScopedStream stream;
    EXPECT_EQ(CclAllReduce(data, data, 4, DType::kFloat32, ReduceOp::kSum, world[1], stream), Result::kInvalidHandle);
    EXPECT_EQ(AsyncError(world[0]), Result::kSuccess) << "a refused call is no asynchronous error";
}

TEST_F(CclErrorTest, GroupWithAFailedCallIssuesNothing) {
    const World world(2);
    const Buffer<float> buffer(std::vector<float>(4, 1));
    ASSERT_OK(CclGroupStart());
    ASSERT_OK(CclAllReduce(buffer.get(), buffer.get(), 4, DType::kFloat32, ReduceOp::kSum, world[0], nullptr));
    EXPECT_EQ(CclAllReduce(buffer.get(), buffer.get(), 5, DType::kFloat32, ReduceOp::kSum, world[0], nullptr),
              Result::kInvalidAddress);
    EXPECT_EQ(CclGroupEnd(), Result::kInvalidAddress);
    EXPECT_OK(StreamQuery(nullptr));
    EXPECT_EQ(buffer.Read(), std::vector<float>(4, 1));
    EXPECT_EQ(CclGroupEnd(), Result::kInvalidUsage) << "no group is open";
}

TEST_F(CclErrorTest, TokenThatIsNoTokenOrCut) {
    char token[136];
    ASSERT_OK(CclGetUniqueId(token, sizeof(token)));
    Handle comm = &comm;
    EXPECT_EQ(CclInitRank(&comm, 1, token, 128, 0), Result::kInvalidValue) << "cut";
    EXPECT_EQ(comm, nullptr);
    char copy[136] = {};
    std::memcpy(copy, token, 128);
    EXPECT_EQ(CclInitRank(&comm, 1, copy, sizeof(copy), 0), Result::kInvalidValue) << "the last 8 bytes are lost";
    std::memcpy(copy, token, sizeof(copy));
    copy[20] ^= 1;
    EXPECT_EQ(CclInitRank(&comm, 1, copy, sizeof(copy), 0), Result::kInvalidValue) << "damaged";
    EXPECT_EQ(CclInitRank(&comm, 1, nullptr, sizeof(copy), 0), Result::kInvalidValue);
    EXPECT_EQ(CclGetUniqueId(token, 32), Result::kInvalidValue);
    EXPECT_EQ(CclInitRank(&comm, 0, token, sizeof(token), 0), Result::kInvalidValue);
    EXPECT_EQ(CclInitRank(&comm, 2, token, sizeof(token), 2), Result::kInvalidValue);
    EXPECT_EQ(CclInitRank(&comm, 65, token, sizeof(token), 2), Result::kInvalidValue);
    EXPECT_OK(CclInitRank(&comm, 1, token, sizeof(token), 0)) << "nothing of that used it up";
    EXPECT_OK(CclDestroy(comm));
    EXPECT_EQ(CclInitRank(&comm, 1, token, sizeof(token), 0), Result::kIllegalState) << "used before";
    ExpectFault("was used before");
}

TEST_F(CclErrorTest, RankThatDoesNotJoin) {
    char token[128];
    ASSERT_OK(CclGetUniqueId(token, sizeof(token)));
    Handle comm = &comm;
    EXPECT_EQ(CclInitRank(&comm, 2, token, sizeof(token), 0), Result::kTimeout);
    EXPECT_EQ(comm, nullptr);
    ExpectFault("rank 1 of 2 did not join within 800 ms");
    // In a group the handle was given already; it has the error and must be destroyed.
    ASSERT_OK(CclGetUniqueId(token, sizeof(token)));
    ASSERT_OK(CclGroupStart());
    ASSERT_OK(CclInitRank(&comm, 2, token, sizeof(token), 1));
    EXPECT_EQ(CclGroupEnd(), Result::kTimeout);
    EXPECT_EQ(AsyncError(comm), Result::kTimeout);
    EXPECT_OK(CclDestroy(comm));
}

TEST_F(CclErrorTest, SameDeviceOrRankTwice) {
    Handle comms[2];
    const int devices[2] = {1, 1};
    EXPECT_EQ(CclInitAll(comms, 2, devices), Result::kInvalidUsage);
    EXPECT_EQ(comms[0], nullptr);
    const int bad[2] = {0, 8};
    EXPECT_EQ(CclInitAll(comms, 2, bad), Result::kInvalidDevice);
    const int two[2] = {0, 1};
    const int ranks[2] = {0, 0};
    EXPECT_EQ(CclInitRanks(comms, 2, two, ranks, 2, nullptr, 0), Result::kIllegalState);
    EXPECT_EQ(CclInitRanks(comms, 1, two, ranks, 2, nullptr, 0), Result::kInvalidValue)
        << "without an id all ranks are needed";
}

TEST_F(CclErrorTest, RanksThatDisagreeOnTheirNumber) {
    char token[128];
    ASSERT_OK(CclGetUniqueId(token, sizeof(token)));
    Handle first = nullptr;
    Handle second = nullptr;
    ASSERT_OK(CclGroupStart());
    ASSERT_OK(CclInitRank(&first, 2, token, sizeof(token), 0));
    ASSERT_OK(SetDevice(1));
    EXPECT_EQ(CclInitRank(&second, 3, token, sizeof(token), 1), Result::kInvalidUsage);
    EXPECT_NE(CclGroupEnd(), Result::kSuccess);
    EXPECT_OK(CclDestroy(first));
    ASSERT_OK(SetDevice(0));
}

} // namespace
} // namespace fl::sim
