"""The document that `fl-gen sdk dump` prints, as values. Its JSON Schema is made of these annotations."""

from __future__ import annotations

from typing import Annotated, Literal

from fl_gen.schema.frozen import frozen

Availability = Literal["available", "deprecated", "unavailable"]
HiddenKind = Literal["function", "typedef", "enum", "enumerator", "record", "macro", "function_macro"]


@frozen
class Place:
    """Where a declaration stands: the header as an #include spells it, and the line."""

    header: str
    line: int


@frozen
class When:
    """A preprocessor condition around a declaration, and the line of the directive that begins its branch."""

    text: Annotated[str, "what must hold; for #else and #elif the negated conditions of the branches before"]
    line: int


@frozen
class TypeUse:
    """A type as the header spells it, and without its typedefs."""

    type: str
    canonical: str


@frozen
class Param:
    """A parameter; its name is empty where the header gives none."""

    name: str
    type: str
    canonical: str


@frozen
class FunctionEntry:
    """A function of the SDK."""

    name: str
    signature: Annotated[str, "as the header spells it"]
    returns: TypeUse
    params: tuple[Param, ...]
    variadic: bool
    template: bool
    availability: Availability
    at: Place
    conditions: Annotated[tuple[When, ...], "of the outermost #if first; none: declared in every configuration"]
    overloads: Annotated[tuple[FunctionEntry, ...], "further functions of this name"]


@frozen
class EnumeratorEntry:
    """An enumerator and its value."""

    name: str
    value: int
    availability: Availability
    at: Place
    conditions: tuple[When, ...]


@frozen
class EnumEntry:
    """An enum, by its tag or the typedef that names it."""

    name: Annotated[str, "empty for one without a name"]
    underlying: Annotated[str, "its integer type"]
    values: tuple[EnumeratorEntry, ...]
    at: Place
    conditions: tuple[When, ...]


@frozen
class TypedefEntry:
    """A typedef or alias."""

    name: str
    type: str
    canonical: str
    availability: Availability
    at: Place
    conditions: tuple[When, ...]


@frozen
class FieldEntry:
    """A data member of a record."""

    name: str
    type: str
    canonical: str


@frozen
class RecordEntry:
    """A struct, union or class."""

    name: str
    kind: Literal["struct", "union", "class"]
    size: Annotated[int | None, "bytes; null for a type that the headers do not complete"]
    fields: tuple[FieldEntry, ...]
    at: Place
    conditions: tuple[When, ...]


@frozen
class MacroEntry:
    """An object-like macro."""

    name: str
    text: str
    value: Annotated[int | None, "null if it is no integer constant"]
    stands_for: Annotated[tuple[str, ...], "functions of the SDK that it names, as a rename does"]
    at: Place
    conditions: tuple[When, ...]


@frozen
class FunctionMacroEntry:
    """A function-like macro."""

    name: str
    params: tuple[str, ...]
    text: str
    stands_for: Annotated[tuple[str, ...], "functions of the SDK that its text names"]
    at: Place
    conditions: tuple[When, ...]


@frozen
class UnavailableEntry:
    """A declaration that this configuration skips."""

    kind: HiddenKind
    name: str
    text: Annotated[str, "as the header has it"]
    at: Place
    conditions: Annotated[tuple[When, ...], "what would have to hold"]
    declared: Annotated[Place | None, "where this configuration declares the same name, if it does"]


@frozen
class HeaderEntry:
    """A header of the SDK that was read."""

    name: str
    digest: Annotated[str, "SHA-256 of its content"]
    conditions: Annotated[tuple[When, ...], "when it is only included under these"]


@frozen
class SkippedEntry:
    """A header that was found and left out, and why."""

    name: str
    reason: str


@frozen
class DumpSubject:
    """The SDK that was read. Everything but the headers is null or empty for an SDK that no schema describes."""

    vendor: str | None
    name: str | None
    version: str | None
    simulated: Annotated[bool, "a test double made by fl-gen, not the vendor's SDK"]
    groups: Annotated[tuple[str, ...], "the parts that are there"]
    libclang: Annotated[str, "the version of the compiler that read it"]
    compiler_headers: Annotated[str, "whose builtin headers were used"]


@frozen
class SdkDump:
    """All that an SDK's own headers declare, by kind and in the order of names."""

    format: Annotated[Literal[1], "version of this document's form"]
    generator: str
    sdk: DumpSubject
    headers: tuple[HeaderEntry, ...]
    skipped: tuple[SkippedEntry, ...]
    functions: tuple[FunctionEntry, ...]
    enums: tuple[EnumEntry, ...]
    anonymous_enums: tuple[EnumEntry, ...]
    typedefs: tuple[TypedefEntry, ...]
    records: tuple[RecordEntry, ...]
    macros: tuple[MacroEntry, ...]
    function_macros: tuple[FunctionMacroEntry, ...]
    unavailable: tuple[UnavailableEntry, ...]
