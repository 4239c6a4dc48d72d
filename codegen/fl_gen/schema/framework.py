"""A framework's interface, `frameworks/<name>/interface.yaml`: what a backend plugs into, as data.

Model and file have the same keys, so templates read like the file. What each key means is in the head of the shipped
file and, for editors, in `framework_spec.py`; its parts are in `framework_parts.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from .checkout import Checkout
from .framework_parts import (
    Class,
    CMake,
    DType,
    Enum,
    Header,
    KernelRules,
    Macro,
    NameRule,
    Namespace,
    Registration,
    Registry,
    Struct,
    find,
)
from .frozen import frozen
from .location import Location
from .ops import Op, OpsFile
from .spec import require_unique
from .values import Table


@frozen
class Interface:
    """`interface.yaml` as a whole."""

    framework: str
    display_name: str
    source: str
    device_type: str
    namespaces: tuple[Namespace, ...]
    headers: tuple[Header, ...]
    dtypes: tuple[DType, ...]
    enums: tuple[Enum, ...]
    structs: tuple[Struct, ...]
    classes: tuple[Class, ...]
    registries: tuple[Registry, ...]
    macros: tuple[Macro, ...]
    registration: Registration
    name_rule: NameRule
    kernels: KernelRules
    cmake: CMake
    checkout: Checkout | None
    version: int
    location: Location

    def __post_init__(self) -> None:
        require_unique((item.role for item in self.namespaces), "the role", "namespaces")
        require_unique((item.path for item in self.headers), "the header", "headers")
        require_unique((item.name for item in self.dtypes), "the dtype", "dtypes")
        require_unique((f"{item.scope}::{item.name}" for item in self.enums), "the enum", "enums")
        require_unique((item.name for item in self.classes), "the class", "classes")
        require_unique((item.name for item in self.macros), "the macro", "macros")

    def namespace(self, role: str) -> str:
        """The C++ namespace of a role."""
        return find(self.namespaces, lambda item: item.role, role, "namespace").name

    def enum(self, name: str) -> Enum:
        """An enumeration by name."""
        return find(self.enums, lambda item: item.name, name, "enum")

    def struct(self, name: str) -> Struct:
        """A struct by name."""
        return find(self.structs, lambda item: item.name, name, "struct")

    def class_named(self, name: str) -> Class:
        """A class by its C++ or canonical name."""
        by_canonical = {item.canonical.snake: item for item in self.classes}
        return by_canonical[name] if name in by_canonical else find(self.classes, lambda item: item.name, name, "class")

    def dtype(self, name: str) -> DType:
        """A dtype by its schema name."""
        return find(self.dtypes, lambda item: item.name, name, "dtype")

    def macro(self, name: str) -> Macro:
        """A macro by name."""
        return find(self.macros, lambda item: item.name, name, "macro")


@frozen
class Framework:
    """A framework: its interface and its ops, by name and in the order of the files."""

    interface: Interface
    files: tuple[OpsFile, ...]
    ops: Table[Op]

    @property
    def name(self) -> str:
        """As fl-gen spells it."""
        return self.interface.framework

    @property
    def location(self) -> Location:
        """Where the interface begins."""
        return self.interface.location

    def op(self, name: str) -> Op:
        """An op by its registered name."""
        return find(self.ops.values(), lambda item: item.name, name, "op")


def make_framework(interface: Interface, files: Iterable[OpsFile]) -> Framework:
    """The framework of an interface and its ops files. Of two ops with one name the first counts; the link pass
    (`framework_problems`) reports the other."""
    files = tuple(files)
    ops: dict[str, Op] = {}
    for file in files:
        for op in file.ops:
            ops.setdefault(op.name, op)
    return Framework(interface, files, Table(ops, interface.location, {name: op.location for name, op in ops.items()}))
