"""Which template lines, schema nodes and SDK declarations each line of a generated file came from.

A file is rendered a second time while its origins are recorded (`tracing`), and the origins are carried over what the
formatter did (`align`). Rendering that nobody asks about knows nothing of this.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from fl_gen.render.align import align
from fl_gen.render.environment import FileRender, TemplateError, render_text, tidied
from fl_gen.render.infinitrain import FRAMEWORK, MARKED, base_context, generated_files, mark, once_renders
from fl_gen.render.instrument import traced_environment
from fl_gen.render.schema_nodes import Node, NodeIndex
from fl_gen.render.traced_sdk import TracedSdk
from fl_gen.render.tracing import Origin, Text, plain
from fl_gen.resolve.model import Backend
from fl_gen.sdk.items import ProbeReport

_WORD = re.compile(r"[A-Za-z_]\w*")
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


@dataclass
class SourceMapper:
    """Makes the source maps of one backend; templates are compiled once for all its files.

    `roots` are template roots, a user's before the shipped one, as `render_infinitrain` takes them.
    """

    backend: Backend
    report: ProbeReport
    roots: Sequence[Path]
    _files: dict[str, FileRender] = field(default_factory=dict, init=False)
    _once: dict[str, FileRender] = field(default_factory=dict, init=False)
    _last: tuple[FileRender, str] | None = field(default=None, init=False)  # what was rendered last

    def __post_init__(self) -> None:
        trees = tuple(root / FRAMEWORK for root in self.roots if (root / FRAMEWORK).is_dir())
        self._environment, self._tracer = traced_environment(trees)
        self.index = NodeIndex(self.backend, self.report)
        self._tracer.index = self.index
        backend = self.index.backend
        self._context = {**base_context(backend), "sdk": TracedSdk(self.index, self._tracer)}
        for group in ("ccl", "blas"):
            if self._context[group] is not None:
                self.index.register(self._context[group], self.index.nodes[f"vendor:groups.{group}.name"])
        self._files = {file.path: file for file in generated_files(backend, trees)}
        self._once = {file.path: file for file in once_renders(backend, trees)}

    @property
    def paths(self) -> tuple[str, ...]:
        """The generated files, relative to generated/<vendor>."""
        return tuple(sorted(self._files))

    @property
    def once_paths(self) -> tuple[str, ...]:
        """The files that are made once, relative to backends/<vendor>."""
        return tuple(sorted(self._once))

    def map(self, path: str, text: str) -> SourceMap:
        """The source map of the generated file `path`, whose final text is `text`. KeyError for another path."""
        return self._map(self._files[path], text)

    def map_once(self, path: str, text: str, above: int = 0) -> SourceMap:
        """The source map of a once-file as it was made, with `above` lines of a licence. KeyError for another path."""
        return self._map(self._once[path], text, range(1, above + 1))

    def _map(self, file: FileRender, text: str, above: range | None = None) -> SourceMap:
        raw = self._raw(file)
        if not isinstance(raw, Text):
            raw = Text(raw, ())
        fallback = Origin(file.template, 1)
        lines = [self._spelled(line, file) for line in _lines(raw, text, fallback, above)]
        names = {place.template for line in lines for origin in line.origins for place in origin.chain()}
        nodes: dict[str, Node] = {}
        for line in lines:
            for node in (*line.nodes, *line.conditions):
                if node.key not in nodes:
                    nodes[node.key] = node
                    nodes.update({inner.key: inner for inner in self.index.below(node)})
        templates = {name: self._source(name) for name in sorted(names)}
        return SourceMap(file.path, file.template, tuple(lines), templates, nodes, file.nodes)

    def _spelled(self, line: Line, file: FileRender) -> Line:
        """The line with the ops of its file that it names, alone or as an enumerator (`kAddForward`)."""
        words = [] if line.marker or not file.nodes else dict.fromkeys(_WORD.findall(line.text))
        keys = (f"ops:{word[len(prefix) :]}" for word in words for prefix in ("", "k") if word.startswith(prefix))
        ops = [self.index.nodes[f"op:{key[4:]}"] for key in keys if key in file.nodes]
        return replace(line, spelled=tuple(dict.fromkeys(ops))) if ops else line

    def _source(self, name: str) -> str:
        loader = self._environment.loader
        if loader is None:
            raise TemplateError(f"{name}: no template folder")
        return loader.get_source(self._environment, name)[0].replace("\r\n", "\n")

    def template_file(self, name: str) -> str:
        """The path of the file that a template was read from."""
        loader = self._environment.loader
        found = loader.get_source(self._environment, name)[1] if loader is not None else None
        return found if found is not None else name

    def text(self, path: str) -> str:
        """The generated file `path` before it is formatted and gets a licence. KeyError for another path."""
        file = self._files[path]
        return mark(tidied(plain(self._raw(file)), file), file)

    def once_text(self, path: str) -> str:
        """A once-file as it is made. KeyError for another path."""
        file = self._once[path]
        return tidied(plain(self._raw(file)), file)

    def _raw(self, file: FileRender) -> str:
        if self._last is None or self._last[0] is not file:
            merged = FileRender(file.template, file.path, {**self._context, **file.context}, file.nodes)
            self._tracer.reset(file.template)
            self._last = (file, render_text(self._environment, merged))
        return self._last[1]


def _lines(raw: Text, final: str, fallback: Origin, above: range | None = None) -> list[Line]:
    """The lines of `final` with the origins that `raw`, before it was marked and formatted, has for them.

    `above` are the lines that are not of the template; None looks for the mark.
    """
    at = _origins(raw, fallback)
    texts = final.removesuffix("\n").split("\n")
    head = _head(texts, fallback.template) if above is None else above
    places = align(raw, "\n".join("" if number in head else text for number, text in enumerate(texts, start=1)))
    known = [place for place in places if place is not None]
    first = known[0] if known else 0
    lines: list[Line] = []
    start = 0
    previous = -1  # the last character of `raw` that was met
    for number, text in enumerate(texts, start=1):
        if number in head:
            lines.append(Line(number, text, (fallback,), marker=True))
            start += 1
            continue
        found = places[start : start + len(text)]
        own = [place for place in found if place is not None]
        start += len(text) + 1
        if own:
            counted: dict[Origin, int] = {}
            for place in own:
                counted[at[place]] = counted.get(at[place], 0) + 1
            order = sorted(counted, key=lambda origin: -counted[origin])
            lines.append(Line(number, text, tuple(order), _columns(found, at) if len(order) > 1 else ()))
            previous = own[-1]
        else:
            lines.append(Line(number, text, (_blank(raw, at, previous, first),)))
    return lines


def _head(texts: Sequence[str], template: str) -> range:
    """The numbers of the lines that stand above what the template made: a licence, what made the file, and a blank."""
    wanted = f"{MARKED} {FRAMEWORK}/{template};"
    last = next((number for number, text in enumerate(texts, start=1) if wanted in text), 0)
    first = 2 if texts[0].startswith("#!") else 1
    return range(first, last + 2 if first == 1 and not any(texts[last : last + 1]) else last + 1) if last else range(0)


def _columns(places: Sequence[int | None], at: Sequence[Origin]) -> tuple[Origin, ...]:
    """The origin of each character of a line; what the formatter put in belongs to what is before it, or behind."""
    last = at[next(place for place in places if place is not None)]
    found = []
    for place in places:
        last = at[place] if place is not None else last
        found.append(last)
    return tuple(found)


def _blank(raw: str, at: Sequence[Origin], previous: int, first: int) -> Origin:
    """The origin of a line that holds nothing which can be found again: that of the line end behind what is before."""
    if not at:
        raise ValueError("an empty text has no lines")
    if previous < 0:
        return at[first]
    end = raw.find("\n", previous)
    following = raw.find("\n", end + 1) if end >= 0 else -1
    if following >= 0 and not raw[end:following].strip():
        return at[following]
    return at[min(end + 1, len(at) - 1)] if end >= 0 else at[previous]


def _origins(raw: Text, fallback: Origin) -> list[Origin]:
    """The origin of each character; a gap belongs to what is before it."""
    found: list[Origin] = []
    last = raw.spans[0].origin if raw.spans else fallback
    for span in raw.spans:
        found += [last] * (span.start - len(found))
        found += [span.origin] * (span.stop - span.start)
        last = span.origin
    found += [last] * (len(raw) - len(found))
    return found or [fallback]


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
