"""The plan: what a run would do to the disk. `backend`, `--dry-run` and `check` are views of it."""

from __future__ import annotations

import enum
import errno
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fl_gen.output.base import BASES, IGNORE, WRITTEN
from fl_gen.output.manifest import MANIFEST_NAME, RECORD_FOLDER, Manifest, digest, digest_file, safe_relative
from fl_gen.output.policy import Policy
from fl_gen.schema.errors import FlGenError

Signature = tuple[int, int, int]


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
    KEPT = "kept"  # a person's version that stays: they decided so, and fl-gen has nothing new to say, or --keep
    MERGED = "merged"  # --merge: a person's version, with fl-gen's changes brought in


@dataclass(frozen=True)
class Entry:
    """One file of the plan; `path` is relative to the vendor's folder."""

    action: Action
    path: str


@dataclass(frozen=True)
class Plan:
    """Every entry, sorted by path, and the text of each file to be there afterwards.

    `conflicts` counts, per file, the places that a person has to resolve after a merge. `made` are fl-gen's own texts,
    where `files` has those of merges, and `bases` the texts that files with a decision descend from: both go into the
    records for later merges. `bases_before` are the files that had one. `seen` is what the files that are to be
    replaced or removed looked like when they were compared: publishing makes sure that nobody changed them since.
    """

    folder: Path
    entries: tuple[Entry, ...]
    files: Mapping[str, str]
    conflicts: Mapping[str, int] = field(default_factory=dict)
    made: Mapping[str, str] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    bases_before: frozenset[str] = frozenset()
    seen: Mapping[str, Signature] = field(default_factory=dict)

    def paths(self, *actions: Action) -> list[str]:
        """The paths with one of `actions`."""
        return [entry.path for entry in self.entries if entry.action in actions]

    def is_record(self, path: str) -> bool:
        """Whether a run makes `path` anew beside the generated files, for later merges."""
        if not path.startswith(f"{RECORD_FOLDER}/"):
            return False
        base = path.removeprefix(f"{BASES}/")
        return path in (WRITTEN, IGNORE) or (base != path and (base in self.bases or base in self.bases_before))

    @property
    def refused(self) -> list[str]:
        """Files that only a person may decide about."""
        return self.paths(Action.EDITED, Action.CONFLICT)

    @property
    def changes(self) -> bool:
        """Whether publishing would change anything on disk."""
        return any(entry.action not in (Action.IDENTICAL, Action.KEPT) for entry in self.entries)


def make_plan(
    folder: Path, files: Mapping[str, str], manifest: Manifest | None, policy: Policy = Policy.REFUSE
) -> Plan:
    """Compare `files` (path -> text, the manifest's own text included) with `folder` and what `manifest` recorded.

    `policy` decides about hand edits; with REFUSE and OVERWRITE they stay in `refused`, for the caller to stop or to go
    on. Raises PlanError for a folder or file that is a symbolic link, a path of the wrong kind or a file that cannot be
    merged, MarkersError for a hand edit with conflict markers that the run would not drop.
    """
    from fl_gen.output.decide import decide  # which speaks of actions, so it imports this module

    for path in files:
        if not safe_relative(path) or path.split("/")[0] == RECORD_FOLDER:
            raise PlanError(f"{path!r}: a generated path must stay inside its folder")
        if not path.isprintable():
            raise PlanError(
                f"{path!r}: a generated path must hold nothing but what can be printed\n  = rename its template"
            )
    _refuse_links(folder, [*files, f"{BASES}/x"])
    _refuse_other_records(folder, [WRITTEN, IGNORE])
    recorded = manifest.files if manifest is not None else {}
    actions: dict[str, Action] = {}
    seen: dict[str, Signature] = {}
    for path, text in files.items():
        on_disk = folder / path
        if os.path.lexists(on_disk):
            seen[path] = signature(on_disk)
        record = recorded.get(path)
        own = {record.sha256, record.edit.base if record.edit else None} if record is not None else set()
        actions[path] = _action(on_disk, path, digest(text), own)
        decided = record is not None and record.edit is not None and record.sha256 == digest(text)
        if actions[path] is Action.EDITED and decided and policy is not Policy.OVERWRITE:
            actions[path] = Action.KEPT
    for path, record in recorded.items():
        if path in files or not os.path.lexists(folder / path):
            continue
        on_disk = folder / path
        if kind_of(on_disk) != "file":
            raise PlanError(f"{on_disk}: fl-gen wrote a file here, and now it is a {kind_of(on_disk)}: move it away")
        seen[path] = signature(on_disk)
        own = {record.sha256, record.edit.base if record.edit else None}
        actions[path] = Action.STALE if digest_file(on_disk) in own else Action.EDITED
    result = decide(folder, files, manifest, policy, actions)
    bases = [f"{BASES}/{path}" for path in result.bases]
    _refuse_links(folder, bases)
    _refuse_other_records(folder, bases)
    touched = {path for path, action in result.actions.items() if action not in (Action.IDENTICAL, Action.KEPT)}
    return Plan(
        folder,
        tuple(Entry(action, path) for path, action in sorted(result.actions.items())),
        result.files,
        result.conflicts,
        {path: text for path, text in files.items() if path != MANIFEST_NAME},
        result.bases,
        frozenset(path for path, record in recorded.items() if record.edit is not None),
        {path: value for path, value in seen.items() if path in touched},
    )


def _action(on_disk: Path, path: str, wanted: str, own: set[str | None]) -> Action:
    """`own` are the digests of texts that fl-gen itself wrote there: replacing one of these loses nothing."""
    if not os.path.lexists(on_disk):
        return Action.CREATE
    kind = kind_of(on_disk)
    if kind != "file":
        raise PlanError(f"{on_disk}: fl-gen needs a file here and finds a {kind}: move it away")
    try:
        current = digest_file(on_disk)
    except OSError as error:
        raise PlanError(f"{on_disk}: cannot be read: {error.strerror or error}\n  = allow it and run again") from error
    if current == wanted:
        return Action.IDENTICAL
    if path == MANIFEST_NAME or current in own:
        return Action.UPDATE
    return Action.EDITED if own else Action.CONFLICT


def signature(path: Path) -> Signature:
    """What changes when a file is written or replaced: its number, its time stamp and its size."""
    status = path.lstat()
    return (status.st_ino, status.st_mtime_ns, status.st_size)


def kind_of(path: Path) -> str:
    """What is at `path`, in a word: file, folder, symbolic link or special file."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return "symbolic link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "file" if stat.S_ISREG(mode) else "special file"


def _refuse_links(folder: Path, files: Sequence[str]) -> None:
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
            if not os.access(parent, os.R_OK | os.X_OK):  # what is in it would pass for missing
                raise PlanError(f"{parent}: cannot be read: {os.strerror(errno.EACCES)}\n  = allow it and run again")


def _refuse_other_records(folder: Path, files: Sequence[str]) -> None:
    """Where a run writes its records there may be a file of an earlier run, and nothing else."""
    for on_disk in (folder / name for name in files):
        if os.path.lexists(on_disk) and kind_of(on_disk) != "file":
            raise PlanError(f"{on_disk}: fl-gen needs a file here and finds a {kind_of(on_disk)}: move it away")
