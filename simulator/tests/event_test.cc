// Events: states, waits between streams, timing, life of the state behind a destroyed handle.
#include "test_util.h"

namespace fl::sim {
namespace {

class EventTest : public EngineTest {};

class ScopedEvent {
public:
    explicit ScopedEvent(unsigned flags = kEventDefault) { EXPECT_OK(CreateEvent(&handle_, flags)); }
    ~ScopedEvent() { EXPECT_OK(DestroyEvent(handle_)); }
    ScopedEvent(const ScopedEvent &) = delete;
    ScopedEvent &operator=(const ScopedEvent &) = delete;
    operator Handle() const { return handle_; }

private:
    Handle handle_ = nullptr;
};

TEST_F(EventTest, QueryStates) {
    const ScopedStream stream;
    const ScopedEvent event;
    EXPECT_OK(EventQuery(event)) << "never recorded";
    EXPECT_OK(EventSynchronize(event));
    {
        const Gate gate(stream);
        ASSERT_OK(RecordEvent(event, stream));
        EXPECT_EQ(EventQuery(event), Result::kNotReady);
    }
    EXPECT_OK(EventSynchronize(event));
    EXPECT_OK(EventQuery(event));
}

TEST_F(EventTest, WaitOrdersStreams) {
    for (int round = 0; round < 20; ++round) {
        const ScopedStream producer;
        const ScopedStream consumer;
        const ScopedEvent event;
        const Buffer<int> buffer(std::vector<int>(4, 0));
        std::vector<int> source(4, round);
        std::vector<int> back(4, -1);
        ASSERT_OK(MemcpyAsync(buffer.get(), source.data(), 16, CopyKind::kHostToDevice, producer));
        ASSERT_OK(RecordEvent(event, producer));
        ASSERT_OK(StreamWaitEvent(consumer, event));
        ASSERT_OK(MemcpyAsync(back.data(), buffer.get(), 16, CopyKind::kDeviceToHost, consumer));
        ASSERT_OK(StreamSynchronize(consumer));
        EXPECT_EQ(back, source);
    }
}

TEST_F(EventTest, WaitCapturesTheCurrentRecord) {
    const ScopedStream first;
    const ScopedStream blocked;
    const ScopedStream waiting;
    const ScopedEvent event;
    ASSERT_OK(RecordEvent(event, first));
    ASSERT_OK(StreamWaitEvent(waiting, event));
    const Gate gate(blocked);
    ASSERT_OK(RecordEvent(event, blocked)); // a later record does not hold up the earlier wait
    EXPECT_OK(StreamSynchronize(waiting));
    EXPECT_EQ(EventQuery(event), Result::kNotReady);
}

TEST_F(EventTest, WaitOnNeverRecordedEvent) {
    const ScopedStream stream;
    const ScopedEvent event;
    ASSERT_OK(StreamWaitEvent(stream, event));
    EXPECT_OK(StreamSynchronize(stream));
}

TEST_F(EventTest, StateOutlivesTheHandle) {
    const ScopedStream producer;
    const ScopedStream consumer;
    const Buffer<int> buffer(std::vector<int>(4, 0));
    std::vector<int> back(4, -1);
    const std::vector<int> source(4, 42);
    Handle event = nullptr;
    ASSERT_OK(CreateEvent(&event));
    {
        const Gate gate(producer);
        ASSERT_OK(MemcpyAsync(buffer.get(), source.data(), 16, CopyKind::kHostToDevice, producer));
        ASSERT_OK(RecordEvent(event, producer));
        ASSERT_OK(StreamWaitEvent(consumer, event));
        ASSERT_OK(DestroyEvent(event));
        ASSERT_OK(MemcpyAsync(back.data(), buffer.get(), 16, CopyKind::kDeviceToHost, consumer));
        EXPECT_EQ(StreamQuery(consumer), Result::kNotReady);
    }
    ASSERT_OK(StreamSynchronize(consumer));
    EXPECT_EQ(back, source);
    EXPECT_EQ(EventQuery(event), Result::kInvalidHandle);
    EXPECT_EQ(DestroyEvent(event), Result::kInvalidHandle);
}

TEST_F(EventTest, Elapsed) {
    const ScopedStream stream;
    const ScopedEvent start;
    const ScopedEvent end;
    const ScopedEvent untimed(kEventDisableTiming);
    double ms = 0;
    EXPECT_EQ(EventElapsed(&ms, start, end), Result::kInvalidHandle) << "never recorded";
    ASSERT_OK(RecordEvent(start, stream));
    ASSERT_OK(LaunchHostFunc(
        stream, [](void *) { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }, nullptr));
    {
        const Gate gate(stream);
        ASSERT_OK(RecordEvent(end, stream));
        ASSERT_OK(RecordEvent(untimed, stream));
        EXPECT_EQ(EventElapsed(&ms, start, end), Result::kNotReady);
    }
    ASSERT_OK(StreamSynchronize(stream));
    ASSERT_OK(EventElapsed(&ms, start, end));
    EXPECT_GE(ms, 30.0);
    EXPECT_LT(ms, 20000.0);
    double back = 0;
    ASSERT_OK(EventElapsed(&back, end, start));
    EXPECT_DOUBLE_EQ(back, -ms);
    EXPECT_EQ(EventElapsed(&ms, start, untimed), Result::kInvalidHandle);
}

TEST_F(EventTest, Flags) {
    Handle event = nullptr;
    EXPECT_EQ(CreateEvent(&event, kEventInterprocess), Result::kInvalidValue);
    ASSERT_OK(CreateEvent(&event, kEventInterprocess | kEventDisableTiming | kEventBlockingSync));
    ASSERT_OK(DestroyEvent(event));
    EXPECT_EQ(CreateEvent(&event, 64), Result::kInvalidValue);
}

TEST_F(EventTest, WrongDevice) {
    const ScopedEvent event;
    ASSERT_OK(SetDevice(1));
    EXPECT_EQ(RecordEvent(event, nullptr), Result::kInvalidHandle);
    ExpectFault("wrong device");
    EXPECT_OK(StreamWaitEvent(nullptr, event)) << "waiting across devices is allowed";
    ASSERT_OK(SetDevice(0));
}

TEST_F(EventTest, CarriesTheStreamsError) {
    const ScopedStream stream;
    const ScopedEvent event;
    ASSERT_OK(LaunchOnStream(stream, "failing", {}, [](std::span<std::byte *const>) { return Result::kInternal; }));
    ASSERT_OK(RecordEvent(event, stream));
    EXPECT_EQ(EventSynchronize(event), Result::kInternal);
    EXPECT_EQ(EventQuery(event), Result::kInternal);
    EXPECT_EQ(StreamSynchronize(stream), Result::kInternal) << "the event did not consume it";
    EXPECT_OK(StreamSynchronize(stream));
}

TEST_F(EventTest, ManyThreadsOneEvent) {
    const ScopedEvent event;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            const ScopedStream stream;
            for (int i = 0; i < 50; ++i) {
                EXPECT_OK(RecordEvent(event, stream));
                EXPECT_OK(StreamWaitEvent(stream, event));
                EXPECT_OK(EventSynchronize(event));
            }
            EXPECT_OK(StreamSynchronize(stream));
        });
    }
    for (std::thread &thread : threads) { thread.join(); }
}

} // namespace
} // namespace fl::sim
