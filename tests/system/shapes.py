"""Synthetic SDKs of odd shapes, as schema overlays: what no shipped vendor has, or not in this combination.

An SDK is made out of one table of functions, with the changes that its shape asks for. Vendor data and simulated SDK are
written from the same table; they agree with each other by construction, and what is tested is the generated code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCE = "made up for a test"
RESULTS = {
    "success": "Ok", "not_ready": "NotReady", "out_of_memory": "NoMemory", "invalid_value": "Bad", "invalid_handle": "Bad",
    "invalid_device": "Bad", "no_device": "Failed", "invalid_address": "Bad", "invalid_direction": "Bad",
    "not_supported": "Failed", "illegal_state": "Failed", "invalid_usage": "Bad", "timeout": "Failed",
    "remote_error": "Failed", "internal": "Failed",
}  # fmt: skip
DTYPES = ("uint8", "int32", "int64", "float16", "bfloat16", "float32", "float64")
ENGINE_DTYPES = {"uint8": "kUInt8", "float16": "kFloat16", "bfloat16": "kBFloat16"}


@dataclass(frozen=True)
class Odd:
    """The shape of one SDK; `lacks` are operations that it does not have. Without `ccl` it has no collectives."""

    name: str
    lacks: frozenset[str]
    ccl: bool = True
    status_by_pointer: bool = False  # void f(..., Status *status)
    init: bool = False  # nothing works before Init(), and devices are handles instead of ordinals
    queue_is_macro: bool = False
    priorities: tuple[int, int] = (0, 0)  # least, greatest
    microseconds: bool = False
    rank_first: bool = False
    broadcast_in_place: bool = False
    copies_take_no_const: bool = False  # the source of a copy is void *

    @property
    def prefix(self) -> str:
        return self.name.capitalize()

    def has(self, operation: str) -> bool:
        return operation not in self.lacks


@dataclass(frozen=True)
class Function:
    """One function of an SDK: the operation that it does ("" and "ccl.": none alone), `parameters` as (type, name, argument of
    the binding), what the engine does."""

    operation: str
    name: str
    parameters: tuple[tuple[str, str, str], ...]
    sim: str
    library: str = "rt"


def _function(operation: str, name: str, parameters: str, sim: str, **arguments: str) -> Function:
    """`parameters` as in C; an argument of the binding is named like its parameter, unless `arguments` has another one."""
    found = []
    for parameter in filter(None, (part.strip() for part in parameters.split(","))):
        type_, word = parameter.rsplit(" ", 1)
        stars = len(word) - len(word.lstrip("*"))
        word = word.lstrip("*")
        found.append((f"{type_} {'*' * stars}".strip(), word, arguments.get(word, word)))
    return Function(operation, name, tuple(found), sim, "ccl" if operation.startswith("ccl.") else "rt")


def _runtime(odd: Odd) -> Iterator[Function]:
    p = odd.prefix
    queue = f"{p.upper()}_QUEUE" if odd.queue_is_macro else f"{p}Queue"
    direction = "CopyKind way{}; "
    yield _function("device.count", "DeviceCount", "int *count", "DeviceCount(count)")
    if odd.init:
        yield _function("device.init", "Init", "", "started = true; return Result::kSuccess;")
        yield _function("", "DeviceHandle", f"{p}Device *handle, int device", "return FindDevice(handle, device);")
        yield _function("device.set", "SetCurrentDevice", f"{p}Device handle", "SetDevice(OrdinalOf(handle))")
    else:
        yield _function("device.set", "SetDevice", "int device", "SetDevice(device)")
    yield _function("device.get", "GetDevice", "int *device", "GetDevice(device)")
    yield _function("device.synchronize", "DeviceWait", "", "DeviceSynchronize()")
    yield _function("stream.synchronize_default", "DefaultWait", "", "StreamSynchronize(nullptr)")
    yield _function(
        "stream.create",
        "QueueCreate",
        f"{queue} *stream",
        "Create(stream, [](Handle *made) { return CreateStream(made); })",
    )
    yield _function(
        "stream.create_with_priority", "QueueCreateRanked", f"{queue} *stream, int priority",
        "Create(stream, [&](Handle *made) { return CreateStream(made, 0, priority); })",
    )  # fmt: skip
    yield _function("stream.priority_range", "QueueRange", "int *low, int *high", "StreamPriorityRange(low, high)")
    yield _function("stream.destroy", "QueueDestroy", f"{queue} stream", "DestroyStream(stream)")
    yield _function("stream.synchronize", "QueueWait", f"{queue} stream", "StreamSynchronize(stream)")
    yield _function("stream.query", "QueueQuery", f"{queue} stream", "StreamQuery(stream)")
    yield _function(
        "stream.wait_event", "QueueWaitMark", f"{queue} stream, {p}Mark event", "StreamWaitEvent(stream, event)"
    )
    yield _function(
        "event.create", "MarkCreate", f"{p}Mark *event", "Create(event, [](Handle *made) { return CreateEvent(made); })"
    )
    yield _function("event.destroy", "MarkDestroy", f"{p}Mark event", "DestroyEvent(event)")
    yield _function("event.record", "MarkRecord", f"{queue} stream, {p}Mark event", "RecordEvent(event, stream)")
    yield _function("event.synchronize", "MarkWait", f"{p}Mark event", "EventSynchronize(event)")
    yield _function("event.query", "MarkQuery", f"{p}Mark event", "EventQuery(event)")
    yield _function(
        "event.elapsed_time", "MarkElapsed", f"{p}Mark start, {p}Mark end, float *ms",
        f"double found = 0; const Result result = EventElapsed(&found, start, end); "
        f"*ms = static_cast<float>(found * {1000 if odd.microseconds else 1}); return result;",
    )  # fmt: skip
    yield _function("memory.alloc", "Alloc", "void **ptr, size_t size", "Malloc(ptr, size)")
    yield _function("memory.free", "Free", "void *ptr", "Free(ptr)")
    copy = "return ToCopyKind(kind, &way) ? "
    source = "void *src" if odd.copies_take_no_const else "const void *src"
    given = "const_cast<void *>(src)" if odd.copies_take_no_const else "src"
    yield _function(
        "memory.copy", "Copy", f"void *dst, {source}, size_t size, {p}Way kind",
        f"{direction}{copy}Memcpy(dst, src, size, way) : Result::kInvalidDirection;", src=given,
    )  # fmt: skip
    yield _function(
        "memory.copy_async", "CopyQueued", f"void *dst, {source}, size_t size, {queue} stream, {p}Way kind",
        f"{direction}{copy}MemcpyAsync(dst, src, size, way, stream) : Result::kInvalidDirection;", src=given,
    )  # fmt: skip
    yield _function(
        "stream.launch_host_func", "QueueCall", f"{queue} stream, {p}Call function, void *data",
        "LaunchHostFunc(stream, function, data)",
    )  # fmt: skip
    yield _function("memory.alloc_host", "AllocHost", "void **ptr, size_t size", "MallocHost(ptr, size)")
    yield _function("memory.free_host", "FreeHost", "void *ptr", "FreeHost(ptr)")


def _collectives(odd: Odd) -> Iterator[Function]:
    p = odd.prefix
    queue = f"{p.upper()}_QUEUE" if odd.queue_is_macro else f"{p}Queue"
    typed = "DType element{}; if (!ToDType(dtype, &element)) { return Result::kInvalidValue; } "
    reducing = typed + "ReduceOp reduce{}; if (!ToReduceOp(op, &reduce)) { return Result::kInvalidValue; } "
    tail = f"{p}Comm comm, {queue} stream"
    both = "const void *send_buffer, void *recv_buffer, size_t count"
    yield _function("ccl.get_unique_id", "GetId", f"{p}IdPtr id", "CclGetUniqueId(id->data, sizeof(id->data))")
    order = "int rank, int nranks" if odd.rank_first else "int nranks, int rank"
    yield _function(
        "ccl.comm_init_rank", "CommJoin", f"{p}Comm *comm, {order}, {p}IdPtr id",
        "Create(comm, [&](Handle *made) { return CclInitRank(made, nranks, id->data, sizeof(id->data), rank); })",
        id=f"const_cast<{p}IdPtr>(id)",
    )  # fmt: skip
    yield _function("ccl.comm_destroy", "CommDestroy", f"{p}Comm comm", "CclDestroy(comm)")
    yield _function("ccl.group_start", "GroupBegin", "", "CclGroupStart()")
    yield _function("ccl.group_end", "GroupEnd", "", "CclGroupEnd()")
    yield _function(
        "ccl.all_reduce", "AllReduce", f"{both}, {p}Type dtype, {p}Op op, {tail}",
        f"{reducing}return CclAllReduce(send_buffer, recv_buffer, count, element, reduce, comm, stream);",
    )  # fmt: skip
    if odd.broadcast_in_place:
        yield _function(
            "ccl.", "Broadcast", f"void *buffer, size_t count, {p}Type dtype, int root, {tail}",
            f"{typed}return CclBroadcast(buffer, buffer, count, element, root, comm, stream);",
        )  # fmt: skip
    else:
        yield _function(
            "ccl.broadcast", "Broadcast", f"{both}, {p}Type dtype, int root, {tail}",
            f"{typed}return CclBroadcast(send_buffer, recv_buffer, count, element, root, comm, stream);",
        )  # fmt: skip
    yield _function(
        "ccl.reduce", "Reduce", f"{both}, {p}Type dtype, {p}Op op, int root, {tail}",
        f"{reducing}return CclReduce(send_buffer, recv_buffer, count, element, reduce, root, comm, stream);",
    )  # fmt: skip
    yield _function(
        "ccl.all_gather", "AllGather", f"{both}, {p}Type dtype, {tail}",
        f"{typed}return CclAllGather(send_buffer, recv_buffer, count, element, comm, stream);",
    )  # fmt: skip
    yield _function(
        "ccl.reduce_scatter", "ReduceScatter", f"{both}, {p}Type dtype, {p}Op op, {tail}",
        f"{reducing}return CclReduceScatter(send_buffer, recv_buffer, count, element, reduce, comm, stream);",
    )  # fmt: skip
    yield _function(
        "ccl.send", "Send", f"const void *buffer, size_t count, {p}Type dtype, int peer, {tail}",
        f"{typed}return CclSend(buffer, count, element, peer, comm, stream);",
    )  # fmt: skip
    yield _function(
        "ccl.recv", "Recv", f"void *buffer, size_t count, {p}Type dtype, int peer, {tail}",
        f"{typed}return CclRecv(buffer, count, element, peer, comm, stream);",
    )  # fmt: skip


def _functions(odd: Odd) -> list[Function]:
    functions = [*_runtime(odd), *(_collectives(odd) if odd.ccl else ())]
    return [function for function in functions if odd.has(function.operation)]


def _binding(odd: Odd, function: Function) -> dict[str, Any]:
    p, status = odd.prefix, f"{odd.prefix}{'Ccl' if function.library == 'ccl' else ''}Status"
    arguments = [argument for _, _, argument in function.parameters]
    call = f"{p}{function.name}({', '.join(arguments)})"
    candidate: dict[str, Any] = {"source": SOURCE}
    if function.operation == "device.set" and odd.init:
        candidate["body"] = (
            f"{p}Device handle{{}};\nconst {status} found = {p}DeviceHandle(&handle, device);\n"
            f"return found == {p}Ok ? {p}SetCurrentDevice(handle) : found;\n"
        )
    elif odd.status_by_pointer:
        given = ", ".join([*arguments, "&status"])
        candidate["body"] = f"{status} status{{}};\n{p}{function.name}({given});\nreturn status;\n"
    else:
        candidate["expr"] = call
    if function.operation == "event.elapsed_time" and odd.microseconds:
        candidate["scale"] = 0.001
    return {function.operation: [candidate]}


def vendor(odd: Odd) -> dict[str, Any]:
    """The vendor file."""
    p = odd.prefix
    bindings: dict[str, Any] = {}
    for function in _functions(odd):
        if function.operation not in ("", "ccl."):
            bindings |= _binding(odd, function)
    helpers: dict[str, Any] = {}
    if odd.ccl and odd.broadcast_in_place:
        sizes = " : ".join(f"dtype == {p}{name} ? {_size(name)}" for name in DTYPES)
        helpers["size_of"] = {
            "doc": "bytes of an element",
            "source": SOURCE,
            "code": f"inline size_t {p}SizeOf({p}Type dtype) {{ return {sizes} : 0; }}\n",
        }
        bindings["ccl.broadcast"] = [
            {
                "source": SOURCE,
                "helpers": ["size_of"],
                "body": f"if (send_buffer != recv_buffer) {{\n    const {p}Status copied = {p}CopyQueued(recv_buffer, send_buffer, "
                f"count * {p}SizeOf(dtype), stream, {p}Within);\n    if (copied != {p}Ok) {{\n        return {p}CclFailed;\n    }}\n"
                f"}}\nreturn {p}Broadcast(recv_buffer, count, dtype, root, comm, stream);\n",
            }
        ]
    types = {"stream": [f"{p.upper()}_QUEUE" if odd.queue_is_macro else f"{p}Queue"], "memcpy_kind": [f"{p}Way"]}
    if odd.has("event.create"):
        types["event"] = [f"{p}Mark"]
    if odd.has("stream.launch_host_func"):
        types["host_function"] = [f"{p}Call"]
    groups: dict[str, Any] = {
        "runtime": {
            "name": f"{odd.name}_rt",
            "title": p,
            "headers": [f"{odd.name}.h"],
            "libraries": [f"{odd.name}rt"],
            "required": True,
        }
    }
    statuses = {"runtime": _status(p, "", f"{odd.name.upper()}_CHECK")}
    constants: dict[str, Any] = {"memcpy_kind": {"h2d": [f"{p}In"], "d2h": [f"{p}Out"], "d2d": [f"{p}Within"]}}
    if odd.ccl:
        groups["ccl"] = {
            "name": f"{odd.name}cl",
            "title": f"{p}CL",
            "headers": [f"{odd.name}_cl.h"],
            "libraries": [f"{odd.name}cl"],
        }
        statuses["ccl"] = _status(p, "Ccl", f"{odd.name.upper()}CL_CHECK")
        types |= {"comm": [f"{p}Comm"], "unique_id": [f"{p}Id"], "ccl_dtype": [f"{p}Type"], "ccl_op": [f"{p}Op"]}
        constants["ccl_dtype"] = {name: [f"{p}{name}"] for name in DTYPES}
        constants["ccl_op"] = {name: [f"{p}{name}"] for name in ("sum", "prod", "min", "max")}
        if odd.has("ccl.average_op"):
            bindings["ccl.average_op"] = [{"expr": f"{p}avg", "source": SOURCE}]
    return {
        "schema": 1,
        "vendor": odd.name,
        "title": p,
        "autocast_dtype": "float16",
        "sdk": {
            "name": p, "environment": [f"{odd.name.upper()}_HOME"], "roots": [], "include": ["include"], "library": ["lib"],
            "version": None, "source": SOURCE,
        },
        "groups": groups,
        "types": types,
        "statuses": statuses,
        "constants": constants,
        "bindings": bindings,
        **({"helpers": helpers} if helpers else {}),
    }  # fmt: skip


def _status(p: str, part: str, macro: str) -> dict[str, Any]:
    return {
        "type": [f"{p}{part}Status"], "success": [f"{p}{part}Ok"], "not_ready": [f"{p}{part}NotReady"], "oom": [f"{p}{part}NoMemory"],
        "text": f"status == {p}{part}NoMemory ? \"no memory\" : \"failed\"", "macro": macro, "source": SOURCE,
    }  # fmt: skip


def _size(dtype: str) -> int:
    return {"uint8": 1, "float16": 2, "bfloat16": 2, "int64": 8, "float64": 8}.get(dtype, 4)


def api(odd: Odd) -> dict[str, Any]:
    """The simulated SDK."""
    p = odd.prefix
    queue: list[dict[str, Any]] = [{"opaque": f"{p}Queue_st"}]
    if odd.queue_is_macro:
        queue.append({"macro": f"{p.upper()}_QUEUE", "value": f"struct {p}Queue_st *"})
    else:
        queue.append({"typedef": f"struct {p}Queue_st *{p}Queue"})
    types = [
        _codes(p, ""),
        *queue,
        {"typedef": f"struct {p}Mark_st *{p}Mark"},
        {"typedef": f"struct {p}Device_st *{p}Device"},
        {"typedef": f"void (*{p}Call)(void *data)"},
        {"enum": f"{p}Way", "enumerators": {f"{p}Out": 3, f"{p}In": 5, f"{p}Within": 9}},
    ]
    ccl_types = [
        _codes(p, "Ccl"),
        {"record": f"{p}Id", "fields": ["char data[136]"]},
        {"typedef": f"{p}Id *{p}IdPtr"},
        {"typedef": f"struct {p}Comm_st *{p}Comm"},
        {"enum": f"{p}Type", "enumerators": {f"{p}{name}": number for number, name in enumerate(DTYPES)}},
        {"enum": f"{p}Op", "enumerators": {f"{p}{name}": number for number, name in enumerate(_operators(odd))}},
    ]
    libraries = [_library(odd, "rt"), *([_library(odd, "cl")] if odd.ccl else [])]
    headers = [_header(odd, f"{odd.name}.h", "rt", types, ["stddef.h", "stdint.h"])]
    domains = {"runtime": _domain(p, "")}
    maps = [
        _map(
            odd,
            "rt",
            "ToCopyKind",
            "Way",
            "CopyKind",
            {"Out": "kDeviceToHost", "In": "kHostToDevice", "Within": "kDeviceToDevice"},
        )
    ]
    if odd.ccl:
        headers.append(_header(odd, f"{odd.name}_cl.h", "ccl", ccl_types, [f"{odd.name}.h"]))
        domains["ccl"] = _domain(p, "Ccl")
        maps.append(
            _map(
                odd,
                "cl",
                "ToDType",
                "Type",
                "DType",
                {name: ENGINE_DTYPES.get(name, f"k{name.capitalize()}") for name in DTYPES},
            )
        )
        maps.append(
            _map(odd, "cl", "ToReduceOp", "Op", "ReduceOp", {name: f"k{name.capitalize()}" for name in _operators(odd)})
        )
    least, greatest = odd.priorities
    return {
        "schema": 1,
        "vendor": odd.name,
        "sdk": f"{p}, an SDK of a test",
        "versions": [
            {"version": "1.0", "libraries": {entry["name"]: "1.0" for entry in libraries}, "certainty": "inferred", "source": SOURCE}
        ],
        "layout": {"include": "include", "library": "lib", "version_file": "version.txt"},
        "profile": {
            "vendor": odd.name, "device_name": p, "visible_devices": f"{odd.name.upper()}_DEVICES", "least_priority": least,
            "greatest_priority": greatest, "default_priority": max(least, greatest) // 2,
        },
        "domains": domains,
        "maps": maps,
        "libraries": libraries,
        "headers": headers,
    }  # fmt: skip


def _operators(odd: Odd) -> tuple[str, ...]:
    return ("sum", "prod", "min", "max", *(("avg",) if odd.has("ccl.average_op") else ()))


def _codes(p: str, part: str) -> dict[str, Any]:
    names = ("Ok", "NotReady", "NoMemory", "Bad", "Failed")
    return {
        "enum": f"{p}{part}Status",
        "enumerators": {f"{p}{part}{name}": number for number, name in enumerate(names)},
    }


def _domain(p: str, part: str) -> dict[str, Any]:
    results = {result: [f"{p}{part}{name}"] for result, name in RESULTS.items()}
    return {"type": f"{p}{part}Status", "source": SOURCE, "results": results}


def _map(odd: Odd, library: str, name: str, from_: str, to: str, cases: dict[str, str]) -> dict[str, Any]:
    p = odd.prefix
    named = {f"{p}{case}": f"{to}::{value}" for case, value in cases.items()}
    return {"name": name, "library": f"{odd.name}{library}", "from": f"{p}{from_}", "to": to, "cases": named}


def _library(odd: Odd, part: str) -> dict[str, Any]:
    p, ccl = odd.prefix, part == "cl"
    support = """
// Runs `make` and stores the handle that it gives in the vendor's pointer type.
template <typename T, typename Make> Result Create(T **object, Make &&make) {
    Handle handle = nullptr;
    const Result result = make(&handle);
    *object = static_cast<T *>(handle);
    return result;
}
"""
    if odd.status_by_pointer:
        support += f"""
template <typename Body> void Give(ApiCall &call, {p}{"Ccl" if ccl else ""}Status *status, Body &&body) {{
    *status = {"ToCcl" if ccl else "ToRuntime"}(call.Return(call.Injected() ? *call.Injected() : body()));
}}
"""
    if odd.init and not ccl:
        support += f"""
std::atomic<bool> started{{false}}; // by Init

int OrdinalOf({p}Device handle) {{ return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle)) - 1; }}

Result FindDevice({p}Device *handle, int device) {{
    *handle = reinterpret_cast<{p}Device>(static_cast<std::uintptr_t>(device) + 1);
    return Result::kSuccess;
}}
"""
    header = f"{odd.name}_cl.h" if ccl else f"{odd.name}.h"
    return {"name": f"{odd.name}{part}", "domain": "ccl" if ccl else "runtime", "headers": [header], "support": support}


def _header(odd: Odd, path: str, library: str, types: list[dict[str, Any]], includes: list[str]) -> dict[str, Any]:
    items = [_declaration(odd, function) for function in _functions(odd) if function.library == library]
    section = {"source": SOURCE, "certainty": "inferred"}
    return {
        "path": path,
        "library": f"{odd.name}{'cl' if library == 'ccl' else 'rt'}",
        "guard": path.upper().replace(".", "_"),
        "includes": includes,
        "sections": [{"title": "types", **section, "items": types}, {"title": "functions", **section, "items": items}],
    }


def _declaration(odd: Odd, function: Function) -> dict[str, Any]:
    status = f"{odd.prefix}{'Ccl' if function.library == 'ccl' else ''}Status"
    parameters = [f"{type_}{'' if type_.endswith('*') else ' '}{name}" for type_, name, _ in function.parameters]
    name = f"{odd.prefix}{function.name}"
    sim = function.sim if function.sim.endswith(";") else f"return {function.sim};"
    if odd.init and function.library == "rt" and function.name != "Init":
        sim = "if (!started) { return Result::kIllegalState; }\n" + sim
    if odd.status_by_pointer:
        listed = ", ".join([*parameters, f"{status} *status"])
        return {"function": f"void {name}({listed})", "body": f"Give(call, status, [&]() -> Result {{\n{sim}\n}});\n"}
    return {"function": f"{status} {name}({', '.join(parameters) or 'void'})", "sim": sim + "\n"}


def write(odd: Odd, folder: Path) -> Path:
    """Write both files below `folder`, a schema folder of a user, and return it."""
    import yaml

    target = folder / "vendors" / odd.name
    target.mkdir(parents=True, exist_ok=True)
    for name, content in (("vendor.yaml", vendor(odd)), ("api.yaml", api(odd))):
        text = yaml.safe_dump(content, sort_keys=False, width=1000)
        file = target / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    return folder
