"""What extending an api.yaml means beyond a merge of maps: items of the base that are dropped by name, and headers that
get more sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from .errors import Diagnostic, quote
from .nodes import Mapping, Node, Scalar, Sequence
from .suggest import suggestion
from .values import Ref

_FUNCTION = re.compile(r"([A-Za-z_]\w*)\s*\(")
_POINTER = re.compile(r"\(\s*\*\s*([A-Za-z_]\w*)\s*\)")
_LAST = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*;?\s*$")


def item_name(item: Node) -> str | None:
    """The name that an item declares; None for one without (an unnamed record, free C++ text)."""
    if isinstance(item, Scalar):
        return _named(_FUNCTION, item.value)
    if not isinstance(item, Mapping):
        return None
    for kind, node in item.values.items():
        if not isinstance(node, Scalar):
            continue
        if kind == "function":
            return _named(_FUNCTION, node.value)
        if kind == "typedef":
            return _named(_POINTER, node.value) or _named(_LAST, node.value)
        if kind in ("macro", "constant", "opaque", "enum", "record"):
            return node.value.partition("(")[0] or None
    return None


def _named(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found.group(1) if found else None


def drop_items(body: Mapping, names: Iterable[Ref], base: str) -> list[Diagnostic]:
    """Take items, enumerators and whole headers with these names out of a base's `headers`. Returns a problem for each
    name that the base does not have. Sections that are left empty go in `append_headers`."""
    wanted = {str(name): name for name in names}
    if not wanted:
        return []
    seen: set[str] = set()
    known: set[str] = set()

    def dropped(name: str | None) -> bool:
        if name is None:
            return False
        known.add(name)
        if name not in wanted:
            return False
        seen.add(name)
        return True

    headers = body.values.get("headers")
    kept: list[Node] = []
    for header in headers.items if isinstance(headers, Sequence) else ():
        path = header.values.get("path") if isinstance(header, Mapping) else None
        gone = dropped(path.value) if isinstance(path, Scalar) else False
        for section in list(_sections(header)):
            items = section.values.get("items")
            if isinstance(items, Sequence):
                items.items = [item for item in items.items if not dropped(item_name(item))]
                for item in items.items:
                    _drop_enumerators(item, dropped)
        if not gone:
            kept.append(header)
    if isinstance(headers, Sequence):
        headers.items = kept
    return [
        Diagnostic(
            place.location,
            f"the base {base} has nothing called {quote(name)}",
            suggestion(name, known),
            rule="dangling-reference",
            length=len(name),
        )
        for name, place in wanted.items()
        if name not in seen
    ]


def _drop_enumerators(item: Node, dropped: Callable[[str | None], bool]) -> None:
    values = item.values.get("enumerators") if isinstance(item, Mapping) else None
    if isinstance(values, Mapping):
        for name in [word for word in values.keys if dropped(word)]:
            del values.keys[name], values.values[name]


def _sections(header: Node) -> Iterator[Mapping]:
    sections = header.values.get("sections") if isinstance(header, Mapping) else None
    for section in sections.items if isinstance(sections, Sequence) else ():
        if isinstance(section, Mapping):
            yield section


def _full(section: Node) -> bool:
    """Not a section that has lost all its items."""
    items = section.values.get("items") if isinstance(section, Mapping) else None
    return not isinstance(items, Sequence) or bool(items.items)


def append_headers(body: Mapping, own: Mapping) -> None:
    """Replace `headers` of `own` by those of the base and its own: one of a path that the base has adds its sections
    to it (its other keys replace), every other one comes behind them. A section comes behind the base's section of
    the same title, so that types can stand before the functions that use them, any other one at the end."""
    theirs, mine = body.values.get("headers"), own.values.get("headers")
    if not isinstance(theirs, Sequence):
        return
    if isinstance(mine, Sequence):
        joined = Sequence(mine.source, mine.line, mine.column)
        joined.items = list(theirs.items)
        places = {_path(header): place for place, header in enumerate(joined.items)}
        for header in mine.items:
            place = places.get(_path(header)) if _path(header) is not None else None
            if place is None:
                joined.items.append(header)
            else:
                joined.items[place] = _joined(joined.items[place], header)
        own.values["headers"] = joined
    empty = {id(section) for header in theirs.items for section in _sections(header) if not _full(section)}
    for header in joined.items if isinstance(mine, Sequence) else theirs.items:
        sections = header.values.get("sections") if isinstance(header, Mapping) else None
        if isinstance(sections, Sequence):
            sections.items = [section for section in sections.items if id(section) not in empty]


def _path(header: Node) -> str | None:
    path = header.values.get("path") if isinstance(header, Mapping) else None
    return path.value if isinstance(path, Scalar) else None


def _joined(base: Node, own: Node) -> Node:
    if not isinstance(base, Mapping) or not isinstance(own, Mapping):
        return own
    made = Mapping(own.source, own.line, own.column)
    made.keys, made.values = {**base.keys, **own.keys}, {**base.values, **own.values}
    first, second = base.values.get("sections"), own.values.get("sections")
    if isinstance(first, Sequence) and isinstance(second, Sequence):
        sections = Sequence(second.source, second.line, second.column)
        sections.items = list(first.items)
        for section in second.items:
            same = [place for place, other in enumerate(sections.items) if _title(other) == _title(section)]
            sections.items.insert(same[-1] + 1 if same else len(sections.items), section)
        made.values["sections"] = sections
    return made


def _title(section: Node) -> str:
    title = section.values.get("title") if isinstance(section, Mapping) else None
    return title.value if isinstance(title, Scalar) else ""
