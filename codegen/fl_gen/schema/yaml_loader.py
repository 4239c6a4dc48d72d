"""A YAML file to a tree of located nodes: strict, bounded, and never anything but SchemaError on bad input.

Taken from YAML: mappings, sequences and scalars. Refused: what hides meaning or costs without bound (aliases, tags,
merge keys, directives, several documents, deep nesting, control and bidirectional characters) and what other tools
read silently in another way (duplicate keys, keys that are not text).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import yaml

from .errors import SchemaError, quote
from .location import Location
from .nodes import Mapping, Node, Scalar, Sequence
from .source import Source

MAX_BYTES = 4 << 20  # bytes of one file
MAX_DEPTH = 64  # nested collections
MAX_NODES = 250_000  # parse events of one file: a scalar is one, a collection two
_TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
MAX_PROBLEMS = 50  # diagnostics of one file before reading stops

# C0 and C1 controls, line separators that editors do not count, lone surrogates, non-characters, a byte order mark
# inside the text, and the bidirectional controls that make code look like other code than it is.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)

_REMEDIES = (
    ("mapping values are not allowed", "put text that holds ': ' in quotes, or correct the indentation"),
    ("could not find expected ':'", "a key needs ': ' behind it; put text with special characters in quotes"),
    ("found unexpected end of stream", "close the quote, bracket or brace that is still open"),
    ("that cannot start any token", "put text that begins with @, `, % or another special character in quotes"),
    ("while parsing a flow", "close the bracket or brace, and put commas between its items"),
    ("while scanning a double-quoted scalar", "write a backslash in double quotes twice, or use single quotes"),
    ("expected <block end>", "check the indentation: items of one list or map begin in one column"),
)


def load(path: str | os.PathLike[str], name: str | None = None, via: Location | None = None) -> Node:
    """The root node of a YAML file; `name` is the path that messages show (default: the path as given), `via` what
    brought the file in.

    Raises SchemaError with everything that is wrong with it.
    """
    shown = name if name is not None else os.fspath(path)
    return loads(_read(Path(path), shown), shown, via)


def loads(data: str | bytes, name: str = "<text>", via: Location | None = None) -> Node:
    """The root node of YAML text, as `load`."""
    source = Source(name, _decode(data, name), via)
    bad = _FORBIDDEN.search(source.text)
    if bad:
        character = f"U+{ord(bad.group()):04X}"
        raise _failure(source, source.locate(bad.start()), f"the character {character} is not allowed in a schema file",
                       "remove it; in C++ text write it as an escape", "yaml-character")  # fmt: skip
    try:
        return _Composer(source).document()
    except yaml.YAMLError as error:
        _raise_syntax(source, error)


def _read(path: Path, shown: str) -> bytes:
    """The bytes of a regular file of at most MAX_BYTES."""
    source = Source(shown, "")
    start = Location(shown)
    try:
        mode = os.stat(path)
        if stat.S_ISDIR(mode.st_mode):
            raise _failure(source, start, "this is a folder, not a schema file", "name the YAML file in it", "file")
        if not stat.S_ISREG(mode.st_mode):
            raise _failure(source, start, "this is not a regular file", "put a YAML file in its place", "file")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise _failure(source, start, "no such file", "check the path", "file") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise _failure(source, start, f"cannot be read: {reason}", "mend that, and run again", "file") from None
    return data


def _decode(data: str | bytes, name: str) -> str:
    """UTF-8 text without its byte order mark."""
    too_big = len(data) > MAX_BYTES
    if too_big or (isinstance(data, bytes) and data[:2] in (b"\xff\xfe", b"\xfe\xff")):
        message = f"the file is larger than {MAX_BYTES >> 20} MiB" if too_big else "the file is not UTF-8 but UTF-16"
        hint = "split it into several files" if too_big else "save it as UTF-8"
        raise _failure(Source(name, ""), Location(name), message, hint, "file")
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The error counts from behind the byte order mark when there is one.
        body = data.removeprefix(b"\xef\xbb\xbf")
        good = body[: error.start].decode("utf-8", "replace")
        source = Source(name, good)
        byte = body[error.start] if error.start < len(body) else 0
        raise _failure(source, source.locate(len(good)), f"the byte 0x{byte:02x} is not UTF-8",
                       "save the file as UTF-8", "yaml-encoding") from None  # fmt: skip


def _failure(source: Source, location: Location, message: str, hint: str | None, rule: str) -> SchemaError:
    return SchemaError([source.diagnostic(location, message, hint, rule=rule)])


def _raise_syntax(source: Source, error: yaml.YAMLError) -> NoReturn:
    """A parser's complaint as a diagnostic with a remedy."""
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be parsed")
    context = str(getattr(error, "context", None) or "")
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    position = getattr(error, "position", None)
    if mark is not None:
        location = source.at(mark.line, mark.column)
    else:
        location = (
            source.locate(min(position, len(source.text))) if isinstance(position, int) else Location(source.name)
        )
    text = f"{context}: {problem}" if context else problem
    hint = next((remedy for words, remedy in _REMEDIES if words in text), None)
    if "cannot start any token" in text and source.line(location.line)[location.column - 1 :].startswith("\t"):
        text, hint = "a tab where only spaces may indent", "indent with spaces"
    if "exceeded maximum nesting" in text:  # libyaml looks ahead and meets its own, higher, limit first
        raise _failure(source, location, _TOO_DEEP, "make it flatter", "yaml-depth") from None
    raise _failure(source, location, f"not valid YAML: {text}", hint, "yaml-syntax") from None


def _reader(text: str) -> Callable[[], Any]:
    """Gives one parse event per call: from libyaml when PyYAML was built with it, else from its Python parser (some 20
    times slower)."""
    if yaml.__with_libyaml__:
        from yaml._yaml import CParser

        parser: Any = CParser(text)
        read: Callable[[], Any] = parser.get_event
        return read
    return iter(yaml.parse(text, Loader=yaml.SafeLoader)).__next__


class _Composer:
    """Builds the nodes of one document from parse events, without recursion."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.problems: list[Any] = []

    def problem(self, event: Any, message: str, hint: str, rule: str, length: int = 1) -> None:
        """Note what is wrong at an event; give up when there is too much of it."""
        at = self.source.at(event.start_mark.line, event.start_mark.column)
        self.problems.append(self.source.diagnostic(at, message, hint, rule=rule, length=length))
        if len(self.problems) >= MAX_PROBLEMS:
            raise SchemaError(self.problems)

    def document(self) -> Node:
        """The only document of the source."""
        source = self.source
        root: Node | None = None
        node: Node
        stack: list[Mapping | Sequence] = []
        keys: list[Scalar | None] = []  # per open collection the key that waits for its value
        read, nodes = _reader(source.text), 0
        while True:
            event = read()
            kind = type(event)
            nodes += 1
            if nodes > MAX_NODES:
                self.problem(
                    event, f"more than {MAX_NODES} values in one file", "split it into several files", "yaml-size"
                )
                raise SchemaError(self.problems)
            if kind is yaml.ScalarEvent:
                start, end = event.start_mark, event.end_mark
                node = scalar = Scalar(
                    source, start.line, start.column, start.index, end.index, event.value, event.style
                )
                if event.anchor is not None or event.tag is not None:
                    self.refuse_properties(event)
                if event.style == '"' and _FORBIDDEN.search(event.value):
                    self.refuse_escape(scalar)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                if len(stack) >= MAX_DEPTH:
                    self.problem(event, _TOO_DEEP, "make it flatter", "yaml-depth")
                    raise SchemaError(self.problems)
                start = event.start_mark
                opened: Mapping | Sequence = (Mapping if kind is yaml.MappingStartEvent else Sequence)(
                    source, start.line, start.column
                )
                if event.anchor is not None or event.tag is not None:
                    self.refuse_properties(event)
                stack.append(opened)
                keys.append(None)
                continue
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                node = stack.pop()
                keys.pop()
            elif kind is yaml.AliasEvent:
                self.problem(event, f"aliases are not supported (*{event.anchor})", "write the value out", "yaml-alias")
                start, end = event.start_mark, event.end_mark
                node = Scalar(source, start.line, start.column, start.index, end.index, "", None)
            elif kind is yaml.StreamEndEvent:
                break
            else:
                self.between(event, root)
                continue
            if not stack:
                root = node
                continue
            top = stack[-1]
            if isinstance(top, Sequence):
                top.items.append(node)
                continue
            waiting = keys[-1]
            if waiting is None:
                keys[-1] = self.key(node)
            else:
                self.add(top, waiting, node)
                keys[-1] = None
        if self.problems:
            raise SchemaError(self.problems)
        if root is None or (isinstance(root, Scalar) and root.kind == "null"):
            raise _failure(
                source, Location(source.name), "the file is empty", "it must hold a map of keys", "yaml-empty"
            )
        return root

    def between(self, event: Any, root: Node | None) -> None:
        """Stream and document events: one document without directives."""
        if type(event) is not yaml.DocumentStartEvent:
            return
        if event.version or event.tags:
            self.problem(
                event, "directives (%) are not supported", "remove the line that begins with %", "yaml-directive"
            )
        if root is not None:
            self.problem(event, "a second document begins here", "keep one document in a file", "yaml-documents", 3)
            raise SchemaError(self.problems)

    def refuse_properties(self, event: Any) -> None:
        if event.anchor is not None:
            self.problem(event, f"anchors are not supported (&{event.anchor})", "write the value out", "yaml-alias")
        if event.tag is not None:
            self.problem(event, f"tags are not supported ({event.tag})", "remove the tag", "yaml-tag")

    def refuse_escape(self, node: Scalar) -> None:
        found = _FORBIDDEN.search(node.value)
        if found:
            at = node.locate(found.start())
            message = f"the character U+{ord(found.group()):04X} is not allowed in a schema file"
            self.problems.append(
                self.source.diagnostic(at, message, "in C++ text double the backslash", rule="yaml-character")
            )

    def key(self, node: Node) -> Scalar:
        """A mapping's key: text, not a value of another type and not a merge key."""
        hint = "write a plain word, or put the key in quotes"
        if not isinstance(node, Scalar):
            self.reject_key(node, "a key must be text", hint)
            return Scalar(self.source, node.line, node.column, 0, 0, "", None)
        if node.style == "" and node.value == "<<":
            self.reject_key(node, "merge keys (<<) are not supported", "write the keys out")
        elif node.kind != "str":
            shown = quote(node.value) if node.value else "nothing"
            self.reject_key(node, f"a key must be text, not {shown}", hint)
        return node

    def reject_key(self, node: Node, message: str, hint: str) -> None:
        self.problems.append(self.source.diagnostic(node.location, message, hint, rule="yaml-key"))
        if len(self.problems) >= MAX_PROBLEMS:
            raise SchemaError(self.problems)

    def add(self, mapping: Mapping, key: Scalar, value: Node) -> None:
        first = mapping.keys.get(key.value)
        if first is None:
            mapping.keys[key.value] = key
            mapping.values[key.value] = value
            return
        self.problems.append(
            self.source.diagnostic(
                key.location,
                f"duplicate key {quote(key.value)}",
                "remove or rename one of the two",
                rule="duplicate-key",
                length=len(key.value),
                related=(self.source.related(first.location, "the first one is here"),),
            )
        )
        if len(self.problems) >= MAX_PROBLEMS:
            raise SchemaError(self.problems)
