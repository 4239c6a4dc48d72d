"""What a template sees as `sdk`: the chosen bindings, spelled as C++."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fl_gen.render.substitute import identifiers, substitute, tokens
from fl_gen.resolve.bindings import required_problems
from fl_gen.resolve.model import Backend, Choice, Status
from fl_gen.resolve.spelling import spell_types
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.name import Name
from fl_gen.schema.runtime import type_references
from fl_gen.schema.vendor import Group


@dataclass(frozen=True)
class Adapter:
    """A binding that needs more than one expression: an inline function of the generated `<vendor>_sdk.h`."""

    name: str
    operation: str
    returns: str
    params: tuple[tuple[str, str], ...]
    body: str
    doc: str
    group: str
    source: str

    @property
    def signature(self) -> str:
        used = identifiers(self.body)
        params = ", ".join(_parameter(type_, name if name in used else "") for type_, name in self.params)
        return f"{self.returns} {self.name}({params})"


@dataclass(frozen=True)
class StatusView:
    """A status domain for templates."""

    type: str
    success: str
    not_ready: tuple[str, ...]
    oom: tuple[str, ...]
    macro: str
    expression: str

    def text(self, status: str) -> str:
        """The expression that gives the SDK's text for the status expression `status`."""
        return operand(substitute(self.expression, {"status": status}))


# Without all of these an SDK has no events that generated code can use, and those of the framework live on the host.
_EVENTS = ("event.create", "event.destroy", "event.record", "event.synchronize")
_OF_EVENTS = (*_EVENTS, "event.create_with_flags", "event.query", "event.elapsed_time", "stream.wait_event")


class SdkView:
    """Read-only access to the bindings of one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._aliases = {
            name: f"Sdk{Name.of(name).pascal}"
            for name, text in backend.types.items()
            if _needs_alias(backend, name, text)
        }
        self._types = {**backend.types, **self._aliases}

    def aliases(self, collectives: bool) -> dict[str, str]:
        """Names for types whose own spelling cannot stand behind `const`: those of the collectives, or all others."""
        found = {}
        for name, alias in self._aliases.items():
            users = [c.operation.group for c in self._backend.choices.values() if _mentions(c, name)]
            if collectives == all(group == "ccl" for group in users):
                found[alias] = self._backend.types[name]
        return found

    @property
    def name(self) -> str:
        return self._backend.sdk.name

    @property
    def version(self) -> str | None:
        return self._backend.sdk.version

    @property
    def simulated(self) -> bool:
        return self._backend.sdk.simulated

    def has(self, operation: str) -> bool:
        """Whether the SDK can do `operation`, and the other operations without which it is of no use."""
        if operation in _OF_EVENTS and not self.events:
            return False
        return self._backend.choice(operation).bound

    @property
    def events(self) -> bool:
        """Whether the SDK has events; without them a record waits for the stream."""
        return all(self._backend.choice(operation).bound for operation in _EVENTS)

    @property
    def ccl_groups(self) -> bool:
        """Whether the collective library can issue several calls together."""
        return self.has("ccl.group_start") and self.has("ccl.group_end")

    def strategy(self, operation: str) -> str | None:
        """What the generated code does instead, when the SDK cannot do `operation`."""
        return self._backend.choice(operation).strategy

    def call(self, operation: str, *arguments: str) -> str:
        """The C++ expression that does `operation` with `arguments`."""
        choice = self._bound(operation)
        assert choice.candidate is not None
        names = [param.name for param in choice.operation.params]
        if len(arguments) != len(names):
            raise TypeError(f"{operation} takes {len(names)} arguments ({', '.join(names)}), got {len(arguments)}")
        if choice.candidate.form == "body":
            return f"sdk::{adapter_name(operation)}({', '.join(arguments)})"
        code = spell_types(choice.candidate.code.value.strip(), self._types)
        return operand(substitute(code, dict(zip(names, arguments, strict=True))))

    def check(self, operation: str, *arguments: str) -> str:
        """The statement that does `operation` and aborts with the SDK's text if it fails."""
        call = self.call(operation, *arguments)
        choice = self._bound(operation)
        if choice.result == "void":
            return f"{call};"
        return f"{self._backend.statuses[choice.status].macro}({call});"

    def uses(self, operation: str, parameter: str) -> bool:
        """Whether the call of `operation` has a place for `parameter`."""
        candidate = self._bound(operation).candidate
        assert candidate is not None
        return candidate.form == "body" or parameter in identifiers(candidate.code.value)

    def result(self, operation: str) -> str:
        """How the result of `operation` is read: status, value, state or void."""
        return self._bound(operation).result

    def function(self, operation: str) -> str:
        """The name of the first SDK function that `operation` calls, for messages and for fault injection."""
        candidate = self._bound(operation).candidate
        assert candidate is not None
        calls: list[str] = re.findall(r"\b([A-Za-z_]\w*)\s*\(", candidate.code.value)
        declared = {use.name for use in self._backend.choice(operation).declarations}
        return next((name for name in calls if name in declared), calls[0])

    def called(self, operation: str) -> str:
        """The SDK function whose call is all that `operation` takes, so that messages begin with it; else empty."""
        candidate = self._backend.choice(operation).candidate
        if candidate is None or candidate.form == "body":
            return ""
        direct = re.match(r"\s*([A-Za-z_]\w*)\s*\(", candidate.code.value)
        return direct.group(1) if direct else ""

    def domain(self, operation: str) -> str:
        """The status domain of `operation`."""
        return self._bound(operation).status

    def scale(self, operation: str) -> float:
        """The factor that turns the SDK's unit into the operation's, 1.0 if they are the same."""
        candidate = self._bound(operation).candidate
        assert candidate is not None
        return candidate.scale if candidate.scale is not None else 1.0

    def type(self, name: str) -> str:
        """The SDK's type for a portable one."""
        return self._types[name]

    def has_type(self, name: str) -> bool:
        return name in self._types

    def spell(self, text: str) -> str:
        """A type text of runtime.yaml with each `$name` replaced by the SDK's type."""
        return spell_types(text, self._types)

    def constant(self, kind: str, name: str) -> str:
        """The SDK's spelling of a portable constant. Raises SchemaError when it has none."""
        found = self._backend.constants.get(kind, {}).get(name)
        if found is None:
            vendor = self._backend.vendor
            known = vendor.constants.get(kind)
            place = vendor.constants.location if known is None else known.location
            if known is not None and name in known:
                place = known.location_of(name)
            message = f"generated code needs the constant {kind}.{name}, and this SDK does not have it"
            raise SchemaError([Diagnostic(place, message, "add this release's spelling of it", rule="sdk-required")])
        return found

    def constants(self, kind: str) -> dict[str, str]:
        """Every constant of `kind` that the SDK has, in the order of the vendor schema."""
        return {name: value for name, value in self._backend.constants.get(kind, {}).items() if value is not None}

    @property
    def casts(self) -> dict[str, str]:
        """The conversions from float32 that the SDK names and whose two dtypes it has as well: <from>_to_<to>."""
        dtypes = self.constants("blas_dtype") if self.has_type("blas_dtype") else {}
        kinds = self.constants("cast_kind") if self.has_type("cast_kind") and "float32" in dtypes else {}
        return {name: kind for name, kind in kinds.items() if _float32_to(name) in dtypes}

    def status(self, domain: str) -> StatusView:
        status: Status = self._backend.statuses[domain]
        return StatusView(
            status.type, status.success, status.not_ready, status.oom, status.macro, status.text_expression
        )

    def has_status(self, domain: str) -> bool:
        return domain in self._backend.statuses

    @property
    def statuses(self) -> dict[str, StatusView]:
        return {name: self.status(name) for name in self._backend.statuses}

    @property
    def inferred(self) -> list[tuple[str, str]]:
        """Each operation whose binding rests on an inferred fact, with what is known about it and from where."""
        found = []
        for choice in self._backend.inferred():
            assert choice.candidate is not None
            texts = (choice.candidate.source, choice.candidate.note)
            found.append((choice.operation.name, "; ".join(str(text) for text in texts if text)))
        return found

    @property
    def defines(self) -> Sequence[tuple[str, str]]:
        """The macros that the SDK's headers want defined before they are included, with their values."""
        parts = (text.partition("=") for text in self._backend.vendor.sdk.defines)
        return [(name, value or "1") for name, _, value in parts]

    def headers(self, group: str) -> Sequence[str]:
        return self._backend.vendor.groups[group].headers

    def has_group(self, group: str) -> bool:
        return self._backend.has_group(group)

    def group(self, group: str) -> Group | None:
        """The group's schema node, None if this SDK lacks it."""
        return self._backend.vendor.groups[group] if self._backend.has_group(group) else None

    def adapters(self, *groups: str) -> list[Adapter]:
        """The body-form functions that the chosen bindings of `groups` (all, if none is named) need."""
        found = []
        for name, choice in self._backend.choices.items():
            candidate = choice.candidate
            if candidate is None or candidate.form != "body":
                continue
            if groups and choice.operation.group not in groups:
                continue
            found.append(
                Adapter(
                    name=adapter_name(name),
                    operation=name,
                    returns=self._returns(choice),
                    params=tuple((self.spell(p.type), p.name) for p in choice.operation.params),
                    body=spell_types(candidate.code.value.strip(), self._types),
                    doc=choice.operation.doc,
                    group=choice.operation.group,
                    source=candidate.source or "",
                )
            )
        return found

    def helpers(self, *groups: str) -> list[str]:
        """The C++ of the helpers that the chosen bindings of `groups` use, each once, in schema order."""
        used: set[str] = set()
        for choice in self._backend.choices.values():
            if choice.candidate is not None and (not groups or choice.operation.group in groups):
                used.update(choice.candidate.helpers)
        return [
            spell_types(helper.code.value.strip(), self._types)
            for name, helper in self._backend.vendor.helpers.items()
            if name in used
        ]

    def _returns(self, choice: Choice) -> str:
        if choice.result in ("status", "state"):
            return self._backend.statuses[choice.status].type
        if choice.result == "value":
            assert choice.operation.returns is not None
            return self.spell(choice.operation.returns)
        return "void"

    def _bound(self, operation: str) -> Choice:
        choice = self._backend.choice(operation)
        if not choice.bound:
            # The template did not ask sdk.has(), so it has nothing to put in its place.
            raise SchemaError(required_problems(choice.operation, self._backend.vendor, choice.rejected))
        return choice


def operand(expression: str) -> str:
    """`expression` so that it may stand beside any operator: in parentheses, unless it is a name or one call."""
    depth = 0
    closed = False
    for kind, text in tokens(expression):
        if depth == 0 and kind != "space" and (closed or (kind not in ("word", "number") and text not in ("::", "("))):
            return f"({expression})"
        depth += {"(": 1, ")": -1}.get(text, 0)
        closed = closed or (text == ")" and depth == 0)
    return expression


def _float32_to(pair: str) -> str:
    """The dtype that a pair `<from>_to_<to>` converts float32 to; empty for a pair from another one."""
    source, _, target = pair.partition("_to_")
    return target if source == "float32" else ""


def _needs_alias(backend: Backend, name: str, text: str) -> bool:
    """Whether `const` before the type `text` would not make the whole of it constant."""
    return name in backend.macro_types or not re.fullmatch(r"[\w: ]+", text)


def _mentions(choice: Choice, type_name: str) -> bool:
    texts = [param.type for param in choice.operation.params]
    return any(type_name in type_references(text) for text in [*texts, choice.operation.returns or ""])


def _parameter(type_: str, name: str) -> str:
    return f"{type_}{'' if type_.endswith(('*', '&')) or not name else ' '}{name}"


def adapter_name(operation: str) -> str:
    """`memory.alloc_async` -> `MemoryAllocAsync`."""
    return Name.of(operation.replace(".", "_")).pascal
