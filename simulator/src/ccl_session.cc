#include "ccl_session.h"

#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "config.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

constexpr std::uint64_t kReady = 0x464C53494D524459u;

// Sessions of this process by name, so that its ranks share one mapping.
struct SessionTable {
    std::mutex mutex;
    std::map<std::string, std::weak_ptr<Session>> sessions;
};

SessionTable &TheSessions() {
    static SessionTable *const table = new SessionTable;
    return *table;
}

// Names of communicators that were complete: their unique ids are used up. A mutex of its own, since sessions end while
// the other one is held.
struct UsedNames {
    std::mutex mutex;
    std::set<std::string> names;
};

UsedNames &TheUsedNames() {
    static UsedNames *const used = new UsedNames;
    return *used;
}

std::size_t RoundUp(std::size_t value) { return (value + 4095) / 4096 * 4096; }

} // namespace

std::size_t Session::MailBytes(int nranks) {
    return std::clamp<std::size_t>((std::size_t{512} << 10) / static_cast<std::size_t>(nranks), 4096, 64u << 10);
}

std::size_t Session::Bytes(int nranks) {
    const auto n = static_cast<std::size_t>(nranks);
    return RoundUp(sizeof(SharedHeader) + n * sizeof(RankSlot) + n * n * sizeof(MailBox)) + n * kStageBytes
         + n * n * kMailSlots * MailBytes(nranks);
}

Session::Session(int nranks, void *memory, std::size_t bytes)
    : nranks_(nranks), memory_(memory), bytes_(bytes), mail_bytes_(MailBytes(nranks)) {
    const auto n = static_cast<std::size_t>(nranks);
    auto *const base = static_cast<std::byte *>(memory);
    // Fresh shared memory is zero, which is the initial state of everything in it.
    header_ = reinterpret_cast<SharedHeader *>(base);
    ranks_ = reinterpret_cast<RankSlot *>(base + sizeof(SharedHeader));
    mail_ = reinterpret_cast<MailBox *>(base + sizeof(SharedHeader) + n * sizeof(RankSlot));
    stages_ = base + RoundUp(sizeof(SharedHeader) + n * sizeof(RankSlot) + n * n * sizeof(MailBox));
    mail_data_ = stages_ + n * kStageBytes;
}

Session::~Session() {
    if (!name_.empty() && AllJoined()) {
        UsedNames &used = TheUsedNames();
        const std::lock_guard lock(used.mutex);
        used.names.insert(name_);
    }
    munmap(memory_, bytes_);
}

Result Session::CreateLocal(int nranks, std::shared_ptr<Session> *session) {
    const std::size_t bytes = Bytes(nranks);
    void *const memory
        = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return Result::kOutOfMemory;
    }
    session->reset(new Session(nranks, memory, bytes));
    (*session)->header_->nranks = nranks;
    (*session)->header_->ready.store(kReady, std::memory_order_release);
    return Result::kSuccess;
}

Result Session::Open(const TokenKey &key, int nranks, std::shared_ptr<Session> *session) {
    const std::string name = key.ShmName();
    SessionTable &table = TheSessions();
    const std::lock_guard lock(table.mutex);
    std::erase_if(table.sessions, [](const auto &entry) { return entry.second.expired(); });
    if (const auto found = table.sessions.find(name); found != table.sessions.end()) {
        *session = found->second.lock();
        if (*session != nullptr && (*session)->nranks_ != nranks) {
            session->reset();
            return Fault(Result::kInvalidUsage,
                         Text("the ranks of one unique id do not agree on their number (", nranks, ")"));
        }
        if (*session != nullptr) {
            return Result::kSuccess;
        }
    }
    {
        UsedNames &used = TheUsedNames();
        const std::lock_guard used_lock(used.mutex);
        if (used.names.count(name) != 0) {
            return Fault(Result::kIllegalState, "this unique id was used before (one id makes one communicator)");
        }
    }
    RemoveStaleNames();
    const std::size_t bytes = Bytes(nranks);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(GetConfig().ccl_timeout_ms);
    bool creator = false;
    int fd = -1;
    while (fd < 0) {
        fd = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
        creator = fd >= 0;
        if (fd < 0 && errno == EEXIST) {
            fd = shm_open(name.c_str(), O_RDWR, 0600);
        }
        if (fd < 0 && errno != ENOENT) {
            return Fault(Result::kInternal, Text("no shared memory for the communicator: ", std::strerror(errno)));
        }
    }
    struct stat status {};
    if (creator && ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
        const int error = errno;
        close(fd);
        shm_unlink(name.c_str());
        return Fault(Result::kInternal, Text("no shared memory for the communicator: ", std::strerror(error)));
    }
    // Another process made it, perhaps a moment ago: wait for its size.
    while (fstat(fd, &status) == 0 && status.st_size == 0 && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (static_cast<std::size_t>(status.st_size) != bytes) {
        close(fd);
        return Fault(Result::kInvalidUsage,
                     Text("the ranks of one unique id do not agree on their number (here ", nranks, ")"));
    }
    void *const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    if (memory == MAP_FAILED) {
        return Result::kOutOfMemory;
    }
    session->reset(new Session(nranks, memory, bytes));
    Session &made = **session;
    made.name_ = name;
    if (creator) {
        made.header_->nranks = nranks;
        made.header_->ready.store(kReady, std::memory_order_release);
    }
    while (made.header_->ready.load(std::memory_order_acquire) != kReady) {
        if (std::chrono::steady_clock::now() >= deadline) {
            session->reset();
            return Fault(Result::kTimeout, "the process that makes the communicator's shared memory does not go on");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    table.sessions[name] = *session;
    return Result::kSuccess;
}

std::byte *Session::mail_data(int source, int destination, std::uint64_t chunk) const {
    const std::size_t box
        = static_cast<std::size_t>(source) * static_cast<std::size_t>(nranks_) + static_cast<std::size_t>(destination);
    return mail_data_ + (box * kMailSlots + chunk % kMailSlots) * mail_bytes_;
}

Result Session::Claim(int rank, int device) {
    {
        const std::lock_guard lock(mutex_);
        if (std::find(devices_.begin(), devices_.end(), device) != devices_.end()) {
            return Fault(
                Result::kInvalidUsage,
                Text("device ", device, " has another rank of the same communicator already (rank ", rank, ")"));
        }
        devices_.push_back(device);
    }
    RankSlot &slot = ranks_[rank];
    auto absent = static_cast<std::uint32_t>(RankState::kAbsent);
    if (!slot.state.compare_exchange_strong(absent, static_cast<std::uint32_t>(RankState::kClaimed))) {
        return Fault(Result::kIllegalState, Text("rank ", rank,
                                                 " of this communicator exists already (a unique id makes "
                                                 "one communicator)"));
    }
    slot.pid.store(getpid());
    slot.start.store(ProcessStart(getpid()));
    return Result::kSuccess;
}

void Session::Join(int rank) {
    ranks_[rank].state.store(static_cast<std::uint32_t>(RankState::kJoined), std::memory_order_release);
    if (header_->joined.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<unsigned>(nranks_)) {
        RemoveName();
    }
    Wake();
}

void Session::Leave(int rank) {
    ranks_[rank].state.store(static_cast<std::uint32_t>(RankState::kLeft), std::memory_order_release);
    Wake();
}

void Session::RemoveName() {
    if (!name_.empty()) {
        shm_unlink(name_.c_str()); // another rank may have been faster
    }
}

void Session::Fail(Result error, int rank, const std::string &text) {
    std::uint32_t unclaimed = 0;
    if (!header_->error_claim.compare_exchange_strong(unclaimed, 1)) {
        return;
    }
    const std::size_t length = std::min(text.size(), sizeof(header_->error_text) - 1);
    std::memcpy(header_->error_text, text.data(), length);
    header_->error_text[length] = '\0';
    header_->error_rank = rank;
    header_->error.store(static_cast<std::int32_t>(error), std::memory_order_release);
    Wake();
}

Result Session::Error(int rank) const {
    const auto error = static_cast<Result>(header_->error.load(std::memory_order_acquire));
    if (error == Result::kSuccess || error == Result::kTimeout || error == Result::kInvalidUsage
        || header_->error_rank == rank) {
        return error;
    }
    return Result::kRemoteError;
}

std::string Session::ErrorText() const {
    return header_->error.load(std::memory_order_acquire) == 0 ? std::string() : std::string(header_->error_text);
}

void Session::Wake() {
    header_->wake.fetch_add(1, std::memory_order_acq_rel);
    syscall(SYS_futex, reinterpret_cast<std::uint32_t *>(&header_->wake), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Session::Sleep(std::uint32_t value, std::chrono::microseconds limit) const {
    const timespec duration
        = {static_cast<time_t>(limit.count() / 1000000), static_cast<long>(limit.count() % 1000000 * 1000)};
    // Every way in which this returns (woken, changed, timed out, interrupted) means: look again.
    syscall(SYS_futex, reinterpret_cast<std::uint32_t *>(&header_->wake), FUTEX_WAIT, value, &duration, nullptr, 0);
}

std::string Session::Missing(int index) const {
    const RankSlot &slot = ranks_[index];
    const auto state = static_cast<RankState>(slot.state.load(std::memory_order_acquire));
    if (state == RankState::kLeft) {
        return Text("rank ", index, " has destroyed its communicator");
    }
    const std::int32_t pid = slot.pid.load();
    if (state != RankState::kAbsent && pid != 0 && pid != getpid() && ProcessIsGone(pid, slot.start.load())) {
        return Text("the process ", pid, " of rank ", index, " is gone");
    }
    return {};
}

} // namespace fl::sim
