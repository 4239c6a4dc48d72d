"""Reads an SDK's headers into an `Sdk` model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import clang, tree
from .clang import Parsed
from .faults import HeaderTrouble, header_error
from .model import Declared, Enum, Enumerator, Function, Macro, Parameter, Record, RecordField, Sdk, Typedef
from .reads import headers_read
from .shims import Shims, tiers
from .unit import MAIN_FILE, Unit, build

_MACRO = 501
_RECORDS = {tree.STRUCT: "struct", tree.UNION: "union", tree.CLASS: "class"}
_AVAILABILITY = {0: "available", 1: "deprecated"}
_FUNCTION_TYPE = (110, 111)  # FunctionNoProto, FunctionProto


def read_sdk(
    headers: Sequence[str],
    include_dirs: Sequence[object],
    shims: Shims | Sequence[Shims] | None = None,
    *,
    memory: Mapping[str, str] | None = None,
    macros: bool = True,
) -> Sdk:
    """The model of what `headers` declare, the compiler's own headers left out.

    SdkHeaderError if they do not parse. `macros=False` leaves macros out, which saves evaluating them.
    """
    folders = tuple(str(folder) for folder in include_dirs)
    files = dict(memory or {})
    sets = tiers() if shims is None else (shims,) if isinstance(shims, Shims) else tuple(shims)
    unit = build(headers, [], {})
    troubles = []
    for one in sets:
        parsed = _parse(unit.text, folders, files, one, detailed=macros)
        if parsed.errors:
            troubles.append(HeaderTrouble(parsed.errors, unit, parsed))
            continue
        read = headers_read(parsed, headers, folders, files, one)
        own = {header.path: header.name for header in read if header.sdk}
        found = _read_macros(parsed, own, unit, folders, files, one) if macros else {}
        model = read_tree(parsed, own.get)
        return Sdk(**{**vars(model), "macros": found, "headers": read, "resource_headers": str(one)})
    raise header_error(troubles, folders)


def read_tree(parsed: Parsed, name_of: Callable[[str], str | None]) -> Sdk:
    """The model of a parsed unit without macros; `name_of` gives the name of an SDK header by path, None for others."""
    reader = Reader(name_of)
    for cursor in tree.declarations(tree.children(parsed.unit.cursor)):
        reader.take(cursor)
    return Sdk(
        functions=reader.functions,
        enums=reader.enums,
        anonymous_enums=tuple(reader.anonymous),
        typedefs=reader.typedefs,
        records=reader.records,
        macros={},
        enumerators=reader.enumerators,
    )


def _parse(text: bytes, folders: Sequence[str], files: Mapping[str, str], shims: Shims, detailed: bool) -> Parsed:
    arguments = [part for folder in (*folders, *shims.dirs) for part in ("-isystem", folder)]
    return clang.parse(MAIN_FILE, text, arguments, {**shims.files, **files}, detailed)


class Reader:
    """Collects declarations cursor by cursor; `name_of` gives an SDK header's name by path, None for other files."""

    def __init__(self, name_of: Callable[[str], str | None]) -> None:
        self._name_of = name_of
        self._names: dict[str, str | None] = {}
        self.functions: dict[str, Function] = {}
        self.enums: dict[str, Enum] = {}
        self.enumerators: dict[str, Enumerator] = {}
        self.anonymous: list[Enum] = []
        self.typedefs: dict[str, Typedef] = {}
        self.records: dict[str, Record] = {}

    def take(self, cursor: Any) -> None:
        number = tree.kind(cursor)
        if number not in _TAKEN:
            return
        at = self._at(cursor)
        if at is None:
            return
        if number in (tree.FUNCTION, tree.FUNCTION_TEMPLATE):
            self._function(cursor, at, number == tree.FUNCTION_TEMPLATE)
        elif number == tree.ENUM:
            self._enum(cursor, at)
        elif number in (tree.TYPEDEF, tree.TYPE_ALIAS):
            under = cursor.underlying_typedef_type
            self.typedefs.setdefault(
                cursor.spelling, Typedef(cursor.spelling, under.spelling, _canonical(under), _availability(cursor), at)
            )
        else:
            self._record(cursor, at, _RECORDS[number])

    def _at(self, cursor: Any) -> Declared | None:
        file, line = tree.place(cursor)
        if file not in self._names:
            self._names[file] = self._name_of(file) if file and file != MAIN_FILE else None
        name = self._names[file]
        return Declared(name, line) if name is not None else None

    def _function(self, cursor: Any, at: Declared, template: bool) -> None:
        name = cursor.spelling
        if template:
            arguments = [child for child in tree.children(cursor) if tree.kind(child) == tree.PARAMETER]
        else:
            arguments = list(cursor.get_arguments())
        result = cursor.result_type
        variadic = not template and cursor.type._kind_id in _FUNCTION_TYPE[1:] and cursor.type.is_function_variadic()
        function = Function(
            name=name,
            returns=result.spelling,
            canonical_returns=_canonical(result),
            params=tuple(Parameter(a.spelling, a.type.spelling, _canonical(a.type)) for a in arguments),
            variadic=variadic,
            availability=_availability(cursor),
            at=at,
            template=template,
        )
        first = self.functions.get(name)
        if first is None:
            self.functions[name] = function
        elif function.canonical not in {first.canonical, *(other.canonical for other in first.overloads)}:
            self.functions[name] = Function(**{**vars(first), "overloads": (*first.overloads, function)})

    def _enum(self, cursor: Any, at: Declared) -> None:
        # Only declarations at namespace scope are read: below its typedef, a typedef'd enum would be met a second time.
        if not cursor.is_definition():
            return
        values = []
        for child in tree.children(cursor):
            if tree.kind(child) == tree.ENUM_CONSTANT:
                values.append(Enumerator(child.spelling, child.enum_value, _availability(child), self._at(child) or at))
        self.enumerators.update((value.name, value) for value in values if value.name not in self.enumerators)
        anonymous = cursor.is_anonymous()
        enum = Enum("" if anonymous else cursor.spelling, tuple(values), _canonical(cursor.enum_type), at)
        if anonymous:
            self.anonymous.append(enum)
        else:
            self.enums.setdefault(enum.name, enum)

    def _record(self, cursor: Any, at: Declared, kind: str) -> None:
        if cursor.is_anonymous():
            return
        name, complete = cursor.spelling, cursor.is_definition()
        known = self.records.get(name)
        if known is not None and (known.size is not None or not complete):
            return
        fields = tuple(
            RecordField(child.spelling, child.type.spelling, _canonical(child.type))
            for child in tree.children(cursor)
            if tree.kind(child) == tree.FIELD
        )
        size = cursor.type.get_size() if complete else -1
        self.records[name] = Record(name, kind, fields, size if size >= 0 else None, at)


_TAKEN = {tree.FUNCTION, tree.FUNCTION_TEMPLATE, tree.ENUM, tree.TYPEDEF, tree.TYPE_ALIAS, *_RECORDS}


def _canonical(type_: Any) -> str:
    return str(type_.get_canonical().spelling)


def _availability(cursor: Any) -> str:
    try:
        return _AVAILABILITY.get(cursor.availability.value, "unavailable")
    except ValueError:  # a kind of availability that this cindex does not know
        return "available"


def _read_macros(
    parsed: Parsed, own: Mapping[str, str], unit: Unit, folders: Sequence[str], files: Mapping[str, str], shims: Shims
) -> dict[str, Macro]:
    """The object-like macros of the SDK's headers, with values where they are integer constants."""
    is_function_like = clang.load().conf.lib.clang_Cursor_isMacroFunctionLike
    found: dict[str, Macro] = {}
    for cursor in tree.children(parsed.unit.cursor):
        if tree.kind(cursor) != _MACRO:
            continue
        file, line = tree.place(cursor)
        if file in own and not is_function_like(cursor):
            words = [token.spelling for token in cursor.get_tokens()][1:]
            found[cursor.spelling] = Macro(cursor.spelling, " ".join(words), None, Declared(own[file], line))
    return _evaluate(found, unit, folders, files, shims)


def _evaluate(
    macros: Mapping[str, Macro], unit: Unit, folders: Sequence[str], files: Mapping[str, str], shims: Shims
) -> dict[str, Macro]:
    """Give each macro its value through an enumerator of its own, so that one that is no constant spoils no other."""
    names = [name for name, macro in macros.items() if macro.text and _is_plain(macro.text)]
    text = unit.text + b"".join(f"enum {{ fl_probe_value_{n} = ({name}) }};\n".encode() for n, name in enumerate(names))
    parsed = _parse(text, folders, files, shims, detailed=False)
    first_line = unit.text.count(b"\n") + 1
    faulty = {m.place.line - first_line for m in parsed.errors if m.place.file == MAIN_FILE}
    values: dict[str, int] = {}
    for cursor in tree.children(parsed.unit.cursor):
        if tree.kind(cursor) != tree.ENUM or tree.place(cursor)[0] != MAIN_FILE:
            continue
        for constant in tree.children(cursor):
            number = int(constant.spelling.rsplit("_", 1)[-1])
            if number not in faulty:
                values[names[number]] = constant.enum_value
    return {name: Macro(name, macro.text, values.get(name), macro.at) for name, macro in macros.items()}


def _is_plain(text: str) -> bool:
    """Whether a macro's text can stand in an enumerator without changing what surrounds it."""
    return not any(character in text for character in '{};"#') and text.count("(") == text.count(")")


def macro_value(
    name: str, headers: Sequence[str], include_dirs: Sequence[object], *, memory: Mapping[str, str] | None = None
) -> int | None:
    """The value of one integer macro, None if it has none or the headers do not parse."""
    folders = tuple(str(folder) for folder in include_dirs)
    at = {name: Macro(name, name, None, Declared("", 1))}
    unit = build(headers, [], {})
    for one in tiers():
        if not _parse(unit.text, folders, dict(memory or {}), one, detailed=False).errors:
            return _evaluate(at, unit, folders, dict(memory or {}), one)[name].value
    return None
