"""The source maps of every line of a golden package for PyTorch, and `fl-gen explain` on its files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fl_gen.output.manifest import load
from fl_gen.render.source_map import Line, SourceMap
from fl_gen.render.source_mapper import SourceMapper
from fl_gen.render.torch import render_torch
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.paths import data_dir
from fl_gen.sdk.wheel import Wheel
from fl_gen.tasks.explain import mapper_of
from fl_gen.workflow.generate import Resolved, resolve_request, template_roots
from fl_gen.workflow.request import Request
from unit.cli.conftest import Result, Run, call

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "generated" / "torch_mlu"
_WORD = re.compile(r"[A-Za-z_]\w*")
_NOT_CODE = re.compile(r"""//.*|"(?:\\.|[^"\\])*"|^\s*#\s*(?:include|if|endif).*""")
pytestmark = pytest.mark.xdist_group("torch")  # which reads the wheel once


@dataclass(frozen=True)
class Golden:
    """The golden package: its model, its maps, and each file before it was formatted."""

    resolved: Resolved
    mapper: SourceMapper
    maps: dict[str, SourceMap]
    texts: dict[str, str]

    def lines(self) -> Iterator[tuple[SourceMap, Line]]:
        for source_map in self.maps.values():
            for line in source_map.lines:
                yield source_map, line


def request_of(wheel: Wheel, cache: Path, output: Path = ROOT) -> Request:
    return Request("mlu", framework="torch", sdk=("sim",), output=output, cache=cache, torch=wheel.package)


@pytest.fixture(scope="module")
def golden(wheel: Wheel, cache: Path) -> Golden:
    manifest = load(GOLDEN)
    assert manifest is not None
    if manifest.inputs["torch"] != wheel.release:
        pytest.skip(f"the golden packages are for PyTorch {manifest.inputs['torch']}, and this is {wheel.release}")
    request = request_of(wheel, cache)
    resolved = resolve_request(request)
    mapper = mapper_of(request, resolved)
    assert set(manifest.files) == set(mapper.paths)
    maps, texts = {}, {}
    for path in mapper.paths:
        texts[path] = mapper.text(path)  # beside the map, which needs the same rendering
        maps[path] = mapper.map(path, (GOLDEN / path).read_text(encoding="utf-8"))
    return Golden(resolved, mapper, maps, texts)


def where(source_map: SourceMap, line: Line) -> str:
    return f"{source_map.path}:{line.number}: {line.text}"


def test_tracing_changes_no_byte(golden: Golden, wheel: Wheel, cache: Path) -> None:
    assert golden.mapper.torch is not None
    roots = template_roots(request_of(wheel, cache))
    usual = render_torch(golden.resolved.backend, golden.mapper.torch[0], roots, cache / "templates")
    assert golden.texts == usual.generated
    assert {path: golden.mapper.once_text(path) for path in golden.mapper.once_paths} == usual.once
    for source_map in golden.maps.values():
        assert [line.number for line in source_map.lines] == list(range(1, len(source_map.lines) + 1))


def test_every_line_has_a_place_that_says_what_it_says(golden: Golden) -> None:
    """Each stretch of a line stands in its template line as it is, or that line holds an expression."""
    compared = 0
    for source_map, line in golden.lines():
        assert line.origins, where(source_map, line)
        for origin in line.origins:
            for place in origin.chain():
                text = source_map.templates[place.template].split("\n")
                assert 1 <= place.line <= len(text), where(source_map, line)
        if line.marker:
            assert line.number <= 3, where(source_map, line)
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
            # clang-format begins lines of a broken comment or string, and puts braces around statements; black puts
            # commas and parentheses.
            blanks = r"[\s/\"\\{}]" if not source_map.path.endswith(".py") else r"[\s\"'\\(),]"
            said, there = (re.sub(blanks, "", part) for part in (stretch, text))
            assert said in there, f"{where(source_map, line)}\n{template}:{number}: {text}"
    assert compared > 8_000


def test_every_line_that_came_from_a_binding_names_it(golden: Golden) -> None:
    """Templates hold no name of any SDK: a line that has one has it from the vendor's file, from a node with that name."""
    names: set[str] = set()
    for item, chosen in golden.resolved.report.verdicts.items():
        if chosen.ok and not item.startswith("helper:"):
            names.update(use.name for use in chosen.declarations if use.signature)
    found = 0
    for source_map, line in golden.lines():
        if not source_map.path.endswith((".h", ".cc")):
            continue
        used = names & set(_WORD.findall(_NOT_CODE.sub("", line.text)))
        said = {word for node in line.bindings for word in _WORD.findall(node.text)}
        said |= {use.name for node in line.bindings for use in node.declarations}
        assert used <= said, f"{where(source_map, line)}\nnot explained: {used - said}"
        found += len(used)
    assert found > 40


def test_every_operator_leads_to_its_entry_in_the_wheel(golden: Golden, wheel: Wheel) -> None:
    listing = wheel.site / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"
    entries = listing.read_text(encoding="utf-8").split("\n")
    registered = 0
    for source_map, line in golden.lines():
        name = re.fullmatch(r' +"([\w.]+)",', line.text)
        if "register_fallback_" not in source_map.path or name is None:
            continue
        registered += 1
        (node,) = (node for node in line.nodes if node.kind == "operator")
        assert node.path == f"aten::{name.group(1)}"
        assert node.location.file.endswith("native_functions.yaml")
        entry = entries[node.location.line - 1]
        assert entry.startswith(f"- func: {name.group(1)}(") or re.search(rf"autogen:.*\b{name.group(1)}\b", entry)
    assert registered > 200
    factory = golden.maps["csrc/aten/factory.cc"]
    (line,) = (line for line in factory.lines if 'm.impl("as_strided"' in line.text)
    assert line.nodes[-1].path == "aten::as_strided"


def test_a_feature_is_what_decided(golden: Golden) -> None:
    """Each feature of which a template's condition asks decides about lines, or is what other releases have."""
    decided = {node.path for _, line in golden.lines() for node in (*line.nodes, *line.conditions)}
    asked = set()
    for source_map in golden.maps.values():
        for text in source_map.templates.values():
            asked |= set(re.findall(r"{% if torch\.has\(\"(\w+)\"\)", text))
    assert len(asked) > 10
    view = golden.mapper.torch[0] if golden.mapper.torch is not None else None
    assert view is not None
    assert {f"features.{name}" for name in asked if view.features[name]} <= decided


def test_detours_lead_back(wheel: Wheel, cache: Path, tmp_path: Path) -> None:
    rules = Catalog().torch("mlu").rules[-1].ops
    lines_of_template = {
        "{{ torch.version }}": ["version"],
        "{{ torch.version_info[:2] | join('.') }}": ["version"],
        "{{ v.pascal }}": ["vendor"],
        "{{ tree }}": ["vendor"],
        "{{ torch.op('aten::mm').op.schema }}": ["aten::mm"],
        "{{ torch.op('aten::mm').tolerance }}": ["categories.matrix_products", "aten::mm"],
        "{{ torch.op('aten::mm').strategy }}": ["ops[aten::mm]", "aten::mm"],
        "{% if torch.strategy('aten::relu') != 'native' %}yes{% endif +%}": ["aten::relu"],
        "{% if not torch.library('library.gemm') %}no{% endif +%}": [
            *(f"ops[{name}]" for name, rule in rules.items() if rule.operation == "library.gemm"),
            "operations.library.gemm",
        ],
        "{% for op in torch.kernels %}{{ op.name }}{% endfor +%}": ["aten::_to_copy"],
        "{% for op in torch.kernels | rejectattr('name', 'eq', 'x') %}{{ op.dtypes | join }}{% endfor +%}": [
            "ops[aten::_to_copy]", "aten::_to_copy"
        ],
        "{% set a = torch.has('pickler_helper') %}{% if a %}yes{% endif +%}": ["features.pickler_helper"],
    }  # fmt: skip
    folder = tmp_path / "torch" / "csrc"
    folder.mkdir(parents=True)
    (folder / "detours.md.j2").write_text("\n".join(lines_of_template) + "\n", encoding="utf-8")
    request = Request("mlu", framework="torch", sdk=("sim",), cache=cache, template_dirs=(tmp_path,),
                      formatted=False, torch=wheel.package)  # fmt: skip
    mapper = mapper_of(request, resolve_request(request))
    source_map = mapper.map("csrc/detours.md", mapper.text("csrc/detours.md"))
    for line, (template, paths) in zip(source_map.lines, lines_of_template.items(), strict=True):
        assert sorted(node.path for node in (*line.nodes, *line.conditions)) == sorted(paths), template


# -- the command --------------------------------------------------------------------------------------------------------


@pytest.fixture
def run(wheel: Wheel, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(cache))
    monkeypatch.setenv("TORCH_FL_TORCH", str(wheel.package))
    return call


@pytest.fixture(scope="module")
def sound(wheel: Wheel, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one package and a kernel of its own, not formatted."""
    folder = tmp_path_factory.mktemp("sound")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FL_GEN_CACHE_DIR", str(cache))
        patch.setenv("TORCH_FL_TORCH", str(wheel.package))
        assert call("init", "mlu@sim", "--framework", "torch", "--no-format").code == 0
        made = call("kernel", "new", "mlu", "aten::relu", "--framework", "torch", "--sdk", "sim", "--python")
        assert made.code == 0, made.err
        made = call("regen")
        assert made.code == 0, made.err
    return folder


@pytest.fixture
def tree(run: Run, sound: Path, tmp_path: Path) -> Path:
    """A copy of it to damage."""
    return Path(shutil.copytree(sound, tmp_path, symlinks=True, dirs_exist_ok=True))


def explained(run: Run, *arguments: str | Path) -> dict[str, Any]:
    result = run("explain", "--format", "json", *arguments)
    assert (result.code, result.err) == (0, "")
    value: dict[str, Any] = json.loads(result.out)
    schema = json.loads((data_dir() / "schemas" / "jsonschema" / "explain.json").read_text(encoding="utf-8"))
    jsonschema.validate(value, schema)
    return value


def refused(result: Result) -> str:
    assert (result.code, result.out) == (2, "")
    assert "Traceback" not in result.err
    return result.err


def number_of(file: Path, text: str) -> int:
    """The number of the first line with `text`."""
    return next(i for i, line in enumerate(file.read_text(encoding="utf-8").split("\n"), start=1) if text in line)


def test_a_project_for_pytorch(run: Run, tree: Path, wheel: Wheel) -> None:
    file = tree / "generated" / "torch_mlu" / "torch_mlu" / "_kernels.py"
    value = explained(run, f"{file}:{number_of(file, 'aten::relu')}")
    assert (value["vendor"], value["path"], value["state"]) == ("mlu", "torch_mlu/_kernels.py", "current")
    assert value["sdk"].endswith(f"and PyTorch {wheel.version}")
    kernel, operator = value["lines"][0]["nodes"][-2:]
    assert (kernel["kind"], kernel["path"]) == ("native", "kernels[aten::relu]")
    assert kernel["file"] == "backends/torch_mlu/kernels.yaml"
    assert (operator["kind"], operator["text"]) == ("operator", "aten::relu(Tensor self) -> Tensor")

    lines = file.read_text(encoding="utf-8").split("\n")
    file.write_text("\n".join([*lines[:4], "// mine", *lines[4:]]), encoding="utf-8")
    value = explained(run, file)
    assert value["state"] == "edited"
    assert [line["number"] for line in value["lines"] if line["made"] == "yours"] == [5]

    python = tree / "generated" / "torch_mlu" / "torch_mlu" / "_version.py"
    said = run("explain", f"{python}:{number_of(python, wheel.release)}").out
    shown = str(wheel.package / "version.py").replace(
        f"{data_dir()}/", "<fl-gen>/"
    )  # a virtual environment in the checkout
    assert f"  PyTorch   {shown}:1  version\n            | {wheel.release}\n" in said
    once = tree / "backends" / "torch_mlu" / "kernels.yaml"
    assert explained(run, f"{once}:1")["ownership"] == "once"
    assert "this file is yours alone" in refused(run("explain", tree / "backends/torch_mlu/kernels/relu.py"))


def test_a_feature_is_told_with_its_header(run: Run, tree: Path, wheel: Wheel) -> None:
    file = tree / "generated" / "torch_mlu" / "csrc" / "runtime" / "guard.cc"
    number = number_of(file, "getDeviceCapability")
    (line,) = explained(run, f"{file}:{number}")["lines"]
    node = next(one for one in (*line["nodes"], *line["conditions"]) if one["kind"] == "feature")
    assert node["path"] == "features.guard_device_capability"
    (said,) = node["declarations"]
    header = Path(wheel.include_dirs[0], said["header"]).read_text(encoding="utf-8").split("\n")
    assert said["signature"] == "this PyTorch has it"
    assert "getDeviceCapability" in header[said["line"] - 1]


def test_the_manifest_alone_and_a_project_of_another_framework(run: Run, tree: Path) -> None:
    """fl-gen.yaml names one framework; a tree of the other is told by its manifest."""
    file = tree / "generated" / "torch_mlu" / "csrc" / "module.cc"
    wanted = explained(run, f"{file}:20")["lines"]
    config = tree / "fl-gen.yaml"
    config.write_text(config.read_text().replace("framework: torch", "framework: infinitrain"))
    assert explained(run, f"{file}:20")["lines"] == wanted
    assert "this project does not make" in refused(run("explain", "--config", config, f"{file}:20"))
    config.unlink()
    assert explained(run, f"{file}:20")["lines"] == wanted


def test_without_pytorch_it_says_so(run: Run, tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCH_FL_TORCH", str(tmp_path))
    error = refused(run("explain", tree / "generated" / "torch_mlu" / "csrc" / "module.cc"))
    assert error.startswith(f"TORCH_FL_TORCH {tmp_path}: there is no PyTorch in it\n")
