// Groups: a thread collects operations and joins, and the outermost GroupEnd issues them.
#include "ccl_comm.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

struct Group {
    int depth = 0;
    Result error = Result::kSuccess;
    std::vector<std::shared_ptr<Comm>> joins;
    std::vector<Collective> collectives;
    std::vector<Message> messages;
};

// A plain pointer: thread locals with destructors are gone when static destructors run. It is null outside groups.
thread_local Group *t_group = nullptr;

std::uint64_t TakeNumber(const Message &message) {
    Comm::Pair &pair = message.comm->pairs[static_cast<std::size_t>(message.peer)];
    const std::lock_guard lock(message.comm->mutex);
    return message.send ? pair.send_next++ : pair.recv_next++;
}

} // namespace

bool JoinLater(const std::shared_ptr<Comm> &comm) {
    if (t_group == nullptr) {
        return false;
    }
    t_group->joins.push_back(comm);
    return true;
}

Result NoteGroupError(Result result) {
    if (t_group != nullptr && result != Result::kSuccess && t_group->error == Result::kSuccess) {
        t_group->error = result;
    }
    return result;
}

Result QueueCollective(Collective operation) {
    operation.ticket = operation.comm->TakeTicket();
    const auto shared = std::make_shared<Collective>(std::move(operation));
    // The stream must not be kept alive by its own queue.
    const auto stream = std::move(shared->stream);
    const Result result = stream->Enqueue([shared] {
        SetCurrentApi(shared->api);
        return RunCollective(*shared);
    });
    if (result != Result::kSuccess) {
        shared->comm->Fail(result, "a collective could not be queued");
        shared->comm->EndTurn();
    }
    return result;
}

Result QueueMessages(std::vector<Message> messages, const std::shared_ptr<Stream> &stream) {
    for (Message &message : messages) {
        message.number = TakeNumber(message);
        message.stream.reset();
    }
    const auto shared = std::make_shared<std::vector<Message>>(std::move(messages));
    const Result result = stream->Enqueue([shared] {
        SetCurrentApi(shared->front().api);
        return RunMessages(*shared);
    });
    if (result != Result::kSuccess) {
        for (const Message &message : *shared) { message.comm->Fail(result, "a message could not be queued"); }
    }
    return result;
}

Result Issue(Collective operation) {
    if (t_group != nullptr) {
        t_group->collectives.push_back(std::move(operation));
        return Result::kSuccess;
    }
    return QueueCollective(std::move(operation));
}

Result Issue(Message message) {
    if (t_group != nullptr) {
        t_group->messages.push_back(std::move(message));
        return Result::kSuccess;
    }
    const auto stream = message.stream;
    std::vector<Message> single;
    single.push_back(std::move(message));
    return QueueMessages(std::move(single), stream);
}

Result CclGroupStart() {
    if (t_group == nullptr) {
        t_group = new Group;
    }
    ++t_group->depth;
    return Result::kSuccess;
}

Result CclGroupEnd() {
    if (t_group == nullptr) {
        return Fault(Result::kInvalidUsage, "the end of a group that was not started by this thread");
    }
    if (--t_group->depth > 0) {
        return Result::kSuccess;
    }
    const std::unique_ptr<Group> group(std::exchange(t_group, nullptr));
    Result first = group->error;
    // All ranks of this group have said that they are there; waiting for one cannot keep another from joining.
    for (const auto &comm : group->joins) {
        const Result joined = comm->WaitForAll();
        first = first == Result::kSuccess ? joined : first;
    }
    if (first != Result::kSuccess) {
        return first;
    }
    for (Collective &operation : group->collectives) {
        const Result queued = QueueCollective(std::move(operation));
        first = first == Result::kSuccess ? queued : first;
    }
    while (!group->messages.empty()) {
        const auto stream = group->messages.front().stream;
        std::vector<Message> fused;
        std::vector<Message> rest;
        for (Message &message : group->messages) {
            (message.stream == stream ? fused : rest).push_back(std::move(message));
        }
        group->messages = std::move(rest);
        const Result queued = QueueMessages(std::move(fused), stream);
        first = first == Result::kSuccess ? queued : first;
    }
    return first;
}

} // namespace fl::sim
