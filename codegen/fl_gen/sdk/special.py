"""Finds what must never be opened as a header: reading a named pipe or an endless device would not come back."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from .items import SdkError

_DEPTH = 6
_ENTRIES = 50_000  # how many names are looked at in all; a folder of headers has some thousand
_KINDS = {
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def refuse_special_files(folders: Sequence[str]) -> None:
    """Raise SdkError for the first thing below `folders` that is neither a file nor a folder.

    Links to folders are not followed, for they may lead back; a link to a file is judged by what it leads to.
    """
    waiting = [(folder, 0) for folder in reversed(folders)]
    left = _ENTRIES
    while waiting and left > 0:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError:
            continue  # what cannot be listed is the business of whoever includes from it
        left -= len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEPTH:
                    waiting.append((entry.path, depth + 1))
            elif not entry.is_file(follow_symlinks=False):
                _refuse(entry.path)


def _refuse(path: str) -> None:
    try:
        kind = _KINDS.get(stat.S_IFMT(os.stat(path).st_mode))
    except OSError:
        return  # a link that leads nowhere, or back to itself: clang says so if it is included
    if kind is not None:
        raise SdkError(
            f"{path} is no file but a {kind}", "remove it from the SDK's include folder: reading it would not end"
        )
