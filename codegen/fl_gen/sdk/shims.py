"""The headers that belong to a compiler, not to an SDK: the libclang wheel ships none.

`tiers()` names what to try, in order: the resource headers of an installed compiler with the C library's headers, the
same with the C++ library's (slow to parse, so only when a header asks for it), and last minimal headers of our own that
live in memory and need nothing installed. Only the file system is asked; no compiler is run.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .minimal import MEMORY_ROOT, builtin_files, library_files

OVERRIDE = "FL_GEN_RESOURCE_HEADERS"
_CLANG_GLOBS = (
    "/usr/lib/llvm-*/lib/clang/*/include",
    "/usr/lib/clang/*/include",
    "/usr/lib64/clang/*/include",
    "/usr/local/lib/clang/*/include",
    "/opt/homebrew/opt/llvm/lib/clang/*/include",
    "/Library/Developer/CommandLineTools/usr/lib/clang/*/include",
    "/Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib/clang/*/include",
)
_GCC_GLOBS = ("/usr/lib/gcc/*/*/include", "/usr/lib64/gcc/*/*/include", "/usr/local/lib/gcc/*/*/include")
_C_GLOBS = (
    "/usr/include/*-linux-*",
    "/usr/include",
    "/Library/Developer/CommandLineTools/SDKs/MacOSX.sdk/usr/include",
)
_CXX_GLOBS = ("/usr/include/c++/*", "/usr/lib/llvm-*/include/c++/v1", "/opt/homebrew/opt/llvm/include/c++/v1")


@dataclass(frozen=True)
class Shims:
    """One set of compiler headers. `name` has no path in it; `where` is the folder, empty for the ones in memory."""

    name: str
    where: str = ""
    dirs: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name} ({self.where})" if self.where else self.name

    def owns(self, path: str) -> bool:
        """Whether a file that was read is one of these and not the SDK's."""
        return path.startswith(MEMORY_ROOT) or any(path.startswith(folder.rstrip("/") + "/") for folder in self.dirs)


def minimal() -> Shims:
    """Headers of our own, in memory: enough for headers of C runtime libraries, the same on every machine."""
    files = {**builtin_files(), **library_files()}
    return Shims("minimal headers built into fl-gen", "", (MEMORY_ROOT,), files)


def tiers() -> tuple[Shims, ...]:
    """What to try, in order. A later one is only tried when a header does not parse with an earlier one."""
    found = _resource_folder()
    if found is None:
        return (minimal(),)
    name, folder = found
    c_dirs = _existing(_C_GLOBS)
    # In memory and last: what the C library of a machine without its development package would have.
    plain = Shims(name, folder, (folder, *c_dirs, MEMORY_ROOT), library_files())
    cxx_dirs = _cxx_folders()
    if not cxx_dirs:
        return (plain, minimal())
    cxx = Shims(f"{name}, C++ library", folder, (*cxx_dirs, folder, *c_dirs), {})
    return (plain, cxx, minimal())


def _resource_folder() -> tuple[str, str] | None:
    override = os.environ.get(OVERRIDE)
    if override == "minimal":
        return None
    if override:
        return f"headers named by {OVERRIDE}", os.path.realpath(os.path.expanduser(override))
    for title, programs, patterns in (
        ("clang", ("clang",), _CLANG_GLOBS),
        ("gcc", ("gcc", "cc"), _GCC_GLOBS),
    ):
        for folder in _newest_first(_beside(programs, title), patterns):
            if os.path.isfile(os.path.join(folder, "stddef.h")):
                return f"resource headers of {title} {_version(folder)}", folder
    return None


def _beside(programs: Iterable[str], title: str) -> list[str]:
    """The resource folders of a compiler on PATH, which may be in no usual place."""
    patterns = []
    for program in programs:
        path = shutil.which(program)
        if path is None:
            continue
        prefix = os.path.dirname(os.path.dirname(os.path.realpath(path)))
        tail = "clang/*/include" if title == "clang" else "gcc/*/*/include"
        patterns += [f"{glob.escape(prefix)}/{lib}/{tail}" for lib in ("lib", "lib64")]
    return patterns


def _newest_first(first: list[str], then: tuple[str, ...]) -> list[str]:
    """Folders of the compiler on PATH before the others; of either the newest first."""
    found: dict[str, None] = {}
    for patterns in (first, then):
        matches = {os.path.realpath(path) for pattern in patterns for path in glob.glob(pattern)}
        found.update(dict.fromkeys(sorted(matches, key=lambda p: (_numbers(_version(p)), p), reverse=True)))
    return list(found)


def _cxx_folders() -> tuple[str, ...]:
    roots = sorted(
        {path for pattern in _CXX_GLOBS for path in glob.glob(pattern) if os.path.isfile(f"{path}/memory")},
        key=lambda p: (p.startswith("/usr/include"), _numbers(os.path.basename(p)), p),
    )
    if not roots:
        return ()
    root = roots[-1]
    target = glob.glob(f"/usr/include/*/c++/{os.path.basename(root)}")
    return (root, *sorted(target))


def _existing(patterns: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for pattern in patterns for path in sorted(glob.glob(pattern)) if os.path.isdir(path))


def _version(folder: str) -> str:
    """The version in a resource folder's path: the last part that is one."""
    parts = [part for part in folder.split("/") if re.fullmatch(r"[0-9]+(\.[0-9]+)*", part)]
    return parts[-1] if parts else "?"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"[0-9]+", version))
