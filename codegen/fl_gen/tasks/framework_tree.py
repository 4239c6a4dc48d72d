"""A checkout of a framework on disk: which of its files count, and what libclang needs to read them."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fl_gen.schema.checkout import Checkout
from fl_gen.schema.framework import Interface
from fl_gen.schema.paths import shown
from fl_gen.sdk.shims import Shims, tiers
from fl_gen.tasks.framework_values import NoVerdict

MAX_BYTES = 4 << 20  # of one source; a bigger one is no source that a person wrote
_MAX_FILES = 20_000  # files looked at below the source folders
_STUBS = "/__fl_gen_absent__"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([\w./+-]+)[>"]', re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE)
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_LAUNCH = re.compile(r"<<<.{0,2000}?>>>", re.DOTALL)
# Warnings that turn into errors for an SDK's sake; a framework's own code is not judged by them.
_FLAGS = ("-Wno-conversion", "-Wno-return-type", "-Wno-deprecated-declarations")


@dataclass(frozen=True)
class Tree:
    """A checkout. Paths are absolute; `headers` are those of the interface that it has, `sources` what is parsed.

    `memory` are in-memory files: stand-ins for headers that this machine lacks (`absent`), and headers in a device
    dialect. `unread` gives for each source that was not looked at why. `macros` register kernels, or call them.
    """

    root: Path
    headers: tuple[str, ...]
    sources: tuple[str, ...]
    flags: tuple[str, ...]
    device_flags: tuple[str, ...]
    device_suffixes: tuple[str, ...]
    common: tuple[str, ...]
    memory: Mapping[str, str]
    absent: tuple[str, ...]
    unread: Mapping[str, str]
    macros: frozenset[str]

    def text(self, file: str) -> bytes:
        """The text of a source as libclang is to read it: same lines and columns, kernel launches blanked out."""
        with open(file, "rb") as stream:
            data = stream.read(MAX_BYTES)
        return blank_launches(data.decode("utf-8", "replace")).encode() if b"<<<" in data else data

    def flags_of(self, file: str) -> tuple[str, ...]:
        """The compiler's flags for a source."""
        return (*self.flags, *(self.device_flags if file.endswith(self.device_suffixes) else ()))


def open_tree(source: str | os.PathLike[str], interface: Interface) -> Tree:
    """The checkout at `source`. NoVerdict when it is no checkout of that framework or cannot be read here."""
    checkout = interface.checkout
    if checkout is None:
        raise NoVerdict(
            f"{interface.location.file}: no section 'checkout' says how to read {interface.display_name}'s sources\n"
            "  = add one, as in the shipped frameworks/infinitrain/interface.yaml"
        )
    root = _root(os.fspath(source), interface)
    headers = [header.path for header in interface.headers if os.path.isfile(root / header.path)]
    if len(headers) * 2 < len(interface.headers):
        missing = [header.path for header in interface.headers if header.path not in headers]
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise NoVerdict(
            f"--source {shown(root)} is no checkout of {interface.display_name}: it has no {missing[0]}{more}\n"
            f"  = name the folder that holds {missing[0]}"
        )
    shims = cxx_headers()
    system = (*shims.dirs, *prefixes())
    below = [os.path.join(folder, name) for folder in system for name in checkout.system]
    own = [os.path.normpath(root / folder) for folder in checkout.include]
    folders = [*own, *(folder for folder in (*below, *system) if os.path.isdir(folder) or folder in shims.files)]
    _require(checkout, folders, interface)
    texts, unread = _read(root, checkout, interface)
    absent = absent_headers(root, texts, folders)
    stand_ins = {one.header: one.text for one in checkout.stand_ins}
    memory = {**shims.files, **{f"{_STUBS}/{name}": stand_ins.get(name, "") + "\n" for name in absent}}
    memory |= {
        file: blank_launches(text) for file, text in texts.items() if "<<<" in text and file.endswith(checkout.headers)
    }
    macros, words = _words(interface, texts)
    dispatcher = os.path.normpath(root / str(interface.macro(str(interface.kernels.macro)).header))
    kinds = (*checkout.suffixes, *checkout.device_suffixes, *checkout.headers)
    sources = [
        file
        for file, text in texts.items()
        if file.endswith(kinds) and file != dispatcher and words.search(_COMMENT.sub(" ", text))
    ]
    includes = [part for folder in own for part in ("-I", folder)]
    outer = (*(folder for folder in folders if folder not in own), _STUBS)
    includes += [part for folder in outer for part in ("-isystem", folder)]
    return Tree(
        root=root,
        headers=tuple(headers),
        sources=tuple(sorted(sources)),
        flags=(*_FLAGS, *(f"-D{text}" for text in checkout.defines), *includes),
        device_flags=tuple(f"-D{text}" for text in checkout.device_defines),
        device_suffixes=checkout.device_suffixes,
        common=_common(sources, texts, absent),
        memory=memory,
        absent=tuple(absent),
        unread=unread,
        macros=macros,
    )


def blank_launches(text: str) -> str:
    """`kernel<<<grid, block>>>(...)` as a plain call: the compiler then takes the arguments, every column stays."""
    return _LAUNCH.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def _root(text: str, interface: Interface) -> Path:
    what = f"--source {text}"
    remedy = f"name the folder of a checkout of {interface.display_name}"
    try:
        text.encode()  # libclang takes UTF-8 only
        path = Path(os.path.abspath(os.path.expanduser(text)))
        os.stat(path)
        if not path.is_dir():
            raise NoVerdict(f"{what} is a file, not a folder\n  = {remedy}")
        with os.scandir(path):
            pass
    except ValueError as error:
        raise NoVerdict(f"{what!r} is no path: {error}\n  = {remedy}") from error
    except FileNotFoundError as error:
        raise NoVerdict(f"{what} does not exist\n  = {remedy}") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NoVerdict(f"{what} is a symbolic link that leads back to itself\n  = repair the link") from error
        raise NoVerdict(f"{what} cannot be read: {error.strerror or error}\n  = {remedy}") from error
    return path


def cxx_headers() -> Shims:
    """Compiler headers with a C++ library."""
    for shims in tiers():
        if any(os.path.isfile(os.path.join(folder, "memory")) for folder in shims.dirs):
            return shims
    raise NoVerdict(
        "a framework's sources include the C++ standard library, and this machine has no headers of one\n"
        "  = install a C++ compiler: g++"
    )


def prefixes() -> tuple[str, ...]:
    """The include folders of CMAKE_PREFIX_PATH, where people name what they built themselves."""
    entries = re.split("[:;]", os.environ.get("CMAKE_PREFIX_PATH", ""))
    return tuple(os.path.join(entry, "include") for entry in entries if entry)


def _require(checkout: Checkout, folders: Sequence[str], interface: Interface) -> None:
    missing = [one for one in checkout.needs if not _found(one.header, folders)]
    if missing:
        headers = ", ".join(one.header for one in missing)
        packages = " ".join(one.package for one in missing)
        raise NoVerdict(
            f"{interface.display_name} cannot be read here: no include folder has {headers}\n"
            f"  = install {packages}, or name its prefix in CMAKE_PREFIX_PATH"
        )


def _found(header: str, folders: Iterable[str]) -> bool:
    return any(os.path.isfile(os.path.join(folder, header)) for folder in folders)


def _read(root: Path, checkout: Checkout, interface: Interface) -> tuple[dict[str, str], dict[str, str]]:
    """The texts of the tree's C++ files by path, and why others were not read. Links to folders are not followed."""
    kinds = (*checkout.suffixes, *checkout.device_suffixes, *checkout.headers)
    texts: dict[str, str] = {}
    unread: dict[str, str] = {}
    files = [os.path.normpath(root / header.path) for header in interface.headers]
    for folder in checkout.sources:
        for parent, folders, names in os.walk(root / folder):
            folders.sort()
            files += [os.path.join(parent, name) for name in sorted(names) if name.endswith(kinds)]
            if len(files) > _MAX_FILES:
                raise NoVerdict(
                    f"--source {shown(root)}: more than {_MAX_FILES} files below {folder}\n"
                    "  = name a checkout of the framework alone"
                )
    for file in dict.fromkeys(files):
        try:
            file.encode()
            if not os.path.isfile(file):
                continue
            if os.path.getsize(file) > MAX_BYTES:
                unread[file] = f"larger than {MAX_BYTES >> 20} MiB"
                continue
            with open(file, encoding="utf-8", errors="replace", newline="") as stream:
                texts[file] = stream.read()
        except OSError as error:
            unread[file] = error.strerror or str(error)
        except ValueError:  # a name that is no UTF-8, or holds a NUL
            unread[os.fsencode(file).decode("utf-8", "replace")] = "its name is not UTF-8"
    return texts, unread


def absent_headers(root: Path, texts: Mapping[str, str], folders: Sequence[str]) -> list[str]:
    """The headers that the tree includes and no include folder has. They are read as empty, or as their stand-in."""
    known: dict[str, bool] = {}
    for file, text in texts.items():
        for name in _INCLUDE.findall(text):
            if known.get(name) is not True:
                known[name] = _found(name, (os.path.dirname(file), *folders))
    return sorted(name for name, found in known.items() if not found and ".." not in name and not name.startswith("/"))


def _words(interface: Interface, texts: Mapping[str, str]) -> tuple[frozenset[str], re.Pattern[str]]:
    """The macros that register or call kernels, and what a file that does so mentions: one of them, or the table."""
    macros = {str(interface.kernels.macro)}
    words = {call.type for call in interface.kernels.dispatch}
    words |= {call.method for call in interface.kernels.dispatch if call.role == "lookup"}
    defined = [found.groups() for text in texts.values() if "#" in text for found in _DEFINE.finditer(text)]
    while True:
        pattern = re.compile(r"\b(?:" + "|".join(sorted(map(re.escape, words | macros))) + r")\b")
        more = {name for name, body in defined if name not in macros and pattern.search(body)}
        if not more:
            return frozenset(macros), pattern
        macros |= more


def _common(sources: Sequence[str], texts: Mapping[str, str], absent: Sequence[str]) -> tuple[str, ...]:
    """Headers without a folder that many sources include: the C++ library's. They are worth precompiling."""
    counts: dict[str, int] = {}
    for file in sources:
        for name in set(_INCLUDE.findall(texts[file])):
            counts[name] = counts.get(name, 0) + 1
    least = max(2, len(sources) // 16)
    return tuple(
        sorted(name for name, count in counts.items() if count >= least and "/" not in name and name not in absent)
    )
