// Library handles and descriptors, and marking for the leak report.
#include "test_util.h"

namespace fl::sim {
namespace {

class ObjectTest : public EngineTest {};

TEST_F(ObjectTest, PayloadAndKind) {
    Handle descriptor = nullptr;
    ASSERT_OK(CreateObject(&descriptor, "simDescriptor", std::make_shared<int>(7)));
    std::shared_ptr<int> payload;
    ASSERT_OK(GetObject(descriptor, "simDescriptor", &payload));
    EXPECT_EQ(*payload, 7);
    EXPECT_EQ(GetObject(descriptor, "simHandle", &payload), Result::kInvalidHandle);
    EXPECT_EQ(payload, nullptr);
    ASSERT_OK(DestroyObject(descriptor, "simDescriptor"));
    EXPECT_EQ(DestroyObject(descriptor, "simDescriptor"), Result::kInvalidHandle);
    ExpectFault("use after destroy");
    EXPECT_EQ(GetObject(nullptr, "simDescriptor", &payload), Result::kInvalidHandle);
    ExpectFault("is null");
}

TEST_F(ObjectTest, Stream) {
    Handle handle = nullptr;
    ASSERT_OK(CreateObject(&handle, "simHandle"));
    const ScopedStream stream;
    Handle seen = &seen;
    ASSERT_OK(GetObjectStream(handle, "simHandle", &seen));
    EXPECT_EQ(seen, nullptr);
    ASSERT_OK(SetObjectStream(handle, "simHandle", stream));
    ASSERT_OK(GetObjectStream(handle, "simHandle", &seen));
    EXPECT_EQ(seen, static_cast<Handle>(stream));
    ASSERT_OK(SetDevice(1));
    {
        const ScopedStream other;
        EXPECT_EQ(SetObjectStream(handle, "simHandle", other), Result::kInvalidHandle);
    }
    ASSERT_OK(SetDevice(0));
    int device = -1;
    ASSERT_OK(ObjectDevice(handle, "simHandle", &device));
    EXPECT_EQ(device, 0);
    EXPECT_EQ(SetObjectStream(handle, "simHandle", handle), Result::kInvalidHandle);
    ASSERT_OK(DestroyObject(handle, "simHandle"));
}

TEST_F(ObjectTest, HandlesAreNeverUsedTwice) {
    Handle first = nullptr;
    Handle second = nullptr;
    ASSERT_OK(CreateObject(&first, "simHandle"));
    ASSERT_OK(DestroyObject(first, "simHandle"));
    ASSERT_OK(CreateObject(&second, "simHandle"));
    EXPECT_NE(first, second);
    ASSERT_OK(DestroyObject(second, "simHandle"));
}

TEST_F(ObjectTest, HandleIsNoReadableMemory) {
    Handle handle = nullptr;
    ASSERT_OK(CreateObject(&handle, "simHandle"));
    const volatile char *const address = static_cast<char *>(handle);
    EXPECT_DEATH(static_cast<void>(*address), "");
    ASSERT_OK(DestroyObject(handle, "simHandle"));
}

TEST_F(ObjectTest, LiveObjectsTellsKinds) {
    const auto find = [](const std::string &kind) {
        for (const LeakCount &count : LiveObjects()) {
            if (count.kind == kind) {
                return count;
            }
        }
        return LeakCount{};
    };
    Handle handle = nullptr;
    void *memory = nullptr;
    void *pinned = nullptr;
    ASSERT_OK(CreateObject(&handle, "simHandle"));
    ASSERT_OK(Malloc(&memory, 100));
    ASSERT_OK(MallocHost(&pinned, 50));
    EXPECT_EQ(find("simHandle").leaked, 1u);
    EXPECT_EQ(find("device memory").leaked, 1u);
    EXPECT_EQ(find("device memory").bytes, 100u);
    EXPECT_EQ(find("pinned host memory").bytes, 50u);
    fl_process_lifetime_object(handle);
    fl_process_lifetime_object(memory);
    fl_process_lifetime_object(pinned);
    fl_process_lifetime_object(nullptr);
    fl_process_lifetime_object(&handle);
    EXPECT_EQ(find("simHandle").leaked, 0u);
    EXPECT_EQ(find("simHandle").process_lifetime, 1u);
    EXPECT_EQ(find("device memory").leaked, 0u);
    EXPECT_EQ(find("device memory").process_lifetime, 1u);
    EXPECT_EQ(find("pinned host memory").process_lifetime, 1u);
    ASSERT_OK(DestroyObject(handle, "simHandle"));
    ASSERT_OK(Free(memory));
    ASSERT_OK(FreeHost(pinned));
    EXPECT_EQ(find("simHandle").kind, "");
}

} // namespace
} // namespace fl::sim
