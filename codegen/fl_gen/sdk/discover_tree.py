"""The folders and header files below a root, whatever tree that is: bounded, and each real folder once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_INCLUDE_NAMES = ("include", "inc", "includes")
_INTERNAL = re.compile(r"_.*|(?:.*_)?(?:details?|impl|internal|private)", re.IGNORECASE)  # folders
_SUFFIXES = (".h", ".hh", ".hpp", ".hxx")
_FOLDER_DEPTH = 6  # levels below a root at which an include folder is looked for
_HEADER_DEPTH = 2  # folders below an include folder in which main headers are looked for
_MOST_ENTRIES = 40_000  # names of files and folders looked at


@dataclass(frozen=True)
class Skipped:
    """A header or folder that was left out, as an #include spells it or by its path, and why."""

    name: str
    reason: str


@dataclass
class Scan:
    """Walks folders breadth first, each real folder once, so that links that lead in circles end."""

    include_dirs: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    entries: int = 0

    def folders(self, root: str) -> None:
        """Collect the include folders below `root`; one inside another is the outer one's own affair."""
        seen: set[tuple[int, int]] = set()
        known = set(map(os.path.realpath, self.include_dirs))
        waiting = [(root, 0)]
        while waiting:
            folder, depth = waiting.pop(0)
            if not self._first(folder, seen):
                continue
            if os.path.basename(folder).lower() in _INCLUDE_NAMES:
                real = os.path.realpath(folder)
                if real not in known:
                    known.add(real)
                    self.include_dirs.append(folder)
                continue
            if depth < _FOLDER_DEPTH:
                waiting += [(path, depth + 1) for path, is_folder in self._entries(folder) if is_folder]

    def headers(self, folder: str) -> Iterable[tuple[str, str]]:
        """(name as included, path) of each header of an include folder, the outer ones first."""
        seen: set[tuple[int, int]] = set()
        waiting = [("", folder, 0)]
        while waiting:
            prefix, place, depth = waiting.pop(0)
            if not self._first(place, seen):
                continue
            for path, is_folder in self._entries(place):
                name = prefix + os.path.basename(path)
                internal = _INTERNAL.fullmatch(os.path.basename(path))
                if is_folder and depth < _HEADER_DEPTH and internal is None:
                    waiting.append((f"{name}/", path, depth + 1))
                if not name.endswith(_SUFFIXES):
                    continue
                reason = self._unfit(name, path, is_folder)
                if reason is None:
                    yield name, path
                else:
                    self.skipped.append(Skipped(os.fsencode(name).decode(errors="replace"), reason))

    @staticmethod
    def _unfit(name: str, path: str, is_folder: bool) -> str | None:
        if is_folder:
            return "it is a folder"
        try:
            name.encode()
        except UnicodeEncodeError:
            return "its name is not UTF-8"
        if any(character in name for character in '<>"\n\r\\'):
            return "its name cannot stand in an #include"
        if not os.path.isfile(path):
            return "it is no file, or a link to nothing"
        if not os.access(path, os.R_OK):
            return "it cannot be read: permission denied"
        return None

    @staticmethod
    def _first(folder: str, seen: set[tuple[int, int]]) -> bool:
        try:
            info = os.stat(folder)
        except OSError:
            return False
        key = (info.st_dev, info.st_ino)
        if key in seen:
            return False
        seen.add(key)
        return True

    def _entries(self, folder: str) -> list[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        if self.entries >= _MOST_ENTRIES:
            self._skip_once(folder, f"more than {_MOST_ENTRIES} files and folders: the rest was not looked at")
            return found
        try:
            with os.scandir(folder) as scan:
                for entry in scan:
                    self.entries += 1
                    if self.entries > _MOST_ENTRIES:
                        break
                    try:
                        found.append((entry.path, entry.is_dir()))
                    except OSError:  # a link that leads back to itself
                        found.append((entry.path, False))
        except OSError as error:
            self._skip_once(folder, f"it cannot be read: {error.strerror or error}")
        return sorted(found)

    def _skip_once(self, folder: str, reason: str) -> None:
        one = Skipped(os.fsencode(folder).decode(errors="replace"), reason)
        if one not in self.skipped:
            self.skipped.append(one)
