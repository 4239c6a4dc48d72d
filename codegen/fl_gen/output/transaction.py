"""Several folders swapped as one: what a run notes before its first swap, and how the next one undoes it.

A swap of one folder is one step of the file system; several are not. So a run that swaps several writes a journal
beside them first and removes it after the last: that removal is the moment at which the new trees count. A journal that
is there when a run begins was left by one that was killed in between, and every folder that it swapped is swapped back.

A person may have worked in the meantime. What the undoing would lose of that is found by what the journal says of each
file that was written, and then nothing is undone until the person has moved it away.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fl_gen.output.disk import PublishError, remedy, remove, sync_file, sync_folder
from fl_gen.output.lock import locked
from fl_gen.output.plan import Signature, signature
from fl_gen.output.swap import OLD_SUFFIX, STAGE_SUFFIX, old_of, stage_of, swap_back
from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import shown

JOURNAL = ".fl-gen-journal"
_NEW = f"{JOURNAL}.new"
_FORMAT = 1
_MAX_BYTES = 64 << 20
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_LEFT = re.compile(rf"\.({_NAME.pattern})({re.escape(STAGE_SUFFIX)}|{re.escape(OLD_SUFFIX)})")


class UnsettledError(FlGenError):
    """A run was killed between two swaps, and nobody has undone it yet."""


@dataclass(frozen=True)
class Swap:
    """One folder of the journal. `made` is the number (inode) of the staged folder, which it keeps when it is swapped
    in; `had` says whether there was a folder before; `written` are the files that the run itself wrote."""

    target: Path
    made: int
    had: bool
    written: dict[str, Signature]

    @classmethod
    def of(cls, target: Path, written: Sequence[str]) -> Swap:
        """The swap of `target` that is about to be made; `written` are the paths in the staged folder."""
        stage = stage_of(target)
        files = {path: signature(stage / path) for path in sorted(written)}
        return cls(target, stage.lstat().st_ino, target.exists(), files)


def begin(swaps: Sequence[Swap]) -> None:
    """Write the journal: from now on the swaps are undone unless `commit` is reached. Raises OSError."""
    folder = swaps[0].target.parent
    entries = [
        {
            "name": one.target.name,
            "made": one.made,
            "had": one.had,
            "written": {k: list(v) for k, v in one.written.items()},
        }
        for one in swaps
    ]
    remove(folder / _NEW)
    with open(folder / _NEW, "x", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        json.dump({"format": _FORMAT, "folders": entries}, file, indent=0)
        file.write("\n")
    sync_file(folder / _NEW)
    os.replace(folder / _NEW, folder / JOURNAL)
    sync_folder(folder)


def commit(folder: Path) -> None:
    """The new trees count, or after `undo` the old ones. Raises OSError."""
    (folder / JOURNAL).unlink()
    sync_folder(folder)


def withdraw(folder: Path) -> None:
    """Remove the journal of a run that begins anew or gives up, if it came so far. Raises OSError."""
    remove(folder / _NEW)
    if os.path.lexists(folder / JOURNAL):
        commit(folder)


def undo(swaps: Sequence[Swap]) -> None:
    """Swap back every folder that was swapped; a second attempt goes on where the first was stopped. Raises OSError."""
    for one in swaps:
        _settle(one.target)
    for one in filter(_swapped, swaps):
        swap_back(one.target)
        sync_folder(one.target.parent)


@contextlib.contextmanager
def held(output: Path) -> Iterator[None]:
    """Hold the folder `output` against other runs (`locked`), with what killed ones left undone and removed.

    Raises PublishError, and UnsettledError when that would lose what a person wrote since.
    """
    with locked(output):
        recover(output)
        yield


def require_settled(output: Path) -> None:
    """Raises UnsettledError when the trees of `output` are partly those of a run that was killed. Changes nothing."""
    journal = output / "generated" / JOURNAL
    if not os.path.lexists(journal):
        return
    with locked(output):  # a run that is just at it is waited for
        if os.path.lexists(journal):
            raise UnsettledError(
                f"{shown(journal)}: a run was stopped while it put its trees in place: some are new, some are old\n"
                "  = run fl-gen regen or fl-gen backend, which put the old ones back before they begin"
            )


def recover(output: Path) -> None:
    """Undo and remove what a killed run left below `output`. The caller holds the lock.

    Raises PublishError, and UnsettledError when that would lose what a person wrote since.
    """
    generated = output / "generated"
    where = generated
    try:
        if os.path.lexists(generated / JOURNAL):
            swaps = _read(generated / JOURNAL)
            _require_unchanged(swaps)
            undo(swaps)
        withdraw(generated)
        for folder in (generated, output / "backends"):
            for name in _listing(folder):
                found = _LEFT.fullmatch(name)
                if found is None:
                    continue
                where = folder / name
                if found[2] == OLD_SUFFIX and not os.path.lexists(folder / found[1]):
                    os.rename(where, folder / found[1])  # killed between the two renames of a swap
                else:
                    remove(where)
    except OSError as error:
        raise PublishError(
            f"{error.filename or where}: what a stopped run left cannot be removed: {error.strerror or error}. "
            f"{remedy(error)}"
        ) from error


def _listing(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _require_unchanged(swaps: Sequence[Swap]) -> None:
    """Raises UnsettledError when `undo` would lose what a person wrote since."""
    lost = [path for one in swaps if _swapped(one) for path in _changed_since(one)]
    if lost:
        listed = "\n".join(f"  {shown(path)}" for path in lost)
        raise UnsettledError(
            f"a run was stopped while it put its trees in place, and what it wrote was changed since:\n{listed}\n"
            "  = move these files away: the old trees are put back first, and your change would go; "
            "then run again and bring it back"
        )


def _settle(target: Path) -> None:
    """Bring a swap by two renames to one side or the other of it."""
    old, stage = old_of(target), stage_of(target)
    if not old.is_dir() or old.is_symlink():
        return
    if not os.path.lexists(target):
        os.rename(old, target)
    elif not os.path.lexists(stage):
        os.rename(old, stage)


def _swapped(one: Swap) -> bool:
    """Whether the new folder is in place, and the old one, if there was one, where the new one was staged.

    In a copy of the tree no number is known. Nothing is swapped back there: whatever stands in its place holds all that
    a person had put into the other.
    """
    target = one.target
    return (
        os.path.lexists(target) and target.lstat().st_ino == one.made and os.path.lexists(stage_of(target)) == one.had
    )


def _changed_since(one: Swap) -> Iterator[Path]:
    """The files of a new folder that are neither as the run wrote them nor in the old folder too."""
    old = stage_of(one.target)
    for root, folders, names in os.walk(one.target):
        for name in sorted([*names, *(name for name in folders if (Path(root) / name).is_symlink())]):
            file = Path(root) / name
            path = file.relative_to(one.target).as_posix()
            if signature(file) != one.written.get(path) and not same_file(file, old / path):
                yield file


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths are one file, or one is the copy that staging made of the other."""
    if not os.path.lexists(other):
        return False
    left, right = one.lstat(), other.lstat()
    return (left.st_ino, left.st_dev) == (right.st_ino, right.st_dev) or (
        stat.S_IFMT(left.st_mode) == stat.S_IFMT(right.st_mode)
        and left.st_size == right.st_size
        and (stat.S_ISLNK(left.st_mode) or left.st_mtime_ns == right.st_mtime_ns)
    )


def _read(path: Path) -> list[Swap]:
    """The journal. Raises UnsettledError when somebody damaged it: it is written in one step."""
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
            raise ValueError("no file of fl-gen's")
        value = json.loads(path.read_bytes().decode("utf-8", "surrogateescape"))
        if value["format"] != _FORMAT:
            raise ValueError("another format")
        return [_swap_of(path.parent, entry) for entry in value["folders"]]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise UnsettledError(
            f"{shown(path)}: a run was stopped while it put its trees in place, and its journal is damaged\n"
            "  = remove the file, and run fl-gen regen, which makes all trees anew"
        ) from error


def _swap_of(folder: Path, entry: Any) -> Swap:
    name = entry["name"]
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ValueError("no name of a vendor")
    written = {str(path): (int(one[0]), int(one[1]), int(one[2])) for path, one in entry["written"].items()}
    return Swap(folder / name, int(entry["made"]), bool(entry["had"]), written)
