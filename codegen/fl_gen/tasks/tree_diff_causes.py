"""Which change of the input is behind a changed line.

Kinds of input (schemas, templates, SDK, formatter, ...) are told apart by rendering the old side with one kind of the
new one at a time. Within a kind with several changes the source maps of both sides say which of them the lines were
made from. Where these have no answer the hunk is laid against each change: the words that came and went, the entry that
it is in, the template that made the file. That is called likely, not exact.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fl_gen.tasks.tree_diff_hunks import Part, lines_of, parts_of, touches
from fl_gen.tasks.tree_diff_nodes import NodeChange, node_changes
from fl_gen.tasks.tree_diff_sides import Side, uses
from fl_gen.tasks.tree_diff_values import CauseKind, Certainty

if TYPE_CHECKING:
    from fl_gen.render.schema_nodes import Node
    from fl_gen.render.source_map import SourceMap

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")


# Nodes that a wheel says itself; of a feature, whether it has it.
_OF_WHEEL = ("operator", "wheel", "feature")
_NEAR = 12  # lines below the beginning of a node in which a change is taken for one of it


@dataclass(frozen=True)
class Suspect:
    """One change of the input, before it is known what it changed. Equal for all vendors that it concerns."""

    kind: CauseKind
    title: str
    change: str | None = None
    place: str | None = None
    old: str | None = None
    new: str | None = None


@dataclass
class Inputs:
    """All changes of the input of one vendor, and how to recognise each in a text."""

    old: Side
    new: Side
    by_kind: dict[CauseKind, list[Suspect]] = field(default_factory=dict)
    nodes: dict[Suspect, NodeChange] = field(default_factory=dict)
    templates: dict[Suspect, str] = field(default_factory=dict)
    words: dict[Suspect, frozenset[str]] = field(default_factory=dict)

    @property
    def kinds(self) -> list[CauseKind]:
        return list(self.by_kind)


def changed_inputs(old: Side, new: Side) -> Inputs:
    """What is not the same in what the two sides were made from."""
    inputs = Inputs(old, new)

    def add(suspect: Suspect) -> None:
        inputs.by_kind.setdefault(suspect.kind, []).append(suspect)

    for node in node_changes(old.schemas, new.schemas):
        place = new.places.get(node.file) or old.places.get(node.file) or node.file
        suspect = Suspect("node", node.title, node.change, f"{place}:{node.line}", node.old, node.new)
        inputs.nodes[suspect] = node
        inputs.words[suspect] = node.gone | node.come
        add(suspect)
    for name in sorted({*old.templates, *new.templates}):
        before, after = old.templates.get(name), new.templates.get(name)
        if name.startswith("shipped/") and (before is None or after is None):
            continue  # the shipped one stands there by this name as long as an overlay lies over it
        if before != after:
            change = "added" if before is None else "removed" if after is None else "changed"
            line, words = _first_difference(before or b"", after or b"")
            place = new.places.get(name) or old.places.get(name) or name
            suspect = Suspect("template", name, change, f"{place}:{line}")
            inputs.templates[suspect] = name
            inputs.words[suspect] = words
            add(suspect)
    api = any(node.file.endswith("/api.yaml") for node in inputs.nodes.values())
    if old.sdk_digest != new.sdk_digest and not (api and old.sdk == new.sdk):
        add(Suspect("sdk", f"{old.sdk} -> {new.sdk}" if old.sdk != new.sdk else new.sdk, "changed"))
    if old.wheel != new.wheel and old.wheel is not None and new.wheel is not None:
        add(wheel_suspect(old.wheel[0], new.wheel[0]))
    if old.formatter != new.formatter:
        add(formatter_suspect(old.formatter, new.formatter))
    if old.licence != new.licence:
        add(Suspect("licence", "the licence header", "changed"))
    if old.native != new.native:
        add(Suspect("native", f"backends/{new.vendor}/kernels.yaml", "changed"))
    return inputs


def formatter_suspect(old: Mapping[str, str], new: Mapping[str, str]) -> Suspect:
    """Other formatters, by name and version."""
    names = [name for name in new if old.get(name) != new[name]]
    return Suspect("formatter", ", ".join(f"{name} {old.get(name)} -> {new[name]}" for name in names), "changed")


def wheel_suspect(old: str, new: str) -> Suspect:
    """Another release of PyTorch, or one that was built otherwise."""
    return Suspect("wheel", f"PyTorch {old} -> {new}" if old != new else f"PyTorch {new}", "changed")


def _first_difference(before: bytes, after: bytes) -> tuple[int, frozenset[str]]:
    """The first line of now that differs, from 1, and the words of all lines that come or go."""
    sides = [data.decode("utf-8", "replace").splitlines() for data in (before, after)]
    parts = parts_of(*sides)
    text = " ".join(line for part in parts for line in (*part.removed, *part.added))
    return (parts[0].new[0] + 1 if parts else 1), frozenset(_WORD.findall(text))


# -- hunks ------------------------------------------------------------------------------------------------------------


Maps = tuple[Mapping[str, "SourceMap"], Mapping[str, "SourceMap"]]


class Attribution:
    """Finds the suspects of hunks of one vendor.

    `variants` are the old side with one kind of new input each, `maps` the source maps of the changed files.
    """

    def __init__(self, inputs: Inputs, variants: Mapping[CauseKind, Side], maps: Maps) -> None:
        self._inputs = inputs
        self._variants = variants
        self._maps = maps

    def of_part(self, path: str, part: Part) -> tuple[list[Suspect], Certainty]:
        """The suspects of one hunk of a file that both sides have, or that one of them has."""
        kinds, certain = self._kinds(path, part)
        mapped = [one for one in self._mapped(path, part) if one.kind in kinds]
        if mapped and certain and {one.kind for one in mapped} == set(kinds):
            return mapped, "exact"
        found: list[Suspect] = []
        certainty: Certainty = "exact" if certain else "one-of"
        for kind in kinds:
            chosen, sure = self._among(self._inputs.by_kind[kind], kind, path, part)
            found += chosen
            if certainty == "exact":
                certainty = sure
        return found, certainty

    def _kinds(self, path: str, part: Part) -> tuple[list[CauseKind], bool]:
        """The kinds of input behind a hunk, and whether that is sure."""
        kinds = self._inputs.kinds
        if len(kinds) <= 1:
            return kinds, True
        old = self._inputs.old.files.get(path)
        found: list[CauseKind] = []
        for kind in kinds:
            variant = self._variants.get(kind)
            if variant is None:
                continue
            text = variant.files.get(path)
            if (text is None) != (old is None):
                found.append(kind)
            elif text is not None and text != old:
                parts = parts_of(lines_of(old), lines_of(text))
                if any(touches(one.old, part.old) for one in parts):
                    found.append(kind)
        if found:
            return found, all(self._variants.get(kind) is not None for kind in kinds)
        return kinds, False

    def _among(
        self, suspects: Sequence[Suspect], kind: CauseKind, path: str, part: Part
    ) -> tuple[list[Suspect], Certainty]:
        if len(suspects) == 1:
            return list(suspects), "exact"
        if kind == "template":
            used = self._used_templates(path)
            near = [one for one in suspects if self._inputs.templates[one] in used]
            if len(near) == 1:
                return near, "exact"
            suspects = near or suspects
        scores = {one: self._score(one, path, part) for one in suspects}
        best = max(scores.values())
        if best == 0:
            return list(suspects), "one-of"
        chosen = [one for one, score in scores.items() if score == best]
        return chosen, "likely" if len(chosen) < len(suspects) else "one-of"

    def _mapped(self, path: str, part: Part) -> list[Suspect]:
        """What the source maps say."""
        from fl_gen.render.source_map import Hunk, causes

        old, new = (maps.get(path) for maps in self._maps)
        if old is None and new is None:
            return []
        hunk = Hunk(part.old[0] + 1, part.old[1] + 1, part.new[0] + 1, part.new[1] + 1)
        found: dict[Suspect, None] = {}
        for cause in causes(old, new, hunk):
            if cause.node is not None and cause.node.kind in _OF_WHEEL:
                found.update(dict.fromkeys(self._inputs.by_kind.get("wheel", [])))
            if cause.kind == "node" and cause.node is not None:
                found.update(dict.fromkeys(self._by_node(cause.node)))
            elif cause.kind == "template":
                found.update({one: None for one, name in self._inputs.templates.items() if name == cause.name})
            elif cause.kind == "sdk":
                api = [one for one, node in self._inputs.nodes.items() if node.file.endswith("/api.yaml")]
                found.update(dict.fromkeys(self._inputs.by_kind.get("sdk", api)))
        return list(found)

    def _by_node(self, node: Node) -> list[Suspect]:
        """The changes of a node, in it, or that it is in."""
        path = node.path
        if node.kind == "native" and "native" in self._inputs.by_kind:
            return self._inputs.by_kind["native"]
        if node.kind == "operator":
            return [one for one, change in self._inputs.nodes.items() if change.subject == path]
        file, line = node.location.file.replace("\\", "/"), node.location.line
        within = {
            one: change for one, change in self._inputs.nodes.items() if change.path and _nested(change.path, path)
        }
        found = [one for one, change in within.items() if file.endswith(change.file)] or list(within)
        if found:
            return found
        near = [
            (abs(change.line - line), position, one)
            for position, (one, change) in enumerate(self._inputs.nodes.items())
            if file.endswith(change.file) and 0 <= change.line - line <= _NEAR
        ]
        return [min(near)[2]] if near else []

    def _used_templates(self, path: str) -> frozenset[str]:
        found: frozenset[str] = frozenset()
        for side in (self._inputs.old, self._inputs.new):
            if path in side.sources:
                found |= uses(side.templates, side.sources[path][0])
        return found

    def _score(self, suspect: Suspect, path: str, part: Part) -> int:
        changed = " ".join((*part.removed, *part.added))
        words = frozenset(_WORD.findall(changed))
        score = 4 * len(self._inputs.words[suspect] & words) if suspect in self._inputs.words else 0
        node = self._inputs.nodes.get(suspect)
        if node is None or not node.subject:
            return score
        if node.subject.startswith("aten::"):
            return score + (6 if f'"{node.subject.removeprefix("aten::")}"' in changed else 0)
        around = frozenset(_WORD.findall(" ".join(row.text for row in part.rows)))
        name = re.split(r"\W", node.subject)[-1]
        if name in words:
            score += 6
        elif name in around:
            score += 3
        elif any(node.subject in side.sources.get(path, ("", ()))[1] for side in (self._inputs.old, self._inputs.new)):
            score += 1
        # The entry that the lines stand in, from the lines before them.
        if score and name not in around and self._enclosing(path, part, name):
            score += 2
        return score

    def _enclosing(self, path: str, part: Part, name: str) -> bool:
        lines = lines_of(self._inputs.new.files.get(path))
        return any(name in line for line in lines[max(0, part.new[0] - 40) : part.new[0]])


def _nested(one: str, other: str) -> bool:
    return one == other or one.startswith((other + ".", other + "[")) or other.startswith((one + ".", one + "["))


def same_but_blanks(part: Part) -> bool:
    """Whether the lines differ in white space only, as after another formatter."""
    return "".join("".join(part.removed).split()) == "".join("".join(part.added).split())
