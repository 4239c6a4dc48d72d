"""What no generated code can be made of is told where it stands in a schema, not where it is rendered."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_gen.schema.errors import SchemaError
from fl_gen.schema.op_cases import case_problem
from fl_gen.schema.ops_spec import load_ops
from fl_gen.schema.paths import data_dir
from fl_gen.workflow.generate import prepare
from fl_gen.workflow.request import Request
from unit.schema.samples import OPS

TENSOR = "std::shared_ptr<Tensor>"


def test_it_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text(OPS.replace("{a: [2, 3], b: [3]}", "{a: [2, x], b: [3]}"))
    with pytest.raises(SchemaError) as caught:
        load_ops(path, "ops.yaml")
    line = next(n for n, text in enumerate(path.read_text().split("\n"), 1) if text.strip().startswith("- {a:"))
    head = caught.value.render().split("\n")[0]
    assert head == f"ops.yaml:{line}:7: the case's 'a' must be a list of sizes: [2, 3], or a map with shape"


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (TENSOR, [2, 3]),
        (TENSOR, []),
        (TENSOR, None),
        (TENSOR, {"shape": [2], "low": 0.5, "high": 2}),
        (TENSOR, {"shape": [2], "integers": True}),
        (TENSOR, {"shape": [2], "below": 3}),
        (TENSOR, {"softmax_of": [2, 3], "dim": -1}),
        (TENSOR, {"max_of": "x", "dim": 0}),
        (f"std::vector<{TENSOR}>", [[2, 3], [2]]),
        ("float", 1),
        ("double", -0.5),
        ("bool", False),
        ("int", -1),
        ("int64_t", 1 << 40),
        ("std::vector<int64_t>", [-1, 4]),
        ("std::vector<std::vector<int64_t>>", [[1], []]),
        ("DataType", "float32"),
    ],
)
def test_what_a_test_can_make(type_: str, value: object) -> None:
    assert case_problem({"x": type_}, {"x": value}) is None


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (TENSOR, 3),
        (TENSOR, "23"),
        (TENSOR, [-1]),
        (TENSOR, [2.0]),
        (TENSOR, [True]),
        (TENSOR, {}),
        (TENSOR, {"shape": "x"}),
        (TENSOR, {"shape": [2], "../x": 1}),
        (TENSOR, {"shape": [2], "low": float("nan")}),
        (TENSOR, {"shape": [2], "below": 0}),
        (TENSOR, {"shape": [2], "binary": "yes"}),
        (TENSOR, {"softmax_of": [2]}),
        (TENSOR, {"max_of": "y", "dim": 0}),
        (TENSOR, {"max_of": ["x"], "dim": 0}),
        (f"std::vector<{TENSOR}>", [2, 3]),
        (f"std::vector<{TENSOR}>", {"shape": [2]}),
        ("float", 1e39),
        ("float", float("inf")),
        ("double", float("nan")),
        ("double", "1"),
        ("bool", 1),
        ("int", 1 << 31),
        ("int", True),
        ("int64_t", 1.5),
        ("int64_t", 1 << 63),
        ("std::vector<int64_t>", "12"),
        ("std::vector<int64_t>", [None]),
        ("std::vector<std::vector<int64_t>>", [1]),
    ],
)
def test_what_it_cannot(type_: str, value: object) -> None:
    told = case_problem({"x": type_}, {"x": value})
    assert told is not None
    assert told.startswith("the case's 'x' must be ")


def test_a_type_with_a_slip_in_its_case(tmp_path: Path) -> None:
    path = tmp_path / "ops.yaml"
    path.write_text(OPS.replace('returns: "std::shared_ptr<Tensor>"', 'returns: "std::shared_ptr<tensor>"'))
    with pytest.raises(SchemaError) as caught:
        load_ops(path, "ops.yaml")
    told = caught.value.render()
    assert ": 'std::shared_ptr<tensor>': there is no type tensor\n" in told
    assert told.endswith("\n  = did you mean 'Tensor'?")


def test_a_wrapper_without_a_tensor_is_told_at_its_op(tmp_path: Path) -> None:
    folder = tmp_path / "frameworks" / "infinitrain" / "ops"
    folder.mkdir(parents=True)
    tensor = "const std::shared_ptr<Tensor> &"
    text = OPS.replace("AddForward", "PlusForward").replace("promote(a, b)", "float32").split("    cases:")[0]
    (folder / "mine.yaml").write_text(text.replace(f'"{tensor}"', "float").replace("elementwise", "mine"))
    request = Request("mlu", sdk=("sim",), output=tmp_path, schema_dirs=(tmp_path,), formatted=False)
    with pytest.raises(SchemaError) as caught:
        prepare(request)
    head = caught.value.render().split("\n")[0]
    assert head == f"{folder / 'mine.yaml'}:4:5: PlusForward falls back to the host and takes no tensor"


def test_a_library_without_a_handle_is_left_out(tmp_path: Path) -> None:
    """A group that is there, and an operation of it that this SDK refuses and no strategy replaces."""
    path = tmp_path / "vendors" / "mlu" / "vendor.yaml"
    path.parent.mkdir(parents=True)
    text = (data_dir() / "schemas" / "vendors" / "mlu" / "vendor.yaml").read_text(encoding="utf-8")
    path.write_text(text.replace("expr: cnnlCreate(handle)", "expr: cnnlCreate(hand)"), encoding="utf-8")
    prepared = prepare(Request("mlu", sdk=("sim",), output=tmp_path, schema_dirs=(tmp_path,), formatted=False))
    assert not prepared.resolved.backend.has_group("blas")
    assert not [name for name, made in prepared.files.items() if "cnnlCreate" in made]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("h2d: [cnrtMemcpyHostToDev, CNRT_MEM_TRANS_DIR_HOST2DEV]", "h2d: []", "memcpy_kind.h2d"),
        ("    int16: [CNNL_DTYPE_INT16]\n", "", None),
        ("    bfloat16: [CNNL_DTYPE_BFLOAT16]\n", "", None),
        ("    int32: [CNNL_DTYPE_INT32]\n", "", None),
    ],
)
def test_a_constant_that_the_sdk_lacks(before: str, after: str, told: str | None, tmp_path: Path) -> None:
    """What cannot be done without is told; a dtype of a library is left out of what uses it."""
    path = tmp_path / "vendors" / "mlu" / "vendor.yaml"
    path.parent.mkdir(parents=True)
    text = (data_dir() / "schemas" / "vendors" / "mlu" / "vendor.yaml").read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, after), encoding="utf-8")
    request = Request("mlu", sdk=("sim",), output=tmp_path, schema_dirs=(tmp_path,), formatted=False)
    if told is None:
        constant = before.partition("[")[2].partition("]")[0]
        assert not [name for name, made in prepare(request).files.items() if constant in made and ".cc" in name]
        return
    with pytest.raises(SchemaError) as caught:
        prepare(request)
    head = caught.value.render().split("\n")[0]
    assert head.startswith(f"{path}:")
    assert head.endswith(f": the vendor file names no {told}")


def test_an_interface_without_a_dtype(tmp_path: Path) -> None:
    path = tmp_path / "frameworks" / "infinitrain" / "interface.yaml"
    path.parent.mkdir(parents=True)
    lines = (data_dir() / "schemas" / "frameworks" / "infinitrain" / "interface.yaml").read_text().split("\n")
    path.write_text("\n".join(line for line in lines if "{name: float16," not in line), encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        prepare(Request("mlu", sdk=("sim",), output=tmp_path, schema_dirs=(tmp_path,), formatted=False))
    head = caught.value.render().split("\n")[0]
    assert head.endswith(": kernels may have the dtype float16, and the interface does not have it")
    assert head.startswith(f"{path}:")
