// fl_sim: the vendor-neutral engine behind the simulated accelerator SDKs.
//
// This is a TEST DOUBLE of an SDK. It has no chip, no kernels and no performance. It exists so that code written
// against a vendor's runtime, op library and collective library can be run, and its mistakes seen, on a machine without
// the device. What passes on it is proved for the logic of that code, not for the hardware.
//
// How a simulated SDK sits on it: every function body of the vendor library is one call of `Call`, for example
//
//     cnrtRet_t cnrtMalloc(void **pPtr, size_t bytes) {
//         return ToCnrt(fl::sim::Call("cnrtMalloc", [&] { return fl::sim::Malloc(pPtr, bytes); }));
//     }
//
// Rules of the whole interface
//  * Every function may be called from any thread, also from static destructors: the engine destroys nothing of its
//  own.
//  * There must be one engine per process. Link it into one shared library and let the other ones depend on that.
//  * Functions never throw and never abort on bad input: they return a Result and explain the fault (see "Faults").
//  * Device memory has addresses that no code but the engine can read or write; touching one ends in SIGSEGV.
//  * A null stream is the default stream of the current device. Default streams order nothing but themselves.
//  * The engine must not be used in a child made by fork() without exec(): calls there return kIllegalState. Such a
//  child
//    may exit normally.
//
// Environment, read at first use. An unusable value gives one message on stderr and the default is used.
//   FL_SIM_DEVICES=2            physical devices, 0..64
//   FL_SIM_MEMORY_MB=512        memory limit per device, 1..65536
//   FL_SIM_SEED=1               seed of the random delays
//   FL_SIM_DELAY_US=50          upper bound of the random delay before each stream operation, 0..1000000
//   FL_SIM_CCL_TIMEOUT_MS=30000 longest wait of a collective (or of a rendezvous) without any progress, 1..3600000
//   FL_SIM_LEAKS=report         report | fail (exit code 86 when something leaked) | off
//   FL_SIM_LEAK_REPORT=file     the leak report as JSON, written at exit
//   FL_SIM_TRACE=file           one JSON line per API call and per fault, appended
//   FL_SIM_FAIL=list            fault injection, see SetFailures
//   FL_SIM_QUIET=1              faults are not printed to stderr (they stay in the trace and in LastFault)

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fl::sim {

// What a call reports. The vendor library maps it to the codes of its own status types.
enum class Result : int {
    kSuccess = 0,
    kNotReady,         // work is still pending (query calls only)
    kOutOfMemory,      // the device's memory limit, or the host's memory
    kInvalidValue,     // an argument is wrong
    kInvalidHandle,    // unknown, destroyed, of another kind, or of another device
    kInvalidDevice,    // device ordinal out of range
    kNoDevice,         // there is no device at all
    kInvalidAddress,   // a device range is not inside one live allocation of the right device
    kInvalidDirection, // the pointers do not fit the copy direction
    kNotSupported,     // the simulator does not do this
    kIllegalState,     // the call makes no sense now (stale unique id, group not open, forked child, aborted)
    kInvalidUsage,     // collectives: the ranks do not agree on the operation
    kTimeout,          // collectives: a rank did not come
    kRemoteError,      // collectives: another rank failed, aborted, left or died
    kInternal,         // anything else; also the default of an injected fault
};

// "kOutOfMemory" and "out of memory"; never null.
const char *ResultName(Result result);
const char *ResultText(Result result);

// Opaque handles of streams, events, pools, communicators and library objects. The vendor library casts them to and
// from its own pointer types. A value is never used twice in a process and points to inaccessible memory.
using Handle = void *;

// ---------------------------------------------------------------------------------------------------------------------
// Set-up by the vendor library
// ---------------------------------------------------------------------------------------------------------------------

// What differs between vendors. Strings must be literals (they are kept by address).
struct VendorProfile {
    const char *vendor = "sim"; // short name, printed in reports: "mlu"
    const char *device_name = "Simulated Device";
    const char *visible_devices_env = nullptr; // "MLU_VISIBLE_DEVICES": comma list of physical ordinals; null: none
    int least_priority = 0;                    // stream priorities: the numbers of the least and the greatest, in the
    int greatest_priority = -5;                // vendor's own convention (7..0 or 0..-5); any order of the two numbers
    int default_priority = 0;                  // priority of streams made without one
};

// Sets the profile. Only the first call counts, and it must come before any other call (a function-local static in the
// vendor library's common helper does it). Without it the defaults above hold.
void Configure(const VendorProfile &profile);

// The profile in force.
const VendorProfile &Profile();

// ---------------------------------------------------------------------------------------------------------------------
// API calls: counting, fault injection, trace
// ---------------------------------------------------------------------------------------------------------------------

// Guard of one vendor API call. The constructor counts the call and looks for an injected fault; the destructor writes
// the trace line with the result given to Return.
class ApiCall {
public:
    // `api`: the vendor function's name, a literal.
    explicit ApiCall(const char *api);
    ~ApiCall();
    ApiCall(const ApiCall &) = delete;
    ApiCall &operator=(const ApiCall &) = delete;

    // The result that the vendor function must return at once, without doing its work; empty almost always.
    std::optional<Result> Injected() const { return injected_; }

    // Remembers the result for the trace and for LastError, and hands it back.
    Result Return(Result result);

    // Adds free text to the trace line ("4096 bytes").
    void Detail(std::string text);

private:
    const char *api_;
    std::optional<Result> injected_;
    Result result_ = Result::kSuccess;
    std::string detail_;
};

// Runs `body` (a callable that returns Result) as the vendor function `api`.
template <typename Body> Result Call(const char *api, Body &&body) {
    ApiCall call(api);
    if (call.Injected()) {
        return call.Return(*call.Injected());
    }
    return call.Return(std::forward<Body>(body)());
}

// As above for functions with something to say in the trace: `body` takes the ApiCall.
template <typename Body> Result CallWithDetail(const char *api, Body &&body) {
    ApiCall call(api);
    if (call.Injected()) {
        return call.Return(*call.Injected());
    }
    return call.Return(std::forward<Body>(body)(call));
}

// The last result of this thread's API calls that was neither kSuccess nor kNotReady. Take resets it to kSuccess.
Result PeekLastError();
Result TakeLastError();

// Number of calls of `api` so far in this process.
std::uint64_t ApiCallCount(const char *api);

// Replaces the fault injection rules (those of FL_SIM_FAIL) and restarts the counts they look at. A comma list of
//   name:3            the third call of `name` fails with kInternal
//   name:3+           the third and all later ones
//   name:3:oom        kind: oom | not_ready | invalid | internal | handle | timeout | unsupported
//   name:3+:oom
// Returns kInvalidValue (and changes nothing) when the text does not parse. An empty or null text removes all rules.
Result SetFailures(const char *rules);

// ---------------------------------------------------------------------------------------------------------------------
// Faults: misuse that the engine detected
// ---------------------------------------------------------------------------------------------------------------------

// Every detected misuse (overflow, use after free, double free, wrong device, unknown pointer, destroyed handle,
// mismatched collective, ...) is counted, kept as the last fault, traced, and printed to stderr as
// "fl-sim: fault: <api>: <explanation>". Injected faults and out-of-memory are no misuse and are not counted.
std::string LastFault();    // explanation of the last one; empty when there is none
std::uint64_t FaultCount(); // number since start or ClearFaults
void ClearFaults();

// ---------------------------------------------------------------------------------------------------------------------
// Devices
// ---------------------------------------------------------------------------------------------------------------------

struct DeviceInfo {
    std::string name;       // profile's device name
    std::string pci_bus_id; // "0000:0a:00.0", different for every physical device
    int physical = 0;       // physical ordinal behind the visible one
    int pci_domain = 0;
    int pci_bus = 0;
    int pci_device = 0;
    std::size_t total_memory = 0; // bytes
    int major = 0;
    int minor = 0;
    int multiprocessors = 0;
};

Result DeviceCount(int *count); // visible devices; 0 is kSuccess
Result SetDevice(int device);   // of the calling thread; new threads start at 0
Result GetDevice(int *device);
Result GetDeviceInfo(int device, DeviceInfo *info);
Result DeviceByPciBusId(int *device, const char *pci_bus_id);
Result CanAccessPeer(int *can_access, int device, int peer); // 1 between different devices, 0 to itself
Result DeviceSynchronize(); // all streams of the current device; reports pending errors
// Waits for the current device, then frees its memory and destroys its streams (not the default one) and events.
Result DeviceReset();
// Memory of the current device in bytes. Pool memory that is reserved but not used counts as not free.
Result MemInfo(std::size_t *free_bytes, std::size_t *total_bytes);

// ---------------------------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------------------------

// Device memory on the current device. Fresh and freed memory is filled with 0xFF bytes (NaN, -1). Addresses are
// aligned to 256 bytes, with a gap between allocations. Size 0: success and a null pointer.
Result Malloc(void **pointer, std::size_t bytes);
// Frees at once and waits for nothing: work that is still queued on the block fails when it runs (use after free).
// Null is kSuccess. Any device may be current.
Result Free(void *pointer);

// Stream-ordered allocation on the stream's device, from `pool` (null: the device's current pool). The address is known
// at once; the block is valid for work ordered after this point of the stream. Out of memory is reported by this call.
Result MallocAsync(void **pointer, std::size_t bytes, Handle stream, Handle pool = nullptr);
// The block becomes invalid at this point of the stream. API calls that name it afterwards are faults at once. Memory
// from Malloc is accepted too. Null is kSuccess.
Result FreeAsync(void *pointer, Handle stream);

// Pinned host memory (ordinary host memory that is tracked).
Result MallocHost(void **pointer, std::size_t bytes);
Result FreeHost(void *pointer);
Result HostRegister(void *pointer, std::size_t bytes);
Result HostUnregister(void *pointer);

enum class CopyKind : int { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kAuto };

// Synchronous copy: queued on the current device's default stream and finished when the call returns. Device pointers
// must belong to the current device. Zero bytes: success, the pointers are not looked at.
Result Memcpy(void *dst, const void *src, std::size_t bytes, CopyKind kind);
// Really asynchronous in every direction: host memory is read or written by the stream's worker after the call
// returned. Device pointers must belong to the stream's device.
Result MemcpyAsync(void *dst, const void *src, std::size_t bytes, CopyKind kind, Handle stream);
// Pitched copies; `width` bytes per row. The ranges from the first to the last byte of each side are checked.
Result Memcpy2D(void *dst, std::size_t dst_pitch, const void *src, std::size_t src_pitch, std::size_t width,
                std::size_t height, CopyKind kind);
Result Memcpy2DAsync(void *dst, std::size_t dst_pitch, const void *src, std::size_t src_pitch, std::size_t width,
                     std::size_t height, CopyKind kind, Handle stream);
// Between two devices (or on one). The stream must belong to one of the two; the synchronous form uses the source
// device's default stream.
Result MemcpyPeer(void *dst, int dst_device, const void *src, int src_device, std::size_t bytes);
Result MemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, std::size_t bytes, Handle stream);
// Bytes are set to the low 8 bits of `value`. The synchronous form uses the current device's default stream.
Result Memset(void *pointer, int value, std::size_t bytes);
Result MemsetAsync(void *pointer, int value, std::size_t bytes, Handle stream);

enum class PointerKind : int { kUnregistered, kHost, kDevice };

struct PointerInfo {
    PointerKind kind = PointerKind::kUnregistered;
    int device = -1;       // owner, for kDevice; the device current at allocation, for kHost
    void *base = nullptr;  // start of the allocation
    std::size_t bytes = 0; // size that was asked for
    bool process_lifetime = false;
};

// What is known about an address. An address inside a device's window that is no live allocation is kInvalidAddress
// (and a fault); any other unknown address is kUnregistered with kSuccess.
Result PointerAttributes(PointerInfo *info, const void *pointer);

// Pools of stream-ordered memory.
enum class PoolAttribute : int { kReleaseThreshold, kReservedCurrent, kReservedHigh, kUsedCurrent, kUsedHigh };
Result DefaultPool(Handle *pool, int device); // lives to the end of the process
Result CurrentPool(Handle *pool, int device);
Result SetCurrentPool(int device, Handle pool);
Result CreatePool(Handle *pool, int device);
// Blocks of the pool that are still in use stay valid; they belong to no pool afterwards.
Result DestroyPool(Handle pool);
Result GetPoolAttribute(Handle pool, PoolAttribute attribute, std::uint64_t *value);
// kReleaseThreshold: any value. The two High ones: only 0, which resets the watermark to the current value.
Result SetPoolAttribute(Handle pool, PoolAttribute attribute, std::uint64_t value);
Result TrimPool(Handle pool, std::size_t min_bytes_to_keep);

// ---------------------------------------------------------------------------------------------------------------------
// Streams
// ---------------------------------------------------------------------------------------------------------------------

inline constexpr unsigned kStreamDefault = 0;
inline constexpr unsigned kStreamNonBlocking = 1;

// On the current device. `priority` must lie in the profile's range (kInvalidValue otherwise); empty: the default one.
// Operations run in order on a worker thread of the stream, each after a seeded random delay (shorter for high
// priority).
Result CreateStream(Handle *stream, unsigned flags = kStreamDefault, std::optional<int> priority = std::nullopt);
// Does not wait: queued work is finished in the background. The stream's device must be current; a null, unknown or
// destroyed handle is kInvalidHandle.
Result DestroyStream(Handle stream);
// kNotReady while work is pending. Query and synchronise report (once) the first error of operations that failed when
// they ran, for example a use after free.
Result StreamQuery(Handle stream);
Result StreamSynchronize(Handle stream);
Result StreamPriority(Handle stream, int *priority);
Result StreamFlags(Handle stream, unsigned *flags);
Result StreamDevice(Handle stream, int *device);
Result StreamPriorityRange(int *least, int *greatest);
// Waits for the record of `event` that is current at this call; an event never recorded means no wait. Events of other
// devices are fine. The event may be destroyed right afterwards.
Result StreamWaitEvent(Handle stream, Handle event);
// Runs fn(user_data) on the worker, in order. The function must not call the SDK's waiting functions.
Result LaunchHostFunc(Handle stream, void (*fn)(void *), void *user_data);

// ---------------------------------------------------------------------------------------------------------------------
// Events
// ---------------------------------------------------------------------------------------------------------------------

inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kEventInterprocess = 4; // needs kEventDisableTiming; sharing itself is not simulated

// On the current device. The state is counted by reference: destroying the handle with a record or wait still queued is
// fine.
Result CreateEvent(Handle *event, unsigned flags = kEventDefault);
Result DestroyEvent(Handle event);
// The stream must belong to the event's device (kInvalidHandle otherwise).
Result RecordEvent(Handle event, Handle stream);
// Never recorded: kSuccess. Both also report (without consuming it) an error of the recorded stream's earlier work.
Result EventQuery(Handle event);
Result EventSynchronize(Handle event);
// Milliseconds between two records. kInvalidHandle: timing disabled or never recorded; kNotReady: not complete.
Result EventElapsed(double *milliseconds, Handle start, Handle end);

// ---------------------------------------------------------------------------------------------------------------------
// Library objects: handles and descriptors of op libraries
// ---------------------------------------------------------------------------------------------------------------------

// Every object has a kind, a literal such as "cnnlHandle" or "cnnlTensorDescriptor"; a wrong kind or a destroyed object
// is kInvalidHandle and a fault. Live ones appear in the leak report under their kind. The payload belongs to the
// vendor library.
Result CreateObject(Handle *object, const char *kind, std::shared_ptr<void> payload = nullptr);
Result DestroyObject(Handle object, const char *kind);
Result FindObject(Handle object, const char *kind, std::shared_ptr<void> *payload);

// The payload as T; the library must have created the kind with a std::shared_ptr<T>.
template <typename T> Result GetObject(Handle object, const char *kind, std::shared_ptr<T> *payload) {
    std::shared_ptr<void> untyped;
    const Result result = FindObject(object, kind, &untyped);
    *payload = std::static_pointer_cast<T>(untyped);
    return result;
}

// The stream that a library handle launches on. A fresh object has the null stream. The stream must belong to the
// device that was current when the object was created.
Result SetObjectStream(Handle object, const char *kind, Handle stream);
Result GetObjectStream(Handle object, const char *kind, Handle *stream);
Result ObjectDevice(Handle object, const char *kind, int *device);

// ---------------------------------------------------------------------------------------------------------------------
// Library work
// ---------------------------------------------------------------------------------------------------------------------

enum class DType : int {
    kBool,
    kInt8,
    kUInt8,
    kInt16,
    kUInt16,
    kInt32,
    kUInt32,
    kInt64,
    kUInt64,
    kFloat16,
    kBFloat16,
    kFloat32,
    kFloat64,
};
std::size_t DTypeSize(DType dtype); // bytes
const char *DTypeName(DType dtype); // "bfloat16"

enum class Access : int { kRead, kWrite, kReadWrite };

// A device range that library work touches. Zero bytes: allowed with any address; its view is null.
struct Range {
    const void *address = nullptr;
    std::size_t bytes = 0;
    Access access = Access::kReadWrite;
};

// The work: `views[i]` is where the engine sees `ranges[i]`. Runs on the stream's worker; a Result other than kSuccess
// becomes the stream's error.
using Kernel = std::function<Result(std::span<std::byte *const> views)>;

// Queues `kernel`. The ranges are checked now and again when it runs. The stream's device must be current, as a kernel
// launch demands. `name` is a literal for traces and faults.
Result LaunchOnStream(Handle stream, const char *name, std::vector<Range> ranges, Kernel kernel);

// Elementwise conversion of n elements. To float types: round to nearest even, overflow to infinity. Float to integer:
// towards zero, saturating, NaN gives 0. Integer to a narrower integer: two's complement wrap. To bool: != 0. Ranges
// may coincide when both types have the same size; other overlap is kInvalidValue.
Result Cast(Handle stream, void *dst, DType dst_type, const void *src, DType src_type, std::int64_t n);

// n copies of one element. The double form converts as Cast does; the pointer form copies DTypeSize bytes from host
// now.
Result Fill(Handle stream, void *dst, DType dtype, std::int64_t n, double value);
Result FillElement(Handle stream, void *dst, DType dtype, std::int64_t n, const void *host_element);

enum class Trans : int { kN, kT, kC }; // kC equals kT: all types are real

// Column-major BLAS GEMM, C = alpha * op(A) * op(B) + beta * C, per batch b at a + b * stride_a (strides in elements).
// op(A) is m x k, op(B) is k x n. beta == 0 does not read C. Types: A and B fp16, bf16, fp32, fp64, int8 (both the
// same); C fp16, bf16, fp32, fp64, int32. Products are summed in double when `compute` is kFloat64 or C is fp64, in
// int64 for int8 to int32, else in float.
struct GemmArgs {
    Trans trans_a = Trans::kN;
    Trans trans_b = Trans::kN;
    std::int64_t m = 0, n = 0, k = 0;
    double alpha = 1.0; // read from the caller's host pointers by the vendor library, in its compute type
    double beta = 0.0;
    const void *a = nullptr;
    DType a_type = DType::kFloat32;
    std::int64_t lda = 0, stride_a = 0;
    const void *b = nullptr;
    DType b_type = DType::kFloat32;
    std::int64_t ldb = 0, stride_b = 0;
    void *c = nullptr;
    DType c_type = DType::kFloat32;
    std::int64_t ldc = 0, stride_c = 0;
    std::int64_t batch = 1;
    DType compute = DType::kFloat32;
};
// kInvalidValue: negative sizes, a leading dimension that is too small, or beta != 0 without C. kNotSupported: the
// types.
Result Gemm(Handle stream, const GemmArgs &args);

// ---------------------------------------------------------------------------------------------------------------------
// Collectives
// ---------------------------------------------------------------------------------------------------------------------

// Between threads of one process and between processes of one machine (over POSIX shared memory, whose name is removed
// as soon as all ranks joined). A communicator belongs to one device. Operations are queued on their stream and run
// there; nothing waits on the host but InitRank outside a group and the outermost GroupEnd that completes InitRanks. A
// mismatch between ranks, a rank that does not come within FL_SIM_CCL_TIMEOUT_MS, dies, leaves or aborts gives an
// asynchronous error on the communicator (CclAsyncError): pending and later operations end, their output is filled with
// 0xFF bytes, the stream itself goes on. A device range that is not valid when the operation runs does the same and
// also becomes the stream's error. Ranges are checked against the communicator's device.

inline constexpr std::size_t kCclMinTokenBytes = 64;
inline constexpr int kCclMaxRanks = 64;

// Writes a fresh token of exactly `bytes` bytes (>= kCclMinTokenBytes). Reserves nothing and starts nothing. The
// process that made it must be alive when ranks join (a token of a dead process is stale: kIllegalState); one token
// makes one communicator.
Result CclGetUniqueId(void *token, std::size_t bytes);

// One rank, on the current device. Outside a group it returns when all ranks joined (kTimeout otherwise, *comm = null).
// In a group the handle is given at once and the joining happens in GroupEnd.
Result CclInitRank(Handle *comm, int nranks, const void *token, std::size_t bytes, int rank);
// Several ranks of this process at once (nothing blocks before all of them are registered). `token` null: all ranks are
// in this call (count == nranks).
Result CclInitRanks(Handle *comms, int count, const int *devices, const int *ranks, int nranks, const void *token,
                    std::size_t bytes);
// One process holds all ranks; rank i on devices[i] (null: device i). The same device twice is kInvalidUsage.
Result CclInitAll(Handle *comms, int count, const int *devices);

// The handle is gone at once; queued operations are finished in the background. Never blocks.
Result CclDestroy(Handle comm);
// As destroy, but pending operations end with an error, on the other ranks too.
Result CclAbort(Handle comm);
// *error: kSuccess, or the first asynchronous error. It stays until the communicator is destroyed.
Result CclAsyncError(Handle comm, Result *error);
// Explanation of that error; empty if none. With a null handle, of the calling process' last collective error.
std::string CclErrorText(Handle comm);
Result CclCount(Handle comm, int *count);
Result CclRank(Handle comm, int *rank);
Result CclDevice(Handle comm, int *device);

// Thread-local depth. Operations and joins are collected and issued by the outermost GroupEnd; all point-to-point
// operations of one stream are fused and progress together. GroupEnd without a start is kInvalidUsage. An operation
// with a bad argument fails at its own call, and the outermost GroupEnd then issues nothing and returns that error too.
Result CclGroupStart();
Result CclGroupEnd();

enum class ReduceOp : int { kSum, kProd, kMin, kMax, kAvg };

// Counts are elements; as in NCCL. fp16 and bf16 are reduced in fp32; all ranks get identical bytes. kAvg divides the
// sum by the number of ranks (integers: towards zero). kBool is allowed: sum is or, prod is and. Count 0 is an
// operation as any other.
Result CclAllReduce(const void *send, void *recv, std::size_t count, DType dtype, ReduceOp op, Handle comm,
                    Handle stream);
// `send` matters on the root only, elsewhere it may be null or anything.
Result CclBroadcast(const void *send, void *recv, std::size_t count, DType dtype, int root, Handle comm, Handle stream);
// `recv` matters on the root only, elsewhere it is neither checked nor touched.
Result CclReduce(const void *send, void *recv, std::size_t count, DType dtype, ReduceOp op, int root, Handle comm,
                 Handle stream);
// `count` is what one rank sends; recv holds count * nranks. In place: send == recv + rank * count.
Result CclAllGather(const void *send, void *recv, std::size_t count, DType dtype, Handle comm, Handle stream);
// `count` is what one rank receives; send holds count * nranks. In place: recv == send + rank * count.
Result CclReduceScatter(const void *send, void *recv, std::size_t count, DType dtype, ReduceOp op, Handle comm,
                        Handle stream);
// `count` elements for every peer; both buffers hold count * nranks. send == recv is allowed.
Result CclAllToAll(const void *send, void *recv, std::size_t count, DType dtype, Handle comm, Handle stream);
// Rendezvous: a send is complete when its receiver has everything. First in, first out per (communicator, peer,
// direction).
Result CclSend(const void *send, std::size_t count, DType dtype, int peer, Handle comm, Handle stream);
Result CclRecv(void *recv, std::size_t count, DType dtype, int peer, Handle comm, Handle stream);

// ---------------------------------------------------------------------------------------------------------------------
// Leaks
// ---------------------------------------------------------------------------------------------------------------------

struct LeakCount {
    std::string kind; // "device memory", "pinned host memory", "stream", "event", "memory pool",
                      // "communicator", or the kind of a library object
    std::uint64_t leaked = 0;
    std::uint64_t process_lifetime = 0;
    std::uint64_t bytes = 0; // of the leaked ones, for memory
};

// What the report at exit would say now; kinds without any live object are left out.
std::vector<LeakCount> LiveObjects();

// Exit code of the process with FL_SIM_LEAKS=fail and a leak.
inline constexpr int kLeakExitCode = 86;

} // namespace fl::sim

// C entry points for generated code and tests, which declare them weak and call them when present.
extern "C" {
// Says that a handle (stream, event, pool, communicator, library object) or a pointer (device or pinned host memory) is
// meant to live as long as the process. Unknown values and null are ignored.
void fl_process_lifetime_object(const void *handle_or_pointer);
// 1. No vendor's library has it: generated code tells by it that it runs on a test double.
int fl_simulated_sdk(void);
// SetFailures; 0 on success.
int fl_sim_set_failures(const char *rules);
// FaultCount, and LastFault copied (cut, always terminated) into buffer; returns the full length.
unsigned long long fl_sim_fault_count(void);
size_t fl_sim_last_fault(char *buffer, size_t bytes);
}
