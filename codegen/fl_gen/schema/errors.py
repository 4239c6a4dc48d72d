"""What people are told when something is wrong: diagnostics with place, excerpt, caret and remedy.

This module is imported by every command, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .location import Location

Severity = Literal["error", "warning", "note"]

_EXCERPT_WIDTH = 100  # display columns of an excerpt; a longer line is cut around the caret
_QUOTE_WIDTH = 60  # characters of a user's value that a message repeats
_EXCERPT_BYTES = 8 << 20  # a bigger file is not opened again only to show a line of it
_COLOURS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1;36m", "bold": "\x1b[1m", "off": "\x1b[0m"}


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a diagnostic, such as the first of two duplicates."""

    location: Location
    message: str
    excerpt: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong, where, and what to do about it.

    `length` is how many code points the caret underlines. `excerpt` is the offending line; when it is None the line is
    read from the file at `location` when the diagnostic is rendered. `rule` is a stable kebab-case id for machines.
    """

    location: Location
    message: str
    hint: str | None = None
    excerpt: str | None = None
    length: int = 1
    rule: str = "schema"
    severity: Severity = "error"
    related: tuple[Related, ...] = field(default=())

    def render(self, color: bool = False) -> str:
        """`file:line:column: message`, the line, a caret and the hint, without a final newline."""
        lines = [_head(self.location, self.message, self.severity, color)]
        lines += _excerpt_lines(self.location, self.excerpt, self.length, self.severity, color)
        if self.hint:
            lines += [f"  = {part}" for part in printable(self.hint).split("\n")]
        if self.location.via is not None:
            lines.append(_head(self.location.via, "the base is extended here", "note", color))
            lines += _excerpt_lines(self.location.via, None, 1, "note", color)
        for other in self.related:
            lines.append(_head(other.location, other.message, "note", color))
            lines += _excerpt_lines(other.location, other.excerpt, 1, "note", color)
        return "\n".join(lines)


class FlGenError(Exception):
    """Base of everything that stops a run with a message instead of a traceback; `exit_code` is the command's."""

    exit_code = 2

    def render(self, color: bool = False) -> str:
        """The text to print on the error stream, without a final newline."""
        del color  # a plain message has no parts to colour; subclasses with diagnostics use it
        return printable(str(self))


class SchemaError(FlGenError):
    """One or more located errors in what a person wrote; carries all of them, in file order and without repeats."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        unique = dict.fromkeys(diagnostics)
        self.diagnostics: tuple[Diagnostic, ...] = tuple(sorted(unique, key=lambda d: (d.location, d.message)))
        if not self.diagnostics:
            raise ValueError("a SchemaError needs at least one diagnostic")
        super().__init__("\n".join(f"{d.location}: {d.message}" for d in self.diagnostics))

    def render(self, color: bool = False) -> str:
        """All diagnostics and, when there are several, how many."""
        parts = [diagnostic.render(color) for diagnostic in self.diagnostics]
        if len(parts) > 1:
            parts.append(f"{len(parts)} errors")
        return "\n".join(parts)


def quote(value: str) -> str:
    """A user's value for use inside a message: quoted, on one line, short, without control characters."""
    text = value if len(value) <= _QUOTE_WIDTH else value[: _QUOTE_WIDTH - 1] + "…"
    return "'" + printable(text.replace("\n", "\\n").replace("\t", "\\t")) + "'"


def printable(text: str) -> str:
    """The text with every character that could drive a terminal, or hide text in it, replaced by its \\u escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c == "\n" or c.isprintable() else _escape(c) for c in text)


def cut(text: str, most: int) -> str:
    """`text`, or its beginning and how much more there is: a line that a person wrote may be as long as it likes."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} more characters)"


def one_line(text: str) -> str:
    """`printable`, for what must not begin a line of its own: a file's name may hold a line end."""
    return printable(text).replace("\n", "\\n")


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _head(location: Location, message: str, severity: Severity, color: bool) -> str:
    place, text = printable(str(location)), printable(message)
    word = "" if severity == "error" else f"{severity}: "
    if color:
        return f"{_COLOURS['bold']}{place}:{_COLOURS['off']} {_COLOURS[severity]}{word}{text}{_COLOURS['off']}"
    return f"{place}: {word}{text}"


def _excerpt_lines(location: Location, excerpt: str | None, length: int, severity: Severity, color: bool) -> list[str]:
    line = read_line(location) if excerpt is None else excerpt
    if line is None:
        return []
    start = min(location.column - 1, len(line))
    first, cells = _window(line, start)
    shown = "".join(cells)
    caret_at = sum(_width(cell) for cell in cells[: start - first + (1 if first else 0)])
    marked = cells[start - first + (1 if first else 0) :][: max(1, length)]
    caret = "^" + "~" * (sum(_width(cell) for cell in marked) - 1)
    if color:
        caret = f"{_COLOURS[severity]}{caret}{_COLOURS['off']}"
    gutter = f"{location.line:5d} | "
    blank = " " * 5 + " | "
    return [(gutter + shown).rstrip(), blank + " " * caret_at + caret]


def _window(line: str, start: int) -> tuple[int, list[str]]:
    """The part of a line to show: index of its first code point, and one cell of text per code point.

    A cell `…` is put before (then the index is not 0) and after what is cut away.
    """
    first = 0
    if len(line) > _EXCERPT_WIDTH and start > _EXCERPT_WIDTH * 3 // 4:
        first = start - _EXCERPT_WIDTH // 2
    part = line[first : first + _EXCERPT_WIDTH]
    cells = [" " if c == "\t" else c if c.isprintable() else _escape(c) for c in part]
    if first:
        cells.insert(0, "…")
    if first + _EXCERPT_WIDTH < len(line):
        cells.append("…")
    return first, cells


def _width(cell: str) -> int:
    """Terminal columns of a cell: wide East Asian characters take two, combining ones none."""
    if cell.isascii():
        return len(cell)
    if unicodedata.combining(cell[0]):
        return 0
    return 2 if unicodedata.east_asian_width(cell[0]) in "WF" else len(cell)


def read_line(location: Location) -> str | None:
    """The line of the file at a location, or None when it cannot be read (gone, not a file, not text, too big)."""
    try:
        if not os.path.isfile(location.file) or os.path.getsize(location.file) > _EXCERPT_BYTES:
            return None
        with open(location.file, encoding="utf-8-sig", errors="replace", newline="") as stream:
            lines = split_lines(stream.read())
    except (OSError, ValueError):
        return None
    return lines[location.line - 1] if location.line <= len(lines) else None


def split_lines(text: str) -> Sequence[str]:
    """The lines of a text by the line ends that editors count: LF, CRLF and CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
