"""`sdk` as templates see it while they are traced: the same answers, and a record of what was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from fl_gen.render.schema_nodes import Node, NodeIndex, Tagged
from fl_gen.render.sdk_view import _EVENTS, _OF_EVENTS, Adapter, SdkView, StatusView
from fl_gen.render.tracing import Tracer
from fl_gen.resolve.model import Choice
from fl_gen.resolve.spelling import portable_types
from fl_gen.schema.vendor import Group


class _Constants(dict[str, str]):
    """Constants of one kind: a template that puts their names out uses all of them, one that picks one, that one."""

    def __init__(self, found: Mapping[str, str], tracer: Tracer) -> None:
        super().__init__(found)
        self._tracer = tracer

    def __iter__(self) -> Iterator[str]:
        self._all()
        return super().__iter__()

    def keys(self) -> Any:
        self._all()
        return super().keys()

    def _all(self) -> None:
        for value in self.values() if self._tracer.emitting else ():
            self._tracer.touch(value.node if isinstance(value, Tagged) else None)


class TracedSdk(SdkView):
    """Answers from the tagged backend of `index` and tells `tracer` which nodes each answer rests on."""

    def __init__(self, index: NodeIndex, tracer: Tracer) -> None:
        super().__init__(index.backend)
        self._index = index
        self._tracer = tracer
        self._views: dict[str, StatusView] = {}

    def _asked(self, operation: str) -> None:
        self._tracer.touch(self._index.choices.get(operation))

    def _group(self, group: str) -> Node | None:
        return self._index.nodes.get(f"vendor:groups.{group}")

    def _about(self, field: str) -> None:
        self._tracer.touch(self._index.nodes.get(f"vendor:sdk.{field}") or self._index.nodes.get("vendor:sdk"))

    def has(self, operation: str) -> bool:
        if operation in _OF_EVENTS:
            for name in _EVENTS:
                if not self._backend.choice(name).bound:
                    self._asked(name)
        self._asked(operation)
        return super().has(operation)

    @property
    def events(self) -> bool:
        for operation in _EVENTS:
            self._asked(operation)
        return all(self._backend.choice(operation).bound for operation in _EVENTS)

    def strategy(self, operation: str) -> str | None:
        self._asked(operation)
        return super().strategy(operation)

    def call(self, operation: str, *arguments: str) -> str:
        candidate = self._bound(operation).candidate
        for name in portable_types(candidate.code.value) if candidate is not None else ():
            self._tracer.touch(self._index.types.get(name))
        return super().call(operation, *arguments)

    def check(self, operation: str, *arguments: str) -> str:
        choice = self._bound(operation)
        if choice.result != "void":
            macro = self._backend.statuses[choice.status].macro
            self._tracer.touch(macro.node if isinstance(macro, Tagged) else None)
        return super().check(operation, *arguments)

    def called(self, operation: str) -> str:
        self._asked(operation)
        return super().called(operation)

    def _bound(self, operation: str) -> Choice:
        self._asked(operation)
        return super()._bound(operation)

    def type(self, name: str) -> str:
        self._tracer.touch(self._index.types.get(name))
        return super().type(name)

    def has_type(self, name: str) -> bool:
        self._tracer.touch(self._index.types.get(name))
        return super().has_type(name)

    def spell(self, text: str) -> str:
        for name in portable_types(text):
            self._tracer.touch(self._index.types.get(name))
        return super().spell(text)

    def constant(self, kind: str, name: str) -> str:
        value = super().constant(kind, name)
        self._tracer.touch(self._index.constant(kind, name))
        return value

    def constants(self, kind: str) -> dict[str, str]:
        return _Constants(super().constants(kind), self._tracer)

    def status(self, domain: str) -> StatusView:
        if domain not in self._views:
            with self._tracer.aside():
                self._views[domain] = super().status(domain)
            self._index.register(self._views[domain], self._index.statuses[domain])
        return self._views[domain]

    def has_status(self, domain: str) -> bool:
        self._tracer.touch(self._index.statuses.get(domain))
        return super().has_status(domain)

    @property
    def inferred(self) -> list[tuple[str, str]]:
        return [(Tagged(name, self._index.choices[name]), text) for name, text in super().inferred]

    @property
    def name(self) -> str:
        self._about("name")
        return self._backend.sdk.name

    @property
    def version(self) -> str | None:
        self._about("version")
        return self._backend.sdk.version

    def headers(self, group: str) -> tuple[str, ...]:
        node = self._group(group)
        return tuple(Tagged(name, node) if node is not None else name for name in super().headers(group))

    def has_group(self, group: str) -> bool:
        self._tracer.touch(self._group(group))
        return super().has_group(group)

    def group(self, group: str) -> Group | None:
        self._tracer.touch(self._group(group))
        return super().group(group)

    def adapters(self, *groups: str) -> list[Adapter]:
        with self._tracer.aside():
            found = super().adapters(*groups)
        return [self._index.register(replace(item), *self._of_adapter(item)) for item in found]

    def _of_adapter(self, adapter: Adapter) -> list[Node]:
        """The binding, and the types that its declaration and its body spell."""
        choice = self._backend.choice(adapter.operation)
        texts = [param.type for param in choice.operation.params] + [choice.operation.returns or ""]
        texts += [choice.candidate.code.value] if choice.candidate is not None else []
        names = dict.fromkeys(name for text in texts for name in portable_types(text))
        types = [self._index.types[name] for name in names if name in self._index.types]
        return [self._index.choices[adapter.operation], *types]

    def helpers(self, *groups: str) -> list[str]:
        with self._tracer.aside():
            by_code = {
                self.spell(helper.code.value.strip()): self._index.nodes[f"helper:helpers.{name}"]
                for name, helper in self._backend.vendor.helpers.items()
                if all(used in self._types for used in portable_types(helper.code.value))
            }
            return [Tagged(code, by_code[code]) for code in super().helpers(*groups)]
