"""Reads one source of a framework: the kernels that it registers, and the calls of kernels by name in it.

A dispatcher is type-erased: a call's function type is made from the types of its arguments, taken by value, and nothing
compares it with the function that was registered. The abstract syntax tree has both: the specialisation that a call
refers to, and the function that a registration names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fl_gen.schema.framework_parts import DispatchCall
from fl_gen.sdk import clang, tree
from fl_gen.sdk.clang import Parsed
from fl_gen.sdk.items import SdkError
from fl_gen.tasks.framework_surface import cxx_type, place_of, signature
from fl_gen.tasks.framework_tree import Tree
from fl_gen.tasks.framework_values import Argument, CallSite, CxxType, Place, Registered, UnitRead

_METHOD, _STRING = 21, 109
_FUNCTIONS = (tree.FUNCTION, _METHOD)
_PREFIX = "/__fl_gen_check__/prefix.h"
_UNKNOWN = CxxType("", "")


@dataclass(frozen=True)
class Job:
    """What a reader of sources needs; it travels to other processes. `precompiled` is a file, empty for none."""

    tree: Tree
    dispatch: tuple[DispatchCall, ...]
    precompiled: str = ""


def precompile(source: Tree, target: str) -> None:
    """Write the headers that most sources include, precompiled, to `target`. Errors in them are the sources' own."""
    names = [*source.common, *source.headers]
    lines = [f"#if __has_include(<{name}>)\n#include <{name}>\n#endif\n" for name in names]
    arguments = ["-x", "c++-header", *source.flags]
    clang.save(clang.parse(_PREFIX, "".join(lines).encode(), arguments, source.memory, precompile=True), target)


def trivial_types(job: Job, types: Sequence[str]) -> dict[str, bool]:
    """For each canonical type whether it travels in registers, as it is; others are passed by a hidden reference."""
    lines = [f'#include "{path}"' for path in job.tree.headers]
    first = len(lines)
    lines += [f"enum {{ fl_gen_{n} = __is_trivially_copyable({one}) }};" for n, one in enumerate(types)]
    parsed = clang.parse(_PREFIX, "\n".join([*lines, ""]).encode(), unit_arguments(job, ""), job.tree.memory)
    bad = {message.place.line - first - 1 for message in parsed.errors if message.place.file == _PREFIX}
    found: dict[str, bool] = {}
    for cursor in tree.children(parsed.unit.cursor):
        if tree.kind(cursor) == tree.ENUM and tree.place(cursor)[0] == _PREFIX:
            for constant in tree.children(cursor):
                number = int(constant.spelling.rpartition("_")[2])
                if number not in bad:
                    found[types[number]] = bool(constant.enum_value)
    return found


def read_unit(job: Job, file: str) -> UnitRead:
    """The registrations and calls in a source. One that cannot be read says so."""
    try:
        text = job.tree.text(file)
        # Parsed as a beginning of a unit: libclang then leaves out the instantiations at its end, half of the time.
        parsed = clang.parse(file, text, unit_arguments(job, file), job.tree.memory, precompile=True)
    except (SdkError, OSError) as error:
        return UnitRead(file, unread=str(error).splitlines()[0])
    return read_parsed(job, file, text.decode("utf-8", "replace"), parsed)


def read_parsed(job: Job, file: str, text: str, parsed: Parsed) -> UnitRead:
    """`read_unit` of a source that is parsed already."""
    return _Reader(job, file, text, parsed).read()


def unit_arguments(job: Job, file: str) -> list[str]:
    own = ["-include-pch", job.precompiled] if job.precompiled else []
    return [*own, *job.tree.flags_of(file)]


class _Reader:
    """Walks one parsed source."""

    def __init__(self, job: Job, file: str, text: str, parsed: Parsed) -> None:
        self._roles = {(call.type, call.method): call.role for call in job.dispatch}
        self._methods = {call.method for call in job.dispatch}
        self._macros = job.tree.macros
        self._file = file
        self._text = text
        self._parsed = parsed
        self._registered: list[Registered] = []
        self._calls: list[CallSite] = []
        self._seen: set[int] = set()  # lines that belong to a call that was met

    def read(self) -> UnitRead:
        for cursor in tree.children(self._parsed.unit.cursor):
            if tree.place(cursor)[0] != self._file:
                continue
            for inner in (cursor, *tree.walk(cursor)):
                if tree.kind(inner) == tree.CALL and inner.spelling in self._methods:
                    self._call(inner)
        in_kernel = bool(self._registered)
        calls = [*self._calls, *self._unmet()]
        return UnitRead(
            self._file,
            tuple(self._registered),
            tuple(replace(call, in_kernel=in_kernel) for call in calls),
            tuple(self._lost()),
        )

    def _lost(self) -> Iterator[tuple[Place, str]]:
        """Uses of a registering macro without a registration: behind an error, or left out by the preprocessor."""
        known = {one.place.line for one in self._registered}
        plain = _DIRECTIVE.sub(_blank, _without_comments(self._text))
        for found in re.finditer(r"^[ \t]*(" + "|".join(sorted(self._macros)) + r")[ \t]*\(", plain, re.MULTILINE):
            first = plain.count("\n", 0, found.start(1)) + 1
            fault = self._error_in(self._file, first, first + _extent(plain, found.end() - 1))
            if first not in known and first not in self._seen:
                column = len(plain[plain.rfind("\n", 0, found.start(1)) + 1 : found.start(1)].encode()) + 1
                yield Place(self._file, first, column), fault or self._first_error()

    def _role(self, cursor: Any) -> str | None:
        """What a call expression does with a kernel's name; None if it is no call of the kernel table's."""
        callee = cursor.referenced
        if callee is None or tree.kind(callee) != _METHOD:
            return None
        owner = callee.semantic_parent
        return self._roles.get((owner.spelling if owner is not None else "", callee.spelling))

    def _call(self, cursor: Any) -> None:
        role = self._role(cursor)
        if role == "register":
            self._registration(cursor)
        elif role in ("call", "call_found"):
            self._seen.update(range(cursor.extent.start.line, cursor.extent.end.line + 1))
            self._calls.append(self._site(cursor, role))

    def _registration(self, cursor: Any) -> None:
        key, *rest = list(cursor.get_arguments())
        names = tuple(_literals(key))
        if len(names) != 1 or not rest:
            return
        devices = [
            one.referenced.spelling
            for one in tree.walk(key)
            if tree.kind(one) == tree.DECLARATION_REFERENCE
            and one.referenced is not None
            and tree.kind(one.referenced) == tree.ENUM_CONSTANT
        ]
        function, why = None, "what is registered is no function that can be named"
        for one in (rest[0], *tree.walk(rest[0])):
            if tree.kind(one) == tree.DECLARATION_REFERENCE and one.referenced is not None:
                callee = one.referenced
                if tree.kind(callee) in _FUNCTIONS:
                    function, why = self._function(callee)
                    break
        self._registered.append(
            Registered(names[0], devices[0] if len(devices) == 1 else None, function, place_of(cursor), why)
        )

    def _function(self, cursor: Any) -> tuple[Any, str]:
        """The signature of a registered function, unless the compiler met an error in it."""
        ends = [one.extent.end.line for one in cursor.get_arguments()]
        first, last = cursor.extent.start.line, max([cursor.location.line, *ends])
        fault = self._error_in(place_of(cursor).file, first, last)
        return (None, fault) if fault else (signature(cursor), "")

    def _error_in(self, file: str, first: int, last: int) -> str:
        for message in self._parsed.errors:
            if message.place.file == file and first <= message.place.line <= last:
                return f"the compiler says there: {message.text}"
        return ""

    def _first_error(self) -> str:
        for message in self._parsed.errors:
            if message.place.file == self._file:
                return f"the compiler says at line {message.place.line}: {message.text}"
        return "the preprocessor leaves it out"

    def _site(self, cursor: Any, role: str) -> CallSite:
        callee = cursor.referenced
        given = list(cursor.get_arguments())
        types = list(callee.type.argument_types())
        key = given[0] if role == "call" and given else None
        if key is None:
            found = self._lookup(cursor)
            key = next(iter(list(found.get_arguments())), None) if found is not None else None
        if role == "call":
            given, types = given[1:], types[1:]
        names = tuple(_literals(key)) if key is not None else ()
        why = "" if names else "the kernel's name is not written at the call"
        why = self._error_in(self._file, cursor.extent.start.line, cursor.extent.end.line) or why
        arguments = tuple(Argument(cxx_type(type_), _start(one)) for one, type_ in zip(given, types, strict=False))
        return CallSite(names, cxx_type(callee.result_type), arguments, self._where(cursor), why_not=why)

    def _where(self, cursor: Any) -> Place:
        """Where the method's name stands in a call, which is what a person looks for."""
        for child in tree.children(cursor)[:1]:
            place = place_of(child)
            if place.file == self._file:
                return place
        return _start(cursor)

    def _lookup(self, cursor: Any) -> Any:
        """The lookup whose result a call is made on: in the same expression, or in the variable's initialiser."""
        members = tree.children(cursor)[:1]
        for one in [inner for member in members for inner in (member, *tree.walk(member))]:
            number = tree.kind(one)
            if number == tree.CALL and self._role(one) == "lookup":
                return one
            if number == tree.DECLARATION_REFERENCE and one.referenced is not None:
                if tree.kind(one.referenced) != tree.VARIABLE:
                    continue
                for inner in tree.walk(one.referenced):
                    if tree.kind(inner) == tree.CALL and self._role(inner) == "lookup":
                        return inner
        return None

    def _unmet(self) -> Iterator[CallSite]:
        """Calls in the text that the compiler could not make sense of: in templates, or behind errors."""
        methods = {method for (_, method), role in self._roles.items() if role in ("call", "call_found")}
        types = {type_ for type_, _ in self._roles}
        pattern = re.compile(r"(?:\.|->)\s*(?:template\s+)?(" + "|".join(sorted(methods)) + r")\s*<")
        if not any(type_ in self._text for type_ in types):
            return
        plain = _without_comments(self._text)
        for found in pattern.finditer(plain):
            line = plain.count("\n", 0, found.start(1)) + 1
            if line in self._seen:
                continue
            column = len(plain[plain.rfind("\n", 0, found.start(1)) + 1 : found.start(1)].encode()) + 1
            why = (
                self._error_in(self._file, line, line) or "its types depend on a template's parameters, or on an error"
            )
            yield CallSite((), _UNKNOWN, (), Place(self._file, line, column), why_not=why)


def _literals(cursor: Any) -> Iterator[str]:
    """The string literals of a key: in the expression, else in the initialisers of the variables that it names."""
    found = [one.spelling[1:-1] for one in (cursor, *tree.walk(cursor)) if tree.kind(one) == _STRING]
    if not found:
        named = [one.referenced for one in tree.walk(cursor) if tree.kind(one) == tree.DECLARATION_REFERENCE]
        variables = [one for one in named if one is not None and tree.kind(one) == tree.VARIABLE]
        found = [
            one.spelling[1:-1] for variable in variables for one in tree.walk(variable) if tree.kind(one) == _STRING
        ]
    yield from dict.fromkeys(found)


def _extent(text: str, opening: int) -> int:
    """How many lines the bracket at an offset spans beyond its own; none if it is never closed."""
    depth = 0
    for index in range(opening, len(text)):
        if text[index] == "(":
            depth += 1
        elif text[index] == ")":
            depth -= 1
            if depth == 0:
                return text.count("\n", opening, index)
    return 0


def _start(cursor: Any) -> Place:
    start = cursor.extent.start
    return Place(start.file.name if start.file else "", start.line, start.column)


_COMMENTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\r?\n)*[^\n]*", re.MULTILINE)


def _without_comments(text: str) -> str:
    """The text with comments and string literals blanked out; lines and columns stay."""
    return _COMMENTS.sub(_blank, text)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n\\]", " ", found.group())
