"""What a vendor draft is made of. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fl_gen.sdk.model import Declared, Function, Sdk


@dataclass(frozen=True)
class Constant:
    """An enumerator, an integer macro or a constant variable. `value` None: not an integer that could be read."""

    name: str
    value: int | None
    at: Declared
    enum: str = ""


@dataclass(frozen=True)
class Cluster:
    """The functions whose names begin alike. `prefix` is the common first piece in lower case."""

    prefix: str
    functions: tuple[Function, ...]


@dataclass(frozen=True)
class Status:
    """The status domain of a group, with the places where its parts are declared."""

    type: str
    canonical: str
    success: str
    not_ready: tuple[str, ...]
    oom: tuple[str, ...]
    text: str
    at: str


@dataclass(frozen=True)
class GroupDraft:
    """A part of the SDK: the clusters of names that belong to it, the first one most."""

    key: str
    prefixes: tuple[str, ...]
    status: Status
    headers: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    guessed_library: bool = False


@dataclass(frozen=True)
class TypeDraft:
    """The SDK's type for a portable one; `at` is its declaration, None for one written out."""

    name: str
    type: str
    canonical: str
    at: Declared | None


@dataclass(frozen=True)
class Proposal:
    """One way to do an operation: the functions that it calls, its C++ text and how sure the draft is of it (0 to 1).

    `variants` are other ways to write the same call. `refused` is what the compiler said if it accepts none of them.
    `holes` says which arguments nothing in the operation gives; such a proposal is told, never written as a binding.
    """

    operation: str
    functions: tuple[str, ...]
    code: str
    form: str
    confidence: float
    at: str
    notes: tuple[str, ...] = ()
    holes: tuple[str, ...] = ()
    status: str | None = None
    variants: tuple[str, ...] = ()
    verified: bool = False
    refused: str = ""


@dataclass(frozen=True)
class Surface:
    """What the headers declare, as the draft looks at it.

    `aliases`: functions that a macro renames, with the name to call them by; `macro_types`: macros that stand for a
    pointer type, without `struct`.
    """

    sdk: Sdk
    clusters: Mapping[str, Cluster]
    constants: Mapping[str, Constant]
    aliases: Mapping[str, str] = field(default_factory=dict)
    macro_types: Mapping[str, str] = field(default_factory=dict)

    def canonical(self, type_: str) -> str:
        """A type's name without typedefs."""
        if type_ in self.sdk.typedefs:
            return self.sdk.typedefs[type_].canonical
        macro = self.macro_types.get(type_)
        return macro if macro is not None else type_


@dataclass(frozen=True)
class Draft:
    """A drafted vendor: `proposals` by operation, best first, those of operations that nothing fits empty."""

    name: str
    roots: tuple[str, ...]
    include_dirs: tuple[str, ...]
    defines: tuple[str, ...]
    library_dirs: tuple[str, ...]
    groups: Mapping[str, GroupDraft]
    types: Mapping[str, TypeDraft]
    constants: Mapping[str, Mapping[str, Constant | None]]
    proposals: Mapping[str, tuple[Proposal, ...]]
    version: tuple[str, tuple[str, ...]] | None
    tradition: str
    skipped: tuple[str, ...] = ()
    macros: frozenset[str] = frozenset()
    unverified: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
