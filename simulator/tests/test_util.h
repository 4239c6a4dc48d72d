// Helpers of the engine's tests.
#pragma once

#include <cstring>

#include <atomic>
#include <chrono>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fl_sim/engine.h"

#define ASSERT_OK(expression) ASSERT_EQ(fl::sim::Result::kSuccess, expression)
#define EXPECT_OK(expression) EXPECT_EQ(fl::sim::Result::kSuccess, expression)

namespace fl::sim {

inline void PrintTo(Result result, std::ostream *out) { *out << ResultName(result); }

// Expects `text` inside the last fault.
inline void ExpectFault(const std::string &text) {
    EXPECT_NE(LastFault().find(text), std::string::npos) << LastFault();
}

// Device memory of one test. Freed synchronously: the test must have waited for its streams.
template <typename T> class Buffer {
public:
    explicit Buffer(std::size_t count) : count_(count) {
        void *memory = nullptr;
        EXPECT_OK(Malloc(&memory, count * sizeof(T)));
        data_ = static_cast<T *>(memory);
        EXPECT_OK(GetDevice(&device_));
    }
    explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) { Write(values); }
    ~Buffer() { EXPECT_OK(Free(data_)); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    T *get() const { return data_; }
    std::size_t bytes() const { return count_ * sizeof(T); }
    void Write(const std::vector<T> &values) {
        const int before = Switch();
        EXPECT_OK(Memcpy(data_, values.data(), values.size() * sizeof(T), CopyKind::kHostToDevice));
        EXPECT_OK(SetDevice(before));
    }
    std::vector<T> Read() const {
        const int before = Switch();
        std::vector<T> values(count_);
        EXPECT_OK(Memcpy(values.data(), data_, bytes(), CopyKind::kDeviceToHost));
        EXPECT_OK(SetDevice(before));
        return values;
    }

private:
    int Switch() const {
        int before = 0;
        EXPECT_OK(GetDevice(&before));
        EXPECT_OK(SetDevice(device_));
        return before;
    }
    std::size_t count_;
    int device_ = 0;
    T *data_ = nullptr;
};

class ScopedStream {
public:
    explicit ScopedStream(std::optional<int> priority = std::nullopt) {
        EXPECT_OK(CreateStream(&handle_, kStreamDefault, priority));
        EXPECT_OK(GetDevice(&device_));
    }
    ~ScopedStream() {
        int before = 0;
        EXPECT_OK(GetDevice(&before));
        EXPECT_OK(SetDevice(device_));
        EXPECT_OK(DestroyStream(handle_));
        EXPECT_OK(SetDevice(before));
    }
    ScopedStream(const ScopedStream &) = delete;
    ScopedStream &operator=(const ScopedStream &) = delete;
    operator Handle() const { return handle_; }

private:
    Handle handle_ = nullptr;
    int device_ = 0;
};

// Holds a stream up until it is released: what is queued behind it cannot have run.
class Gate {
public:
    explicit Gate(Handle stream) {
        EXPECT_OK(LaunchHostFunc(
            stream,
            [](void *gate) {
                auto *const self = static_cast<Gate *>(gate);
                while (!self->open_.load()) { std::this_thread::sleep_for(std::chrono::microseconds(100)); }
                self->passed_.store(true);
            },
            this));
    }
    void Open() { open_.store(true); }
    // The worker uses this object until then.
    ~Gate() {
        Open();
        while (!passed_.load()) { std::this_thread::sleep_for(std::chrono::microseconds(100)); }
    }
    Gate(const Gate &) = delete;
    Gate &operator=(const Gate &) = delete;

private:
    std::atomic<bool> open_{false};
    std::atomic<bool> passed_{false};
};

class EngineTest : public testing::Test {
protected:
    void SetUp() override {
        EXPECT_OK(SetDevice(0));
        ClearFaults();
    }
    void TearDown() override {
        EXPECT_OK(SetFailures(nullptr));
        for (const LeakCount &count : LiveObjects()) {
            EXPECT_EQ(count.leaked, 0u) << count.kind << " left by this test";
        }
    }
};

} // namespace fl::sim
