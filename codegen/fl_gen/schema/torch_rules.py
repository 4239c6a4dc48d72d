"""What is decided about PyTorch's operators: `frameworks/torch/ops/*.yaml`, and `vendors/<name>/torch.yaml` over it.

The operators themselves stand in the wheel's `native_functions.yaml`; a rule only says what is not there: the strategy,
the dtypes that it is for, the tolerance of a comparison with the CPU, notes. A category says it for many at once.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Literal

from .frozen import frozen
from .location import Location
from .name import Name
from .scalars import DOC, NAME, OPERATION_REF, WORD, Bool, Choice, Int, Positive, Str
from .spec import Field, ListOf, MapOf, Record, validate
from .values import ModelError, Ref, Table
from .yaml_loader import load

Strategy = Literal["library", "runtime", "fallback", "composite"]
STRATEGIES = ("library", "runtime", "fallback", "composite")
DTYPES = (
    "float32",
    "float64",
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "bool",
)
TAG = "tag:"


@frozen
class Tolerance:
    """How far a result may be from the CPU's: |a - b| <= atol + rtol * |b|."""

    rtol: float
    atol: float
    location: Location


@frozen
class Rule:
    """What is said about an operator, or about each of a category; None and empty: nothing.

    `library` calls `operation` of the vendor's library; `fallback` runs on the CPU, whatever PyTorch has of its own;
    `composite` leaves it to PyTorch's own composite kernel; `runtime` is part of the package and cannot be replaced, as
    `note` says. `optional`: releases of PyTorch may lack the operator.
    """

    strategy: Strategy | None
    operation: Ref | None
    dtypes: tuple[str, ...]
    tolerance: Table[Tolerance] | None
    optional: bool
    note: str | None
    location: Location

    def __post_init__(self) -> None:
        if (self.strategy == "library") != (self.operation is not None):
            if self.operation is None:
                raise ModelError("strategy: library needs 'operation', the entry of runtime.yaml that it calls")
            raise ModelError("'operation' goes with strategy: library", "operation")
        if self.strategy == "runtime" and self.note is None:
            raise ModelError("strategy: runtime needs 'note', which says why no kernel can take its place", "strategy")
        if self.dtypes and self.strategy != "library":
            raise ModelError("'dtypes' goes with strategy: library", "dtypes", "kernels.yaml has those of native ones")


@frozen
class Category:
    """Operators by pattern (`aten::_foreach_*`) or tag (`tag:nondeterministic_seeded`), and one rule for them."""

    match: tuple[Ref, ...]
    rule: Rule

    def matches(self, name: str, tags: tuple[str, ...]) -> bool:
        """Whether an operator belongs to it."""
        return any(matches(pattern, name, tags) for pattern in self.match)


@frozen
class TorchRules:
    """A whole file. `device` is what PyTorch's device type is called where it cannot be called like the vendor."""

    device: Name | None
    categories: Table[Category]
    ops: Table[Rule]
    version: int
    location: Location

    def rules(self, name: str, tags: tuple[str, ...]) -> Iterator[Rule]:
        """The rules for an operator, the most specific first."""
        if name in self.ops:
            yield self.ops[name]
        for category in self.categories.values():
            if category.matches(name, tags):
                yield category.rule


def matches(pattern: str, name: str, tags: tuple[str, ...]) -> bool:
    """Whether a pattern of a category means an operator."""
    if pattern.startswith(TAG):
        return pattern.removeprefix(TAG) in tags
    return name.startswith(_start(pattern)) and fnmatchcase(name, pattern)


@functools.lru_cache(maxsize=1024)
def _start(pattern: str) -> str:
    """What every name begins with that a pattern means: most names fail there, at no cost."""
    return re.split(r"[*?\[]", pattern, maxsplit=1)[0]


def _category(match: tuple[Ref, ...], doc: str, location: Location, **rule: object) -> Category:
    del doc  # for the people who read the file
    return Category(match, Rule(optional=False, location=location, **rule))  # type: ignore[arg-type]


OP_NAME = Str(
    "the name of an operator",
    r"aten::[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)?",
    "namespace, name and overload, as aten::add.Tensor",
    located=True,
)
_PATTERN = Str(
    "a pattern",
    r"aten::[A-Za-z0-9_.*?\[\]]+|tag:[a-z0-9_]+",
    "the names of operators with * for anything, as aten::_foreach_*, or tag:NAME",
    located=True,
)
_TOLERANCE = Record(
    "a tolerance",
    Tolerance,
    {"rtol": Field(Positive(), "relative part"), "atol": Field(Positive(), "absolute part")},
    title="torch_tolerance",
)
_SAID = {
    "strategy": Field(Choice(STRATEGIES), "where the kernel comes from, if not by PyTorch's own rules", None),
    "operation": Field(OPERATION_REF, "with strategy: library, the operation of runtime.yaml that does it", None),
    "dtypes": Field(
        ListOf(Choice(DTYPES), at_least=1, unique=True), "dtypes that the library is called for; others fall back", ()
    ),
    "tolerance": Field(MapOf(Choice(DTYPES), _TOLERANCE, at_least=1), "against the CPU, by dtype", None),
    "note": Field(DOC, "what is surprising about it", None),
}
_RULE = Record(
    "a rule",
    Rule,
    {**_SAID, "optional": Field(Bool(), "true: releases of PyTorch may lack the operator", False)},
    title="torch_rule",
)
_CATEGORY = Record(
    "a category",
    _category,
    {
        "doc": Field(DOC, "what the operators have in common"),
        "match": Field(ListOf(_PATTERN, at_least=1), "which operators"),
        **_SAID,
    },
    title="torch_category",
)
SPEC = Record(
    "an operators file",
    TorchRules,
    {
        "schema": Field(Int(1, 1), "version of this format", name="version"),
        "device": Field(NAME, "the name of PyTorch's device type, if it cannot be the vendor's", None),
        "categories": Field(MapOf(WORD, _CATEGORY), "rules for many operators, by name", Table({}, Location("", 1, 1))),
        "ops": Field(MapOf(OP_NAME, _RULE), "rules for single operators", Table({}, Location("", 1, 1))),
    },
    title="torch_ops",
)


def load_rules(path: str | os.PathLike[str], name: str | None = None) -> TorchRules:
    """The rules of a file. Raises SchemaError with everything that is wrong with it, taken by itself."""
    rules: TorchRules = validate(SPEC, load(path, name), "an operators file")
    return rules
