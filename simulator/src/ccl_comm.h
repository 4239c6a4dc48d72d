// One rank of a communicator, and the operations on it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ccl_session.h"
#include "device.h"
#include "handles.h"
#include "stream.h"

namespace fl::sim {

class Comm : public Object {
public:
    Comm(int device_, int rank_, std::shared_ptr<Session> session_);
    // Runs when the handle is gone and no queued operation refers to the communicator any more.
    ~Comm() override;

    // Waits until all ranks have joined. On failure the communicator has that error.
    Result WaitForAll();

    // The asynchronous error: the session's as this rank sees it, or this rank's own.
    Result Error();
    std::string ErrorText();
    // Fails the whole communicator and explains it.
    void Fail(Result error, const std::string &text);

    Arena &arena() const { return Devices()[static_cast<std::size_t>(device)]->arena; }

    // Collectives of one communicator run one after the other, in the order of their calls, on whatever streams they
    // are.
    std::uint64_t TakeTicket();
    void WaitForTurn(std::uint64_t ticket);
    void EndTurn();

    const int rank;
    const std::shared_ptr<Session> session;
    std::uint64_t phase = 0;  // collectives only, by whoever has the turn
    std::uint64_t number = 0; // likewise: collectives so far
    // Numbers of the messages to and from each peer: taken by the call, and the one whose turn it is.
    struct Pair {
        std::uint64_t send_next = 0;
        std::uint64_t recv_next = 0;
        std::atomic<std::uint64_t> send_turn{0};
        std::atomic<std::uint64_t> recv_turn{0};
    };
    std::vector<Pair> pairs;
    std::mutex mutex; // guards the *_next numbers and the tickets
    std::atomic<bool> reported{false};

private:
    std::condition_variable turn_;
    std::uint64_t next_ticket_ = 0;
    std::uint64_t serving_ = 0;
};

// The communicator behind a handle; null, with a fault.
std::shared_ptr<Comm> FindComm(Handle handle);

// Keeps the text for CclErrorText(nullptr).
void NoteCollectiveError(const std::string &text);

enum class CollectiveKind : int { kAllReduce, kBroadcast, kReduce, kAllGather, kReduceScatter, kAllToAll };
const char *CollectiveName(CollectiveKind kind);

struct Collective {
    CollectiveKind kind;
    const void *send = nullptr;
    void *recv = nullptr;
    std::size_t count = 0;
    DType dtype = DType::kFloat32;
    ReduceOp op = ReduceOp::kSum;
    int root = 0;
    std::shared_ptr<Comm> comm;
    std::shared_ptr<Stream> stream;
    std::uint64_t ticket = 0;
    const char *api = ""; // the call, which may have been made in a group

    // Bytes of the two buffers on this rank; 0 where the buffer does not matter.
    std::size_t SendBytes() const;
    std::size_t RecvBytes() const;
};

struct Message {
    bool send = false;
    void *buffer = nullptr;
    std::size_t count = 0;
    DType dtype = DType::kFloat32;
    int peer = 0;
    std::shared_ptr<Comm> comm;
    std::shared_ptr<Stream> stream;
    std::uint64_t number = 0; // on its (communicator, peer, direction)
    const char *api = "";
};

// Run on a stream's worker.
Result RunCollective(Collective &operation);
Result RunMessages(std::vector<Message> &messages);

// Hands checked operations to the group of this thread, or to their streams.
Result Issue(Collective operation);
Result Issue(Message message);
Result QueueCollective(Collective operation);
Result QueueMessages(std::vector<Message> messages, const std::shared_ptr<Stream> &stream);

// True in a group; the communicator is then waited for by GroupEnd.
bool JoinLater(const std::shared_ptr<Comm> &comm);
// Remembers a failed call of a group; hands the result back.
Result NoteGroupError(Result result);

// recv[i] = op over ranks of stage(rank)[offset..], for `count` elements; ranks in ascending order, so that all ranks
// compute the same bytes.
void ReduceStages(const Session &session, std::size_t offset, std::size_t count, DType dtype, ReduceOp op,
                  std::byte *out);

} // namespace fl::sim
