"""What the headers of a framework declare, as far as its interface names it, read by libclang.

The types of the schema are put into the same unit, each as an alias on a line of its own, so that both sides are
compared as the compiler knows them. A type that the tree does not have spoils its own line only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fl_gen.schema.framework import Interface
from fl_gen.schema.paths import shown
from fl_gen.sdk import clang, tree
from fl_gen.sdk.clang import Parsed
from fl_gen.tasks.framework_tree import Tree
from fl_gen.tasks.framework_values import CxxType, NoVerdict, Place, Signature, TreeParam

UNIT = "/__fl_gen_check__/unit.cc"
_METHOD, _BASE, _MACRO = 21, 44, 501
_CLASSES = (tree.STRUCT, tree.CLASS)
_NAMED = (
    *_CLASSES,
    tree.ENUM,
    tree.FUNCTION,
    tree.VARIABLE,
    tree.FUNCTION_TEMPLATE,
    31,  # class template
    tree.TYPEDEF,
    tree.TYPE_ALIAS,
    601,  # alias template
)
_ALIAS = "fl_gen_type_"
_SIZE = "fl_gen_size_"


@dataclass(frozen=True)
class TreeEnum:
    """An enumeration: the canonical underlying type, and name -> (value, place) in the order of the header."""

    underlying: str
    values: Mapping[str, tuple[int, Place]]
    place: Place


@dataclass(frozen=True)
class TreeField:
    """A member of a struct; `init` is its initialiser without blanks."""

    name: str
    type: CxxType
    init: str | None
    place: Place


@dataclass(frozen=True)
class TreeClass:
    """A class or struct: its virtual methods, those of its bases first, and its members."""

    methods: tuple[Signature, ...]
    fields: tuple[TreeField, ...]
    place: Place


@dataclass(frozen=True)
class TreeMacro:
    """A macro; `args` is None for one without brackets."""

    args: tuple[str, ...] | None
    place: Place


@dataclass
class Surface:
    """Declarations by qualified name. `types` maps (namespace, text) of the schema to the canonical type, if any."""

    classes: dict[str, TreeClass] = field(default_factory=dict)
    enums: dict[str, TreeEnum] = field(default_factory=dict)
    functions: dict[str, list[Signature]] = field(default_factory=dict)
    names: dict[str, Place] = field(default_factory=dict)
    macros: dict[str, TreeMacro] = field(default_factory=dict)
    types: dict[tuple[str, str], str | None] = field(default_factory=dict)
    sizes: dict[str, int | None] = field(default_factory=dict)
    libclang: str = ""


def read_surface(source: Tree, interface: Interface, wanted: Iterable[tuple[str, str]]) -> Surface:
    """The declarations in the interface's headers, and the canonical types of `wanted` (namespace, text).

    NoVerdict if one of these headers does not parse: an error in a header turns types into others silently.
    """
    types = list(dict.fromkeys(wanted))
    includes = [f'#include "{path}"' for path in source.headers]
    lines = list(includes)
    at: dict[int, tuple[str, str] | str] = {}
    for number, (namespace, text) in enumerate(types):
        lines.append(_inside(namespace, f"using {_ALIAS}{number} = {text};"))
        at[len(lines)] = (namespace, text)
    root = interface.namespace("root")
    for number, dtype in enumerate(interface.dtypes):
        lines.append(_inside(root, f"enum {{ {_SIZE}{number} = sizeof({dtype.cpp}) }};"))
        at[len(lines)] = dtype.name
    parsed = clang.parse(UNIT, "\n".join([*lines, ""]).encode(), source.flags, source.memory, detailed=True)
    spoilt = _spoilt(parsed, source, at)
    surface = Surface(libclang=clang.version())
    own = f"{source.root}/"
    for cursor in tree.children(parsed.unit.cursor):
        if tree.kind(cursor) == _MACRO:
            _macro(cursor, own, surface)
        else:
            _declared(cursor, (), own, surface)
    aliases = dict(_aliases(parsed))
    for number, key in enumerate(types):
        surface.types[key] = None if key in spoilt else aliases.get(f"{_ALIAS}{number}")
    values = dict(_sizes(parsed))
    for number, dtype in enumerate(interface.dtypes):
        surface.sizes[dtype.name] = None if dtype.name in spoilt else values.get(f"{_SIZE}{number}")
    return surface


def _inside(namespace: str, text: str) -> str:
    return f"namespace {namespace} {{ {text} }}" if namespace else text


def _spoilt(parsed: Parsed, source: Tree, at: Mapping[int, tuple[str, str] | str]) -> set[tuple[str, str] | str]:
    """The types whose lines have errors. NoVerdict for an error in one of the interface's headers."""
    headers = {f"{source.root}/{path}" for path in source.headers}
    found: set[tuple[str, str] | str] = set()
    for message in parsed.errors:
        place = message.place
        if place.file == UNIT and place.line in at:
            found.add(at[place.line])
        elif place.file in headers or place.file in ("", UNIT):
            where = f"{shown(place.file)}:{place.line}:{place.column}" if place.file else "libclang"
            lacking = f"; read as empty, because this machine lacks them: {', '.join(source.absent)}"
            raise NoVerdict(
                f"{where}: {message.text}\n"
                f"  = this header cannot be read, so nothing was checked{lacking if source.absent else ''}"
            )
    return found


def _declared(cursor: Any, scope: tuple[str, ...], own: str, surface: Surface) -> None:
    """Take a declaration of the tree, and what is inside it."""
    number = tree.kind(cursor)
    if number == tree.NAMESPACE_KIND:
        if scope == () and cursor.spelling in ("std", "__gnu_cxx", "google", "Eigen"):
            return
        inner = (*scope, cursor.spelling) if cursor.spelling and not cursor.is_anonymous() else scope
        for child in tree.children(cursor):
            _declared(child, inner, own, surface)
        return
    if number == tree.LINKAGE:
        for child in tree.children(cursor):
            _declared(child, scope, own, surface)
        return
    if number not in _NAMED or not cursor.spelling:
        return
    place = place_of(cursor)
    if not place.file.startswith(own):
        return
    name = "::".join((*scope, cursor.spelling))
    surface.names.setdefault(name, place)
    if number == tree.ENUM and cursor.is_definition():
        surface.enums.setdefault(name, _enum(cursor, place))
    elif number == tree.FUNCTION:
        surface.functions.setdefault(name, []).append(signature(cursor))
    elif number in _CLASSES and cursor.is_definition():
        surface.classes.setdefault(name, _class(cursor, place))
        for child in tree.children(cursor):
            if tree.kind(child) in (tree.ENUM, *_CLASSES):
                _declared(child, (*scope, cursor.spelling), own, surface)


def _enum(cursor: Any, place: Place) -> TreeEnum:
    values = {
        child.spelling: (child.enum_value, place_of(child))
        for child in tree.children(cursor)
        if tree.kind(child) == tree.ENUM_CONSTANT
    }
    return TreeEnum(cursor.enum_type.get_canonical().spelling, values, place)


def _class(cursor: Any, place: Place) -> TreeClass:
    fields = []
    for child in tree.children(cursor):
        if tree.kind(child) == tree.FIELD:
            fields.append(TreeField(child.spelling, cxx_type(child.type), _behind_equals(child), place_of(child)))
    return TreeClass(tuple(_methods(cursor, 0)), tuple(fields), place)


def _methods(cursor: Any, depth: int) -> Iterator[Signature]:
    for child in tree.children(cursor):
        number = tree.kind(child)
        if number == _BASE and depth < 8:
            base = child.type.get_canonical().get_declaration()
            if base is not None and tree.kind(base) in _CLASSES:
                yield from _methods(base, depth + 1)
        elif number == _METHOD and child.is_virtual_method():
            yield signature(child)


def signature(cursor: Any) -> Signature:
    """A function or method as declared."""
    method = tree.kind(cursor) == _METHOD
    pure = method and cursor.is_pure_virtual_method()
    return Signature(
        name=cursor.spelling,
        returns=cxx_type(cursor.result_type),
        params=tuple(
            TreeParam(one.spelling, cxx_type(one.type), _behind_equals(one), place_of(one))
            for one in cursor.get_arguments()
        ),
        place=place_of(cursor),
        const=method and cursor.is_const_method(),
        pure=pure,
        body="none" if pure else "nothing" if _is_empty(cursor) else "fatal",
    )


def _is_empty(cursor: Any) -> bool:
    """Whether the declaration has a body with nothing in it."""
    bodies = [child for child in tree.children(cursor) if tree.kind(child) == tree.COMPOUND]
    return bool(bodies) and not tree.children(bodies[-1])


def _behind_equals(cursor: Any) -> str | None:
    """The initialiser or default argument of a declaration, its tokens without needless blanks."""
    kinds = [tree.kind(child) for child in tree.children(cursor)]
    if not any(number >= tree.UNEXPOSED_EXPRESSION for number in kinds):
        return None  # only references to types
    words = [token.spelling for token in cursor.get_tokens()]
    if "=" not in words:
        return None
    text = ""
    for word in words[words.index("=") + 1 :]:
        text += f" {word}" if text and text[-1].isalnum() and word[0].isalnum() else word
    return text or None


def cxx_type(type_: Any) -> CxxType:
    """A type, as written and canonical."""
    return CxxType(type_.spelling, type_.get_canonical().spelling)


def place_of(cursor: Any) -> Place:
    """Where a cursor's name stands; in a macro's expansion, where the macro is used."""
    location = cursor.location
    return Place(location.file.name if location.file else "", location.line, location.column)


def _macro(cursor: Any, own: str, surface: Surface) -> None:
    place = place_of(cursor)
    if not place.file.startswith(own):
        return
    args: tuple[str, ...] | None = None
    if clang.load().conf.lib.clang_Cursor_isMacroFunctionLike(cursor):
        words: list[str] = []
        for token in list(cursor.get_tokens())[2:]:
            if token.spelling == ")":
                break
            if token.spelling != ",":
                words.append(token.spelling)
        args = tuple(words)
    surface.macros[cursor.spelling] = TreeMacro(args, place)
    surface.names.setdefault(cursor.spelling, place)


def _own_declarations(parsed: Parsed) -> Iterator[Any]:
    for cursor in tree.declarations(tree.children(parsed.unit.cursor)):
        if tree.kind(cursor) in (tree.TYPE_ALIAS, tree.ENUM) and tree.place(cursor)[0] == UNIT:
            yield cursor


def _aliases(parsed: Parsed) -> Iterator[tuple[str, str]]:
    for cursor in _own_declarations(parsed):
        if tree.kind(cursor) == tree.TYPE_ALIAS:
            yield cursor.spelling, cursor.underlying_typedef_type.get_canonical().spelling


def _sizes(parsed: Parsed) -> Iterator[tuple[str, int]]:
    for cursor in _own_declarations(parsed):
        for constant in tree.children(cursor) if tree.kind(cursor) == tree.ENUM else []:
            yield constant.spelling, constant.enum_value
