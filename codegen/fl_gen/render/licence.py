"""A licence header: a user's text as a comment at the top of every file that is made, above fl-gen's own marker."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path, PurePosixPath

from fl_gen.render.infinitrain import MARKER
from fl_gen.schema.errors import Diagnostic, FlGenError, SchemaError, split_lines
from fl_gen.schema.location import Location
from fl_gen.schema.paths import shown

_MAX_BYTES = 64 << 10  # the longest licences are half of it; the text stands in every file
# Control characters except tab, and those that hide text or show it in another order.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
_CXX = "// {}"
_CXX_SUFFIXES = (".hh", ".hpp", ".cpp", ".cxx", ".c", ".cuh")  # of what a user's templates make
_ENCODING = re.compile(r"coding[:=][ \t]*[-\w.]")  # what Python takes for the encoding of a file, in its first lines


def read_licence(path: Path) -> str:
    """The text of a licence file, with LF line ends and without blank lines around it.

    Raises FlGenError for a file that cannot be read, and SchemaError for a text that can be no comment.
    """
    name = shown(path)
    text = _decode(_read(path, name), name)
    problems = []
    for number, line in enumerate(split_lines(text), start=1):
        found = _FORBIDDEN.search(line)
        if found is not None:
            message = f"the character U+{ord(found.group()):04X} is not allowed in a licence header"
            problems.append(_problem(name, number, found.start() + 1, message, "remove it", line))
        if line.rstrip().endswith("\\"):
            message = "a comment that ends in a backslash would swallow the next line"
            problems.append(_problem(name, number, len(line.rstrip()), message, "end the line in another way", line))
        coding = _ENCODING.search(line) if number <= 2 else None
        if coding is not None:
            message = "Python would take this for the encoding of its source files"
            problems.append(_problem(name, number, coding.start() + 1, message, "put it behind the second line", line))
    if problems:
        raise SchemaError(problems)
    lines = [line.rstrip() for line in split_lines(text)]
    result = "\n".join(lines).strip("\n")
    if not result:
        raise FlGenError(f"{name}:1:1: the licence file is empty\n  = write the text in it, or leave the licence out")
    return result


def with_licence(path: str, text: str, licence: str | None, device: str | None = None) -> str:
    """The text of the file `path` under the licence; as it is when the file can hold no comment.

    `device` is the suffix of the vendor's device sources, which are C++ for the eye.
    """
    suffix = PurePosixPath(path).suffix
    style = MARKER.get(suffix) or (_CXX if suffix and suffix in (device, *_CXX_SUFFIXES) else None)
    if licence is None or style is None:
        return text
    head = "\n".join(style.format(line).rstrip() for line in licence.split("\n"))
    if text.startswith("#!"):
        first, _, rest = text.partition("\n")
        return f"{first}\n{head}\n\n{rest}"
    return f"{head}\n\n{text}"


def licence_lines(path: str, licence: str | None, device: str | None = None) -> int:
    """How many lines `with_licence` puts into the file."""
    return with_licence(path, "", licence, device).count("\n")


def _read(path: Path, name: str) -> bytes:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FlGenError(f"{name}: a licence must be a regular file\n  = name a text file")
        with open(path, "rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise FlGenError(f"{name}: the licence cannot be read: {reason}\n  = name a text file that is there") from error
    if len(data) > _MAX_BYTES:
        raise FlGenError(
            f"{name}: the licence is larger than {_MAX_BYTES >> 10} KiB, and it stands in every generated file\n"
            "  = write a short header that names the licence"
        )
    return data


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        good = data.removeprefix(b"\xef\xbb\xbf")[: error.start].decode("utf-8", "replace")
        lines = split_lines(good)
        message = f"the byte 0x{error.object[error.start]:02x} is not UTF-8"
        raise SchemaError(
            [_problem(name, len(lines), len(lines[-1]) + 1, message, "save the file as UTF-8", lines[-1])]
        ) from error


def _problem(name: str, line: int, column: int, message: str, hint: str, excerpt: str) -> Diagnostic:
    return Diagnostic(Location(name, line, column), message, hint, excerpt=excerpt, rule="licence")
