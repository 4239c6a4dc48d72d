"""From a formatted text back to the text that a formatter was given.

clang-format moves blanks and line ends, begins a broken comment line with `//` and a broken string with `"`, sorts
`#include` lines, and may add braces. So lines that include are found by their text, and of the rest the characters that
are none of blank, `/` and `"` are the same on both sides; where they are not, tokens are compared.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

_IGNORED = frozenset(' \t\n\r\f\v/"')
_INCLUDE = re.compile(r"[ \t]*#[ \t]*include\b.*")
_TOKEN = re.compile(r"\w+|[^\w\s/\"]")
_MANY = 20_000  # tokens, beyond which tokens that stand everywhere are not compared one by one


def align(before: str, after: str) -> list[int | None]:
    """For each character of `after` the offset in `before` of the character that it was; None for blanks and for what
    the formatter put in."""
    result: list[int | None] = [None] * len(after)
    includes: dict[str, list[tuple[int, int]]] = {}
    old: list[int] = []
    for start, line in _lines(before):
        if _INCLUDE.match(line):
            includes.setdefault("".join(line.split()), []).append((start, len(line)))
        else:
            old += [start + index for index, letter in enumerate(line) if letter not in _IGNORED]
    new: list[int] = []
    for start, line in _lines(after):
        places = includes.get("".join(line.split())) if _INCLUDE.match(line) else None
        if places:
            place, length = places.pop(0) if len(places) > 1 else places[0]
            source = [place + index for index, letter in enumerate(before[place : place + length]) if letter.strip()]
            target = [start + index for index, letter in enumerate(line) if letter.strip()]
            for one, other in zip(target, source, strict=True):
                result[one] = other
        else:
            new += [start + index for index, letter in enumerate(line) if letter not in _IGNORED]
    _match(before, after, old, new, result)
    return result


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1


def _match(before: str, after: str, old: list[int], new: list[int], result: list[int | None]) -> None:
    """Pairs the characters at the offsets `old` and `new`: what is equal from both ends, then tokens in between."""
    first = 0
    shorter = min(len(old), len(new))
    while first < shorter and before[old[first]] == after[new[first]]:
        result[new[first]] = old[first]
        first += 1
    last = 0
    while last < shorter - first and before[old[-1 - last]] == after[new[-1 - last]]:
        result[new[-1 - last]] = old[-1 - last]
        last += 1
    old, new = old[first : len(old) - last], new[first : len(new) - last]
    if not old or not new:
        return
    ours, theirs = _tokens(before, old), _tokens(after, new)
    matcher = difflib.SequenceMatcher(
        None, [token for _, token in ours], [token for _, token in theirs], len(ours) > _MANY
    )
    for block in matcher.get_matching_blocks():
        for index in range(block.size):
            (place, token), (other, _) = ours[block.a + index], theirs[block.b + index]
            for offset in range(len(token)):
                result[other + offset] = place + offset


def _tokens(text: str, offsets: list[int]) -> list[tuple[int, str]]:
    """The tokens of `text` whose first character is among `offsets`."""
    wanted = set(offsets)
    start, stop = offsets[0], offsets[-1] + 1
    found = ((start + token.start(), token.group()) for token in _TOKEN.finditer(text[start:stop]))
    return [(place, token) for place, token in found if place in wanted]
