// Point-to-point messages on a stream's worker. All messages of one call progress together, so their order in the call
// does not matter; messages of one (communicator, peer, direction) keep the order of their calls.
#include <cstring>

#include <algorithm>

#include "ccl_comm.h"
#include "config.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

struct Progress {
    Message *message = nullptr;
    PinnedRange range;
    std::size_t bytes = 0;
    std::uint64_t chunks = 0;     // of the whole message, at least 1
    std::uint64_t moved = 0;      // chunks
    std::uint64_t last_chunk = 0; // number on the mail box after the last chunk of a send
    bool done = false;
};

std::atomic<std::uint64_t> &Turn(const Message &message) {
    Comm::Pair &pair = message.comm->pairs[static_cast<std::size_t>(message.peer)];
    return message.send ? pair.send_turn : pair.recv_turn;
}

MailBox &BoxOf(const Message &message) {
    const int rank = message.comm->rank;
    return message.send ? message.comm->session->mail(rank, message.peer)
                        : message.comm->session->mail(message.peer, rank);
}

std::string Describe(const Message &message) {
    return Text(message.send ? "Send" : "Recv", "(count ", message.count, ", ", DTypeName(message.dtype),
                message.send ? ", to rank " : ", from rank ", message.peer, ")");
}

void Finish(Progress &progress) {
    progress.done = true;
    Turn(*progress.message).fetch_add(1, std::memory_order_acq_rel);
    progress.message->comm->session->Wake();
}

bool AdvanceSend(Progress &progress) {
    const Message &message = *progress.message;
    Session &session = *message.comm->session;
    MailBox &box = BoxOf(message);
    bool moved = false;
    while (progress.moved < progress.chunks) {
        const std::uint64_t chunk = box.written.load(std::memory_order_relaxed);
        if (chunk - box.consumed.load(std::memory_order_acquire) >= kMailSlots) {
            break;
        }
        const std::size_t offset = progress.moved * session.mail_bytes();
        const std::size_t bytes = std::min(session.mail_bytes(), progress.bytes - offset);
        if (bytes > 0) {
            std::memcpy(session.mail_data(message.comm->rank, message.peer, chunk), progress.range.view() + offset,
                        bytes);
        }
        box.slots[chunk % kMailSlots]
            = {message.number, message.count, bytes, static_cast<std::int32_t>(message.dtype)};
        box.written.store(chunk + 1, std::memory_order_release);
        ++progress.moved;
        progress.last_chunk = chunk + 1;
        moved = true;
        session.Wake();
    }
    if (progress.moved == progress.chunks && box.consumed.load(std::memory_order_acquire) >= progress.last_chunk) {
        Finish(progress);
        moved = true;
    }
    return moved;
}

bool AdvanceRecv(Progress &progress) {
    const Message &message = *progress.message;
    Session &session = *message.comm->session;
    MailBox &box = BoxOf(message);
    bool moved = false;
    while (progress.moved < progress.chunks) {
        const std::uint64_t chunk = box.consumed.load(std::memory_order_relaxed);
        if (box.written.load(std::memory_order_acquire) <= chunk) {
            break;
        }
        const MailSlot slot = box.slots[chunk % kMailSlots];
        if (slot.message != message.number || slot.count != message.count
            || slot.dtype != static_cast<std::int32_t>(message.dtype)) {
            message.comm->Fail(Result::kInvalidUsage, Text("rank ", message.comm->rank, " calls ", Describe(message),
                                                           ", but rank ", message.peer, " sends count ", slot.count,
                                                           ", ", DTypeName(static_cast<DType>(slot.dtype))));
            return true;
        }
        if (slot.bytes > 0) {
            std::memcpy(progress.range.view() + progress.moved * session.mail_bytes(),
                        session.mail_data(message.peer, message.comm->rank, chunk), slot.bytes);
        }
        box.consumed.store(chunk + 1, std::memory_order_release);
        ++progress.moved;
        moved = true;
        session.Wake();
    }
    if (progress.moved == progress.chunks) {
        Finish(progress);
        moved = true;
    }
    return moved;
}

// Ends a message of a failed communicator.
void Give(Progress &progress) {
    if (!progress.message->send && progress.range.view() != nullptr) {
        std::memset(progress.range.view(), 0xFF, progress.bytes);
    }
    Finish(progress);
}

// One look at a message; true when something happened.
bool Advance(Progress &progress) {
    const Message &message = *progress.message;
    if (progress.done) {
        return false;
    }
    if (message.comm->Error() != Result::kSuccess) {
        Give(progress); // no order matters any more
        return true;
    }
    if (Turn(message).load(std::memory_order_acquire) != message.number) {
        return false;
    }
    return message.send ? AdvanceSend(progress) : AdvanceRecv(progress);
}

// The peer of an unfinished message is gone, and left nothing in the mail.
void FailIfPeerIsGone(const Progress &progress) {
    const Message &message = *progress.message;
    const std::string missing = message.comm->session->Missing(message.peer);
    if (missing.empty()) {
        return;
    }
    const MailBox &box = BoxOf(message);
    const bool pending = message.send ? progress.moved == progress.chunks && box.consumed.load() >= progress.last_chunk
                                      : box.written.load() > box.consumed.load();
    if (!pending) {
        message.comm->Fail(Result::kRemoteError,
                           Text(missing, " while rank ", message.comm->rank, " waits in ", Describe(message)));
    }
}

} // namespace

Result RunMessages(std::vector<Message> &messages) {
    std::vector<Progress> list(messages.size());
    Result result = Result::kSuccess;
    bool one_session = true;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        Message &message = messages[i];
        Progress &progress = list[i];
        progress.message = &message;
        progress.bytes = message.count * DTypeSize(message.dtype);
        const std::size_t chunk = message.comm->session->mail_bytes();
        progress.chunks = std::max<std::size_t>(1, (progress.bytes + chunk - 1) / chunk);
        one_session = one_session && message.comm->session == messages[0].comm->session;
        const Result checked
            = message.comm->arena().Check(message.buffer, progress.bytes, Moment::kRun, &progress.range);
        if (checked != Result::kSuccess) {
            message.comm->Fail(checked, Text("the buffer of ", Describe(message), " of rank ", message.comm->rank,
                                             " was not valid when it ran"));
            result = result == Result::kSuccess ? checked : result;
        }
    }
    const auto timeout = std::chrono::milliseconds(GetConfig().ccl_timeout_ms);
    auto deadline = std::chrono::steady_clock::now() + timeout;
    Session &session = *messages[0].comm->session;
    // Only one word can be slept on: with several communicators the sleep is short.
    const auto slice = one_session ? std::chrono::microseconds(20000) : std::chrono::microseconds(500);
    while (true) {
        const std::uint32_t wake = session.WakeValue();
        bool moved = false;
        bool all_done = true;
        for (Progress &progress : list) {
            moved = Advance(progress) || moved;
            all_done = all_done && progress.done;
        }
        if (all_done) {
            return result;
        }
        if (moved) {
            deadline = std::chrono::steady_clock::now() + timeout;
            continue;
        }
        const bool late = std::chrono::steady_clock::now() >= deadline;
        for (Progress &progress : list) {
            if (progress.done) {
                continue;
            }
            FailIfPeerIsGone(progress);
            if (late) {
                const Message &message = *progress.message;
                message.comm->Fail(Result::kTimeout,
                                   Text("rank ", message.peer, " did not answer ", Describe(message), " of rank ",
                                        message.comm->rank, " within ", GetConfig().ccl_timeout_ms, " ms"));
            }
        }
        session.Sleep(wake, slice);
    }
}

} // namespace fl::sim
