"""Ops, interface, api and kernels files, and the references between them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.schema.api_spec import load_api_data
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.framework import Framework, make_framework
from fl_gen.schema.framework_spec import load_interface
from fl_gen.schema.kernels import load_native_kernels
from fl_gen.schema.link import framework_problems, interface_problems, native_kernel_problems
from fl_gen.schema.ops import DTypeRule, default_role, parse_rule
from fl_gen.schema.ops_spec import load_ops
from unit.schema.samples import API, KERNELS, OPS

Write = Callable[..., str]
Failure = Callable[..., str]


def messages(error: str) -> list[str]:
    return [line for line in error.splitlines() if line.startswith("file.yaml:") and ": note: " not in line]


def broken(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def test_an_ops_file(write: Write) -> None:
    (op,) = load_ops(write(OPS)).ops
    assert (op.name, op.category, op.canonical.snake, op.result_count) == (
        "AddForward",
        "elementwise",
        "add_forward",
        1,
    )
    assert [param.role for param in op.params] == ["input", "input"]
    assert (op.dtypes, op.exact_dtypes, op.required) == (("bfloat16", "float32"), (), False)
    assert [(rule.kind, rule.operands) for rule in op.output_dtype] == [("promote", ("a", "b"))]
    assert dict(op.cases[0].arguments) == {"a": [2, 3], "b": [3]}
    assert str(op.location) == "file.yaml:4:5"


@pytest.mark.parametrize(
    ("text", "kind", "operands"),
    [
        ("same(x)", "same", ("x",)),
        ("promote( a , b )", "promote", ("a", "b")),
        ("arg(dtype)", "arg", ("dtype",)),
        ("view(x)", "view", ("x",)),
        ("float32", "dtype", ("float32",)),
        ("in_place", "in_place", ()),
        ("widen(x)", "widen", (DTypeRule("same", ("x",), "x"),)),
        ("widen(promote(a, b))", "widen", (DTypeRule("promote", ("a", "b"), "promote(a, b)"),)),
    ],
)
def test_dtype_rules(text: str, kind: str, operands: tuple[object, ...]) -> None:
    rule = parse_rule(text)
    assert (rule.kind, rule.operands, str(rule)) == (kind, operands, text)


@pytest.mark.parametrize(
    "text", ["", "same", "same()", "same(a, b)", "promote(a)", "first(a)", "same(a", "float33", "same(1)"]
)
def test_what_is_no_dtype_rule(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_rule(text)


def test_roles_follow_from_types() -> None:
    assert default_role("const std::shared_ptr<Tensor> &") == "input"
    assert default_role("const std::vector<std::shared_ptr<Tensor>> &") == "input"
    assert default_role("const std::vector<int64_t> &") == "shape"
    assert default_role("const std::vector<std::vector<int64_t>> &") == "shape"
    assert default_role("std::vector<Device>") == "device"
    assert default_role("const float") == "scalar"


OPS_MISTAKES = {
    "rule of an unknown argument": (
        "promote(a, b)", "promote(a, c)", "file.yaml:13:19: the rule promote(a, c) uses 'c', which is no parameter",
    ),
    "unknown rule": (
        "promote(a, b)", "promte(a, b)", "file.yaml:13:19: 'output_dtype' must be a dtype rule, not 'promte(a, b)'",
    ),
    "two rules for one result": ("promote(a, b)", "[same(a), same(b)]", "file.yaml:13:19: 2 rules for 1 results"),
    "unknown dtype": (
        "bfloat16", "bf16", "file.yaml:12:23: an item of 'dtypes' must be one of bool, uint8, int8, uint16, int16, "
        "uint32, int32, uint64, int64, bfloat16, float16, float32, float64, floating, numeric, all, not the text 'bf16'",
    ),
    "dtype twice": ("bfloat16]", "float32]", "file.yaml:12:23: 'float32' stands twice in 'dtypes'"),
    "exact dtype that it does not take": (
        "    source:", "    exact_dtypes: [int64]\n    source:", "file.yaml:14:19: 'exact_dtypes' has int64, which 'dtypes' has not",
    ),
    "index dtypes without an index": (
        "    source:", "    index_dtypes: [int64]\n    source:",
        "file.yaml:14:19: 'index_dtypes' needs a parameter with role: index",
    ),
    "case without an argument": (
        "b: [3]}", "c: [3]}", "file.yaml:16:7: a case gives every argument once; these differ: b, c",
    ),
    "void with a result rule": (
        '"std::shared_ptr<Tensor>"', "void", "file.yaml:13:19: output_dtype: in_place goes with returns: void",
    ),
    "name that is not PascalCase": ("AddForward", "add_forward", "file.yaml:4:11: 'name' must be an op's name, not 'add_forward'"),
    "unbalanced type": (
        'a, type: "const std::shared_ptr<Tensor> &"', 'a, type: "const std::shared_ptr<Tensor &"',
        "file.yaml:8:25: 'type' must be a C++ type, not 'const std::shared_ptr<Tensor &'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), OPS_MISTAKES.values(), ids=OPS_MISTAKES.keys())
def test_a_mistake_in_an_ops_file(old: str, new: str, expected: str, write: Write, failure: Failure) -> None:
    assert messages(failure(load_ops, write(broken(OPS, old, new)))) == [expected]


def test_ops_that_stand_twice_or_collide(shipped: Path, write: Write) -> None:
    interface = load_interface(shipped / "frameworks" / "infinitrain" / "interface.yaml")
    kernels = dataclasses.replace(interface.kernels, required=())
    one = load_ops(write(OPS, "one.yaml"))
    two = load_ops(write(OPS + OPS.split("ops:\n")[1].replace("AddForward", "Addforward"), "two.yaml"))
    framework = make_framework(dataclasses.replace(interface, kernels=kernels), [one, two])
    assert [f"{problem.location}: {problem.message}" for problem in framework_problems(framework)] == [
        "two.yaml:4:5: the op AddForward is declared twice",
        "two.yaml:17:5: 'Addforward' and 'AddForward' get one name in generated code",
    ]


def test_dangling_references_of_an_interface(shipped: Path, write: Write) -> None:
    text = (shipped / "frameworks" / "infinitrain" / "interface.yaml").read_text(encoding="utf-8")
    for old, new in [
        ("registry: DeviceGuardImplRegistry", "registry: DeviceGuardRegistry"),
        ("required: [Cast, Fill,", "required: [Casts, Fill,"),
        ("operations: [ccl.recv]", "operations: [ccl.receive]"),
        (
            "map_header: infini_train/include/core/backend_type_map.h",
            "map_header: infini_train/include/core/type_map.h",
        ),
    ]:
        text = broken(text, old, new)
    catalog = Catalog()
    files = catalog.framework("infinitrain").files
    framework = make_framework(load_interface(write(text)), files)
    problems = framework_problems(framework) + interface_problems(framework, catalog.runtime())
    assert sorted((problem.message, problem.hint) for problem in problems) == [
        ("Cast is required here, but not in kernels.required of the interface", "make both say the same"),
        ("unknown header 'infini_train/include/core/type_map.h'",
         "did you mean 'infini_train/include/core/backend_type_map.h'?"),
        ("unknown op 'Casts'", "did you mean 'Cast'?"),
        ("unknown operation 'ccl.receive'", "did you mean 'ccl.recv'?"),
        ("unknown registry 'DeviceGuardRegistry'", "did you mean 'DeviceGuardImplRegistry'?"),
    ]  # fmt: skip


INTERFACE_MISTAKES = [
    ("pure: true", "pure: false", "a pure method has default: none, and no other has"),
    ("{order: 2,", "{order: 3,", "the checks are numbered 1, 2, 3, … in order"),
    ("- {name: kD2H, value: 1,", "- {name: kH2D, value: 1,", "the value 'kH2D' stands twice"),
    ("to_string: MemcpyKindToString", "to_string: null", "'to_string' and 'to_string_unknown' go together"),
    ("role: handle", "role: handel", "'role' must be one of handle, interface, not the text 'handel'"),
]


@pytest.mark.parametrize(("old", "new", "message"), INTERFACE_MISTAKES, ids=[new for _, new, _ in INTERFACE_MISTAKES])
def test_a_mistake_in_an_interface(
    old: str, new: str, message: str, shipped: Path, write: Write, failure: Failure
) -> None:
    text = (shipped / "frameworks" / "infinitrain" / "interface.yaml").read_text(encoding="utf-8")
    text = text[text.index("schema: 1") :]  # without the explanations before it
    assert old in text
    (line,) = messages(failure(load_interface, write(text.replace(old, new, 1))))
    assert line.split(": ", 1)[1] == message


def infinitrain() -> Framework:
    return Catalog().framework("infinitrain")


def test_looking_things_up_in_an_interface() -> None:
    face = infinitrain().interface
    assert face.namespace("core") == "infini_train::core"
    assert face.class_named("device_guard") is face.class_named("DeviceGuardImpl")
    assert face.class_named("DeviceGuardImpl").method("malloc_async").cpp == "MallocAsync"
    assert face.enum("MemcpyKind").values[0].name == "kH2D"
    assert face.dtype("bfloat16").enumerator == "kBFLOAT16"
    assert face.struct("GemmParams").fields[0].name == "trans_a"
    assert face.macro("REGISTER_KERNEL").scope == "namespace"
    with pytest.raises(KeyError, match="no enum 'Nothing'"):
        face.enum("Nothing")


def test_an_api_file(write: Write) -> None:
    data = load_api_data(write(API))
    enum, function = data["headers"][0]["sections"][0]["items"]
    assert enum["enumerators"]["crtSuccess"] == 0
    assert enum["enumerators"]["crtOther"]["value"] == 16
    assert enum["enumerators"]["crtOther"]["since"] == "2.0"
    assert function["nonnull"] == ("count",)
    assert "since" not in function


API_MISTAKES = {
    "unknown version": ('since: "2.0"', 'since: "3.0"', "unknown version '3.0'"),
    "versions in the wrong order": (
        'since: "2.0"', 'since: "2.0", until: "1.0"', "it goes (until: 1.0) before it comes (since: 2.0)",
    ),
    "unknown library": ("library: crt\n", "library: ctr\n", "unknown library 'ctr'"),
    "unknown domain": ("domain: runtime", "domain: rutime", "unknown domain 'rutime'"),
    "unknown header": ("headers: [crt.h]}", "headers: [cr.h]}", "unknown header 'cr.h'"),
    "item of no kind": (
        "{function: crtResult_t", "{functoin: crtResult_t",
        "an item of 'items' has none of the keys macro, constant, opaque, typedef, enum, record, function, cxx",
    ),
    "key of another kind": ("sim: DeviceCount(count)", "enumerators: {a: 1}", "unknown key 'enumerators' in a function item"),
    "unknown engine result": ("{success: [crtSuccess]}", "{succes: [crtSuccess]}", "a key of 'results' must be one of"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), API_MISTAKES.values(), ids=API_MISTAKES.keys())
def test_a_mistake_in_an_api_file(old: str, new: str, message: str, write: Write, failure: Failure) -> None:
    (line,) = messages(failure(load_api_data, write(broken(API, old, new))))
    assert line.split(": ", 1)[1].startswith(message)


def test_hand_written_kernels(write: Write, failure: Failure) -> None:
    framework = infinitrain()
    (kernel,) = load_native_kernels(write(KERNELS)).kernels
    assert (kernel.op, kernel.file, kernel.dtypes) == ("AddForward", "add.chip", ("float32",))
    assert load_native_kernels(write("schema: 1\nkernels:\n")).kernels == ()
    text = KERNELS + "  - {op: AddFroward, file: b.chip}\n  - {op: MulForward, file: c.chip, dtypes: [all]}\n"
    problems = native_kernel_problems(load_native_kernels(write(text)).kernels, framework)
    assert [f"{problem.location}: {problem.message}" for problem in problems] == [
        "file.yaml:4:10: unknown op 'AddFroward'",
        "file.yaml:5:5: MulForward is never called with bool, uint8, int8, uint16, int16, uint32, int32, "
        "uint64, int64, float64",
    ]
    assert messages(failure(load_native_kernels, write(KERNELS.replace("add.chip", "../add.chip")))) == [
        "file.yaml:3:28: 'file' must be a relative path, not '../add.chip'"
    ]
