"""Reads a parsed probe unit: is each item really there, in its own place, and which SDK declarations does it use?

Cursor kinds are compared by number: a newer libclang has kinds that the Python package does not know, and asking for
`cursor.kind` of one of those raises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ctypes import CFUNCTYPE, c_int, py_object
from functools import cache, lru_cache
from typing import Any

from . import lex
from .clang import Parsed, Places, load
from .items import Finding, ProbeItem
from .unit import MAIN_FILE, NAMESPACE, Span, Unit

STRUCT, UNION, CLASS, ENUM, FIELD, ENUM_CONSTANT, FUNCTION, VARIABLE, PARAMETER = 2, 3, 4, 5, 6, 7, 8, 9, 10
FUNCTION_TEMPLATE = 30
TYPEDEF, NAMESPACE_KIND, LINKAGE, TYPE_ALIAS = 20, 22, 23, 36
UNEXPOSED_EXPRESSION, DECLARATION_REFERENCE, CALL, COMPOUND, RETURN = 100, 101, 103, 202, 214
_KEYWORDS = """
alignas alignof and auto bool break case catch char class const const_cast constexpr continue decltype default
delete do double dynamic_cast else enum explicit false final float for friend goto if inline int long mutable
namespace new noexcept not nullptr operator or private protected public register reinterpret_cast return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef
typename union unsigned using virtual void volatile wchar_t while
"""
WORDS = frozenset(_KEYWORDS.split())
_UNEXPOSED_DECLARATION = 1


def kind(cursor: Any) -> int:
    """The number of a cursor's kind, also of one that this cindex does not know."""
    return int(cursor._kind_id)


def children(cursor: Any) -> list[Any]:
    """A cursor's children. cindex's own `get_children` makes two more calls into the library for each."""
    found: list[Any] = []
    unit = cursor._tu

    def visit(child: Any, _parent: Any, _data: Any) -> int:
        child._tu = unit  # keeps the unit alive as long as the cursor
        found.append(child)
        return 1

    load().conf.lib.clang_visitChildren(cursor, _visitor()(visit), found)
    return found


@cache
def _visitor() -> Any:
    """The type of a visiting function. cindex has it too, under a name that changed between its releases."""
    cursor = load().Cursor
    return CFUNCTYPE(c_int, cursor, cursor, py_object)


def walk(cursor: Any) -> Iterator[Any]:
    """A cursor's descendants in order, without recursion limits."""
    stack = children(cursor)[::-1]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(children(one)[::-1])


def place(cursor: Any) -> tuple[str, int]:
    """File ('' if none) and line where a cursor's name stands."""
    location = cursor.location
    return (location.file.name if location.file else ""), location.line


def declarations(cursors: Iterable[Any]) -> Iterator[Any]:
    """Declarations at namespace scope, those inside `extern "C"` and namespaces too."""
    for cursor in cursors:
        if kind(cursor) in (LINKAGE, NAMESPACE_KIND, _UNEXPOSED_DECLARATION):
            yield from declarations(children(cursor))
        else:
            yield cursor


class Tree:
    """A parsed probe unit: the items by span, and the headers' declarations by name."""

    def __init__(self, parsed: Parsed, unit: Unit) -> None:
        self._unit = unit
        self.places = Places(parsed, MAIN_FILE, len(unit.text))
        self._roots: dict[int, list[tuple[Any, int, int]]] = {}
        self._by_id = {span.item.id: number for number, span in enumerate(unit.spans)}
        starts = {span.start: number for number, span in enumerate(unit.spans)}
        top = children(parsed.unit.cursor)
        self.headers = top
        last = top[-1] if top else None
        self.framed = last is not None and kind(last) == NAMESPACE_KIND and last.spelling == NAMESPACE
        if last is None or not self.framed:
            return  # an item swallowed the end of the unit: none of them is where it was put
        self.headers = top[:-1]
        for cursor in children(last):
            start, end = self.places.extent(cursor)
            number = starts.get(start, -1)
            if number < 0:
                span = unit.find(start)
                number = self._by_id[span.item.id] if span is not None else -1
            self._roots.setdefault(number, []).append((cursor, start, end))

    def sound(self, item: ProbeItem) -> bool:
        """Whether the item is in the tree as written: one declaration at its own extent, a function with its body."""
        number = self._by_id[item.id]
        span, roots = self._unit.spans[number], self._roots.get(number, [])
        if item.form == "helper":
            return bool(roots) and all(span.start <= start and end <= span.end for _, start, end in roots)
        if len(roots) != 1:
            return False
        cursor, start, end = roots[0]
        if item.form == "type":
            return kind(cursor) == TYPE_ALIAS and start == span.start and span.code_start < end <= span.code_end
        # The extent of a function without a body would end before the brace.
        return kind(cursor) == FUNCTION and start == span.start and end == span.end and cursor.is_definition()

    def helper_names(self) -> dict[str, str]:
        """The names that helpers define, each with the helper's id."""
        found: dict[str, str] = {}
        for number, roots in self._roots.items():
            item = self._unit.spans[number].item if number >= 0 else None
            if item is not None and item.form == "helper":
                found.update((cursor.spelling, item.id) for cursor, _, _ in roots if cursor.spelling)
        return found

    def declares(self, item: ProbeItem) -> Finding | None:
        """The finding if the item declares a function that it does not define: it would stand in for a missing one."""
        if item.form not in ("body", "helper") or not _may_declare(item.code):
            return None
        number = self._by_id[item.id]
        span = self._unit.spans[number]
        for root, _, _ in self._roots.get(number, []):
            inside = walk(root) if item.form == "body" else [root, *walk(root)]
            for cursor in inside:
                if kind(cursor) == FUNCTION and not cursor.is_definition():
                    offset = span.offset(cursor.location.offset)
                    text = f"this declares {cursor.spelling}; a candidate may only use what the SDK declares"
                    return Finding(text, offset, len(cursor.spelling), None, "sdk-candidate")
        return None

    def mixed(self, item: ProbeItem) -> tuple[Finding, ...]:
        """Where typedefs of one builtin or `void *` are taken for each other, which the compiler does not see."""
        number = self._by_id[item.id]
        roots = self._roots.get(number, [])
        if item.form not in ("expr", "body") or len(roots) != 1:
            return ()
        return tuple(_mixed_in(roots[0][0], self._unit.spans[number]))


@lru_cache(maxsize=2048)
def _may_declare(code: str) -> bool:
    """Whether the text has a shape such as `type name(`: cheap, so that the tree is walked only when it may matter."""
    before, last = "", ""
    for token in lex.tokens(code):
        typed = before in ("*", "&") or (before.isidentifier() and before not in ("return", "else", "do", "case"))
        if token.text == "(" and last.isidentifier() and last not in WORDS and typed:
            return True
        before, last = last, token.text
    return False


def _mixed_in(function: Any, span: Span) -> Iterator[Finding]:
    result = function.result_type
    for cursor in walk(function):
        number = kind(cursor)
        if number == CALL:
            yield from _mixed_call(cursor, span)
        elif number == RETURN:
            values = children(cursor)
            fault = _clash(result, _plain(values[0])) if values else None
            if fault is not None:
                want, have = fault
                offset = span.offset(values[0].extent.start.offset)
                text = f"the result is {have} where {want} is wanted; both are {_alias_of(result)} to the compiler"
                yield Finding(text, offset, 1, None, "sdk-typedef")


def _mixed_call(call: Any, span: Span) -> Iterator[Finding]:
    callee = call.referenced
    if callee is None or kind(callee) != FUNCTION:
        return
    for number, (parameter, argument) in enumerate(zip(callee.get_arguments(), call.get_arguments(), strict=False), 1):
        fault = _clash(parameter.type, _plain(argument))
        if fault is None:
            continue
        want, have = fault
        extent = argument.extent
        offset = span.offset(extent.start.offset)
        text = (
            f"argument {number} of {callee.spelling} is {want}, and this is {have}; "
            f"both are {_alias_of(parameter.type)} to the compiler"
        )
        file, line = place(callee)
        hint = f"{callee.spelling} is declared at {file.rsplit('/', 1)[-1]}:{line}"
        yield Finding(text, offset, span.offset(extent.end.offset) - offset, hint, "sdk-typedef")


def _plain(expression: Any) -> Any:
    """An expression without the conversions that the compiler put around it."""
    while kind(expression) == UNEXPOSED_EXPRESSION:
        inner = children(expression)
        if len(inner) != 1:
            break
        expression = inner[0]
    return expression


def _clash(wanted: Any, expression: Any) -> tuple[str, str] | None:
    """(wanted, given) type names when they differ and only the spelling tells them apart.

    Numbers are often spelled without a typedef, so for those both must have one; a `void *` that stands for a handle on
    one side only is a mix-up of memory and handles.
    """
    given = expression.type
    want_name, have_name = _typedef(wanted), _typedef(given)
    if want_name == have_name or not _opaque(wanted):
        return None
    pointers = "void" in _alias_of(wanted)
    if want_name is None:
        return (wanted.spelling, have_name) if pointers and have_name is not None else None
    if have_name is None and (not pointers or _literal(expression) or not _opaque(given)):
        return None
    return want_name, have_name or given.spelling


def _typedef(type_: Any) -> str | None:
    """The name of the SDK typedef that a type (or what it points to) is spelled with; None if there is none."""
    for _ in range(4):
        declaration = type_.get_declaration()
        if kind(declaration) in (TYPEDEF, TYPE_ALIAS):
            name = str(declaration.spelling)
            if place(declaration)[0] == MAIN_FILE or name.startswith("fl_probe"):
                type_ = declaration.underlying_typedef_type
                continue
            return None if name in _STANDARD else name
        pointee = type_.get_pointee()
        if pointee._kind_id == 0:  # Invalid: not a pointer
            return None
        type_ = pointee
    return None


_STANDARD = frozenset(
    ["size_t", "ptrdiff_t", "intptr_t", "uintptr_t", "ssize_t", "intmax_t", "uintmax_t", "wchar_t"]
    + [f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + [f"__{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)


def _opaque(type_: Any) -> bool:
    """Whether a type (or what it points to) is in truth a `void *` or an integer."""
    name = _alias_of(type_).replace("const ", "")
    while name.endswith("*") and name not in ("void *",):
        name = name[:-1].rstrip()
    return name in ("void *", "void") or name in _INTEGERS


_INTEGERS = frozenset(
    f"{sign}{size}" for sign in ("", "signed ", "unsigned ") for size in ("int", "long", "long long", "short", "char")
)


def _alias_of(type_: Any) -> str:
    return str(type_.get_canonical().spelling)


def _literal(expression: Any) -> bool:
    """Literals and named constants have no typedef of their own: 0, nullptr, an enumerator, a macro."""
    number = kind(expression)
    if number == DECLARATION_REFERENCE:
        referenced = expression.referenced
        return referenced is not None and kind(referenced) == ENUM_CONSTANT
    return number in (106, 107, 108, 109, 110, 111, 112, 123, 130, 131)  # literals, signs before them, nullptr, NULL
