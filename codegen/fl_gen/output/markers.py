"""Conflict markers that somebody left in a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from fl_gen.output.merge3 import THEIRS, YOURS
from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import shown

_LARGEST = 64 << 20  # bytes; no source file is larger


class MarkersError(FlGenError):
    """Conflict markers are left; `places` are `file:line`."""

    def __init__(self, places: Iterable[str]) -> None:
        self.places = tuple(places)
        super().__init__(
            "\n".join(f"{place}:1: a conflict marker is left" for place in self.places)
            + "\n  = resolve the conflict, delete its markers and run again; "
            "or regenerate with --overwrite, which drops your version"
        )


def marker_lines(data: bytes) -> list[int]:
    """The numbers, from 1, of the lines that open or close a conflict. `=======` alone may well be a heading."""
    if b"<<<<<<<" not in data and b">>>>>>>" not in data:
        return []
    signs = tuple(text.encode() for text in (YOURS, THEIRS))
    return [
        number
        for number, line in enumerate(data.split(b"\n"), 1)
        if line.startswith(signs) or line.rstrip(b"\r") in (b"<<<<<<<", b">>>>>>>")
    ]


def walk(folder: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """`os.walk`, which raises OSError for a folder that cannot be listed; one that is not there holds nothing."""

    def stop(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise error

    return os.walk(folder, onerror=stop)


def find_markers(folders: Iterable[Path]) -> list[str]:
    """`file:line` of every conflict marker in the regular files below `folders`; links are not followed.

    Raises OSError for what cannot be read: nobody knows what is in it.
    """
    found = []
    for folder in folders:
        for root, names, files in walk(folder):
            names.sort()
            for name in sorted(files):
                path = Path(root) / name
                if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
                    continue
                found += [f"{shown(path)}:{number}" for number in marker_lines(path.read_bytes())]
    return found
