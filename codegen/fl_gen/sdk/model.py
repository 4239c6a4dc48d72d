"""What an SDK's headers declare. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .items import HeaderRead


@dataclass(frozen=True)
class Declared:
    """Where a declaration stands: the header as an #include spells it, and the line."""

    header: str
    line: int

    def __str__(self) -> str:
        return f"{self.header}:{self.line}"


@dataclass(frozen=True)
class Parameter:
    """`type` as the header spells it, `canonical` without typedefs: what to compare."""

    name: str
    type: str
    canonical: str


@dataclass(frozen=True)
class Function:
    """A function. `availability` is available, deprecated or unavailable. `overloads` are further ones of its name."""

    name: str
    returns: str
    canonical_returns: str
    params: tuple[Parameter, ...]
    variadic: bool
    availability: str
    at: Declared
    template: bool = False
    overloads: tuple[Function, ...] = ()

    @property
    def signature(self) -> str:
        params = [_joined(p.type, p.name) for p in self.params] + (["..."] if self.variadic else [])
        return f"{_joined(self.returns, self.name)}({', '.join(params)})"

    @property
    def canonical(self) -> tuple[str, ...]:
        """Result and parameter types without typedefs."""
        return (self.canonical_returns, *(p.canonical for p in self.params), *(("...",) if self.variadic else ()))


@dataclass(frozen=True)
class Enumerator:
    name: str
    value: int
    availability: str
    at: Declared


@dataclass(frozen=True)
class Enum:
    """An enum, by its tag or the typedef that names it; `name` is empty for an anonymous one."""

    name: str
    values: tuple[Enumerator, ...]
    underlying: str
    at: Declared


@dataclass(frozen=True)
class Typedef:
    name: str
    type: str
    canonical: str
    availability: str
    at: Declared


@dataclass(frozen=True)
class RecordField:
    name: str
    type: str
    canonical: str


@dataclass(frozen=True)
class Record:
    """A struct, union or class; `size` in bytes, None when the header does not complete it (an opaque handle)."""

    name: str
    kind: str
    fields: tuple[RecordField, ...]
    size: int | None
    at: Declared


@dataclass(frozen=True)
class Macro:
    """An object-like macro: its text, and its value if it is an integer constant."""

    name: str
    text: str
    value: int | None
    at: Declared


@dataclass(frozen=True)
class Sdk:
    """All that the SDK's own headers declare, each thing once, by name."""

    functions: Mapping[str, Function]
    enums: Mapping[str, Enum]
    anonymous_enums: tuple[Enum, ...]
    typedefs: Mapping[str, Typedef]
    records: Mapping[str, Record]
    macros: Mapping[str, Macro]
    headers: tuple[HeaderRead, ...] = ()
    resource_headers: str = ""
    enumerators: Mapping[str, Enumerator] = field(default_factory=dict)

    def function_names(self) -> list[str]:
        return list(self.functions)

    def constant_names(self) -> list[str]:
        """Enumerators and macros."""
        return list(dict.fromkeys([*self.enumerators, *self.macros]))

    def function(self, name: str) -> Function | None:
        return self.functions.get(name)

    def enum(self, name: str) -> Enum | None:
        return self.enums.get(name)

    def type_names(self) -> list[str]:
        """Every name that stands for a type."""
        return list(dict.fromkeys([*self.typedefs, *self.enums, *self.records]))


def _joined(type_: str, name: str) -> str:
    if "(*)" in type_:
        return type_.replace("(*)", f"(*{name})", 1)
    if type_.endswith("]"):
        head, bracket, tail = type_.partition("[")
        return f"{head.rstrip()} {name}{bracket}{tail}"
    return f"{type_}{name}" if type_.endswith(("*", "&")) else f"{type_} {name}".rstrip()
