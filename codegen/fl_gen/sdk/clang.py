"""The only module that talks to libclang: one Index, one set of flags, and diagnostics as plain values."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import byref, c_char_p, c_uint, c_void_p, cast
from dataclasses import dataclass
from functools import cache
from typing import Any

from .items import SdkError

# conversion: in C++ the only warning that tells a wrong integer or enum argument. return-type: a body must return.
WARNINGS = (
    ("error", "conversion"),
    ("error", "return-type"),
    ("error", "enum-compare"),  # a code of one enumeration held against another, whose numbers mean something else
    ("warning", "deprecated-declarations"),
    ("ignored", "braced-scalar-init"),  # constants are wrapped in braces to forbid narrowing
)
_OPTIONS = {"error": "-Werror=", "warning": "-W", "ignored": "-Wno-"}
# -nostdinc: nothing but the folders that fl-gen chose. --no-default-config: a clang.cfg of the user would change flags.
FLAGS = (
    "-x",
    "c++",
    "-std=c++20",
    "--no-default-config",
    "-nostdinc",
    "-ferror-limit=0",
    "-fno-spell-checking",
    *(_OPTIONS[level] + name for level, name in WARNINGS),
)
# Each of these changes what clang reads, how, or what it prints.
ENVIRONMENT = (
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "OBJCPLUS_INCLUDE_PATH",
    "CCC_OVERRIDE_OPTIONS",
    "CCC_ADD_ARGS",
    "CCC_PRINT_OPTIONS",
    "CC_PRINT_OPTIONS",
    "CC_PRINT_HEADERS",
    "CC_LOG_DIAGNOSTICS",
    "CL",
    "_CL_",
    "INCLUDE",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "LIBRARY_PATH",
    "SDKROOT",
    "SOURCE_DATE_EPOCH",
    "LIBCLANG_LOGGING",
    "LIBCLANG_OBJTRACKING",
    "FORCE_CLANG_DIAGNOSTICS_CRASH",
)
ERROR = 3
FATAL = 4
DETAILED_PREPROCESSING = 0x01
_SKIP_BODIES = 0x40
_PRECOMPILE = 0x02 | 0x10  # incomplete, for serialization


@dataclass(frozen=True, slots=True)
class Place:
    """A physical place: `#line` does not change it. `file` is empty for a diagnostic without a place."""

    file: str
    line: int
    column: int
    offset: int


@dataclass(frozen=True, slots=True)
class Message:
    """A diagnostic of clang. Severity 2 is a warning, 3 an error, 4 fatal. `length` is of its first range, in bytes."""

    severity: int
    text: str
    place: Place
    option: str
    length: int
    notes: tuple[tuple[Place, str], ...]


@dataclass(frozen=True)
class Parsed:
    """A parsed unit: libclang's object, kept alive here, its diagnostics, and the files it read."""

    unit: Any
    messages: tuple[Message, ...]

    @property
    def errors(self) -> tuple[Message, ...]:
        return tuple(m for m in self.messages if m.severity >= ERROR)

    def inclusions(self) -> Iterator[tuple[str, str, int]]:
        """(file, includer, line of the #include) of each file read, the main file's own included."""
        for inclusion in self.unit.get_includes():
            place = inclusion.location
            yield inclusion.include.name, place.file.name if place.file else "", place.line

    def includers(self, file: str) -> tuple[tuple[str, int], ...]:
        """Who included `file` first, and who included that, up to the main file."""
        first: dict[str, tuple[str, int]] = {}
        for included, includer, line in self.inclusions():
            first.setdefault(included, (includer, line))
        chain: list[tuple[str, int]] = []
        while file in first and len(chain) < 32:
            file, line = first[file]
            chain.append((file, line))
        return tuple(chain)


def parse(
    main: str,
    text: bytes,
    arguments: Sequence[str],
    files: Mapping[str, str],
    detailed: bool = False,
    precompile: bool = False,
    bodies: bool = True,
) -> Parsed:
    """Parse `text` under the name `main`; `files` are further in-memory files. SdkError if libclang gives up.

    `precompile` makes a unit that `save` can write, to be given to later parses by `-include-pch`. Without `bodies`
    those of functions are skipped, which halves the time that big C++ headers take.
    """
    cindex = load()
    unsaved = [(main, text), *files.items()]
    with clean_environment():
        try:
            unit = _index().parse(
                main,
                args=[*FLAGS, *arguments],
                unsaved_files=unsaved,
                options=(DETAILED_PREPROCESSING if detailed else 0)
                | (_PRECOMPILE if precompile else 0)
                | (0 if bodies else _SKIP_BODIES),
            )
        except cindex.TranslationUnitLoadError as error:
            raise SdkError(
                f"libclang could not parse at all ({error})",
                "check the include folders, or reinstall it: pip install --force-reinstall libclang==18.1.1",
            ) from error
    return Parsed(unit, tuple(_messages(unit.diagnostics)))


def save(parsed: Parsed, path: str) -> None:
    """Write a unit that was parsed with `precompile` to `path`. SdkError if it cannot be written."""
    try:
        parsed.unit.save(path)
    except load().TranslationUnitSaveError as error:
        raise SdkError(f"{path}: libclang could not save: {error}", "make room in the temporary folder") from error


def _messages(diagnostics: Any) -> Iterator[Message]:
    for one in diagnostics:
        if one.severity < ERROR and not (one.option or "").startswith("-Wdeprecated"):
            continue  # no other warning is anyone's fault
        notes = tuple((_place(note.location), note.spelling) for note in one.children)
        length = 1
        place = _place(one.location)
        for extent in one.ranges:
            if extent.start.offset <= place.offset < extent.end.offset:
                length = max(length, extent.end.offset - place.offset)
                break
        yield Message(one.severity, one.spelling, place, one.option or "", length, notes)


def _place(location: Any) -> Place:
    file = location.file
    return Place(file.name if file else "", location.line, location.column, location.offset)


class Places:
    """Physical places in one unit, with as few calls into libclang as possible: each costs about a microsecond."""

    def __init__(self, parsed: Parsed, main: str, size: int) -> None:
        self._unit = parsed.unit
        self._library = load().conf.lib
        self._files: dict[int, str] = {}
        self._cells = (load().c_object_p(), c_uint(), c_uint(), c_uint())
        self._references = tuple(byref(cell) for cell in self._cells)
        file = self._unit.get_file(main)
        first, last = (self._library.clang_getLocationForOffset(self._unit, file, at) for at in (0, size - 1))
        # libclang numbers the characters of a file one after the other. Where that holds an extent needs no call.
        base, end = int(getattr(first, "int_data", 0)), int(getattr(last, "int_data", 0))
        self._base, self._limit = (base, base + size) if end - base == size - 1 else (0, -1)

    def where(self, location: Any) -> tuple[str, int, int]:
        """File ('' if none), line and offset of a location."""
        self._library.clang_getInstantiationLocation(location, *self._references)
        file, line, _, offset = self._cells
        address = cast(file, c_void_p).value
        if address is None:
            return "", line.value, offset.value
        name = self._files.get(address)
        if name is None:
            own = cast(c_void_p(address), load().c_object_p)
            name = self._files[address] = str(load().File(own).name)
        return name, line.value, offset.value

    def extent(self, cursor: Any) -> tuple[int, int]:
        """Start and end of a cursor of the main file, in bytes."""
        extent = cursor.extent
        start, end = getattr(extent, "begin_int_data", -1), getattr(extent, "end_int_data", -1)
        if self._base <= start <= self._limit and self._base <= end <= self._limit:
            return start - self._base, end - self._base
        return self.where(extent.start)[2], self.where(extent.end)[2]


@cache
def load() -> Any:
    """The clang.cindex module, with its library loaded; SdkError that names the remedy if it cannot be."""
    try:
        from clang import cindex

        cindex.conf.get_cindex_library()
    except ImportError as error:
        raise SdkError("the Python package libclang is missing", "pip install libclang==18.1.1") from error
    except Exception as error:  # LibclangError, OSError: the loader's own text says what it could not open
        raise SdkError(
            f"libclang cannot be loaded: {error}", "pip install --force-reinstall libclang==18.1.1"
        ) from error
    # Headers hold bytes that are no UTF-8, in literals and comments, which cindex would raise for.
    cindex.c_interop_string.value = property(_text)
    return cindex


def _text(string: c_char_p) -> str | None:
    """A string of libclang; a byte that is no UTF-8 is written as C writes it, as in \\xff."""
    raw: bytes | None = vars(c_char_p.__mro__[1])["value"].__get__(string)  # what cindex has put its own in front of
    return None if raw is None else raw.decode("utf-8", "backslashreplace")


@cache
def version() -> str:
    """libclang's own version line."""
    cindex = load()
    library = cindex.conf.lib
    function = library.clang_getClangVersion
    function.restype = cindex._CXString  # which frees itself; cindex's way to read one changed between its releases
    owner = function()
    text = library.clang_getCString(owner)
    return text.decode() if isinstance(text, bytes) else str(text)


@cache
def _index() -> Any:
    # One for the process: units of different indexes must not meet, and creating one costs as much as a small parse.
    with clean_environment():
        index = load().Index.create()
    # Its destructor calls into cindex, which must still be there.
    atexit.register(_index.cache_clear)
    return index


@contextmanager
def clean_environment() -> Iterator[None]:
    """Take away the variables that clang would obey, and give them back."""
    saved = {name: os.environ.pop(name) for name in ENVIRONMENT if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(saved)
