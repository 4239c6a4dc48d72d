// Exercises a simulated SDK of CUDA's shape through the vendor's names, which are made of the prefixes that the
// compiler is given: RT (cuda), BLAS and BLAS_UPPER (cublas, CUBLAS), CCL (nccl), CCL_DEVICE (Cu), DATA_PREFIX (CUDA_R)
// and the headers RT_HEADER, BLAS_HEADER and CCL_HEADER. Exits 0 when every expectation held.
#include BLAS_HEADER
#include CCL_HEADER
#include RT_HEADER

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern "C" int fl_sim_set_failures(const char *rules);

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define RT_(name) JOIN(RT, name)
#define BLAS_(name) JOIN(BLAS, name)
#define STATUS_(name) JOIN(BLAS_UPPER, _##name)
#define CCL_(name) JOIN(CCL, name)

namespace {

int g_failures = 0;

void Expect(bool held, const char *what, int line) {
    if (!held) {
        std::printf("smoke_cuda_like.cc:%d: %s\n", line, what);
        ++g_failures;
    }
}
#define EXPECT(condition) Expect((condition), #condition, __LINE__)

void Devices() {
    int count = 0;
    EXPECT(RT_(GetDeviceCount)(&count) == RT_(Success) && count == 2);
    EXPECT(RT_(SetDevice)(count) == RT_(ErrorInvalidDevice));
    RT_(DeviceProp) properties;
    EXPECT(RT_(GetDeviceProperties)(&properties, 1) == RT_(Success) && properties.totalGlobalMem > 0);
    EXPECT(std::strlen(properties.name) > 0 && properties.warpSize == 32);
    char bus[16] = {};
    EXPECT(RT_(DeviceGetPCIBusId)(bus, sizeof(bus), 0) == RT_(Success) && std::strlen(bus) == 12);
    EXPECT(RT_(DeviceGetPCIBusId)(bus, 5, 0) == RT_(ErrorInvalidValue));
    int least = -1;
    int greatest = 1;
    EXPECT(RT_(DeviceGetStreamPriorityRange)(&least, &greatest) == RT_(Success) && least == 0 && greatest == -5);
    EXPECT(std::string(RT_(GetErrorString)(RT_(ErrorNotReady))).find("ErrorNotReady") != std::string::npos);
}

void Wait(void *milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(*static_cast<int *>(milliseconds)));
}

void Runtime() {
    RT_(Stream_t) stream = nullptr;
    EXPECT(RT_(StreamCreateWithPriority)(&stream, RT_(StreamNonBlocking), -99) == RT_(Success)); // moved to the range
    void *device = nullptr;
    EXPECT(RT_(MallocAsync)(&device, 1024, stream) == RT_(Success) && device != nullptr);
    std::vector<float> host(256, 1.5F);
    EXPECT(RT_(MemcpyAsync)(device, host.data(), 1024, RT_(MemcpyHostToDevice), stream) == RT_(Success));
    int sleep = 50;
    RT_(Event_t) event = nullptr;
    EXPECT(RT_(EventCreateWithFlags)(&event, RT_(EventDisableTiming)) == RT_(Success));
    EXPECT(RT_(LaunchHostFunc)(stream, Wait, &sleep) == RT_(Success));
    EXPECT(RT_(EventRecord)(event, stream) == RT_(Success));
    EXPECT(RT_(StreamQuery)(stream) == RT_(ErrorNotReady) && RT_(EventQuery)(event) == RT_(ErrorNotReady));
    EXPECT(RT_(EventSynchronize)(event) == RT_(Success) && RT_(StreamSynchronize)(stream) == RT_(Success));
    float milliseconds = 0.0F;
    EXPECT(RT_(EventElapsedTime)(&milliseconds, event, event) == RT_(ErrorInvalidResourceHandle));
    std::vector<float> back(256, 0.0F);
    EXPECT(RT_(Memcpy)(back.data(), device, 1024, RT_(MemcpyDefault)) == RT_(Success) && back == host);
    EXPECT(RT_(Memcpy)(back.data(), device, 1024, RT_(MemcpyHostToDevice)) == RT_(ErrorInvalidMemcpyDirection));
    RT_(MemPool_t) pool = nullptr;
    std::uint64_t used = 0;
    EXPECT(RT_(DeviceGetDefaultMemPool)(&pool, 0) == RT_(Success));
    EXPECT(RT_(MemPoolGetAttribute)(pool, RT_(MemPoolAttrUsedMemCurrent), &used) == RT_(Success) && used >= 1024);
    std::uint64_t keep = UINT64_MAX;
    EXPECT(RT_(MemPoolSetAttribute)(pool, RT_(MemPoolAttrReleaseThreshold), &keep) == RT_(Success));
    EXPECT(RT_(FreeAsync)(device, stream) == RT_(Success) && RT_(StreamSynchronize)(stream) == RT_(Success));
    RT_(PointerAttributes) attributes;
    EXPECT(RT_(PointerGetAttributes)(&attributes, host.data()) == RT_(Success));
    EXPECT(attributes.type == RT_(MemoryTypeUnregistered));
    float *typed = nullptr;
    EXPECT(RT_(Malloc)(&typed, 64) == RT_(Success)); // the C++ form
    EXPECT(RT_(PointerGetAttributes)(&attributes, typed) == RT_(Success) && attributes.device == 0);
    EXPECT(attributes.type == RT_(MemoryTypeDevice) && attributes.devicePointer == typed);
    EXPECT(RT_(Free)(typed) == RT_(Success));
    void *huge = nullptr;
    EXPECT(RT_(Malloc)(&huge, std::size_t{1} << 40) == RT_(ErrorMemoryAllocation));
    EXPECT(RT_(GetLastError)() == RT_(ErrorMemoryAllocation) && RT_(GetLastError)() == RT_(Success));
    void *pinned = nullptr;
    EXPECT(RT_(MallocHost)(&pinned, 64) == RT_(Success) && RT_(FreeHost)(pinned) == RT_(Success));
    EXPECT(RT_(EventDestroy)(event) == RT_(Success) && RT_(StreamDestroy)(stream) == RT_(Success));
    EXPECT(RT_(StreamSynchronize)(stream) == RT_(ErrorInvalidResourceHandle));
}

// A copy from one device to the other finds its way by the addresses.
void BetweenDevices() {
    void *here = nullptr;
    void *there = nullptr;
    EXPECT(RT_(Malloc)(&here, 16) == RT_(Success) && RT_(Memset)(here, 7, 16) == RT_(Success));
    EXPECT(RT_(SetDevice)(1) == RT_(Success) && RT_(Malloc)(&there, 16) == RT_(Success));
    EXPECT(RT_(Memcpy)(there, here, 16, RT_(MemcpyDeviceToDevice)) == RT_(Success));
    std::uint8_t bytes[16] = {};
    EXPECT(RT_(Memcpy)(bytes, there, 16, RT_(MemcpyDeviceToHost)) == RT_(Success) && bytes[15] == 7);
    EXPECT(RT_(Free)(there) == RT_(Success) && RT_(SetDevice)(0) == RT_(Success) && RT_(Free)(here) == RT_(Success));
}

void Blas() {
    BLAS_(Handle_t) handle = nullptr;
    RT_(Stream_t) stream = nullptr;
    EXPECT(BLAS_(Create)(&handle) == STATUS_(STATUS_SUCCESS) && RT_(StreamCreate)(&stream) == RT_(Success));
    EXPECT(BLAS_(SetStream)(handle, stream) == STATUS_(STATUS_SUCCESS));
    // Column-major: A is 2x3, B is 3x2, C = A * B.
    const float a[] = {1, 4, 2, 5, 3, 6};
    const float b[] = {7, 9, 11, 8, 10, 12};
    const float expected[] = {58, 139, 64, 154};
    void *da = nullptr;
    void *db = nullptr;
    void *dc = nullptr;
    EXPECT(RT_(Malloc)(&da, sizeof(a)) == RT_(Success) && RT_(Malloc)(&db, sizeof(b)) == RT_(Success));
    EXPECT(RT_(Malloc)(&dc, 2 * sizeof(expected)) == RT_(Success));
    EXPECT(RT_(Memcpy)(da, a, sizeof(a), RT_(MemcpyHostToDevice)) == RT_(Success));
    EXPECT(RT_(Memcpy)(db, b, sizeof(b), RT_(MemcpyHostToDevice)) == RT_(Success));
    const float one = 1.0F;
    const float zero = 0.0F;
    float c[4] = {};
    constexpr auto kType = JOIN(DATA_PREFIX, _32F);
    EXPECT(BLAS_(GemmEx)(handle, STATUS_(OP_N), STATUS_(OP_N), 2, 2, 3, &one, da, kType, 2, db, kType, 3, &zero, dc,
                         kType, 2, STATUS_(COMPUTE_32F), STATUS_(GEMM_DEFAULT))
           == STATUS_(STATUS_SUCCESS));
    EXPECT(RT_(StreamSynchronize)(stream) == RT_(Success));
    EXPECT(RT_(Memcpy)(c, dc, sizeof(c), RT_(MemcpyDeviceToHost)) == RT_(Success));
    EXPECT(std::memcmp(c, expected, sizeof(c)) == 0);
    // Two batches of the same matrices.
    EXPECT(BLAS_(GemmStridedBatchedEx)(handle, STATUS_(OP_N), STATUS_(OP_N), 2, 2, 3, &one, da, kType, 2, 0, db, kType,
                                       3, 0, &zero, dc, kType, 2, 4, 2, STATUS_(COMPUTE_32F), STATUS_(GEMM_DEFAULT))
           == STATUS_(STATUS_SUCCESS));
    EXPECT(RT_(StreamSynchronize)(stream) == RT_(Success));
    EXPECT(RT_(Memcpy)(c, static_cast<float *>(dc) + 4, sizeof(c), RT_(MemcpyDeviceToHost)) == RT_(Success));
    EXPECT(std::memcmp(c, expected, sizeof(c)) == 0);
    // A leading dimension that is too small.
    EXPECT(BLAS_(Sgemm)(handle, STATUS_(OP_N), STATUS_(OP_N), 2, 2, 3, &one, static_cast<float *>(da), 1,
                        static_cast<float *>(db), 3, &zero, static_cast<float *>(dc), 2)
           == STATUS_(STATUS_INVALID_VALUE));
    EXPECT(BLAS_(Destroy)(handle) == STATUS_(STATUS_SUCCESS));
    EXPECT(BLAS_(SetStream)(handle, stream) != STATUS_(STATUS_SUCCESS));
    EXPECT(RT_(Free)(da) == RT_(Success) && RT_(Free)(db) == RT_(Success) && RT_(Free)(dc) == RT_(Success));
    EXPECT(RT_(StreamDestroy)(stream) == RT_(Success));
}

void Rank(int rank, CCL_(UniqueId) id) {
    EXPECT(RT_(SetDevice)(rank) == RT_(Success));
    CCL_(Comm_t) comm = nullptr;
    EXPECT(CCL_(CommInitRank)(&comm, 2, id, rank) == CCL_(Success));
    int value = -1;
    EXPECT(CCL_(CommUserRank)(comm, &value) == CCL_(Success) && value == rank);
    EXPECT(JOIN(JOIN(CCL_(Comm), CCL_DEVICE), Device)(comm, &value) == CCL_(Success) && value == rank);
    RT_(Stream_t) stream = nullptr;
    void *data = nullptr;
    EXPECT(RT_(StreamCreate)(&stream) == RT_(Success) && RT_(Malloc)(&data, 16) == RT_(Success));
    double host[2] = {1.0 + rank, 2.0};
    EXPECT(RT_(Memcpy)(data, host, sizeof(host), RT_(MemcpyHostToDevice)) == RT_(Success));
    EXPECT(CCL_(AllReduce)(data, data, 2, CCL_(Float64), CCL_(Avg), comm, stream) == CCL_(Success));
    EXPECT(RT_(StreamSynchronize)(stream) == RT_(Success));
    EXPECT(RT_(Memcpy)(host, data, sizeof(host), RT_(MemcpyDeviceToHost)) == RT_(Success));
    EXPECT(host[0] == 1.5 && host[1] == 2.0);
    EXPECT(CCL_(AllReduce)(data, data, 2, static_cast<CCL_(DataType_t)>(99), CCL_(Sum), comm, stream)
           == CCL_(InvalidArgument));
    CCL_(Result_t) state = CCL_(InternalError);
    EXPECT(CCL_(CommGetAsyncError)(comm, &state) == CCL_(Success) && state == CCL_(Success));
    EXPECT(CCL_(CommDestroy)(comm) == CCL_(Success));
    EXPECT(RT_(Free)(data) == RT_(Success) && RT_(StreamDestroy)(stream) == RT_(Success));
}

void Collectives() {
    CCL_(UniqueId) id;
    EXPECT(CCL_(GetUniqueId)(&id) == CCL_(Success));
    std::thread peer(Rank, 1, id);
    Rank(0, id);
    peer.join();
}

} // namespace

int main() {
    Devices();
    Runtime();
    BetweenDevices();
    Blas();
    Collectives();
    std::printf("%s: %d failed\n", CCL_(GetErrorString)(CCL_(Success)), g_failures);
    return g_failures == 0 ? 0 : 1;
}
