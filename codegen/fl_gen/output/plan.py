"""The plan: what a run would do to the disk. `backend`, `--dry-run` and `check` are views of it."""

from __future__ import annotations

import enum
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fl_gen.output.manifest import MANIFEST_NAME, Manifest, digest, digest_file, safe_relative
from fl_gen.schema.errors import FlGenError


class PlanError(FlGenError):
    """The output folder is in a state that fl-gen must not touch."""


class Action(enum.Enum):
    """What happens to one file."""

    CREATE = "create"
    UPDATE = "update"
    IDENTICAL = "identical"
    STALE = "stale"  # fl-gen wrote it, no template makes it any more: removed
    EDITED = "edited"  # fl-gen wrote it, a person changed it since, and the run would replace or remove it
    CONFLICT = "conflict"  # a file that fl-gen never wrote stands where one is to be made


@dataclass(frozen=True)
class Entry:
    """One file of the plan; `path` is relative to the vendor's folder."""

    action: Action
    path: str


@dataclass(frozen=True)
class Plan:
    """Every entry, sorted by path, and the text of each file to be there afterwards."""

    folder: Path
    entries: tuple[Entry, ...]
    files: Mapping[str, str]

    def paths(self, *actions: Action) -> list[str]:
        """The paths with one of `actions`."""
        return [entry.path for entry in self.entries if entry.action in actions]

    @property
    def refused(self) -> list[str]:
        """Files that only a person may decide about."""
        return self.paths(Action.EDITED, Action.CONFLICT)

    @property
    def changes(self) -> bool:
        """Whether publishing would change anything on disk."""
        return bool(self.paths(Action.CREATE, Action.UPDATE, Action.STALE, Action.EDITED, Action.CONFLICT))


def make_plan(folder: Path, files: Mapping[str, str], manifest: Manifest | None) -> Plan:
    """Compare `files` (path -> text, the manifest's own text included) with `folder` and what `manifest` recorded.

    Raises PlanError for a folder or file that is a symbolic link, or a path of the wrong kind.
    """
    for path in files:
        if not safe_relative(path):
            raise PlanError(f"{path!r}: a generated path must stay inside its folder")
    _refuse_links(folder, files)
    recorded = manifest.files if manifest is not None else {}
    entries = []
    for path, text in files.items():
        known = recorded[path].sha256 if path in recorded else None
        entries.append(Entry(_action(folder / path, path, text, known), path))
    for path, record in recorded.items():
        if path in files:
            continue
        on_disk = folder / path
        if not os.path.lexists(on_disk):
            continue
        if kind_of(on_disk) != "file":
            raise PlanError(f"{on_disk}: fl-gen wrote a file here, and now it is a {kind_of(on_disk)}: move it away")
        entries.append(Entry(Action.STALE if digest_file(on_disk) == record.sha256 else Action.EDITED, path))
    return Plan(folder, tuple(sorted(entries, key=lambda entry: entry.path)), dict(files))


def _action(on_disk: Path, path: str, text: str, recorded: str | None) -> Action:
    if not os.path.lexists(on_disk):
        return Action.CREATE
    kind = kind_of(on_disk)
    if kind != "file":
        raise PlanError(f"{on_disk}: fl-gen needs a file here and finds a {kind}: move it away")
    try:
        current = digest_file(on_disk)
    except OSError as error:
        raise PlanError(f"{on_disk}: cannot be read: {error.strerror or error}") from error
    if current == digest(text):
        return Action.IDENTICAL
    if path == MANIFEST_NAME:
        return Action.UPDATE
    if recorded is None:
        return Action.CONFLICT
    return Action.UPDATE if current == recorded else Action.EDITED


def kind_of(path: Path) -> str:
    """What is at `path`, in a word: file, folder, symbolic link or special file."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "symbolic link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "special file"


def _refuse_links(folder: Path, files: Mapping[str, str]) -> None:
    """No folder on the way may be a link: it could lead out of the tree."""
    seen: set[Path] = set()
    for path in (folder / name for name in files):
        for parent in [folder, *(p for p in path.parents if folder in p.parents)]:
            if parent in seen:
                continue
            seen.add(parent)
            if not os.path.lexists(parent):
                continue
            kind = kind_of(parent)
            if kind != "folder":
                raise PlanError(f"{parent}: fl-gen needs a folder here and finds a {kind}: move it away")
