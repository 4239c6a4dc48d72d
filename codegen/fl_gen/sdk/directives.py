"""Reads a header's preprocessor conditionals line by line: what must hold for a line to count.

A compiler sees one configuration; this light scan sees them all. It evaluates nothing. Line continuations, comments,
strings and CRLF are understood; include guards are no conditions.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

# Stands for a line end inside a logical line (a continuation, a long comment), so that lines can be counted.
_JOINT = "\x0b"
_SPLICE = re.compile(r"\\[ \t]*\n")
_OPAQUE = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
      |(?P<raw>\bR"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
      |"(?:[^"\\\n]|\\.)*"
      |(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'
    """,
    re.VERBOSE | re.DOTALL,
)
_DIRECTIVE = re.compile(r"\s*#\s*([A-Za-z_]+)\b(.*)", re.DOTALL)
_DEFINED = re.compile(r"(!?)\s*defined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_PLAIN = re.compile(r"!?\w+(?:\([^()]*\))?")
OPENING = ("if", "ifdef", "ifndef")
OTHER = ("elif", "elifdef", "elifndef", "else")


@dataclass(frozen=True)
class Condition:
    """What must hold for a branch, and the line of the directive that begins the branch."""

    text: str
    line: int


@dataclass(frozen=True)
class Line:
    """A logical line without comments: physical line `number` to `last`, and the conditions around it.

    `directive` is its name without `#`, empty for other text; `text` then is what follows the name, else the line.
    """

    number: int
    last: int
    directive: str
    text: str
    conditions: tuple[Condition, ...]

    def joints(self, start: int, end: int) -> int:
        """How many physical lines end between two characters of `text`."""
        return self.text.count(_JOINT, start, end)


@dataclass(frozen=True)
class Conditionals:
    """The logical lines of one header, and the names of its include guards."""

    lines: tuple[Line, ...]
    guards: frozenset[str]

    def at(self, line: int) -> tuple[Condition, ...]:
        """The conditions of a physical line, the outermost first."""
        index = bisect_right(self.lines, line, key=lambda one: one.number) - 1
        return self.lines[index].conditions if index >= 0 else ()


@dataclass
class _Frame:
    """An open conditional: what its branches so far asked for, and whether the first one is an include guard."""

    asked: list[str]
    now: Condition | None


def read_conditionals(text: str) -> Conditionals:
    """The conditionals of a header's text. Unbalanced directives are taken as far as they go, never an error."""
    rows = _logical(text)
    found: list[Line] = []
    guards: set[str] = set()
    stack: list[_Frame] = []
    for index, (number, last, directive, rest) in enumerate(rows):
        if directive in OPENING:
            asked = _asked(directive, rest)
            guard = _guarded(asked)
            if guard is not None and _defines(rows, index + 1, guard):
                guards.add(guard)
                frame = _Frame([asked], None)
            else:
                frame = _Frame([asked], Condition(asked, number))
            found.append(Line(number, last, directive, rest, _conditions(stack)))
            stack.append(frame)
            continue
        if directive in OTHER and stack:
            frame = stack.pop()
            found.append(Line(number, last, directive, rest, _conditions(stack)))
            parts = [_not(one) for one in frame.asked]
            if directive != "else":
                asked = _asked(directive[2:] if directive != "elif" else "if", rest)
                parts.append(_grouped(asked))
                frame.asked.append(asked)
            frame.now = Condition(" && ".join(parts), number)
            stack.append(frame)
            continue
        if directive == "endif" and stack:
            stack.pop()
        found.append(Line(number, last, directive, rest, _conditions(stack)))
    return Conditionals(tuple(found), frozenset(guards))


def plain(text: str) -> str:
    """A text of a logical line on one line, without runs of blanks."""
    return " ".join(text.replace(_JOINT, " ").split())


def _conditions(stack: list[_Frame]) -> tuple[Condition, ...]:
    return tuple(frame.now for frame in stack if frame.now is not None)


def _logical(text: str) -> list[tuple[int, int, str, str]]:
    """(first line, last line, directive, text) of each logical line, comments made blank, strings kept."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(_JOINT, " ")
    text = _SPLICE.sub(_JOINT, text)

    def blank(match: re.Match[str]) -> str:
        whole = match.group()
        if match.group("raw"):
            return whole.replace("\n", _JOINT)
        if not match.group("comment"):
            return whole
        return " " + _JOINT * (whole.count("\n") + whole.count(_JOINT))

    rows = []
    number = 1
    for row in _OPAQUE.sub(blank, text).split("\n"):
        last = number + row.count(_JOINT)
        match = _DIRECTIVE.match(row) if "#" in row else None
        if match is None:
            rows.append((number, last, "", row))
        else:
            # Line ends before the name count too: a comment of several lines may stand there.
            first = number + row.count(_JOINT, 0, match.start(1))
            rows.append((first, last, match.group(1), match.group(2)))
        number = last + 1
    return rows


def _asked(directive: str, rest: str) -> str:
    text = plain(rest)
    if directive == "if":
        while text.startswith("(") and _matching(text) == len(text) - 1:
            text = text[1:-1].strip()
        match = _DEFINED.fullmatch(text)
        return f"{match.group(1)}defined({match.group(2) or match.group(3)})" if match else text
    name = text.split(" ")[0]
    return f"!defined({name})" if directive.endswith("ndef") else f"defined({name})"


def _matching(text: str) -> int:
    """Index of the bracket that closes the first character, -1 if none does."""
    depth = 0
    for index, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return index
    return -1


def _guarded(asked: str) -> str | None:
    """X of `!defined(X)`."""
    match = _DEFINED.fullmatch(asked)
    return match.group(2) if match is not None and match.group(1) else None


def _defines(rows: list[tuple[int, int, str, str]], index: int, name: str) -> bool:
    """Whether the next line that is not blank is `#define name`."""
    for _, _, directive, rest in rows[index:]:
        if directive or rest.strip(f" \t{_JOINT}"):
            return directive == "define" and re.match(rf"[\s{_JOINT}]*{re.escape(name)}\b", rest) is not None
    return False


def _not(asked: str) -> str:
    if _PLAIN.fullmatch(asked):
        return asked[1:] if asked.startswith("!") else f"!{asked}"
    return f"!({asked})"


def _grouped(asked: str) -> str:
    return asked if _PLAIN.fullmatch(asked) else f"({asked})"
