"""A tree diff as one HTML page: a tree of files, the causes, and every hunk side by side and unified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from fl_gen.report import tree_diff_words as words
from fl_gen.report.html_page import Html, el, page
from fl_gen.schema.errors import cut
from fl_gen.tasks.tree_diff_values import Cause, FileDiff, Hunk, Row, TreeDiff, VendorSide

_ROWS = 24_000  # lines of all hunks; a browser gets slow with more
_HUNK_ROWS = 1_500  # lines of one hunk
_WIDE = 2_000  # characters of one line; the form json has them all
_HEAD = 90  # characters of the line that stands for a hunk
_PLACES = 40  # places of a folded hunk that are named


@dataclass
class _Room:
    """How many more lines the page takes."""

    left: int = _ROWS

    def take(self, rows: Sequence[Row]) -> Sequence[Row]:
        shown = rows[: min(self.left, _HUNK_ROWS)]
        self.left -= len(shown)
        return shown


def tree_diff_html(diff: TreeDiff) -> str:
    """The page. The two views, and all that is shown, work without scripts; these add search and filters."""
    room = _Room()
    causes = [_cause(diff, number, cause) for number, cause in enumerate(diff.causes)]
    alone = words.whole_vendors(diff)
    files = [_file(diff, number, one, None if one.vendor in alone else room) for number, one in enumerate(diff.files)]
    return page(
        words.title(diff),
        el("h1", words.title(diff)),
        el("p", words.summary(diff), class_="summary"),
        el("ul", map(_side, diff.vendors), [el("li", note) for note in diff.notes], class_="soft facts"),
        el("input", type="radio", name="view", id="unified", checked=True),
        el("label", "Unified", for_="unified", class_="view"),
        el("input", type="radio", name="view", id="split"),
        el("label", "Side by side", for_="split", class_="view"),
        _tools(diff),
        el(
            "div",
            el("nav", el("h2", "Files"), _tree(diff), aria_label="Files") if diff.files else None,
            el(
                "main",
                [el("h2", "Causes"), *causes] if causes else None,
                [el("h2", "Changes"), *files] if files else None,
            ),
            class_="columns",
        ),
        el("p", f"Made by {diff.generator}.", class_="soft"),
        styles=("page.css", "tree_diff.css"),
        script_file="tree_diff.js",
    )


def _side(side: VendorSide) -> Html:
    was = f"{side.sdk_old} → " if side.sdk_old is not None and side.sdk_old != side.sdk_new else ""
    note = f" ({side.note})" if side.note else ""
    return el("li", el("b", side.name), f": {was}{side.sdk_new}{note}")


def _tools(diff: TreeDiff) -> Html:
    vendors = [side.name for side in diff.vendors]
    return el(
        "div",
        el("input", type="search", id="search", placeholder="Search paths and lines", aria_label="Search"),
        [_tick("vendor", name, name) for name in vendors] if len(vendors) > 1 else None,
        el("span", id="count", class_="soft"),
        el(
            "details",
            el("summary", "Filter by cause"),
            el("div", (_tick("cause", str(n), cause.title) for n, cause in enumerate(diff.causes)), class_="ticks"),
        )
        if len(diff.causes) > 1
        else None,
        class_="tools",
    )


def _tick(kind: str, value: str, label: str) -> Html:
    box = el("input", type="checkbox", data_kind=kind, value=value, checked=True)
    return el("label", box, f" {label}")


# -- the tree of files ------------------------------------------------------------------------------------------------


@dataclass
class _Folder:
    folders: dict[str, _Folder] = field(default_factory=dict)
    files: list[tuple[str, int]] = field(default_factory=list)


def _tree(diff: TreeDiff) -> Html:
    root = _Folder()
    for number, file in enumerate(diff.files):
        here = root
        *folders, name = (file.vendor, *file.path.split("/"))
        for part in folders:
            here = here.folders.setdefault(part, _Folder())
        here.files.append((name, number))
    return el("div", _branch(diff, root, root), class_="tree")


def _branch(diff: TreeDiff, folder: _Folder, root: _Folder | None = None) -> Iterator[Html]:
    for name, inner in folder.folders.items():
        shut = folder is root and name in words.whole_vendors(diff)
        while not inner.files and len(inner.folders) == 1:  # a folder that holds one folder alone
            more, inner = next(iter(inner.folders.items()))
            name = f"{name}/{more}"
        yield el("details", el("summary", f"{name}/"), _branch(diff, inner), open=not shut)
    for name, number in folder.files:
        file = diff.files[number]
        yield el("a", _status(file), f" {name}", href=f"#f{number}", data_file=str(number))


def _status(file: FileDiff) -> Html:
    return el("span", words.STATUSES[file.status], class_=f"status {file.status}", title=file.status)


# -- causes -----------------------------------------------------------------------------------------------------------


def _cause(diff: TreeDiff, number: int, cause: Cause) -> Html:
    facts: list[tuple[str, Html | str]] = []
    if cause.place is not None:
        facts.append(("at", el("code", cause.place)))
    if words.became(cause) is not None:
        facts.append(("was", el("code", cause.old if cause.old is not None else "–")))
        facts.append(("is", el("code", cause.new if cause.new is not None else "–")))
    if cause.meanings:
        facts.append(("means", words.meaning(cause)))
    facts.append(("extent", words.extent(diff, cause)))
    return el(
        "section",
        el("h3", el("span", words.KINDS[cause.kind], class_="pill"), f" {words.cause_line(cause)}"),
        el("dl", _facts(facts)),
        [_fold(diff, cause, position) for position in range(len(cause.folds) if cause.kind != "unknown" else 0)],
        id=f"c{number}",
        class_="cause",
        data_cause=str(number),
    )


def _facts(facts: Iterable[tuple[str, Html | str]]) -> Iterator[Html]:
    for key, value in facts:
        yield el("dt", key)
        yield el("dd", value)


def _fold(diff: TreeDiff, cause: Cause, position: int) -> Html:
    fold = cause.folds[position]
    hunk = words.hunk_of(diff, fold)
    places = words.fold_files(diff, fold)
    links = [
        el("li", el("a", place, href=f"#f{spot.file}h{spot.hunk}"))
        for place, spot in list(zip(places, fold.spots, strict=True))[:_PLACES]
    ]
    more = el("li", f"and {len(places) - _PLACES} more") if len(places) > _PLACES else None
    head = _first_line(hunk)
    return el(
        "details",
        el("summary", el("code", head), f" {words.number(len(places), 'place')}"),
        el("ul", links, more, class_="places"),
        class_="fold",
    )


def _first_line(hunk: Hunk) -> str:
    """The first line that says something, from a little before the place that changed when it is a long one."""
    for gone, come, _ in _runs(hunk.rows):
        lines = [row for row in (*gone, *come) if row.text.strip()]
        if not lines:
            continue
        first, start = lines[0], 0
        text = first.text.strip()
        if gone and come and len(text) > _HEAD:
            other = come[0].text.strip()
            start = next((at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), 0) - _HEAD // 3
        start = max(0, min(start, len(text) - _HEAD))
        cut = f"{'…' if start else ''}{text[start : start + _HEAD]}{'…' if start + _HEAD < len(text) else ''}"
        return f"{words.mark(first.old, first.new)} {cut}"
    return "blank lines"


# -- files ------------------------------------------------------------------------------------------------------------


def _file(diff: TreeDiff, number: int, file: FileDiff, room: _Room | None) -> Html:
    """A file with its hunks; one of a vendor that only one side has is no difference to read, and stands without."""
    return el(
        "details",
        el(
            "summary",
            _status(file),
            el("b", f" {file.vendor}/{file.path} "),
            el("span", f"+{file.added}", class_="plus") if file.hunks else None,
            el("span", f" -{file.removed}", class_="minus") if file.hunks else None,
        ),
        el("p", f"from {file.template}", class_="soft") if file.template else None,
        el("p", file.note, class_="soft") if file.note else None,
        [_hunk(diff, f"f{number}h{position}", hunk, room) for position, hunk in enumerate(file.hunks)]
        if room is not None
        else el("p", f"the whole file is {file.status}: the forms text (with --all) and json hold it", class_="soft"),
        open=room is not None,
        id=f"f{number}",
        class_="file",
        data_file=str(number),
        data_vendor=file.vendor,
        data_path=f"{file.vendor}/{file.path}",
    )


def _hunk(diff: TreeDiff, name: str, hunk: Hunk, room: _Room) -> Html:
    rows = [replace(row, text=cut(row.text, _WIDE)) for row in room.take(hunk.rows)]
    doubt = words.CERTAINTIES[hunk.certainty]
    left = len(hunk.rows) - len(rows)
    more = f"{words.number(left, 'more line')}: the forms text and json hold them"
    return el(
        "div",
        el(
            "p",
            [el("a", words.cause_line(diff.causes[one]), href=f"#c{one}", class_="pill") for one in hunk.causes],
            el("span", f" {doubt}", class_="soft") if doubt else None,
            class_="why",
        ),
        el("div", el("table", map(_unified, _marked(rows)), class_="code"), class_="scroll u"),
        el("div", el("table", map(_split, _pairs(rows)), class_="code pair"), class_="scroll s"),
        el("p", more, class_="soft") if left else None,
        id=name,
        class_="hunk",
        data_causes=" ".join(map(str, hunk.causes)),
    )


Cell = tuple[Row, Html | str]


def _unified(cell: Cell) -> Html:
    row, text = cell
    sign = words.mark(row.old, row.new)
    kind = {"+": "add", "-": "del", " ": None}[sign]
    numbers = [el("td", str(one) if one is not None else "", class_="n") for one in (row.old, row.new)]
    return el("tr", numbers, el("td", sign, class_="sign"), el("td", text, class_="t"), class_=kind)


def _split(pair: tuple[Cell | None, Cell | None]) -> Html:
    cells: list[Html] = []
    for cell, kind, old in ((pair[0], "del", True), (pair[1], "add", False)):
        if cell is None:
            cells += [el("td", class_="n none"), el("td", class_="t none")]
            continue
        row, text = cell
        at = row.old if old else row.new
        look = kind if row.old is None or row.new is None else ""
        cells += [el("td", str(at), class_=f"n {look}".strip()), el("td", text, class_=f"t {look}".strip())]
    return el("tr", cells)


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[Cell | None, Cell | None]]:
    """What stands side by side."""
    for gone, come, same in _runs(rows):
        texts = [_differing(one.text, other.text) for one, other in zip(gone, come, strict=False)]
        for index in range(max(len(gone), len(come))):
            left, right = texts[index] if index < len(texts) else (None, None)
            yield (
                (gone[index], left if left is not None else gone[index].text) if index < len(gone) else None,
                (come[index], right if right is not None else come[index].text) if index < len(come) else None,
            )
        if same is not None:
            yield (same, same.text), (same, same.text)


def _marked(rows: Sequence[Row]) -> Iterator[Cell]:
    """What stands below each other, with the part of a line that changed marked."""
    for gone, come, same in _runs(rows):
        texts = [_differing(one.text, other.text) for one, other in zip(gone, come, strict=False)]
        for side, many in enumerate((gone, come)):
            for index, row in enumerate(many):
                yield row, texts[index][side] if index < len(texts) else row.text
        if same is not None:
            yield same, same.text


def _runs(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[Row], Row | None]]:
    """Lines that go, lines that come in their place, and the unchanged one behind them."""
    gone: list[Row] = []
    come: list[Row] = []
    for row in rows:
        if row.new is None:
            gone.append(row)
        elif row.old is None:
            come.append(row)
        else:
            yield gone, come, row
            gone, come = [], []
    if gone or come:
        yield gone, come, None


def _differing(old: str, new: str) -> tuple[Html | str, Html | str]:
    """Two lines with what differs between their common beginning and end marked, unless that is nearly all."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if start + end < max(len(old), len(new)) // 3:
        return old, new
    return _cut(old, start, end), _cut(new, start, end)


def _cut(text: str, start: int, end: int) -> Html | str:
    middle = text[start : len(text) - end]
    if not middle:
        return text
    return el("span", text[:start], el("mark", middle), text[len(text) - end :])
