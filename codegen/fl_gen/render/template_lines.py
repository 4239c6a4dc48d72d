"""Which line of a template a rendered line came from, by the text that both have in common."""

from __future__ import annotations

import re

_TAG = re.compile(r"\{[{%#].*?[}%#]\}")
_BLANKS = re.compile(r"\s+")
_LEAST = 6  # characters of literal text: fewer say nothing


def find_line(template: str, rendered: str) -> int | None:
    """The number of the template line whose literal text makes up most of `rendered`; None if none or several do.

    Blanks do not count, since formatting moves them, and a formatter may have broken the line or joined it with others.
    """
    wanted = _BLANKS.sub("", rendered)
    best: tuple[int, int] | None = None
    unique = True
    for number, line in enumerate(template.split("\n"), start=1):
        score = _common(line, wanted)
        if score < _LEAST:
            continue
        if best is None or score > best[0]:
            best, unique = (score, number), True
        elif score == best[0]:
            unique = False
    return best[1] if best is not None and unique else None


def _common(line: str, wanted: str) -> int:
    """How many literal characters of a template line stand in `wanted`, in order; 0 if they do not all."""
    parts = [_BLANKS.sub("", part) for part in _TAG.split(line)]
    literal = "".join(parts)
    if literal and wanted and len(parts) == 1 and wanted in literal:
        return len(wanted)
    at = 0
    for part in parts:
        found = wanted.find(part, at)
        if found < 0:
            return 0
        at = found + len(part)
    return len(literal)
