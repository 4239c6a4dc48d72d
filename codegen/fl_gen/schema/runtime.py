"""The portable vocabulary, `runtime.yaml`: every operation that generated code may ask an SDK for."""

from __future__ import annotations

import os
import re
from typing import Literal

from .frozen import frozen
from .location import Location
from .scalars import CXX_TYPE, DOC, IDENTIFIER, OPERATION, WORD, Bool, Choice, Int
from .spec import Field, ListOf, MapOf, Record, raise_problems, require_unique, validate
from .values import ModelError, Table
from .yaml_loader import load

GROUPS = ("runtime", "blas", "dnn", "ccl")
RESULTS = ("status", "value", "state", "void")
Result = Literal["status", "value", "state", "void"]

_TYPE_REFERENCE = re.compile(r"\$([A-Za-z0-9_]*)")


def type_references(text: str) -> tuple[str, ...]:
    """The portable types that a type text names, without their `$`."""
    return tuple(_TYPE_REFERENCE.findall(text))


@frozen
class PortableType:
    """A type that every SDK has under a name of its own; written `$name` in type texts."""

    name: str
    group: str
    doc: str
    location: Location


@frozen
class Param:
    """One parameter of an operation: its C++ type with `$types`, and its unit (bytes, ms, …) when it has one."""

    name: str
    type: str
    unit: str | None
    doc: str | None
    location: Location


@frozen
class Strategy:
    """What generated code does instead when an SDK cannot do an operation."""

    name: str
    doc: str
    location: Location


@frozen
class Operation:
    """One operation. `result` says how a candidate's value is read: `status` is checked, `value` (of type `returns`) is
    the answer, `state` is a status that is itself the answer (a query), `void` is nothing."""

    name: str
    group: str
    doc: str
    params: tuple[Param, ...]
    result: Result
    returns: str | None
    required: bool
    strategy: Strategy | None
    location: Location

    def __post_init__(self) -> None:
        require_unique((param.name for param in self.params), "the parameter", "params")
        if (self.returns is not None) != (self.result == "value"):
            if self.returns is None:
                raise ModelError("result: value needs 'returns', the C++ type of the value", "result")
            raise ModelError(f"'returns' goes with result: value, not with {self.result}", "returns")
        if self.required and self.strategy is not None:
            raise ModelError(
                "a required operation has no strategy to do without it", "strategy", "remove one of the two"
            )


@frozen
class Runtime:
    """`runtime.yaml` as a whole."""

    types: Table[PortableType]
    operations: Table[Operation]
    version: int
    location: Location


_TYPE = Record(
    "a portable type",
    PortableType,
    {
        "group": Field(Choice(GROUPS), "the part of an SDK that the type belongs to"),
        "doc": Field(DOC, "what the type is"),
    },
    named="name",
)
_PARAM = Record(
    "a parameter",
    Param,
    {
        "name": Field(IDENTIFIER, "the name that candidates use"),
        "type": Field(CXX_TYPE, "C++ type; a portable type is written $name"),
        "unit": Field(WORD, "unit of the value, as bytes or ms", None),
        "doc": Field(DOC, "what the parameter means", None),
    },
)
_STRATEGY = Record(
    "a strategy",
    Strategy,
    {
        "name": Field(WORD, "short name of what is done instead"),
        "doc": Field(DOC, "what generated code does instead, as the report says it"),
    },
)
_OPERATION = Record(
    "an operation",
    Operation,
    {
        "group": Field(Choice(GROUPS), "the part of an SDK that does it"),
        "doc": Field(DOC, "what it does, in which order and with what guarantees"),
        "params": Field(ListOf(_PARAM), "its parameters, in the order in which templates pass arguments", ()),
        "result": Field(
            Choice(RESULTS),
            "how a candidate's value is read: status, value, state (a status that is the answer) or void",
        ),
        "returns": Field(CXX_TYPE, "C++ type of the value, only with result: value", None),
        "required": Field(Bool(), "true: a backend cannot do without it", False),
        "strategy": Field(_STRATEGY, "what generated code does when no candidate fits", None),
    },
    named="name",
)
SPEC = Record(
    "a runtime file",
    Runtime,
    {
        "schema": Field(Int(1, 1), "version of this format", name="version"),
        "types": Field(MapOf(WORD, _TYPE), "portable types by name"),
        "operations": Field(MapOf(OPERATION, _OPERATION, at_least=1), "operations by area.verb"),
    },
    title="runtime",
)


def load_runtime(path: str | os.PathLike[str], name: str | None = None) -> Runtime:
    """The vocabulary of a file. Raises SchemaError with everything that is wrong with it."""
    from .link import runtime_problems

    runtime: Runtime = validate(SPEC, load(path, name), "a runtime file")
    raise_problems(runtime_problems(runtime))
    return runtime
