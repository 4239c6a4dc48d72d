"""Located YAML nodes. They are plain slotted classes: a schema set has tens of thousands of them."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

from .location import Location
from .positions import content_start, value_offsets
from .source import Source

ScalarKind = Literal["null", "bool", "int", "float", "str"]

_NULL = ("", "~", "null", "Null", "NULL")
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)


class Scalar:
    """A scalar with its text exactly as written (after unquoting and unfolding) and where it stands.

    In a scalar of a base, placeholders have been replaced: then `written` is the text with them, and `origin` gives for
    each character of `value`, and for its end, the character of `written` that it comes from.
    """

    __slots__ = ("_offsets", "column", "end", "index", "line", "origin", "source", "style", "value", "written")

    def __init__(
        self, source: Source, line: int, column: int, index: int, end: int, value: str, style: str | None
    ) -> None:
        self.source = source
        self.line = line  # from 0, as column
        self.column = column
        self.index = index  # offset of the first and behind the last character, with quotes, in the source's text
        self.end = end
        self.value = value
        self.style = style or ""  # '' plain, ' " | >
        self._offsets: list[int] | None = None
        self.written = value
        self.origin: list[int] | None = None

    def replaced(self, value: str, origin: list[int]) -> Scalar:
        """The same scalar with its placeholders replaced."""
        other = Scalar(self.source, self.line, self.column, self.index, self.end, value, self.style)
        other.written, other.origin = self.written, origin
        return other

    @property
    def location(self) -> Location:
        """Where the scalar begins, with its quote or block indicator."""
        return self.source.at(self.line, self.column)

    @property
    def text_location(self) -> Location:
        """Where the scalar's text begins: behind the quote, or at the first character of a block."""
        if self.style == "":
            return self.source.at(self.line, self.column)
        return self.source.locate(content_start(self.source.text, self.index, self.end, self.style))

    def locate(self, offset: int) -> Location:
        """The location of the character at an offset of the value; outside it, of its nearer end."""
        if self._offsets is None:
            offsets = value_offsets(self.source.text, self.index, self.end, self.style, self.written)
            self._offsets = offsets if self.origin is None else [offsets[index] for index in self.origin]
        return self.source.locate(self._offsets[max(0, min(offset, len(self.value)))])

    @property
    def width(self) -> int:
        """Code points on the first line, for underlining."""
        end = self.source.text.find("\n", self.index, self.end)
        return max(1, (self.end if end < 0 else end) - self.index)

    @property
    def kind(self) -> ScalarKind:
        """What the scalar is by the core rules of YAML 1.2.

        So `yes`, `on`, `0755`, `1_000` and `1:30`, which YAML 1.1 turns into other things, are text, as is everything
        that a placeholder stood in.
        """
        if self.style or self.origin is not None:
            return "str"
        value = self.value
        if value in _NULL:
            return "null"
        if value in _BOOL:
            return "bool"
        if value[0] not in "+-.0123456789":
            return "str"
        if _INT.fullmatch(value):
            return "int"
        return "float" if _FLOAT.fullmatch(value) else "str"


class Sequence:
    """A list of nodes."""

    __slots__ = ("column", "items", "line", "source")

    def __init__(self, source: Source, line: int, column: int) -> None:
        self.source = source
        self.line = line
        self.column = column
        self.items: list[Node] = []

    @property
    def location(self) -> Location:
        """Where the list begins."""
        return self.source.at(self.line, self.column)


class Mapping:
    """A map from text to nodes, in file order; `keys` holds the nodes of the keys themselves."""

    __slots__ = ("column", "keys", "line", "source", "values")

    def __init__(self, source: Source, line: int, column: int) -> None:
        self.source = source
        self.line = line
        self.column = column
        self.keys: dict[str, Scalar] = {}
        self.values: dict[str, Node] = {}

    @property
    def location(self) -> Location:
        """Where the map begins: its first key, or its brace."""
        return self.source.at(self.line, self.column)


Node: TypeAlias = Scalar | Sequence | Mapping


def plain_data(node: Node) -> Any:
    """The node as dicts, lists, str, bool, int, float and None, by the core rules of YAML 1.2."""
    if isinstance(node, Mapping):
        return {key: plain_data(value) for key, value in node.values.items()}
    if isinstance(node, Sequence):
        return [plain_data(item) for item in node.items]
    kind = node.kind
    if kind == "str":
        return node.value
    if kind == "null":
        return None
    if kind == "bool":
        return _BOOL[node.value]
    return int(node.value) if kind == "int" else parse_float(node.value)


def parse_float(value: str) -> float:
    """A YAML float; `.inf` and `.nan` included."""
    return float(value.replace(".inf", "inf").replace(".Inf", "inf").replace(".INF", "inf").replace(".nan", "nan")
                 .replace(".NaN", "nan").replace(".NAN", "nan"))  # fmt: skip
