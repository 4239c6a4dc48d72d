"""What an SDK upgrade means for a backend, as values: `tasks.sdk_diff` makes them, reports print them."""

from __future__ import annotations

from typing import Annotated, Literal

from fl_gen.schema.errors import Diagnostic
from fl_gen.schema.frozen import frozen
from fl_gen.tasks.dump_values import Place
from fl_gen.tasks.sdk_values import State

ItemKind = Literal["function", "enumerator", "macro", "record", "typedef"]
# vanished: the name is gone. changed: a call or use of it may not compile or mean the same any more. moved: the same
# declaration in another header.
Change = Literal["vanished", "changed", "deprecated", "undeprecated", "appeared", "moved"]
# lost: it had a call, and has none now. switched: another candidate is used now.
BindingFate = Literal["lost", "gained", "switched", "deprecated", "undeprecated"]
BindingKind = Literal["operation", "type", "status", "constant"]


@frozen
class SdkChange:
    """One thing that the two SDKs declare differently."""

    kind: ItemKind
    name: str
    change: Change
    old: Annotated[str | None, "signature, value or definition in the old SDK; null if it appeared"]
    new: Annotated[str | None, "in the new SDK; null if it vanished"]
    old_at: Place | None
    new_at: Place | None
    used_by: Annotated[tuple[str, ...], "the bindings of this backend that use it, in either SDK"]
    note: Annotated[str | None, "what else is known about the change"]


@frozen
class BindingSide:
    """What a binding is on one SDK."""

    state: State
    code: Annotated[tuple[str, ...], "the chosen candidate; all spellings that count, for a list of status codes"]
    candidate: Annotated[int | None, "position of the (first) chosen one in the vendor file, from 0"]
    strategy: Annotated[str | None, "what generated code does instead"]
    strategy_doc: str | None
    deprecated: Annotated[str | None, "what the header says about a deprecated call"]


@frozen
class BindingChange:
    """A binding of the vendor file that is another one on the new SDK."""

    kind: BindingKind
    name: str
    group: str
    required: bool
    fate: BindingFate
    old: BindingSide
    new: BindingSide
    reasons: Annotated[tuple[Diagnostic, ...], "the compiler on the candidate that does not hold on one of the SDKs"]
    missing_header: Annotated[str | None, "the main header of the group that one of the SDKs does not have"]


@frozen
class FileChange:
    """A generated file that is another one for the new SDK. Lines are counted before the formatter."""

    path: str
    change: Literal["appeared", "vanished", "changed"]
    added: int
    removed: int


@frozen
class DiffSide:
    """One of the two SDKs."""

    given: Annotated[tuple[str, ...], "as on the command line"]
    title: str
    version: str | None
    simulated: Annotated[bool, "a test double made by fl-gen, not the vendor's SDK"]
    groups: tuple[str, ...]
    bound: Annotated[int, "operations that this SDK does itself"]
    total: Annotated[int, "operations of the groups that are there"]
    digest: Annotated[str, "SHA-256 over names and contents of the SDK's headers"]
    lost: Annotated[tuple[Diagnostic, ...], "things without which there is no backend on this SDK"]


@frozen
class SdkDiff:
    """An upgrade. `changes` has what this backend uses first."""

    format: Annotated[Literal[1], "version of this document's form"]
    generator: str
    vendor: str
    title: str
    exit_code: Annotated[int, "1 if any binding is lost, else 0"]
    old: DiffSide
    new: DiffSide
    bindings: tuple[BindingChange, ...]
    changes: tuple[SdkChange, ...]
    files: tuple[FileChange, ...]
    files_same: Annotated[int, "generated files that stay as they are"]
    files_problem: Annotated[str | None, "why generated files could not be compared"]
    patch: Annotated[str | None, "unified diff of the generated files, formatted; null unless asked for"]

    def fates(self, *fates: BindingFate) -> tuple[BindingChange, ...]:
        """The binding changes of some fates, in the order of the vendor file."""
        return tuple(one for one in self.bindings if one.fate in fates)

    @property
    def used(self) -> tuple[SdkChange, ...]:
        """The changes of what this backend uses."""
        return tuple(one for one in self.changes if one.used_by)
