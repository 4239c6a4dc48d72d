// Stream-ordered memory and the accounts of pools.
#include "test_util.h"

namespace fl::sim {
namespace {

class PoolTest : public EngineTest {
protected:
    static std::uint64_t Get(Handle pool, PoolAttribute attribute) {
        std::uint64_t value = 0;
        EXPECT_OK(GetPoolAttribute(pool, attribute, &value));
        return value;
    }
};

TEST_F(PoolTest, OrderedInOneStream) {
    const ScopedStream stream;
    void *memory = nullptr;
    ASSERT_OK(MallocAsync(&memory, 40, stream));
    std::vector<int> host(10, 5);
    std::vector<int> back(10);
    ASSERT_OK(MemcpyAsync(memory, host.data(), 40, CopyKind::kHostToDevice, stream));
    ASSERT_OK(MemcpyAsync(back.data(), memory, 40, CopyKind::kDeviceToHost, stream));
    ASSERT_OK(FreeAsync(memory, stream));
    ASSERT_OK(StreamSynchronize(stream));
    EXPECT_EQ(back, host);
    EXPECT_EQ(FaultCount(), 0u) << LastFault();
}

TEST_F(PoolTest, UseOnAnotherStreamBeforeItExists) {
    const ScopedStream first;
    const ScopedStream second;
    void *memory = nullptr;
    {
        Gate gate(first);
        ASSERT_OK(MallocAsync(&memory, 64, first));
        ASSERT_OK(MemsetAsync(memory, 0, 64, second));
        EXPECT_EQ(StreamSynchronize(second), Result::kInvalidAddress);
        ExpectFault("used too early");
    }
    ASSERT_OK(FreeAsync(memory, first));
    ASSERT_OK(StreamSynchronize(first));
}

TEST_F(PoolTest, UseAfterFreeAsync) {
    const ScopedStream stream;
    void *memory = nullptr;
    ASSERT_OK(MallocAsync(&memory, 64, stream));
    {
        Gate gate(stream);
        ASSERT_OK(FreeAsync(memory, stream));
        EXPECT_EQ(MemsetAsync(memory, 0, 64, stream), Result::kInvalidAddress) << "at the call already";
        ExpectFault("stream-ordered free was already called");
        EXPECT_EQ(FreeAsync(memory, stream), Result::kInvalidAddress);
        ExpectFault("double free");
    }
    ASSERT_OK(StreamSynchronize(stream));
    EXPECT_EQ(Free(memory), Result::kInvalidAddress);
}

TEST_F(PoolTest, WorkQueuedBeforeFreeAsyncOnOtherStreamIsFound) {
    const ScopedStream user;
    const ScopedStream owner;
    void *memory = nullptr;
    ASSERT_OK(MallocAsync(&memory, 64, owner));
    ASSERT_OK(StreamSynchronize(owner));
    {
        Gate gate(user);
        ASSERT_OK(MemsetAsync(memory, 0, 64, user));
        ASSERT_OK(FreeAsync(memory, owner)); // without waiting for the other stream
        ASSERT_OK(StreamSynchronize(owner));
    }
    EXPECT_EQ(StreamSynchronize(user), Result::kInvalidAddress);
    ExpectFault("use after free");
}

TEST_F(PoolTest, FreeAsyncOfPlainMemoryAndNull) {
    void *memory = nullptr;
    ASSERT_OK(Malloc(&memory, 64));
    ASSERT_OK(FreeAsync(memory, nullptr));
    ASSERT_OK(FreeAsync(nullptr, nullptr));
    ASSERT_OK(MallocAsync(&memory, 0, nullptr));
    EXPECT_EQ(memory, nullptr);
    ASSERT_OK(StreamSynchronize(nullptr));
}

TEST_F(PoolTest, WrongDevice) {
    void *memory = nullptr;
    ASSERT_OK(Malloc(&memory, 64));
    ASSERT_OK(SetDevice(1));
    EXPECT_EQ(FreeAsync(memory, nullptr), Result::kInvalidAddress);
    ExpectFault("wrong device");
    Handle pool = nullptr;
    ASSERT_OK(DefaultPool(&pool, 0));
    void *other = nullptr;
    EXPECT_EQ(MallocAsync(&other, 64, nullptr, pool), Result::kInvalidHandle);
    ASSERT_OK(SetDevice(0));
    ASSERT_OK(Free(memory));
}

TEST_F(PoolTest, Statistics) {
    Handle pool = nullptr;
    ASSERT_OK(CreatePool(&pool, 0));
    ASSERT_OK(SetPoolAttribute(pool, PoolAttribute::kReleaseThreshold, 5000));
    const ScopedStream stream;
    void *first = nullptr;
    void *second = nullptr;
    ASSERT_OK(MallocAsync(&first, 1000, stream, pool)); // 1024 with alignment
    ASSERT_OK(MallocAsync(&second, 8192, stream, pool));
    EXPECT_EQ(Get(pool, PoolAttribute::kUsedCurrent), 9216u);
    EXPECT_EQ(Get(pool, PoolAttribute::kReservedCurrent), 9216u);
    ASSERT_OK(FreeAsync(second, stream));
    ASSERT_OK(StreamSynchronize(stream));
    EXPECT_EQ(Get(pool, PoolAttribute::kUsedCurrent), 1024u);
    EXPECT_EQ(Get(pool, PoolAttribute::kUsedHigh), 9216u);
    EXPECT_EQ(Get(pool, PoolAttribute::kReservedCurrent), 5000u)
        << "synchronising releases what is above the threshold";
    EXPECT_EQ(Get(pool, PoolAttribute::kReservedHigh), 9216u);
    ASSERT_OK(SetPoolAttribute(pool, PoolAttribute::kUsedHigh, 0));
    ASSERT_OK(SetPoolAttribute(pool, PoolAttribute::kReservedHigh, 0));
    EXPECT_EQ(Get(pool, PoolAttribute::kUsedHigh), 1024u);
    EXPECT_EQ(Get(pool, PoolAttribute::kReservedHigh), 5000u);
    EXPECT_EQ(SetPoolAttribute(pool, PoolAttribute::kUsedHigh, 1), Result::kInvalidValue);
    EXPECT_EQ(SetPoolAttribute(pool, PoolAttribute::kUsedCurrent, 0), Result::kInvalidValue);
    ASSERT_OK(TrimPool(pool, 0));
    EXPECT_EQ(Get(pool, PoolAttribute::kReservedCurrent), 1024u);
    // Memory comes from what is reserved first.
    ASSERT_OK(FreeAsync(first, stream));
    ASSERT_OK(StreamSynchronize(stream));
    EXPECT_EQ(Get(pool, PoolAttribute::kReservedCurrent), 1024u);
    ASSERT_OK(MallocAsync(&first, 512, stream, pool));
    EXPECT_EQ(Get(pool, PoolAttribute::kReservedCurrent), 1024u);
    ASSERT_OK(FreeAsync(first, stream));
    ASSERT_OK(StreamSynchronize(stream));
    ASSERT_OK(DestroyPool(pool));
    EXPECT_EQ(DestroyPool(pool), Result::kInvalidHandle);
}

TEST_F(PoolTest, CurrentPool) {
    Handle standard = nullptr;
    Handle pool = nullptr;
    Handle current = nullptr;
    ASSERT_OK(DefaultPool(&standard, 0));
    ASSERT_OK(CreatePool(&pool, 0));
    ASSERT_OK(SetCurrentPool(0, pool));
    ASSERT_OK(CurrentPool(&current, 0));
    EXPECT_EQ(current, pool);
    void *memory = nullptr;
    ASSERT_OK(MallocAsync(&memory, 256, nullptr));
    EXPECT_EQ(Get(pool, PoolAttribute::kUsedCurrent), 256u);
    ASSERT_OK(DestroyPool(pool)); // the block stays valid
    ASSERT_OK(CurrentPool(&current, 0));
    EXPECT_EQ(current, standard);
    ASSERT_OK(Memset(memory, 0, 256));
    ASSERT_OK(FreeAsync(memory, nullptr));
    ASSERT_OK(StreamSynchronize(nullptr));
    EXPECT_EQ(DestroyPool(standard), Result::kInvalidValue);
    EXPECT_EQ(SetCurrentPool(1, standard), Result::kInvalidHandle);
}

TEST_F(PoolTest, MemoryThatTheStreamIsAboutToFreeCanBeUsed) {
    const ScopedStream stream;
    void *memory = nullptr;
    for (int i = 0; i < 8; ++i) {
        ASSERT_OK(MallocAsync(&memory, 10u << 20, stream)) << i;
        ASSERT_OK(FreeAsync(memory, stream));
    }
    void *second = nullptr;
    ASSERT_OK(MallocAsync(&memory, 10u << 20, stream));
    EXPECT_EQ(MallocAsync(&second, 10u << 20, stream), Result::kOutOfMemory);
    EXPECT_EQ(second, nullptr);
    ASSERT_OK(FreeAsync(memory, stream));
    ASSERT_OK(StreamSynchronize(stream));
}

TEST_F(PoolTest, UnusedReserveGivesWay) {
    Handle pool = nullptr;
    ASSERT_OK(DefaultPool(&pool, 0));
    ASSERT_OK(SetPoolAttribute(pool, PoolAttribute::kReleaseThreshold, UINT64_MAX));
    void *memory = nullptr;
    ASSERT_OK(MallocAsync(&memory, 10u << 20, nullptr));
    ASSERT_OK(FreeAsync(memory, nullptr));
    ASSERT_OK(StreamSynchronize(nullptr));
    EXPECT_EQ(Get(pool, PoolAttribute::kReservedCurrent), 10u << 20);
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    ASSERT_OK(MemInfo(&free_bytes, &total));
    EXPECT_EQ(free_bytes, 6u << 20);
    ASSERT_OK(Malloc(&memory, 10u << 20)) << "the pool gives up what it does not use";
    ASSERT_OK(Free(memory));
    ASSERT_OK(SetPoolAttribute(pool, PoolAttribute::kReleaseThreshold, 0));
}

} // namespace
} // namespace fl::sim
