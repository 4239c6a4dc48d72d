"""What every form of a tree diff says in the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from fl_gen.tasks.tree_diff_values import Cause, CauseKind, Certainty, Fold, Hunk, Meaning, Status, TreeDiff

KINDS: Mapping[CauseKind, str] = {
    "node": "schema",
    "template": "template",
    "sdk": "SDK",
    "wheel": "wheel",
    "formatter": "formatter",
    "licence": "licence",
    "generator": "generator",
    "native": "hand-written kernels",
    "hand-edit": "hand edit",
    "unknown": "tree",
}
STATUSES: Mapping[Status, str] = {
    "created": "A",
    "removed": "D",
    "changed": "M",
    "edited": "E",
    "conflict": "C",
    "kept": "K",
}
CERTAINTIES: Mapping[Certainty, str] = {
    "exact": "",
    "likely": "the likely one of several causes",
    "one-of": "one of several causes, or all of them",
}
_SHOWN = 3
_LETTERS: Mapping[Status, str] = {
    "created": "created",
    "removed": "removed",
    "changed": "changed",
    "edited": "edited by hand, which would be lost",
    "conflict": "in the way, and not fl-gen's",
    "kept": "kept as you edited it",
}


def title(diff: TreeDiff) -> str:
    """The first line."""
    names = ", ".join(side.name for side in diff.vendors)
    if diff.against == "disk":
        return f"What a regenerate would change: {names}"
    return f"What changed since {diff.against} ({(diff.commit or '')[:10]}) in generated code: {names}"


def summary(diff: TreeDiff) -> str:
    """The last line: how much, and of what."""
    counts = Counter(one.status for one in diff.files)
    same = sum(side.same for side in diff.vendors)
    if not diff.exit_code:
        kept = f", {counts['kept']} kept as you decided" if counts["kept"] else ""
        return f"nothing would change: {number(same, 'file')} the same{kept}"
    words = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
    added, removed = sum(one.added for one in diff.files), sum(one.removed for one in diff.files)
    hunks = sum(len(one.hunks) for one in diff.files)
    folds = len({_changed_rows(hunk) for one in diff.files for hunk in one.hunks})
    distinct = f", {folds} of them different" if folds < hunks else ""
    return f"{words}; {same} the same; +{added} -{removed} lines in {number(hunks, 'hunk')}{distinct}"


def legend(diff: TreeDiff) -> str:
    """What the letters of the files mean, of those that are there."""
    there = {one.status for one in diff.files}
    return ", ".join(f"{STATUSES[status]} {text}" for status, text in _LETTERS.items() if status in there)


def whole_vendors(diff: TreeDiff) -> Mapping[str, Status]:
    """The vendors of which only one side has anything."""
    alone = {vendor for cause in diff.causes if cause.kind == "unknown" for vendor in cause.vendors}
    found: dict[str, Status] = {}
    for vendor in alone:
        statuses = {one.status for one in diff.files if one.vendor == vendor}
        if len(statuses) == 1:
            found[vendor] = statuses.pop()
    return found


def _changed_rows(hunk: Hunk) -> tuple[tuple[bool, str], ...]:
    return tuple((row.old is None, row.text) for row in hunk.rows if row.old is None or row.new is None)


def cause_line(cause: Cause) -> str:
    """`ops/elementwise.yaml: AddForward.params[1] changed`."""
    says = cause.change and cause.kind != "unknown" and " -> " not in cause.title
    change = f" {cause.change}" if says else ""
    return f"{cause.title}{change}"


def became(cause: Cause) -> str | None:
    """What stood there and what does now, on one line."""
    if cause.old is not None and cause.new is not None:
        return f"{cause.old} -> {cause.new}"
    if cause.new is not None:
        return f"+ {cause.new}"
    return f"- {cause.old}" if cause.old is not None else None


def extent(diff: TreeDiff, cause: Cause) -> str:
    """How much a cause changes: `6 hunks (2 different) in 4 files of mlu, maca`."""
    spots = {(spot.file, spot.hunk) for fold in cause.folds for spot in fold.spots}
    if not spots:
        return "changes no generated line"
    files = {file for file, _ in spots}
    vendors = list(dict.fromkeys(diff.files[file].vendor for file in sorted(files)))
    different = f" ({len(cause.folds)} different)" if len(cause.folds) < len(spots) else ""
    return f"{number(len(spots), 'hunk')}{different} in {number(len(files), 'file')} of {', '.join(vendors)}"


def meaning(cause: Cause) -> str:
    """One line on the binary interface."""
    if not cause.meanings:
        return ""
    sorts = Counter(one.effect for one in cause.meanings)
    if cause.kind == "hand-edit" and cause.change == "removed":
        return "a regenerate makes it again"
    if cause.kind == "hand-edit":
        return "not known: fl-gen does not model what a person wrote"
    if cause.kind == "unknown":
        return "all of it: there is nothing to compare it with"
    parts = []
    for effect in sorts:
        of = [one for one in cause.meanings if one.effect == effect]
        parts.append(_meanings(effect, of))
    return "; ".join(parts)


def _meanings(effect: str, of: list[Meaning]) -> str:
    if effect == "text only":
        return "text only: the kernels, signatures and bindings stay as they were"
    if effect == "not known":
        return "not known: what made the old code is not at hand"
    first = of[0]
    if len(of) == 1 and first.old is not None and first.new is not None:
        return f"{effect}: {first.subject}: {first.old} -> {first.new}"
    if len(of) == 1 and effect in ("type changed", "constant changed"):  # it is on one side alone
        return f"{effect}: {first.subject}: {first.old or 'none'} -> {first.new or 'none'}"
    if len(of) == 1 and (first.old or first.new):
        return f"{effect}: {first.subject}: {first.new or first.old}"
    names = list(dict.fromkeys(one.subject for one in of))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{effect}: {', '.join(names[:_SHOWN])}{more}"


def fold_files(diff: TreeDiff, fold: Fold) -> list[str]:
    """`mlu/src/x.cc:12` for each place of a fold."""
    found = []
    for spot in fold.spots:
        file = diff.files[spot.file]
        found.append(f"{file.vendor}/{file.path}:{line_of(file.hunks[spot.hunk])}")
    return found


def told_before(diff: TreeDiff) -> Mapping[tuple[int, int], int]:
    """(cause, fold) -> the first cause that has all hunks of the fold too: a hunk of several causes is shown once."""
    first: dict[tuple[int, int], int] = {}
    found: dict[tuple[int, int], int] = {}
    for number, cause in enumerate(diff.causes):
        for position, fold in enumerate(cause.folds):
            places = [(spot.file, spot.hunk) for spot in fold.spots]
            owners = {first.setdefault(place, number) for place in places}
            if len(owners) == 1 and number not in owners:
                found[number, position] = owners.pop()
    return found


def hunk_of(diff: TreeDiff, fold: Fold) -> Hunk:
    """The hunk that stands for a fold."""
    return diff.files[fold.spots[0].file].hunks[fold.spots[0].hunk]


def line_of(hunk: Hunk) -> int:
    """The first line that changes, of now where there is one."""
    for row in hunk.rows:
        if row.old is None or row.new is None:
            return row.new or row.old or 1
    return 1


def number(count: int, word: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def mark(old: int | None, new: int | None) -> str:
    """The sign of a row."""
    return "+" if old is None else "-" if new is None else " "
