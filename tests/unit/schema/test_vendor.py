"""Runtime and vendor files: the model of a good one, and the exact words about bad ones."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from fl_gen.resolve.bindings import probe_items
from fl_gen.schema.errors import SchemaError
from fl_gen.schema.link import cross_problems
from fl_gen.schema.runtime import load_runtime
from fl_gen.schema.vendor import Candidate
from fl_gen.schema.vendor_spec import load_vendor
from unit.schema.samples import RUNTIME, VENDOR

Write = Callable[..., str]
Failure = Callable[..., str]


def broken(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def messages(error: str) -> list[str]:
    return [line for line in error.splitlines() if line.startswith("file.yaml:") and ": note: " not in line]


def test_a_runtime_file(write: Write) -> None:
    runtime = load_runtime(write(RUNTIME))
    operation = runtime.operations["memory.alloc_async"]
    assert [param.name for param in operation.params] == ["ptr", "size", "stream"]
    assert [param.unit for param in operation.params] == [None, "bytes", None]
    assert (operation.result, operation.required, operation.returns) == ("status", False, None)
    assert operation.strategy is not None
    assert operation.strategy.name == "sync"
    assert runtime.operations["device.count"].required
    assert str(runtime.operations.location_of("memory.alloc_async")) == "file.yaml:12:3"
    assert str(operation.params[2].location) == "file.yaml:18:9"
    assert runtime.types["stream"].group == "runtime"


def test_optional_headers_are_those_that_the_sdk_has(write: Write) -> None:
    text = broken(VENDOR, "headers: [crt.h]", "headers: [crt.h], optional_headers: [crt_pool.h, crt_graph.h]")
    vendor = load_vendor(write(text))
    assert vendor.groups["runtime"].headers == ("crt.h",)
    fitted = vendor.fitted(lambda header: header == "crt_graph.h")
    assert (fitted.groups["runtime"].headers, fitted.groups["runtime"].optional_headers) == (
        ("crt.h", "crt_graph.h"),
        (),
    )
    assert fitted.groups.location_of("runtime") == vendor.groups.location_of("runtime")
    assert vendor.fitted(lambda header: False).groups["runtime"].headers == ("crt.h",)


def test_a_vendor_without_optional_headers_fits_every_sdk(write: Write) -> None:
    vendor = load_vendor(write(VENDOR))
    assert vendor.fitted(lambda header: True) is vendor


@pytest.mark.parametrize(("line", "strict"), [("", False), ("strict_typedefs: true\n", True)])
def test_typedefs_are_told_apart_where_the_vendor_asks_for_it(line: str, strict: bool, write: Write) -> None:
    runtime, vendor = (
        load_runtime(write(RUNTIME)),
        load_vendor(write(broken(VENDOR, "schema: 1\n", f"schema: 1\n{line}"))),
    )
    items = probe_items(runtime, vendor, frozenset(vendor.groups))
    assert {item.strict_typedefs for item in items if item.id.startswith("op:")} == {strict}


def test_a_vendor_file(write: Write) -> None:
    vendor = load_vendor(write(VENDOR))
    assert (vendor.name.pascal, vendor.autocast_dtype, vendor.sdk.version) == ("Chip", "bfloat16", None)
    assert (vendor.groups["runtime"].key, vendor.groups["runtime"].name.upper) == ("runtime", "CRT")
    assert vendor.statuses["runtime"].key == "runtime"
    assert [text.value for text in vendor.types["stream"]] == ["crtStream_t"]
    assert vendor.statuses["runtime"].oom == ()
    assert [text.value for text in vendor.constants["memcpy_kind"]["h2d"]] == ["crtToDevice"]
    assert vendor.constants["memcpy_kind"]["p2p"] == ()
    assert vendor.workaround("none") is None
    body, expr = vendor.bindings["device.count"][0], vendor.bindings["memory.alloc_async"][0]
    assert (body.form, expr.form, expr.code.value) == ("body", "expr", "crtAllocAsync(ptr, size, stream)")
    assert body.code.value.startswith("unsigned int value")
    assert not body.code.value.endswith("\n")
    assert (expr.certainty, expr.status, expr.scale, expr.helpers) == ("certain", None, None, ())


def test_candidates_lead_back_to_the_file(write: Write) -> None:
    vendor = load_vendor(write(VENDOR))
    lines = VENDOR.splitlines()

    def at(candidate: Candidate, word: str) -> str:
        place = candidate.code.locate(candidate.code.value.index(word))
        return lines[place.line - 1][place.column - 1 :]

    body, expr = vendor.bindings["device.count"][0], vendor.bindings["memory.alloc_async"][0]
    assert at(body, "crtCount") == "crtCount(&value);"
    assert at(body, "return") == "return result;"
    assert at(expr, "size").startswith("size, stream)")
    assert body.code.location == body.code.locate(0)


# what to replace in VENDOR, by what, and everything that the user reads
MISTAKES = {
    "unknown key": (
        "autocast_dtype: bfloat16",
        "autocast_type: bfloat16\nautocast_dtype: bfloat16",
        """\
        file.yaml:4:1: unknown key 'autocast_type' in a vendor file
            4 | autocast_type: bfloat16
              | ^~~~~~~~~~~~~
          = keys: device_compiler, helpers, kernels, strict_typedefs, workarounds""",
    ),
    "misspelt key": (
        "bindings:",
        "bindngs:",
        """\
        file.yaml:28:1: unknown key 'bindngs' in a vendor file
           28 | bindngs:
              | ^~~~~~~
          = did you mean 'bindings'?""",
    ),
    "wrong type": (
        "headers: [crt.h]",
        "headers: crt.h",
        """\
        file.yaml:14:45: 'headers' must be a list, not the text 'crt.h'
           14 |   runtime: {name: crt, title: CRT, headers: crt.h, libraries: [crt], required: true}
              |                                             ^~~~~
          = for a list of one write [crt.h]""",
    ),
    "yes for true": (
        "required: true",
        "required: yes",
        """\
        file.yaml:14:82: 'required' must be true or false, not the text 'yes'
           14 |   runtime: {name: crt, title: CRT, headers: [crt.h], libraries: [crt], required: yes}
              |                                                                                  ^~~
          = write true""",
    ),
    "bad enum value": (
        "autocast_dtype: bfloat16",
        "autocast_dtype: bfloat61",
        """\
        file.yaml:4:17: 'autocast_dtype' must be one of bfloat16, float16, not the text 'bfloat61'
            4 | autocast_dtype: bfloat61
              |                 ^~~~~~~~
          = did you mean 'bfloat16'?""",
    ),
    "reserved vendor name": (
        "vendor: chip",
        "vendor: cuda",
        """\
        file.yaml:2:9: 'vendor' must be a vendor name, not 'cuda'
            2 | vendor: cuda
              |         ^~~~
          = the framework keeps cpu, cuda, privateuse1 for itself""",
    ),
    "keyword as vendor name": (
        "vendor: chip",
        "vendor: xor",
        """\
        file.yaml:2:9: 'vendor' must be a vendor name, not 'xor'
            2 | vendor: xor
              |         ^~~
          = it is a C++ keyword""",
    ),
    "escape from the folder": (
        "headers: [crt.h]",
        "headers: [../../etc/crt.h]",
        """\
        file.yaml:14:46: an item of 'headers' must be a header name, not '../../etc/crt.h'
           14 |   runtime: {name: crt, title: CRT, headers: [../../etc/crt.h], libraries: [crt], required: true}
              |                                              ^~~~~~~~~~~~~~~
          = it must stay inside its folder: no '..'""",
    ),
    "true for text": (
        "title: Some Chip",
        "title: true",
        """\
        file.yaml:3:8: 'title' must be a name as people write it, not true
            3 | title: true
              |        ^~~~
          = as text write "true\"""",
    ),
    "both forms": (
        '{expr: "crtAllocAsync(ptr, size, stream)"',
        '{body: return 0;, expr: "crtAllocAsync(ptr, size, stream)"',
        """\
        file.yaml:37:25: a binding candidate takes 'expr' or 'body', not 'body' and 'expr'
           37 |     - {body: return 0;, expr: "crtAllocAsync(ptr, size, stream)", source: a header}
              |                         ^~~~
          = keep one""",
    ),
    "neither form": (
        '{expr: "crtAllocAsync(ptr, size, stream)", ',
        "{",
        """\
        file.yaml:37:7: a binding candidate needs 'expr' or 'body'
           37 |     - {source: a header}
              |       ^
          = expr: one C++ expression over the operation's parameters
          = body: statements over the parameters that return the result""",
    ),
    "statement as expression": (
        '"crtAllocAsync(ptr, size, stream)"',
        '"crtAllocAsync(ptr, size, stream);"',
        """\
        file.yaml:37:14: an expr is one expression and has no ';'
           37 |     - {expr: "crtAllocAsync(ptr, size, stream);", source: a header}
              |              ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
          = remove the ';', or use body: with return""",
    ),
    "number in quotes": (
        "schema: 1",
        'schema: "1"',
        """\
        file.yaml:1:9: 'schema' must be a whole number, not the text '1'
            1 | schema: "1"
              |         ^~~
          = write it in decimal, without quotes, underscores or leading zeros""",
    ),
    "version of the future": (
        "schema: 1",
        "schema: 2",
        """\
        file.yaml:1:9: 'schema' must be 1, not 2
            1 | schema: 2
              |         ^""",
    ),
    "text of another name": (
        "not_ready: [crtNotReady]\n    oom: []\n    text: crtErrorText(status)",
        "not_ready: [crtNotReady]\n    oom: []\n    text: crtErrorText(result)",
        """\
        file.yaml:23:11: 'text' must use the name status
           23 |     text: crtErrorText(result)
              |           ^~~~~~~~~~~~~~~~~~~~
          = as in: cnrtGetErrorStr(status)""",
    ),
    "unknown constant": (
        "h2d: [crtToDevice]",
        "h2p: [crtToDevice]",
        """\
        file.yaml:27:17: unknown key 'h2p' in the constants of memcpy_kind
           27 |   memcpy_kind: {h2p: [crtToDevice], d2h: [crtToHost], d2d: [crtDevice]}
              |                 ^~~
          = did you mean 'h2d'?""",
    ),
    "unknown helper and status domain": (
        'expr: "crtAllocAsync(ptr, size, stream)"',
        'status: ccl, helpers: [make_it], expr: "crtAllocAsync(ptr, size, stream)"',
        """\
        file.yaml:37:16: unknown status domain 'ccl'
           37 |     - {status: ccl, helpers: [make_it], expr: "crtAllocAsync(ptr, size, stream)", source: a header}
              |                ^~~
          = known: runtime
        file.yaml:37:31: unknown helper 'make_it'
           37 |     - {status: ccl, helpers: [make_it], expr: "crtAllocAsync(ptr, size, stream)", source: a header}
              |                               ^~~~~~~
          = there is none
        2 errors""",
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_a_vendor_file(old: str, new: str, expected: str, write: Write, failure: Failure) -> None:
    assert failure(load_vendor, write(broken(VENDOR, old, new))) == textwrap.dedent(expected)


def test_all_mistakes_at_once(write: Write, failure: Failure) -> None:
    text = (
        VENDOR.replace("vendor: chip", "vendor: 9x")
        .replace("[/opt/chip]", "[opt]")
        .replace("macro: CHIP", "macr: CHIP")
    )
    text = text.replace("title: CRT", "title: [CRT]").replace("source: a header}\n", "source: a header, since: 6}\n")
    assert messages(failure(load_vendor, write(text))) == [
        "file.yaml:2:9: 'vendor' must be a vendor name, not '9x'",
        "file.yaml:8:11: an item of 'roots' must be an absolute path, not 'opt'",
        "file.yaml:14:31: 'title' must be a name as people write it, not a list",
        "file.yaml:24:5: unknown key 'macr' in a status domain",
        "file.yaml:37:68: unknown key 'since' in a binding candidate",
    ]


def test_the_number_of_errors_is_bounded(write: Write) -> None:
    text = VENDOR + "\n".join(f"  bad.verb{n}: [1]" for n in range(5_000)) + "\n"
    with pytest.raises(SchemaError) as caught:
        load_vendor(write(text))
    assert len(caught.value.diagnostics) == 200


WORKAROUND = """\
workarounds:
  - name: careful
    reason: it breaks
    environment: CHIP_CAREFUL
    default: true
    effects: [sync_allocation, {set_env: {CHIP_BLOCKING: "1"}}]
    source: a report
  - name: segments
    reason: it is slow
    environment: CHIP_SEGMENT
    default: 160
    maximum: 4096
    effects: [segment_all_reduce, {set_env_for_argument: {argument: tensor_parallel, above: 1, set: {CHIP_P2P: "0"}}}]
    source: a report
"""


def test_workarounds(write: Write, failure: Failure) -> None:
    vendor = load_vendor(write(VENDOR + WORKAROUND))
    careful, segments = vendor.workarounds
    assert careful.default is True
    assert careful.effects[1].variables == {"CHIP_BLOCKING": "1"}
    assert segments.default == 160
    effect = segments.effect("set_env_for_argument")
    assert effect is not None
    assert (effect.argument, effect.above, effect.variables) == ("tensor_parallel", 1, {"CHIP_P2P": "0"})
    assert vendor.effect("segment_all_reduce") is segments
    text = WORKAROUND.replace("sync_allocation", "sync_alocation").replace("maximum: 4096", "maximum: 100")
    assert messages(failure(load_vendor, write(VENDOR + text))) == [
        "file.yaml:43:15: an item of 'effects' must be one of sync_allocation, serialize_copies, retain_pool, "
        "segment_all_reduce, uniform_groups, not the text 'sync_alocation'",
        "file.yaml:48:14: the default is above the maximum 100",
    ]


def test_a_helper_that_nobody_uses_is_a_mistake(write: Write, failure: Failure) -> None:
    helper = "helpers:\n  make_it: {code: 'int f();', doc: makes it, source: a header}\n"
    assert messages(failure(load_vendor, write(VENDOR + helper))) == [
        "file.yaml:39:3: no candidate uses the helper 'make_it'"
    ]
    used = VENDOR.replace('{expr: "crtAlloc', '{helpers: [make_it], expr: "crtAlloc')
    assert load_vendor(write(used + helper)).helpers["make_it"].code.value == "int f();"


def test_kernels_of_a_vendor(write: Write, failure: Failure) -> None:
    kernels = """\
kernels:
  Fill: {strategy: native, operation: memory.alloc_async, source: a person}
  Cast: {strategy: library, operation: library.cst, source: a manual}
"""
    assert messages(failure(load_vendor, write(VENDOR + kernels))) == [
        "file.yaml:39:20: strategy: native needs 'file'",
    ]
    good = kernels.replace("operation: memory.alloc_async", "file: fill.chip")
    assert messages(failure(load_vendor, write(VENDOR + good))) == ["file.yaml:40:40: unknown binding 'library.cst'"]


RUNTIME_MISTAKES = {
    "dangling type": ("$stream", "$steam", "file.yaml:18:9: unknown type 'steam'"),
    "value without type": (
        "result: status\n    required", "result: value\n    required",
        "file.yaml:10:13: result: value needs 'returns', the C++ type of the value",
    ),
    "required and replaceable": (
        "required: true\n", "required: true\n    strategy: {name: none, doc: nothing}\n",
        "file.yaml:12:15: a required operation has no strategy to do without it",
    ),
    "parameter twice": ("name: size", "name: ptr", "file.yaml:16:7: the parameter 'ptr' stands twice"),
    "keyword as parameter": (
        "name: size", "name: default", "file.yaml:17:16: 'name' must be a C++ name, not 'default'",
    ),
    "type that breaks out": (
        "type: size_t", 'type: "size_t a) { system(x); }"', "file.yaml:17:28: 'type' must be a C++ type, not 'size_t a) { system(x); }'",
    ),
    "operation without area": ("device.count:", "device_count:", "file.yaml:5:3: a key of 'operations' must be an operation name, not 'device_count'"),
    "unknown group": (
        "group: runtime\n    doc: The", "group: runtme\n    doc: The",
        "file.yaml:6:12: 'group' must be one of runtime, blas, dnn, ccl, not the text 'runtme'",
    ),
    "names that collide": (
        "memory.alloc_async:", "device.co_unt:", "file.yaml:12:3: 'device.co_unt' and 'device.count' get one name in generated code",
    ),
    "comment that breaks out": ("doc: The number of devices.", "doc: a */ b", "file.yaml:7:10: 'doc' becomes a C++ comment and may not hold '*/', or a backslash at the end or before a blank"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), RUNTIME_MISTAKES.values(), ids=RUNTIME_MISTAKES.keys())
def test_a_mistake_in_a_runtime_file(old: str, new: str, expected: str, write: Write, failure: Failure) -> None:
    assert messages(failure(load_runtime, write(broken(RUNTIME, old, new)))) == [expected]


def test_references_between_vendor_and_runtime(write: Write) -> None:
    runtime = load_runtime(write(RUNTIME, "runtime.yaml"))
    text = VENDOR.replace("device.count:", "device.cuont:").replace("  stream: [", "  steam: [")
    problems = cross_problems(load_vendor(write(text)), runtime)
    assert [f"{problem.location}: {problem.message}; {problem.hint}" for problem in problems] == [
        "file.yaml:29:3: unknown operation 'device.cuont'; did you mean 'device.count'?",
        "file.yaml:16:3: unknown type 'steam'; did you mean 'stream'?",
        "file.yaml:28:1: the required operation device.count has no binding; add it to bindings: The number of devices.",
    ]
    assert cross_problems(load_vendor(write(VENDOR)), runtime) == []


def test_a_binding_of_a_group_that_the_vendor_does_not_have(write: Write) -> None:
    collectives = "  ccl.send: {group: ccl, doc: Send., params: [], result: status, required: true}\n"
    runtime = load_runtime(write(RUNTIME + collectives, "runtime.yaml"))
    assert cross_problems(load_vendor(write(VENDOR)), runtime) == []
    vendor = load_vendor(write(VENDOR + "  ccl.send: [{expr: send(), source: a header}]\n"))
    assert [problem.message for problem in cross_problems(vendor, runtime)] == [
        "ccl.send belongs to the group ccl, which the vendor does not have"
    ]


def test_every_group_has_a_status_domain(write: Write, failure: Failure) -> None:
    line = "  blas: {name: cblas, title: CBLAS, headers: [cblas.h], libraries: [cblas]}\n"
    text = VENDOR.replace("types:\n", line + "types:\n")
    assert messages(failure(load_vendor, write(text))) == ["file.yaml:15:9: the group blas has no status domain"]


NUMBER = "  version: {header: crt.h, number: CRT_VERSION, divisors: [1000, 10]}\n"


def test_a_version_in_one_number_and_macros_to_define(write: Write) -> None:
    text = VENDOR.replace("  version: null\n", NUMBER + "  defines: [__CRT_PLATFORM__, CRT_LEVEL=2]\n")
    sdk = load_vendor(write(text)).sdk
    assert sdk.version is not None
    assert (sdk.version.number, sdk.version.divisors, sdk.version.major) == ("CRT_VERSION", (1000, 10), None)
    assert sdk.defines == ("__CRT_PLATFORM__", "CRT_LEVEL=2")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("version: {header: crt.h}", "needs 'major' or 'number'"),
        ("version: {header: crt.h, number: N}", "'number' needs 'divisors'"),
        ("version: {header: crt.h, number: N, divisors: [10, 1000]}", "each divisor must be smaller than the one before"),
        ("version: {header: crt.h, number: N, divisors: [0]}", "an item of 'divisors' must be at least 1, not 0"),
        ("version: {header: crt.h, number: N, divisors: [10], patch: P}", "one number holds all parts"),
        ("version: {header: crt.h, number: N, divisors: [10], major: P}", "takes 'major' or 'number', not"),
        ("version: {header: crt.h, major: N, divisors: [10]}", "'divisors' go with 'number'"),
        ("defines: ['X(a)=1']", "an item of 'defines' must be a macro to define, not 'X(a)=1'"),
        ("defines: [\"X=1\\nint y;\"]", "an item of 'defines' must be a macro to define on one line"),
        ("defines: [X, X]", "'X' stands twice in 'defines'"),
    ],
)  # fmt: skip
def test_a_mistake_in_version_and_defines(write: Write, failure: Failure, line: str, expected: str) -> None:
    text = VENDOR.replace("  version: null\n", f"  {line}\n")
    assert expected in failure(load_vendor, write(text))
