// Exercises a simulated Neuware SDK through the vendor's names alone. Exits 0 when every expectation held.
#include <cncl.h>
#include <cnnl.h>
#include <cnrt.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" int fl_sim_set_failures(const char *rules);

namespace {

int g_failures = 0;

void Expect(bool held, const char *what, int line) {
    if (!held) {
        std::printf("smoke_mlu.cc:%d: %s\n", line, what);
        ++g_failures;
    }
}
#define EXPECT(condition) Expect((condition), #condition, __LINE__)

void Devices() {
    unsigned int count = 0;
    EXPECT(cnrtGetDeviceCount(&count) == cnrtSuccess && count == 2);
    EXPECT(cnrtSetDevice(1) == cnrtSuccess);
    int ordinal = -1;
    EXPECT(cnrtGetDevice(&ordinal) == cnrtSuccess && ordinal == 1);
    EXPECT(cnrtSetDevice(7) == cnrtErrorDeviceInvalid);
    EXPECT(cnrtGetDevice(nullptr) == cnrtErrorArgsInvalid);
    EXPECT(cnrtSetDevice(0) == cnrtSuccess);
    cnrtDeviceProp_t prop;
    EXPECT(cnrtGetDeviceProperties(&prop, 0) == cnrtSuccess && std::strlen(prop.name) > 0);
    int clusters = 0;
    EXPECT(cnrtDeviceGetAttribute(&clusters, cnrtAttrClusterCount, 0) == cnrtSuccess && clusters > 0);
    int least = -1;
    int greatest = -1;
    EXPECT(cnrtDeviceGetQueuePriorityRange(&least, &greatest) == cnrtSuccess && least == 7 && greatest == 0);
    char bus[32] = {};
    int back = -1;
    EXPECT(cnrtDeviceGetPCIBusId(bus, sizeof(bus), 1) == cnrtSuccess);
    EXPECT(cnrtDeviceGetByPCIBusId(&back, bus) == cnrtSuccess && back == 1);
    int major = 0;
    int minor = 0;
    int patch = 0;
    EXPECT(cnrtGetLibVersion(&major, &minor, &patch) == cnrtSuccess && major == CNRT_MAJOR_VERSION);
    EXPECT(std::string(cnrtGetErrorStr(cnrtErrorNoMem)) == "cnrtErrorNoMem");
}

void Memory() {
    void *device = nullptr;
    EXPECT(cnrtMalloc(&device, 4096) == cnrtSuccess && device != nullptr);
    std::vector<float> host(1024);
    for (std::size_t i = 0; i < host.size(); ++i) { host[i] = static_cast<float>(i); }
    EXPECT(cnrtMemcpy(device, host.data(), 4096, cnrtMemcpyHostToDev) == cnrtSuccess);
    std::vector<float> back(1024, -1.0F);
    EXPECT(cnrtMemcpy(back.data(), device, 4096, cnrtMemcpyNoDirection) == cnrtSuccess);
    EXPECT(back == host);
    EXPECT(cnrtMemcpy(back.data(), device, 4096, cnrtMemcpyHostToDev) == cnrtErrorMemcpyDirectionInvalid);
    EXPECT(cnrtMemcpy(back.data(), static_cast<char *>(device) + 8, 4096, cnrtMemcpyDevToHost) == cnrtErrorArgsInvalid);
    EXPECT(cnrtMemset(device, 0, 4096) == cnrtSuccess);
    EXPECT(cnrtMemcpy(back.data(), device, 4096, cnrtMemcpyDevToHost) == cnrtSuccess && back[17] == 0.0F);
    cnrtPointerAttributes_t attributes;
    EXPECT(cnrtPointerGetAttributes(&attributes, device) == cnrtSuccess && attributes.type == cnrtMemTypeDevice);
    EXPECT(attributes.size == 4096 && attributes.device == 0);
    EXPECT(cnrtPointerGetAttributes(&attributes, host.data()) == cnrtSuccess
           && attributes.type == cnrtMemTypeUnregistered);
    void *pinned = nullptr;
    EXPECT(cnrtHostMalloc(&pinned, 64) == cnrtSuccess && cnrtFreeHost(pinned) == cnrtSuccess);
    void *nothing = &host;
    EXPECT(cnrtMalloc(&nothing, 0) == cnrtSuccess && nothing == nullptr);
    EXPECT(cnrtMemcpy(device, host.data(), 0, cnrtMemcpyHostToDev) == cnrtSuccess);
    void *huge = nullptr;
    EXPECT(cnrtMalloc(&huge, std::size_t{1} << 40) == cnrtErrorNoMem);
    EXPECT(cnrtGetLastError() == cnrtErrorNoMem && cnrtGetLastError() == cnrtSuccess);
    std::size_t free_bytes = 0;
    std::size_t total = 0;
    EXPECT(cnrtMemGetInfo(&free_bytes, &total) == cnrtSuccess && free_bytes > 0 && free_bytes < total);

    EXPECT(cnrtMemcpy(device, host.data(), 4096, cnrtMemcpyHostToDev) == cnrtSuccess);
    EXPECT(cnrtSetDevice(1) == cnrtSuccess);
    void *other = nullptr;
    EXPECT(cnrtMalloc(&other, 4096) == cnrtSuccess);
    EXPECT(cnrtMemcpy(other, device, 4096, cnrtMemcpyPeerToPeer) == cnrtSuccess);
    EXPECT(cnrtMemcpy(back.data(), other, 4096, cnrtMemcpyDevToHost) == cnrtSuccess && back == host);
    EXPECT(cnrtFree(other) == cnrtSuccess);
    EXPECT(cnrtSetDevice(0) == cnrtSuccess);
    EXPECT(cnrtFree(device) == cnrtSuccess);
    EXPECT(cnrtFree(device) != cnrtSuccess);
}

void Wait(void *milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int *>(milliseconds)));
}

void Queues() {
    cnrtQueue_t queue = nullptr;
    cnrtNotifier_t start = nullptr;
    cnrtNotifier_t end = nullptr;
    EXPECT(cnrtQueueCreateWithPriority(&queue, 0, 99) == cnrtSuccess);
    EXPECT(cnrtNotifierCreate(&start) == cnrtSuccess && cnrtNotifierCreate(&end) == cnrtSuccess);
    int sleep = 60;
    EXPECT(cnrtPlaceNotifier(start, queue) == cnrtSuccess);
    EXPECT(cnrtInvokeHostFunc(queue, Wait, &sleep) == cnrtSuccess);
    EXPECT(cnrtPlaceNotifier(end, queue) == cnrtSuccess);
    EXPECT(cnrtQueueQuery(queue) == cnrtErrorNotReady);
    EXPECT(cnrtQueryNotifier(end) == cnrtErrorBusy);
    EXPECT(cnrtQueueWaitNotifier(end, nullptr, 0) == cnrtSuccess);
    EXPECT(cnrtWaitNotifier(end) == cnrtSuccess);
    EXPECT(cnrtQueueSync(queue) == cnrtSuccess && cnrtQueueQuery(queue) == cnrtSuccess);
    float ms = 0.0F;
    float us = 0.0F;
    EXPECT(cnrtNotifierElapsedTime(start, end, &ms) == cnrtSuccess && ms >= 55.0F);
    EXPECT(cnrtNotifierDuration(start, end, &us) == cnrtSuccess && std::fabs(us - 1000.0F * ms) < 1.0F);
    cnrtNotifier_t untimed = nullptr;
    EXPECT(cnrtNotifierCreateWithFlags(&untimed, CNRT_NOTIFIER_DISABLE_TIMING) == cnrtSuccess);
    EXPECT(cnrtPlaceNotifier(untimed, queue) == cnrtSuccess && cnrtWaitNotifier(untimed) == cnrtSuccess);
    EXPECT(cnrtNotifierElapsedTime(start, untimed, &ms) == cnrtErrorInvalidResourceHandle);
    EXPECT(cnrtNotifierDuration(start, untimed, &us) == cnrtSuccess);
    EXPECT(cnrtNotifierDestroy(untimed) == cnrtSuccess);
    EXPECT(cnrtNotifierCreateWithFlags(&untimed, 1) == cnrtErrorArgsInvalid);
    EXPECT(cnrtNotifierDestroy(start) == cnrtSuccess && cnrtNotifierDestroy(end) == cnrtSuccess);
    EXPECT(cnrtNotifierDestroy(end) == cnrtErrorInvalidResourceHandle);
#if CNRT_MINOR_VERSION >= 14
    int priority = -1;
    EXPECT(cnrtQueueGetPriority(queue, &priority) == cnrtSuccess && priority == 7);
    void *block = nullptr;
    EXPECT(cnrtMemAllocAsync(&block, 256, queue) == cnrtSuccess);
    cnrtMemPool_t pool = nullptr;
    std::uint64_t used = 0;
    EXPECT(cnrtDeviceGetDefaultMemPool(&pool, 0) == cnrtSuccess);
    EXPECT(cnrtMemPoolGetAttribute(pool, cnrtMemPoolAttrUsedMemCurrent, &used) == cnrtSuccess && used >= 256);
    EXPECT(cnrtMemFreeAsync(block, queue) == cnrtSuccess && cnrtQueueSync(queue) == cnrtSuccess);
    EXPECT(cnrtMemPoolGetAttribute(pool, cnrtMemPoolAttrUsedMemHigh, &used) == cnrtSuccess && used >= 256);
#endif
    EXPECT(cnrtQueueDestroy(queue) == cnrtSuccess);
    EXPECT(cnrtQueueSync(queue) == cnrtErrorInvalidResourceHandle);
}

void FaultInjection() {
    void *device = nullptr;
    EXPECT(fl_sim_set_failures("cnrtMalloc:2:oom,cnrtQueueCreate:1") == 0);
    EXPECT(cnrtMalloc(&device, 64) == cnrtSuccess && cnrtFree(device) == cnrtSuccess);
    EXPECT(cnrtMalloc(&device, 64) == cnrtErrorNoMem);
    cnrtQueue_t queue = nullptr;
    EXPECT(cnrtQueueCreate(&queue) == cnrtErrorUnknown);
    EXPECT(fl_sim_set_failures(nullptr) == 0);
    EXPECT(cnrtMalloc(&device, 64) == cnrtSuccess && cnrtFree(device) == cnrtSuccess);
    EXPECT(fl_sim_set_failures("cnclGetCommAsyncError:1") == 0);
    EXPECT(cnclGetCommAsyncError(nullptr) == CNCL_RET_ERR_INTERNAL);
    EXPECT(fl_sim_set_failures(nullptr) == 0);
}

void Library() {
    cnnlHandle_t handle = nullptr;
    cnrtQueue_t queue = nullptr;
    cnnlTensorDescriptor_t from = nullptr;
    cnnlTensorDescriptor_t to = nullptr;
    EXPECT(cnnlCreate(&handle) == CNNL_STATUS_SUCCESS && cnrtQueueCreate(&queue) == cnrtSuccess);
    EXPECT(cnnlSetQueue(handle, queue) == CNNL_STATUS_SUCCESS);
    cnrtQueue_t found = nullptr;
    EXPECT(cnnlGetQueue(handle, &found) == CNNL_STATUS_SUCCESS && found == queue);
    EXPECT(cnnlCreateTensorDescriptor(&from) == CNNL_STATUS_SUCCESS);
    EXPECT(cnnlCreateTensorDescriptor(&to) == CNNL_STATUS_SUCCESS);
    const int dims[] = {2, 3};
    EXPECT(cnnlSetTensorDescriptor(from, CNNL_LAYOUT_ARRAY, CNNL_DTYPE_FLOAT, 2, dims) == CNNL_STATUS_SUCCESS);
    EXPECT(cnnlSetTensorDescriptor(to, CNNL_LAYOUT_ARRAY, CNNL_DTYPE_HALF, 2, dims) == CNNL_STATUS_SUCCESS);
    EXPECT(cnnlGetTensorElementNum(from) == 6);
    void *input = nullptr;
    void *output = nullptr;
    EXPECT(cnrtMalloc(&input, 24) == cnrtSuccess && cnrtMalloc(&output, 12) == cnrtSuccess);
    float values[] = {0.0F, 1.0F, -2.0F, 65504.0F, 1.0e9F, 0.333F};
    EXPECT(cnrtMemcpy(input, values, sizeof(values), cnrtMemcpyHostToDev) == cnrtSuccess);
    EXPECT(cnnlCastDataType(handle, from, input, CNNL_CAST_FLOAT_TO_HALF, to, output) == CNNL_STATUS_SUCCESS);
    EXPECT(cnrtQueueSync(queue) == cnrtSuccess);
    std::uint16_t half[6] = {};
    EXPECT(cnrtMemcpy(half, output, sizeof(half), cnrtMemcpyDevToHost) == cnrtSuccess);
    const std::uint16_t expected[6] = {0x0000, 0x3C00, 0xC000, 0x7BFF, 0x7C00, 0x3554}; // IEEE 754 binary16
    EXPECT(std::memcmp(half, expected, sizeof(half)) == 0);
    EXPECT(cnnlCastDataType(handle, from, input, CNNL_CAST_FLOAT_TO_INT8, to, output) == CNNL_STATUS_BAD_PARAM);
    EXPECT(cnnlCastDataType(handle, from, input, CNNL_CAST_FLOAT_TO_COMPLEX_HALF, to, output)
           == CNNL_STATUS_NOT_SUPPORTED);
    const float three = 3.0F;
    EXPECT(cnnlFill_v3(handle, CNNL_POINTER_MODE_HOST, &three, from, input) == CNNL_STATUS_SUCCESS);
    EXPECT(cnrtQueueSync(queue) == cnrtSuccess);
    EXPECT(cnrtMemcpy(values, input, sizeof(values), cnrtMemcpyDevToHost) == cnrtSuccess && values[5] == 3.0F);
    EXPECT(cnnlDestroyTensorDescriptor(from) == CNNL_STATUS_SUCCESS);
    EXPECT(cnnlCastDataType(handle, from, input, CNNL_CAST_FLOAT_TO_HALF, to, output) == CNNL_STATUS_BAD_PARAM);
    EXPECT(cnnlDestroyTensorDescriptor(to) == CNNL_STATUS_SUCCESS && cnnlDestroy(handle) == CNNL_STATUS_SUCCESS);
    EXPECT(cnrtFree(input) == cnrtSuccess && cnrtFree(output) == cnrtSuccess);
    EXPECT(cnrtQueueDestroy(queue) == cnrtSuccess);
}

void Rank(int rank, struct cnclCliqueId id) {
    EXPECT(cnrtSetDevice(rank) == cnrtSuccess);
    cnclComm_t comm = nullptr;
    EXPECT(cnclInitComms(&comm, 1, &rank, &rank, 2, &id) == CNCL_RET_SUCCESS);
    int value = -1;
    EXPECT(cnclGetCommRank(&value, comm) == CNCL_RET_SUCCESS && value == rank);
    EXPECT(cnclGetCommCount(&value, comm) == CNCL_RET_SUCCESS && value == 2);
    cnrtQueue_t queue = nullptr;
    void *data = nullptr;
    EXPECT(cnrtQueueCreate(&queue) == cnrtSuccess && cnrtMalloc(&data, 16) == cnrtSuccess);
    float host[4] = {1.0F + rank, 2.0F, 3.0F, -4.0F};
    EXPECT(cnrtMemcpy(data, host, sizeof(host), cnrtMemcpyHostToDev) == cnrtSuccess);
    EXPECT(cnclAllReduce(data, data, 4, cnclFloat, cnclSum, comm, queue) == CNCL_RET_SUCCESS);
    EXPECT(cnrtQueueSync(queue) == cnrtSuccess);
    EXPECT(cnrtMemcpy(host, data, sizeof(host), cnrtMemcpyDevToHost) == cnrtSuccess);
    EXPECT(host[0] == 3.0F && host[1] == 4.0F && host[3] == -8.0F);
    EXPECT(cnclAllReduce(data, data, 4, cnclInvalid, cnclSum, comm, queue) == CNCL_RET_ERR_ARGUMENTS);
    EXPECT(cnclGetCommAsyncError(comm) == CNCL_RET_SUCCESS);

    EXPECT(cnclGroupStart() == CNCL_RET_SUCCESS);
    EXPECT(cnclSend(data, 2, cnclFloat, 1 - rank, comm, queue) == CNCL_RET_SUCCESS);
    EXPECT(cnclRecv(static_cast<float *>(data) + 2, 2, cnclFloat, 1 - rank, comm, queue) == CNCL_RET_SUCCESS);
    EXPECT(cnclGroupEnd() == CNCL_RET_SUCCESS && cnrtQueueSync(queue) == cnrtSuccess);
    EXPECT(cnrtMemcpy(host, data, sizeof(host), cnrtMemcpyDevToHost) == cnrtSuccess && host[2] == 3.0F);
    EXPECT(cnclFreeComm(comm) == CNCL_RET_SUCCESS && cnclFreeComm(comm) == CNCL_RET_ERR_ARGUMENTS);
    EXPECT(cnrtFree(data) == cnrtSuccess && cnrtQueueDestroy(queue) == cnrtSuccess);
}

void Collectives() {
    struct cnclCliqueId id;
    EXPECT(cnclGetCliqueId(&id) == CNCL_RET_SUCCESS);
    std::thread peer(Rank, 1, id);
    Rank(0, id);
    peer.join();
    struct cnclCliqueId cut = {};
    std::memcpy(&cut, id.data, sizeof(id.data)); // shipped without the hash
    const int zero = 0;
    cnclComm_t comm = nullptr;
    EXPECT(cnclInitComms(&comm, 1, &zero, &zero, 1, &cut) == CNCL_RET_ERR_ARGUMENTS);
    EXPECT(cnclInitComms(&comm, 1, &zero, &zero, 1, nullptr) == CNCL_RET_SUCCESS);
    EXPECT(cnclDestroyComms(&comm, 1) == CNCL_RET_SUCCESS);
}

} // namespace

int main() {
    Devices();
    Memory();
    Queues();
    FaultInjection();
    Library();
    Collectives();
    std::printf("%s: %d failed\n", cnclGetErrorStr(CNCL_RET_SUCCESS), g_failures);
    return g_failures == 0 ? 0 : 1;
}
