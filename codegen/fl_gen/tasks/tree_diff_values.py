"""What a regenerate would change, as values: `tasks.tree_diff` makes them, reports print them."""

from __future__ import annotations

from typing import Annotated, Literal

from fl_gen.schema.frozen import frozen

# edited: a person changed the file, and a regenerate would lose that. conflict: a file that fl-gen never wrote stands
# where one is to be made. kept: a person's version that stays.
Status = Literal["created", "removed", "changed", "edited", "conflict", "kept"]
# wheel: another release of PyTorch.
CauseKind = Literal[
    "node", "template", "sdk", "wheel", "formatter", "licence", "generator", "native", "hand-edit", "unknown"
]
# exact: shown by rendering, or the only thing that changed. likely: the best of several by what its text and the hunk
# have in common. one-of: one of several changes, and nothing tells them apart.
Certainty = Literal["exact", "likely", "one-of"]
# What a cause means to code that was compiled against the old tree.
Effect = Literal[
    "kernel added",
    "kernel removed",
    "signature changed",
    "parameters reordered",
    "method added",
    "method removed",
    "call replaced",
    "call added",
    "call removed",
    "strategy changed",
    "dtypes changed",
    "type changed",
    "constant changed",
    "operator added",
    "operator removed",
    "feature changed",
    "file added",
    "file removed",
    "text only",
    "not known",
]


@frozen
class Meaning:
    """One line on the binary interface, found from the models of both sides."""

    effect: Effect
    subject: Annotated[str, "the kernel, method, operation, type, constant or file; empty for 'text only'"]
    old: str | None
    new: str | None
    vendors: tuple[str, ...]


@frozen
class Row:
    """One line of a hunk: `old` and `new` are its numbers from 1 on either side, null where it is not."""

    old: int | None
    new: int | None
    text: str


@frozen
class Hunk:
    """A run of changed lines with some lines around it. `causes` are positions in the causes of the whole."""

    rows: tuple[Row, ...]
    causes: tuple[int, ...]
    certainty: Certainty


@frozen
class FileDiff:
    """One file that is not the same on both sides; `added` and `removed` count lines."""

    vendor: str
    path: Annotated[str, "below generated/VENDOR"]
    status: Status
    template: Annotated[str | None, "the template that makes it now, or made it"]
    added: int
    removed: int
    hunks: tuple[Hunk, ...]
    note: Annotated[str | None, "why there are no hunks"]


@frozen
class Spot:
    """A hunk by its place: position of the file, and of the hunk in it."""

    file: int
    hunk: int


@frozen
class Fold:
    """Hunks that change the same lines in the same way; the first stands for all."""

    spots: tuple[Spot, ...]


@frozen
class Cause:
    """One change to what the generator reads, or to what it wrote."""

    kind: CauseKind
    title: Annotated[str, "such as ops/elementwise.yaml: AddForward.params[1]"]
    change: Annotated[str | None, "changed, added, removed; null where that says nothing"]
    place: Annotated[str | None, "file:line of now, of before for what was removed"]
    old: Annotated[str | None, "what stood there, on one line and cut"]
    new: str | None
    meanings: tuple[Meaning, ...]
    folds: tuple[Fold, ...]
    vendors: tuple[str, ...]


@frozen
class VendorSide:
    """What was compared for one vendor."""

    name: str
    sdk_old: str | None
    sdk_new: str
    same: Annotated[int, "files that are the same on both sides"]
    note: str | None


@frozen
class TreeDiff:
    """What a regenerate would change. `causes` that changed no file are there too, with no folds."""

    format: int
    generator: str
    against: Annotated[str, "disk, or the revision"]
    commit: Annotated[str | None, "the full name of the revision's commit"]
    exit_code: Annotated[int, "0 nothing would change, 1 something would"]
    vendors: tuple[VendorSide, ...]
    causes: tuple[Cause, ...]
    files: tuple[FileDiff, ...]
    notes: tuple[str, ...]
