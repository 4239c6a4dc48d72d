"""The schema nodes behind what templates see: which op, parameter, binding or constant a value was taken from.

Objects of the schema are known by identity, whatever view a template looks at them through; strings that the model
hands on by themselves (a parameter's name, the SDK's spelling of a type) are `Tagged` copies that carry their node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from fl_gen.render.op_view import OpView
from fl_gen.resolve.model import Backend, Choice, Declaration
from fl_gen.resolve.ops import ResolvedOp
from fl_gen.schema.location import Location
from fl_gen.schema.name import Name
from fl_gen.schema.nodes import Scalar
from fl_gen.schema.ops import Op
from fl_gen.schema.values import Table, Text
from fl_gen.schema.vendor import Vendor
from fl_gen.sdk.items import ProbeReport

# What an attribute of an op's view is made from; an attribute that is not here, from the op as a whole.
_VIEW_FIELDS: Mapping[str, tuple[str, ...]] = {
    "declaration": ("returns", "params"),
    "definition_head": ("returns", "params"),
    "wrapped_head": ("returns", "params"),
    "returns": ("returns",),
    "dtype_set": ("dtypes",),
    "exact_set": ("exact_dtypes",),
    "index_set": ("index_dtypes",),
    "dtype_lines": ("output_dtype", "exact_dtypes"),
    "output_dtype": ("output_dtype",),
    "compute": ("cpu", "exact_dtypes", "params"),
    "host_kernel": ("cpu", "precision", "exact_dtypes"),
    "subject": ("params",),
}
_VERBATIM = (str, int, float, bool, type(None))


@dataclass(frozen=True, eq=False)
class Node:
    """A place in a schema file. An index makes each node once, so that they are compared by identity.

    `kind` is op, binding, type, constant, status, helper, vendor, interface, operation or native, and for PyTorch
    feature, rule, operator or wheel; `path` is where it is in its file as people say it (`AddForward.params[1]`,
    `bindings.memory.alloc[0]`). `text` is the C++ that it holds, `digest` a SHA-256 of its content wherever that is
    written, `declarations` what of the SDK it uses. `scope` names the file where several have the same path.
    """

    kind: str
    path: str
    location: Location
    digest: str
    text: str = ""
    declarations: tuple[Declaration, ...] = ()
    scope: str = ""

    @property
    def key(self) -> str:
        """Tells it from every other node of a backend, in the same way before and after a change."""
        return f"{self.kind}:{self.scope}{self.path}"

    def inner(self, name: str) -> str:
        """The key of its field `name`."""
        return f"{self.key}.{name}" if self.path else f"{self.key}{name}"

    @property
    def sdk_digest(self) -> str:
        """A SHA-256 of what the SDK declares for it, without the places."""
        return _digest([(item.name, item.signature) for item in self.declarations])


class Tagged(str):
    """A string of the model that knows its node."""

    node: Node

    def __new__(cls, value: str, node: Node) -> Tagged:
        self = super().__new__(cls, value)
        self.node = node
        return self


class NodeIndex:
    """All nodes of one backend. `backend` is a copy of the given one whose strings are tagged."""

    def __init__(self, backend: Backend, report: ProbeReport) -> None:
        self.nodes: dict[str, Node] = {}
        self._known: dict[int, tuple[Any, tuple[Node, ...]]] = {}
        self._inside: dict[str, list[Node]] = {}  # the parts of each op
        self._report = report
        self._walk_vendor(backend.vendor)
        framework, resolved = self._framework(backend)
        self.choices: dict[str, Node] = {
            name: self._choice(name, choice, backend.vendor) for name, choice in backend.choices.items()
        }
        self.types = {name: self._type(name, text, backend.vendor) for name, text in backend.types.items()}
        self.statuses: dict[str, Node] = {}
        statuses = {}
        for domain, status in backend.statuses.items():
            written = backend.vendor.statuses[domain]
            self.statuses[domain] = self._add("status", f"statuses.{domain}", written, "")
            statuses[domain] = replace(
                status,
                type=self._status(domain, "type", status.type, written.type),
                success=self._status(domain, "success", status.success, written.success),
                macro=Tagged(status.macro, self._field(self.statuses[domain], "macro", status.macro)),
                text_expression=self._status(domain, "text", status.text_expression, (written.text,)),
                not_ready=tuple(
                    self._status(domain, "not_ready", text, written.not_ready) for text in status.not_ready
                ),
                oom=tuple(self._status(domain, "oom", text, written.oom) for text in status.oom),
            )
        constants = {
            kind: {name: self._constant(kind, name, text, backend.vendor) for name, text in names.items()}
            for kind, names in backend.constants.items()
        }
        self.backend = replace(
            backend,
            framework=framework,
            ops=resolved,
            types={name: Tagged(text, self.types[name]) for name, text in backend.types.items()},
            statuses=statuses,
            constants=constants,
        )

    # -- questions -----------------------------------------------------------------------------------------------------

    def register(self, value: Any, *nodes: Node) -> Any:
        """Make `value` known as made from `nodes`, the first of them above all, for as long as this index lives."""
        self._known[id(value)] = (value, nodes)
        return value

    def of_value(self, value: Any) -> tuple[Node, ...]:
        """The nodes that a value was made from, first the one that it is, or is a part of."""
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, Tagged):
            return (value.node,)
        if isinstance(value, OpView):
            return self.of_value(value.resolved.op)
        return ()

    def of_elements(self, elements: Sequence[Any]) -> Iterator[Node]:
        """The nodes of the variables of the loops around a place, outer ones first."""
        for position, value in enumerate(elements):
            found = self.of_value(value) or self._of_record(value)
            for outer in elements[:position]:
                found = found or self._of_member(outer, value)
            yield from found

    def _of_record(self, value: Any) -> tuple[Node, ...]:
        """The node of the first string of a record that has one: its name, as a rule."""
        if isinstance(value, Mapping):
            parts: Iterable[Any] = value.values()
        elif isinstance(value, tuple):
            parts = value
        elif is_dataclass(value) and not isinstance(value, type):
            parts = (getattr(value, item.name) for item in fields(value))
        else:
            return ()
        return next(((part.node,) for part in parts if isinstance(part, Tagged)), ())

    def _of_member(self, outer: Any, value: Any) -> tuple[Node, ...]:
        """The node of an element of a list in the record `outer`, if `outer` has a node: `NegForward.cases[2]`."""
        above = self.of_value(outer) or self._of_record(outer)
        if not above or not is_dataclass(outer) or isinstance(outer, type):
            return ()
        for item in fields(outer):
            members = getattr(outer, item.name)
            for index, member in enumerate(members if isinstance(members, tuple) else ()):
                node = self.nodes.get(f"{above[0].key}.{item.name}[{index}]") if member is value else None
                if node is not None:
                    return (node,)
        return ()

    def read(self, owner: Any, attribute: str, value: Any) -> tuple[Node, ...]:
        """The nodes that reading `owner.attribute`, which gave `value`, made use of."""
        if isinstance(value, Tagged):
            return (value.node,)
        if isinstance(value, tuple) and any(isinstance(item, Tagged) for item in value):
            return tuple(item.node for item in value if isinstance(item, Tagged))
        if isinstance(owner, OpView):
            op = self.of_value(owner)
            kernel = self.of_value(owner.resolved.library) if attribute == "library" else ()
            native = self.of_value(owner.resolved.native) if attribute in ("native", "strategy") else ()
            return (*self._fields(op, _VIEW_FIELDS.get(attribute, ())), *kernel, *native)
        known = self.of_value(owner)
        if not known or (self._known.get(id(value)) is not None and not isinstance(value, _VERBATIM)):
            return ()  # nothing of ours, or a part of it that will be asked for more
        return self._fields(known, (attribute,))

    def _fields(self, known: tuple[Node, ...], names: Sequence[str]) -> tuple[Node, ...]:
        if not known:
            return ()
        found: list[Node] = []
        for name in names:
            key = known[0].inner(name)
            members = [inner for inner in self.below(known[0]) if inner.key.startswith(f"{key}[")]
            found += members or ([self.nodes[key]] if key in self.nodes else [])
        return (*found, *known[1:]) if found else known

    def below(self, node: Node) -> list[Node]:
        """The nodes inside an op; none for any other node."""
        if node.kind != "op":
            return []
        if not self._inside:
            for other in self.nodes.values():
                name = other.path.partition(".")[0]
                if other.kind == "op" and other.path != name:
                    self._inside.setdefault(name, []).append(other)
        return self._inside.get(node.path, [])

    # -- making nodes --------------------------------------------------------------------------------------------------

    def _framework(self, backend: Backend) -> tuple[Any, tuple[ResolvedOp, ...]]:
        """The framework and its resolved ops, with their strings tagged."""
        ops = {name: self._tagged_op(op) for name, op in backend.framework.ops.items()}
        files = tuple(
            replace(file, ops=tuple(ops[op.name] if op is backend.framework.ops[op.name] else op for op in file.ops))
            for file in backend.framework.files
        )
        framework = replace(backend.framework, files=files, ops=_like(backend.framework.ops, ops))
        self._walk(backend.framework.interface, "interface", "")
        for item in backend.ops:
            if item.native is not None:
                self.register(item.native, self._add("native", f"kernels.{item.native.op}", item.native, ""))
        return framework, tuple(replace(item, op=ops[item.op.name]) for item in backend.ops)

    def _add(
        self,
        kind: str,
        path: str,
        value: Any,
        text: str,
        location: Location | None = None,
        declarations: tuple[Declaration, ...] = (),
        scope: str = "",
    ) -> Node:
        node = Node(kind, path, location or value.location, _digest(_content(value)), text, declarations, scope)
        return self.nodes.setdefault(node.key, node)

    def _field(self, parent: Node, name: str, value: Any, location: Location | None = None) -> Node:
        text = value if isinstance(value, str) else value.value if isinstance(value, Text) else ""
        return self._add(parent.kind, f"{parent.path}.{name}".lstrip("."), value, text, location or parent.location)

    def _tagged_op(self, op: Op) -> Op:
        node = self._add("op", op.name, op, "")
        params = []
        for index, param in enumerate(op.params):
            own = self._add("op", f"{op.name}.params[{index}]", param, f"{param.type} {param.name}")
            params.append(replace(param, name=Tagged(param.name, own), type=Tagged(param.type, own)))
            self.register(params[-1], own)
        for index, case in enumerate(op.cases):
            self.register(case, self._add("op", f"{op.name}.cases[{index}]", case, ""))
        for item in fields(op):
            if item.name not in ("name", "location", "category"):
                self._field(node, item.name, getattr(op, item.name))
        returns = Tagged(op.returns, self.nodes[f"{node.key}.returns"])
        made = replace(op, name=Tagged(op.name, node), returns=returns, params=tuple(params))
        self.register(made, node)
        return made

    def _walk(self, value: Any, kind: str, path: str) -> None:
        """Register `value` and all that is in it."""
        if isinstance(value, (Text, Location, Scalar)):
            return
        if isinstance(value, Mapping):
            for key, item in value.items():
                self._walk(item, kind, f"{path}.{key}".lstrip("."))
        elif isinstance(value, tuple):
            for index, item in enumerate(value):
                self._walk(item, kind, f"{path}[{index}]")
        elif is_dataclass(value) and not isinstance(value, type) and hasattr(value, "location"):
            node = self._add(kind, path, value, "")
            self.register(value, node)
            for part in fields(value):
                inner = getattr(value, part.name)
                if part.name == "location":
                    continue
                if isinstance(inner, (*_VERBATIM, tuple)) and not isinstance(inner, bool):
                    self._field(node, part.name, inner)
                self._walk(inner, kind, f"{path}.{part.name}".lstrip("."))

    def _walk_vendor(self, vendor: Vendor) -> None:
        root = self._add("vendor", "", vendor, "")
        self.register(vendor, root)
        self.register(vendor.name, self._field(root, "vendor", vendor.name))
        for item in fields(vendor):
            if isinstance(getattr(vendor, item.name), str):
                self._field(root, item.name, getattr(vendor, item.name))
        for name in ("sdk", "groups", "device_compiler", "workarounds", "kernels"):
            self._walk(getattr(vendor, name), "vendor", name)
        for name, group in vendor.groups.items():
            self.register(group.name, self._field(self.nodes[f"vendor:groups.{name}"], "name", group.name))
        for name, helper in vendor.helpers.items():
            self._add("helper", f"helpers.{name}", helper, helper.code.value, helper.code.location)

    def _choice(self, name: str, choice: Choice, vendor: Vendor) -> Node:
        candidate = choice.candidate
        if candidate is None:
            return self._add("operation", f"operations.{name}", choice.operation, "")
        index = next(i for i, other in enumerate(vendor.bindings[name]) if other is candidate)
        path = f"bindings.{name}[{index}]"
        text = candidate.code.value.strip()
        return self._add("binding", path, candidate, text, candidate.location, choice.declarations)

    def _chosen(self, group: str) -> tuple[int, tuple[Declaration, ...]]:
        """Which alternative of `group` the SDK has, and what of the SDK it uses."""
        chosen = self._report.chosen.get(group)
        if chosen is None:
            return 0, ()
        uses = self._report.verdicts[chosen].declarations
        made = tuple(Declaration(use.name, use.header, use.line, use.signature) for use in uses)
        return int(chosen.rpartition(":")[2]), made

    def _type(self, name: str, text: str, vendor: Vendor) -> Node:
        index, uses = self._chosen(f"type:{name}")
        written = vendor.types[name][index]
        return self._add("type", f"types.{name}[{index}]", written, text, None, uses)

    def _status(self, domain: str, kind: str, text: str, written: Sequence[Text]) -> Tagged:
        index = next((i for i, other in enumerate(written) if other.value == text), 0)
        group = f"type:status:{domain}" if kind == "type" else f"status:{domain}:{kind}"
        verdict = self._report.verdicts.get(f"{group}:{index}")
        uses = verdict.declarations if verdict is not None else ()
        made = tuple(Declaration(use.name, use.header, use.line, use.signature) for use in uses)
        where = f"statuses.{domain}.{kind}" + (f"[{index}]" if len(written) > 1 else "")
        return Tagged(text, self._add("status", where, written[index], text, None, made))

    def _constant(self, kind: str, name: str, text: str | None, vendor: Vendor) -> Any:
        index, uses = self._chosen(f"constant:{kind}:{name}")
        written = vendor.constants[kind][name]
        if text is None:
            place = vendor.constants[kind].location_of(name)
            self._add("constant", f"constants.{kind}.{name}", written, "", place)
            return None
        return Tagged(
            text, self._add("constant", f"constants.{kind}.{name}[{index}]", written[index], text, None, uses)
        )

    def constant(self, kind: str, name: str) -> Node | None:
        """The node of a constant, also of one that this SDK does not have."""
        value = self.backend.constants[kind][name]
        return value.node if isinstance(value, Tagged) else self.nodes.get(f"constant:constants.{kind}.{name}")


def _like(table: Any, items: Mapping[str, Any]) -> Any:
    return Table(items, table.location, {name: table.location_of(name) for name in items})


def _content(value: Any) -> Any:
    """What a schema object says, without where it says it."""
    if isinstance(value, Text):
        return value.value
    if isinstance(value, Name):
        return value.words
    if isinstance(value, _VERBATIM):
        return value if not isinstance(value, str) else str(value)
    if isinstance(value, Mapping):
        return [(str(key), _content(item)) for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return [_content(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return [(item.name, _content(getattr(value, item.name))) for item in fields(value) if item.name != "location"]
    return repr(value)


def _digest(content: Any) -> str:
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()
