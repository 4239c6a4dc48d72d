"""What a check of one SDK found, as values: `tasks.sdk_check` makes them, reports and other tasks read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from fl_gen.resolve.model import Declaration
from fl_gen.schema.errors import Diagnostic
from fl_gen.schema.frozen import frozen
from fl_gen.schema.location import Location
from fl_gen.tasks.codec import from_json, to_json

# bound: a candidate holds. strategy: none does, and generated code does something else instead. left_out: none does,
# and nothing is done instead. lost: none does, and there is no backend without it. absent: its group is not here.
State = Literal["bound", "strategy", "left_out", "lost", "absent"]
FactKind = Literal["type", "status", "constant"]


@frozen
class Chosen:
    """The candidate that is used. Its certainty is about meaning, units and order, which no compiler checks."""

    index: Annotated[int, "position among the candidates in the vendor file, from 0"]
    code: str
    form: Annotated[str, "expr, body, type or constant"]
    location: Location
    certainty: Literal["certain", "inferred"]
    source: Annotated[str, "where the vendor file has it from"]
    note: str | None
    deprecated: Annotated[str | None, "what the header says about a deprecated call it uses"]
    declarations: Annotated[tuple[Declaration, ...], "what it uses of the SDK, in the order of its text"]

    @property
    def inferred(self) -> bool:
        return self.certainty == "inferred"


@frozen
class Rejected:
    """A candidate that this SDK's headers refuse, with the compiler's words."""

    index: int
    code: str
    location: Location
    messages: tuple[Diagnostic, ...]


@frozen
class StrategyUsed:
    """What generated code does instead."""

    name: str
    doc: str


@frozen
class OperationCheck:
    """One operation of the portable vocabulary on this SDK."""

    name: str
    group: str
    doc: str
    required: bool
    state: State
    location: Annotated[Location, "the binding in the vendor file"]
    chosen: Chosen | None
    rejected: tuple[Rejected, ...]
    also_fit: Annotated[tuple[int, ...], "candidates that hold as well and are not used"]
    strategy: StrategyUsed | None
    depends_on: Annotated[str | None, "what the SDK lost without which no candidate can hold, as in: type stream"]


@frozen
class FactCheck:
    """A type, status code or constant of the vendor file: `chosen` are the spellings that exist here and are used."""

    name: Annotated[str, "stream, runtime.success, memcpy_kind.h2d, ..."]
    kind: FactKind
    group: str
    required: bool
    state: State
    location: Location
    chosen: tuple[Chosen, ...]
    rejected: tuple[Rejected, ...]


@frozen
class Coverage:
    """How many operations the SDK does itself. `percent` is cut, not rounded, to one decimal: 100 means all."""

    bound: int
    total: int
    percent: float

    @staticmethod
    def of(operations: Iterable[OperationCheck]) -> Coverage:
        """The coverage of some operations; of none it is 100 %."""
        states = [operation.state for operation in operations]
        bound = states.count("bound")
        return Coverage(bound, len(states), bound * 1000 // len(states) / 10 if states else 100.0)


@frozen
class GroupCheck:
    """A part of the SDK. A group whose main header, the first, is not there is left out of a backend, and so is one
    whose calls all need something that this SDK does not have."""

    key: str
    name: Annotated[str, "the vendor's own name"]
    title: str
    required: bool
    present: Annotated[bool, "it is there and can be used"]
    headers: tuple[str, ...]
    libraries: tuple[str, ...]
    location: Location
    coverage: Coverage
    unusable: Annotated[tuple[Diagnostic, ...], "why a group whose headers are there is left out"]


@frozen
class HeaderFact:
    """A header of the SDK that was read; `path` is null when it exists in memory only."""

    name: str
    path: str | None
    digest: Annotated[str, "SHA-256 of its content"]


@frozen
class SdkFacts:
    """The SDK that was checked."""

    name: str
    version: str | None
    simulated: Annotated[bool, "a test double made by fl-gen, not the vendor's SDK"]
    title: str
    origin: Annotated[str, "--sdk, the environment variable, default root, or simulated"]
    roots: tuple[str, ...]
    include_dirs: tuple[str, ...]
    libraries: Annotated[
        Mapping[str, str | None], "file of each library, null where it was not found; empty if unbuilt"
    ]
    headers: tuple[HeaderFact, ...]
    digest: Annotated[str, "SHA-256 over names and contents of these headers"]
    libclang: str
    compiler_headers: str

    @property
    def libraries_missing(self) -> tuple[str, ...]:
        return tuple(name for name, path in self.libraries.items() if path is None)


@frozen
class SdkCheck:
    """Every binding of a vendor held against one SDK. `coverage` is over the groups that are there."""

    target: Annotated[str, "as on the command line: VENDOR[@SDK]"]
    vendor: str
    title: str
    schema_file: Annotated[str, "the vendor file"]
    sdk: SdkFacts
    groups: tuple[GroupCheck, ...]
    operations: tuple[OperationCheck, ...]
    facts: tuple[FactCheck, ...]
    coverage: Coverage
    lost: Annotated[tuple[Diagnostic, ...], "one for each thing without which there is no backend on this SDK"]

    @property
    def exit_code(self) -> int:
        """0 if everything required is bound, else 1."""
        return 1 if self.lost else 0

    def in_state(self, *states: State) -> tuple[OperationCheck, ...]:
        """The operations in one of some states, in the order of the vocabulary."""
        return tuple(operation for operation in self.operations if operation.state in states)

    @property
    def lost_names(self) -> tuple[str, ...]:
        """What is lost, by name: operations, types, status codes and values, and not what is lost as a consequence.

        `lost` may say several things about one.
        """
        operations = [one.name for one in self.in_state("lost") if one.depends_on is None]
        groups = [f"group {group.key}" for group in self.groups if group.required and group.unusable]
        facts = [f"{fact.kind} {fact.name}" for fact in self.facts if fact.state == "lost"]
        return (*operations, *groups, *facts)

    @property
    def lost_with_others(self) -> tuple[str, ...]:
        """The operations that are lost as a consequence of what `lost_names` names."""
        return tuple(one.name for one in self.in_state("lost") if one.depends_on is not None)

    @property
    def absent_groups(self) -> tuple[str, ...]:
        """The groups that a backend goes without."""
        return tuple(group.key for group in self.groups if not group.present)

    @property
    def missing_facts(self) -> tuple[FactCheck, ...]:
        """Types, and codes of work that is not done or of exhausted memory, that the vendor file names and this SDK
        does not have: what needs them is silently something else. What is lost is not among them."""
        return tuple(
            fact
            for fact in self.facts
            if fact.state == "left_out" and fact.rejected and not fact.chosen and fact.kind in ("type", "status")
        )

    @property
    def inferred(self) -> tuple[OperationCheck, ...]:
        """The operations whose choice rests on an inferred fact."""
        return tuple(one for one in self.operations if one.chosen is not None and one.chosen.inferred)

    @property
    def deprecated(self) -> tuple[OperationCheck, ...]:
        """The operations that use a deprecated call."""
        return tuple(one for one in self.operations if one.chosen is not None and one.chosen.deprecated is not None)

    def to_json(self) -> dict[str, Any]:
        """The check as what `json.dumps` takes."""
        result: dict[str, Any] = to_json(self)
        return result

    @staticmethod
    def from_json(data: Any) -> SdkCheck:
        """The check that `to_json` made. ValueError for anything else."""
        return from_json(SdkCheck, data)


@frozen
class NoVerdict:
    """Why an SDK could not be judged. `text` is the message as people read it."""

    text: str
    diagnostics: tuple[Diagnostic, ...]


@frozen
class TargetResult:
    """The outcome for one target: a check, or why there is no verdict."""

    target: str
    vendor: str
    exit_code: Annotated[int, "0 all required is bound, 1 something is lost, 2 no verdict"]
    check: SdkCheck | None
    no_verdict: NoVerdict | None


@frozen
class CheckReport:
    """The outcome of `fl-gen sdk check`, in the order of its targets."""

    format: Annotated[Literal[1], "version of this document's form"]
    generator: str
    exit_code: Annotated[int, "the worst of the targets'"]
    results: tuple[TargetResult, ...]
