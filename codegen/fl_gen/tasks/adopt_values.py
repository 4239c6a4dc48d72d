"""What a reading of a hand-written backend finds, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fl_gen.schema.errors import Diagnostic
from fl_gen.schema.location import Location
from fl_gen.tasks.framework_values import Place, Signature, UnitRead, Unjudged

Presence = Literal["there", "inherited", "changed", "absent"]
Fit = Literal["exact", "same", "differs", "unknown", "unjudged", "absent"]
Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class SdkCall:
    """A call of a function that the SDK declares.

    `dropped`: its status goes nowhere. `stream`: the place of a null argument where the SDK takes a stream.
    """

    name: str
    place: Place
    dropped: bool = False
    stream: Place | None = None


@dataclass(frozen=True, slots=True)
class EventUse:
    """A local event of a function: the names of the SDK functions it is given to, and whether others may have it."""

    name: str
    place: Place
    calls: tuple[tuple[str, Place], ...]
    escapes: bool


@dataclass(frozen=True, slots=True)
class Body:
    """A function with a body, or a variable with an initialiser: what it calls. `usr` is the compiler's name for it."""

    usr: str
    name: str
    place: Place
    calls: tuple[SdkCall, ...]
    callees: tuple[str, ...]
    events: tuple[EventUse, ...] = ()


@dataclass(frozen=True, slots=True)
class Subclass:
    """A class of the backend, the qualified names of all its bases, and its methods with the compiler's names."""

    name: str
    bases: tuple[str, ...]
    methods: tuple[tuple[Signature, str], ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Pair:
    """A dtype of the framework that stands beside a constant of the SDK."""

    dtype: str
    constant: str
    place: Place


@dataclass(frozen=True, slots=True)
class Complaint:
    """An error of the compiler in a file of the backend; `sdk`: it is about a name or a call of the SDK."""

    place: Place
    text: str
    sdk: bool


@dataclass(frozen=True)
class Facts:
    """What one source says, headers of the backend that it includes with it.

    `registers` are the places of static registrations in the source itself; `defines` and `uses` the compiler's names
    of what other sources can refer to, and of what it refers to.
    """

    read: UnitRead
    bodies: tuple[Body, ...] = ()
    classes: tuple[Subclass, ...] = ()
    pairs: tuple[Pair, ...] = ()
    complaints: tuple[Complaint, ...] = ()
    registers: tuple[tuple[str, Place], ...] = ()
    defines: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()

    @property
    def file(self) -> str:
        return self.read.file


@dataclass(frozen=True)
class Instead:
    """What fl-gen makes for one operation: `text` is the chosen candidate, or what is done without one."""

    operation: str
    kind: Literal["binding", "strategy", "nothing"]
    text: str


@dataclass(frozen=True)
class MethodReport:
    """A method of the framework's interface. `calls` are the SDK functions that the hand-written one reaches."""

    cls: str
    method: str
    presence: Presence
    place: Location | None
    calls: tuple[str, ...]
    instead: tuple[Instead, ...]
    note: str = ""


@dataclass(frozen=True)
class OpReport:
    """A kernel. `native`: it can be listed in kernels.yaml, as `file`; else `note` says why not."""

    op: str
    fit: Fit
    place: Location | None
    strategy: str
    native: bool = False
    file: str = ""
    note: str = ""


@dataclass(frozen=True)
class Fault:
    """Something that is wrong in the backend: `rule` is a stable id, `why` what comes of it, `remedy` what to do."""

    rule: str
    level: Level
    place: Location
    message: str
    why: str
    remedy: str

    @property
    def diagnostic(self) -> Diagnostic:
        return Diagnostic(
            self.place, self.message, f"{self.why}\n{self.remedy}", rule=f"adopt-{self.rule}", severity=self.level
        )


@dataclass(frozen=True)
class Adoption:
    """The whole report. `listing` is the text of a kernels.yaml with the kernels that can become native."""

    vendor: str
    folder: str
    sdk: str
    framework: str
    methods: tuple[MethodReport, ...]
    ops: tuple[OpReport, ...]
    faults: tuple[Fault, ...]
    unjudged: tuple[Unjudged, ...]
    sources: int
    absent: tuple[str, ...]
    listing: str
    libclang: str
