"""What tells one state of this machine from another: files, folders, libclang, fl-gen itself. Cheap to import."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import stat
from pathlib import Path


def default_folder() -> Path | None:
    """FL_GEN_CACHE_DIR, else the platform's cache folder for this user; None if there is none."""
    chosen = os.environ.get("FL_GEN_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser()
    try:
        import platformdirs

        return Path(platformdirs.user_cache_dir("fl-gen", appauthor=False))
    except (ImportError, OSError, RuntimeError):
        return None


def library_identity() -> str:
    """What tells one installed libclang from another, without loading it (that costs tens of milliseconds)."""
    spec = importlib.util.find_spec("clang")
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        native = os.path.join(place, "native")
        try:
            entries = [(e.name, e.stat().st_size, e.stat().st_mtime_ns) for e in os.scandir(native)]
        except OSError:
            continue
        return repr((native, sorted(entries)))
    return "none"


def code_identity(folder: str) -> str:
    """A digest over the Python files of a package, by size and time: an answer of another fl-gen does not count."""
    entries = []
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as scan:
            for entry in scan:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.name.endswith(".py"):
                    entries.append((entry.path, entry.stat().st_size, entry.stat().st_mtime_ns))
    return text_digest(repr(sorted(entries)))


def listing_digest(folder: str) -> str:
    """A digest of the names in a folder, and of what is a link: a new one can shadow a file that was read."""
    try:
        with os.scandir(folder) as scan:
            return text_digest("\0".join(sorted(f"{one.name}/@" if one.is_symlink() else one.name for one in scan)))
    except (OSError, ValueError):
        return "absent"


def file_digest(path: str) -> str:
    """SHA-256 of a file; empty if it cannot be read, or is no file: a pipe would be waited for."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return ""
        with open(path, "rb") as stream:
            return hashlib.sha256(stream.read()).hexdigest()
    except OSError:
        return ""


def text_digest(text: str) -> str:
    """SHA-256 of a text, also of one with lone surrogates."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
