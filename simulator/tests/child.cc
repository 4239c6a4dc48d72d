// A program of its own for the tests that need one: leaks and exit codes, the environment, ranks in other processes.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "fl_sim/engine.h"

using namespace fl::sim;

namespace {

void Must(Result result, const char *what) {
    if (result != Result::kSuccess) {
        std::printf("FAILED %s: %s (%s)\n", what, ResultName(result), LastFault().c_str());
        std::fflush(stdout);
        _exit(3);
    }
}

#define MUST(expression) Must(expression, #expression)

void *g_kept = nullptr;

// Destroyed after main: the API must still work, and what is released here is no leak.
struct LateUser {
    void *memory = nullptr;
    Handle stream = nullptr;
    ~LateUser() {
        if (memory != nullptr) {
            MUST(FreeAsync(memory, stream));
            MUST(StreamSynchronize(stream));
            MUST(DestroyStream(stream));
            std::printf("late release done\n");
        }
    }
};
LateUser g_late;

int Leak() {
    void *memory = nullptr;
    Handle stream = nullptr;
    Handle event = nullptr;
    Handle object = nullptr;
    MUST(Call("simMalloc", [&] { return Malloc(&memory, 1000); }));
    MUST(Call("simMalloc", [&] { return Malloc(&g_kept, 500); }));
    MUST(CreateStream(&stream));
    MUST(CreateEvent(&event));
    MUST(CreateObject(&object, "simHandle"));
    fl_process_lifetime_object(g_kept);
    fl_process_lifetime_object(stream);
    return 0;
}

int Clean() {
    MUST(Malloc(&g_kept, 500));
    fl_process_lifetime_object(g_kept);
    MUST(CreateStream(&g_late.stream));
    MUST(MallocAsync(&g_late.memory, 64, g_late.stream));
    return 0;
}

int Environment() {
    int count = -1;
    MUST(DeviceCount(&count));
    std::printf("devices %d\n", count);
    if (count > 0) {
        DeviceInfo info;
        MUST(GetDeviceInfo(0, &info));
        std::printf("memory %zu\nphysical %d\n", info.total_memory >> 20, info.physical);
    } else {
        std::printf("set %s\n", ResultName(SetDevice(0)));
        void *memory = nullptr;
        std::printf("malloc %s\n", ResultName(Malloc(&memory, 1)));
    }
    return 0;
}

int Visible() {
    VendorProfile profile;
    profile.vendor = "test";
    profile.visible_devices_env = "SIM_VISIBLE_DEVICES";
    profile.least_priority = 7;
    profile.greatest_priority = 0;
    profile.default_priority = 7;
    Configure(profile);
    Configure(VendorProfile()); // only the first counts
    int least = 0;
    int greatest = 0;
    MUST(StreamPriorityRange(&least, &greatest));
    std::printf("priorities %d..%d\n", least, greatest);
    return Environment();
}

int Injected() {
    for (int i = 0; i < 4; ++i) {
        void *memory = nullptr;
        std::printf("%s ", ResultName(Call("simMalloc", [&] { return Malloc(&memory, 16); })));
        MUST(Free(memory));
    }
    std::printf("\n");
    return 0;
}

int Faulty() {
    void *memory = nullptr;
    MUST(Call("simMalloc", [&] { return Malloc(&memory, 16); }));
    char host[32] = {};
    Call("simMemcpy", [&] { return Memcpy(memory, host, 32, CopyKind::kHostToDevice); });
    CallWithDetail("simFree", [&](ApiCall &call) {
        call.Detail("said \"so\"");
        return Free(memory);
    });
    return 0;
}

// A child that never touches the engine ends normally; one that does is refused.
int Fork() {
    void *memory = nullptr;
    Handle stream = nullptr;
    MUST(Malloc(&memory, 4096));
    MUST(CreateStream(&stream));
    MUST(MemsetAsync(memory, 0, 4096, stream));
    const pid_t quiet = fork();
    if (quiet == 0) {
        std::exit(0); // with exit handlers
    }
    int quiet_status = -1;
    waitpid(quiet, &quiet_status, 0);
    const pid_t user = fork();
    if (user == 0) {
        std::exit(Call("simStreamSynchronize", [&] { return StreamSynchronize(stream); }) == Result::kIllegalState ? 7
                                                                                                                   : 8);
    }
    int user_status = -1;
    waitpid(user, &user_status, 0);
    MUST(StreamSynchronize(stream));
    MUST(DestroyStream(stream));
    MUST(Free(memory));
    std::printf("quiet %d user %d\n", WEXITSTATUS(quiet_status), WEXITSTATUS(user_status));
    return 0;
}

std::vector<unsigned char> FromHex(const char *hex) {
    std::vector<unsigned char> bytes;
    for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
        const char pair[3] = {hex[0], hex[1], '\0'};
        bytes.push_back(static_cast<unsigned char>(std::strtoul(pair, nullptr, 16)));
    }
    return bytes;
}

int Token() {
    unsigned char token[128];
    MUST(CclGetUniqueId(token, sizeof(token)));
    for (const unsigned char byte : token) { std::printf("%02x", byte); }
    std::printf("\n");
    return 0;
}

void Expect(bool condition, const char *what) {
    if (!condition) {
        std::printf("WRONG %s\n", what);
        std::fflush(stdout);
        _exit(4);
    }
}

// The collectives of one rank of `threads` per process; process p holds the ranks p * threads...
void RunRank(int rank, int nranks, int device, Handle comm) {
    MUST(SetDevice(device));
    const std::size_t count = 100001;
    void *memory = nullptr;
    void *gathered = nullptr;
    const auto n = static_cast<std::size_t>(nranks);
    MUST(Malloc(&memory, count * sizeof(int)));
    MUST(Malloc(&gathered, count * n * sizeof(int)));
    std::vector<int> host(count, rank + 1);
    std::vector<int> back(count * n);
    MUST(Memcpy(memory, host.data(), count * sizeof(int), CopyKind::kHostToDevice));
    MUST(CclAllReduce(memory, memory, count, DType::kInt32, ReduceOp::kSum, comm, nullptr));
    MUST(CclAllGather(memory, gathered, count, DType::kInt32, comm, nullptr));
    MUST(Memcpy(back.data(), gathered, count * n * sizeof(int), CopyKind::kDeviceToHost));
    Expect(back.front() == nranks * (nranks + 1) / 2 && back.back() == back.front(), "all-reduce and all-gather");
    // A ring.
    MUST(Memcpy(memory, host.data(), count * sizeof(int), CopyKind::kHostToDevice));
    MUST(CclGroupStart());
    MUST(CclSend(memory, count, DType::kInt32, (rank + 1) % nranks, comm, nullptr));
    MUST(CclRecv(gathered, count, DType::kInt32, (rank + nranks - 1) % nranks, comm, nullptr));
    MUST(CclGroupEnd());
    MUST(Memcpy(back.data(), gathered, count * sizeof(int), CopyKind::kDeviceToHost));
    Expect(back[count - 1] == (rank + nranks - 1) % nranks + 1, "ring");
    Result error = Result::kInternal;
    MUST(CclAsyncError(comm, &error));
    Expect(error == Result::kSuccess, "asynchronous error");
    MUST(CclDestroy(comm));
    MUST(Free(memory));
    MUST(Free(gathered));
}

int Ranks(int process, int processes, int threads, const char *hex) {
    const std::vector<unsigned char> token = FromHex(hex);
    std::vector<Handle> comms(static_cast<std::size_t>(threads));
    const int nranks = processes * threads;
    // As frameworks do: one thread joins all ranks of its process in one group.
    MUST(CclGroupStart());
    for (int i = 0; i < threads; ++i) {
        MUST(SetDevice(i));
        MUST(CclInitRank(&comms[static_cast<std::size_t>(i)], nranks, token.data(), token.size(),
                         process * threads + i));
    }
    MUST(CclGroupEnd());
    std::vector<std::thread> workers;
    for (int i = 0; i < threads; ++i) {
        workers.emplace_back(RunRank, process * threads + i, nranks, i, comms[static_cast<std::size_t>(i)]);
    }
    for (std::thread &worker : workers) { worker.join(); }
    std::printf("ok\n");
    return 0;
}

// Joins as rank 0 of 2, and reports how it ends.
int Join(const char *hex) {
    const std::vector<unsigned char> token = FromHex(hex);
    Handle comm = nullptr;
    const Result joined = CclInitRank(&comm, 2, token.data(), token.size(), 0);
    std::printf("join %s: %s\n", ResultName(joined), LastFault().c_str());
    if (joined == Result::kSuccess) {
        void *memory = nullptr;
        MUST(Malloc(&memory, 4));
        MUST(CclAllReduce(memory, memory, 1, DType::kInt32, ReduceOp::kSum, comm, nullptr));
        MUST(StreamSynchronize(nullptr));
        Result error = Result::kSuccess;
        MUST(CclAsyncError(comm, &error));
        std::printf("error %s: %s\n", ResultName(error), CclErrorText(comm).c_str());
        MUST(CclDestroy(comm));
        MUST(Free(memory));
    }
    return 0;
}

// Joins as rank 1 of 2 and dies.
int JoinAndDie(const char *hex) {
    const std::vector<unsigned char> token = FromHex(hex);
    Handle comm = nullptr;
    MUST(CclInitRank(&comm, 2, token.data(), token.size(), 1));
    _exit(0);
}

} // namespace

int main(int argc, char **argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    const std::map<std::string, int (*)()> plain
        = {{"leak", Leak},       {"clean", Clean},   {"environment", Environment},
           {"visible", Visible}, {"faulty", Faulty}, {"injected", Injected},
           {"fork", Fork},       {"token", Token},   {"nothing", [] { return 0; }}};
    if (const auto found = plain.find(mode); found != plain.end()) {
        return found->second();
    }
    if (mode == "ranks" && argc == 6) {
        return Ranks(std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4]), argv[5]);
    }
    if (mode == "join" && argc == 3) {
        return Join(argv[2]);
    }
    if (mode == "join-and-die" && argc == 3) {
        return JoinAndDie(argv[2]);
    }
    std::printf("unknown mode '%s'\n", mode.c_str());
    return 2;
}
