"""The classic faults of a bring-up: each gives clang's words at the place in the YAML where the fault is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.schema.nodes import Mapping, Node, Scalar, Sequence
from fl_gen.schema.yaml_loader import loads
from fl_gen.sdk.items import Form, ProbeItem, ProbeReport, Verdict
from fl_gen.sdk.probe import probe
from fl_gen.sdk.shims import minimal

COPY = (("void *", "dst"), ("void *", "src"), ("size_t", "size"))
CONST_COPY = (("void *", "dst"), ("const void *", "src"), ("size_t", "size"))
MISTAKES: list[tuple[str, str, str, tuple[tuple[str, str], ...], int, str, str]] = [
    (
        "status of another library",
        "cnnlCreate(handle)",
        "cnrtRet_t",
        (("cnnlHandle_t *", "handle"),),
        0,
        "clang: cannot initialize return object of type 'cnrtRet_t' with an rvalue of type 'cnnlStatus_t'",
        "the operation returns cnrtRet_t",
    ),
    (
        "type of another SDK",
        "cnrtMemcpy(dst, src, size, static_cast<cnrtMemcpyKind_t>(kind))",
        "cnrtRet_t",
        (*COPY, ("int", "kind")),
        39,
        "clang: unknown type name 'cnrtMemcpyKind_t'",
        "did you mean cnrtMemTransDir_t?",
    ),
    (
        "argument order",
        "cnrtMemcpyAsync(dst, src, size, kind, stream)",
        "cnrtRet_t",
        (*COPY, ("cnrtMemTransDir_t", "kind"), ("cnrtQueue_t", "stream")),
        32,
        "no known conversion from 'cnrtMemTransDir_t' to 'cnrtQueue_t' (aka 'CNqueue_st *') for 4th argument",
        "cnrtRet_t cnrtMemcpyAsync(void *dst, void *src, size_t bytes, cnrtQueue_t queue, cnrtMemTransDir_t dir)",
    ),
    (
        "int for unsigned",
        "cnrtGetDeviceCount(count)",
        "cnrtRet_t",
        (("int *", "count"),),
        19,
        "no known conversion from 'int *' to 'unsigned int *' for 1st argument",
        "cnrtRet_t cnrtGetDeviceCount(unsigned int *pCount)",
    ),
    (
        "const source",
        "cnrtMemcpy(dst, src, size, cnrtMemcpyHostToDev)",
        "cnrtRet_t",
        CONST_COPY,
        16,
        "2nd argument ('const void *') would lose const qualifier",
        "cnrtRet_t cnrtMemcpy(void *dst, void *src, size_t bytes, cnrtMemTransDir_t dir)",
    ),
    (
        "function of another SDK",
        "cnrtMallocAsync(ptr, size, stream)",
        "cnrtRet_t",
        (("void **", "ptr"), ("size_t", "size"), ("cnrtQueue_t", "stream")),
        0,
        "clang: use of undeclared identifier 'cnrtMallocAsync'",
        "cnrtMemAllocAsync?  cnrtRet_t cnrtMemAllocAsync(void **pPtr, size_t byteSize, cnrtQueue_t queue)  (cnrt.h:",
    ),
    (
        "too many arguments",
        "cnrtSetDevice(device, 0)",
        "cnrtRet_t",
        (("int", "device"),),
        0,
        "requires single argument 'ordinal', but 2 arguments were provided",
        "cnrtRet_t cnrtSetDevice(int ordinal)",
    ),
    (
        "integer that loses bits",
        "cnrtSetDevice(device)",
        "cnrtRet_t",
        (("long long", "device"),),
        14,
        "implicit conversion loses integer precision: 'long long' to 'int'",
        "",
    ),
    (
        "handle of another kind",
        "cnrtQueueSync(event)",
        "cnrtRet_t",
        (("cnrtNotifier_t", "event"),),
        14,
        "'cnrtNotifier_t' (aka 'CNnotifier_st *') to 'cnrtQueue_t' (aka 'CNqueue_st *') for 1st argument",
        "cnrtRet_t cnrtQueueSync(cnrtQueue_t queue)",
    ),
]


@pytest.mark.parametrize(
    ("code", "returns", "params", "offset", "says", "hint"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES]
)
def test_mistake_is_found_where_it_is(
    judge_one: Callable[..., Verdict],
    code: str,
    returns: str,
    params: tuple[tuple[str, str], ...],
    offset: int,
    says: str,
    hint: str,
) -> None:
    verdict = judge_one(code, "expr", returns, params)
    assert not verdict.ok
    first = verdict.diagnostics[0]
    assert says in first.message
    assert first.message.startswith("clang: ")
    assert hint in (first.hint or "")
    assert (first.location.file, first.location.line, first.location.column) == ("vendor.yaml", 1, 11 + offset)


def test_all_mistakes_in_one_unit_keep_to_themselves(
    item: Callable[..., ProbeItem], ask: Callable[..., ProbeReport]
) -> None:
    """Together they say what each says alone, and good neighbours stay good."""
    good = [
        item(f"good{n}", "cnrtMalloc(ptr, size)", params=[("void **", "ptr"), ("size_t", "size")]) for n in range(10)
    ]
    bad = [item(m[0], m[1], "expr", m[2], m[3], line=n + 1) for n, m in enumerate(MISTAKES)]
    mixed = [one for pair in zip(good, bad, strict=False) for one in pair]
    report = ask(*mixed)
    for number, mistake in enumerate(MISTAKES):
        verdict = report.verdicts[mistake[0]]
        assert mistake[5] in verdict.diagnostics[0].message
        assert verdict.diagnostics[0].location.line == number + 1
    assert all(report.verdicts[one.id].ok for one in mixed if one.id.startswith("good"))
    assert report.parses == 2


def test_place_in_a_real_yaml_file(sdk: Path) -> None:
    """Line and column are those of the YAML text, in a block scalar and behind quotes."""
    text = """\
bindings:
  device.count:
    - body: |
        unsigned int value = 0;
        const cnrtRet_t result = cnrtGetDeviceCounts(&value);
        return result;
  memory.free:
    - {expr: "cnrtFree(\\"x\\", ptr)"}
"""
    bindings = _map(_map(loads(text, "mlu/vendor.yaml")).values["bindings"])
    body = _candidate(bindings, "device.count", "body")
    expr = _candidate(bindings, "memory.free", "expr")
    items = [
        ProbeItem("count", "cnrtRet_t", (), body.value, "body", (), body.location, body.locate),
        ProbeItem("free", "cnrtRet_t", (("void *", "ptr"),), expr.value, "expr", (), expr.location, expr.locate),
    ]
    report = probe(items, ["cnrt.h"], [sdk], minimal())
    count, free = report.verdicts["count"].diagnostics[0], report.verdicts["free"].diagnostics[0]
    assert str(count.location) == "mlu/vendor.yaml:5:34"
    assert "did you mean cnrtGetDeviceCount?" in (count.hint or "")
    assert str(free.location) == "mlu/vendor.yaml:8:15"


def _map(node: Node) -> Mapping:
    assert isinstance(node, Mapping)
    return node


def _candidate(bindings: Mapping, operation: str, key: str) -> Scalar:
    listed = bindings.values[operation]
    assert isinstance(listed, Sequence)
    scalar = _map(listed.items[0]).values[key]
    assert isinstance(scalar, Scalar)
    return scalar


@pytest.mark.parametrize(
    ("code", "form", "returns", "params", "ok"),
    [
        ("cnrtMalloc(ptr, size)", "expr", "cnrtRet_t", (("void **", "ptr"), ("size_t", "size")), True),
        ("cnrtGetErrorStr(status)", "expr", "const char *", (("cnrtRet_t", "status"),), True),
        ("cnnlGetLibVersion(a, b, c)", "expr", "void", (("int *", "a"), ("int *", "b"), ("int *", "c")), True),
        ("cnnlGetLibVersion(a, b, c)", "expr", "cnrtRet_t", (("int *", "a"), ("int *", "b"), ("int *", "c")), False),
        ("cnrtGetDeviceProperties(prop, 0)", "expr", "cnrtRet_t", (("cnrtDeviceProp_t *", "prop"),), True),
        ("cnrtMemcpyHostToDev", "constant", "cnrtMemTransDir_t", (), True),
        ("cnrtMemcpyHostToDev", "constant", "cnrtRet_t", (), False),
        ("CNRT_NOTIFIER_DISABLE_TIMING_SW", "constant", "unsigned int", (), True),
        ("0", "constant", "unsigned int", (), True),
        ("-1", "constant", "unsigned int", (), False),
        ("300", "constant", "unsigned char", (), False),
        ("cnrtQueue_t", "type", "", (), True),
        ("struct cnclCliqueId", "type", "", (), True),
        ("cnrtStream_t", "type", "", (), False),
        ("cnrtSuccess", "type", "", (), False),
        ("unsigned int n = 0;\nreturn cnrtGetDeviceCount(&n);", "body", "cnrtRet_t", (), True),
        ("cnrtSyncDevice();", "body", "cnrtRet_t", (), False),
        ("fn(data)", "expr", "void", (("void (*)(void *)", "fn"), ("void *", "data")), True),
        ("sizeof(list) == 2 * sizeof(int) ? list[0] : list[1]", "expr", "int", (("int (&)[2]", "list"),), True),
    ],
)
def test_forms(
    judge_one: Callable[..., Verdict],
    code: str,
    form: Form,
    returns: str,
    params: tuple[tuple[str, str], ...],
    ok: bool,
) -> None:
    verdict = judge_one(code, form, returns, params)
    assert verdict.ok is ok, verdict.diagnostics
    assert bool(verdict.diagnostics) is not ok


def test_what_an_item_uses_is_told_with_header_and_line(judge_one: Callable[..., Verdict], sdk: Path) -> None:
    lines = (sdk / "cnrt.h").read_text().splitlines()

    def line(text: str) -> int:
        return next(n for n, row in enumerate(lines, 1) if text in row)

    code = "cnrtDeviceProp_t value;\nreturn cnrtGetDeviceProperties(&value, CNRT_NOTIFIER_DEFAULT);"
    used = {use.name: (use.header, use.line) for use in judge_one(code, "body").declarations}
    assert used == {
        "cnrtDeviceProp_t": ("cnrt.h", line("typedef struct {")),
        "cnrtGetDeviceProperties": ("cnrt.h", line("#define cnrtGetDeviceProperties ")),
        "cnrtGetDeviceProperties_V3": ("cnrt.h", line(" cnrtGetDeviceProperties_V3(")),
        "CNRT_NOTIFIER_DEFAULT": ("cnrt.h", line("#define CNRT_NOTIFIER_DEFAULT")),
    }
    copy = judge_one("cnrtMemcpy(dst, src, size, cnrtMemcpyHostToDev)", params=COPY)
    assert [(use.name, use.line) for use in copy.declarations] == [
        ("cnrtMemcpy", line(" cnrtMemcpy(")),
        ("cnrtMemcpyHostToDev", line("cnrtMemcpyHostToDev =")),
    ]


def test_maca_overloads_and_default_arguments(judge_one: Callable[..., Verdict]) -> None:
    headers = ("mcr/mc_runtime.h",)
    memory = (("void **", "ptr"), ("size_t", "size"))
    for code in ("mcMalloc(ptr, size)", "mcMallocHost(ptr, size)", "mcMallocHost(ptr, size, mcMallocHostDefault)"):
        assert judge_one(code, "expr", "mcError_t", memory, headers=headers).ok
    copy = (("void *", "d"), ("const void *", "s"), ("size_t", "n"), ("mcMemcpyKind", "k"), ("mcStream_t", "q"))
    assert judge_one("mcMemcpyAsync(d, s, n, k, q)", "expr", "mcError_t", copy, headers=headers).ok
    swapped = judge_one("mcMemcpyAsync(d, s, n, q, k)", "expr", "mcError_t", copy, headers=headers)
    assert "for 4th argument" in swapped.diagnostics[0].message
    assert swapped.diagnostics[0].location.column == 11 + len("mcMemcpyAsync(d, s, n, ")
