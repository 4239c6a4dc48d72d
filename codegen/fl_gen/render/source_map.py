"""Which template lines, schema nodes and SDK declarations each line of a generated file came from.

A file is rendered a second time while its origins are recorded (`source_mapper`, `tracing`), and the origins are
carried over what the formatter did (`align`). Rendering that nobody asks about knows nothing of this.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fl_gen.render.schema_nodes import Node
from fl_gen.render.tracing import Origin

CauseKind = Literal["node", "template", "sdk", "formatter", "unknown"]


@dataclass(frozen=True)
class Line:
    """One line of a generated file, counted from 1, and its origins: first that of most of its characters.

    `columns` has the origin of each character, empty where the line has only one. `marker`: no template says it, but
    fl-gen puts it above every file. `spelled` are the ops of the file whose names the line has, whoever wrote them: a
    template that holds the code of an op spells its name itself.
    """

    number: int
    text: str
    origins: tuple[Origin, ...]
    columns: tuple[Origin, ...] = ()
    marker: bool = False
    spelled: tuple[Node, ...] = ()

    def at(self, column: int) -> Line:
        """The line as far as its character `column`, from 1, is concerned. Raises IndexError beyond its end."""
        if not 1 <= column <= max(1, len(self.text)):
            raise IndexError(f"line {self.number} has {len(self.text)} columns")
        return replace(self, origins=(self.columns[column - 1],), columns=()) if self.columns else self

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes that the line says something of, those of the places that called a macro included."""
        found = (node for origin in self.origins for place in origin.chain() for node in place.nodes)
        return tuple(dict.fromkeys((*found, *self.spelled)))

    @property
    def conditions(self) -> tuple[Node, ...]:
        """What decided that the line is there, beside its nodes."""
        found = (node for origin in self.origins for place in origin.chain() for node in place.conditions)
        own = set(self.nodes)
        return tuple(node for node in dict.fromkeys(found) if node not in own)

    @property
    def bindings(self) -> tuple[Node, ...]:
        """Those of its nodes that came from the vendor's bindings, types, constants and statuses."""
        return tuple(node for node in self.nodes if node.kind in ("binding", "type", "constant", "status", "helper"))


@dataclass(frozen=True)
class SourceMap:
    """The origins of a generated file.

    `templates` maps each template and macro file that took part to its text; `nodes` each schema node, those inside
    them included, by key. `file_nodes` are the nodes that the manifest names for the file.
    """

    path: str
    template: str
    lines: tuple[Line, ...]
    templates: Mapping[str, str]
    nodes: Mapping[str, Node]
    file_nodes: tuple[str, ...] = ()

    def line(self, number: int) -> Line:
        """A line from 1. Raises IndexError for one that the file does not have."""
        if not 1 <= number <= len(self.lines):
            raise IndexError(f"{self.path} has {len(self.lines)} lines")
        return self.lines[number - 1]

    @functools.cached_property
    def digests(self) -> dict[str, str]:
        """A SHA-256 for each cause of the file: `template:<name>`, `node:<key>` and `sdk:<key>`."""
        found = {f"template:{name}": _sha(text) for name, text in self.templates.items()}
        for key, node in self.nodes.items():
            found[f"node:{key}"] = node.digest
            if node.declarations:
                found[f"sdk:{key}"] = node.sdk_digest
        return dict(sorted(found.items()))


@dataclass(frozen=True)
class Cause:
    """Why lines of two versions of a file differ.

    `name` is a node's key, a template's name, or what an unknown cause is called; `node` is the new node, or the old
    one if it is gone, and `lines` are the lines of the template that changed (of the new one, from 1).
    """

    kind: CauseKind
    name: str
    node: Node | None = None
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class Hunk:
    """Lines [old_start, old_stop) of the old file became [new_start, new_stop) of the new one; from 1."""

    old_start: int
    old_stop: int
    new_start: int
    new_stop: int


def causes(old: SourceMap | None, new: SourceMap | None, hunk: Hunk) -> tuple[Cause, ...]:
    """What changed among the sources of the lines of `hunk`; the most specific nodes only.

    None stands for a file that is not there. Sources of the lines themselves come first; only if none of them changed
    are the conditions around the lines asked, then the lines next to them, then the whole file.
    """
    before = _cut(old, hunk.old_start, hunk.old_stop)
    after = _cut(new, hunk.new_start, hunk.new_stop)
    found = _changed(old, new, [*before, *after], conditions=False)
    found = found or _changed(old, new, [*before, *after], conditions=True)
    if not found:
        near = [*_cut(old, hunk.old_start - 1, hunk.old_stop + 1), *_cut(new, hunk.new_start - 1, hunk.new_stop + 1)]
        found = _changed(old, new, near, conditions=True)
    if not found and old is not None and new is not None:
        found = _changed(old, new, [*old.lines, *new.lines], conditions=True)
    if found:
        return found
    if "".join("".join(line.text.split()) for line in before) == "".join("".join(line.text.split()) for line in after):
        return (Cause("formatter", "formatter"),)
    return (Cause("unknown", "generator"),)


def _cut(source_map: SourceMap | None, start: int, stop: int) -> tuple[Line, ...]:
    return source_map.lines[max(0, start - 1) : max(0, stop - 1)] if source_map is not None else ()


def _changed(
    old: SourceMap | None, new: SourceMap | None, lines: Sequence[Line], conditions: bool
) -> tuple[Cause, ...]:
    """The causes among the sources of `lines` that differ between the two maps."""
    keys: dict[str, None] = {}
    places: dict[tuple[str, int], None] = {}
    for line in lines:
        keys.update(dict.fromkeys(node.key for node in line.nodes))
        if conditions:
            keys.update(dict.fromkeys(node.key for node in line.conditions))
        for origin in line.origins:
            places.update(dict.fromkeys((place.template, place.line) for place in origin.chain()))
    before, after = _nodes(old), _nodes(new)
    everything = {**before, **after}
    differing = {key for key in everything if _differ(before.get(key), after.get(key))}
    # An op changes with each of its parts: name the parts, of those that the lines speak of if any of them changed.
    named = [key for key in keys if key in differing]
    exact = [key for key in named if not any(_inside(other, key) for other in differing)]
    if not exact:
        exact = [
            key
            for key in sorted(differing)
            if any(_inside(key, name) for name in named) and not any(_inside(other, key) for other in differing)
        ]
    found = []
    for key in exact:
        one, other = before.get(key), after.get(key)
        same_text = one is not None and other is not None and one.digest == other.digest
        found.append(Cause("sdk" if same_text else "node", key, other or one))
    return (*found, *_changed_templates(old, new, places))


def _changed_templates(
    old: SourceMap | None, new: SourceMap | None, places: Iterable[tuple[str, int]]
) -> tuple[Cause, ...]:
    """The templates of `places` that have other text there than the other version has anywhere."""
    found: dict[str, dict[int, None]] = {}
    for name, number in places:
        texts = [source_map.templates.get(name) for source_map in (old, new) if source_map is not None]
        if old is None or new is None or texts[0] == texts[1]:
            continue
        lines = [text.split("\n") if text is not None else [] for text in texts]
        for one, other in ((lines[0], lines[1]), (lines[1], lines[0])):
            if number <= len(one) and one[number - 1].strip() not in {line.strip() for line in other}:
                found.setdefault(name, {})[number] = None
    return tuple(Cause("template", name, None, tuple(sorted(numbers))) for name, numbers in sorted(found.items()))


def _nodes(source_map: SourceMap | None) -> Mapping[str, Node]:
    return source_map.nodes if source_map is not None else {}


def _differ(one: Node | None, other: Node | None) -> bool:
    if one is None or other is None:
        return True
    return one.digest != other.digest or (bool(one.declarations) and one.sdk_digest != other.sdk_digest)


def _inside(key: str, outer: str) -> bool:
    return key.startswith((outer + ".", outer + "["))


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
