"""Put arguments into a binding's C++ expression, so that generated code calls the SDK directly and reads that way."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TOKEN = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.'])*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<space>\s+)
      | (?P<other>->|::|.)""",
    re.VERBOSE | re.DOTALL,
)
# What can stand anywhere in an expression without parentheses: names, members, calls, literals, an address of those.
_SIMPLE = re.compile(r"&?[\w:.]+(?:->[\w.]+)*(?:\(.*\))?(?:->\w+(?:\(\))?|\.\w+(?:\(\))?)*", re.DOTALL)


def tokens(code: str) -> list[tuple[str, str]]:
    """`code` as (kind, text) pairs; every character belongs to exactly one of them."""
    return [(match.lastgroup or "other", match.group()) for match in _TOKEN.finditer(code)]


def identifiers(code: str) -> list[str]:
    """The free identifiers of `code` in order: not members, not qualified names' tails."""
    found: list[str] = []
    previous = ""
    for kind, text in tokens(code):
        if kind == "space":
            continue
        if kind == "word" and previous not in (".", "->", "::"):
            found.append(text)
        previous = text
    return found


def substitute(code: str, arguments: Mapping[str, str]) -> str:
    """Replace each free identifier of `code` that names an argument by that argument's text.

    Members (`x.ptr`), qualified names, strings and comments are left alone. An argument that is itself an
    expression gets parentheses unless it stands between `(` or `,` and `,` or `)`.
    """
    parts = tokens(code)
    out: list[str] = []
    for index, (kind, text) in enumerate(parts):
        if kind != "word" or text not in arguments or _neighbour(parts, index, -1) in (".", "->", "::"):
            out.append(text)
            continue
        value = arguments[text]
        delimited = _neighbour(parts, index, -1) in ("(", ",", "") and _neighbour(parts, index, 1) in (")", ",", "")
        out.append(value if delimited or _SIMPLE.fullmatch(value) else f"({value})")
    return "".join(out)


def _neighbour(parts: list[tuple[str, str]], index: int, step: int) -> str:
    index += step
    while 0 <= index < len(parts) and parts[index][0] == "space":
        index += step
    return parts[index][1] if 0 <= index < len(parts) else ""
