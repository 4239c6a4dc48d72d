// Copies and memset in every direction.
#include <algorithm>
#include <numeric>

#include "test_util.h"

namespace fl::sim {
namespace {

class CopyTest : public EngineTest {};

std::vector<int> Count(int n, int from = 0) {
    std::vector<int> values(static_cast<std::size_t>(n));
    std::iota(values.begin(), values.end(), from);
    return values;
}

TEST_F(CopyTest, RoundTripAndDeviceToDevice) {
    const std::vector<int> host = Count(1000);
    const Buffer<int> first(host);
    const Buffer<int> second(1000);
    ASSERT_OK(Memcpy(second.get(), first.get(), first.bytes(), CopyKind::kDeviceToDevice));
    EXPECT_EQ(second.Read(), host);
    // Views at a byte offset.
    ASSERT_OK(Memcpy(reinterpret_cast<char *>(second.get()) + 3, reinterpret_cast<char *>(first.get()) + 1, 5,
                     CopyKind::kAuto));
    std::vector<int> expected = host;
    std::memcpy(reinterpret_cast<char *>(expected.data()) + 3, reinterpret_cast<const char *>(host.data()) + 1, 5);
    EXPECT_EQ(second.Read(), expected);
}

TEST_F(CopyTest, AutoDirection) {
    const std::vector<int> host = Count(10);
    const Buffer<int> buffer(10);
    std::vector<int> back(10);
    ASSERT_OK(Memcpy(buffer.get(), host.data(), 40, CopyKind::kAuto));
    ASSERT_OK(Memcpy(back.data(), buffer.get(), 40, CopyKind::kAuto));
    EXPECT_EQ(back, host);
    std::vector<int> other(10);
    ASSERT_OK(Memcpy(other.data(), back.data(), 40, CopyKind::kAuto));
    EXPECT_EQ(other, host);
}

TEST_F(CopyTest, WrongDirection) {
    const Buffer<int> buffer(10);
    std::vector<int> host(10);
    EXPECT_EQ(Memcpy(buffer.get(), host.data(), 40, CopyKind::kDeviceToHost), Result::kInvalidDirection);
    EXPECT_EQ(Memcpy(host.data(), buffer.get(), 40, CopyKind::kHostToDevice), Result::kInvalidDirection);
    EXPECT_EQ(Memcpy(host.data(), host.data(), 40, CopyKind::kDeviceToDevice), Result::kInvalidDirection);
    EXPECT_EQ(Memcpy(buffer.get(), buffer.get(), 40, CopyKind::kHostToHost), Result::kInvalidDirection);
    EXPECT_EQ(Memcpy(buffer.get(), host.data(), 40, static_cast<CopyKind>(17)), Result::kInvalidDirection);
    EXPECT_EQ(Memcpy(buffer.get(), nullptr, 40, CopyKind::kHostToDevice), Result::kInvalidValue);
    EXPECT_EQ(FaultCount(), 6u);
}

TEST_F(CopyTest, AsynchronousCopiesAreReallyAsynchronous) {
    const ScopedStream stream;
    const Buffer<int> buffer(Count(10));
    std::vector<int> back(10, -7);
    std::vector<int> source = Count(10, 100);
    {
        Gate gate(stream);
        ASSERT_OK(MemcpyAsync(back.data(), buffer.get(), 40, CopyKind::kDeviceToHost, stream));
        ASSERT_OK(MemcpyAsync(buffer.get(), source.data(), 40, CopyKind::kHostToDevice, stream));
        EXPECT_EQ(back, std::vector<int>(10, -7)) << "without a wait nothing has arrived";
        // A source that is changed before the copy ran is seen changed.
        const std::vector<int> later = Count(10, 200);
        std::copy(later.begin(), later.end(), source.begin());
    }
    ASSERT_OK(StreamSynchronize(stream));
    EXPECT_EQ(back, Count(10));
    EXPECT_EQ(buffer.Read(), Count(10, 200));
}

TEST_F(CopyTest, PinnedMemoryFreedTooEarly) {
    const ScopedStream stream;
    const Buffer<int> buffer(10);
    void *pinned = nullptr;
    ASSERT_OK(MallocHost(&pinned, 40));
    {
        Gate gate(stream);
        ASSERT_OK(MemcpyAsync(pinned, buffer.get(), 40, CopyKind::kDeviceToHost, stream));
        ASSERT_OK(FreeHost(pinned));
    }
    EXPECT_EQ(StreamSynchronize(stream), Result::kInvalidValue);
    ExpectFault("use after free: the pinned host memory");
}

TEST_F(CopyTest, PinnedMemoryOverflow) {
    const Buffer<int> buffer(20);
    void *pinned = nullptr;
    ASSERT_OK(MallocHost(&pinned, 40));
    EXPECT_EQ(Memcpy(pinned, buffer.get(), 44, CopyKind::kDeviceToHost), Result::kInvalidValue);
    ExpectFault("overflow");
    ASSERT_OK(FreeHost(pinned));
}

TEST_F(CopyTest, Pitched) {
    // Three rows of two ints out of rows of five.
    const std::vector<int> host = Count(15);
    const Buffer<int> buffer(12);
    ASSERT_OK(Memset(buffer.get(), 0, buffer.bytes()));
    ASSERT_OK(Memcpy2D(buffer.get(), 16, host.data(), 20, 8, 3, CopyKind::kHostToDevice));
    EXPECT_EQ(buffer.Read(), (std::vector<int>{0, 1, 0, 0, 5, 6, 0, 0, 10, 11, 0, 0}));
    const ScopedStream stream;
    std::vector<int> back(6);
    ASSERT_OK(Memcpy2DAsync(back.data(), 8, buffer.get(), 16, 8, 3, CopyKind::kDeviceToHost, stream));
    ASSERT_OK(StreamSynchronize(stream));
    EXPECT_EQ(back, (std::vector<int>{0, 1, 5, 6, 10, 11}));
    EXPECT_EQ(Memcpy2D(buffer.get(), 4, host.data(), 20, 8, 3, CopyKind::kHostToDevice), Result::kInvalidValue);
    EXPECT_EQ(Memcpy2D(buffer.get(), 20, host.data(), 20, 8, 3, CopyKind::kHostToDevice), Result::kSuccess);
    EXPECT_EQ(Memcpy2D(buffer.get(), 24, host.data(), 20, 8, 3, CopyKind::kHostToDevice), Result::kInvalidAddress);
    EXPECT_EQ(Memcpy2D(buffer.get(), SIZE_MAX / 2, host.data(), 20, 8, 4, CopyKind::kHostToDevice),
              Result::kInvalidValue);
}

TEST_F(CopyTest, Peer) {
    const Buffer<int> first(Count(10));
    ASSERT_OK(SetDevice(1));
    const Buffer<int> second(10);
    ASSERT_OK(MemcpyPeer(second.get(), 1, first.get(), 0, 40));
    EXPECT_EQ(second.Read(), Count(10));
    {
        const ScopedStream stream;
        first.Read();
        ASSERT_OK(MemcpyPeerAsync(first.get(), 0, second.get(), 1, 20, stream));
        ASSERT_OK(StreamSynchronize(stream));
    }
    EXPECT_EQ(MemcpyPeer(second.get(), 0, first.get(), 1, 40), Result::kInvalidAddress);
    ASSERT_OK(SetDevice(2));
    {
        const ScopedStream third;
        EXPECT_EQ(MemcpyPeerAsync(first.get(), 0, second.get(), 1, 20, third), Result::kInvalidHandle);
    }
    int can = -1;
    ASSERT_OK(CanAccessPeer(&can, 0, 1));
    EXPECT_EQ(can, 1);
    ASSERT_OK(CanAccessPeer(&can, 1, 1));
    EXPECT_EQ(can, 0);
    ASSERT_OK(SetDevice(0));
}

TEST_F(CopyTest, MemsetBothForms) {
    const Buffer<unsigned char> buffer(100);
    ASSERT_OK(Memset(buffer.get(), 0x1AB, 100));
    EXPECT_EQ(buffer.Read(), std::vector<unsigned char>(100, 0xAB));
    const ScopedStream stream;
    ASSERT_OK(MemsetAsync(buffer.get() + 10, 0, 10, stream));
    ASSERT_OK(StreamSynchronize(stream));
    EXPECT_EQ(buffer.Read()[15], 0);
    EXPECT_EQ(buffer.Read()[20], 0xAB);
}

TEST_F(CopyTest, SynchronousCopyReportsEarlierError) {
    void *memory = nullptr;
    ASSERT_OK(Malloc(&memory, 64));
    const Buffer<char> other(64);
    char host[64];
    {
        Gate gate(nullptr);
        ASSERT_OK(MemsetAsync(memory, 1, 64, nullptr));
        ASSERT_OK(Free(memory));
    }
    EXPECT_EQ(Memcpy(host, other.get(), 64, CopyKind::kDeviceToHost), Result::kInvalidAddress);
    EXPECT_OK(Memcpy(host, other.get(), 64, CopyKind::kDeviceToHost));
}

} // namespace
} // namespace fl::sim
