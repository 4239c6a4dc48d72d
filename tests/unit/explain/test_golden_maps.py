"""The source maps of every line of two golden trees, held against what can be seen without them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from fl_gen.output.manifest import load
from fl_gen.render.infinitrain import render_infinitrain
from fl_gen.render.schema_nodes import Node
from fl_gen.render.source_map import Line, SourceMap
from fl_gen.render.source_mapper import SourceMapper
from fl_gen.sdk.identity import default_folder
from fl_gen.tasks.explain import explain_file, mapper_of
from fl_gen.workflow.generate import Resolved, resolve_request, template_roots
from fl_gen.workflow.request import Request

ROOT = Path(__file__).resolve().parents[3]
VENDORS = ("mlu", "maca")
TEXTS: dict[tuple[str, str], str] = {}  # of every file, traced and not yet formatted
_WORD = re.compile(r"[A-Za-z_]\w*")
_NOT_CODE = re.compile(r"""//.*|"(?:\\.|[^"\\])*"|^\s*#\s*(?:include|if|endif).*""")
_BLANKS = re.compile(r"\s+")


@lru_cache(maxsize=2)
def tree(vendor: str) -> tuple[Resolved, dict[str, SourceMap]]:
    """The maps of all files of a vendor, made from the simulated SDK that the golden tree was made from."""
    resolved, mapper = mapper_for(vendor)
    folder = ROOT / "generated" / vendor
    maps = {}
    for path in mapper.paths:
        TEXTS[vendor, path] = mapper.text(path)  # beside the map, which needs the same rendering
        maps[path] = mapper.map(path, (folder / path).read_text(encoding="utf-8"))
    return resolved, maps


def request_for(vendor: str) -> Request:
    return Request(vendor=vendor, sdk=("sim",), output=ROOT, cache=default_folder())


@lru_cache(maxsize=2)
def mapper_for(vendor: str) -> tuple[Resolved, SourceMapper]:
    resolved = resolve_request(request_for(vendor))
    return resolved, mapper_of(request_for(vendor), resolved)


def lines(vendor: str) -> Iterator[tuple[SourceMap, Line]]:
    for source_map in tree(vendor)[1].values():
        for line in source_map.lines:
            yield source_map, line


def where(source_map: SourceMap, line: Line) -> str:
    return f"{source_map.path}:{line.number}: {line.text}"


@pytest.mark.parametrize("vendor", VENDORS)
def test_tracing_changes_no_byte(vendor: str) -> None:
    """All files of the tree are explained, and traced rendering gives what usual rendering gives."""
    resolved, mapper = mapper_for(vendor)
    compiled = default_folder()
    assert compiled is not None
    usual = render_infinitrain(resolved.backend, template_roots(request_for(vendor)), compiled / "templates")
    maps = tree(vendor)[1]
    assert {path: TEXTS[vendor, path] for path in mapper.paths} == usual.generated
    assert {path: mapper.once_text(path) for path in mapper.once_paths} == usual.once
    manifest = load(ROOT / "generated" / vendor)
    assert manifest is not None
    assert set(manifest.files) == set(mapper.paths)
    for source_map in maps.values():
        assert [line.number for line in source_map.lines] == list(range(1, len(source_map.lines) + 1))


def test_a_file_as_fl_gen_makes_it_is_the_golden_one() -> None:
    _, mapper = mapper_for("maca")
    for path in ("src/runtime/maca_sdk.h", "CMakeLists.txt", "tests/test_mccl.cc"):
        made = explain_file(request_for("maca"), mapper, path)
        text = "".join(f"{line.text}\n" for line in made.lines)
        assert text == (ROOT / "generated" / "maca" / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_line_has_a_place_in_a_template(vendor: str) -> None:
    for source_map, line in lines(vendor):
        assert line.origins, where(source_map, line)
        for origin in line.origins:
            for place in origin.chain():
                text = source_map.templates[place.template].split("\n")
                assert 1 <= place.line <= len(text), where(source_map, line)
        if line.marker:
            assert line.number <= 3, where(source_map, line)


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_place_says_what_the_line_says(vendor: str) -> None:
    """Each stretch of a line stands in its template line as it is, or that line holds an expression."""
    compared = 0
    for source_map, line in lines(vendor):
        if line.marker or not line.text.strip():
            continue
        stretches: dict[tuple[str, int], str] = {}
        for column, letter in enumerate(line.text):
            origin = line.columns[column] if line.columns else line.origins[0]
            key = (origin.template, origin.line)
            stretches[key] = stretches.get(key, "") + letter
        for (template, number), stretch in stretches.items():
            text = source_map.templates[template].split("\n")[number - 1]
            if "{{" in text:
                continue
            compared += 1
            # A formatter begins lines of a broken comment or string, and puts braces around statements.
            said, there = (re.sub(r'[\s/"\\{}]', "", part) for part in (stretch, text))
            assert said in there, f"{where(source_map, line)}\n{template}:{number}: {text}"
    assert compared > 10_000


def words(text: str) -> set[str]:
    """The identifiers in code."""
    return set(_WORD.findall(_NOT_CODE.sub("", text)))


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_line_that_came_from_a_binding_names_it(vendor: str) -> None:
    """Templates hold no name of any SDK: a line that has one has it from the vendor's file, from a node with that name."""
    resolved, _ = tree(vendor)
    names: set[str] = set()
    for item, chosen in resolved.report.verdicts.items():
        if chosen.ok and not item.startswith("helper:"):
            names.update(use.name for use in chosen.declarations if use.signature)
    backend = resolved.backend
    names.update(word for text in backend.types.values() for word in _WORD.findall(text) if word.startswith(vendor[:1]))
    for kind in backend.constants.values():
        names.update(word for text in kind.values() if text for word in _WORD.findall(text))
    names.update(code for status in backend.statuses.values() for code in (status.success, *status.oom))
    found = 0
    for source_map, line in lines(vendor):
        if not source_map.path.endswith((".h", ".cc")):
            continue
        used = names & words(line.text)
        said = {word for node in line.bindings for word in _WORD.findall(node.text)}
        said |= {use.name for node in line.bindings for use in node.declarations}
        assert used <= said, f"{where(source_map, line)}\nnot explained: {used - said}"
        found += len(used)
    assert found > 300


@pytest.mark.parametrize("vendor", VENDORS)
def test_a_line_that_names_a_binding_is_declared(vendor: str) -> None:
    """Every binding that a line was made from has a place in a schema file and in the SDK's headers."""
    checked = set()
    for _, line in lines(vendor):
        for node in line.bindings:
            if node.key in checked:
                continue
            checked.add(node.key)
            text = (ROOT / node.location.file).read_text(encoding="utf-8").split("\n")
            assert 1 <= node.location.line <= len(text)
            if node.kind == "binding":
                assert node.declarations, node.path
                assert all(use.header.endswith(".h") and use.line > 0 for use in node.declarations)
                called = re.search(r"\w\(", node.text) is None or any(use.signature for use in node.declarations)
                assert called, node.path
    assert len([key for key in checked if key.startswith("binding:")]) > 40


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_line_of_an_op_names_the_op(vendor: str) -> None:
    """A line that says an op's name has the op's node: from what the template asked, unless it spells the name itself."""
    names = {op.name for op in tree(vendor)[0].backend.ops}
    found = 0
    for source_map, line in lines(vendor):
        if line.marker:
            continue
        of_file = {node.removeprefix("ops:") for node in source_map.file_nodes}
        said = {word.removeprefix("k") for word in _WORD.findall(line.text)} & names & of_file
        assert said <= ops_of(line.nodes), where(source_map, line)
        texts = [source_map.templates[o.template].split("\n")[o.line - 1] for o in line.origins]
        spelled = {word.removeprefix("k") for text in texts for word in _WORD.findall(text)}
        if any("{{ name }}" in text for text in texts):  # of a list in the template itself
            continue
        asked = ops_of([node for origin in line.origins for place in origin.chain() for node in place.nodes])
        assert said - spelled <= asked, where(source_map, line)
        found += len(said & asked)
    assert found > 1000


def ops_of(nodes: Iterable[Node]) -> set[str]:
    return {node.path.partition(".")[0] for node in nodes if node.kind == "op"}


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_line_of_a_wrapper_has_its_op(vendor: str) -> None:
    """From its head to its brace each line of a generated wrapper is of its op alone."""
    wrappers = 0
    names = {op.name for op in tree(vendor)[0].backend.ops}
    for source_map in tree(vendor)[1].values():
        if not source_map.template.endswith("fallback/category.cc.j2"):
            continue
        op = ""
        for line in source_map.lines:
            head = re.match(r"\S.* \*?(\w+)\(", line.text)
            if head is not None and head.group(1) in names:
                op = head.group(1)
                wrappers += 1
            if op:
                assert ops_of(line.nodes) == {op}, where(source_map, line)
            if line.text == "}":
                op = ""
    assert wrappers > 50


def test_a_parameter_is_named_where_it_is_used() -> None:
    source_map = tree("mlu")[1]["src/kernels/fallback/elementwise.cc"]
    (line,) = (
        line
        for line in source_map.lines
        if "other" not in line.text and "input_host = call.ToHost(input, " in line.text and "const auto" in line.text
        and any(node.path == "ReciprocalBackward" for node in line.nodes)
    )  # fmt: skip
    assert "ReciprocalBackward.params[1]" in [node.path for node in line.nodes]
    assert [(origin.template, origin.line) for origin in line.origins] == [("src/kernels/fallback/category.cc.j2", 27)]


def test_what_a_line_says_it_says_through_every_detour(tmp_path: Path) -> None:
    """Variables, blocks, macros, filters, dictionaries and loops lead back to the binding all the same."""
    lines_of_template = {
        "{{ sdk.call('device.get', 'x') }}": "bindings.device.get[0]",
        "{% set a = sdk.call('device.get', 'x') %}{% set b = a ~ '!' %}{{ b | upper }}": "bindings.device.get[0]",
        "{% set c %}{{ sdk.call('device.get', 'x') }}{% endset %}{{ c | trim | upper }}": "bindings.device.get[0]",
        "{{ m('device.get') | upper }}": "bindings.device.get[0]",
        "{{ m('device.get') ~ m('device.get') }}": "bindings.device.get[0]",
        "{% call w() %}{{ sdk.call('device.get', 'x') }}{% endcall %}": "bindings.device.get[0]",
        "{% set d = {'k': sdk.type('stream')} %}{{ d['k'] }}": "types.stream[0]",
        "{% set d = sdk.constants('memcpy_kind') %}{{ d['h2d'] }}": "constants.memcpy_kind.h2d[0]",
        "{{ sdk.constants('memcpy_kind').d2h }}": "constants.memcpy_kind.d2h[0]",
        "{% for k, v in sdk.constants('memcpy_kind').items() if k == 'd2d' %}{{ v }}{% endfor %}": "constants.memcpy_kind.d2d[0]",
        "{{ sdk.status('runtime').success }}": "statuses.runtime.success[0]",
        "{% set s = sdk.status('runtime') %}{{ s.text('q') }}": "statuses.runtime.text",
        "{{ [sdk.type('event'), 'b'] | join(', ') }}": "types.event[0]",
        "{{ ops[0].params[0].type if false else vendor.sdk.name }}": "sdk.name",
        "{{ fw.interface.dtypes[1].enumerator }}": "dtypes[1].enumerator",
        "{% for g in [vendor.groups['blas']] %}{{ g.title if loop.first }}{% endfor %}": "groups.blas.title",
        "{{ '%s' | format(sdk.headers('runtime')[0]) }}": "groups.runtime",
        "{% if sdk.has('device.get') %}yes{% endif %}": "bindings.device.get[0]",
    }  # fmt: skip
    text = "{% macro m(o) %}{{ sdk.call(o, 'x') }}{% endmacro %}{% macro w() %}<{{ caller() }}>{% endmacro %}\n"
    folder = tmp_path / "infinitrain" / "src"
    folder.mkdir(parents=True)
    (folder / "detours.txt.j2").write_text(text + "\n".join(lines_of_template) + "\n", encoding="utf-8")
    request = replace(request_for("mlu"), template_dirs=(tmp_path,), formatted=False)
    mapper = mapper_of(request, resolve_request(request))
    source_map = mapper.map("src/detours.txt", mapper.text("src/detours.txt"))
    origins = {origin for line in source_map.lines for origin in line.origins}
    for number, (template, path) in enumerate(lines_of_template.items(), start=2):
        said = {
            node.path
            for origin in origins
            if number in (place.line for place in origin.chain())
            for place in origin.chain()
            for node in (*place.nodes, *place.conditions)
        }
        assert path in said, template
        assert all(path.startswith(one) for one in said), (template, said)  # it, and what it is a part of
