"""The kernels of a framework, `frameworks/<name>/ops/*.yaml`: exact signatures, dtypes and how their results are typed.

The format is explained in the README beside the shipped files.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from .errors import quote
from .frozen import frozen
from .location import Location
from .name import Name
from .op_cases import case_problem
from .spec import require_unique
from .values import ModelError, Table
from .vendor import DTYPES

Role = Literal["input", "index", "inout", "output", "shape", "scalar", "device"]
RuleKind = Literal["same", "promote", "widen", "arg", "dtype", "view", "in_place"]

ROLES = ("input", "index", "inout", "output", "shape", "scalar", "device")
# Groups of dtypes, usable wherever a list of dtypes stands.
DTYPE_GROUPS: dict[str, tuple[str, ...]] = {
    "floating": tuple(name for name in DTYPES if "float" in name),
    "numeric": tuple(name for name in DTYPES if name != "bool"),
    "all": DTYPES,
}

_TENSOR = "std::shared_ptr<Tensor>"
# Words of the types that kernels have. A word that only its case tells from one of them is a slip.
_TYPE_WORDS = {
    word.lower(): word
    for word in (
        *("bool", "const", "double", "float", "int", "int64_t", "optional", "pair", "shared_ptr", "std", "string"),
        *("tuple", "vector", "void", "DataType", "Device", "Scalar", "Tensor"),
    )
}


def expand_dtypes(words: Iterable[str]) -> tuple[str, ...]:
    """A list of dtypes with the groups in it written out, in the order of DTYPES."""
    chosen = {name for word in words for name in DTYPE_GROUPS.get(word, (word,))}
    return tuple(name for name in DTYPES if name in chosen)


@frozen
class DTypeRule:
    """How the dtype of a result follows from the arguments.

    `same`, `arg`, `view`: operands is one argument; `promote`: two; `widen`: one rule; `dtype`: one dtype name;
    `in_place`: none. `text` is the rule as written.
    """

    kind: RuleKind
    operands: tuple[str | DTypeRule, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def arguments(self) -> Iterator[str]:
        """The names of the op's parameters that the rule uses."""
        for operand in self.operands:
            if isinstance(operand, DTypeRule):
                yield from operand.arguments()
            elif self.kind != "dtype":
                yield operand


@functools.lru_cache(maxsize=4096)
def parse_rule(text: str) -> DTypeRule:
    """A rule from its text. Raises ValueError with the reason."""
    stripped = text.strip()
    if stripped == "in_place":
        return DTypeRule("in_place", (), stripped)
    if stripped in DTYPES:
        return DTypeRule("dtype", (stripped,), stripped)
    call = re.fullmatch(r"([a-z_]+)\s*\((.*)\)", stripped)
    if call is None:
        raise ValueError("write same(x), promote(x, y), widen(x), arg(x), view(x), in_place or a dtype")
    kind, inside = call.group(1), call.group(2)
    if kind == "widen":
        inner = (
            parse_rule(inside)
            if "(" in inside or inside.strip() in DTYPES
            else DTypeRule("same", _names(inside, 1), inside)
        )
        return DTypeRule("widen", (inner,), stripped)
    if kind == "promote":
        return DTypeRule("promote", _names(inside, 2), stripped)
    if kind in ("same", "arg", "view"):
        return DTypeRule(kind, _names(inside, 1), stripped)  # type: ignore[arg-type]
    raise ValueError(f"there is no rule {kind}; the rules are same, promote, widen, arg, view, in_place and the dtypes")


def _names(text: str, count: int) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(","))
    if len(names) != count or not all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in names):
        raise ValueError(f"it takes {count} argument{'s' if count > 1 else ''} of the op")
    return names


@frozen
class OpParam:
    """One parameter: exact C++ type, name, and `role`: what the wrapper does with it (by default from the type)."""

    name: str
    type: str
    role: Role
    location: Location

    @property
    def bare_type(self) -> str:
        """The type without const, reference and by-value differences: `std::vector<int64_t>`."""
        return bare_type(self.type)

    @property
    def is_tensor(self) -> bool:
        """It is one tensor."""
        return self.bare_type == _TENSOR

    @property
    def has_tensors(self) -> bool:
        """It is a tensor, or a list of tensors at any depth."""
        return _TENSOR in self.type


@functools.lru_cache(maxsize=4096)
def _misspelt_type(text: str) -> tuple[str, str] | None:
    """The first word of a C++ type that is one of the framework's in another case, and how that is written."""
    for word in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text):
        meant = _TYPE_WORDS.get(word.lower(), word)
        if meant != word:
            return word, meant
    return None


@functools.lru_cache(maxsize=4096)
def bare_type(text: str) -> str:
    """A C++ type without its outer const and reference."""
    return re.sub(r"^const\s+", "", text.strip()).rstrip("&").strip()


@functools.lru_cache(maxsize=4096)
def default_role(text: str) -> Role:
    """The role that a type has when the schema does not say otherwise."""
    bare = bare_type(text)
    if _TENSOR in bare:
        return "input"
    if bare in ("Device", "std::vector<Device>"):
        return "device"
    return "shape" if "std::vector<int64_t>" in bare else "scalar"


@frozen
class TestCase:
    """Arguments of one generated test, by parameter name, as plain data (see the README of the ops)."""

    __test__ = False  # pytest: this is not a test

    arguments: Table[Any]
    location: Location


@frozen
class Op:
    """One kernel that the framework looks up by name."""

    name: str
    doc: str
    returns: str
    params: tuple[OpParam, ...]
    strategy: Literal["fallback", "host"]
    required: bool
    cpu: Literal["framework", "generated"]
    precision: Literal["float32", "exact"]
    dtypes: tuple[str, ...]
    exact_dtypes: tuple[str, ...]
    index_dtypes: tuple[str, ...]
    output_dtype: tuple[DTypeRule, ...]
    note: str | None
    source: str
    cases: tuple[TestCase, ...]
    category: str
    location: Location

    def __post_init__(self) -> None:
        require_unique((param.name for param in self.params), "the parameter", "params")
        for key, text in (("returns", self.returns), *(("params", param.type) for param in self.params)):
            slip = _misspelt_type(text)
            if slip is not None:
                word, meant = slip
                raise ModelError(f"{quote(text)}: there is no type {word}", key, f"did you mean '{meant}'?")
        names = {param.name: param for param in self.params}
        for rule in self.output_dtype:
            for argument in rule.arguments():
                if argument not in names:
                    raise ModelError(f"the rule {rule} uses {quote(argument)}, which is no parameter", "output_dtype")
        outer = [word for word in self.exact_dtypes if word not in self.dtypes]
        if outer:
            raise ModelError(f"'exact_dtypes' has {', '.join(outer)}, which 'dtypes' has not", "exact_dtypes")
        if self.index_dtypes and not any(param.role == "index" for param in self.params):
            raise ModelError("'index_dtypes' needs a parameter with role: index", "index_dtypes")
        in_place = any(rule.kind == "in_place" for rule in self.output_dtype)
        if in_place != (self.returns == "void"):
            raise ModelError("output_dtype: in_place goes with returns: void", "output_dtype")
        if len(self.output_dtype) > 1 and self.result_count is not None and len(self.output_dtype) != self.result_count:
            raise ModelError(f"{len(self.output_dtype)} rules for {self.result_count} results", "output_dtype")
        for case in self.cases:
            if set(case.arguments) != set(names):
                wrong = sorted(set(case.arguments) ^ set(names))
                raise ModelError(f"a case gives every argument once; these differ: {', '.join(wrong)}", "cases")
            unusable = case_problem({param.name: param.bare_type for param in self.params}, case.arguments)
            if unusable is not None:
                raise ModelError(unusable, "cases")

    @property
    def canonical(self) -> Name:
        """The name with all its casings."""
        return Name.of(self.name)

    @property
    def result_count(self) -> int | None:
        """Results: 0 for void, 1 for a tensor, the members of a pair or tuple, None for a list (any number)."""
        if self.returns == "void":
            return 0
        if self.returns.startswith(("std::pair<", "std::tuple<")):
            return self.returns.count(_TENSOR)
        return None if self.returns.startswith("std::vector<") else 1

    def param(self, name: str) -> OpParam:
        """A parameter by name."""
        return next(param for param in self.params if param.name == name)


@frozen
class OpsFile:
    """One ops file: the kernels of a category."""

    category: str
    ops: tuple[Op, ...]
    version: int
    location: Location

    def __post_init__(self) -> None:
        require_unique((op.name for op in self.ops), "the op", "ops")
