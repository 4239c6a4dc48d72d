"""Spell portable type names (`$stream`) as the SDK's own."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PORTABLE = re.compile(r"\$([a-z_][a-z0-9_]*)")


def spell_types(text: str, types: Mapping[str, str]) -> str:
    """`text` with each `$name` replaced by the SDK's type. KeyError for an unknown name, which the schema excludes."""
    return _PORTABLE.sub(lambda match: types[match.group(1)], text)


def portable_types(text: str) -> list[str]:
    """The portable types that `text` mentions, in order."""
    return _PORTABLE.findall(text)
