"""The values that go into a probe and come out of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from fl_gen.schema.errors import Diagnostic, FlGenError
from fl_gen.schema.location import Location

Form = Literal["expr", "body", "type", "constant", "helper"]


@dataclass(frozen=True)
class ProbeItem:
    """One piece of C++ to ask the compiler about.

    `form` says what `code` is: `expr` one expression whose value is returned (or dropped when `returns` is void),
    `body` the statements of a function, `type` a type, `constant` an expression that must convert to `returns` without
    narrowing, `helper` declarations at namespace scope that other items name in `helpers` by this item's id.

    `$name` in a type text or in `code` stands for the chosen `type` item that has `provides="name"`.
    `group` joins the alternatives for one thing (all candidates of an operation): the first that is valid and not
    deprecated is chosen, else the first valid one. An item without a group is a group of its own.
    `strict_typedefs` compares typedef names of arguments and results, for SDKs whose handles are all `void *` or `int`.
    `locate` gives the place in the user's file of a character offset in `code`.
    """

    id: str
    returns: str
    params: tuple[tuple[str, str], ...]
    code: str
    form: Form
    helpers: tuple[str, ...]
    location: Location
    locate: Callable[[int], Location]
    group: str = ""
    provides: str = ""
    strict_typedefs: bool = False

    @property
    def choice(self) -> str:
        """The group that this item is an alternative of."""
        return self.group or self.id


@dataclass(frozen=True)
class Use:
    """Where the SDK declares a name that an item uses. `header` is as an `#include` would spell it; `signature` is that
    of a function as the header writes it, and empty for anything else; `macro`: the name is that of a macro."""

    name: str
    header: str
    line: int
    signature: str = ""
    macro: bool = False


@dataclass(frozen=True)
class Finding:
    """A fault of an item, placed by character offset in its code (a cache entry must not know the YAML file)."""

    message: str
    offset: int
    length: int = 1
    hint: str | None = None
    rule: str = "sdk-mismatch"

    def at(self, item: ProbeItem) -> Diagnostic:
        """The finding as a diagnostic in the file that `item` came from."""
        start, end = item.locate(self.offset), item.locate(self.offset + self.length)
        # In the file the text may be longer or shorter than in the code: escapes, placeholders of a base.
        width = end.column - start.column if end.line == start.line else 0
        return Diagnostic(
            location=start,
            message=self.message,
            hint=self.hint,
            length=width if width > 0 else self.length,
            rule=self.rule,
        )


@dataclass(frozen=True)
class Verdict:
    """What the compiler said about one item. `deprecated` is its text, and not a fault."""

    ok: bool
    diagnostics: tuple[Diagnostic, ...] = ()
    deprecated: str | None = None
    declarations: tuple[Use, ...] = ()


@dataclass(frozen=True)
class HeaderRead:
    """A header that took part: the name as included, the path read, its SHA-256, and whether it is the SDK's own."""

    name: str
    path: str
    digest: str
    sdk: bool


@dataclass(frozen=True)
class Outcome:
    """What a probe found, without places in the user's files: this is what a cache keeps.

    `findings` has an entry for every item, empty for a valid one.
    """

    findings: Mapping[str, tuple[Finding, ...]]
    deprecated: Mapping[str, str]
    uses: Mapping[str, tuple[Use, ...]]
    chosen: Mapping[str, str | None]
    types: Mapping[str, str]
    headers: tuple[HeaderRead, ...]
    libclang: str
    resource_headers: str
    parses: int
    cached: bool = False


@dataclass(frozen=True)
class ProbeReport:
    """The outcome of a probe.

    `chosen` has one entry a group, None where no alternative fits. `types` are the chosen C++ types by portable name.
    `libclang` is the compiler's version line; `resource_headers` says which builtin headers were used; `cached` that no
    compiler ran; `parses` how many translation units were parsed to get it.
    """

    verdicts: Mapping[str, Verdict]
    chosen: Mapping[str, str | None]
    types: Mapping[str, str]
    headers_read: tuple[HeaderRead, ...]
    libclang: str
    resource_headers: str
    cached: bool = False
    parses: int = 0

    @property
    def sdk_digest(self) -> str:
        """SHA-256 over the SDK's own headers, by name and content: the same wherever the SDK is installed."""
        digest = hashlib.sha256()
        for header in sorted((h for h in self.headers_read if h.sdk), key=lambda h: (h.name, h.digest)):
            digest.update(f"{header.name}\0{header.digest}\n".encode())
        return digest.hexdigest()


class SdkError(FlGenError):
    """The SDK cannot be used at all: nothing is there, or it cannot be read."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(f"{message}\n  = {remedy}")
        self.message = message
        self.remedy = remedy


@dataclass(frozen=True)
class HeaderFault:
    """An error that clang reports in a header, in its own words. `location` is the header's file, line and column."""

    location: Location
    text: str
    included_from: tuple[Location, ...] = field(default=())


class SdkHeaderError(SdkError):
    """The headers do not parse, so there is no verdict on anything: a broken header silently turns types into int."""

    def __init__(self, faults: tuple[HeaderFault, ...], remedy: str) -> None:
        self.faults = faults
        self.diagnostics = tuple(
            Diagnostic(location=f.location, message=f"no verdict on this SDK: clang: {f.text}", rule="sdk-header")
            for f in faults
        )
        super().__init__("\n".join(f"{d.location}: {d.message}" for d in self.diagnostics), remedy)

    def render(self, color: bool = False) -> str:
        """Each fault with its line, where it was included from, and one remedy."""
        parts = []
        for fault, diagnostic in zip(self.faults, self.diagnostics, strict=True):
            parts.append(diagnostic.render(color))
            parts += [f"  included from {place}" for place in fault.included_from]
        return "\n".join([*parts, f"  = {self.remedy}"])
