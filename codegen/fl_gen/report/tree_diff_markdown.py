"""A tree diff as Markdown for a comment on a pull request: causes first, folded hunks, and never too long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from fl_gen.report import tree_diff_words as words
from fl_gen.report.markdown import LIMIT, Page, code, escaped
from fl_gen.schema.errors import printable
from fl_gen.tasks.tree_diff_values import Cause, Fold, Row, TreeDiff

_RESERVE = 600  # characters kept for what stands at the end
_ROWS = 30  # lines of a hunk
_WIDTH = 200  # characters of a line
_PLACES = 5  # places of a hunk that are named
_FILES = 0.2  # part of the page that the table of files may take
_LEFT_OUT = "*{} more {}: --all, json and html hold all of them*"


def tree_diff_markdown(diff: TreeDiff) -> str:
    """A table of causes, then the hunks of each folded away, then the files; at most LIMIT characters."""
    page = Page(LIMIT)
    page.line(f"### {escaped(words.title(diff), 400)}")
    page.line("")
    page.line(escaped(words.summary(diff), 400))
    for side in diff.vendors:
        if side.note is not None:
            page.line(f"- {code(side.name)}: {escaped(side.note)}")
    for note in diff.notes[:10]:
        page.line(f"- {escaped(note)}")
    if not diff.files:
        return page.text()
    causes = [cause for cause in diff.causes if cause.folds or cause.meanings]
    rows = [_row(diff, cause) for cause in causes]
    if rows:
        page.line("")
        page.table(("cause", "what", "binary interface", "extent"), rows, LIMIT // 3)
    room = int(LIMIT * _FILES)
    told = words.told_before(diff)
    for number, cause in enumerate(causes):
        if page.left < room + 3 * _RESERVE:
            page.line("")
            page.line(_LEFT_OUT.format(len(causes) - number, "causes"))
            break
        # Every cause gets a share, so that a big one does not push out those behind it.
        before = {position: diff.causes[told[number, position]] for of, position in told if of == number}
        _hunks(page, diff, cause, before, page.left - (page.left - room) // (len(causes) - number))
    page.line("")
    page.line("<details><summary>Files</summary>")
    page.line("")
    page.table(("", "file", "lines"), _files(diff), page.left - _RESERVE // 2)
    page.line("")
    page.line("</details>")
    return page.text()


def _files(diff: TreeDiff) -> Iterator[tuple[str, str, str]]:
    whole = words.whole_vendors(diff)
    for vendor in dict.fromkeys(file.vendor for file in diff.files):
        of = [file for file in diff.files if file.vendor == vendor]
        if vendor in whole:
            lines = f"+{sum(file.added for file in of)} -{sum(file.removed for file in of)}"
            yield whole[vendor], f"{code(f'{vendor}/')} {words.number(len(of), 'file')}", lines
            continue
        for file in of:
            lines = f"+{file.added} -{file.removed}" if file.hunks else ""
            yield file.status, code(f"{file.vendor}/{file.path}"), lines


def _row(diff: TreeDiff, cause: Cause) -> tuple[str, ...]:
    became = words.became(cause)
    change = words.cause_line(cause).removeprefix(cause.title).strip()
    what = code(cause.title) + (f" {escaped(change)}" if change else "")
    return (
        words.KINDS[cause.kind],
        what + (f"<br>{code(became)}" if became else ""),
        escaped(words.meaning(cause)),
        escaped(words.extent(diff, cause)),
    )


def _hunks(page: Page, diff: TreeDiff, cause: Cause, before: Mapping[int, Cause], until: int) -> None:
    """The hunks of a cause that no earlier one showed, as long as more than `until` characters are left."""
    if cause.kind == "unknown":
        return  # whole files, which are no difference to read
    blocks = []
    left = page.left - until - _RESERVE
    folds = [fold for position, fold in enumerate(cause.folds) if position not in before]
    for fold in folds:
        text = _fold(diff, fold)
        left -= len(text) + 2
        if left < 0:
            break
        blocks.append(text)
    if not blocks:
        return
    page.line("")
    page.line(f"<details><summary>{escaped(words.cause_line(cause))}</summary>")
    for block in blocks:
        page.line("")
        page.line(block)
    if len(blocks) < len(folds):
        page.line("")
        page.line(_LEFT_OUT.format(len(folds) - len(blocks), "hunks"))
    if before:
        page.line("")
        names = ", ".join(code(title) for title in list(dict.fromkeys(one.title for one in before.values()))[:3])
        page.line(f"*{words.number(len(before), 'more hunk')}: above, with* {names}")
    page.line("")
    page.line("</details>")


def _fold(diff: TreeDiff, fold: Fold) -> str:
    hunk = words.hunk_of(diff, fold)
    places = words.fold_files(diff, fold)
    named = ", ".join(code(place) for place in places[:_PLACES])
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    doubt = f" ({words.CERTAINTIES[hunk.certainty]})" if words.CERTAINTIES[hunk.certainty] else ""
    return f"{named}{more}{doubt}\n\n{_block(hunk.rows)}"


def _block(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows[:_ROWS]:
        text = printable(row.text.replace("\t", "    "))
        short = text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
        lines.append(f"{words.mark(row.old, row.new)}{short}".rstrip())
    if len(rows) > _ROWS:
        lines.append(f"  … {len(rows) - _ROWS} more lines")
    text = "\n".join(lines)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}diff\n{text}\n{fence}"
