"""Values of models that remember where they were written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, NoReturn, TypeVar

from .location import Location
from .nodes import Scalar

V = TypeVar("V")


class Ref(str):
    """Text that names something defined elsewhere, with the place where it does so."""

    __slots__ = ("location",)
    location: Location

    def __new__(cls, value: str, location: Location) -> Ref:
        self = super().__new__(cls, value)
        self.location = location
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (Ref, (str(self), self.location))


@dataclass(frozen=True, slots=True)
class Text:
    """C++ text of a schema file. `location` is where the text itself begins, behind quotes and block indicators."""

    value: str
    location: Location
    scalar: Scalar | None = field(default=None, repr=False, compare=False)

    def locate(self, offset: int) -> Location:
        """The location in the file of the character at an offset of `value`; outside it, of its nearer end."""
        if self.scalar is not None:
            return self.scalar.locate(offset)
        before = self.value[: max(0, offset)]
        line = before.count("\n")
        column = len(before) - (before.rfind("\n") + 1)
        return Location(self.location.file, self.location.line + line, column + (1 if line else self.location.column))

    def __str__(self) -> str:
        return self.value


class Table(dict[str, V], Generic[V]):
    """A map of a schema file that cannot be changed and knows where each key stands."""

    __slots__ = ("_keys", "location")

    def __init__(self, items: Mapping[str, V], location: Location, keys: Mapping[str, Location] | None = None) -> None:
        super().__init__(items)
        self.location = location
        self._keys: dict[str, Location] = dict(keys or {})

    def location_of(self, key: str) -> Location:
        """Where a key is written; for a key that is not there, where the map is."""
        return self._keys.get(key, self.location)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Table, (dict(self), self.location, self._keys))

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("a schema's table cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


class ModelError(ValueError):
    """A model's invariant is broken; `key` is the field to blame when there is one."""

    def __init__(self, message: str, key: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.key = key
        self.hint = hint


def duplicates(words: Iterable[str]) -> list[str]:
    """The words that stand more than once, in the order of their second appearance."""
    seen: set[str] = set()
    again: dict[str, None] = {}
    for word in words:
        if word in seen:
            again[word] = None
        seen.add(word)
    return list(again)
