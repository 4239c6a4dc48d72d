"""A tree diff for a terminal: the causes with what they mean and their hunks, then the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fl_gen.report import tree_diff_words as words
from fl_gen.schema.errors import cut, printable
from fl_gen.tasks.tree_diff_values import Cause, Fold, TreeDiff

_COLOURS = {"red": "\x1b[31m", "green": "\x1b[32m", "cyan": "\x1b[36m", "bold": "\x1b[1m", "dim": "\x1b[2m"}
_FOLDS = 20  # hunks of a cause that are shown
_ROWS = 60  # lines of a hunk that are shown
_WIDE = 400  # characters of one line; --all shows them all
_FILES = 6  # files of a folded hunk that are named


@dataclass(frozen=True)
class TreeLook:
    """How a diff is laid out; `everything` cuts nothing short."""

    color: bool = False
    everything: bool = False

    def paint(self, text: str, colour: str) -> str:
        return f"{_COLOURS[colour]}{text}\x1b[0m" if self.color and text else text


def tree_diff_text(diff: TreeDiff, look: TreeLook) -> str:
    """The report, without a final newline."""
    lines = [look.paint(printable(words.title(diff)), "bold")]
    for side in diff.vendors:
        was = f"{side.sdk_old} -> " if side.sdk_old is not None and side.sdk_old != side.sdk_new else ""
        lines.append(printable(f"  {side.name}: {was}{side.sdk_new}"))
        if side.note is not None:
            lines.append(printable(f"    {side.note}"))
    lines += [printable(f"  note: {note}") for note in diff.notes]
    told = words.told_before(diff)
    for number, cause in enumerate(diff.causes):
        if cause.folds or cause.meanings:
            before = {position: diff.causes[told[number, position]] for of, position in told if of == number}
            lines += ["", *_cause(diff, cause, before, look)]
    lines += _idle([cause for cause in diff.causes if not cause.folds and not cause.meanings], look)
    if diff.files:
        lines += ["", f"{look.paint('files', 'bold')}  {words.legend(diff)}", *_files(diff, look)]
    lines += ["", look.paint(printable(words.summary(diff)), "bold")]
    return "\n".join(lines)


def _files(diff: TreeDiff, look: TreeLook) -> Iterator[str]:
    whole = {} if look.everything else words.whole_vendors(diff)
    for vendor in dict.fromkeys(file.vendor for file in diff.files):
        of = [file for file in diff.files if file.vendor == vendor]
        if vendor in whole:
            count = f"+{sum(file.added for file in of)} -{sum(file.removed for file in of)}"
            files = words.number(len(of), "file")
            yield printable(f"  {words.STATUSES[whole[vendor]]} {vendor}/  {files}, {count}: --all lists them")
            continue
        for file in of:
            count = f"  +{file.added} -{file.removed}" if file.hunks else ""
            note = f"  {file.note}" if file.note else ""
            yield printable(f"  {words.STATUSES[file.status]} {file.vendor}/{file.path}{count}{note}")


def _cause(diff: TreeDiff, cause: Cause, before: Mapping[int, Cause], look: TreeLook) -> Iterator[str]:
    """`before` has the folds of the cause that were shown with an earlier one."""
    yield look.paint(printable(f"{words.KINDS[cause.kind]}  {words.cause_line(cause)}"), "bold")
    if cause.place is not None:
        yield printable(f"  at     {cause.place}")
    became = words.became(cause)
    if became is not None:
        yield printable(f"  was    {cause.old}") if cause.old is not None else "  was    -"
        yield printable(f"  is     {cause.new}") if cause.new is not None else "  is     -"
    if cause.meanings:
        yield printable(f"  means  {words.meaning(cause)}")
    yield f"  {words.extent(diff, cause)}"
    if cause.kind == "unknown" and not look.everything:
        return  # whole files, which are no difference to read
    limit = len(cause.folds) if look.everything else _FOLDS
    for position, fold in enumerate(cause.folds[:limit]):
        if position in before:
            places = words.fold_files(diff, fold)
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            yield look.paint(printable(f"  @@ {places[0]}{more}"), "cyan") + printable(
                f"  see above: {before[position].title}"
            )
        else:
            yield from _fold(diff, fold, look)
    if len(cause.folds) > limit:
        yield f"  ... {len(cause.folds) - limit} more hunks: --all shows them"


def _idle(causes: list[Cause], look: TreeLook) -> list[str]:
    """Changes of the input that no generated line shows."""
    if not causes:
        return []
    shown = causes if look.everything else causes[:_FILES]
    lines = ["", look.paint(f"{words.number(len(causes), 'more change')} of the input, with no effect here", "bold")]
    lines += [printable(f"  {words.KINDS[cause.kind]}  {words.cause_line(cause)}") for cause in shown]
    return lines if len(shown) == len(causes) else [*lines, f"  ... {len(causes) - len(shown)} more: --all shows them"]


def _fold(diff: TreeDiff, fold: Fold, look: TreeLook) -> Iterator[str]:
    hunk = words.hunk_of(diff, fold)
    places = words.fold_files(diff, fold)
    limit = len(places) if look.everything else _FILES
    for place in places[:limit]:
        yield look.paint(printable(f"  @@ {place}"), "cyan")
    if len(places) > limit:
        yield look.paint(f"  @@ ... and {len(places) - limit} more", "cyan")
    if words.CERTAINTIES[hunk.certainty]:
        yield f"     ({words.CERTAINTIES[hunk.certainty]})"
    rows = hunk.rows if look.everything else hunk.rows[:_ROWS]
    for row in rows:
        sign = words.mark(row.old, row.new)
        line = row.text if look.everything else cut(row.text, _WIDE)
        text = printable(f"  {sign}{_tabs(line)}").rstrip()
        yield look.paint(text, "green" if sign == "+" else "red") if sign != " " else text
    if len(rows) < len(hunk.rows):
        yield f"  ... {len(hunk.rows) - len(rows)} more lines: --all shows them"


def _tabs(text: str) -> str:
    return text.replace("\t", "    ")
