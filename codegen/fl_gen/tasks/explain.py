"""Explain a generated file: render it again while its origins are recorded, and hold that against the file on disk."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fl_gen.output.base import Bases
from fl_gen.output.manifest import digest
from fl_gen.render.schema_nodes import Node
from fl_gen.render.source_map import Line, SourceMap
from fl_gen.render.source_mapper import SourceMapper
from fl_gen.render.tracing import Origin
from fl_gen.schema.catalog import TORCH
from fl_gen.schema.errors import FlGenError
from fl_gen.schema.location import Location
from fl_gen.schema.nodes import Mapping as MappingNode
from fl_gen.schema.nodes import Node as YamlNode
from fl_gen.schema.nodes import Sequence as SequenceNode
from fl_gen.schema.paths import shown
from fl_gen.tasks.explain_target import ExplainError, Located, Target, locate, parse_target, read_target, request_for
from fl_gen.tasks.explain_values import ExplainedLine, Explanation, Made, SchemaPlace, SdkPlace, State, TemplatePlace
from fl_gen.workflow.generate import Resolved, resolve_request, template_roots
from fl_gen.workflow.request import Request


def explain(text: str, given: Request, config: Path | None = None) -> Explanation:
    """What made the lines of `FILE[:LINE[:COLUMN]]` or `FILE:FIRST-LAST`.

    `given` has what the command line says about SDK, schemas, templates and licence; the rest is the project's
    (`config`, or the one above the tree) or the manifest's. Raises FlGenError.
    """
    target = parse_target(text)
    on_disk = read_target(target)
    found = locate(target)
    _require_lines(target, on_disk)
    request = request_for(found, given, config)
    resolved = resolve_request(request)
    mapper = mapper_of(request, resolved)
    source_map = _map(found, request, mapper)
    lines = on_disk.removesuffix("\n").split("\n")
    state, made = _compare(found, source_map, on_disk, lines)
    first = target.line or 1
    last = target.last or target.line or len(lines)
    places = _Places(mapper, source_map)
    explained = [places.line(made[number - 1], target.column) for number in range(first, min(last, len(lines)) + 1)]
    return Explanation(
        file=shown(target.file),
        path=found.path,
        vendor=request.vendor,
        ownership="once" if found.once else "generated",
        state=state,
        template=shown(mapper.template_file(source_map.template)),
        nodes=source_map.file_nodes,
        sdk=resolved.sdk.title + (f" and PyTorch {mapper.torch[1].version}" if mapper.torch is not None else ""),
        count=len(lines),
        whole=target.line is None,
        lines=tuple(explained),
    )


def mapper_of(request: Request, resolved: Resolved) -> SourceMapper:
    """What makes the source maps of a request's files."""
    compiled = request.cache / "templates" if request.cache is not None else None
    torch = None
    if request.framework == TORCH:
        from fl_gen.workflow.torch import torch_run

        run = torch_run(request, resolved.backend)
        torch = run.view, run.wheel
    return SourceMapper(resolved.backend, resolved.report, template_roots(request), torch, compiled)


def explain_file(request: Request, mapper: SourceMapper, path: str) -> SourceMap:
    """The source map of the generated file `path`, relative to its folder, as fl-gen makes it now."""
    from fl_gen.render.licence import with_licence
    from fl_gen.render.python_format import format_package

    text = mapper.text(path)
    if request.formatted:
        styles = (root / request.framework / "clang-format.yaml" for root in template_roots(request))
        style = next(style for style in styles if style.is_file()).read_text(encoding="utf-8")
        cache = request.cache / "format" if request.cache is not None else None
        text = format_package({path: text}, style, cache)[path]
    return mapper.map(path, with_licence(path, text, request.licence))


def _map(found: Located, request: Request, mapper: SourceMapper) -> SourceMap:
    from fl_gen.render.licence import licence_lines, with_licence

    name = shown(found.file)
    if not found.once:
        if found.path not in mapper.paths:
            raise ExplainError(
                f"{name}: fl-gen makes this file no more: from the schemas and the SDK of now none follows\n"
                f"  = fl-gen backend {request.vendor}{_framework_option(request)} removes it"
            )
        return explain_file(request, mapper, found.path)
    if found.path not in mapper.once_paths:
        raise ExplainError(
            f"{name}: this file is yours alone: no template makes it\n"
            f"  = what fl-gen makes once in this folder: {', '.join(mapper.once_paths)}"
        )
    device = mapper.backend.vendor.device_compiler
    suffix = device.suffix if device is not None else None
    text = with_licence(found.path, mapper.once_text(found.path), request.licence, suffix)
    return mapper.map_once(found.path, text, licence_lines(found.path, request.licence, suffix))


def _framework_option(request: Request) -> str:
    return "" if request.framework == Request(request.vendor).framework else f" --framework {request.framework}"


def _require_lines(target: Target, text: str) -> None:
    lines = text.removesuffix("\n").split("\n")
    asked = max(target.line or 1, target.last or 1)
    if asked > len(lines):
        count = f"{len(lines)} line{'' if len(lines) == 1 else 's'}"
        raise ExplainError(f"{shown(target.file)}: there is no line {asked}: the file has {count}")
    width = len(lines[(target.line or 1) - 1])
    if target.column is not None and target.column > max(1, width):
        raise ExplainError(f"{shown(target.file)}:{target.line}: there is no column {target.column}: it has {width}")


@dataclass(frozen=True)
class _OnDisk:
    """A line on disk: the line of fl-gen's that it is, or (None) who wrote it, and what fl-gen has instead."""

    number: int
    text: str
    line: Line | None
    made: Made
    instead: tuple[Line, ...] = ()


def _compare(
    found: Located, source_map: SourceMap, on_disk: str, lines: Sequence[str]
) -> tuple[State, tuple[_OnDisk, ...]]:
    """The state of the file, and each of its lines beside what fl-gen makes."""
    ours = [line.text for line in source_map.lines]
    if ours == list(lines):
        made = [
            _OnDisk(line.number, line.text, line, "marker" if line.marker else "template") for line in source_map.lines
        ]
        return "current", tuple(made)
    record = found.manifest.files.get(found.path)
    untouched = not found.once and record is not None and record.sha256 == digest(on_disk)
    wanted = (record.edit.base if record.edit is not None else None) or record.sha256 if record is not None else None
    written = None if found.once or untouched or wanted is None else Bases(found.generated).find(found.path, wanted)
    old = set(lines) if untouched else set(written.split("\n")) if written is not None else set()
    result = []
    matcher = difflib.SequenceMatcher(None, ours, list(lines), autojunk=False)
    for action, first, last, start, stop in matcher.get_opcodes():
        for offset, number in enumerate(range(start, stop)):
            if action == "equal":
                line = source_map.lines[first + offset]
                result.append(_OnDisk(number + 1, lines[number], line, _maker(line)))
            else:
                kind: Made = "outdated" if lines[number] in old else "yours"
                result.append(_OnDisk(number + 1, lines[number], None, kind, source_map.lines[first:last]))
    return ("outdated" if untouched else "edited"), tuple(result)


def _maker(line: Line) -> Made:
    return "marker" if line.marker else "template"


class _Places:
    """Turns origins into places that people can open."""

    def __init__(self, mapper: SourceMapper, source_map: SourceMap) -> None:
        self._mapper = mapper
        self._texts = {name: text.split("\n") for name, text in source_map.templates.items()}
        self._files: dict[str, dict[tuple[int, int], MappingNode]] = {}
        self._nodes: dict[Node, SchemaPlace] = {}
        self._places: dict[str, str] = {}  # of templates, each of which is looked for on the disk once

    def line(self, on_disk: _OnDisk, column: int | None) -> ExplainedLine:
        known = [on_disk.line] if on_disk.line is not None else list(on_disk.instead)
        if column is not None and on_disk.line is not None:
            known = [on_disk.line.at(column)]
        templates: dict[TemplatePlace, None] = {}
        nodes: dict[Node, None] = {}
        conditions: dict[Node, None] = {}
        for line in known:
            for origin in line.origins:
                templates.update(dict.fromkeys(self._template(place) for place in origin.chain()))
            nodes.update(dict.fromkeys(line.nodes))
            conditions.update(dict.fromkeys(line.conditions))
        return ExplainedLine(
            number=on_disk.number,
            text=on_disk.text,
            made=on_disk.made,
            templates=tuple(templates),
            nodes=tuple(self._schema(node) for node in nodes),
            conditions=tuple(self._schema(node) for node in conditions if node not in nodes),
            instead=tuple(line.text for line in on_disk.instead),
        )

    def _template(self, origin: Origin) -> TemplatePlace:
        texts = self._texts.get(origin.template, [])
        text = texts[origin.line - 1].strip() if origin.line <= len(texts) else ""
        if origin.template not in self._places:
            self._places[origin.template] = shown(self._mapper.template_file(origin.template))
        return TemplatePlace(self._places[origin.template], origin.line, origin.part, text)

    def _schema(self, node: Node) -> SchemaPlace:
        if node not in self._nodes:
            place = self._exact(node)
            uses = tuple(SdkPlace(use.name, use.header, use.line, use.signature) for use in node.declarations)
            self._nodes[node] = SchemaPlace(
                node.kind, node.path or "(the whole file)", place.file, place.line, place.column, node.text, uses
            )
        return self._nodes[node]

    def _exact(self, node: Node) -> Location:
        """Where the key of a field is written, if the node is one; models know only where the whole begins."""
        if node.kind in ("operator", "wheel"):
            return node.location  # in files of PyTorch's, which are large and say all that they say in one place
        key = node.path.rpartition(".")[2]
        if node.location.file not in self._files:
            self._files[node.location.file] = dict(_mappings(node.location.file))
        around = self._files[node.location.file].get((node.location.line, node.location.column))
        own = around.keys.get(key) if around is not None else None
        return own.location if own is not None else node.location


def _mappings(file: str) -> Iterator[tuple[tuple[int, int], MappingNode]]:
    """The maps of a schema file by the line and column at which they begin."""
    from fl_gen.schema.yaml_loader import load

    try:
        waiting: list[YamlNode] = [load(file)] if os.path.isfile(file) else []
    except FlGenError:
        return  # it was changed since; the places of the model do
    while waiting:
        node = waiting.pop()
        if isinstance(node, MappingNode):
            yield (node.location.line, node.location.column), node
            waiting += node.values.values()
        elif isinstance(node, SequenceNode):
            waiting += node.items
