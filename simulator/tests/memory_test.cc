// Allocation, the checks of ranges, and memory that the host cannot touch.
#include "test_util.h"

namespace fl::sim {
namespace {

class MemoryTest : public EngineTest {};

TEST_F(MemoryTest, FreshMemoryIsNan) {
    const Buffer<float> buffer(1000);
    for (const float value : buffer.Read()) { EXPECT_NE(value, value); }
}

TEST_F(MemoryTest, AddressesAreAlignedAndApart) {
    const Buffer<char> first(1);
    const Buffer<char> second(1);
    const auto a = reinterpret_cast<std::uintptr_t>(first.get());
    const auto b = reinterpret_cast<std::uintptr_t>(second.get());
    EXPECT_EQ(a % 256, 0u);
    EXPECT_EQ(b % 256, 0u);
    EXPECT_GE(a < b ? b - a : a - b, 512u);
}

TEST_F(MemoryTest, HostReadDies) {
    const Buffer<int> buffer(16);
    const volatile int *const address = buffer.get();
    EXPECT_DEATH(static_cast<void>(*address), "");
}

TEST_F(MemoryTest, HostWriteDies) {
    const Buffer<int> buffer(16);
    volatile int *const address = buffer.get();
    EXPECT_DEATH(*address = 1, "");
}

TEST_F(MemoryTest, ZeroBytes) {
    void *memory = &memory;
    EXPECT_OK(Malloc(&memory, 0));
    EXPECT_EQ(memory, nullptr);
    EXPECT_OK(Free(nullptr));
    EXPECT_OK(Memcpy(nullptr, nullptr, 0, CopyKind::kHostToDevice));
    EXPECT_OK(Memset(nullptr, 0, 0));
    EXPECT_EQ(FaultCount(), 0u);
}

TEST_F(MemoryTest, LimitAndInfo) {
    std::size_t free_before = 0;
    std::size_t total = 0;
    ASSERT_OK(MemInfo(&free_before, &total));
    EXPECT_EQ(total, std::size_t{16} << 20);
    void *memory = nullptr;
    EXPECT_EQ(Malloc(&memory, total + 1), Result::kOutOfMemory);
    EXPECT_EQ(memory, nullptr);
    ASSERT_OK(Malloc(&memory, 10u << 20));
    void *second = nullptr;
    EXPECT_EQ(Malloc(&second, 10u << 20), Result::kOutOfMemory);
    EXPECT_EQ(Malloc(&second, SIZE_MAX), Result::kOutOfMemory);
    std::size_t free_now = 0;
    ASSERT_OK(MemInfo(&free_now, &total));
    EXPECT_EQ(free_before - free_now, 10u << 20);
    // The other device is not affected.
    ASSERT_OK(SetDevice(1));
    ASSERT_OK(Malloc(&second, 10u << 20));
    ASSERT_OK(Free(second));
    ASSERT_OK(SetDevice(0));
    ASSERT_OK(Free(memory));
    ASSERT_OK(MemInfo(&free_now, &total));
    EXPECT_EQ(free_now, free_before);
    EXPECT_EQ(FaultCount(), 0u) << "out of memory is no misuse: " << LastFault();
}

TEST_F(MemoryTest, SpaceIsReusedAndCoalesced) {
    for (int round = 0; round < 10; ++round) {
        std::vector<void *> blocks(20);
        for (void *&block : blocks) { ASSERT_OK(Malloc(&block, 768u << 10)); }
        for (std::size_t i = 0; i < blocks.size(); ++i) { ASSERT_OK(Free(blocks[(i * 7) % blocks.size()])); }
        void *whole = nullptr;
        ASSERT_OK(Malloc(&whole, 15u << 20)) << "round " << round;
        ASSERT_OK(Free(whole));
    }
}

TEST_F(MemoryTest, Overflow) {
    const Buffer<char> buffer(100);
    const std::vector<char> host(200);
    EXPECT_EQ(Memcpy(buffer.get(), host.data(), 101, CopyKind::kHostToDevice), Result::kInvalidAddress);
    ExpectFault("overflow: 101 bytes");
    ExpectFault("run 1 bytes past the end");
    EXPECT_EQ(Memcpy(buffer.get() + 50, host.data(), 51, CopyKind::kHostToDevice), Result::kInvalidAddress);
    EXPECT_EQ(Memcpy(buffer.get() + 100, host.data(), 1, CopyKind::kHostToDevice), Result::kInvalidAddress);
    ExpectFault("out of bounds");
    EXPECT_EQ(Memcpy(buffer.get() + 50, host.data(), SIZE_MAX, CopyKind::kHostToDevice), Result::kInvalidAddress);
    EXPECT_EQ(Memset(buffer.get(), 0, 101), Result::kInvalidAddress);
    EXPECT_EQ(FaultCount(), 5u);
    EXPECT_OK(Memcpy(buffer.get() + 50, host.data(), 50, CopyKind::kHostToDevice));
}

TEST_F(MemoryTest, UseAfterFreeAndDoubleFree) {
    void *memory = nullptr;
    ASSERT_OK(Malloc(&memory, 64));
    ASSERT_OK(Free(memory));
    char host[64] = {};
    EXPECT_EQ(Memcpy(memory, host, 64, CopyKind::kHostToDevice), Result::kInvalidAddress);
    ExpectFault("use after free");
    EXPECT_EQ(Free(memory), Result::kInvalidAddress);
    ExpectFault("double free");
    // A freed address is not handed out again at once: a stale pointer stays one.
    const Buffer<char> next(64);
    EXPECT_NE(static_cast<void *>(next.get()), memory);
}

TEST_F(MemoryTest, FreeOfOtherPointers) {
    const Buffer<char> buffer(64);
    EXPECT_EQ(Free(buffer.get() + 1), Result::kInvalidAddress);
    ExpectFault("not the start of an allocation");
    char local = 0;
    EXPECT_EQ(Free(&local), Result::kInvalidAddress);
    ExpectFault("not device memory");
}

TEST_F(MemoryTest, WrongDevice) {
    const Buffer<char> buffer(64);
    char host[64] = {};
    ASSERT_OK(SetDevice(1));
    EXPECT_EQ(Memcpy(buffer.get(), host, 64, CopyKind::kHostToDevice), Result::kInvalidAddress);
    ExpectFault("belongs to device 0, but the operation is on device 1");
    ASSERT_OK(SetDevice(0));
}

TEST_F(MemoryTest, PointerAttributes) {
    const Buffer<char> buffer(64);
    PointerInfo info;
    ASSERT_OK(PointerAttributes(&info, buffer.get() + 10));
    EXPECT_EQ(info.kind, PointerKind::kDevice);
    EXPECT_EQ(info.device, 0);
    EXPECT_EQ(info.base, buffer.get());
    EXPECT_EQ(info.bytes, 64u);
    char local = 0;
    ASSERT_OK(PointerAttributes(&info, &local));
    EXPECT_EQ(info.kind, PointerKind::kUnregistered);
    EXPECT_EQ(PointerAttributes(&info, buffer.get() + 64), Result::kInvalidAddress);
    void *pinned = nullptr;
    ASSERT_OK(MallocHost(&pinned, 32));
    ASSERT_OK(PointerAttributes(&info, pinned));
    EXPECT_EQ(info.kind, PointerKind::kHost);
    EXPECT_EQ(info.bytes, 32u);
    ASSERT_OK(FreeHost(pinned));
    EXPECT_EQ(FreeHost(pinned), Result::kInvalidValue);
}

TEST_F(MemoryTest, RegisteredHostMemory) {
    std::vector<char> host(64);
    ASSERT_OK(HostRegister(host.data(), host.size()));
    EXPECT_EQ(HostRegister(host.data(), host.size()), Result::kInvalidValue);
    EXPECT_EQ(FreeHost(host.data()), Result::kInvalidValue);
    PointerInfo info;
    ASSERT_OK(PointerAttributes(&info, host.data() + 63));
    EXPECT_EQ(info.kind, PointerKind::kHost);
    ASSERT_OK(HostUnregister(host.data()));
    EXPECT_EQ(HostUnregister(host.data()), Result::kInvalidValue);
}

TEST_F(MemoryTest, FreeWhileInUseIsFound) {
    void *memory = nullptr;
    ASSERT_OK(Malloc(&memory, 64));
    const ScopedStream stream;
    std::atomic<bool> running{false};
    std::atomic<bool> go{false};
    ASSERT_OK(LaunchOnStream(stream, "busy", {{memory, 64, Access::kRead}}, [&](std::span<std::byte *const>) {
        running.store(true);
        while (!go.load()) { std::this_thread::yield(); }
        return Result::kSuccess;
    }));
    while (!running.load()) { std::this_thread::yield(); }
    EXPECT_EQ(Free(memory), Result::kIllegalState);
    ExpectFault("freed while in use");
    go.store(true);
    EXPECT_OK(StreamSynchronize(stream));
}

TEST_F(MemoryTest, FreeBeforeQueuedWorkRunsIsFound) {
    void *memory = nullptr;
    ASSERT_OK(Malloc(&memory, 64));
    const ScopedStream stream;
    {
        Gate gate(stream);
        ASSERT_OK(MemsetAsync(memory, 1, 64, stream));
        ASSERT_OK(Free(memory));
    }
    EXPECT_EQ(StreamSynchronize(stream), Result::kInvalidAddress);
    ExpectFault("use after free");
    EXPECT_OK(StreamSynchronize(stream)) << "reported once";
}

TEST_F(MemoryTest, DeviceReset) {
    ASSERT_OK(SetDevice(3));
    void *memory = nullptr;
    Handle stream = nullptr;
    Handle event = nullptr;
    ASSERT_OK(Malloc(&memory, 64));
    ASSERT_OK(CreateStream(&stream));
    ASSERT_OK(CreateEvent(&event));
    ASSERT_OK(MemsetAsync(memory, 0, 64, stream));
    EXPECT_OK(DeviceReset());
    EXPECT_EQ(Free(memory), Result::kInvalidAddress);
    EXPECT_EQ(StreamQuery(stream), Result::kInvalidHandle);
    EXPECT_EQ(EventQuery(event), Result::kInvalidHandle);
    ASSERT_OK(SetDevice(0));
}

TEST_F(MemoryTest, ManyThreads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([t] {
            EXPECT_OK(SetDevice(t % 2));
            for (int i = 0; i < 100; ++i) {
                Buffer<int> buffer(std::vector<int>(64 + i, t * 1000 + i));
                EXPECT_EQ(buffer.Read()[63], t * 1000 + i);
            }
        });
    }
    for (std::thread &thread : threads) { thread.join(); }
    EXPECT_EQ(FaultCount(), 0u) << LastFault();
}

} // namespace
} // namespace fl::sim
