"""Single steps on the disk: files that appear whole, folders made and removed, and what to say when that fails."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from fl_gen.output.plan import kind_of
from fl_gen.schema.errors import FlGenError


class PublishError(FlGenError):
    """Writing failed; the tree is as it was."""


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
        make_folder(path.parent)
        _remove_abandoned(path)
        try:
            write_new(temporary, text)
            sync_file(temporary)
            if path.exists():
                shutil.copymode(path, temporary)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        # The temporary file beside it is nothing that anybody named.
        raise PublishError(f"{named}: cannot be written: {error.strerror or error}. {remedy(error)}") from error


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


def write_new(path: Path, text: str) -> None:
    # "x": a link or file that somebody put here is not followed, not truncated.
    # A merge may hold bytes of a person that are not UTF-8.
    with open(path, "x", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
        file.write(text)
    if path.suffix in (".bash", ".sh"):
        mode = path.stat().st_mode
        path.chmod(mode | (mode & 0o444) >> 2)  # whoever may read it may run it


def sync_files(paths: Sequence[Path]) -> None:
    """Wait until all of `paths` are on the disk: asked for together, they share the writes of the file system's log."""
    if not paths:
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=min(32, len(paths))) as pool:
        for _ in pool.map(sync_file, paths):
            pass


def sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        kind = kind_of(path) if os.path.lexists(path) else "file in the way"
        raise PublishError(f"{path}: fl-gen needs a folder here and finds a {kind}: move it away") from error
    except NotADirectoryError as error:
        raise PublishError(f"{path}: a part of this path is a file: choose another output folder") from error


def remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif os.path.lexists(path):
        for folder, _, _ in os.walk(path):  # the copy of a folder that a person closed has to go as well
            if not os.access(folder, os.W_OK | os.X_OK):
                os.chmod(folder, 0o700)
        shutil.rmtree(path)


def remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Make room on the disk and run again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "Make the folder writable, or choose another with --output."
    return "Mend that and run again."
