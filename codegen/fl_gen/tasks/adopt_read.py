"""Reads one source of a hand-written backend: its classes, what its functions call, and what it registers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ctypes import byref, c_uint
from dataclasses import dataclass
from typing import Any

from fl_gen.sdk import clang, tree
from fl_gen.sdk.clang import Message, Parsed
from fl_gen.sdk.items import SdkError
from fl_gen.tasks.adopt_files import device_words, without_launches
from fl_gen.tasks.adopt_values import Body, Complaint, EventUse, Facts, Pair, SdkCall, Subclass
from fl_gen.tasks.framework_surface import place_of, signature
from fl_gen.tasks.framework_tree import MAX_BYTES
from fl_gen.tasks.framework_units import Job, read_parsed, unit_arguments
from fl_gen.tasks.framework_values import Place, UnitRead

_METHOD, _CONSTRUCTOR, _DESTRUCTOR, _CONVERSION, _BASE, _MEMBER = 21, 24, 25, 26, 44, 102
_IF, _LOOPS, _LABELS, _INIT_LIST, _CASE, _LAMBDA = 205, (207, 208, 209, 225), (201, 203, 204), 119, 203, 144
_NULLS = (130, 131)  # nullptr, __null
_INTEGER, _UNARY, _BINARY = 106, 112, 114
_CLASSES = (tree.STRUCT, tree.CLASS, 31)
_FUNCTIONS = (tree.FUNCTION, _METHOD, _CONSTRUCTOR, _DESTRUCTOR, _CONVERSION, tree.FUNCTION_TEMPLATE)
_INTERNAL = 2  # linkage: 1 none, 2 internal, 3 unique external, 4 external
_WORD = re.compile(r"'([A-Za-z_]\w*)'")


@dataclass(frozen=True)
class Reading:
    """What a reader of backend sources needs; it travels to other processes.

    `own` are the backend's files, `sdk` the include folders of the SDK, `names` matches names that an SDK of this
    vendor would have. `statuses`, `stream` and `event` are the SDK's types, `dtypes` its constants for elements,
    `macros` those that register something at static initialisation, `data_type` the framework's enumeration of dtypes,
    `runtime` the headers of the SDK's runtime.
    """

    job: Job
    own: frozenset[str]
    sdk: tuple[str, ...]
    names: str
    statuses: frozenset[str]
    stream: str
    event: str
    dtypes: frozenset[str]
    macros: tuple[str, ...]
    data_type: str
    runtime: tuple[str, ...]


def read_source(reading: Reading, file: str) -> Facts:
    """What the source says. One that cannot be read at all says so."""
    job = reading.job
    try:
        with open(file, "rb") as stream:
            text = stream.read(MAX_BYTES).decode("utf-8", "replace")
        blank = without_launches(text)
        arguments = [*unit_arguments(job, file), *device_words(file, reading.runtime)]
        parsed = clang.parse(file, blank.encode(), arguments, job.tree.memory, precompile=True)
    except (SdkError, OSError) as error:
        return Facts(UnitRead(file, unread=str(error).splitlines()[0]))
    return _Reader(reading, file, blank, parsed).read()


class _Reader:
    def __init__(self, reading: Reading, file: str, text: str, parsed: Parsed) -> None:
        self._r = reading
        self._file = file
        self._text = text
        self._parsed = parsed
        self._bodies: list[Body] = []
        self._classes: list[Subclass] = []
        self._pairs: dict[Pair, None] = {}
        self._defines: set[str] = set()
        self._uses: set[str] = set()
        self._sdk: dict[str, bool] = {}

    def read(self) -> Facts:
        for cursor in tree.children(self._parsed.unit.cursor):
            if place_of(cursor).file in self._r.own:
                self._declaration(cursor)
        read = read_parsed(self._r.job, self._file, self._text, self._parsed)
        return Facts(
            read,
            tuple(self._bodies),
            tuple(self._classes),
            tuple(self._pairs),
            tuple(self._complaints()),
            tuple(self._registrations(read)),
            frozenset(self._defines),
            frozenset(self._uses),
        )

    # -- declarations ---------------------------------------------------------------------------------------------

    def _declaration(self, top: Any) -> None:
        stack = [top]
        while stack:
            cursor = stack.pop()
            number = tree.kind(cursor)
            if number in (tree.NAMESPACE_KIND, tree.LINKAGE):
                stack.extend(tree.children(cursor)[::-1])
            elif number in _CLASSES:
                if number != 31 and cursor.is_definition():
                    self._class(cursor)
                stack.extend(tree.children(cursor)[::-1])
            elif number in (*_FUNCTIONS, tree.VARIABLE) and cursor.is_definition():
                self._body(cursor)

    def _class(self, cursor: Any) -> None:
        bases = list(_bases(cursor, 0))
        if bases:
            methods = tuple(
                (signature(one), str(one.get_usr())) for one in tree.children(cursor) if tree.kind(one) == _METHOD
            )
            self._classes.append(Subclass(_qualified(cursor), tuple(bases), methods, place_of(cursor)))

    def _body(self, cursor: Any) -> None:
        usr = str(cursor.get_usr())
        place = place_of(cursor)
        kept = tree.kind(cursor) != tree.FUNCTION_TEMPLATE and cursor.linkage.value > _INTERNAL
        if kept and place.file == self._file:
            self._defines.add(usr)
        calls: list[SdkCall] = []
        callees: dict[str, None] = {}
        read: set[str] = set()
        held: list[tuple[str, SdkCall]] = []  # a status that a variable holds, by the variable
        events: dict[str, tuple[Any, list[tuple[str, Place]]]] = {}
        escaped: set[str] = set()
        stack: list[tuple[Any, Any, int, bool]] = [(cursor, None, 0, False)]
        while stack:
            one, parent, index, inside = stack.pop()
            number = tree.kind(one)
            if number == tree.CALL:
                call = self._sdk_call(one, parent, index)
                if call is not None:
                    calls.append(call)
                    inside = True
                    if parent is not None and tree.kind(parent) == tree.VARIABLE and self._is_status(parent.type):
                        held.append((str(parent.get_usr()), call))
                    for argument in one.get_arguments():
                        for inner in _references(argument):
                            known = str(inner.get_usr())
                            if known in events:
                                events[known][1].append((call.name, call.place))
                else:
                    inside = False
                if len(list(one.get_arguments())) <= 2:
                    self._pair(one)
            elif number in (_INIT_LIST, _CASE):
                self._pair(one)
            elif number == tree.VARIABLE and one != cursor and _bare(one.type.spelling) == self._r.event:
                if one.storage_class.value not in (3,) and place_of(one).file in self._r.own:
                    events.setdefault(str(one.get_usr()), (one, []))
            elif number in (tree.DECLARATION_REFERENCE, _MEMBER) and one.referenced is not None:
                target = one.referenced
                kind_, known = tree.kind(target), str(target.get_usr())
                if kind_ in _FUNCTIONS:
                    callees[known] = None
                if kind_ in (*_FUNCTIONS, tree.VARIABLE):
                    read.add(known)
                    self._uses.add(known)
                if known in events and not inside:
                    escaped.add(known)
            if number == tree.CALL and one.referenced is not None:
                callees[str(one.referenced.get_usr())] = None
                self._uses.add(str(one.referenced.get_usr()))
            below = list(enumerate(tree.children(one)))[::-1]
            if number == tree.UNEXPOSED_EXPRESSION:  # a conversion that nobody wrote
                stack.extend((child, parent, index, inside) for _, child in below)
            else:
                stack.extend((child, one, at, inside) for at, child in below)
        lost = {call.place for variable, call in held if variable not in read}
        calls = [SdkCall(c.name, c.place, c.dropped or c.place in lost, c.stream) for c in calls]
        uses = tuple(
            EventUse(variable.spelling, place_of(variable), tuple(given), key in escaped)
            for key, (variable, given) in events.items()
        )
        self._bodies.append(Body(usr, _qualified(cursor), place, tuple(calls), tuple(callees), uses))

    # -- calls ----------------------------------------------------------------------------------------------------

    def _sdk_call(self, cursor: Any, parent: Any, index: int) -> SdkCall | None:
        callee = cursor.referenced
        if callee is None or tree.kind(callee) not in (tree.FUNCTION, tree.FUNCTION_TEMPLATE):
            return None
        if not self._of_sdk(place_of(callee).file):
            return None
        place = _file_place(cursor.extent.start)
        dropped = self._is_status(cursor.type) and _is_statement(parent, index)
        stream = None
        for parameter, argument in zip(callee.get_arguments(), cursor.get_arguments(), strict=False):
            if _bare(parameter.type.spelling) == self._r.stream and _is_null(argument):
                stream = _file_place(argument.extent.start)
        return SdkCall(callee.spelling, place, dropped, stream)

    def _of_sdk(self, file: str) -> bool:
        if file not in self._sdk:
            self._sdk[file] = file.startswith(tuple(f"{folder}/" for folder in self._r.sdk))
        return self._sdk[file]

    def _is_status(self, type_: Any) -> bool:
        return _bare(type_.spelling) in self._r.statuses

    def _pair(self, cursor: Any) -> None:
        """`{DataType::kFLOAT64, mcclFloat32}`, `case DataType::kFLOAT64: return mcclFloat32;` and their like."""
        constants: list[tuple[bool, Any]] = []
        for one in tree.walk(cursor):
            if tree.kind(one) != tree.DECLARATION_REFERENCE or one.referenced is None:
                continue
            target = one.referenced
            if tree.kind(target) != tree.ENUM_CONSTANT:
                continue
            theirs = target.spelling in self._r.dtypes
            if theirs or _qualified(target.semantic_parent) == self._r.data_type:
                constants.append((theirs, one))
                if theirs or (len(constants) > 2 and tree.kind(cursor) != _CASE):
                    break
        last = len(constants) - 1
        if last < 1 or not constants[last][0]:
            return
        if tree.kind(cursor) != _CASE and last != 1:
            return
        constant = constants[last][1].referenced.spelling
        for _, one in constants[:last]:
            self._pairs[Pair(one.referenced.spelling, constant, _file_place(one.extent.start))] = None

    # -- what the compiler says -----------------------------------------------------------------------------------

    def _complaints(self) -> Iterator[Complaint]:
        names = re.compile(self._r.names)
        for message in self._parsed.errors:
            if message.place.file in self._r.own:
                place = Place(message.place.file, message.place.line, message.place.column)
                yield Complaint(place, message.text, self._about_sdk(message, names))

    def _about_sdk(self, message: Message, names: re.Pattern[str]) -> bool:
        if any(names.match(word) for word in _WORD.findall(message.text)):
            return True
        return any(self._of_sdk(place.file) for place, _ in message.notes)

    def _registrations(self, read: UnitRead) -> Iterator[tuple[str, Place]]:
        """Static registrations: a variable at namespace scope whose initialiser registers, by a macro of its own."""
        for one in read.registered:
            if one.place.file == self._file and not self._in_function(one.place):
                yield one.kernel, one.place
        pattern = r"^[ \t]*(" + "|".join(map(re.escape, self._r.macros)) + r")[ \t]*\(([^()]*)\)"
        for found in re.finditer(pattern, self._text, re.MULTILINE) if self._r.macros else ():
            line = self._text.count("\n", 0, found.start(1)) + 1
            column = len(self._text[self._text.rfind("\n", 0, found.start(1)) + 1 : found.start(1)].encode()) + 1
            place = Place(self._file, line, column)
            if not self._in_function(place):
                yield found.group(2).rpartition(",")[2].strip(), place

    def _in_function(self, place: Place) -> bool:
        return any(first <= place.line <= last for first, last in self._extents())

    def _extents(self) -> Sequence[tuple[int, int]]:
        if not hasattr(self, "_spans"):
            self._spans: list[tuple[int, int]] = []
            stack = [one for one in tree.children(self._parsed.unit.cursor) if place_of(one).file == self._file]
            while stack:
                one = stack.pop()
                if tree.kind(one) in (tree.NAMESPACE_KIND, tree.LINKAGE):
                    stack.extend(tree.children(one))
                elif tree.kind(one) in _FUNCTIONS and one.is_definition():
                    self._spans.append((one.extent.start.line, one.extent.end.line))
        return self._spans


def _is_statement(parent: Any, index: int) -> bool:
    """Whether a child of `parent` is a statement, so that its value goes nowhere."""
    if parent is None:
        return False
    number = tree.kind(parent)
    if number == tree.COMPOUND or number in _LOOPS:
        return number == tree.COMPOUND or index > 0
    return (number == _IF or number in _LABELS) and index > 0


def _is_null(expression: Any) -> bool:
    for one in (expression, *tree.walk(expression)):
        number = tree.kind(one)
        if number in _NULLS:
            return True
        if number == _INTEGER:
            return [token.spelling for token in one.get_tokens()][:1] in (["0"], ["NULL"], [])
        if number in (tree.DECLARATION_REFERENCE, _MEMBER, tree.CALL):
            return False
    return False


def _references(expression: Any) -> Iterator[Any]:
    for one in (expression, *tree.walk(expression)):
        if tree.kind(one) == tree.DECLARATION_REFERENCE and one.referenced is not None:
            yield one.referenced


def _bases(cursor: Any, depth: int) -> Iterator[str]:
    for child in tree.children(cursor):
        if tree.kind(child) == _BASE and depth < 8:
            base = child.type.get_canonical().get_declaration()
            if base is not None and tree.kind(base) in _CLASSES:
                yield _qualified(base)
                yield from _bases(base, depth + 1)


def _qualified(cursor: Any) -> str:
    """The name with all its scopes; an unnamed namespace is `(anonymous)`."""
    parts: list[str] = []
    while cursor is not None and tree.kind(cursor) not in (300, 350):  # the unit
        parts.append(cursor.spelling if cursor.spelling and not cursor.is_anonymous() else "(anonymous)")
        cursor = cursor.semantic_parent
    return "::".join(reversed(parts))


def _bare(text: str) -> str:
    return text.removeprefix("const ").rstrip("& ").removesuffix("const").strip().removeprefix("enum ")


def _file_place(location: Any) -> Place:
    """Where something stands; in a macro's argument, where the argument stands."""
    file, line, column, offset = clang.load().c_object_p(), c_uint(), c_uint(), c_uint()
    clang.load().conf.lib.clang_getFileLocation(location, byref(file), byref(line), byref(column), byref(offset))
    name = clang.load().File(file).name if file else ""
    return Place(str(name), line.value, column.value)
