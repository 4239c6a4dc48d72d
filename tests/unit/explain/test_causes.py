"""Why two versions of a generated file differ."""

from __future__ import annotations

import difflib
import pickle
import shutil
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from fl_gen.render.source_map import Cause, Hunk, SourceMap, causes
from fl_gen.render.source_mapper import SourceMapper
from fl_gen.sdk.identity import default_folder
from fl_gen.tasks.explain import mapper_of
from fl_gen.workflow.generate import resolve_request
from fl_gen.workflow.request import Request

ROOT = Path(__file__).resolve().parents[3]
OPS = "frameworks/infinitrain/ops/elementwise.yaml"
WRAPPERS = "src/kernels/fallback/elementwise.cc"
COMMON = "src/runtime/maca_guard_impl.cc"


def mapper(*schemas: Path, templates: tuple[Path, ...] = ()) -> SourceMapper:
    request = Request(
        vendor="maca",
        sdk=("sim",),
        output=ROOT,
        schema_dirs=schemas,
        template_dirs=templates,
        cache=default_folder(),
        formatted=False,
    )
    return mapper_of(request, resolve_request(request))


def made(source: SourceMapper, path: str) -> SourceMap:
    return source.map(path, source.text(path))


@lru_cache(maxsize=4)
def before(path: str) -> SourceMap:
    return made(mapper(), path)


def overlay(folder: Path, relative: str, old: str, new: str, kind: str = "schemas") -> Path:
    """A folder with one shipped file, in which `old` is changed once."""
    target = folder / relative
    target.parent.mkdir(parents=True)
    shutil.copy(ROOT / kind / relative, target)
    text = target.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    target.write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


def all_causes(old: SourceMap, new: SourceMap) -> list[tuple[Cause, ...]]:
    """The causes of each hunk."""
    matcher = difflib.SequenceMatcher(None, [o.text for o in old.lines], [n.text for n in new.lines], autojunk=False)
    hunks = [Hunk(a + 1, b + 1, c + 1, d + 1) for action, a, b, c, d in matcher.get_opcodes() if action != "equal"]
    assert hunks
    return [causes(old, new, hunk) for hunk in hunks]


def names(found: list[tuple[Cause, ...]]) -> set[tuple[str, str]]:
    return {(cause.kind, cause.name) for hunk in found for cause in hunk}


def test_a_parameter_that_is_called_otherwise(tmp_path: Path) -> None:
    text = (ROOT / "schemas" / OPS).read_text(encoding="utf-8")
    start = text.index("  - name: SinForward")
    entry = text[start : text.index("  - name:", start + 5)]
    changed = (
        entry.replace("{name: input,", "{name: value,")
        .replace("same(input)", "same(value)")
        .replace("{input:", "{value:")
    )
    found = all_causes(before(WRAPPERS), made(mapper(overlay(tmp_path, OPS, entry, changed)), WRAPPERS))
    assert ("node", "op:SinForward.params[0]") in names(found)
    assert {kind for kind, _ in names(found)} == {"node"}
    assert {name.partition(".")[0] for _, name in names(found)} == {"op:SinForward"}


def test_a_rule_of_the_result(tmp_path: Path) -> None:
    text = (ROOT / "schemas" / OPS).read_text(encoding="utf-8")
    start = text.index("  - name: AddBackward")
    entry = text[start : text.index("  - name:", start + 5)]
    line = next(line for line in entry.split("\n") if "output_dtype" in line)
    changed = entry.replace(line, "    output_dtype: [float32, float32]")
    found = all_causes(before(WRAPPERS), made(mapper(overlay(tmp_path, OPS, entry, changed)), WRAPPERS))
    assert names(found) == {("node", "op:AddBackward.output_dtype")}


def test_another_call_of_the_sdk(tmp_path: Path) -> None:
    new = mapper(overlay(tmp_path, "vendors/maca/vendor.yaml", "mcMalloc(ptr, size)", "mcMalloc(ptr, size + 0)"))
    (found,) = all_causes(before(COMMON), made(new, COMMON))
    assert [(cause.kind, cause.name) for cause in found] == [("node", "binding:bindings.memory.alloc[0]")]
    assert found[0].node is not None
    assert found[0].node.text == "mcMalloc(ptr, size + 0)"
    assert found[0].node.location.file.endswith("vendors/maca/vendor.yaml")


def test_a_line_of_a_template(tmp_path: Path) -> None:
    template = "src/kernels/fallback/category.cc.j2"
    old = "    {{ line }}\n"
    folder = overlay(tmp_path, f"infinitrain/{template}", old, "    /* here */ {{ line }}\n", "templates")
    found = all_causes(before(WRAPPERS), made(mapper(templates=(folder,)), WRAPPERS))
    numbers = {cause.lines for hunk in found for cause in hunk}
    assert names(found) == {("template", template)}
    (lines,) = numbers
    text = (folder / "infinitrain" / template).read_text(encoding="utf-8").split("\n")
    assert any("/* here */" in text[number - 1] for number in lines)


def test_an_operation_that_the_sdk_loses(tmp_path: Path) -> None:
    """What a condition asked is the cause of lines that say nothing of it."""
    path = "src/runtime/maca_guard_impl.cc"
    new = mapper(
        overlay(
            tmp_path,
            "vendors/maca/vendor.yaml",
            "mcMallocAsync(ptr, size, stream)",
            "mcMallocAsyncX(ptr, size, stream)",
        )
    )
    found = names(all_causes(before(path), made(new, path)))
    assert ("node", "binding:bindings.memory.alloc_async[0]") in found
    assert ("unknown", "generator") not in found


def test_a_whole_file_that_comes_or_goes() -> None:
    old = before(WRAPPERS)
    hunk = Hunk(1, 1, 1, len(old.lines) + 1)
    assert ("node", "op:SinForward.returns") in names([causes(None, old, hunk)])
    assert causes(None, old, hunk)


def test_only_blanks_are_the_formatters() -> None:
    source = mapper()
    text = source.text(WRAPPERS)
    old = source.map(WRAPPERS, text)
    new = source.map(WRAPPERS, text.replace("    return", "  return"))
    assert names(all_causes(old, new)) == {("formatter", "formatter")}


def test_digests_name_every_source() -> None:
    digests = before(COMMON).digests
    assert digests["template:src/runtime/{vendor}_guard_impl.cc.j2"]
    assert digests["node:binding:bindings.memory.alloc[0]"]
    assert digests["sdk:binding:bindings.memory.alloc[0]"]
    assert digests == made(mapper(), COMMON).digests
    assert list(digests) == sorted(digests)


@pytest.mark.parametrize("hunk", [Hunk(1, 1, 1, 1), Hunk(0, 0, 0, 0), Hunk(10**6, 10**6, 10**6, 10**6)])
def test_an_impossible_hunk_has_an_unknown_cause(hunk: Hunk) -> None:
    assert [cause.kind for cause in causes(before(COMMON), before(COMMON), hunk)] in (["unknown"], ["formatter"])


def test_what_the_sdk_declares_otherwise() -> None:
    """The schema is the same, and so is the call: only the header says something else."""
    old = before(COMMON)
    key = "binding:bindings.memory.alloc[0]"
    node = old.nodes[key]
    (use, *rest) = [one for one in node.declarations if one.signature]
    other = replace(node, declarations=(replace(use, signature=use.signature + " noexcept"), *rest))
    new = replace(old, nodes={**old.nodes, key: other})
    number = next(line.number for line in old.lines if "mcMalloc(" in line.text)
    (cause,) = causes(old, new, Hunk(number, number + 1, number, number + 1))
    assert (cause.kind, cause.name, cause.node) == ("sdk", key, other)
    moved = replace(node, declarations=tuple(replace(one, line=one.line + 7) for one in node.declarations))
    new = replace(old, nodes={**old.nodes, key: moved})
    assert causes(old, new, Hunk(number, number + 1, number, number + 1))[0].kind != "sdk"


def test_a_map_survives_a_way_to_another_process() -> None:
    """Nodes and origins are compared by identity, which a copy must keep among its own."""
    old = before(WRAPPERS)
    copy = pickle.loads(pickle.dumps(old))
    number = next(line.number for line in old.lines if "DataType::kFLOAT32" in line.text)
    hunk = Hunk(number, number + 1, number, number + 1)
    assert copy.digests == old.digests
    assert [node.key for node in copy.line(number).nodes] == [node.key for node in old.line(number).nodes]
    assert [node.key for node in copy.line(number).conditions] == [node.key for node in old.line(number).conditions]
    assert [cause.kind for cause in causes(old, copy, hunk)] == ["formatter"]
