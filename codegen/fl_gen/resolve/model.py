"""The backend model: which binding each operation got, and why. Values only; nothing here reads or writes files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fl_gen.schema.errors import Diagnostic
from fl_gen.schema.frozen import frozen
from fl_gen.schema.location import Location
from fl_gen.schema.runtime import Operation
from fl_gen.schema.vendor import Candidate, Vendor


@frozen
class Declaration:
    """Where the SDK declares something that a chosen binding uses; `signature` is that of a function, else empty."""

    name: str
    header: str
    line: int
    signature: str = ""


@frozen
class Rejection:
    """A candidate that the SDK does not allow, with the compiler's words."""

    candidate: Candidate
    diagnostics: tuple[Diagnostic, ...]
    location: Location


@frozen
class Choice:
    """What one operation became.

    `candidate` is None when nothing fits: then `strategy` names what the generated code does instead (None if the
    operation is simply left out), and `rejected` says why each candidate failed. `status` is the status domain that
    checks the call. `depends_on` names what the SDK lost without which no candidate can hold, as in: type stream.
    """

    operation: Operation
    candidate: Candidate | None
    status: str
    rejected: tuple[Rejection, ...] = ()
    declarations: tuple[Declaration, ...] = ()
    deprecated: str | None = None
    depends_on: str | None = None

    @property
    def bound(self) -> bool:
        return self.candidate is not None

    @property
    def strategy(self) -> str | None:
        if self.bound or self.operation.strategy is None:
            return None
        return self.operation.strategy.name

    @property
    def result(self) -> str:
        """How the result is read: status, value, state or void."""
        if self.candidate is not None and self.candidate.result is not None:
            return self.candidate.result
        return self.operation.result


@frozen
class Status:
    """A status domain as this SDK really has it. `not_ready` and `oom` hold every code that exists."""

    domain: str
    type: str
    success: str
    not_ready: tuple[str, ...]
    oom: tuple[str, ...]
    text_expression: str
    macro: str


@frozen
class SdkInfo:
    """The SDK that was checked, without any path: the generated tree must be the same wherever it is made."""

    name: str
    version: str | None
    simulated: bool
    groups: tuple[str, ...]
    missing_groups: tuple[str, ...]
    libraries_missing: tuple[str, ...] = ()
    resource_headers: str = ""
    digest: str = ""


@frozen
class Backend:
    """Everything a template may ask about one vendor, one SDK and one framework.

    `types` are the SDK's own by portable name; `macro_types` are those of them that the SDK spells by a macro.
    """

    vendor: Vendor
    framework: Any
    sdk: SdkInfo
    types: Mapping[str, str]
    statuses: Mapping[str, Status]
    constants: Mapping[str, Mapping[str, str | None]]
    choices: Mapping[str, Choice]
    ops: tuple[Any, ...] = ()
    macro_types: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()

    def choice(self, operation: str) -> Choice:
        """The choice for `operation`; KeyError if runtime.yaml has no such operation (a fault in a template)."""
        return self.choices[operation]

    def has_group(self, group: str) -> bool:
        return group in self.sdk.groups

    def inferred(self) -> list[Choice]:
        """The chosen bindings that rest on an inferred fact."""
        return [c for c in self.choices.values() if c.candidate is not None and c.candidate.certainty == "inferred"]
