"""Putting a staged folder in the place of another: `renameat2(RENAME_EXCHANGE)`, elsewhere two renames."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

from fl_gen.output.disk import remove

STAGE_SUFFIX = ".fl-gen-stage"
OLD_SUFFIX = ".fl-gen-old"
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def stage_of(target: Path) -> Path:
    """Where the new folder is made: beside the old one, so that both are on one file system."""
    return target.with_name(f".{target.name}{STAGE_SUFFIX}")


def old_of(target: Path) -> Path:
    """Where the old folder is for a moment when the two cannot be exchanged in one step."""
    return target.with_name(f".{target.name}{OLD_SUFFIX}")


def swap_in(target: Path) -> None:
    """Put the staged folder in its place; the old one, if there is one, is where the staged one was."""
    if target.exists():
        exchange(stage_of(target), target)
    else:
        os.rename(stage_of(target), target)


def swap_back(target: Path) -> None:
    if stage_of(target).exists():
        exchange(stage_of(target), target)
    else:
        os.rename(target, stage_of(target))


def exchange(stage: Path, target: Path) -> None:
    """Swap the two folders in one step; where the system cannot, by two renames."""
    if _renameat2(stage, target):
        return
    old = old_of(target)
    remove(old)
    os.rename(target, old)
    try:
        os.rename(stage, target)
    except OSError:
        os.rename(old, target)
        raise
    os.rename(old, stage)


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
