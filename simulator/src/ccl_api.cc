// The public functions of collectives: argument checks, communicators, and the hand-over to groups and streams.
#include <algorithm>

#include "ccl_comm.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

struct NewRank {
    int rank;
    int device;
};

// Makes the communicators of `ranks` in a session. On failure none of them is left.
Result MakeComms(const std::shared_ptr<Session> &session, const std::vector<NewRank> &ranks, Handle *handles) {
    std::vector<std::shared_ptr<Comm>> comms;
    Result result = Result::kSuccess;
    for (const NewRank &entry : ranks) {
        result = session->Claim(entry.rank, entry.device);
        if (result != Result::kSuccess) {
            break;
        }
        auto comm = std::make_shared<Comm>(entry.device, entry.rank, session);
        result = AddObject(comm);
        if (result != Result::kSuccess) {
            break;
        }
        comms.push_back(std::move(comm));
    }
    if (result == Result::kSuccess) {
        for (std::size_t i = 0; i < comms.size(); ++i) {
            handles[i] = comms[i]->handle;
            session->Join(comms[i]->rank);
        }
        for (const auto &comm : comms) {
            if (JoinLater(comm)) {
                continue;
            }
            const Result joined = comm->WaitForAll();
            result = result == Result::kSuccess ? joined : result;
        }
    }
    if (result != Result::kSuccess) {
        for (std::size_t i = 0; i < ranks.size(); ++i) { handles[i] = nullptr; }
        for (const auto &comm : comms) { RemoveObject(comm->handle, kCommKind); }
    }
    return result;
}

Result CheckRanks(const std::vector<NewRank> &ranks, int nranks) {
    if (nranks < 1 || nranks > kCclMaxRanks) {
        return Fault(Result::kInvalidValue, Text("a communicator of ", nranks, " ranks (1..", kCclMaxRanks, ")"));
    }
    for (const NewRank &entry : ranks) {
        if (entry.rank < 0 || entry.rank >= nranks) {
            return Fault(Result::kInvalidValue, Text("rank ", entry.rank, " of ", nranks));
        }
        Result result;
        if (FindDevice(entry.device, &result) == nullptr) {
            return result;
        }
    }
    return Result::kSuccess;
}

Result InitWithToken(const std::vector<NewRank> &ranks, int nranks, const void *token, std::size_t bytes,
                     Handle *handles) {
    Result result = CheckRanks(ranks, nranks);
    TokenKey key;
    if (result == Result::kSuccess) {
        result = ReadToken(token, bytes, &key);
    }
    std::shared_ptr<Session> session;
    if (result == Result::kSuccess) {
        result = Session::Open(key, nranks, &session);
    }
    return result == Result::kSuccess ? MakeComms(session, ranks, handles) : result;
}

Result InitLocal(const std::vector<NewRank> &ranks, int nranks, Handle *handles) {
    Result result = CheckRanks(ranks, nranks);
    if (result == Result::kSuccess && ranks.size() != static_cast<std::size_t>(nranks)) {
        result = Fault(Result::kInvalidValue,
                       Text("without a unique id all ", nranks, " ranks must be in the call, not ", ranks.size()));
    }
    std::shared_ptr<Session> session;
    if (result == Result::kSuccess) {
        result = Session::CreateLocal(nranks, &session);
    }
    return result == Result::kSuccess ? MakeComms(session, ranks, handles) : result;
}

Result Start(CollectiveKind kind, const void *send, void *recv, std::size_t count, DType dtype, ReduceOp op, int root,
             Handle comm, Handle stream) {
    Collective operation{kind, send, recv, count, dtype, op, root, FindComm(comm), nullptr, 0, CurrentApi()};
    if (operation.comm == nullptr) {
        return Result::kInvalidHandle;
    }
    const Comm &rank = *operation.comm;
    std::size_t bytes = 0;
    const auto nranks = static_cast<std::size_t>(rank.session->nranks());
    if (DTypeSize(dtype) == 0 || op < ReduceOp::kSum || op > ReduceOp::kAvg || root < 0
        || root >= rank.session->nranks() || __builtin_mul_overflow(count, DTypeSize(dtype) * nranks, &bytes)) {
        return Fault(Result::kInvalidValue,
                     Text(CollectiveName(kind), ": a bad argument (count ", count, ", dtype ", static_cast<int>(dtype),
                          ", op ", static_cast<int>(op), ", root ", root, " of ", nranks, " ranks)"));
    }
    Result result;
    operation.stream = stream == nullptr ? DefaultStream(*Devices()[static_cast<std::size_t>(rank.device)])
                                         : FindStream(stream, &result);
    if (operation.stream == nullptr) {
        return result;
    }
    if (operation.stream->device != rank.device) {
        return Fault(Result::kInvalidHandle,
                     Text("wrong device: ", CollectiveName(kind), " of rank ", rank.rank, " on device ", rank.device,
                          " with a stream of device ", operation.stream->device));
    }
    result = rank.arena().Check(send, operation.SendBytes(), Moment::kCall, nullptr);
    if (result == Result::kSuccess) {
        result = rank.arena().Check(recv, operation.RecvBytes(), Moment::kCall, nullptr);
    }
    return result == Result::kSuccess ? Issue(std::move(operation)) : result;
}

Result StartMessage(bool send, void *buffer, std::size_t count, DType dtype, int peer, Handle comm, Handle stream) {
    Message message{send, buffer, count, dtype, peer, FindComm(comm), nullptr, 0, CurrentApi()};
    if (message.comm == nullptr) {
        return Result::kInvalidHandle;
    }
    const Comm &rank = *message.comm;
    std::size_t bytes = 0;
    if (DTypeSize(dtype) == 0 || peer < 0 || peer >= rank.session->nranks()
        || __builtin_mul_overflow(count, DTypeSize(dtype), &bytes)) {
        return Fault(Result::kInvalidValue,
                     Text(send ? "Send" : "Recv", ": a bad argument (count ", count, ", dtype ",
                          static_cast<int>(dtype), ", peer ", peer, " of ", rank.session->nranks(), " ranks)"));
    }
    Result result;
    message.stream = stream == nullptr ? DefaultStream(*Devices()[static_cast<std::size_t>(rank.device)])
                                       : FindStream(stream, &result);
    if (message.stream == nullptr) {
        return result;
    }
    if (message.stream->device != rank.device) {
        return Fault(Result::kInvalidHandle, Text("wrong device: rank ", rank.rank, " on device ", rank.device,
                                                  " with a stream of device ", message.stream->device));
    }
    result = rank.arena().Check(buffer, bytes, Moment::kCall, nullptr);
    return result == Result::kSuccess ? Issue(std::move(message)) : result;
}

Result ReadInt(Handle comm, int *value, int (*read)(const Comm &)) {
    const auto object = FindComm(comm);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    if (value == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    *value = read(*object);
    return Result::kSuccess;
}

} // namespace

Result CclInitRank(Handle *comm, int nranks, const void *token, std::size_t bytes, int rank) {
    if (comm == nullptr) {
        return NoteGroupError(Fault(Result::kInvalidValue, "the pointer for the result is null"));
    }
    *comm = nullptr;
    return NoteGroupError(InitWithToken({{rank, ThreadDevice()}}, nranks, token, bytes, comm));
}

Result CclInitRanks(Handle *comms, int count, const int *devices, const int *ranks, int nranks, const void *token,
                    std::size_t bytes) {
    if (comms == nullptr || devices == nullptr || ranks == nullptr || count < 1) {
        return NoteGroupError(Fault(Result::kInvalidValue, "a list of communicators, devices or ranks is empty"));
    }
    std::vector<NewRank> list;
    for (int i = 0; i < count; ++i) {
        comms[i] = nullptr;
        list.push_back({ranks[i], devices[i]});
    }
    return NoteGroupError(token == nullptr ? InitLocal(list, nranks, comms)
                                           : InitWithToken(list, nranks, token, bytes, comms));
}

Result CclInitAll(Handle *comms, int count, const int *devices) {
    if (comms == nullptr || count < 1) {
        return NoteGroupError(Fault(Result::kInvalidValue, "the list of communicators is empty"));
    }
    std::vector<NewRank> list;
    for (int i = 0; i < count; ++i) {
        comms[i] = nullptr;
        list.push_back({i, devices == nullptr ? i : devices[i]});
    }
    return NoteGroupError(InitLocal(list, count, comms));
}

Result CclDestroy(Handle comm) {
    return RemoveObject(comm, kCommKind) == nullptr ? Result::kInvalidHandle : Result::kSuccess;
}

Result CclAbort(Handle comm) {
    const auto object = std::static_pointer_cast<Comm>(RemoveObject(comm, kCommKind));
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    // Not a fault: the caller asked for it.
    object->reported.store(true);
    object->session->Fail(Result::kIllegalState, object->rank,
                          Text("rank ", object->rank, " aborted its communicator"));
    return Result::kSuccess;
}

Result CclAsyncError(Handle comm, Result *error) {
    const auto object = FindComm(comm);
    if (object == nullptr) {
        return Result::kInvalidHandle;
    }
    if (error == nullptr) {
        return Fault(Result::kInvalidValue, "the pointer for the result is null");
    }
    *error = object->Error();
    return Result::kSuccess;
}

Result CclCount(Handle comm, int *count) {
    return ReadInt(comm, count, [](const Comm &object) { return object.session->nranks(); });
}

Result CclRank(Handle comm, int *rank) {
    return ReadInt(comm, rank, [](const Comm &object) { return object.rank; });
}

Result CclDevice(Handle comm, int *device) {
    return ReadInt(comm, device, [](const Comm &object) { return object.device; });
}

Result CclAllReduce(const void *send, void *recv, std::size_t count, DType dtype, ReduceOp op, Handle comm,
                    Handle stream) {
    return NoteGroupError(Start(CollectiveKind::kAllReduce, send, recv, count, dtype, op, 0, comm, stream));
}

Result CclBroadcast(const void *send, void *recv, std::size_t count, DType dtype, int root, Handle comm,
                    Handle stream) {
    return NoteGroupError(
        Start(CollectiveKind::kBroadcast, send, recv, count, dtype, ReduceOp::kSum, root, comm, stream));
}

Result CclReduce(const void *send, void *recv, std::size_t count, DType dtype, ReduceOp op, int root, Handle comm,
                 Handle stream) {
    return NoteGroupError(Start(CollectiveKind::kReduce, send, recv, count, dtype, op, root, comm, stream));
}

Result CclAllGather(const void *send, void *recv, std::size_t count, DType dtype, Handle comm, Handle stream) {
    return NoteGroupError(Start(CollectiveKind::kAllGather, send, recv, count, dtype, ReduceOp::kSum, 0, comm, stream));
}

Result CclReduceScatter(const void *send, void *recv, std::size_t count, DType dtype, ReduceOp op, Handle comm,
                        Handle stream) {
    return NoteGroupError(Start(CollectiveKind::kReduceScatter, send, recv, count, dtype, op, 0, comm, stream));
}

Result CclAllToAll(const void *send, void *recv, std::size_t count, DType dtype, Handle comm, Handle stream) {
    return NoteGroupError(Start(CollectiveKind::kAllToAll, send, recv, count, dtype, ReduceOp::kSum, 0, comm, stream));
}

Result CclSend(const void *send, std::size_t count, DType dtype, int peer, Handle comm, Handle stream) {
    // A send only reads; the message is the same type in both directions.
    return NoteGroupError(StartMessage(true, const_cast<void *>(send), count, dtype, peer, comm, stream));
}

Result CclRecv(void *recv, std::size_t count, DType dtype, int peer, Handle comm, Handle stream) {
    return NoteGroupError(StartMessage(false, recv, count, dtype, peer, comm, stream));
}

} // namespace fl::sim
