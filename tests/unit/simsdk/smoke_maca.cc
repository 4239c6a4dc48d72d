// Exercises a simulated MACA SDK through the vendor's names alone. Exits 0 when every expectation held.
#include <common/maca_bfloat16.h>
#include <common/maca_fp16.h>
#include <mcblas/mcblas.h>
#include <mccl.h>
#include <mcr/mc_runtime.h>

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
        std::printf("smoke_maca.cc:%d: %s\n", line, what);
        ++g_failures;
    }
}
#define EXPECT(condition) Expect((condition), #condition, __LINE__)

void Devices() {
    int count = 0;
    EXPECT(mcInit(0) == mcSuccess);
    EXPECT(mcGetDeviceCount(&count) == mcSuccess && count == 2);
    EXPECT(mcSetDevice(count) == mcErrorInvalidDevice);
    mcDeviceProp_t prop;
    EXPECT(mcGetDeviceProperties(&prop, 1) == mcSuccess && prop.waveSize == 64 && prop.totalGlobalMem > 0);
    char name[8] = {};
    EXPECT(mcDeviceGetName(name, sizeof(name), 0) == mcSuccess && std::strlen(name) == 7);
    int least = -1;
    int greatest = 1;
    EXPECT(mcDeviceGetStreamPriorityRange(&least, &greatest) == mcSuccess && least == 0 && greatest < 0);
    EXPECT(std::string(mcGetErrorString(mcErrorMemoryAllocation)) == "mcErrorMemoryAllocation");
}

void Wait(void *milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int *>(milliseconds)));
}

void Runtime() {
    mcStream_t stream = nullptr;
    EXPECT(mcStreamCreateWithPriority(&stream, mcStreamNonBlocking, -99) == mcSuccess);
    float *device = nullptr;
    EXPECT(mcMallocAsync(&device, 1024, stream) == mcSuccess && device != nullptr);
    std::vector<float> host(256, 1.5F);
    EXPECT(mcMemcpyAsync(device, host.data(), 1024, mcMemcpyHostToDevice, stream) == mcSuccess);
    int sleep = 50;
    mcEvent_t event = nullptr;
    EXPECT(mcEventCreate(&event, mcEventDisableTiming) == mcSuccess);
    EXPECT(mcLaunchHostFunc(stream, Wait, &sleep) == mcSuccess && mcEventRecord(event, stream) == mcSuccess);
    EXPECT(mcStreamQuery(stream) == mcErrorNotReady && mcEventQuery(event) == mcErrorNotReady);
    EXPECT(mcEventSynchronize(event) == mcSuccess && mcStreamSynchronize(stream) == mcSuccess);
    float milliseconds = 0.0F;
    EXPECT(mcEventElapsedTime(&milliseconds, event, event) == mcErrorInvalidResourceHandle);
    std::vector<float> back(256, 0.0F);
    EXPECT(mcMemcpy(back.data(), device, 1024, mcMemcpyDefault) == mcSuccess && back == host);
    EXPECT(mcMemcpy(back.data(), device, 1024, mcMemcpyHostToDevice) == mcErrorInvalidMemcpyDirection);
    mcMemPool_t pool = nullptr;
    std::uint64_t used = 0;
    EXPECT(mcDeviceGetDefaultMemPool(&pool, 0) == mcSuccess);
    EXPECT(mcMemPoolGetAttribute(pool, mcMemPoolAttrUsedMemCurrent, &used) == mcSuccess && used >= 1024);
    std::uint64_t keep = UINT64_MAX;
    EXPECT(mcMemPoolSetAttribute(pool, mcMemPoolAttrReleaseThreshold, &keep) == mcSuccess);
    EXPECT(mcFreeAsync(device, stream) == mcSuccess && mcStreamSynchronize(stream) == mcSuccess);
    mcPointerAttribute_t attributes;
    EXPECT(mcPointerGetAttributes(&attributes, host.data()) == mcErrorInvalidValue);
    EXPECT(mcGetLastError() == mcErrorInvalidValue && mcGetLastError() == mcSuccess);
    void *huge = nullptr;
    EXPECT(mcMalloc(&huge, std::size_t{1} << 40) == mcErrorMemoryAllocation);
    void *pinned = nullptr;
    EXPECT(mcMallocHost(&pinned, 64) == mcSuccess && mcFreeHost(pinned) == mcSuccess);
    EXPECT(fl_sim_set_failures("mcMalloc:1:oom") == 0);
    EXPECT(mcMalloc(&huge, 64) == mcErrorMemoryAllocation);
    EXPECT(fl_sim_set_failures(nullptr) == 0);
    EXPECT(mcEventDestroy(event) == mcSuccess && mcStreamDestroy(stream) == mcSuccess);
    EXPECT(mcStreamSynchronize(stream) == mcErrorInvalidResourceHandle);
}

void Blas() {
    mcblasHandle_t handle = nullptr;
    mcStream_t stream = nullptr;
    EXPECT(mcblasCreate(&handle) == MCBLAS_STATUS_SUCCESS && mcStreamCreate(&stream) == mcSuccess);
    EXPECT(mcblasSetStream(handle, stream) == MCBLAS_STATUS_SUCCESS);
    // Column-major: A is 2x3, B is 3x2, C = A * B.
    const float a[] = {1, 4, 2, 5, 3, 6};
    const float b[] = {7, 9, 11, 8, 10, 12};
    const float expected[] = {58, 139, 64, 154};
    void *da = nullptr;
    void *db = nullptr;
    void *dc = nullptr;
    EXPECT(mcMalloc(&da, sizeof(a)) == mcSuccess && mcMalloc(&db, sizeof(b)) == mcSuccess);
    EXPECT(mcMalloc(&dc, 2 * sizeof(expected)) == mcSuccess);
    EXPECT(mcMemcpy(da, a, sizeof(a), mcMemcpyHostToDevice) == mcSuccess);
    EXPECT(mcMemcpy(db, b, sizeof(b), mcMemcpyHostToDevice) == mcSuccess);
    const float one = 1.0F;
    const float zero = 0.0F;
    float c[4] = {};
    EXPECT(mcblasGemmEx(handle, MCBLAS_OP_N, MCBLAS_OP_N, 2, 2, 3, &one, da, MACA_R_32F, 2, db, MACA_R_32F, 3, &zero, dc,
                        MACA_R_32F, 2, MCBLAS_COMPUTE_32F, MCBLAS_GEMM_DEFAULT)
           == MCBLAS_STATUS_SUCCESS);
    EXPECT(mcStreamSynchronize(stream) == mcSuccess);
    EXPECT(mcMemcpy(c, dc, sizeof(c), mcMemcpyDeviceToHost) == mcSuccess);
    EXPECT(std::memcmp(c, expected, sizeof(c)) == 0);
    // The overload whose compute type is a data type; two batches of the same matrices.
    EXPECT(mcblasGemmStridedBatchedEx(handle, MCBLAS_OP_N, MCBLAS_OP_N, 2, 2, 3, &one, da, MACA_R_32F, 2, 0, db,
                                      MACA_R_32F, 3, 0, &zero, dc, MACA_R_32F, 2, 4, 2, MACA_R_32F, MCBLAS_GEMM_DEFAULT)
           == MCBLAS_STATUS_SUCCESS);
    EXPECT(mcStreamSynchronize(stream) == mcSuccess);
    EXPECT(mcMemcpy(c, static_cast<float *>(dc) + 4, sizeof(c), mcMemcpyDeviceToHost) == mcSuccess);
    EXPECT(std::memcmp(c, expected, sizeof(c)) == 0);
    // y = A * x
    EXPECT(mcblasSgemv(handle, MCBLAS_OP_N, 2, 3, &one, static_cast<float *>(da), 2, static_cast<float *>(db), 1, &zero,
                       static_cast<float *>(dc), 1)
           == MCBLAS_STATUS_SUCCESS);
    EXPECT(mcStreamSynchronize(stream) == mcSuccess);
    EXPECT(mcMemcpy(c, dc, 2 * sizeof(float), mcMemcpyDeviceToHost) == mcSuccess && c[0] == 58 && c[1] == 139);
    EXPECT(mcblasSgemm(handle, MCBLAS_OP_N, MCBLAS_OP_N, 2, 2, 3, &one, static_cast<float *>(da), 1,
                       static_cast<float *>(db), 3, &zero, static_cast<float *>(dc), 2)
           == MCBLAS_STATUS_INVALID_VALUE);
    EXPECT(mcblasDestroy(handle) == MCBLAS_STATUS_SUCCESS);
    EXPECT(mcblasSetStream(handle, stream) == MCBLAS_STATUS_NOT_INITIALIZED);
    EXPECT(mcFree(da) == mcSuccess && mcFree(db) == mcSuccess && mcFree(dc) == mcSuccess);
    EXPECT(mcStreamDestroy(stream) == mcSuccess);
}

void Rank(int rank, mcclUniqueId id) {
    EXPECT(mcSetDevice(rank) == mcSuccess);
    mcclComm_t comm = nullptr;
    EXPECT(mcclCommInitRank(&comm, 2, id, rank) == mcclSuccess);
    int value = -1;
    EXPECT(mcclCommUserRank(comm, &value) == mcclSuccess && value == rank);
    EXPECT(mcclCommMcDevice(comm, &value) == mcclSuccess && value == rank);
    mcStream_t stream = nullptr;
    void *data = nullptr;
    void *all = nullptr;
    EXPECT(mcStreamCreate(&stream) == mcSuccess && mcMalloc(&data, 16) == mcSuccess && mcMalloc(&all, 32) == mcSuccess);
    double host[2] = {1.0 + rank, 2.0};
    EXPECT(mcMemcpy(data, host, sizeof(host), mcMemcpyHostToDevice) == mcSuccess);
    EXPECT(mcclAllReduce(data, data, 2, mcclFloat64, mcclAvg, comm, stream) == mcclSuccess);
    EXPECT(mcStreamSynchronize(stream) == mcSuccess);
    EXPECT(mcMemcpy(host, data, sizeof(host), mcMemcpyDeviceToHost) == mcSuccess && host[0] == 1.5 && host[1] == 2.0);
    double gathered[4] = {};
    EXPECT(mcMemset(all, 0, 32) == mcSuccess);
    EXPECT(mcclGather(data, all, 2, mcclDouble, 1, comm, stream) == mcclSuccess);
    EXPECT(mcStreamSynchronize(stream) == mcSuccess);
    EXPECT(mcMemcpy(gathered, all, sizeof(gathered), mcMemcpyDeviceToHost) == mcSuccess);
    EXPECT(gathered[2] == (rank == 1 ? 1.5 : 0.0));
    EXPECT(mcclAllReduce(data, data, 2, mcclNumTypes, mcclSum, comm, stream) == mcclInvalidArgument);
    mcclResult_t state = mcclInternalError;
    EXPECT(mcclCommGetAsyncError(comm, &state) == mcclSuccess && state == mcclSuccess);
    EXPECT(mcclCommDestroy(comm) == mcclSuccess);
    EXPECT(mcFree(data) == mcSuccess && mcFree(all) == mcSuccess && mcStreamDestroy(stream) == mcSuccess);
}

void Collectives() {
    mcclUniqueId id;
    EXPECT(mcclGetUniqueId(&id) == mcclSuccess);
    std::thread peer(Rank, 1, id);
    Rank(0, id);
    peer.join();
}

} // namespace

int main() {
    Devices();
    Runtime();
    Blas();
    Collectives();
    std::printf("%s: %d failed\n", mcclGetErrorString(mcclSuccess), g_failures);
    return g_failures == 0 ? 0 : 1;
}
