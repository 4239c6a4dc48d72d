"""The parts of a framework's interface: C++ declarations, how a backend registers, its kernel rules, its CMake."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeVar

from .frozen import frozen
from .location import Location
from .name import Name
from .spec import require_unique
from .values import ModelError, Ref

T = TypeVar("T")


@frozen
class Namespace:
    """A C++ namespace by the role it plays."""

    role: str
    name: str
    location: Location


@frozen
class Header:
    """A header of the framework; `rendered`: the contract's copy is made from the interface."""

    path: str
    rendered: bool
    provides: tuple[str, ...]
    doc: str
    location: Location


@frozen
class DType:
    """An element type: `name` in schemas, `text` in messages, `enumerator` of DataType, `cpp` on the host."""

    name: str
    text: str
    enumerator: str
    bytes: int
    cpp: str
    category: Literal["bool", "unsigned", "signed", "float"]
    location: Location


@frozen
class EnumValue:
    """One enumerator."""

    name: str
    value: int
    doc: str
    location: Location


@frozen
class Enum:
    """A scoped enumeration; `to_string` is the function that names its values."""

    name: str
    scope: str
    header: Ref
    underlying: str
    values: tuple[EnumValue, ...]
    to_string: str | None
    to_string_unknown: str | None
    certainty: Literal["stated", "inferred"]
    doc: str
    location: Location

    def __post_init__(self) -> None:
        require_unique((value.name for value in self.values), "the value", "values")
        if (self.to_string is None) != (self.to_string_unknown is None):
            raise ModelError("'to_string' and 'to_string_unknown' go together", "to_string_unknown")


@frozen
class StructField:
    """A member of a struct; `init` is its initialiser."""

    name: str
    type: str
    init: str | None
    doc: str
    location: Location


@frozen
class Struct:
    """A plain aggregate."""

    name: str
    namespace: str
    header: Ref
    fields: tuple[StructField, ...]
    doc: str
    location: Location

    def __post_init__(self) -> None:
        require_unique((field.name for field in self.fields), "the field", "fields")


@frozen
class Param:
    """A parameter of a method or function: its exact C++ type, its name, and its default argument if it has one."""

    name: str
    type: str
    default: str | None
    location: Location


@frozen
class Method:
    """A virtual method; `operations` are the entries of runtime.yaml that do its work."""

    name: Name
    cpp: str
    group: str
    returns: str
    params: tuple[Param, ...]
    const: bool
    pure: bool
    default: Literal["none", "nothing", "fatal"]
    used_by: tuple[str, ...]
    operations: tuple[Ref, ...]
    doc: str
    location: Location

    def __post_init__(self) -> None:
        require_unique((param.name for param in self.params), "the parameter", "params")
        if self.pure != (self.default == "none"):
            raise ModelError("a pure method has default: none, and no other has", "default")


@frozen
class Class:
    """A class that a backend subclasses."""

    name: str
    canonical: Name
    namespace: str
    header: Ref
    role: Literal["handle", "interface"]
    registry: Ref | None
    macro: Ref | None
    optional: bool
    methods: tuple[Method, ...]
    doc: str
    location: Location

    def __post_init__(self) -> None:
        require_unique((str(method.name) for method in self.methods), "the method", "methods")

    def method(self, name: str) -> Method:
        """A method by its canonical name."""
        return find(self.methods, lambda item: item.name.snake, name, f"method of {self.name}")


@frozen
class Registry:
    """Where implementations of a class are kept; `fatal`: when it aborts."""

    name: str
    namespace: str
    header: Ref
    value: Ref
    accessor: str
    fatal: tuple[str, ...]
    doc: str
    location: Location


@frozen
class MacroArgument:
    """An argument of a macro."""

    name: str
    doc: str
    location: Location


@frozen
class Macro:
    """A registration macro; `terminated`: its expansion ends the declaration."""

    name: str
    args: tuple[MacroArgument, ...]
    scope: Literal["namespace", "file"]
    header: Ref
    terminated: bool
    doc: str
    location: Location


@frozen
class RegistrationField:
    """A member of the registration struct."""

    name: str
    type: str
    required: bool
    doc: str
    location: Location


@frozen
class Function:
    """A free function."""

    name: str
    returns: str
    params: tuple[Param, ...]
    doc: str
    location: Location


@frozen
class RegistrationCheck:
    """A check at registration; `message` is a stable part of the text it aborts with."""

    order: int
    message: str
    doc: str
    location: Location


@frozen
class EntryPoint:
    """The function of the backend that a program calls."""

    signature: str
    header: str
    doc: str
    location: Location


@frozen
class Registration:
    """How a backend makes itself known."""

    struct: str
    namespace: str
    header: Ref
    fields: tuple[RegistrationField, ...]
    functions: tuple[Function, ...]
    checks: tuple[RegistrationCheck, ...]
    entry_point: EntryPoint
    location: Location

    def __post_init__(self) -> None:
        if [check.order for check in self.checks] != list(range(1, len(self.checks) + 1)):
            raise ModelError("the checks are numbered 1, 2, 3, … in order", "checks")


@frozen
class NameRule:
    """What a backend may be called."""

    pattern: str
    reserved: tuple[str, ...]
    doc: str
    location: Location


@frozen
class AbiRule:
    """A rule of the type-erased dispatcher."""

    name: str
    doc: str
    location: Location


@frozen
class DispatchCall:
    """A method of the kernel table; `role` is what it does with a kernel's name.

    `register`: (key, function); `lookup`: (key), gives what holds the function; `call`: (key, arguments...);
    `call_found`: (arguments...) on what a lookup gave. The result type of a call is its first template argument.
    """

    type: str
    method: str
    role: Literal["register", "lookup", "call", "call_found"]
    location: Location


@frozen
class KernelRules:
    """How kernels are registered, and which ones must be."""

    macro: Ref
    map_header: Ref
    params_header: Ref
    required: tuple[Ref, ...]
    abi: tuple[AbiRule, ...]
    dispatch: tuple[DispatchCall, ...]
    location: Location


@frozen
class CMakeTarget:
    """A CMake target of the framework."""

    name: str
    kind: str
    doc: str
    location: Location


@frozen
class CMakeOption:
    """A CMake option of the framework."""

    name: str
    default: str
    doc: str
    location: Location


@frozen
class CMakeFunction:
    """A CMake function of the framework and its keywords."""

    name: str
    file: str
    positional: tuple[str, ...]
    options: tuple[str, ...]
    one_value: tuple[str, ...]
    multi_value: tuple[str, ...]
    doc: str
    location: Location


@frozen
class CMake:
    """What a backend's build files may use."""

    minimum: str
    targets: tuple[CMakeTarget, ...]
    options: tuple[CMakeOption, ...]
    functions: tuple[CMakeFunction, ...]
    location: Location


def find(items: Iterable[T], key: Callable[[T], str], name: str, what: str) -> T:
    """The item of that name. A KeyError here is a mistake of the caller, not of a file."""
    for item in items:
        if key(item) == name:
            return item
    raise KeyError(f"no {what} {name!r}")
