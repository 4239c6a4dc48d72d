"""The include folders and main headers of an SDK that no schema describes.

Folders called `include` (or `inc`) below the roots are searched, else the roots themselves. Of the headers there those
are *main* that no other one reads: an umbrella header stands for all that it includes. A header counts only if it
parses; where an umbrella does not, what it would have read stands by itself. Headers with an `extern "C"` come before
those of C++ libraries, which take long to parse. A header that refuses itself until a macro is defined is given that
macro, if it then parses. Whatever is left out has its reason.

The tree may be anything: links that lead in circles, folders that cannot be read, a folder called `x.h`, a hundred
thousand files. Numbers of entries, headers and parses are bounded, and so is the time.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fl_gen.schema.errors import quote

from . import clang, tree
from .clang import Message, Parsed
from .discover_tree import Scan, Skipped
from .items import SdkError
from .reads import include_name
from .shims import tiers
from .unit import MAIN_FILE

_DEFINES_ROOT, _DEFINES_HEADER = "/__fl_gen_defines__", "fl_gen_defines.h"
_MOST_HEADERS = 1_500  # headers whose #include lines are read
_MOST_PARSES = 600
_MOST_BYTES = 1 << 20  # of one header that are searched for #include lines
_SECONDS = 20.0
_CXX_SHARE = 0.2  # of the time: after it headers of C++ libraries are not tried any more beside those of C
_MOST_DEFINES = 3  # macros that are tried for one header
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*(?:include|include_next|import)[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_C_LINKAGE = re.compile(rb'extern[ \t]+"C"|_BEGIN_DECLS\b|_EXTERN_C')
_PROTOTYPE = re.compile(rb"\)\s*;")
_MACRO = re.compile(r"\b_*[A-Z][A-Z0-9_]{3,}\b")
_TESTED = re.compile(r"(?:defined\s*\(?\s*|#\s*ifn?def\s+)([A-Za-z_]\w*)")
_MISSING = re.compile(r"'(.+)' file not found")
_LACKS = re.compile(r":[0-9]+: (unknown type name|use of undeclared|expected|no type named|field has incomplete)")


@dataclass(frozen=True)
class Discovered:
    """What was found. `headers` are as an #include spells them, in an order in which they parse together.

    `defines` are macros that the headers want defined; `memory` holds the file that defines them, which is then the
    first of the headers.
    """

    include_dirs: tuple[str, ...]
    headers: tuple[str, ...]
    skipped: tuple[Skipped, ...]
    defines: tuple[str, ...] = ()

    @property
    def memory(self) -> dict[str, str]:
        """Headers by absolute path that are on no disk, to be given to every parse."""
        return _defining(self.defines)

    @property
    def own_headers(self) -> tuple[str, ...]:
        """The SDK's headers, without the one that defines the macros."""
        return tuple(name for name in self.headers if name != _DEFINES_HEADER)

    @property
    def own_include_dirs(self) -> tuple[str, ...]:
        """The include folders that are on the disk."""
        return tuple(folder for folder in self.include_dirs if folder != _DEFINES_ROOT)


def _defining(macros: Sequence[str]) -> dict[str, str]:
    if not macros:
        return {}
    return {f"{_DEFINES_ROOT}/{_DEFINES_HEADER}": "".join(f"#define {name} 1\n" for name in macros)}


def discover(roots: Sequence[Path | str], seconds: float = _SECONDS) -> Discovered:
    """The include folders and main headers below `roots`, searched for at most about `seconds` of processor time: how
    busy the machine is changes nothing.

    SdkError for a root that is no readable folder. Without any header that parses `headers` is empty.
    """
    places = [_root(root) for root in roots]
    scan = Scan()
    for place in places:
        scan.folders(place)
    for place in places:
        if not any(folder == place or folder.startswith(f"{place}/") for folder in scan.include_dirs):
            scan.include_dirs.append(place)
    files: dict[str, str] = {}
    for folder in list(scan.include_dirs):
        for name, path in scan.headers(folder):
            files.setdefault(name, path)
    used = [folder for folder in scan.include_dirs if any(path.startswith(f"{folder}/") for path in files.values())]
    choice = _Choice(used, files, scan.skipped, seconds)
    headers = choice.headers()
    defines = tuple(choice.defines)
    if defines:
        used, headers = [*used, _DEFINES_ROOT], [_DEFINES_HEADER, *headers]
    return Discovered(tuple(used), tuple(headers), tuple(choice.skipped), defines)


def nothing_found(roots: Sequence[Path | str], found: Discovered) -> SdkError:
    """The error for roots in which no header parses: how many were tried and what the first ones lack."""
    where = ", ".join(os.fspath(root) for root in roots)
    if not found.skipped:
        return SdkError(f"{where}: there is no header in it", "name the folder that holds the SDK's include folder")
    told = "\n".join(f"  {one.name}: {one.reason}" for one in found.skipped[:5])
    more = f"\n  and {len(found.skipped) - 5} more" if len(found.skipped) > 5 else ""
    return SdkError(
        f"{where}: no header in it parses:\n{told}{more}", "complete the SDK, or name its other folders with --sdk too"
    )


def _root(root: Path | str) -> str:
    text = os.fspath(root)
    try:
        text.encode()  # libclang takes UTF-8 only
        path = os.path.abspath(os.path.expanduser(text))
        if not stat.S_ISDIR(os.stat(path).st_mode):
            raise SdkError(f"--sdk {text} is a file, not a folder", "name the folder that holds the SDK")
        with os.scandir(path):
            pass
    except ValueError as error:
        raise SdkError(f"--sdk {quote(text)} is no path: {error}", "name the folder that holds the SDK") from error
    except OSError as error:
        raise SdkError(
            f"--sdk {text} cannot be read: {error.strerror or error}", "name the folder that holds the SDK"
        ) from error
    return path


# -- which of them ----------------------------------------------------------------------------------------------------


class _Choice:
    """Tries headers, umbrellas first, until every header is read, or was tried and does not parse."""

    def __init__(
        self,
        folders: Sequence[str],
        files: Mapping[str, str],
        skipped: Sequence[Skipped],
        seconds: float,
    ) -> None:
        self._folders = tuple(folders)
        self._files = dict(sorted(files.items())[:_MOST_HEADERS]) if len(files) > _MOST_HEADERS else dict(files)
        self.skipped = list(skipped)
        if len(files) > len(self._files):
            rest = len(files) - len(self._files)
            self.skipped.append(Skipped(f"{rest} headers", f"more than {_MOST_HEADERS} headers"))
        self._seconds = seconds
        self._deadline = self._cxx_deadline = 0.0
        self._texts = {name: _text(path) for name, path in self._files.items()}
        self.defines: list[str] = []
        self._parses = 0
        self._covered: set[str] = set()
        self._reads: dict[str, set[str]] = {}

    def headers(self) -> list[str]:
        accepted: list[str] = []
        accepted_c = False
        failed: dict[str, str] = {}
        order = self._order()
        self._deadline = time.process_time() + self._seconds
        self._cxx_deadline = time.process_time() + _CXX_SHARE * self._seconds
        for name in order:
            if os.path.realpath(self._files[name]) in self._covered:
                continue
            plain = self._is_plain(name)
            if not plain and accepted_c and time.process_time() > self._cxx_deadline:
                failed[name] = "not tried: it is C++, and the time for that was over"
                continue
            reason = self._try([name])
            if reason is not None and not accepted and self._define_for(name):
                reason = None
            if reason is None:
                accepted.append(name)
                accepted_c = accepted_c or plain
            else:
                failed[name] = reason
        for name, reason in failed.items():
            # What it lacks may be what another header declares: headers of old SDKs must be included in an order.
            if os.path.realpath(self._files[name]) in self._covered:
                continue
            if accepted and _LACKS.match(reason.removeprefix(name)) and self._try([*accepted, name]) is None:
                accepted.append(name)
            else:
                self.skipped.append(Skipped(name, reason))
        return self._together(self._umbrellas(accepted))

    def _umbrellas(self, accepted: Sequence[str]) -> list[str]:
        """The headers that no other one reads; of two that read each other the first. Later ones may read earlier."""
        kept: list[str] = []
        for at, name in enumerate(accepted):
            path = os.path.realpath(self._files[name])
            others = [other for other in accepted if other != name and path in self._reads[other]]
            mutual = {other for other in others if os.path.realpath(self._files[other]) in self._reads[name]}
            if all(other in mutual and accepted.index(other) > at for other in others):
                kept.append(name)
        return kept

    def _together(self, accepted: list[str]) -> list[str]:
        """Those of the headers that parse in one unit: two that define one thing differently do not.

        The header in which clang reports an error is left out, one at a time, since further errors may follow from it.
        """
        kept = list(accepted)
        while len(kept) > 1:
            parsed = self._parse(kept)
            if not parsed.errors:
                break
            reason = _words(parsed.errors, self._folders)
            blamed = _blamed(parsed, len(kept))
            self.skipped.append(Skipped(kept.pop(blamed), f"not together with the headers before it: {reason}"))
        return kept

    def _order(self) -> list[str]:
        """Headers of C functions first, those with the most of them before the others; nothing depends on how long a
        C++ library takes. Of equal ones first those that no other one includes, among them those that read the most."""
        by_path = {os.path.realpath(path): name for name, path in self._files.items()}
        edges = {name: self._includes(name, self._texts[name], by_path) for name in self._files}
        included = {to for name, all_ in edges.items() for to in all_ if to != name}
        reach = {name: len(_reached(name, edges)) for name in edges}

        def rank(name: str) -> tuple[bool, bool, int, bool, int, str]:
            calls = len(_PROTOTYPE.findall(self._texts[name]))
            return not self._is_plain(name), name.count("/") > 1, -calls, name in included, -reach[name], name

        return sorted(edges, key=rank)

    def _is_plain(self, name: str) -> bool:
        return _C_LINKAGE.search(self._texts[name]) is not None

    def _includes(self, name: str, text: bytes, by_path: Mapping[str, str]) -> set[str]:
        found = set()
        for raw in _INCLUDE.findall(text):
            spelled = os.fsdecode(raw)
            for folder in (os.path.dirname(self._files[name]), *self._folders):
                other = by_path.get(os.path.realpath(os.path.join(folder, spelled)))
                if other is not None:
                    found.add(other)
                    break
        return found

    def _try(self, names: Sequence[str]) -> str | None:
        """None if these parse in this order, and then all that they read counts as read; else clang's first words."""
        if self._parses >= _MOST_PARSES:
            return f"not tried: {_MOST_PARSES} others were"
        if time.process_time() > self._deadline:
            return "not tried: the time for it was over"
        parsed = self._parse(names)
        if parsed.errors:
            return _words(parsed.errors, self._folders)
        read = {path for path, _, _ in parsed.inclusions()}
        own = {path for path in read if include_name(path, self._folders) is not None}
        if not _declares(parsed, own):
            return "it declares nothing to a C++ compiler"
        paths = set(map(os.path.realpath, read))
        self._covered |= paths
        # After others it cannot stand for them.
        self._reads[names[-1]] = paths if len(names) == 1 else {os.path.realpath(self._files[names[-1]])}
        return None

    def _define_for(self, name: str) -> bool:
        """Define the macro without which a header refuses itself: one that its #error names and its #if asks for."""
        said = " ".join(error.text for error in self._parse([name]).errors)
        tested = set(_TESTED.findall(self._texts[name].decode(errors="replace")))
        wanted = [word for word in dict.fromkeys(_MACRO.findall(said)) if word in tested][:_MOST_DEFINES]
        for macro in wanted:
            self.defines = [macro]
            if self._try([name]) is None:
                return True
        self.defines = []
        return False

    def _parse(self, names: Sequence[str]) -> Parsed:
        """The headers in this order, with the C++ library's headers only if one of them asks for those."""
        text = "".join(f"#include <{name}>\n" for name in names).encode()
        defines = [f"-D{macro}=1" for macro in self.defines]
        best: Parsed | None = None
        for shims in tiers():
            self._parses += 1
            arguments = [part for folder in (*self._folders, *shims.dirs) for part in ("-isystem", folder)]
            parsed = clang.parse(MAIN_FILE, text, [*defines, *arguments], dict(shims.files))
            if not parsed.errors:
                return parsed
            best = parsed
            missing = next((m for e in parsed.errors if (m := _MISSING.search(e.text))), None)
            if missing is None or "." in missing.group(1) or "/" in missing.group(1):
                break
        assert best is not None  # there is always a set of compiler headers
        return best


def _declares(parsed: Parsed, own: set[str]) -> bool:
    """Whether one of the SDK's own headers declares a function or a type: headers for device compilers may be empty."""
    wanted = (tree.FUNCTION, tree.FUNCTION_TEMPLATE, tree.ENUM, tree.TYPEDEF, tree.STRUCT, tree.UNION, tree.CLASS)
    found = tree.declarations(tree.children(parsed.unit.cursor))
    return any(tree.kind(cursor) in wanted and tree.place(cursor)[0] in own for cursor in found)


def _blamed(parsed: Parsed, count: int) -> int:
    """The number of the header, in the order of the includes, in which the first error stands; else the last one."""
    place = parsed.errors[0].place
    chain = ((place.file, place.line), *parsed.includers(place.file))
    line = next((line for file, line in chain if file == MAIN_FILE), count)
    return min(max(line, 1), count) - 1


def _words(errors: Sequence[Message], folders: Sequence[str]) -> str:
    """The worst error in clang's words, with its place as an #include spells it."""
    worst = max(errors, key=lambda one: one.severity)
    place = include_name(worst.place.file, folders) or os.path.basename(worst.place.file)
    return f"{place}:{worst.place.line}: {worst.text}"


def _text(path: str) -> bytes:
    try:
        with open(path, "rb") as stream:
            return stream.read(_MOST_BYTES)
    except OSError:
        return b""


def _reached(name: str, edges: Mapping[str, set[str]]) -> set[str]:
    seen = {name}
    waiting = [name]
    while waiting:
        new = edges[waiting.pop()] - seen
        seen |= new
        waiting += new
    return seen
