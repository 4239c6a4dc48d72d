"""Which SDK declarations the items of a probe use: functions, types, constants and macros, with header and line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from . import lex
from .items import HeaderRead, ProbeItem, Use
from .names import Names
from .reads import include_name
from .tree import WORDS

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)


def uses_of(
    items: Iterable[ProbeItem],
    names: Names,
    read: Sequence[HeaderRead],
    folders: Sequence[str],
    memory: Mapping[str, str],
) -> dict[str, tuple[Use, ...]]:
    """By item id, the SDK's declarations that it uses, in the order of its text, those of other headers left out.

    The compiler has accepted these items, and an SDK's names are global: a name means what the headers declare by it.
    """
    headers = [header for header in read if header.sdk]
    own = {header.path for header in headers}
    macros: dict[str, Use] | None = None
    known: dict[str, Use | None] = {}
    result: dict[str, tuple[Use, ...]] = {}
    for item in items:
        uses: dict[Use, None] = {}
        params = {name for _, name in item.params}
        for token in lex.tokens(item.code):
            name = token.text
            if token.kind != "name" or name in WORDS or name in params:
                continue
            if name not in known:
                place = names.place(name)
                if place is None:
                    macros = _macros(headers, memory) if macros is None else macros
                    known[name] = macros.get(name)
                else:
                    file, line = place
                    spelled = include_name(file, folders) or os.path.basename(file)
                    function = names.function(name) if file in own else None
                    signature = function.signature if function is not None else ""
                    known[name] = Use(name, spelled, line, signature) if file in own else None
            use = known[name]
            if use is not None:
                uses[use] = None
        result[item.id] = tuple(uses)
    return result


def _macros(headers: Sequence[HeaderRead], memory: Mapping[str, str]) -> dict[str, Use]:
    """Where each macro is defined first. The tree does not hold macros, and recording them would slow every parse."""
    found: dict[str, Use] = {}
    for header in headers:
        text = memory.get(header.path)
        if text is None:
            try:
                with open(header.path, encoding="utf-8", errors="replace") as stream:
                    text = stream.read()
            except OSError:
                continue
        line, counted = 1, 0
        for match in _DEFINE.finditer(text):
            line += text.count("\n", counted, match.start(1))
            counted = match.start(1)
            found.setdefault(match.group(1), Use(match.group(1), header.name, line, macro=True))
    return found
