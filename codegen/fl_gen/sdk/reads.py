"""Which headers a parse read, by name and content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence

from .clang import Parsed
from .items import HeaderRead
from .shims import Shims
from .unit import MAIN_FILE


def headers_read(
    parsed: Parsed, headers: Sequence[str], folders: Sequence[str], memory: Mapping[str, str], shims: Shims
) -> tuple[HeaderRead, ...]:
    """Every file read, sorted by name; `sdk` tells the SDK's own from the compiler's and the system's."""
    found: dict[str, HeaderRead] = {}
    for path, _, _ in parsed.inclusions():
        if path == MAIN_FILE or path in found:
            continue
        name = include_name(path, folders) or include_name(path, shims.dirs) or os.path.basename(path)
        own = not shims.owns(path) or name in headers
        found[path] = HeaderRead(name, path, digest(path, memory, shims.files), own)
    return tuple(sorted(found.values(), key=lambda h: (h.name, h.path)))


def digest(path: str, *memory: Mapping[str, str]) -> str:
    """SHA-256 of a header, in memory or on disk; empty if it cannot be read any more."""
    for files in memory:
        if path in files:
            return hashlib.sha256(files[path].encode()).hexdigest()
    try:
        with open(path, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return ""


def include_name(path: str, folders: Sequence[str]) -> str | None:
    """How an #include spells `path`, by the longest folder of the include path that holds it."""
    best: str | None = None
    for folder in folders:
        prefix = folder.rstrip("/") + "/"
        if path.startswith(prefix) and (best is None or len(path) - len(prefix) < len(best)):
            best = path[len(prefix) :]
    return best
