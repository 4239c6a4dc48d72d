// Collectives on a stream's worker: every rank copies a piece of its input to its staging buffer, all meet, every rank
// takes what it needs from the others' buffers, all meet again, and so on.
#include <cstring>

#include <algorithm>

#include "ccl_comm.h"
#include "config.h"
#include "text.h"
#include "trace.h"

namespace fl::sim {
namespace {

const char *OpName(int op) {
    switch (static_cast<ReduceOp>(op)) {
    case ReduceOp::kSum:
        return "sum";
    case ReduceOp::kProd:
        return "prod";
    case ReduceOp::kMin:
        return "min";
    case ReduceOp::kMax:
        return "max";
    case ReduceOp::kAvg:
        return "avg";
    }
    return "unknown op";
}

bool Reduces(CollectiveKind kind) {
    return kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kReduce
        || kind == CollectiveKind::kReduceScatter;
}

bool HasRoot(CollectiveKind kind) { return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce; }

// Every rank has a part of its own in every other rank's input.
bool HasParts(CollectiveKind kind) {
    return kind == CollectiveKind::kReduceScatter || kind == CollectiveKind::kAllToAll;
}

std::string Describe(const CollectiveDesc &desc) {
    const auto kind = static_cast<CollectiveKind>(desc.kind);
    std::string text
        = Text(CollectiveName(kind), "(count ", desc.count, ", ", DTypeName(static_cast<DType>(desc.dtype)));
    text += Reduces(kind) ? Text(", ", OpName(desc.op)) : std::string();
    text += HasRoot(kind) ? Text(", root ", desc.root) : std::string();
    return text + ")";
}

bool Same(const CollectiveDesc &a, const CollectiveDesc &b) {
    return a.number == b.number && a.count == b.count && a.kind == b.kind && a.dtype == b.dtype && a.op == b.op
        && a.root == b.root;
}

// The next phase: announces that this rank is there and waits for the others. False: the communicator has failed.
bool Meet(Collective &operation) {
    Comm &comm = *operation.comm;
    Session &session = *comm.session;
    const std::uint64_t phase = ++comm.phase;
    session.rank(comm.rank).progress.store(phase, std::memory_order_release);
    session.Wake();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(GetConfig().ccl_timeout_ms);
    while (true) {
        const std::uint32_t wake = session.WakeValue();
        int absent = -1;
        for (int i = 0; i < session.nranks() && absent < 0; ++i) {
            absent = session.rank(i).progress.load(std::memory_order_acquire) < phase ? i : -1;
        }
        if (absent < 0) {
            return true;
        }
        if (comm.Error() != Result::kSuccess) {
            return false;
        }
        const std::string missing = session.Missing(absent);
        if (!missing.empty() && session.rank(absent).progress.load(std::memory_order_acquire) < phase) {
            comm.Fail(Result::kRemoteError, Text(missing, " while rank ", comm.rank, " waits in ",
                                                 CollectiveName(operation.kind), " (collective ", comm.number, ")"));
            return false;
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            comm.Fail(Result::kTimeout,
                      Text("rank ", absent, " did not come to ", CollectiveName(operation.kind), " (collective ",
                           comm.number, ") of rank ", comm.rank, " within ", GetConfig().ccl_timeout_ms, " ms"));
            return false;
        }
        session.Sleep(wake, std::chrono::milliseconds(20));
    }
}

// All ranks have published what they do: do they agree?
bool Agree(Collective &operation) {
    Comm &comm = *operation.comm;
    const CollectiveDesc &own = comm.session->rank(comm.rank).desc;
    for (int i = 0; i < comm.session->nranks(); ++i) {
        const CollectiveDesc &other = comm.session->rank(i).desc;
        if (!Same(own, other)) {
            const bool lower = comm.rank < i;
            comm.Fail(Result::kInvalidUsage,
                      Text("the ranks do not agree on collective ", own.number, ": rank ", std::min(comm.rank, i),
                           " calls ", Describe(lower ? own : other), ", rank ", std::max(comm.rank, i), " calls ",
                           Describe(lower ? other : own)));
            return false;
        }
    }
    return true;
}

struct Piece {
    std::size_t offset; // bytes into the tensor (or into each part of it)
    std::size_t bytes;
    std::size_t elements;
};

// Copies this rank's piece of the input to its staging buffer.
void StagePiece(const Collective &operation, const Piece &piece, std::size_t part_bytes, std::size_t part_stride,
                const std::byte *send) {
    const Comm &comm = *operation.comm;
    std::byte *const stage = comm.session->stage(comm.rank);
    if (HasParts(operation.kind)) {
        for (int i = 0; i < comm.session->nranks(); ++i) {
            const auto part = static_cast<std::size_t>(i);
            std::memcpy(stage + part * part_stride, send + part * part_bytes + piece.offset, piece.bytes);
        }
    } else if (operation.kind != CollectiveKind::kBroadcast || comm.rank == operation.root) {
        std::memcpy(stage, send + piece.offset, piece.bytes);
    }
}

// Takes this rank's piece of the output from all staging buffers.
void TakePiece(const Collective &operation, const Piece &piece, std::size_t part_bytes, std::size_t part_stride,
               std::byte *recv) {
    const Comm &comm = *operation.comm;
    const Session &session = *comm.session;
    const auto own = static_cast<std::size_t>(comm.rank);
    switch (operation.kind) {
    case CollectiveKind::kAllReduce:
        ReduceStages(session, 0, piece.elements, operation.dtype, operation.op, recv + piece.offset);
        break;
    case CollectiveKind::kReduce:
        if (comm.rank == operation.root) {
            ReduceStages(session, 0, piece.elements, operation.dtype, operation.op, recv + piece.offset);
        }
        break;
    case CollectiveKind::kReduceScatter:
        ReduceStages(session, own * part_stride, piece.elements, operation.dtype, operation.op, recv + piece.offset);
        break;
    case CollectiveKind::kBroadcast:
        std::memcpy(recv + piece.offset, session.stage(operation.root), piece.bytes);
        break;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
        for (int i = 0; i < session.nranks(); ++i) {
            const std::byte *const from
                = session.stage(i) + (operation.kind == CollectiveKind::kAllToAll ? own * part_stride : 0);
            std::memcpy(recv + static_cast<std::size_t>(i) * part_bytes + piece.offset, from, piece.bytes);
        }
        break;
    }
}

// False: the communicator has failed.
bool Exchange(Collective &operation, const std::byte *send, std::byte *recv) {
    Comm &comm = *operation.comm;
    Session &session = *comm.session;
    const std::size_t size = DTypeSize(operation.dtype);
    const std::size_t room
        = HasParts(operation.kind) ? kStageBytes / static_cast<std::size_t>(session.nranks()) : kStageBytes;
    const std::size_t part_stride = room / 64 * 64;
    const std::size_t step = part_stride / size;
    const std::size_t part_bytes = operation.count * size;
    session.rank(comm.rank).desc = {++comm.number,
                                    operation.count,
                                    static_cast<std::int32_t>(operation.kind),
                                    static_cast<std::int32_t>(operation.dtype),
                                    Reduces(operation.kind) ? static_cast<std::int32_t>(operation.op) : 0,
                                    HasRoot(operation.kind) ? operation.root : 0};
    std::size_t done = 0;
    do {
        const std::size_t elements = std::min(step, operation.count - done);
        const Piece piece = {done * size, elements * size, elements};
        if (elements > 0) {
            StagePiece(operation, piece, part_bytes, part_stride, send);
        }
        if (!Meet(operation) || (done == 0 && !Agree(operation))) {
            return false;
        }
        if (elements > 0) {
            TakePiece(operation, piece, part_bytes, part_stride, recv);
        }
        if (!Meet(operation)) {
            return false;
        }
        done += elements;
    } while (done < operation.count);
    return true;
}

} // namespace

const char *CollectiveName(CollectiveKind kind) {
    switch (kind) {
    case CollectiveKind::kAllReduce:
        return "AllReduce";
    case CollectiveKind::kBroadcast:
        return "Broadcast";
    case CollectiveKind::kReduce:
        return "Reduce";
    case CollectiveKind::kAllGather:
        return "AllGather";
    case CollectiveKind::kReduceScatter:
        return "ReduceScatter";
    case CollectiveKind::kAllToAll:
        return "AllToAll";
    }
    return "unknown collective";
}

std::size_t Collective::SendBytes() const {
    const std::size_t bytes = count * DTypeSize(dtype);
    if (kind == CollectiveKind::kBroadcast && comm->rank != root) {
        return 0;
    }
    return HasParts(kind) ? bytes * static_cast<std::size_t>(comm->session->nranks()) : bytes;
}

std::size_t Collective::RecvBytes() const {
    const std::size_t bytes = count * DTypeSize(dtype);
    if (kind == CollectiveKind::kReduce && comm->rank != root) {
        return 0;
    }
    const bool all = kind == CollectiveKind::kAllGather || kind == CollectiveKind::kAllToAll;
    return all ? bytes * static_cast<std::size_t>(comm->session->nranks()) : bytes;
}

Result RunCollective(Collective &operation) {
    Comm &comm = *operation.comm;
    comm.WaitForTurn(operation.ticket);
    PinnedRange send;
    PinnedRange recv;
    Result result = comm.arena().Check(operation.send, operation.SendBytes(), Moment::kRun, &send);
    if (result == Result::kSuccess) {
        result = comm.arena().Check(operation.recv, operation.RecvBytes(), Moment::kRun, &recv);
    }
    if (result != Result::kSuccess) {
        comm.Fail(result, Text("a buffer of ", CollectiveName(operation.kind), " of rank ", comm.rank,
                               " was not valid when it ran"));
    } else if (comm.Error() != Result::kSuccess || !Exchange(operation, send.view(), recv.view())) {
        // Nothing that looks like a result may stay.
        if (recv.view() != nullptr) {
            std::memset(recv.view(), 0xFF, operation.RecvBytes());
        }
    }
    comm.EndTurn();
    return result;
}

} // namespace fl::sim
