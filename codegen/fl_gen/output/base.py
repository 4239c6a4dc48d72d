"""The recorded base: what fl-gen wrote before a person changed it.

A three-way merge needs the text that a person's version descends from. It is kept in `.fl-gen/` in the vendor's folder,
which is published together with the tree:

- `written.json` holds the text of every file of the last run. Nobody knows which one will be edited, so all are there.
  A `.gitignore` beside it keeps it, and itself, out of version control, where it would double every diff.
- `base/<path>` holds, as it was, the base of each file with a decision in the manifest (`--keep`, `--merge`). These are
  few and are meant to be committed: they are on no other place of the history.

In a clone `written.json` is absent. There the base of a fresh edit is searched in git's history of the file. Whatever
the place, a text counts only if its digest is the one in the manifest, so a wrong base cannot be taken; where none is
found, `--merge` puts every difference between markers.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from fl_gen.output.manifest import RECORD_FOLDER, digest

IGNORE = f"{RECORD_FOLDER}/.gitignore"
WRITTEN = f"{RECORD_FOLDER}/written.json"
BASES = f"{RECORD_FOLDER}/base"
_IGNORED = "# Made by fl-gen: a copy of what it wrote last, for fl-gen --merge.\n/.gitignore\n/written.json\n"
_GIT_SECONDS = 20
_REVISIONS = 500  # of one file; an older base is not searched


def record_files(files: Mapping[str, str], bases: Mapping[str, str]) -> dict[str, str]:
    """What `.fl-gen/` holds after a run that wrote `files`, as path -> text; `bases` are those of decided edits."""
    written = json.dumps(dict(files), indent=0, sort_keys=True) + "\n"
    kept = {f"{BASES}/{path}": text for path, text in bases.items()}
    return {IGNORE: _IGNORED, WRITTEN: written, **kept}


class Bases:
    """Finds texts that fl-gen once wrote into `folder`, by path and digest."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: dict[str, str] | None = None

    def find(self, path: str, wanted: str) -> str | None:
        """The text with the digest `wanted` that fl-gen wrote for `path`, None if no record has it."""
        for text in self._candidates(path):
            if digest(text) == wanted:
                return text.replace("\r\n", "\n")
        return None

    def _candidates(self, path: str) -> Iterator[str]:
        yield from _read(self._folder / BASES / path)
        if self._written is None:
            self._written = _load_written(self._folder / WRITTEN)
        if path in self._written:
            yield self._written[path]
        yield from _history(self._folder, path)
        yield from _history(self._folder, f"{BASES}/{path}")


def _read(path: Path) -> Iterator[str]:
    try:
        if path.is_file() and not path.is_symlink():
            yield path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return


def _load_written(path: Path) -> dict[str, str]:
    """The record, or nothing if it is not there or damaged: what it says is checked by digest anyway."""
    for text in _read(path):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return {}
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if isinstance(item, str) and _writable(item)}
    return {}


def _writable(text: str) -> bool:
    """Whether a file can hold the text: JSON can name characters that no file can."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _history(folder: Path, path: str) -> Iterator[str]:
    """Earlier texts of a file in git's history, newest first; nothing without git or outside of a repository."""
    listing = _git(
        folder, "log", "--format=", "--raw", "--no-abbrev", "--no-renames", f"-n{_REVISIONS}", "--", f"./{path}"
    )
    seen: set[str] = set()
    for line in listing.decode("utf-8", "replace").splitlines():
        # :100644 100644 <blob before> <blob after> M<TAB>path
        parts = line.split()
        for blob in (parts[3], parts[2]) if line.startswith(":") and len(parts) > 4 else ():
            if blob not in seen and blob.strip("0"):
                seen.add(blob)
                yield _git(folder, "cat-file", "blob", blob).decode("utf-8", "surrogateescape")


def _git(folder: Path, *arguments: str) -> bytes:
    # A hook's GIT_DIR and GIT_INDEX_FILE would name another repository than the folder's.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    command = ["git", "--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-C", os.fspath(folder)]
    try:
        result = subprocess.run(
            [*command, *arguments],
            env={**inherited, "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_GIT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return result.stdout if result.returncode == 0 else b""
