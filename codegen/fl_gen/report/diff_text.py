"""An SDK diff for a terminal: what it means first, then the bindings, what this backend uses, the rest, the files."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fl_gen.report import diff_words as words
from fl_gen.schema.errors import printable
from fl_gen.tasks.diff_values import BindingChange, BindingFate, SdkChange, SdkDiff
from fl_gen.tasks.dump_values import Place

_COLOURS = {"red": "\x1b[1;31m", "green": "\x1b[32m", "yellow": "\x1b[33m", "bold": "\x1b[1m"}
_FATES: dict[BindingFate, str] = {
    "lost": "red",
    "gained": "green",
    "switched": "yellow",
    "deprecated": "yellow",
    "undeprecated": "green",
}
_WHOLE: dict[BindingFate, str] = {"lost": "{} is not there", "gained": "the old SDK has no {}"}
_LEAST = 20  # columns that text is never narrower than
_FULL = 12  # changes of a sort that are shown in full among those that this backend does not use
_NAMES = 30  # names of a sort that are listed
_SHORT = 70  # characters of two declarations that share a line
_SHOWN = 160  # characters of a declaration


@dataclass(frozen=True)
class DiffLook:
    """How a diff is laid out: `width` in columns; `everything` cuts no list short."""

    width: int = 100
    color: bool = False
    everything: bool = False

    def paint(self, text: str, colour: str) -> str:
        return f"{_COLOURS[colour]}{text}\x1b[0m" if self.color and text else text


def diff_text(diff: SdkDiff, look: DiffLook) -> str:
    """The report, without a final newline."""
    lines = [look.paint(printable(f"{diff.title}: {_versions(diff)}"), "bold")]
    lines += _wrap(diff.old.title, look, "  from  ", "        ")
    lines += [*_wrap(diff.new.title, look, "  to    ", "        "), ""]
    for number, sentence in enumerate(words.headline(diff)):
        rows = _wrap(sentence, look)
        grave = number == 0 and diff.exit_code
        lines += [look.paint(row, "red") for row in rows] if grave else rows
    for section in (_bindings(diff, look), _used(diff, look), _rest(diff, look), _files(diff, look)):
        rows = list(section)
        if rows:
            lines += ["", *rows]
    command = words.next_command(diff)
    if command is not None:
        lines += ["", f"next  {command}"]
    lines += [
        "",
        *(look.paint(row, "red" if diff.exit_code else "bold") for row in _wrap(words.summary(diff), look, "", "  ")),
    ]
    return "\n".join(lines)


def _versions(diff: SdkDiff) -> str:
    old, new = diff.old.version or "unknown version", diff.new.version or "unknown version"
    return (
        f"{old} -> {new}"
        if old != new
        else f"{old}, twice"
        if diff.old.digest == diff.new.digest
        else f"{old} -> {new}"
    )


def _wrap(text: str, look: DiffLook, first: str = "", rest: str = "") -> list[str]:
    width = max(look.width, len(rest) + _LEAST)
    return textwrap.wrap(
        printable(text), width, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]  # fmt: skip


def _title(text: str, look: DiffLook) -> Iterator[str]:
    yield from (look.paint(row, "bold") for row in _wrap(text, look, "", "  "))


def _bindings(diff: SdkDiff, look: DiffLook) -> Iterator[str]:
    if not diff.bindings:
        return
    yield from _title("Bindings", look)
    for fate, why in _WHOLE.items():
        for group in words.whole_groups(diff, fate):
            names = words.listed([one.name for one in group.bindings if one.kind == "operation"], 8)
            yield from _entry(fate, f"all of {group.group}", look)
            yield from _wrap(names or words.count(len(group.bindings), "fact"), look, "      with     ", " " * 15)
            yield from _wrap(why.format(group.header), look, "      because  ", " " * 15)
    for one in diff.bindings:
        if one.missing_header is None:
            yield from _binding(one, look)


def _entry(fate: BindingFate, name: str, look: DiffLook) -> Iterator[str]:
    rows = _wrap(name, look, f"  {fate:<12} ", " " * 15)
    rows[0] = rows[0].replace(f"  {fate} ", f"  {look.paint(fate, _FATES[fate])} ", 1) if look.color else rows[0]
    yield from rows


def _binding(one: BindingChange, look: DiffLook) -> Iterator[str]:
    kind = "" if one.kind == "operation" else f" ({one.kind})"
    yield from _entry(one.fate, f"{one.name}{kind}{' [required]' if one.required else ''}", look)
    old, new = words.became(one.old), words.became(one.new)
    if old == new:
        yield from _wrap(new, look, "      by       ", " " * 15)
    else:
        yield from _wrap(old, look, "      was      ", " " * 15)
        yield from _wrap(new, look, "      now      ", " " * 15)
    label = "because" if one.fate in ("lost", "switched") else "before"
    reasons = one.reasons if look.everything else one.reasons[:1]
    for reason in reasons:
        yield from _wrap(f"{reason.message} ({reason.location})", look, f"      {label:<8} ", " " * 15)
    for text in dict.fromkeys(filter(None, (one.old.deprecated, one.new.deprecated))):
        yield from _wrap(text, look, "      warning  ", " " * 15)


def _used(diff: SdkDiff, look: DiffLook) -> Iterator[str]:
    if diff.used:
        yield from _title(f"What this backend uses of the SDK: {words.count(len(diff.used), 'difference')}", look)
        for group in _by_change(diff.used):
            yield from _sort(group, look, "* ", _FULL if len(group) > 2 * _FULL else len(group))


def _rest(diff: SdkDiff, look: DiffLook) -> Iterator[str]:
    ones = words.rest(diff)
    if ones:
        yield from _title(f"The rest of the SDK: {words.count(len(ones), 'difference')}", look)
        for group in _by_change(ones):
            full = _FULL if group[0].change in ("changed", "deprecated", "undeprecated") else 0
            yield from _sort(group, look, "  ", full)


def _by_change(ones: Sequence[SdkChange]) -> Iterator[list[SdkChange]]:
    """The changes of one sort and kind after another, in the order of `ones`."""
    found: dict[tuple[str, str], list[SdkChange]] = {}
    for one in ones:
        found.setdefault((one.change, one.kind), []).append(one)
    yield from found.values()


def _sort(ones: Sequence[SdkChange], look: DiffLook, mark: str, full: int) -> Iterator[str]:
    """Changes of one sort: the first ones each on lines of its own, the others by name."""
    full = len(ones) if look.everything else full
    for one in ones[:full]:
        yield from _change(one, look, mark)
    others = [one.name for one in ones[full:]]
    if others:
        more = "more " if full else ""
        listed = words.listed(others, _NAMES)
        head = f"{mark}{ones[0].change:<12} {len(others)} {more}{words.PLURALS[ones[0].kind]}: "
        if len(head) + len(others[0]) + 1 > look.width:
            yield head.rstrip()
            head = " " * 15
        yield from _wrap(listed, look, head, " " * 15)


def _change(one: SdkChange, look: DiffLook, mark: str) -> Iterator[str]:
    at = one.new_at or one.old_at
    where = f" ({_at(one.old_at)} -> {_at(one.new_at)})" if one.change == "moved" else f" ({_at(at)})"
    yield from _wrap(f"{one.kind} {one.name}{where}", look, f"{mark}{one.change:<12} ", " " * 15)
    if one.old != one.new and one.old and one.new and len(one.old) + len(one.new) < _SHORT:
        yield from _wrap(f"{_cut(one.old)} -> {_cut(one.new)}", look, " " * 15, " " * 15)
    elif one.old != one.new and one.change != "moved":
        for label, text in (("old", one.old), ("new", one.new)):
            if text:
                yield from _wrap(_cut(text), look, f"      {label:<8} ", " " * 15)
    elif one.change in ("deprecated", "undeprecated") and one.new:
        yield from _wrap(_cut(one.new), look, "               ", " " * 15)
    if one.note:
        yield from _wrap(one.note, look, "      note     ", " " * 15)
    if one.used_by:
        yield from _wrap(words.listed(one.used_by, 6), look, "      used by  ", " " * 15)


def _at(at: Place | None) -> str:
    return f"{at.header}:{at.line}" if at is not None else "nowhere"


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _files(diff: SdkDiff, look: DiffLook) -> Iterator[str]:
    if diff.files:
        yield from _title(f"Generated files, below generated/{diff.vendor}/ (lines before the formatter)", look)
        for one in diff.files:
            yield f"  {one.change:<9}  +{one.added:<5} -{one.removed:<5} {printable(one.path)}"
    if diff.patch:
        yield ""
        yield from (printable(row) for row in diff.patch.rstrip("\n").split("\n"))
