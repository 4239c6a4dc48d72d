"""Files of an unknown SDK: which headers a group needs, and which library it is."""

from __future__ import annotations

import mmap
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from fl_gen.sdk import clang, tree
from fl_gen.sdk.discover import Discovered
from fl_gen.sdk.items import SdkError
from fl_gen.sdk.model import Declared, Sdk
from fl_gen.sdk.probe import probe
from fl_gen.sdk.shims import tiers
from fl_gen.sdk.unit import MAIN_FILE
from fl_gen.tasks.draft_model import Constant

_LIBRARY = re.compile(r"lib([A-Za-z0-9_][A-Za-z0-9_.+-]*?)\.(?:so|a|dylib)(?:\.[0-9.]+)?")
_FOLDERS = ("lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "so")
_LIKE = 0.6  # likeness of a library's name to a group's
_MOST_LIBRARIES = 4000
_MOST_BYTES = 1 << 30  # of a library in which symbols are looked for
_NUMBER = re.compile(r"=\s*\(?\s*(-?(?:0[xX][0-9a-fA-F]+|[0-9]+))[uUlL]*\s*\)?\s*$")


# -- headers ----------------------------------------------------------------------------------------------------------


def choose_headers(found: Discovered, declared: Mapping[str, int]) -> tuple[str, ...]:
    """Headers to include for declarations in `declared` (header -> how many): as few as possible, the main one first.

    The header that declares most is taken if it can be included alone; else the main header that reads it.
    """
    wanted = Counter(declared)
    chosen: list[str] = []
    reads: dict[str, frozenset[str] | None] = {}
    while wanted:
        header = wanted.most_common(1)[0][0]
        best: tuple[int, int, str] | None = None
        for option in (header, *(one for one in found.own_headers if one not in chosen)):
            if option not in reads:
                reads[option] = _reads(option, found)
            names = reads[option]
            if names is None or header not in names:
                continue
            key = (-sum(count for name, count in wanted.items() if name in names), len(names), option)
            best = key if best is None or key < best else best
            if option == header:
                break  # it can be included alone
        if best is None:
            del wanted[header]
            continue
        chosen.append(best[2])
        covered = reads[best[2]] or frozenset()
        wanted = Counter({name: count for name, count in wanted.items() if name not in covered})
    return tuple(chosen)


def _reads(header: str, found: Discovered) -> frozenset[str] | None:
    """The SDK's headers that one reads; None if it does not parse alone."""
    try:
        report = probe([], [*found.headers[: len(found.defines[:1])], header], found.include_dirs, memory=found.memory)
    except (SdkError, ValueError):
        return None
    return frozenset(one.name for one in report.headers_read if one.sdk)


def variables(found: Discovered, sdk: Sdk) -> dict[str, Constant]:
    """Integer constants that are variables (`static const int NAME = 0;`), which the SDK model does not hold."""
    own = {header.path: header.name for header in sdk.headers if header.sdk}
    text = "".join(f"#include <{name}>\n" for name in found.headers).encode()
    constants: dict[str, Constant] = {}
    for shims in tiers():
        arguments = [part for folder in (*found.include_dirs, *shims.dirs) for part in ("-isystem", folder)]
        parsed = clang.parse(MAIN_FILE, text, arguments, {**shims.files, **found.memory})
        if parsed.errors:
            continue
        for cursor in tree.declarations(tree.children(parsed.unit.cursor)):
            if tree.kind(cursor) != tree.VARIABLE:
                continue
            file, line = tree.place(cursor)
            match = _NUMBER.search(" ".join(token.spelling for token in cursor.get_tokens())) if file in own else None
            if match is not None:
                value = int(match.group(1), 0)
                constants[cursor.spelling] = Constant(cursor.spelling, value, Declared(own[file], line))
        break
    return constants


# -- libraries --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Libraries:
    """The libraries below the roots: files by the name that a linker takes, and the folders, relative to a root."""

    files: Mapping[str, str]
    folders: tuple[str, ...]

    def of(self, prefix: str, headers: Iterable[str], functions: Sequence[str]) -> tuple[tuple[str, ...], bool]:
        """The library of a group, and whether that is only a guess.

        It is the one with the functions among its symbols; of several, and of libraries that cannot be read,
        the one whose name is most like the functions' prefix and the headers.
        """
        words = [re.sub(r"[^a-z0-9]", "", word.lower()) for word in (prefix, *(Path(name).stem for name in headers))]
        scored = []
        for name, path in self.files.items():
            plain = re.sub(r"[^a-z0-9]", "", name.lower())
            likeness = max(_likeness(plain, word) for word in words)
            has = bool(functions) and _has_symbols(path, functions)
            if has or likeness >= _LIKE:
                scored.append((has, likeness, -len(name), name))
        return ((max(scored)[3],), False) if scored else ((prefix,), True)


def _has_symbols(path: str, functions: Sequence[str]) -> bool:
    """Whether a library's tables of names hold each of the functions."""
    try:
        with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return len(text) <= _MOST_BYTES and all(text.find(b"\0%s\0" % name.encode()) >= 0 for name in functions)
    except (OSError, ValueError):  # unreadable, or empty
        return False


def _likeness(name: str, word: str) -> float:
    begins = 0.25 if name.startswith(word) or word.startswith(name) else 0.15 if word in name else 0.0
    return begins + SequenceMatcher(None, name, word, autojunk=False).ratio()


def find_libraries(roots: Sequence[Path | str], include_dirs: Sequence[str]) -> Libraries:
    """Libraries in the usual folders of the roots, and beside the include folders."""
    files: dict[str, str] = {}
    folders: dict[str, None] = {}
    for root in roots:
        base = os.path.abspath(os.path.expanduser(os.fspath(root)))
        beside = [os.path.dirname(folder) for folder in include_dirs if folder.startswith(f"{base}/")]
        for place in dict.fromkeys([base, *beside]):
            for folder in _FOLDERS:
                path = os.path.join(place, folder)
                found = _libraries_in(path)
                if found:
                    folders[os.path.relpath(path, base)] = None
                    files.update({name: file for name, file in found.items() if name not in files})
    return Libraries(files, tuple(folders))


def _libraries_in(folder: str) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        with os.scandir(folder) as scan:
            for number, entry in enumerate(scan):
                match = _LIBRARY.fullmatch(entry.name)
                if match is not None and entry.is_file():
                    found.setdefault(match.group(1), entry.path)
                if number >= _MOST_LIBRARIES:
                    break
    except OSError:
        return {}
    return dict(sorted(found.items()))
