#include "ccl_comm.h"

#include "config.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

struct ErrorHolder {
    std::mutex mutex;
    std::string text;
};

ErrorHolder &TheError() {
    static ErrorHolder *const holder = new ErrorHolder;
    return *holder;
}

} // namespace

void NoteCollectiveError(const std::string &text) {
    ErrorHolder &holder = TheError();
    const std::lock_guard lock(holder.mutex);
    holder.text = text;
}

std::string CclErrorText(Handle comm) {
    if (comm != nullptr) {
        const auto object = FindComm(comm);
        return object == nullptr ? std::string() : object->ErrorText();
    }
    ErrorHolder &holder = TheError();
    const std::lock_guard lock(holder.mutex);
    return holder.text;
}

std::shared_ptr<Comm> FindComm(Handle handle) { return LookUpAs<Comm>(handle, kCommKind); }

Comm::Comm(int device_, int rank_, std::shared_ptr<Session> session_)
    : Object(kCommKind, device_), rank(rank_), session(std::move(session_)),
      pairs(static_cast<std::size_t>(session->nranks())) {}

Comm::~Comm() { session->Leave(rank); }

Result Comm::WaitForAll() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(GetConfig().ccl_timeout_ms);
    while (true) {
        const std::uint32_t wake = session->WakeValue();
        if (session->AllJoined()) {
            return Result::kSuccess;
        }
        if (Error() != Result::kSuccess) {
            break;
        }
        std::string missing;
        for (int i = 0; i < session->nranks(); ++i) {
            const std::string why = session->Missing(i);
            if (!why.empty() && !session->AllJoined()) {
                Fail(Result::kRemoteError, why + " before all ranks had joined");
            }
            const auto state = static_cast<RankState>(session->rank(i).state.load());
            if (state == RankState::kAbsent || state == RankState::kClaimed) {
                missing += Text(missing.empty() ? "" : ", ", i);
            }
        }
        if (std::chrono::steady_clock::now() >= deadline && !missing.empty()) {
            Fail(Result::kTimeout,
                 Text("rank ", missing, " of ", session->nranks(), " did not join within ", GetConfig().ccl_timeout_ms,
                      " ms (stale unique id, or a process that did not start?)"));
        }
        session->Sleep(wake, std::chrono::milliseconds(20));
    }
    session->RemoveName();
    return Error();
}

Result Comm::Error() {
    const Result error = session->Error(rank);
    if (error != Result::kSuccess && !reported.exchange(true)) {
        const std::string text = Text("rank ", rank, " of ", session->nranks(), ": ", session->ErrorText());
        NoteCollectiveError(text);
        Fault(error, text);
    }
    return error;
}

std::string Comm::ErrorText() { return session->ErrorText(); }

void Comm::Fail(Result error, const std::string &text) {
    session->Fail(error, rank, text);
    // The first failure counts; it may be another rank's. Reading it reports it.
    while (Error() == Result::kSuccess) { session->Sleep(session->WakeValue(), std::chrono::milliseconds(1)); }
}

std::uint64_t Comm::TakeTicket() {
    const std::lock_guard lock(mutex);
    return next_ticket_++;
}

void Comm::WaitForTurn(std::uint64_t ticket) {
    std::unique_lock lock(mutex);
    turn_.wait(lock, [&] { return serving_ == ticket; });
}

void Comm::EndTurn() {
    const std::lock_guard lock(mutex);
    ++serving_;
    turn_.notify_all();
}

} // namespace fl::sim
