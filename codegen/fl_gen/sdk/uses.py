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

# A macro, and the name that it stands for if that is all of its text.
_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_][A-Za-z0-9_]*)(?:[ \t]+([A-Za-z_][A-Za-z0-9_]*)[ \t]*(?=\r?$|/[/*]))?",
    re.MULTILINE,
)
_MOST_STEPS = 8  # from a macro to the function that it stands for in the end


def uses_of(
    items: Iterable[ProbeItem],
    names: Names,
    read: Sequence[HeaderRead],
    folders: Sequence[str],
    memory: Mapping[str, str],
) -> dict[str, tuple[Use, ...]]:
    """By item id, the SDK's declarations that it uses, in the order of its text, those of other headers left out.

    The compiler has accepted these items, and an SDK's names are global: a name means what the headers declare by it.
    Behind a macro that stands for a function (cudaGetDeviceProperties for ..._v2) comes the function.
    """
    headers = [header for header in read if header.sdk]
    own = {header.path for header in headers}
    macros: dict[str, tuple[Use, str]] | None = None
    known: dict[str, tuple[Use, ...]] = {}
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
                if place is not None:
                    known[name] = _declared(name, place, names, own, folders)
                else:
                    macros = _macros(headers, memory) if macros is None else macros
                    known[name] = _macro(name, macros, names, own, folders)
            uses.update(dict.fromkeys(known[name]))
        result[item.id] = tuple(uses)
    return result


def _declared(
    name: str, place: tuple[str, int], names: Names, own: set[str], folders: Sequence[str]
) -> tuple[Use, ...]:
    """The declaration of a name, if it is one of the SDK."""
    file, line = place
    if file not in own:
        return ()
    function = names.function(name)
    signature = function.signature if function is not None else ""
    return (Use(name, include_name(file, folders) or os.path.basename(file), line, signature),)


def _macro(
    name: str, macros: Mapping[str, tuple[Use, str]], names: Names, own: set[str], folders: Sequence[str]
) -> tuple[Use, ...]:
    """A macro, with the function that it stands for."""
    if name not in macros:
        return ()
    use, target = macros[name]
    for _ in range(_MOST_STEPS):
        place = names.place(target) if target else None
        if place is not None:
            return (use, *(one for one in _declared(target, place, names, own, folders) if one.signature))
        target = macros[target][1] if target in macros else ""
    return (use,)


def _macros(headers: Sequence[HeaderRead], memory: Mapping[str, str]) -> dict[str, tuple[Use, str]]:
    """Where each macro is defined first, and the name that it stands for there, or "". The tree does not hold macros,
    and recording them would slow every parse."""
    found: dict[str, tuple[Use, str]] = {}
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
            name, target = match.group(1), match.group(2) or ""
            found.setdefault(name, (Use(name, header.name, line, macro=True), target))
    return found
