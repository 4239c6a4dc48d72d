"""An SDK diff as Markdown for a comment on a pull request: what it means first, no HTML, and never too long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fl_gen.report import diff_words as words
from fl_gen.report.markdown import LIMIT, Page, code, escaped
from fl_gen.tasks.diff_values import BindingChange, BindingFate, SdkChange, SdkDiff

_RESERVE = 400  # characters kept for what stands after a table
_WHOLE: dict[BindingFate, str] = {"lost": "{} is not there", "gained": "the old SDK has no {}"}
_MORE = "\n*{} more rows: the form json holds all of them*"


def diff_markdown(diff: SdkDiff) -> str:
    """The sentences of the text report, then tables of bindings, of what the backend uses, of the rest, of files."""
    page = Page(LIMIT)
    page.line(f"### SDK upgrade of {escaped(diff.title)}")
    page.line("")
    page.line(f"from {escaped(diff.old.title)}")
    page.line(f"to {escaped(diff.new.title)}")
    page.line("")
    for number, sentence in enumerate(words.headline(diff)):
        page.line(
            f"- **{escaped(sentence, 600)}**" if number == 0 and diff.exit_code else f"- {escaped(sentence, 600)}"
        )
    _table(page, "Bindings", ("", "binding", "was", "now", "why"), _bindings(diff), 0.35)
    used = (_row(one) for one in diff.used)
    _table(page, "What this backend uses", ("", "declaration", "old", "new", "used by"), used, 0.4)
    _table(page, "Generated files", ("", "file", "lines"), _files(diff), 0.3)
    _table(page, "The rest of the SDK", ("", "kind", "number", "names"), _rest(diff), 0.8)
    if diff.patch:
        _patch(page, diff.patch)
    page.line("")
    page.line(escaped(words.summary(diff), 600))
    return page.text()


def _table(page: Page, title: str, head: Sequence[str], rows: Iterable[Sequence[str]], part: float) -> None:
    """A table under a title, if there are rows: as many as fit into a part of the room that is left."""
    found = [f"| {' | '.join(row)} |" for row in rows]
    until = page.left - int(page.left * part)
    if not found or page.left < 2 * _RESERVE:
        return
    for line in ("", f"#### {title}", "", f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"):
        page.line(line)
    for number, row in enumerate(found):
        if page.left - len(row) - 1 < max(until, _RESERVE):
            page.line(_MORE.format(len(found) - number))
            return
        page.line(row)


def _bindings(diff: SdkDiff) -> Iterable[Sequence[str]]:
    for fate, why in _WHOLE.items():
        for group in words.whole_groups(diff, fate):
            names = escaped(words.listed([one.name for one in group.bindings if one.kind == "operation"], 8))
            lost = fate == "lost"
            reason = why.format(code(group.header))
            shown = "**lost**" if lost else fate
            yield shown, f"all of {escaped(group.group)}", names if lost else "", "" if lost else names, reason
    for one in diff.bindings:
        if one.missing_header is None:
            yield _binding(one)


def _binding(one: BindingChange) -> Sequence[str]:
    fate = "**lost**" if one.fate == "lost" else one.fate
    name = (
        code(one.name) + ("" if one.kind == "operation" else f" ({one.kind})") + (" required" if one.required else "")
    )
    sides = [code(words.became(side)) if side.code else escaped(words.became(side)) for side in (one.old, one.new)]
    why = escaped(one.reasons[0].message) if one.reasons else escaped(one.new.deprecated or "")
    return fate, name, *sides, why


def _row(one: SdkChange) -> Sequence[str]:
    note = f" ({escaped(one.note)})" if one.note else ""
    old, new = (code(text) if text else "" for text in (one.old, one.new))
    return one.change, f"{one.kind} {code(one.name)}{note}", old, new, escaped(words.listed(one.used_by, 6))


def _rest(diff: SdkDiff) -> Iterable[Sequence[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for one in words.rest(diff):
        found.setdefault((one.change, words.PLURALS[one.kind]), []).append(one.name)
    for (change, kind), names in found.items():
        yield (
            change,
            kind,
            str(len(names)),
            ", ".join(code(name) for name in names[:8]) + (" …" if len(names) > 8 else ""),
        )


def _files(diff: SdkDiff) -> Iterable[Sequence[str]]:
    for one in diff.files:
        yield one.change, code(one.path), f"+{one.added} -{one.removed}"


def _patch(page: Page, patch: str) -> None:
    """As many whole lines of the patch as fit."""
    fence = "````"
    room = page.left - 2 * _RESERVE
    if room < _RESERVE:
        page.line("\n*the patch does not fit here: the form text holds it*")
        return
    shown, used = [], 0
    lines = patch.rstrip("\n").split("\n")
    for line in lines:
        used += len(line) + 1
        if used > room:
            break
        shown.append(line)
    for line in ("", f"{fence}diff", *shown, fence):
        page.line(line)
    if len(shown) < len(lines):
        page.line(f"\n*{len(lines) - len(shown)} more lines of the patch: the form text holds all of them*")
