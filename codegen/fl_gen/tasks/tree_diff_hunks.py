"""Hunks of two texts, in values: places on both sides, lines around them, and what makes two hunks the same."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fl_gen.tasks.tree_diff_values import Row

CONTEXT = 3  # lines before and after a change
_WORK = 4_000_000  # cells of lines against lines; beyond it the middle of two texts is one hunk


@dataclass(frozen=True)
class Part:
    """Changed lines: `old` and `new` are half-open ranges of line indices; `rows` has lines around them."""

    old: tuple[int, int]
    new: tuple[int, int]
    rows: tuple[Row, ...]

    @property
    def removed(self) -> tuple[str, ...]:
        return tuple(row.text for row in self.rows if row.new is None)

    @property
    def added(self) -> tuple[str, ...]:
        return tuple(row.text for row in self.rows if row.old is None)

    @property
    def key(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Equal for hunks that change the same lines in the same way."""
        return self.removed, self.added


def lines_of(text: str | None) -> list[str]:
    """The lines of a text by LF, without ends; a last line without an end says so."""
    if not text:
        return []
    lines = text.replace("\r\n", "\n").split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]} \\ no newline at the end"]


def parts_of(old: Sequence[str], new: Sequence[str]) -> list[Part]:
    """The hunks between two lists of lines. Changes a line or two apart, with nothing but blanks between, are one."""
    blocks = list(_blocks(old, new))
    joined: list[list[int]] = []
    for a, b, c, d in blocks:
        between = old[joined[-1][1] : a] if joined else []
        if joined and len(between) <= 1 and not any(line.strip() for line in between):
            joined[-1][1], joined[-1][3] = b, d
        else:
            joined.append([a, b, c, d])
    parts = []
    for position, (a, b, c, d) in enumerate(joined):
        # Lines between two hunks are shown once, halved between them.
        above = a - (joined[position - 1][1] if position else 0)
        below = (joined[position + 1][0] if position + 1 < len(joined) else len(old)) - b
        before = min(CONTEXT, above if not position else above - min(CONTEXT, above // 2))
        after = min(CONTEXT, below if position + 1 == len(joined) else below // 2)
        rows = [Row(a - n + 1, c - n + 1, old[a - n]) for n in range(before, 0, -1)]
        rows += _middle(old, new, a, b, c, d)
        rows += [Row(b + n + 1, d + n + 1, old[b + n]) for n in range(after)]
        parts.append(Part((a, b), (c, d), tuple(rows)))
    return parts


def _middle(old: Sequence[str], new: Sequence[str], a: int, b: int, c: int, d: int) -> list[Row]:
    return [
        *(Row(index + 1, None, old[index]) for index in range(a, b)),
        *(Row(None, index + 1, new[index]) for index in range(c, d)),
    ]


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterable[tuple[int, int, int, int]]:
    """(old start, old end, new start, new end) of what differs."""
    start, most = 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    if not left and not right:
        return
    if not left or not right or len(left) * len(right) > _WORK:
        yield start, len(old) - end, start, len(new) - end
        return
    for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right, False).get_opcodes():
        if tag != "equal":
            yield start + a, start + b, start + c, start + d


def touches(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two half-open ranges share a line, or an empty one stands inside or at the edge of the other."""
    if one[0] == one[1] or other[0] == other[1]:
        return one[0] <= other[1] and other[0] <= one[1]
    return one[0] < other[1] and other[0] < one[1]
