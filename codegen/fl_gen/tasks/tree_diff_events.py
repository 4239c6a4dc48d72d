"""What changes of the input mean for the binary interface: how the two models differ, and which change did it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fl_gen.resolve.torch_ops import HOST_OPS, LIBRARY_OPS
from fl_gen.tasks.tree_diff_causes import Inputs, Suspect
from fl_gen.tasks.tree_diff_nodes import NodeChange
from fl_gen.tasks.tree_diff_sides import Fact
from fl_gen.tasks.tree_diff_values import Effect, Meaning

_WORDS = re.compile(r"\w+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
# The operation of the SDK by which the device does an operator of PyTorch's, if the SDK has it.
_SERVED: Mapping[str, str | None] = {**LIBRARY_OPS, **HOST_OPS}
_EFFECTS: Mapping[tuple[str, str], Effect] = {
    ("kernel", "added"): "kernel added",
    ("kernel", "removed"): "kernel removed",
    ("kernel", "changed"): "signature changed",
    ("method", "added"): "method added",
    ("method", "removed"): "method removed",
    ("method", "changed"): "signature changed",
    ("order", "changed"): "parameters reordered",
    ("call", "added"): "call added",
    ("call", "removed"): "call removed",
    ("call", "changed"): "call replaced",
    ("strategy", "changed"): "strategy changed",
    ("instead", "changed"): "strategy changed",
    ("dtypes", "changed"): "dtypes changed",
    ("result", "changed"): "dtypes changed",
    ("type", "changed"): "type changed",
    ("type", "added"): "type changed",
    ("type", "removed"): "type changed",
    ("constant", "changed"): "constant changed",
    ("constant", "added"): "constant changed",
    ("constant", "removed"): "constant changed",
    ("operator", "added"): "operator added",
    ("operator", "removed"): "operator removed",
    ("operator", "changed"): "signature changed",
    ("feature", "changed"): "feature changed",
}


@dataclass(frozen=True)
class Event:
    """A difference between the models."""

    fact: Fact
    effect: Effect
    old: str | None
    new: str | None

    def meaning(self, vendors: Sequence[str]) -> Meaning:
        return Meaning(self.effect, self.fact[1], self.old, self.new, tuple(vendors))


def events_of(old: Mapping[Fact, str], new: Mapping[Fact, str]) -> list[Event]:
    """How the models of both sides differ, in a fixed order."""
    found = []
    for fact in sorted({*old, *new}):
        before, after = old.get(fact), new.get(fact)
        if before == after:
            continue
        change = "added" if before is None else "removed" if after is None else "changed"
        effect = _EFFECTS.get((fact[0], change))
        if fact[0] == "order" and not _unseen_by_types(fact[1], old, new):
            continue
        if fact[0] == "result" and _by_places(fact[1], old) == _by_places(fact[1], new):
            continue  # a parameter has another name
        if fact[0] == "call" and change != "changed":
            # What stands in for the call, or stood in: that is one change, not two.
            other = (new if after is None else old).get(("instead", fact[1]))
            if other is not None:
                effect = "strategy changed"
                before, after = (before, f"strategy {other}") if after is None else (f"strategy {other}", after)
        if effect is not None:
            found.append(Event(fact, effect, before, after))
    return found


def _unseen_by_types(name: str, old: Mapping[Fact, str], new: Mapping[Fact, str]) -> bool:
    """Whether a parameter has another place in a signature that is the same: all links as before, and arguments that
    are right on one side are wrong on the other."""
    if any(old.get((sort, name)) != new.get((sort, name)) for sort in ("kernel", "method")):
        return False
    before, after = _parameters(name, old), _parameters(name, new)
    return any(one in after and after.index(one) != place for place, one in enumerate(before))


def _by_places(name: str, side: Mapping[Fact, str]) -> str:
    """What a kernel's result is, with the places of the parameters for their names."""
    places = {one: f"#{place}" for place, one in enumerate(_parameters(name, side))}
    return _WORDS.sub(lambda word: places.get(word[0], word[0]), side.get(("result", name), ""))


def _parameters(name: str, side: Mapping[Fact, str]) -> list[str]:
    return _WORDS.findall(side.get(("order", name), "").partition("(")[2])


def assign_events(inputs: Inputs) -> tuple[dict[Suspect, list[Event]], list[Event]]:
    """The events by the suspect that explains them, and those that no single suspect explains."""
    assigned: dict[Suspect, list[Event]] = {}
    rest: list[Event] = []
    for event in events_of(inputs.old.facts, inputs.new.facts):
        suspects = [one for one, node in inputs.nodes.items() if _explains(node, event)]
        if not suspects:
            words = frozenset(_WORD.findall(f"{event.old or ''} {event.new or ''}"))
            suspects = [
                one
                for one, node in inputs.nodes.items()
                if node.file.endswith("/api.yaml") and words & {node.subject, *inputs.words[one]}
            ]
        if not suspects and event.fact[0] in ("strategy", "dtypes") and inputs.new.wheel is not None:
            suspects = [one for one, node in inputs.nodes.items() if _of_many_operators(node)]
        if not suspects and event.fact[0] == "strategy":
            suspects = inputs.by_kind.get("native", [])
        if not suspects and event.fact[0] in ("operator", "feature", "strategy"):
            suspects = inputs.by_kind.get("wheel", [])
        if not suspects and event.fact[0] in ("call", "instead", "type", "constant", "strategy"):
            suspects = inputs.by_kind.get("sdk", [])
        if not suspects:
            everything = [one for many in inputs.by_kind.values() for one in many]
            suspects = everything if len(everything) == 1 else []
        for suspect in suspects:
            assigned.setdefault(suspect, []).append(event)
        if not suspects:
            rest.append(event)
    return assigned, rest


def _explains(node: NodeChange, event: Event) -> bool:
    sort, name = event.fact
    if node.file.endswith(("/features.yaml", "/torch.yaml")) or name in _SERVED:
        return _explains_torch(node, event)
    if "/ops/" in node.file:
        if node.path == "":  # the whole file came or went
            return sort == "kernel" and event.effect in ("kernel added", "kernel removed")
        return sort in ("kernel", "order", "strategy", "dtypes", "result") and node.subject == name
    head = re.split(r"[.\[]", node.path)[0]
    if head == "statuses":  # `runtime.success` of statuses.runtime.success[1], or of all of statuses.runtime
        return sort in ("constant", "type") and f"statuses.{name}.".startswith(f"{node.path.partition('[')[0]}.")
    sorts = {
        "bindings": ("call", "instead"),
        "operations": ("call", "instead"),
        "types": ("type",),
        "constants": ("constant",),
        "classes": ("method", "order"),
        "kernels": ("strategy",),
        "helpers": (),
    }.get(head, ())
    return sort in sorts and node.subject == name


def _explains_torch(node: NodeChange, event: Event) -> bool:
    """The same for what a package for PyTorch is made from."""
    sort, name = event.fact
    if node.path.startswith(("bindings.", "operations.")):
        return sort == "strategy" and _SERVED.get(name) == node.subject
    return sort in ("strategy", "dtypes", "feature") and node.subject == name


def _of_many_operators(node: NodeChange) -> bool:
    """Whether a change is one of the rules for many operators: a category, or a whole file."""
    rules = "frameworks/torch/ops/" in node.file or node.file.endswith("/torch.yaml")
    return rules and (not node.path or node.path.startswith("categories."))
