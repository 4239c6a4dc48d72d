"""Put a plan on disk, all or nothing.

The whole vendor folder is staged beside its target (identical files hard-linked, files that fl-gen does not own
carried over) and swapped in by one `renameat2(RENAME_EXCHANGE)`. A run that is killed leaves the old tree or the new
one; a staging folder that it leaves behind is removed by the next run, under the same lock.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from fl_gen.output.base import record_files
from fl_gen.output.plan import Action, Plan, kind_of, signature
from fl_gen.schema.errors import FlGenError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_STAGE_SUFFIX = ".fl-gen-stage"
_LOCK_SECONDS = 60.0


class PublishError(FlGenError):
    """Writing failed; the tree is as it was."""


@contextlib.contextmanager
def locked(root: Path, seconds: float = _LOCK_SECONDS) -> Iterator[None]:
    """Hold `root` against other runs. The lock is on the folder itself, so it leaves no file and dies with the process.

    Raises PublishError when another run holds it for longer than `seconds`.
    """
    try:
        _make_folder(root)
        handle = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        where = error.filename or root
        raise PublishError(f"{where}: cannot be used: {error.strerror or error}. {_remedy(error)}") from error
    if sys.platform == "win32":
        yield
        return
    import fcntl

    try:
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise PublishError(f"{root}: cannot be locked: {error.strerror}") from error
            if time.monotonic() >= deadline:
                raise PublishError(
                    f"{root}: another fl-gen{_holder(handle)} has held this folder for {seconds:.0f} seconds: "
                    "wait for it, or stop it"
                )
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    """` (process N)` of the one that holds the lock of the open folder, as far as the system tells."""
    status = os.fstat(handle)
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with contextlib.suppress(OSError), open("/proc/locks", encoding="ascii", errors="replace") as locks:
        for line in locks:
            # 1: FLOCK  ADVISORY  WRITE 4242 fe:01:131 0 EOF; a waiting one has "->" in the second place
            parts = line.split()
            if len(parts) > 5 and parts[1] == "FLOCK" and parts[5] == place and int(parts[4]) > 0:
                return f" (process {parts[4]})"
    return ""


def publish(plan: Plan) -> None:
    """Make the disk what `plan` says. The caller holds the lock and has dealt with `plan.refused`.

    Does nothing, not even to a time stamp, when the plan changes nothing. Raises PublishError; nothing is half-written.
    """
    publish_all([plan])


def publish_all(plans: Sequence[Plan]) -> None:
    """`publish` for several folders, all or none: every new folder is on the disk before the first is swapped in, and
    when a swap fails, those before it are swapped back. A kill between two swaps leaves each folder old or new; the
    next run finishes. Raises PublishError.
    """
    swapped: list[Plan] = []
    where = plans[0].folder if plans else Path()
    try:
        for plan in plans:
            where = plan.folder
            _remove(_stage_of(where))
            if plan.changes:
                _make_folder(where.parent)
                _stage(plan, _stage_of(where))
        for plan in plans:
            _require_as_seen(plan)
        for plan in plans:
            where = plan.folder
            if plan.changes:
                _swap_in(where)
                swapped.append(plan)
                _sync_folder(where.parent)
        for plan in swapped:
            where = plan.folder
            _require_nothing_lost(plan, _stage_of(where))
    except BaseException as error:
        for plan in reversed(swapped):
            with contextlib.suppress(OSError):
                _swap_back(plan.folder)
        for plan in plans:
            with contextlib.suppress(OSError):
                _remove(_stage_of(plan.folder))
        if not isinstance(error, OSError):
            raise
        named = error.filename if error.filename is not None else where
        unchanged = where if len(plans) == 1 else where.parent
        raise PublishError(
            f"{named}: cannot be written: {error.strerror or error}\n  {unchanged} is unchanged. {_remedy(error)}"
        ) from error
    for plan in swapped:
        _discard(_stage_of(plan.folder))


def _require_as_seen(plan: Plan) -> None:
    """Raises PublishError when a file that is to go was changed since it was compared: that edit would be lost."""
    for path, seen in plan.seen.items():
        file = plan.folder / path
        if os.path.lexists(file) and signature(file) != seen:
            raise PublishError(f"{file}: was changed while fl-gen worked; nothing was written. Run again.")


def _require_nothing_lost(plan: Plan, old: Path) -> None:
    """Raises PublishError when the folder that was just swapped out, now at `old`, holds what staging has not seen:
    somebody saved a file in between, which would be removed with the folder."""
    for root, folders, names in os.walk(old):
        for name in [*names, *(name for name in folders if (Path(root) / name).is_symlink())]:
            file = Path(root) / name
            path = file.relative_to(old).as_posix()
            if (
                signature(file) != plan.seen.get(path)
                and not plan.is_record(path)
                and not _same(file, plan.folder / path)
            ):
                raise PublishError(
                    f"{plan.folder / path}: was changed while fl-gen worked; nothing was written. Run again."
                )


def _same(one: Path, other: Path) -> bool:
    """Whether two paths are one file, or one is what `_carry` made of the other."""
    if not os.path.lexists(other):
        return False
    left, right = one.lstat(), other.lstat()
    return (left.st_ino, left.st_dev) == (right.st_ino, right.st_dev) or (
        stat.S_IFMT(left.st_mode) == stat.S_IFMT(right.st_mode)
        and left.st_size == right.st_size
        and (stat.S_ISLNK(left.st_mode) or left.st_mtime_ns == right.st_mtime_ns)
    )


def _stage_of(target: Path) -> Path:
    """Where the new folder is made: beside the old one, so that both are on one file system."""
    return target.with_name(f".{target.name}{_STAGE_SUFFIX}")


def _swap_in(target: Path) -> None:
    """Put the staged folder in its place; the old one, if there is one, is where the staged one was."""
    if target.exists():
        _exchange(_stage_of(target), target)
    else:
        os.rename(_stage_of(target), target)


def _swap_back(target: Path) -> None:
    if _stage_of(target).exists():
        _exchange(_stage_of(target), target)
    else:
        os.rename(target, _stage_of(target))


def _discard(stage: Path) -> None:
    """Remove an old folder after the new one is in its place. Raises PublishError."""
    try:
        _remove(stage)
    except OSError as error:
        raise PublishError(
            f"{error.filename or stage}: the old folder cannot be removed: {error.strerror or error}\n"
            f"  the new one is in its place. {_remedy(error)}"
        ) from error


def create_once(folder: Path, files: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Create each of `files` (relative path -> text) in `folder` unless something is there. Returns (created, kept).

    These files belong to people: what exists is never opened for writing. Raises PublishError.
    """
    with staged_once(folder, files) as place:
        return place()


@contextlib.contextmanager
def staged_once(folder: Path, files: Mapping[str, str]) -> Iterator[Callable[[], tuple[list[str], list[str]]]]:
    """`create_once` in two steps: the texts are on disk when the block begins, and the yielded function puts them in
    their places. So a full disk or a file in the way is met before anything else is published.

    Everything waits in one folder beside `folder`; what a killed run left there is removed. Raises PublishError.
    """
    stage = folder.with_name(f".{folder.name}{_STAGE_SUFFIX}")
    parent_is_new = not os.path.lexists(folder.parent)
    try:
        missing = {path: text for path, text in files.items() if not os.path.lexists(folder / path)}
        for parent in [folder, *(p for path in missing for p in (folder / path).parents if folder in p.parents)]:
            if os.path.lexists(parent) and not parent.is_dir():
                raise PublishError(f"{parent}: fl-gen needs a folder here and finds a {kind_of(parent)}: move it away")
            if missing and parent.is_dir() and not os.access(parent, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(parent))
        _remove(stage)
        for path, text in missing.items():
            _make_folder((stage / path).parent)
            _write(stage / path, text)
        _sync_files([stage / path for path in missing])
        yield lambda: _place(folder, stage, files)
    except OSError as error:
        raise PublishError(
            f"{error.filename or folder}: cannot be written: {error.strerror or error}. {_remedy(error)}"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            _remove(stage)
            if parent_is_new:
                folder.parent.rmdir()  # which fails, as it should, when something is in it


def _place(folder: Path, stage: Path, files: Mapping[str, str]) -> tuple[list[str], list[str]]:
    created, kept = [], []
    for path, text in sorted(files.items()):
        destination = folder / path
        if os.path.lexists(destination) or not os.path.lexists(stage / path):
            kept.append(path)
            continue
        _make_folder(destination.parent)
        try:
            os.link(stage / path, destination)  # fails if somebody was faster, unlike a rename
            created.append(path)
        except FileExistsError:
            kept.append(path)
        except OSError:  # another file system (a linked folder), or one without links
            replace_file(destination, text)
            created.append(path)
    return created, kept


def replace_file(path: Path, text: str) -> None:
    """Write one file in one step: readers see the old text or the new. Raises PublishError.

    A link stays and the file that it leads to is replaced; a device or a pipe is written to, as a shell does.
    """
    named = path
    try:
        if path.is_symlink():
            path = Path(os.path.realpath(path))
        kind = os.stat(path).st_mode if os.path.lexists(path) else stat.S_IFREG
        if stat.S_ISDIR(kind):
            raise PublishError(f"{named}: this is a folder\n  = name a file in it")
        if not stat.S_ISREG(kind):
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            return
        temporary = path.with_name(f".{path.name}.fl-gen-{os.getpid()}")
        _make_folder(path.parent)
        _remove_abandoned(path)
        try:
            _write(temporary, text)
            _sync_file(temporary)
            if path.exists():
                shutil.copymode(path, temporary)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        # The temporary file beside it is nothing that anybody named.
        raise PublishError(f"{named}: cannot be written: {error.strerror or error}. {_remedy(error)}") from error


def _remove_abandoned(path: Path) -> None:
    """Remove what killed runs left of `replace_file(path, ...)`: temporary files of processes that are no more."""
    prefix = f".{path.name}.fl-gen-"
    for name in os.listdir(path.parent):
        process = name.removeprefix(prefix)
        if name.startswith(prefix) and process.isdecimal() and not _alive(int(process)):
            with contextlib.suppress(OSError):
                path.with_name(name).unlink()


def _alive(process: int) -> bool:
    if process == os.getpid():
        return False  # the number came round: this process has written nothing yet
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _stage(plan: Plan, stage: Path) -> None:
    """Build the new folder at `stage`: files that stay are linked to the old ones, which keeps their time stamps."""
    target = plan.folder
    stage.mkdir()
    touched = {entry.path for entry in plan.entries if entry.action not in (Action.IDENTICAL, Action.KEPT)}
    records = record_files(plan.made, plan.bases) if plan.made else {}  # a vendor that goes leaves none
    if target.is_dir():
        for root, folders, names in os.walk(target):
            relative = Path(root).relative_to(target)
            links = [name for name in folders if (Path(root) / name).is_symlink()]
            for name in [*names, *links]:
                path = (relative / name).as_posix()
                if path in touched or plan.is_record(path):
                    continue
                _make_folder((stage / path).parent)
                _carry(Path(root) / name, stage / path)
            for name in folders:
                # Empty folders of a person stay; those that only held stale files go.
                if name not in links and not any((Path(root) / name).iterdir()):
                    _make_folder(stage / relative / name)
    texts = {path: plan.files[path] for path in touched if path in plan.files} | records
    for path, text in sorted(texts.items()):
        _make_folder((stage / path).parent)
        _write(stage / path, text)
    for path in plan.paths(Action.MERGED):
        shutil.copymode(target / path, stage / path)
    _sync_files([stage / path for path in sorted(texts)])
    if target.is_dir():
        shutil.copymode(target, stage)
    _sync_folder(stage)


def _carry(source: Path, destination: Path) -> None:
    if source.is_symlink():
        os.symlink(os.readlink(source), destination)
        return
    try:
        os.link(source, destination)
    except OSError:
        shutil.copy2(source, destination)


def _write(path: Path, text: str) -> None:
    # "x": a link or file that somebody put here is not followed, not truncated.
    # A merge may hold bytes of a person that are not UTF-8.
    with open(path, "x", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        file.write(text)
    if path.suffix in (".bash", ".sh"):
        mode = path.stat().st_mode
        path.chmod(mode | (mode & 0o444) >> 2)  # whoever may read it may run it


def _sync_files(paths: Sequence[Path]) -> None:
    """Wait until all of `paths` are on the disk: asked for together, they share the writes of the file system's log."""
    if not paths:
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=min(32, len(paths))) as pool:
        for _ in pool.map(_sync_file, paths):
            pass


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exchange(stage: Path, target: Path) -> None:
    """Swap the two folders in one step; where the system cannot, by two renames."""
    if _renameat2(stage, target):
        return
    old = target.with_name(f".{target.name}.fl-gen-old")
    _remove(old)
    os.rename(target, old)
    try:
        os.rename(stage, target)
    except OSError:
        os.rename(old, target)
        raise
    os.rename(old, stage)


def recover(target: Path) -> None:
    """Finish what a killed run left where the two-rename swap had to be used: bring the old folder back."""
    old = target.with_name(f".{target.name}.fl-gen-old")
    try:
        if old.is_dir() and not old.is_symlink() and not os.path.lexists(target):
            os.rename(old, target)
        else:
            _remove(old)
    except OSError as error:
        raise PublishError(f"{old}: cannot be removed: {error.strerror or error}. {_remedy(error)}") from error


def _renameat2(stage: Path, target: Path) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return False
    here = ctypes.c_int(_AT_FDCWD)
    result = function(here, os.fsencode(stage), here, os.fsencode(target), ctypes.c_uint(_RENAME_EXCHANGE))
    if result == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS):
        return False
    raise OSError(code, os.strerror(code), str(target))


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        kind = kind_of(path) if os.path.lexists(path) else "file in the way"
        raise PublishError(f"{path}: fl-gen needs a folder here and finds a {kind}: move it away") from error
    except NotADirectoryError as error:
        raise PublishError(f"{path}: a part of this path is a file: choose another output folder") from error


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif os.path.lexists(path):
        for folder, _, _ in os.walk(path):  # the copy of a folder that a person closed has to go as well
            if not os.access(folder, os.W_OK | os.X_OK):
                os.chmod(folder, 0o700)
        shutil.rmtree(path)


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Make room on the disk and run again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Make the folder writable, or choose another with --output."
    return "Mend that and run again."
