"""What a check of a framework finds, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fl_gen.schema.errors import Diagnostic, FlGenError
from fl_gen.schema.location import Location

Level = Literal["error", "warning"]


class NoVerdict(FlGenError):
    """The tree cannot be judged: it is none, or something that reading it needs is missing."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file of the tree as libclang gives it: the column counts bytes."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class CxxType:
    """A type as written and as the compiler knows it."""

    text: str
    canonical: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class TreeParam:
    """A parameter in the tree; `name` is empty where the declaration gives none, `default` is its default argument."""

    name: str
    type: CxxType
    default: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class Signature:
    """A function or method of the tree. `body`: `none` (pure virtual), `nothing` (inline and empty) or `fatal`."""

    name: str
    returns: CxxType
    params: tuple[TreeParam, ...]
    place: Place
    const: bool = False
    pure: bool = False
    body: str = "fatal"


@dataclass(frozen=True, slots=True)
class Registered:
    """A kernel that a source registers. `device` is the enumerator of the key, None if it is not written there."""

    kernel: str
    device: str | None
    function: Signature | None
    place: Place
    why_not: str = ""  # why the function's signature is not known


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call: the type that the dispatcher passes it by, and where it stands."""

    type: CxxType
    place: Place


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call of a kernel by name. `kernels` is empty, and `why_not` says why, when it could not be judged."""

    kernels: tuple[str, ...]
    returns: CxxType
    arguments: tuple[Argument, ...]
    place: Place
    in_kernel: bool = False  # the source registers kernels itself
    why_not: str = ""


@dataclass(frozen=True)
class UnitRead:
    """What one source of the tree says about kernels.

    `lost` are registrations that the compiler could not make sense of, with what it says; `unread` says why the whole
    source was not read.
    """

    file: str
    registered: tuple[Registered, ...] = ()
    calls: tuple[CallSite, ...] = ()
    lost: tuple[tuple[Place, str], ...] = ()
    unread: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of one schema file that can be written mechanically.

    `file` is relative to the framework's folder, `path` leads from the root of the file to a node by keys and indices.
    `set`: the scalar becomes `value`. `insert`: `value`, a map, becomes an item of the list, behind the item with index
    `after` (-1: first). `params`: the list of parameters becomes `value`, a list of maps. `op`: `value`, a map, is an
    op more in the file, which is made if it is not there.
    """

    action: Literal["set", "insert", "params", "op"]
    file: str
    path: tuple[str | int, ...]
    value: Any
    after: int = -1


@dataclass(frozen=True)
class Finding:
    """One disagreement between a framework's schema and its sources, or within the sources.

    `kind` is a stable id, `subject` what it is about, `meaning` what follows for generated backends. `tree` and
    `schema` are the two places; at least one is there. `edits` are what must change in the schema, when that can be
    written mechanically; else `by_hand` says what to do.
    """

    kind: str
    level: Level
    subject: str
    message: str
    meaning: str
    tree: Location | None
    schema: Location | None
    edits: tuple[Edit, ...] = ()
    by_hand: str = ""

    def __post_init__(self) -> None:
        if self.tree is None and self.schema is None:
            raise ValueError("a finding stands somewhere")

    @property
    def diagnostic(self) -> Diagnostic:
        """As people read it: at the place in the tree, else in the schema."""
        from fl_gen.schema.errors import Related

        first = self.tree or self.schema
        assert first is not None
        related: tuple[Related, ...] = ()
        if self.tree is not None and self.schema is not None:
            related = (Related(self.schema, f"{self.subject} in the schema"),)
        hint = self.meaning + (f"\nby hand: {self.by_hand}" if self.by_hand else "")
        return Diagnostic(first, self.message, hint, rule=self.kind, severity=self.level, related=related)


@dataclass(frozen=True)
class Unjudged:
    """A place that could not be judged, and why. It is told, and decides nothing."""

    place: Location
    what: str
    why: str


@dataclass(frozen=True)
class Needed:
    """A kernel that other kernels call by its name."""

    kernel: str
    callers: tuple[Location, ...]


@dataclass(frozen=True)
class FrameworkCheck:
    """The result of a check. `registered` counts kernels by device type, `calls` the call sites that were judged."""

    framework: str
    tree: str
    findings: tuple[Finding, ...]
    by_name: tuple[Needed, ...]
    unjudged: tuple[Unjudged, ...]
    sources: int
    registered: Mapping[str, int]
    calls: int
    absent: tuple[str, ...]  # headers that were read as empty
    libclang: str
