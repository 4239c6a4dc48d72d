"""Makes the source maps of a backend: renders its files a second time while origins are recorded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fl_gen.render.align import align
from fl_gen.render.environment import FileRender, TemplateError, environment_for, render_file, render_text, tidied
from fl_gen.render.infinitrain import (
    FRAMEWORK,
    MARKED,
    base_context,
    generated_files,
    in_context,
    mark,
    once_files,
    once_renders,
)
from fl_gen.render.instrument import traced_environment
from fl_gen.render.schema_nodes import Node, NodeIndex, Tagged
from fl_gen.render.source_map import Line, SourceMap
from fl_gen.render.traced_sdk import TracedSdk
from fl_gen.render.tracing import Origin, Text, Tracer, plain
from fl_gen.resolve.model import Backend
from fl_gen.sdk.items import ProbeReport

if TYPE_CHECKING:
    from fl_gen.render.torch_view import TorchView
    from fl_gen.sdk.wheel import Wheel

_WORD = re.compile(r"[A-Za-z_]\w*")
_QUOTED = re.compile(r"\"(aten::)?([a-z_][\w.]*)\"")


@dataclass(frozen=True)
class _Tree:
    """The files of a backend with what a traced template sees of it; `spelled` finds nodes in the text of a line."""

    framework: str
    index: NodeIndex
    context: dict[str, Any]
    files: Sequence[FileRender]
    once: Sequence[FileRender]
    spelled: Callable[[str, FileRender], Iterable[Node]]


@dataclass
class SourceMapper:
    """Makes the source maps of one backend; templates are compiled once for all its files.

    `roots` are template roots, a user's before the shipped one, as `render_infinitrain` takes them; `torch` is what a
    package for PyTorch is made for. `compiled` is a folder of compiled templates.
    """

    backend: Backend
    report: ProbeReport
    roots: Sequence[Path]
    torch: tuple[TorchView, Wheel] | None = None
    compiled: Path | None = None
    _files: dict[str, FileRender] = field(default_factory=dict, init=False)
    _once: dict[str, FileRender] = field(default_factory=dict, init=False)
    _last: tuple[FileRender, str] | None = field(default=None, init=False)  # what was rendered last

    def __post_init__(self) -> None:
        framework = FRAMEWORK if self.torch is None else "torch"
        trees = tuple(root / framework for root in self.roots if (root / framework).is_dir())
        self._environment, self._tracer = traced_environment(trees)
        if self.torch is None:
            self._tree = _infinitrain(self.backend, self.report, trees, self._tracer)
        else:
            self._tree = _torch(self.backend, self.report, self.torch, trees, self._tracer, self.compiled)
        self.index = self._tree.index
        self._tracer.index = self.index
        for group in ("ccl", "blas"):
            if self._tree.context[group] is not None:
                self.index.register(self._tree.context[group], self.index.nodes[f"vendor:groups.{group}.name"])
        self._files = {file.path: file for file in self._tree.files}
        self._once = {file.path: file for file in self._tree.once}

    @property
    def paths(self) -> tuple[str, ...]:
        """The generated files, relative to their folder below generated/."""
        return tuple(sorted(self._files))

    @property
    def once_paths(self) -> tuple[str, ...]:
        """The files that are made once, relative to their folder below backends/."""
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
        head = _head(text, self._tree.framework, file.template) if above is None else above
        lines = [self._spelled(line, file) for line in _lines(raw, text, fallback, head)]
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
        """The line with the ops that it names, whoever wrote their names."""
        found = () if line.marker else tuple(dict.fromkeys(self._tree.spelled(line.text, file)))
        return replace(line, spelled=found) if found else line

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
        return mark(tidied(plain(self._raw(file)), file), file, self._tree.framework)

    def once_text(self, path: str) -> str:
        """A once-file as it is made. KeyError for another path."""
        file = self._once[path]
        return tidied(plain(self._raw(file)), file)

    def _raw(self, file: FileRender) -> str:
        if self._last is None or self._last[0] is not file:
            self._tracer.reset(file.template)
            self._last = (file, render_text(self._environment, in_context(file, self._tree.context)))
        return self._last[1]


def _infinitrain(backend: Backend, report: ProbeReport, trees: tuple[Path, ...], tracer: Tracer) -> _Tree:
    index = NodeIndex(backend, report)
    context = {**base_context(index.backend), "sdk": TracedSdk(index, tracer)}

    def spelled(text: str, file: FileRender) -> Iterable[Node]:
        """The ops of the file, alone or as an enumerator (`kAddForward`)."""
        words = dict.fromkeys(_WORD.findall(text)) if file.nodes else ()
        keys = (f"ops:{word[len(prefix) :]}" for word in words for prefix in ("", "k") if word.startswith(prefix))
        return [index.nodes[f"op:{key[4:]}"] for key in keys if key in file.nodes]

    files = generated_files(index.backend, trees)
    return _Tree(FRAMEWORK, index, context, files, once_renders(index.backend, trees), spelled)


def _torch(
    backend: Backend,
    report: ProbeReport,
    torch: tuple[TorchView, Wheel],
    trees: tuple[Path, ...],
    tracer: Tracer,
    compiled: Path | None,
) -> _Tree:
    from fl_gen.render import torch as package
    from fl_gen.render.torch_nodes import TorchNodeIndex
    from fl_gen.render.traced_torch import TracedTorch

    view, wheel = torch
    index = TorchNodeIndex(backend, report, view, wheel)
    usual = package.torch_context(index.backend, view)
    context = {
        **usual,
        "sdk": TracedSdk(index, tracer),
        "torch": TracedTorch(view, index, tracer),
        "tree": Tagged(usual["tree"], index.nodes["vendor:vendor"]),
    }
    every = package.torch_files(index.backend, view, trees)
    files, found = [], {}
    for file in package.unsharded(every):
        files.append(file)
        if file.path.endswith(".cc"):  # what it registers decides about the lists of the others
            text = render_file(environment_for(trees, compiled), in_context(file, usual))
            found[file.path] = package.registered_in(file.path, text)
    for file in package.shard_files(every, view, found):
        shard = index.tagged(file.context["shard"])
        files.append(FileRender(file.template, file.path, {**file.context, "shard": shard}, file.nodes))

    def spelled(text: str, file: FileRender) -> Iterable[Node]:
        """The operators that the line names in quotes, with `aten::`, or without it where the file registers them."""
        names = [
            f"aten::{name}"
            for space, name in _QUOTED.findall(text)
            if (space or name in found.get(file.path, ())) and view.has_op(f"aten::{name}")
        ]
        return [node for name in names for node in index.of_op(name)]

    return _Tree(package.FRAMEWORK, index, context, files, once_files(trees), spelled)


def _lines(raw: Text, final: str, fallback: Origin, head: range) -> list[Line]:
    """The lines of `final` with the origins that `raw`, before it was marked and formatted, has for them.

    `head` are the lines that are not of the template.
    """
    at = _origins(raw, fallback)
    texts = final.removesuffix("\n").split("\n")
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


def _head(final: str, framework: str, template: str) -> range:
    """The numbers of the lines that stand above what the template made: a licence, what made the file, and a blank."""
    texts = final.removesuffix("\n").split("\n")
    wanted = f"{MARKED} {framework}/{template};"
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
