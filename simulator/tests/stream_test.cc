// Streams: order, delays, errors, priorities, handles; library work.
#include "test_util.h"

namespace fl::sim {
namespace {

class StreamTest : public EngineTest {};

TEST_F(StreamTest, InOrder) {
    const ScopedStream stream;
    std::vector<int> order;
    struct Entry {
        std::vector<int> *order;
        int number;
    };
    std::vector<Entry> entries;
    for (int i = 0; i < 100; ++i) { entries.push_back({&order, i}); }
    for (Entry &entry : entries) {
        ASSERT_OK(LaunchHostFunc(
            stream,
            [](void *data) {
                const auto *const e = static_cast<Entry *>(data);
                e->order->push_back(e->number);
            },
            &entry));
    }
    ASSERT_OK(StreamSynchronize(stream));
    ASSERT_EQ(order.size(), 100u);
    for (int i = 0; i < 100; ++i) { EXPECT_EQ(order[static_cast<std::size_t>(i)], i); }
}

TEST_F(StreamTest, StreamsAreIndependent) {
    const ScopedStream first;
    const ScopedStream second;
    const Gate gate(first);
    EXPECT_EQ(StreamQuery(first), Result::kNotReady);
    EXPECT_OK(StreamSynchronize(second));
    EXPECT_OK(StreamSynchronize(nullptr)) << "the default stream orders nothing but itself";
}

TEST_F(StreamTest, QueryBecomesReady) {
    const ScopedStream stream;
    EXPECT_OK(StreamQuery(stream));
    {
        const Gate gate(stream);
        EXPECT_EQ(StreamQuery(stream), Result::kNotReady);
    }
    EXPECT_OK(StreamSynchronize(stream));
    EXPECT_OK(StreamQuery(stream));
}

TEST_F(StreamTest, DefaultStreamPerDevice) {
    int device = -1;
    ASSERT_OK(StreamDevice(nullptr, &device));
    EXPECT_EQ(device, 0);
    ASSERT_OK(SetDevice(2));
    ASSERT_OK(StreamDevice(nullptr, &device));
    EXPECT_EQ(device, 2);
    EXPECT_EQ(DestroyStream(nullptr), Result::kInvalidHandle);
    ASSERT_OK(SetDevice(0));
}

TEST_F(StreamTest, DestroyTwiceAndUseAfterDestroy) {
    Handle stream = nullptr;
    ASSERT_OK(CreateStream(&stream));
    ASSERT_OK(DestroyStream(stream));
    EXPECT_EQ(DestroyStream(stream), Result::kInvalidHandle);
    ExpectFault("use after destroy");
    EXPECT_EQ(StreamSynchronize(stream), Result::kInvalidHandle);
    EXPECT_EQ(StreamQuery(&stream), Result::kInvalidHandle);
    ExpectFault("never was");
    Handle event = nullptr;
    ASSERT_OK(CreateEvent(&event));
    EXPECT_EQ(StreamSynchronize(event), Result::kInvalidHandle);
    ExpectFault("is a event, not a stream");
    ASSERT_OK(DestroyEvent(event));
}

TEST_F(StreamTest, DestroyOnWrongDevice) {
    Handle stream = nullptr;
    ASSERT_OK(CreateStream(&stream));
    ASSERT_OK(SetDevice(1));
    EXPECT_EQ(DestroyStream(stream), Result::kInvalidHandle);
    ExpectFault("wrong device");
    ASSERT_OK(SetDevice(0));
    EXPECT_OK(DestroyStream(stream)) << "the failed call left it alone";
}

TEST_F(StreamTest, DestroyLetsWorkFinish) {
    std::atomic<int> done{0};
    const Buffer<int> buffer(16);
    Handle stream = nullptr;
    ASSERT_OK(CreateStream(&stream));
    std::vector<int> host(16, 9);
    {
        Gate gate(stream);
        ASSERT_OK(MemcpyAsync(buffer.get(), host.data(), 64, CopyKind::kHostToDevice, stream));
        ASSERT_OK(LaunchHostFunc(
            stream, [](void *counter) { static_cast<std::atomic<int> *>(counter)->fetch_add(1); }, &done));
        ASSERT_OK(DestroyStream(stream)); // returns with the gate still closed
        EXPECT_EQ(done.load(), 0);
    }
    ASSERT_OK(DeviceSynchronize()); // waits for destroyed streams too
    EXPECT_EQ(done.load(), 1);
    EXPECT_EQ(buffer.Read(), host);
}

TEST_F(StreamTest, DeviceSynchronizeWaitsForAllStreamsOfTheDevice) {
    const ScopedStream first;
    const ScopedStream second;
    std::atomic<int> done{0};
    const auto slow = [](void *counter) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        static_cast<std::atomic<int> *>(counter)->fetch_add(1);
    };
    for (const Handle stream : {static_cast<Handle>(first), static_cast<Handle>(second), Handle{nullptr}}) {
        ASSERT_OK(LaunchHostFunc(stream, slow, &done));
    }
    ASSERT_OK(DeviceSynchronize());
    EXPECT_EQ(done.load(), 3);
}

TEST_F(StreamTest, AsynchronousErrorIsReportedOnce) {
    const ScopedStream stream;
    const Buffer<char> buffer(8);
    std::atomic<int> ran{0};
    ASSERT_OK(LaunchOnStream(stream, "failing", {}, [](std::span<std::byte *const>) { return Result::kInternal; }));
    ASSERT_OK(LaunchOnStream(stream, "later", {}, [&](std::span<std::byte *const>) {
        ran.store(1);
        return Result::kInvalidValue; // the first error counts
    }));
    EXPECT_EQ(StreamSynchronize(stream), Result::kInternal);
    EXPECT_OK(StreamSynchronize(stream));
    EXPECT_EQ(ran.load(), 1);
    ASSERT_OK(LaunchOnStream(stream, "failing", {}, [](std::span<std::byte *const>) { return Result::kInternal; }));
    EXPECT_EQ(DeviceSynchronize(), Result::kInternal);
    EXPECT_OK(DeviceSynchronize());
    ASSERT_OK(LaunchOnStream(stream, "failing", {}, [](std::span<std::byte *const>) { return Result::kInternal; }));
    Result query = Result::kNotReady;
    while (query == Result::kNotReady) { query = StreamQuery(stream); }
    EXPECT_EQ(query, Result::kInternal);
    EXPECT_OK(StreamQuery(stream));
}

TEST_F(StreamTest, PrioritiesAndFlags) {
    int least = 1;
    int greatest = 1;
    ASSERT_OK(StreamPriorityRange(&least, &greatest));
    EXPECT_EQ(least, 0);
    EXPECT_EQ(greatest, -5);
    Handle stream = nullptr;
    ASSERT_OK(CreateStream(&stream, kStreamNonBlocking, -3));
    int priority = 0;
    unsigned flags = 0;
    ASSERT_OK(StreamPriority(stream, &priority));
    ASSERT_OK(StreamFlags(stream, &flags));
    EXPECT_EQ(priority, -3);
    EXPECT_EQ(flags, kStreamNonBlocking);
    ASSERT_OK(DestroyStream(stream));
    EXPECT_EQ(CreateStream(&stream, 0, 1), Result::kInvalidValue);
    EXPECT_EQ(CreateStream(&stream, 0, -6), Result::kInvalidValue);
    EXPECT_EQ(CreateStream(&stream, 8), Result::kInvalidValue);
    EXPECT_EQ(CreateStream(nullptr), Result::kInvalidValue);
}

TEST_F(StreamTest, WaitingInAHostFunctionIsFound) {
    const ScopedStream stream;
    static std::atomic<Result> seen{Result::kSuccess};
    ASSERT_OK(LaunchHostFunc(
        stream, [](void *self) { seen.store(StreamSynchronize(self)); }, stream));
    ASSERT_OK(StreamSynchronize(stream));
    EXPECT_EQ(seen.load(), Result::kIllegalState);
}

TEST_F(StreamTest, LaunchChecksRangesAndDevice) {
    const Buffer<int> buffer(std::vector<int>{1, 2, 3, 4});
    const ScopedStream stream;
    const auto twice = [](std::span<std::byte *const> views) {
        auto *const values = reinterpret_cast<int *>(views[0]);
        for (int i = 0; i < 3; ++i) { values[i] *= 2; }
        EXPECT_EQ(views[1], nullptr);
        return Result::kSuccess;
    };
    ASSERT_OK(LaunchOnStream(stream, "twice", {{buffer.get() + 1, 12, Access::kReadWrite}, {nullptr, 0, Access::kRead}},
                             twice));
    ASSERT_OK(StreamSynchronize(stream));
    EXPECT_EQ(buffer.Read(), (std::vector<int>{1, 4, 6, 8}));
    EXPECT_EQ(LaunchOnStream(stream, "twice", {{buffer.get() + 1, 16, Access::kReadWrite}}, twice),
              Result::kInvalidAddress);
    ASSERT_OK(SetDevice(1));
    EXPECT_EQ(LaunchOnStream(stream, "twice", {}, twice), Result::kInvalidHandle);
    ASSERT_OK(SetDevice(0));
}

TEST_F(StreamTest, Devices) {
    int count = 0;
    ASSERT_OK(DeviceCount(&count));
    EXPECT_EQ(count, 8);
    EXPECT_EQ(SetDevice(8), Result::kInvalidDevice);
    EXPECT_EQ(SetDevice(-1), Result::kInvalidDevice);
    int device = -1;
    ASSERT_OK(GetDevice(&device));
    EXPECT_EQ(device, 0);
    DeviceInfo info;
    ASSERT_OK(GetDeviceInfo(3, &info));
    EXPECT_EQ(info.total_memory, std::size_t{16} << 20);
    ASSERT_OK(DeviceByPciBusId(&device, info.pci_bus_id.c_str()));
    EXPECT_EQ(device, 3);
    EXPECT_EQ(DeviceByPciBusId(&device, "0000:ff:00.0"), Result::kInvalidValue);
    ASSERT_OK(SetDevice(5));
    std::thread([] {
        int own = -1;
        EXPECT_OK(GetDevice(&own));
        EXPECT_EQ(own, 0) << "a new thread starts at device 0";
    }).join();
    ASSERT_OK(SetDevice(0));
}

} // namespace
} // namespace fl::sim
