"""The generated tests of kernels: one GoogleTest for every op with cases in the schema. Pure functions of the backend.

Shapes, dtypes and argument types come from the schema; what the results must be does not. It is written by hand in
`templates/infinitrain/tests/op_reference*`, so that a wrong entry of the schema fails a test instead of being believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fl_gen.render.environment import FileRender
from fl_gen.resolve.model import Backend
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.ops import Op, OpParam, TestCase

_ROOT = "tests"
# Written by hand, but they ask what the backend has. What these and the generated tests share are plain templates.
_BY_HAND = ("test_ops_convert.cc", "test_ops_device.cc", "test_ops_router.cc")
# Test files by the categories of ops in them. A category that is not named goes into the last one.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "elementwise": ("elementwise", "sigmoid"),
    "layout": (
        "concat", "stack", "split", "slice", "transform", "gather", "scatter", "embedding", "topk",
    ),
    "math": ("linear", "matmul", "outer", "layernorm", "softmax", "cross_entropy", "vocab_parallel_cross_entropy"),
    "other": ("reduction", "accumulate_grad"),
}  # fmt: skip
# Ops whose tests are written by hand: they take bare addresses, cross devices, are views, or take every pair of dtypes.
BY_HAND = frozenset(
    ("Cast", "Fill", "NoOpForward", "NoOpBackward", "Gemm", "Broadcast", "Scatter", "Gather", "ReduceAddCoalesced")
)


def _each(words: str, suffix: str = "") -> list[str]:
    return [word + suffix for word in words.split()]


# What op_reference.h declares.
REFERENCES = frozenset(
    _each(
        """Neg Reciprocal Sin Cos Tanh Rsqrt Exp Log Sigmoid Pow Equals Lt Le Gt Ge Or And Add Sub Mul Div EqualsScalar
        LtScalar LeScalar GtScalar GeScalar AddScalar MulScalar Concat Stack Split Slice Tril Triu Transpose Mask
        RepeatInterleave Embedding Gather Scatter TopK Linear Matmul Outer LayerNorm Softmax CrossEntropy Mean Sum Max
        Min""",
        "Forward",
    )
    + _each(
        """Neg Reciprocal Sin Cos Tanh Rsqrt Exp Log Sigmoid Pow Add Sub Mul Div AddScalar MulScalar Concat Stack Split
        Slice Tril Triu Transpose Mask RepeatInterleave Embedding Gather Scatter TopK Outer LayerNorm Softmax
        CrossEntropy VocabParallelCrossEntropy Mean Sum Max Min""",
        "Backward",
    )
    + _each(
        """LinearBackwardInput LinearBackwardWeight LinearBackwardBias MatmulBackwardInput MatmulBackwardOther
        AccumulateGrad AdamAccumulateGrad"""
    )
)
# Keys of a tensor in a case that stand for a method of OpTest without further arguments.
_TENSOR_KEYS = {"integers": "Integers", "binary": "Binary"}


@dataclass(frozen=True)
class OperandView:
    """A tensor argument of a test: the name of its variable and the call that makes it."""

    name: str
    make: str


@dataclass(frozen=True)
class CaseView:
    """One call of the kernel: its tensors, its lists, and the arguments of kernel and reference.

    `lists` are (name, value): written inside the call they would make clang-format try every way to break it.
    """

    operands: tuple[OperandView, ...]
    lists: tuple[tuple[str, str], ...]
    call: tuple[str, ...]
    reference: tuple[str, ...]


@dataclass(frozen=True)
class OpTestView:
    """One op as test_ops.cc.j2 sees it. `sweep` is the inside of a Sweep, `changed` is changed in place."""

    name: str
    returns: str
    sweep: str
    changed: tuple[str, ...]
    cases: tuple[CaseView, ...]


@dataclass(frozen=True)
class Family:
    """One test file. `unchecked` are the ops for which there is nothing to compare with."""

    name: str
    ops: tuple[OpTestView, ...]
    unchecked: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"Kernels of the family {self.name}"

    @property
    def suite(self) -> str:
        return f"{self.name.capitalize()}OpsTest"


def op_test_files(backend: Backend) -> list[FileRender]:
    """Every file of tests/ that has to do with kernels."""
    ops = [resolved.op for resolved in backend.ops]
    enumerators = {dtype.name: dtype.enumerator for dtype in backend.framework.interface.dtypes}
    context: dict[str, Any] = {
        "op_strategies": {resolved.name: resolved.strategy for resolved in backend.ops},
        "op_dtypes": {op.name: [enumerators[dtype] for dtype in op.dtypes] for op in ops},
    }
    families = [family for family in families_of(ops, enumerators) if family.ops or family.unchecked]
    files = [FileRender(f"{_ROOT}/{name}.j2", f"{_ROOT}/{name}", context) for name in _BY_HAND]
    for family in families:
        nodes = tuple(f"ops:{name}" for name in (*(op.name for op in family.ops), *family.unchecked))
        path = f"{_ROOT}/test_ops_{family.name}.cc"
        files.append(FileRender(f"{_ROOT}/test_ops.cc.j2", path, {**context, "family": family}, nodes))
    return files


def families_of(ops: Iterable[Op], enumerators: Mapping[str, str]) -> list[Family]:
    """The test files and what is in them. `enumerators` maps a dtype's name to the framework's enumerator of it."""
    last = list(FAMILIES)[-1]
    family_of = {category: family for family, categories in FAMILIES.items() for category in categories}
    checked: dict[str, list[OpTestView]] = {family: [] for family in FAMILIES}
    unchecked: dict[str, list[str]] = {family: [] for family in FAMILIES}
    for op in ops:
        family = family_of.get(op.category, last)
        if op.name in BY_HAND:
            continue
        if op.name in REFERENCES and op.cases:
            checked[family].append(_op(op, enumerators))
        else:
            unchecked[family].append(op.name)
    return [Family(family, tuple(checked[family]), tuple(unchecked[family])) for family in FAMILIES]


def _op(op: Op, enumerators: Mapping[str, str]) -> OpTestView:
    operands = [param for param in op.params if param.has_tensors and param.role != "index"]
    sweep = [f'"{op.name}"', str(len(operands)), _braced(enumerators[dtype] for dtype in op.dtypes)]
    promotes = op.output_dtype[0].kind == "promote" and len(operands) == 2
    if op.index_dtypes or promotes:
        sweep.append(_braced(enumerators[dtype] for dtype in op.index_dtypes or ("int64",)))
    if promotes:
        sweep.append("true")
    changed = tuple(_variable(param.name) for param in op.params if param.role in ("inout", "output"))
    return OpTestView(op.name, op.returns, ", ".join(sweep), changed, tuple(_case(op, case) for case in op.cases))


def _case(op: Op, case: TestCase) -> CaseView:
    operands, lists, call, reference = [], [], [], []
    for param in op.params:
        value = case.arguments[param.name]
        if param.has_tensors:
            variable = _variable(param.name)
            operands.append(OperandView(variable, _make(param, value, case)))
            call.append(f"{variable}.{'tensor' if param.is_tensor else 'tensors'}")
            reference.append(f"{variable}.{'array' if param.is_tensor else 'arrays'}")
        else:
            text = _literal(param, value)
            if param.bare_type.startswith("std::vector<"):
                lists.append((_variable(param.name), text))
                text = _variable(param.name)
            call.append(text)
            reference.append(text)
    return CaseView(tuple(operands), tuple(lists), tuple(call), tuple(reference))


def _variable(name: str) -> str:
    """The variable that holds an argument: its name, unless the test has a variable of that name already."""
    return f"{name}_" if name in ("test", "sweep", "result") else name


def _make(param: OpParam, value: Any, case: TestCase) -> str:
    """The call of OpTest that makes a tensor argument."""
    if value is None:
        return "Null()"
    if not param.is_tensor:
        return f"List({_braced(_dims(shape) for shape in value)})"
    if not isinstance(value, Mapping):
        return f"Uniform({_dims(value)})"
    for key in ("max_of", "min_of"):
        if key in value:
            keep = "true" if case.arguments.get("keep_dim") else "false"
            return f"{key[:3].capitalize()}Of({_variable(value[key])}, {int(value['dim'])}, {keep})"
    if "softmax_of" in value:
        return f"SoftmaxOf({_dims(value['softmax_of'])}, {int(value['dim'])})"
    shape = _dims(value["shape"])
    if "below" in value:
        return f"Below({shape}, {int(value['below'])})"
    if "permutation_of" in value:
        return f"PermutationOf({shape}, {int(value['permutation_of'])})"
    for key, method in _TENSOR_KEYS.items():
        if value.get(key):
            return f"{method}({shape})"
    return f"Uniform({shape}, {float(value.get('low', -2.0))!r}, {float(value.get('high', 2.0))!r})"


def _literal(param: OpParam, value: Any) -> str:
    """`value` as C++ of exactly the type of `param`. Raises SchemaError for a type that no case can give."""
    type_ = param.bare_type
    if type_ == "float":
        return f"{float(value)!r}f"
    if type_ == "double":
        return repr(float(value))
    if type_ == "bool":
        return "true" if value else "false"
    if type_ == "int":
        return str(int(value))
    if type_ == "int64_t":
        return f"int64_t{{{int(value)}}}"
    if type_ == "std::vector<int64_t>":
        return _dims(value)
    if type_ == "std::vector<std::vector<int64_t>>":
        return f"std::vector<Dims>{_braced(_dims(dims) for dims in value)}"
    message = f"a test case cannot give a {type_}"
    raise SchemaError([Diagnostic(param.location, message, "leave out the cases of this op", rule="wrong-value")])


def _dims(shape: Iterable[int]) -> str:
    return f"Dims{_braced(str(int(size)) for size in shape)}"


def _braced(texts: Iterable[str]) -> str:
    return "{" + ", ".join(texts) + "}"
