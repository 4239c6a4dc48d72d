// The memory that the ranks of one communicator share: who has joined, the state of collectives, the staging buffers,
// and one mailbox per pair of ranks. In one process it is one mapping; between processes POSIX shared memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ccl_token.h"
#include "fl_sim/engine.h"

namespace fl::sim {

inline constexpr std::size_t kStageBytes = 256u << 10; // per rank; larger tensors take several rounds
inline constexpr int kMailSlots = 2;

// What all ranks must agree on.
struct CollectiveDesc {
    std::uint64_t number;
    std::uint64_t count;
    std::int32_t kind;
    std::int32_t dtype;
    std::int32_t op;
    std::int32_t root;
};

enum class RankState : std::uint32_t { kAbsent, kClaimed, kJoined, kLeft };

struct alignas(64) RankSlot {
    std::atomic<std::uint32_t> state; // RankState
    std::atomic<std::int32_t> pid;
    std::atomic<std::uint64_t> start;    // of the process
    std::atomic<std::uint64_t> progress; // phases of collectives that this rank has reached
    CollectiveDesc desc;                 // of the current collective; published by progress
};

// A message travels in chunks through the slots of its (source, destination) pair.
struct MailSlot {
    std::uint64_t message; // number of the message on this pair
    std::uint64_t count;   // elements of the whole message
    std::uint64_t bytes;   // in this chunk
    std::int32_t dtype;
};

struct alignas(64) MailBox {
    std::atomic<std::uint64_t> written;  // chunks
    std::atomic<std::uint64_t> consumed; // chunks
    MailSlot slots[kMailSlots];
};

struct alignas(64) SharedHeader {
    std::atomic<std::uint64_t> ready; // a magic number once the creator has filled in the rest
    std::int32_t nranks;
    std::atomic<std::uint32_t> joined;
    std::atomic<std::uint32_t> wake;        // changed and woken whenever anything above or below changes
    std::atomic<std::uint32_t> error_claim; // the first to fail
    std::atomic<std::int32_t> error;        // Result; kSuccess until error_text is written
    std::int32_t error_rank;
    char error_text[256];
};

class Session {
public:
    // All ranks are threads of this process.
    static Result CreateLocal(int nranks, std::shared_ptr<Session> *session);
    // Finds or makes the session of a token. All ranks of one process share one object.
    static Result Open(const TokenKey &key, int nranks, std::shared_ptr<Session> *session);
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    int nranks() const { return nranks_; }
    RankSlot &rank(int index) const { return ranks_[index]; }
    MailBox &mail(int source, int destination) const { return mail_[source * nranks_ + destination]; }
    std::byte *stage(int index) const { return stages_ + static_cast<std::size_t>(index) * kStageBytes; }
    std::byte *mail_data(int source, int destination, std::uint64_t chunk) const;
    std::size_t mail_bytes() const { return mail_bytes_; }

    // Takes a rank for this process on a device. kIllegalState / kInvalidUsage, with a fault, when it is taken or the
    // device is used by another rank of this process.
    Result Claim(int rank, int device);
    // Says that a claimed rank is there; the last one removes the shared name.
    void Join(int rank);
    void Leave(int rank);
    bool AllJoined() const { return header_->joined.load(std::memory_order_acquire) == static_cast<unsigned>(nranks_); }

    // The first failure of any rank ends all communication. `text` says why.
    void Fail(Result error, int rank, const std::string &text);
    // kSuccess, or the failure as rank `rank` sees it: what a rank does to itself is kRemoteError to the others.
    Result Error(int rank) const;
    std::string ErrorText() const;

    // Tells all waiting ranks that something changed.
    void Wake();
    // The value to hand to Sleep, read before the condition is looked at.
    std::uint32_t WakeValue() const { return header_->wake.load(std::memory_order_acquire); }
    // Sleeps until Wake is called or at most `limit`.
    void Sleep(std::uint32_t value, std::chrono::microseconds limit) const;

    // Why rank `index` will never come, or empty when it still may.
    std::string Missing(int index) const;
    void RemoveName();

private:
    Session(int nranks, void *memory, std::size_t bytes);
    static std::size_t Bytes(int nranks);
    static std::size_t MailBytes(int nranks);

    const int nranks_;
    void *const memory_;
    const std::size_t bytes_;
    const std::size_t mail_bytes_;
    SharedHeader *header_;
    RankSlot *ranks_;
    MailBox *mail_;
    std::byte *stages_;
    std::byte *mail_data_;
    std::string name_; // of the shared memory; empty when local
    std::mutex mutex_;
    std::vector<int> devices_; // taken by ranks of this process
};

} // namespace fl::sim
