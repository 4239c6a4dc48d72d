// Exercises what a simulated TopsRider SDK has of its own: the rules that code for another CUDA-shaped SDK does not
// meet. Exits 0 when every expectation held.
#include <eccl.h>
#include <tops/tops_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

int g_failures = 0;

void Expect(bool held, const char *what, int line) {
    if (!held) {
        std::printf("smoke_gcu.cc:%d: %s\n", line, what);
        ++g_failures;
    }
}
#define EXPECT(condition) Expect((condition), #condition, __LINE__)

void Runtime() {
    int count = 0;
    EXPECT(topsInit(0) == topsSuccess && topsGetDeviceCount(&count) == topsSuccess && count == 2);
    topsDeviceProp_t properties;
    EXPECT(topsGetDeviceProperties(&properties, 1) == topsSuccess && std::strlen(properties.name) > 0);
    topsStream_t stream = nullptr;
    void *device = nullptr;
    EXPECT(topsStreamCreateWithFlags(&stream, topsStreamNonBlocking) == topsSuccess);
    EXPECT(topsMallocAsync(&device, 64, stream, topsDeviceMallocDefault) == topsSuccess);
    EXPECT(topsMallocAsync(&device, 64, stream, 1) == topsErrorNotSupported);
    EXPECT(topsFreeAsync(device, stream) == topsSuccess && topsStreamSynchronize(stream) == topsSuccess);
    topsEvent_t event = nullptr;
    EXPECT(topsEventCreateWithFlags(&event, topsEventInterprocess) == topsErrorNotSupported);
    EXPECT(topsEventCreateWithFlags(&event, topsEventDisableTiming) == topsSuccess);
    EXPECT(topsEventRecord(event, stream) == topsSuccess && topsEventSynchronize(event) == topsSuccess);
    EXPECT(topsEventDestroy(event) == topsSuccess && topsStreamDestroy(stream) == topsSuccess);
    void *pinned = nullptr;
    EXPECT(topsHostMalloc(&pinned, 64, topsHostMallocDefault) == topsSuccess && topsHostFree(pinned) == topsSuccess);
}

// A device pointer means something on the current device only.
void Affinity() {
    void *device = nullptr;
    std::uint8_t host[16] = {};
    topsStream_t there = nullptr;
    EXPECT(topsMalloc(&device, sizeof(host)) == topsSuccess);
    EXPECT(topsMemcpy(device, host, sizeof(host), topsMemcpyHostToDevice) == topsSuccess);
    EXPECT(topsSetDevice(1) == topsSuccess && topsStreamCreate(&there) == topsSuccess);
    EXPECT(topsMemcpy(host, device, sizeof(host), topsMemcpyDeviceToHost) == topsErrorInvalidDevicePointer);
    EXPECT(topsMemcpyAsync(host, device, sizeof(host), topsMemcpyDeviceToHost, there) == topsErrorInvalidDevicePointer);
    EXPECT(topsMemsetAsync(device, 1, sizeof(host), there) == topsErrorInvalidDevicePointer);
    EXPECT(topsFree(device) == topsErrorInvalidDevicePointer);
    EXPECT(topsFreeAsync(device, there) == topsErrorInvalidDevicePointer);
    topsPointerAttribute_t attributes;
    EXPECT(topsPointerGetAttributes(&attributes, device) == topsSuccess && attributes.device == 0);
    EXPECT(attributes.memoryType == topsMemoryTypeDevice && attributes.device_pointer == device);
    EXPECT(topsStreamDestroy(there) == topsSuccess);
    EXPECT(topsSetDevice(attributes.device) == topsSuccess && topsFree(device) == topsSuccess);
    EXPECT(topsPointerGetAttributes(&attributes, host) == topsErrorInvalidValue);
}

void Rank(int rank, ecclUniqueId id) {
    EXPECT(topsSetDevice(rank) == topsSuccess);
    ecclComm_t comm = nullptr;
    topsStream_t stream = nullptr;
    void *data = nullptr;
    void *all = nullptr;
    EXPECT(ecclCommInitRank(&comm, 2, id, rank) == ecclSuccess && topsStreamCreate(&stream) == topsSuccess);
    int value = -1;
    EXPECT(ecclCommDevice(comm, &value) == ecclSuccess && value == rank);
    EXPECT(topsMalloc(&data, 16) == topsSuccess && topsMalloc(&all, 32) == topsSuccess);
    const std::int64_t numbers[2] = {10 + rank, 20 + rank};
    EXPECT(topsMemcpy(data, numbers, sizeof(numbers), topsMemcpyHostToDevice) == topsSuccess);
    // Types of 64 bits: gathered and broadcast, but neither reduced nor sent.
    EXPECT(ecclAllReduce(data, data, 2, ecclInt64, ecclSum, comm, stream) == ecclInvalidArgument);
    EXPECT(ecclReduceScatter(data, all, 1, ecclFloat64, ecclSum, comm, stream) == ecclInvalidArgument);
    EXPECT(ecclSend(data, 2, ecclUint64, 1 - rank, comm, stream) == ecclInvalidArgument);
    EXPECT(ecclAllGather(data, all, 2, ecclInt64, comm, stream) == ecclSuccess);
    EXPECT(topsStreamSynchronize(stream) == topsSuccess);
    std::int64_t gathered[4] = {};
    EXPECT(topsMemcpy(gathered, all, sizeof(gathered), topsMemcpyDeviceToHost) == topsSuccess);
    EXPECT(gathered[0] == 10 && gathered[3] == 21);
    // A group holds one kind: sends and receives are one, a reduction is another.
    EXPECT(ecclGroupStart() == ecclSuccess);
    EXPECT(ecclSend(data, 2, ecclInt32, 1 - rank, comm, stream) == ecclSuccess);
    EXPECT(ecclRecv(all, 2, ecclInt32, 1 - rank, comm, stream) == ecclSuccess);
    EXPECT(ecclAllReduce(data, data, 2, ecclInt32, ecclSum, comm, stream) == ecclInvalidUsage);
    EXPECT(ecclGroupEnd() == ecclSuccess && topsStreamSynchronize(stream) == topsSuccess);
    EXPECT(ecclGroupStart() == ecclSuccess); // the next group may be of another kind
    EXPECT(ecclAllReduce(data, data, 2, ecclInt32, ecclSum, comm, stream) == ecclSuccess);
    EXPECT(ecclGroupEnd() == ecclSuccess && topsStreamSynchronize(stream) == topsSuccess);
    EXPECT(ecclCommDestroy(comm) == ecclSuccess && topsStreamDestroy(stream) == topsSuccess);
    EXPECT(topsFree(data) == topsSuccess && topsFree(all) == topsSuccess);
}

void Collectives() {
    ecclUniqueId id;
    EXPECT(ecclGetUniqueId(&id) == ecclSuccess);
    std::thread peer(Rank, 1, id);
    Rank(0, id);
    peer.join();
}

} // namespace

int main() {
    Runtime();
    Affinity();
    Collectives();
    std::printf("%s: %d failed\n", ecclGetErrorString(ecclSuccess), g_failures);
    return g_failures == 0 ? 0 : 1;
}
