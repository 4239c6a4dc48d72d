// Exercises a simulated CANN through the vendor's names alone. Exits 0 when every expectation held.
#include <acl/acl.h>
#include <acl/acl_rt_memory_soma.h>
#include <aclnnop/aclnn_cast.h>
#include <hccl/hccl.h>

#include <chrono>
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
        std::printf("smoke_ascend.cc:%d: %s\n", line, what);
        ++g_failures;
    }
}
#define EXPECT(condition) Expect((condition), #condition, __LINE__)

// Nothing works before aclInit, and little on a thread that set no device.
void Contexts() {
    EXPECT(aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE);
    EXPECT(aclInit(nullptr) == ACL_SUCCESS && aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE);
    int32_t device = -1;
    void *memory = nullptr;
    aclrtStream stream = nullptr;
    EXPECT(aclrtGetDevice(&device) == ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_RT_CONTEXT_NULL);
    EXPECT(aclrtCreateStream(&stream) == ACL_ERROR_RT_CONTEXT_NULL);
    uint32_t count = 0;
    EXPECT(aclrtGetDeviceCount(&count) == ACL_SUCCESS && count == 2);
    EXPECT(aclrtSetDevice(static_cast<int32_t>(count)) == ACL_ERROR_RT_INVALID_DEVICEID);
    EXPECT(aclrtSetDevice(1) == ACL_SUCCESS && aclrtGetDevice(&device) == ACL_SUCCESS && device == 1);
    aclrtContext first = nullptr;
    aclrtContext second = nullptr;
    EXPECT(aclrtGetCurrentContext(&first) == ACL_SUCCESS && first != nullptr);
    EXPECT(aclrtCreateContext(&second, 0) == ACL_SUCCESS && second != first);
    EXPECT(aclrtGetDevice(&device) == ACL_SUCCESS && device == 0);
    EXPECT(aclrtSetCurrentContext(first) == ACL_SUCCESS && aclrtGetDevice(&device) == ACL_SUCCESS && device == 1);
    EXPECT(aclrtDestroyContext(second) == ACL_SUCCESS);
    EXPECT(aclrtSetCurrentContext(second) == ACL_ERROR_INVALID_RESOURCE_HANDLE);
    EXPECT(aclrtSetDevice(0) == ACL_SUCCESS);
    EXPECT(std::string(aclrtGetSocName()) == "Simulated Ascend");
    std::thread([] {
        int32_t mine = -1;
        EXPECT(aclrtGetDevice(&mine) == ACL_ERROR_RT_CONTEXT_NULL);
    }).join();
}

void Wait(void *milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int *>(milliseconds)));
}

void Runtime() {
    int32_t least = -1;
    int32_t greatest = -1;
    EXPECT(aclrtDeviceGetStreamPriorityRange(&least, &greatest) == ACL_SUCCESS && least == 7 && greatest == 0);
    aclrtStream stream = nullptr;
    EXPECT(aclrtCreateStreamWithConfig(&stream, 7, ACL_STREAM_FAST_LAUNCH) == ACL_SUCCESS);
    void *device = nullptr;
    EXPECT(aclrtMalloc(&device, 1024, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    std::vector<float> host(256, 1.5F);
    // More than there is room for is refused, whatever the memory is.
    EXPECT(aclrtMemcpyAsync(device, 512, host.data(), 1024, ACL_MEMCPY_HOST_TO_DEVICE, stream)
           == ACL_ERROR_INVALID_PARAM);
    EXPECT(aclrtMemsetAsync(device, 512, 0, 1024, stream) == ACL_ERROR_INVALID_PARAM);
    EXPECT(std::string(aclGetRecentErrMsg()) == "invalid argument" && aclGetRecentErrMsg() == nullptr);
    EXPECT(aclrtMemcpyAsync(device, 1024, host.data(), 1024, ACL_MEMCPY_HOST_TO_DEVICE, stream) == ACL_SUCCESS);
    int sleep = 50;
    aclrtEvent event = nullptr;
    EXPECT(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC) == ACL_SUCCESS);
    EXPECT(aclrtLaunchHostFunc(stream, Wait, &sleep) == ACL_SUCCESS);
    EXPECT(aclrtRecordEvent(event, stream) == ACL_SUCCESS);
    aclrtStreamStatus queue = ACL_STREAM_STATUS_RESERVED;
    aclrtEventRecordedStatus record = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    EXPECT(aclrtStreamQuery(stream, &queue) == ACL_SUCCESS && queue == ACL_STREAM_STATUS_NOT_READY);
    EXPECT(aclrtQueryEventStatus(event, &record) == ACL_SUCCESS && record == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    EXPECT(aclrtSynchronizeEvent(event) == ACL_SUCCESS && aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    EXPECT(aclrtStreamQuery(stream, &queue) == ACL_SUCCESS && queue == ACL_STREAM_STATUS_COMPLETE);
    EXPECT(aclrtQueryEventStatus(event, &record) == ACL_SUCCESS && record == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    float milliseconds = 0.0F;
    EXPECT(aclrtEventElapsedTime(&milliseconds, event, event) == ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
    // Only an event with ACL_EVENT_SYNC holds a stream back.
    aclrtEvent timed = nullptr;
    EXPECT(aclrtCreateEventExWithFlag(&timed, ACL_EVENT_TIME_LINE) == ACL_SUCCESS);
    EXPECT(aclrtRecordEvent(timed, stream) == ACL_SUCCESS && aclrtSynchronizeEvent(timed) == ACL_SUCCESS);
    EXPECT(aclrtEventElapsedTime(&milliseconds, timed, timed) == ACL_SUCCESS && milliseconds == 0.0F);
    EXPECT(aclrtStreamWaitEvent(stream, timed) == ACL_ERROR_INVALID_RESOURCE_HANDLE);
    EXPECT(aclrtStreamWaitEvent(stream, event) == ACL_SUCCESS);
    // A stream belongs to its device.
    EXPECT(aclrtSetDevice(1) == ACL_SUCCESS);
    EXPECT(aclrtMemsetAsync(device, 1024, 0, 1024, stream) == ACL_ERROR_INVALID_RESOURCE_HANDLE);
    EXPECT(aclrtSetDevice(0) == ACL_SUCCESS);
    std::vector<float> back(256, 0.0F);
    EXPECT(aclrtMemcpy(back.data(), 1024, device, 1024, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS && back == host);
    EXPECT(aclrtMemcpy(back.data(), 1024, device, 1024, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_ERROR_INVALID_PARAM);
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    EXPECT(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes) == ACL_SUCCESS && free_bytes < total_bytes);
    aclrtPtrAttributes attributes;
    EXPECT(aclrtPointerGetAttributes(device, &attributes) == ACL_SUCCESS && attributes.location.id == 0);
    EXPECT(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE);
    void *huge = nullptr;
    EXPECT(aclrtMalloc(&huge, std::size_t{1} << 40, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_RT_MEMORY_ALLOCATION);
    EXPECT(fl_sim_set_failures("aclrtMalloc:1:oom") == 0);
    EXPECT(aclrtMalloc(&huge, 64, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_RT_MEMORY_ALLOCATION);
    EXPECT(fl_sim_set_failures(nullptr) == 0);
    EXPECT(aclrtDestroyEvent(event) == ACL_SUCCESS && aclrtDestroyEvent(timed) == ACL_SUCCESS);
    EXPECT(aclrtFree(device) == ACL_SUCCESS && aclrtDestroyStream(stream) == ACL_SUCCESS);
    EXPECT(aclrtSynchronizeStream(stream) == ACL_ERROR_INVALID_RESOURCE_HANDLE);
}

void Pools() {
    aclrtStream stream = nullptr;
    EXPECT(aclrtCreateStream(&stream) == ACL_SUCCESS);
    aclrtMemPoolProps properties = {};
    aclrtMemPool pool = nullptr;
    EXPECT(aclrtMemPoolCreate(&pool, &properties) == ACL_ERROR_INVALID_PARAM); // not on a device
    properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    properties.reserved[0] = 1;
    EXPECT(aclrtMemPoolCreate(&pool, &properties) == ACL_ERROR_INVALID_PARAM);
    properties.reserved[0] = 0;
    EXPECT(aclrtMemPoolCreate(&pool, &properties) == ACL_SUCCESS);
    void *memory = nullptr;
    EXPECT(aclrtMemPoolMallocAsync(&memory, 1024, pool, stream) == ACL_SUCCESS && memory != nullptr);
    std::uint64_t used = 0;
    EXPECT(aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &used) == ACL_SUCCESS && used >= 1024);
    std::uint64_t threshold = UINT64_MAX;
    EXPECT(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold) == ACL_ERROR_INVALID_PARAM);
    threshold = 1U << 20U;
    EXPECT(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold) == ACL_SUCCESS);
    EXPECT(aclrtMemPoolFreeAsync(memory, stream) == ACL_SUCCESS && aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    EXPECT(aclrtMemPoolDestroy(pool) == ACL_SUCCESS && aclrtDestroyStream(stream) == ACL_SUCCESS);
}

aclTensor *Tensor(aclDataType dtype, std::int64_t count, void *data) {
    const std::int64_t stride = 1;
    return aclCreateTensor(&count, 1, dtype, &stride, 0, ACL_FORMAT_ND, &count, 1, data);
}

// An operator is two calls: the first one says how much workspace the second one wants.
void Operators(std::int64_t count, bool wants_workspace) {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
    aclrtStream stream = nullptr;
    void *floats = nullptr;
    void *numbers = nullptr;
    EXPECT(aclrtCreateStream(&stream) == ACL_SUCCESS);
    EXPECT(aclrtMalloc(&floats, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    EXPECT(aclrtMalloc(&numbers, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    const std::vector<float> host(static_cast<std::size_t>(count), 7.9F);
    EXPECT(aclrtMemcpy(floats, bytes, host.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS);
    aclTensor *const self = Tensor(ACL_FLOAT, count, floats);
    aclTensor *const out = Tensor(ACL_INT32, count, numbers);
    EXPECT(self != nullptr && out != nullptr);
    std::uint64_t size = 1;
    aclOpExecutor *executor = nullptr;
    EXPECT(aclnnCastGetWorkspaceSize(self, ACL_INT64, out, &size, &executor) == 161002); // not what `out` holds
    EXPECT(aclnnCastGetWorkspaceSize(self, ACL_INT32, out, &size, &executor) == ACL_SUCCESS);
    EXPECT((size > 0) == wants_workspace);
    if (wants_workspace) {
        EXPECT(aclnnCast(nullptr, 0, executor, stream) == 161002); // without the workspace; that used the executor up
        EXPECT(aclnnCastGetWorkspaceSize(self, ACL_INT32, out, &size, &executor) == ACL_SUCCESS);
    }
    void *workspace = nullptr;
    if (size > 0) {
        EXPECT(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    }
    EXPECT(aclnnCast(workspace, size, executor, stream) == ACL_SUCCESS);
    EXPECT(aclDestroyTensor(self) == ACL_SUCCESS && aclDestroyTensor(out) == ACL_SUCCESS);
    EXPECT(aclnnCast(workspace, size, executor, stream) == 161002); // an executor works once
    EXPECT(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    std::vector<std::int32_t> back(static_cast<std::size_t>(count), 0);
    EXPECT(aclrtMemcpy(back.data(), bytes, numbers, bytes, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
    EXPECT(back == std::vector<std::int32_t>(static_cast<std::size_t>(count), 7));
    if (workspace != nullptr) {
        EXPECT(aclrtFree(workspace) == ACL_SUCCESS);
    }
    EXPECT(aclrtFree(floats) == ACL_SUCCESS && aclrtFree(numbers) == ACL_SUCCESS);
    EXPECT(aclrtDestroyStream(stream) == ACL_SUCCESS);
}

void Rank(std::uint32_t rank, const HcclRootInfo *root) {
    EXPECT(aclrtSetDevice(static_cast<std::int32_t>(rank)) == ACL_SUCCESS);
    HcclComm comm = nullptr;
    EXPECT(HcclCommInitRootInfo(2, root, rank, &comm) == HCCL_SUCCESS);
    std::uint32_t value = 9;
    EXPECT(HcclGetRankId(comm, &value) == HCCL_SUCCESS && value == rank);
    EXPECT(HcclGetRankSize(comm, &value) == HCCL_SUCCESS && value == 2);
    aclrtStream stream = nullptr;
    void *data = nullptr;
    EXPECT(aclrtCreateStream(&stream) == ACL_SUCCESS);
    EXPECT(aclrtMalloc(&data, 16, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
    double host[2] = {1.0 + rank, 2.0};
    EXPECT(aclrtMemcpy(data, 16, host, 16, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS);
    EXPECT(HcclAllReduce(data, data, 2, HCCL_DATA_TYPE_FP64, HCCL_REDUCE_SUM, comm, stream) == HCCL_SUCCESS);
    EXPECT(HcclAllReduce(data, data, 2, HCCL_DATA_TYPE_FP64, HCCL_REDUCE_RESERVED, comm, stream) == HCCL_E_NOT_SUPPORT);
    EXPECT(HcclAllReduce(data, data, 2, HCCL_DATA_TYPE_HIF8, HCCL_REDUCE_SUM, comm, stream) == HCCL_E_PARA);
    EXPECT(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    EXPECT(aclrtMemcpy(host, 16, data, 16, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
    EXPECT(host[0] == 3.0 && host[1] == 4.0);
    host[0] = 10.0 * (rank + 1);
    EXPECT(aclrtMemcpy(data, 16, host, 16, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS);
    EXPECT(HcclBroadcast(data, 2, HCCL_DATA_TYPE_FP64, 1, comm, stream) == HCCL_SUCCESS); // in place
    // Each sends its first number to the other's second, without a group.
    const std::uint32_t peer = 1 - rank;
    HcclSendRecvItem items[2] = {{HCCL_SEND, data, 1, HCCL_DATA_TYPE_FP64, peer},
                                 {HCCL_RECV, static_cast<double *>(data) + 1, 1, HCCL_DATA_TYPE_FP64, peer}};
    EXPECT(HcclBatchSendRecv(items, 2, comm, stream) == HCCL_SUCCESS);
    EXPECT(aclrtSynchronizeStream(stream) == ACL_SUCCESS);
    EXPECT(aclrtMemcpy(host, 16, data, 16, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS);
    EXPECT(host[0] == 20.0 && host[1] == 20.0);
    HcclResult state = HCCL_E_INTERNAL;
    EXPECT(HcclGetCommAsyncError(comm, &state) == HCCL_SUCCESS && state == HCCL_SUCCESS);
    EXPECT(HcclCommDestroy(comm) == HCCL_SUCCESS);
    EXPECT(aclrtFree(data) == ACL_SUCCESS && aclrtDestroyStream(stream) == ACL_SUCCESS);
}

void Collectives() {
    static_assert(sizeof(HcclRootInfo) == HCCL_ROOT_INFO_BYTES);
    HcclRootInfo root;
    EXPECT(HcclGetRootInfo(&root) == HCCL_SUCCESS);
    std::thread peer(Rank, 1, &root);
    Rank(0, &root);
    peer.join();
}

} // namespace

int main() {
    Contexts();
    Runtime();
    Pools();
    Operators(8, false);
    Operators(4096, true);
    Collectives();
    std::printf("%s: %d failed\n", HcclGetErrorString(HCCL_SUCCESS), g_failures);
    return g_failures == 0 ? 0 : 1;
}
