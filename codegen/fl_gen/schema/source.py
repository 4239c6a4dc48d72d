"""The text of one schema file: its lines, and from an offset to line and column."""

from __future__ import annotations

import re
from bisect import bisect_right

from .errors import Diagnostic, Related
from .location import Location

_LINE_END = re.compile(r"\r\n?|\n")


class Source:
    """A decoded file (without its byte order mark), the name under which people know it, and what brought it in."""

    __slots__ = ("_lines", "_starts", "name", "text", "via")

    def __init__(self, name: str, text: str, via: Location | None = None) -> None:
        self.name = name
        self.text = text
        self.via = via
        self._lines: list[str] | None = None
        self._starts: list[int] | None = None

    def line(self, number: int) -> str:
        """Line `number`, from 1, without its end; past the last line, the empty text."""
        if self._lines is None:
            self._lines = self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return self._lines[number - 1] if number <= len(self._lines) else ""

    def at(self, line: int, column: int) -> Location:
        """The location of a line and column counted from 0."""
        return Location(self.name, line + 1, column + 1, self.via)

    def locate(self, index: int) -> Location:
        """The location of a code point by its offset in the text."""
        if self._starts is None:
            self._starts = _line_starts(self.text)
        line = bisect_right(self._starts, index) - 1
        return Location(self.name, line + 1, index - self._starts[line] + 1, self.via)

    def diagnostic(
        self,
        location: Location,
        message: str,
        hint: str | None = None,
        *,
        rule: str = "schema",
        length: int = 1,
        related: tuple[Related, ...] = (),
    ) -> Diagnostic:
        """A diagnostic at a place in this source, with the line as its excerpt."""
        return Diagnostic(
            location, message, hint, excerpt=self.line(location.line), length=length, rule=rule, related=related
        )

    def related(self, location: Location, message: str) -> Related:
        """A second place in this source, with its line."""
        return Related(location, message, excerpt=self.line(location.line))


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in _LINE_END.finditer(text))]
