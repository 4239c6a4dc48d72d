"""The nodes behind a PyTorch package: features, rules, hand-written kernels, and what the wheel itself says.

A wheel is to operators what a schema is to bindings: an operator's node is its entry in the `native_functions.yaml`
that the wheel brings along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from fl_gen.render.schema_nodes import Node, NodeIndex, Tagged
from fl_gen.render.torch_kernels import CxxKernel, PackageKernel, PythonKernel
from fl_gen.render.torch_view import TorchView
from fl_gen.resolve.model import Backend, Declaration
from fl_gen.resolve.ops import ResolvedOp
from fl_gen.resolve.torch_ops import ResolvedTorchOp
from fl_gen.schema.location import Location
from fl_gen.schema.paths import shown
from fl_gen.schema.torch import Feature, TorchFramework
from fl_gen.schema.torch_rules import Rule
from fl_gen.sdk.items import ProbeReport
from fl_gen.sdk.wheel import Wheel

_ENTRY = re.compile(r"^- func: ([\w.]+)\(", re.MULTILINE)
_AUTOGEN = re.compile(r"^  autogen: (.+)$", re.MULTILINE)
# What one rule decides about an operator, unless a kernel does.
_DECIDED = ("strategy", "kind", "boxed", "listed", "compiled", "by_hand", "own", "kernel", "operation", "unavailable")
_NAMED = re.compile(r"[A-Za-z_]\w*")


class TorchNodeIndex(NodeIndex):
    """All nodes of one package. `view` is what templates see of the wheel."""

    def __init__(self, backend: Backend, report: ProbeReport, view: TorchView, wheel: Wheel) -> None:
        self._view = view
        self._wheel = wheel
        self._operators: dict[str, Node] = {}
        super().__init__(backend, report)

    def _framework(self, backend: Backend) -> tuple[Any, tuple[ResolvedOp, ...]]:
        framework: TorchFramework = backend.framework
        version = Location(shown(self._wheel.package / "version.py"))
        self.release = self._add("wheel", "version", self._view.version, self._view.version, version)
        self.features = {name: self._feature(feature) for name, feature in framework.features.items()}
        # A rule of the vendor's own comes first, and each file may have one for the same operator.
        self._rules: dict[int, Node] = {}
        for number, file in enumerate(framework.rules):
            scope = f"{Path(file.location.file).name}: " if number else ""
            for name, rule in file.ops.items():
                self._rule(f"ops[{name}]", rule, file.ops.location_of(name), scope)
            for name, category in file.categories.items():
                self._rule(f"categories.{name}", category.rule, file.categories.location_of(name), scope)
        device = next((file for file in framework.rules if file.device is not None), None)
        self.device = (
            self.nodes["vendor:vendor"]
            if device is None
            else self._add("rule", "device", self._view.device, "", device.location)
        )
        self.register(self._view.device, self.device)
        return framework, ()

    def _feature(self, feature: Feature) -> Node:
        """A feature, with what the wheel's headers say of it in the place of a declaration."""
        has = self._view.features[feature.name]
        header, line = feature.headers[0], 1
        if has:
            header, line = self._declared(feature)
        said = Declaration(feature.name, header, line, f"this PyTorch {'has' if has else 'lacks'} it")
        path = f"features.{feature.name}"
        return self._add("feature", path, feature, feature.probe.value.strip(), None, (said,))

    def _declared(self, feature: Feature) -> tuple[str, int]:
        """The header and line that first say the last name of a feature's probe, else the head of its first header."""
        name = _NAMED.findall(feature.probe.value)[-1]
        for header in feature.headers:
            for folder in self._wheel.include_dirs:
                path = Path(folder, header)
                if path.is_file():
                    text = path.read_text(encoding="utf-8", errors="replace")
                    found = re.search(rf"\b{name}\b", text)
                    if found is not None:
                        return header, text.count("\n", 0, found.start()) + 1
        return feature.headers[0], 1

    def _rule(self, path: str, rule: Rule, location: Location, scope: str) -> None:
        said = ", ".join(
            f"{key}: {value}"
            for key, value in (("strategy", rule.strategy), ("operation", rule.operation), ("note", rule.note))
            if value is not None
        )
        self._rules[id(rule)] = self._add("rule", path, rule, said, location, scope=scope)

    # -- questions -----------------------------------------------------------------------------------------------------

    def of_value(self, value: Any) -> tuple[Node, ...]:
        """The nodes that a value was made from. An operator is its entry in the wheel; rules are for what it says."""
        return (self.operator(value.name),) if type(value) is ResolvedTorchOp else super().of_value(value)

    def read(self, owner: Any, attribute: str, value: Any) -> tuple[Node, ...]:
        """The nodes that reading `owner.attribute`, which gave `value`, made use of."""
        if type(owner) is ResolvedTorchOp:
            return self.of_op(owner.name, attribute)
        return super().read(owner, attribute, value)

    def of_op(self, name: str, attribute: str = "strategy") -> tuple[Node, ...]:
        """What decided about an attribute of an operator: its kernel or a rule, and its entry in the wheel."""
        if not self._view.has_op(name):
            return (self.release,)
        op = self._view.op(name)
        found: list[Node] = []
        decided = attribute in (*_DECIDED, "dtypes", "library_dtypes")
        if op.kernel is not None and decided and attribute != "library_dtypes":
            found.append(self._kernel(op))
        elif decided or attribute in ("tolerance", "note"):
            key = "strategy" if decided else attribute
            framework: TorchFramework = self.backend.framework
            said = (rule for file in framework.rules for rule in file.rules(op.name, op.op.tags))
            found += [self._rules[id(rule)] for rule in said if getattr(rule, key) is not None][:1]
        return (*found, self.operator(name))

    def operator(self, name: str) -> Node:
        """The entry of an operator in the wheel's native_functions.yaml. LookupError for one that it lacks."""
        if name not in self._operators:
            op = self._view.op(name).op
            place = Location(shown(self._listing), self._lines.get(op.short, 1))
            self._operators[name] = self._add("operator", name, op, op.schema, place)
        return self._operators[name]

    def _kernel(self, op: ResolvedTorchOp) -> Node:
        assert op.kernel is not None
        return self._add("native", f"kernels[{op.name}]", op.kernel, op.kernel.function or str(op.kernel.python))

    def ruled(self, operation: str) -> tuple[Node, ...]:
        """The rules that send operators to an operation of the vendor's library."""
        framework: TorchFramework = self.backend.framework
        return tuple(
            self._rules[id(rule)]
            for file in framework.rules
            for rule in file.ops.values()
            if rule.operation == operation
        )

    def tagged(self, names: Sequence[str]) -> tuple[str, ...]:
        """Names as the library `aten` registers them, which know their operators."""
        return tuple(
            self.register(Tagged(name, self.operator(f"aten::{name}")), *self.of_op(f"aten::{name}")) for name in names
        )

    def kernels(self, found: Iterable[CxxKernel | PackageKernel | PythonKernel]) -> list[Any]:
        """Kernels as templates see them, which know their entries in kernels.yaml."""
        return [self.register(kernel, *self.of_op(kernel.op)) for kernel in found]

    @property
    def _listing(self) -> Path:
        return self._wheel.site / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        """The line of each operator in native_functions.yaml, of a generated one that which asks for it."""
        try:
            text = self._listing.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return {}
        found: dict[str, int] = {}
        for entry in _AUTOGEN.finditer(text):
            line = text.count("\n", 0, entry.start()) + 1
            found.update(dict.fromkeys((name.strip() for name in entry.group(1).split(",")), line))
        at, line = 0, 1
        for entry in _ENTRY.finditer(text):
            line += text.count("\n", at, entry.start())
            at = entry.start()
            found[entry.group(1)] = line
        return found
