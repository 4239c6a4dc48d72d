// Collectives between threads.
#include <cmath>

#include "ccl_util.h"

namespace fl::sim {
namespace {

class CclTest : public EngineTest {};

double Reference(ReduceOp op, int nranks, const std::function<double(int)> &value) {
    double result = value(0);
    for (int rank = 1; rank < nranks; ++rank) {
        const double next = value(rank);
        switch (op) {
        case ReduceOp::kSum:
        case ReduceOp::kAvg:
            result += next;
            break;
        case ReduceOp::kProd:
            result *= next;
            break;
        case ReduceOp::kMin:
            result = std::min(result, next);
            break;
        case ReduceOp::kMax:
            result = std::max(result, next);
            break;
        }
    }
    return op == ReduceOp::kAvg ? result / nranks : result;
}

// Whole numbers that every type holds; some are negative where the type is signed.
double Input(DType dtype, int rank, std::size_t i) {
    const bool is_signed = dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32
                        || dtype == DType::kInt64 || dtype >= DType::kFloat16;
    const int value = static_cast<int>((i * 3 + static_cast<std::size_t>(rank)) % 3);
    return is_signed ? value - 1 : value;
}

// Device memory of `n` elements of a type, filled from doubles on the current device.
struct Elements {
    Elements(DType dtype_, const std::vector<double> &values)
        : dtype(dtype_), n(values.size()), memory(n * DTypeSize(dtype)) {
        const Buffer<double> wide(values);
        EXPECT_OK(Cast(nullptr, memory.get(), dtype, wide.get(), DType::kFloat64, static_cast<std::int64_t>(n)));
        EXPECT_OK(StreamSynchronize(nullptr));
    }
    std::vector<double> Read() const {
        const Buffer<double> wide(n);
        EXPECT_OK(Cast(nullptr, wide.get(), DType::kFloat64, memory.get(), dtype, static_cast<std::int64_t>(n)));
        EXPECT_OK(StreamSynchronize(nullptr));
        return wide.Read();
    }
    char *at(std::size_t i) const { return memory.get() + i * DTypeSize(dtype); }
    DType dtype;
    std::size_t n;
    Buffer<char> memory;
};

class CclRanks : public CclTest, public testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, CclRanks, testing::Values(1, 2, 3, 8));

TEST_P(CclRanks, AllReduceEveryTypeAndOp) {
    const int nranks = GetParam();
    const World world(nranks);
    OnRanks(nranks, [&](int rank) {
        const ScopedStream stream;
        for (int d = static_cast<int>(DType::kInt8); d <= static_cast<int>(DType::kFloat64); ++d) {
            const auto dtype = static_cast<DType>(d);
            for (int o = 0; o <= static_cast<int>(ReduceOp::kAvg); ++o) {
                const auto op = static_cast<ReduceOp>(o);
                std::vector<double> input(37);
                for (std::size_t i = 0; i < input.size(); ++i) { input[i] = Input(dtype, rank, i); }
                const Elements buffer(dtype, input);
                EXPECT_OK(CclAllReduce(buffer.at(0), buffer.at(0), input.size(), dtype, op, world[rank], stream));
                EXPECT_OK(StreamSynchronize(stream));
                const auto seen = buffer.Read();
                for (std::size_t i = 0; i < input.size(); ++i) {
                    double expected = Reference(op, nranks, [&](int r) { return Input(dtype, r, i); });
                    if (dtype < DType::kFloat16) {
                        expected = std::trunc(expected);
                    }
                    const double slack = dtype == DType::kBFloat16 ? 0.004 : dtype == DType::kFloat16 ? 0.0005 : 1e-7;
                    ASSERT_NEAR(seen[i], expected, std::abs(expected) * slack)
                        << DTypeName(dtype) << " op " << o << " at " << i;
                }
            }
        }
    });
}

TEST_P(CclRanks, BoolReductions) {
    const int nranks = GetParam();
    const World world(nranks);
    OnRanks(nranks, [&](int rank) {
        const Buffer<std::uint8_t> any(std::vector<std::uint8_t>{0, static_cast<std::uint8_t>(rank == 0 ? 5 : 0), 1});
        EXPECT_OK(CclAllReduce(any.get(), any.get(), 3, DType::kBool, ReduceOp::kSum, world[rank], nullptr));
        EXPECT_EQ(any.Read(), (std::vector<std::uint8_t>{0, 1, 1}));
        const Buffer<std::uint8_t> all(std::vector<std::uint8_t>{0, static_cast<std::uint8_t>(rank == 0 ? 0 : 1), 1});
        EXPECT_OK(CclAllReduce(all.get(), all.get(), 3, DType::kBool, ReduceOp::kProd, world[rank], nullptr));
        EXPECT_EQ(all.Read(), (std::vector<std::uint8_t>{0, 0, 1}));
    });
}

// More than one staging buffer, so several rounds; also an odd rest.
TEST_P(CclRanks, LargeTensors) {
    const int nranks = GetParam();
    const World world(nranks);
    const std::size_t count = (std::size_t{600} << 10) / sizeof(float) + 13;
    OnRanks(nranks, [&](int rank) {
        std::vector<float> input(count);
        for (std::size_t i = 0; i < count; ++i) {
            input[i] = static_cast<float>((i + static_cast<std::size_t>(rank)) % 1000);
        }
        const Buffer<float> buffer(input);
        EXPECT_OK(
            CclAllReduce(buffer.get(), buffer.get(), count, DType::kFloat32, ReduceOp::kSum, world[rank], nullptr));
        const auto seen = buffer.Read();
        for (std::size_t i = 0; i < count; i += 97) {
            float expected = 0;
            for (int r = 0; r < nranks; ++r) {
                expected += static_cast<float>((i + static_cast<std::size_t>(r)) % 1000);
            }
            ASSERT_EQ(seen[i], expected) << i;
        }
        ASSERT_EQ(seen[count - 1], [&] {
            float expected = 0;
            for (int r = 0; r < nranks; ++r) {
                expected += static_cast<float>((count - 1 + static_cast<std::size_t>(r)) % 1000);
            }
            return expected;
        }());
    });
}

TEST_P(CclRanks, BroadcastAndReduceWithNullAndForeignBuffers) {
    const int nranks = GetParam();
    const World world(nranks);
    const int root = nranks - 1;
    void *roots_buffer = nullptr;
    ASSERT_OK(SetDevice(root));
    const Buffer<float> reduced(std::vector<float>(5, -1));
    roots_buffer = reduced.get();
    OnRanks(nranks, [&](int rank) {
        const Buffer<float> send(std::vector<float>(5, static_cast<float>(rank + 1)));
        const Buffer<float> recv(5);
        EXPECT_OK(CclBroadcast(rank == root ? send.get() : nullptr, recv.get(), 5, DType::kFloat32, root, world[rank],
                               nullptr));
        EXPECT_EQ(recv.Read(), std::vector<float>(5, static_cast<float>(root + 1)));
        // On other ranks recv is the root's pointer and must not be looked at.
        EXPECT_OK(CclReduce(send.get(), roots_buffer, 5, DType::kFloat32, ReduceOp::kSum, root, world[rank], nullptr));
        EXPECT_OK(StreamSynchronize(nullptr));
        EXPECT_EQ(AsyncError(world[rank]), Result::kSuccess);
    });
    EXPECT_EQ(reduced.Read(), std::vector<float>(5, static_cast<float>(nranks * (nranks + 1) / 2)));
    ASSERT_OK(SetDevice(0));
    EXPECT_EQ(FaultCount(), 0u) << LastFault();
}

TEST_P(CclRanks, AllGatherBothForms) {
    const int nranks = GetParam();
    const World world(nranks);
    for (const std::size_t count : {std::size_t{3}, std::size_t{70001}}) {
        OnRanks(nranks, [&](int rank) {
            const auto n = static_cast<std::size_t>(nranks);
            std::vector<int> expected(count * n);
            for (std::size_t i = 0; i < expected.size(); ++i) {
                expected[i] = static_cast<int>(i / count * 100000 + i % count);
            }
            const auto own = expected.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rank) * count);
            const std::vector<int> input(own, own + static_cast<std::ptrdiff_t>(count));
            const Buffer<int> send(input);
            const Buffer<int> recv(count * n);
            EXPECT_OK(CclAllGather(send.get(), recv.get(), count, DType::kInt32, world[rank], nullptr));
            EXPECT_EQ(recv.Read(), expected);
            const Buffer<int> in_place(count * n);
            int *const part = in_place.get() + static_cast<std::size_t>(rank) * count;
            EXPECT_OK(Memcpy(part, input.data(), count * sizeof(int), CopyKind::kHostToDevice));
            EXPECT_OK(CclAllGather(part, in_place.get(), count, DType::kInt32, world[rank], nullptr));
            EXPECT_EQ(in_place.Read(), expected);
        });
    }
}

TEST_P(CclRanks, ReduceScatterBothForms) {
    const int nranks = GetParam();
    const World world(nranks);
    for (const std::size_t count : {std::size_t{3}, std::size_t{70001}}) {
        OnRanks(nranks, [&](int rank) {
            const auto n = static_cast<std::size_t>(nranks);
            std::vector<int> input(count * n);
            for (std::size_t i = 0; i < input.size(); ++i) { input[i] = static_cast<int>(i) * (rank + 1); }
            std::vector<int> expected(count);
            const std::size_t first = static_cast<std::size_t>(rank) * count;
            for (std::size_t i = 0; i < count; ++i) {
                expected[i] = static_cast<int>(first + i) * (nranks * (nranks + 1) / 2);
            }
            const Buffer<int> send(input);
            const Buffer<int> recv(count);
            EXPECT_OK(
                CclReduceScatter(send.get(), recv.get(), count, DType::kInt32, ReduceOp::kSum, world[rank], nullptr));
            EXPECT_EQ(recv.Read(), expected);
            EXPECT_OK(CclReduceScatter(send.get(), send.get() + first, count, DType::kInt32, ReduceOp::kSum,
                                       world[rank], nullptr));
            const auto whole = send.Read();
            const auto part = whole.begin() + static_cast<std::ptrdiff_t>(first);
            EXPECT_EQ(std::vector<int>(part, part + static_cast<std::ptrdiff_t>(count)), expected);
        });
    }
}

TEST_P(CclRanks, AllToAllBothForms) {
    const int nranks = GetParam();
    const World world(nranks);
    for (const std::size_t count : {std::size_t{3}, std::size_t{40000}}) {
        OnRanks(nranks, [&](int rank) {
            const auto n = static_cast<std::size_t>(nranks);
            std::vector<int> input(count * n);
            std::vector<int> expected(count * n);
            for (std::size_t i = 0; i < input.size(); ++i) {
                const int peer = static_cast<int>(i / count);
                input[i] = rank * 1000 + peer * 100 + static_cast<int>(i % count % 100);
                expected[i] = peer * 1000 + rank * 100 + static_cast<int>(i % count % 100);
            }
            const Buffer<int> send(input);
            const Buffer<int> recv(count * n);
            EXPECT_OK(CclAllToAll(send.get(), recv.get(), count, DType::kInt32, world[rank], nullptr));
            EXPECT_EQ(recv.Read(), expected);
            EXPECT_OK(CclAllToAll(send.get(), send.get(), count, DType::kInt32, world[rank], nullptr));
            EXPECT_EQ(send.Read(), expected);
        });
    }
}

TEST_F(CclTest, HalfTypesAreReducedInFloat) {
    // 256 + 1 is not a bf16, but (256 + 1 + 1) is 258: adding in bf16 step by step would lose both ones.
    const World world(3);
    OnRanks(3, [&](int rank) {
        const std::vector<std::uint16_t> one_rank = {static_cast<std::uint16_t>(rank == 0 ? 0x4380 : 0x3F80)};
        const Buffer<std::uint16_t> buffer(one_rank);
        EXPECT_OK(CclAllReduce(buffer.get(), buffer.get(), 1, DType::kBFloat16, ReduceOp::kSum, world[rank], nullptr));
        EXPECT_EQ(buffer.Read()[0], 0x4381);
    });
}

TEST_F(CclTest, NanIsNotHidden) {
    const World world(2);
    OnRanks(2, [&](int rank) {
        const Buffer<float> buffer(
            std::vector<float>{rank == 0 ? std::nanf("") : 1.0f, rank == 1 ? std::nanf("") : 1.0f});
        EXPECT_OK(CclAllReduce(buffer.get(), buffer.get(), 2, DType::kFloat32, ReduceOp::kMax, world[rank], nullptr));
        const auto seen = buffer.Read();
        EXPECT_TRUE(std::isnan(seen[0]) && std::isnan(seen[1]));
    });
}

TEST_F(CclTest, ZeroCount) {
    const World world(2);
    OnRanks(2, [&](int rank) {
        EXPECT_OK(CclAllReduce(nullptr, nullptr, 0, DType::kFloat32, ReduceOp::kSum, world[rank], nullptr));
        EXPECT_OK(CclAllToAll(nullptr, nullptr, 0, DType::kFloat32, world[rank], nullptr));
        EXPECT_OK(StreamSynchronize(nullptr));
        EXPECT_EQ(AsyncError(world[rank]), Result::kSuccess);
    });
}

TEST_F(CclTest, UniqueIdBetweenThreads) {
    for (const std::size_t bytes : {std::size_t{128}, std::size_t{136}}) {
        std::vector<char> token(bytes);
        ASSERT_OK(CclGetUniqueId(token.data(), bytes));
        OnRanks(3, [&](int rank) {
            Handle comm = nullptr;
            ASSERT_OK(CclInitRank(&comm, 3, token.data(), bytes, rank));
            int value = -1;
            EXPECT_OK(CclRank(comm, &value));
            EXPECT_EQ(value, rank);
            EXPECT_OK(CclCount(comm, &value));
            EXPECT_EQ(value, 3);
            EXPECT_OK(CclDevice(comm, &value));
            EXPECT_EQ(value, rank);
            const Buffer<int> buffer(std::vector<int>{rank});
            EXPECT_OK(CclAllReduce(buffer.get(), buffer.get(), 1, DType::kInt32, ReduceOp::kSum, comm, nullptr));
            EXPECT_EQ(buffer.Read()[0], 3);
            EXPECT_OK(CclDestroy(comm));
        });
    }
}

TEST_F(CclTest, OneThreadBuildsAllRanksInAGroup) {
    char token[128];
    ASSERT_OK(CclGetUniqueId(token, sizeof(token)));
    std::vector<Handle> comms(4);
    ASSERT_OK(CclGroupStart());
    for (int rank = 0; rank < 4; ++rank) {
        ASSERT_OK(SetDevice(rank));
        ASSERT_OK(CclInitRank(&comms[static_cast<std::size_t>(rank)], 4, token, sizeof(token), rank));
        EXPECT_NE(comms[static_cast<std::size_t>(rank)], nullptr);
    }
    ASSERT_OK(CclGroupEnd());
    ASSERT_OK(SetDevice(0));
    for (const Handle comm : comms) { EXPECT_OK(CclDestroy(comm)); }
}

TEST_F(CclTest, InitRanksInTwoCalls) {
    char token[136];
    ASSERT_OK(CclGetUniqueId(token, sizeof(token)));
    const auto join = [&](int first) {
        Handle comms[2];
        const int devices[2] = {first, first + 1};
        EXPECT_OK(CclInitRanks(comms, 2, devices, devices, 4, token, sizeof(token)));
        EXPECT_OK(CclDestroy(comms[0]));
        EXPECT_OK(CclDestroy(comms[1]));
    };
    std::thread other(join, 2);
    join(0);
    other.join();
}

// One thread issues the operations of all ranks in one group, several per communicator, on the default streams.
TEST_F(CclTest, SeveralCollectivesPerGroupFromOneThread) {
    const World world(3);
    std::vector<std::unique_ptr<Buffer<int>>> first;
    std::vector<std::unique_ptr<Buffer<int>>> second;
    for (int rank = 0; rank < 3; ++rank) {
        ASSERT_OK(SetDevice(rank));
        first.push_back(std::make_unique<Buffer<int>>(std::vector<int>{rank + 1}));
        second.push_back(std::make_unique<Buffer<int>>(std::vector<int>{10 * (rank + 1)}));
    }
    ASSERT_OK(SetDevice(0));
    ASSERT_OK(CclGroupStart());
    ASSERT_OK(CclGroupStart()); // nested
    for (int rank = 2; rank >= 0; --rank) {
        const auto i = static_cast<std::size_t>(rank);
        ASSERT_OK(
            CclAllReduce(first[i]->get(), first[i]->get(), 1, DType::kInt32, ReduceOp::kSum, world[rank], nullptr));
        ASSERT_OK(CclBroadcast(rank == 1 ? second[i]->get() : nullptr, second[i]->get(), 1, DType::kInt32, 1,
                               world[rank], nullptr));
    }
    ASSERT_OK(CclGroupEnd());
    ASSERT_OK(CclGroupEnd());
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(first[i]->Read()[0], 6);
        EXPECT_EQ(second[i]->Read()[0], 20);
    }
}

// Operations of two communicators on two streams of each device run at the same time, ordered by events only.
TEST_F(CclTest, TwoCommunicatorsPerDevice) {
    const World model(2);
    const World data(2);
    OnRanks(2, [&](int rank) {
        const ScopedStream first;
        const ScopedStream second;
        Handle event = nullptr;
        EXPECT_OK(CreateEvent(&event, kEventDisableTiming));
        for (int round = 0; round < 30; ++round) {
            const Buffer<int> buffer(std::vector<int>(100, rank + 1));
            EXPECT_OK(CclAllReduce(buffer.get(), buffer.get(), 100, DType::kInt32, ReduceOp::kSum, model[rank], first));
            EXPECT_OK(RecordEvent(event, first));
            EXPECT_OK(StreamWaitEvent(second, event));
            EXPECT_OK(
                CclAllReduce(buffer.get(), buffer.get(), 100, DType::kInt32, ReduceOp::kProd, data[rank], second));
            EXPECT_OK(StreamSynchronize(second));
            EXPECT_EQ(buffer.Read(), std::vector<int>(100, 9));
        }
        EXPECT_OK(DestroyEvent(event));
    });
}

// Collectives of one communicator keep their order also on different streams.
TEST_F(CclTest, OneCommunicatorOnTwoStreams) {
    const World world(2);
    OnRanks(2, [&](int rank) {
        const ScopedStream first;
        const ScopedStream second;
        std::vector<std::unique_ptr<Buffer<int>>> buffers;
        for (int i = 0; i < 20; ++i) {
            buffers.push_back(std::make_unique<Buffer<int>>(std::vector<int>{i + rank}));
            EXPECT_OK(CclAllReduce(buffers.back()->get(), buffers.back()->get(), 1, DType::kInt32, ReduceOp::kSum,
                                   world[rank], i % 2 == 0 ? first : second));
        }
        EXPECT_OK(DeviceSynchronize());
        for (int i = 0; i < 20; ++i) { EXPECT_EQ(buffers[static_cast<std::size_t>(i)]->Read()[0], 2 * i + 1); }
    });
}

TEST_F(CclTest, DestroyWithWorkQueued) {
    std::vector<Handle> comms(2);
    ASSERT_OK(CclInitAll(comms.data(), 2, nullptr));
    OnRanks(2, [&](int rank) {
        const Handle comm = comms[static_cast<std::size_t>(rank)];
        const ScopedStream stream;
        const Buffer<int> buffer(std::vector<int>{rank + 1});
        {
            const Gate gate(stream);
            EXPECT_OK(CclAllReduce(buffer.get(), buffer.get(), 1, DType::kInt32, ReduceOp::kSum, comm, stream));
            EXPECT_OK(CclDestroy(comm));
        }
        EXPECT_OK(StreamSynchronize(stream));
        EXPECT_EQ(buffer.Read()[0], 3) << "finished in the background";
        EXPECT_EQ(CclDestroy(comm), Result::kInvalidHandle);
    });
}

} // namespace
} // namespace fl::sim
