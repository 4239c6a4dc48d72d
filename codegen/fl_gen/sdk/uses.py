"""Which SDK declarations the items of a probe use: functions, types, constants and macros, with header and line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from .attribute import Round
from .items import HeaderRead, Use
from .reads import include_name

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)


def uses_of(
    last: Round, read: Sequence[HeaderRead], folders: Sequence[str], memory: Mapping[str, str]
) -> dict[str, tuple[Use, ...]]:
    """By item id, the SDK's declarations that it uses, in the order of its text, those of other headers left out."""
    own = {header.path for header in read if header.sdk}
    macros: dict[str, Use] | None = None
    result: dict[str, tuple[Use, ...]] = {}
    for id_, found in last.tree.uses(span.item for span in last.unit.spans).items():
        uses = []
        for use in found:
            if isinstance(use, str):
                if macros is None:
                    macros = _macros([header for header in read if header.sdk], memory)
                if use in macros:
                    uses.append(macros[use])
            elif use[1] in own:
                name, path, line = use
                uses.append(Use(name, include_name(path, folders) or os.path.basename(path), line))
        result[id_] = tuple(uses)
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
        for match in _DEFINE.finditer(text):
            line = text.count("\n", 0, match.start(1)) + 1
            found.setdefault(match.group(1), Use(match.group(1), header.name, line))
    return found
