"""Three-way merge by lines, as `git merge-file` does it.

Lines keep their ends, so a file with CRLF or without a final newline stays so. Every line of a person is in the result,
or both sides agreed to change it: where both changed the same or touching lines differently, both versions stand there
between conflict markers. Without a base, all that differs is a conflict.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

YOURS = "<<<<<<< "
MIDDLE = "======="
THEIRS = ">>>>>>> "
# A stretch of equal lines between two conflicts that is no longer than this does not split them (git's number).
_JOIN = 3
# Myers' search costs the square of this number of differing lines; beyond it a stretch counts as replaced as a whole,
# which merges less finely and is just as safe.
_MAX_DIFFERENCES = 600

Pair = tuple[int, int]


@dataclass(frozen=True)
class Merged:
    """The merged text, and how many conflicts it holds between markers."""

    text: str
    conflicts: int


@dataclass(frozen=True)
class _Hunk:
    """Lines [base, base_end) of the base became lines [side, side_end) of the side."""

    base: int
    base_end: int
    side: int
    side_end: int


def merge3(base: str | None, yours: str, theirs: str, labels: tuple[str, str] = ("yours", "new")) -> Merged:
    """Bring the change from `base` to `theirs` into `yours`. `labels` name the two sides in the markers.

    `base` and `theirs` have LF; they take the line ends of `yours` when most of its lines end with CRLF.
    """
    crlf = yours.count("\r\n") * 2 > yours.count("\n")
    if crlf:
        theirs = _with_crlf(theirs)
        base = None if base is None else _with_crlf(base)
    if base == theirs or yours == theirs:
        return Merged(yours, 0)
    if base == yours:
        return Merged(theirs, 0)
    writer = _Writer("\r\n" if crlf else "\n", labels)
    mine, new = lines_of(yours), lines_of(theirs)
    if base is None:
        writer.conflict(mine, new)
        return writer.merged()
    old = lines_of(base)
    position = 0  # in the base
    for start, end, left, right in _regions(_hunks(old, mine), _hunks(old, new)):
        writer.put(old[position:start])
        position = end
        yours_part, theirs_part = mine[slice(*left)], new[slice(*right)]
        old_part = old[start:end]
        if yours_part == theirs_part or theirs_part == old_part:
            writer.put(yours_part)
        elif yours_part == old_part:
            writer.put(theirs_part)
        else:
            writer.conflict(yours_part, theirs_part)
    writer.put(old[position:])
    return writer.merged()


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends. Only LF ends a line: `str.splitlines` would also cut at form feeds."""
    lines = text.split("\n")
    last = lines.pop()
    return [*(line + "\n" for line in lines), *([last] if last else [])]


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


class _Writer:
    """Collects the lines of the result."""

    def __init__(self, end: str, labels: tuple[str, str]) -> None:
        self._end = end
        self._labels = labels
        self._lines: list[str] = []
        self._conflicts = 0

    def put(self, lines: Sequence[str]) -> None:
        self._lines += lines

    def conflict(self, yours: Sequence[str], theirs: Sequence[str]) -> None:
        """Both versions between markers; what they have in common stands outside of them."""
        pairs = [*matches(yours, theirs), (len(yours), len(theirs))]
        blocks: list[tuple[int, int, int, int]] = []
        left = right = 0
        for mine, new in pairs:
            if mine > left or new > right:
                if blocks and left - blocks[-1][1] <= _JOIN:
                    blocks[-1] = (blocks[-1][0], mine, blocks[-1][2], new)
                else:
                    blocks.append((left, mine, right, new))
            left, right = mine + 1, new + 1
        position = 0
        for left, left_end, right, right_end in blocks:
            self.put(yours[position:left])
            self._block(yours[left:left_end], theirs[right:right_end])
            position = left_end
        self.put(yours[position:])

    def _block(self, yours: Sequence[str], theirs: Sequence[str]) -> None:
        self._conflicts += 1
        self._lines += [YOURS + self._labels[0] + self._end, *self._closed(yours), MIDDLE + self._end]
        self._lines += [*self._closed(theirs), THEIRS + self._labels[1] + self._end]

    def _closed(self, lines: Sequence[str]) -> list[str]:
        """`lines`, the last one ended: a marker has a line of its own."""
        closed = list(lines)
        if closed and not closed[-1].endswith("\n"):
            closed[-1] += self._end
        return closed

    def merged(self) -> Merged:
        return Merged("".join(self._lines), self._conflicts)


def _hunks(old: Sequence[str], new: Sequence[str]) -> list[_Hunk]:
    found = []
    left = right = 0
    for a, b in [*matches(old, new), (len(old), len(new))]:
        if a > left or b > right:
            found.append(_Hunk(left, a, right, b))
        left, right = a + 1, b + 1
    return found


def _regions(yours: Sequence[_Hunk], theirs: Sequence[_Hunk]) -> Iterator[tuple[int, int, Pair, Pair]]:
    """Stretches of the base that a side changed, with their place in both; hunks that overlap or touch are one."""
    i = j = 0
    shift_yours = shift_theirs = 0  # from a line of the base to the line of the side, before the next hunk
    while i < len(yours) or j < len(theirs):
        starts = [hunks[k].base for hunks, k in ((yours, i), (theirs, j)) if k < len(hunks)]
        start = end = min(starts)
        before = (shift_yours, shift_theirs)
        grown = True
        while grown:
            grown = False
            while i < len(yours) and yours[i].base <= end:
                end, shift_yours, grown = max(end, yours[i].base_end), yours[i].side_end - yours[i].base_end, True
                i += 1
            while j < len(theirs) and theirs[j].base <= end:
                end, shift_theirs, grown = max(end, theirs[j].base_end), theirs[j].side_end - theirs[j].base_end, True
                j += 1
        yield (
            start,
            end,
            (start + before[0], end + shift_yours),
            (start + before[1], end + shift_theirs),
        )


def matches(old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """Pairs (line of old, line of new) of equal lines, ascending in both.

    Lines that are unique on both sides are matched first (patience), the stretches between them by Myers' search. A
    work list instead of recursion: no file is too long.
    """
    found: list[Pair] = []
    work = [(0, len(old), 0, len(new))]
    while work:
        a, a_end, b, b_end = work.pop()
        while a < a_end and b < b_end and old[a] == new[b]:
            found.append((a, b))
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and old[a_end - 1] == new[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            found.append((a_end, b_end))
        if a == a_end or b == b_end:
            continue
        anchors = _anchors(old, new, (a, a_end, b, b_end))
        if not anchors:
            found += [(a + x, b + y) for x, y in _myers(old[a:a_end], new[b:b_end])]
            continue
        for x, y in anchors:
            found.append((x, y))
            work.append((a, x, b, y))
            a, b = x + 1, y + 1
        work.append((a, a_end, b, b_end))
    return sorted(found)


def _anchors(old: Sequence[str], new: Sequence[str], part: tuple[int, int, int, int]) -> list[Pair]:
    """The longest ascending row of lines that are there exactly once on both sides."""
    a, a_end, b, b_end = part
    counts, others = Counter(old[a:a_end]), Counter(new[b:b_end])
    places = {new[y]: y for y in range(b, b_end) if others[new[y]] == 1}
    pairs = [(x, places[old[x]]) for x in range(a, a_end) if counts[old[x]] == 1 and old[x] in places]
    ends: list[int] = []  # ends[n]: the smallest last place of an ascending row of n + 1 pairs
    rows: list[int] = []  # the index in `pairs` that gives it
    previous: list[int] = []
    for index, (_, y) in enumerate(pairs):
        length = bisect_left(ends, y)
        previous.append(rows[length - 1] if length else -1)
        ends[length : length + 1] = [y]
        rows[length : length + 1] = [index]
    chain = []
    index = rows[-1] if rows else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _myers(old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """The longest common row of lines by Myers' greedy search; nothing when the two differ too much."""
    furthest = {1: 0}
    trail: list[dict[int, int]] = []
    limit = min(len(old) + len(new), _MAX_DIFFERENCES)
    for steps in range(limit + 1):
        trail.append(dict(furthest))
        for k in range(-steps, steps + 1, 2):
            down = k == -steps or (k != steps and furthest.get(k - 1, -1) < furthest.get(k + 1, -1))
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                x += 1
            furthest[k] = x
            if x >= len(old) and x - k >= len(new):
                return _walk_back(trail, len(old), len(new))
    return []


def _walk_back(trail: Sequence[dict[int, int]], x: int, y: int) -> list[Pair]:
    found = []
    for steps in range(len(trail) - 1, -1, -1):
        furthest, k = trail[steps], x - y
        down = k == -steps or (k != steps and furthest.get(k - 1, -1) < furthest.get(k + 1, -1))
        before = k + 1 if down else k - 1
        from_x = furthest.get(before, 0)
        from_y = from_x - before
        while x > max(from_x, 0) and y > max(from_y, 0):
            x, y = x - 1, y - 1
            found.append((x, y))
        x, y = from_x, from_y
    return found[::-1]
