"""The names that a parsed unit's headers declare. What they stand for is read only when somebody asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from . import tree
from .headers import Reader
from .model import Enum, Function
from .tree import Tree

_TYPES = {tree.STRUCT, tree.UNION, tree.CLASS, tree.ENUM, tree.TYPEDEF, tree.TYPE_ALIAS}


class Names:
    """Functions, types and enumerators of the SDK's headers by name; `name_of` tells its headers from others."""

    def __init__(self, read: Tree, name_of: Callable[[str], str | None]) -> None:
        self._places = read.places
        self._name_of = name_of
        self._functions: dict[str, Any] = {}
        self._types: dict[str, Any] = {}
        self._enums: dict[str, Any] = {}
        self._constants: dict[str, Any] = {}
        self._owned: dict[int, list[str]] = {}
        self._models: dict[str, Reader] = {}
        for cursor in tree.declarations(read.headers):
            number = tree.kind(cursor)
            if number in (tree.FUNCTION, tree.FUNCTION_TEMPLATE):
                self._functions.setdefault(cursor.spelling, cursor)
            elif number in _TYPES:
                self._types.setdefault(cursor.spelling, cursor)
                if number == tree.ENUM:
                    self._enums.setdefault(cursor.spelling, cursor)
                    for child in tree.children(cursor):
                        self._constants.setdefault(child.spelling, child)
            elif number == tree.VARIABLE:
                self._constants.setdefault(cursor.spelling, cursor)

    def place(self, name: str) -> tuple[str, int] | None:
        """File and line of a declaration; None for a name that no header declares."""
        for table in (self._functions, self._constants, self._types):
            if name in table:
                file, line, _ = self._places.where(table[name].location)
                return file, line
        return None

    def function_names(self) -> Iterable[str]:
        return self._own(self._functions)

    def type_names(self) -> Iterable[str]:
        return self._own(self._types)

    def constant_names(self) -> Iterable[str]:
        return self._own(self._constants)

    def function(self, name: str) -> Function | None:
        return self._read(name, self._functions).functions.get(name)

    def enum(self, name: str) -> Enum | None:
        return self._read(name, self._enums).enums.get(name)

    def _own(self, table: dict[str, Any]) -> list[str]:
        names = self._owned.get(id(table))
        if names is None:
            where, name_of = self._places.where, self._name_of
            names = [name for name, cursor in table.items() if name_of(where(cursor.location)[0]) is not None]
            self._owned[id(table)] = names
        return names

    def _read(self, name: str, table: dict[str, Any]) -> Reader:
        reader = self._models.get(name)
        if reader is None:
            reader = self._models[name] = Reader(self._name_of)
            if name in table:
                reader.take(table[name])
        return reader
