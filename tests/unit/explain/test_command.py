"""`fl-gen explain`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fl_gen.schema.paths import data_dir
from unit.cli.conftest import Result, Run

WRAPPERS = "src/kernels/fallback/elementwise.cc"
DEVICE = "src/runtime/mlu_device.cc"


def number_of(file: Path, text: str) -> int:
    """The number of the first line with `text`."""
    return next(i for i, line in enumerate(file.read_text(encoding="utf-8").split("\n"), start=1) if text in line)


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


def test_a_line_of_a_wrapper(run: Run, base: Path) -> None:
    file = base / "generated" / "mlu" / WRAPPERS
    number = number_of(file, "ToHost(grad_output, DataType::kFLOAT32)")
    result = run("explain", f"{file}:{number}")
    assert (result.code, result.err) == (0, "")
    template = data_dir() / "templates" / "infinitrain" / "src" / "kernels" / "fallback" / "category.cc.j2"
    ops = data_dir() / "schemas" / "frameworks" / "infinitrain" / "ops" / "elementwise.yaml"
    own = f"<fl-gen>/{ops.relative_to(data_dir())}"
    line = number_of(ops, "name: ReciprocalBackward")
    assert result.out == (
        f"{file}: as fl-gen makes it now\n\n"
        f"{file}:{number}: const auto grad_output_host = call.ToHost(grad_output, DataType::kFLOAT32);\n"
        f"  template  <fl-gen>/{template.relative_to(data_dir())}:{number_of(template, 'argument.bring')}\n"
        "            | const auto {{ argument.name }}_host = {{ argument.bring }};\n"
        f"  schema    {own}:{line}  ReciprocalBackward\n"
        f"  schema    {own}:{line + 4}  ReciprocalBackward.params[0]\n"
        "            | const std::shared_ptr<Tensor> & grad_output\n"
        "\n"
        f"<fl-gen> is {data_dir()}\n"
    )


def test_a_line_of_a_binding(run: Run, base: Path) -> None:
    file = base / "generated" / "mlu" / DEVICE
    value = explained(run, f"{file}:{number_of(file, 'cnrtSetDevice')}")
    (line,) = value["lines"]
    assert (value["vendor"], value["path"], value["state"], line["made"]) == ("mlu", DEVICE, "current", "template")
    binding = next(node for node in line["nodes"] if node["kind"] == "binding")
    assert binding["path"] == "bindings.device.set[0]"
    assert "cnrtSetDevice" in Path(binding["file"]).read_text(encoding="utf-8").split("\n")[binding["line"] - 1]
    assert {use["name"]: use["signature"] for use in binding["declarations"]}["cnrtSetDevice"].startswith("cnrtRet_t ")


def test_a_column_asks_for_one_place(run: Run, base: Path) -> None:
    file = base / "generated" / "mlu" / "src" / "runtime" / "mlu_deferred_release.cc"
    number = number_of(file, "bool Reached(")
    text = file.read_text(encoding="utf-8").split("\n")[number - 1]
    kinds = {}
    for what in ("bool", "cnrtNotifier_t", "cnrtQueryNotifier", "RuntimeStatus::kNotReady"):
        (line,) = explained(run, f"{file}:{number}:{text.index(what) + 1}:")["lines"]
        kinds[what] = [node["kind"] for node in line["nodes"]]
    assert kinds == {
        "bool": [], "cnrtNotifier_t": ["type"], "cnrtQueryNotifier": ["binding"], "RuntimeStatus::kNotReady": []
    }  # fmt: skip


def test_a_range_and_a_whole_file(run: Run, base: Path) -> None:
    file = base / "generated" / "mlu" / DEVICE
    assert [line["number"] for line in explained(run, f"{file}:10-20")["lines"]] == list(range(10, 21))
    whole = explained(run, file)
    assert whole["count"] == len(whole["lines"]) == file.read_text(encoding="utf-8").count("\n")
    out = run("explain", file).out
    assert "vendor    mlu, for simulated Neuware" in out
    assert "bindings.device.count[0]: line" in out


def test_the_line_above_every_file(run: Run, base: Path) -> None:
    for path in (DEVICE, "CMakeLists.txt"):
        assert "fl-gen puts this line above every file" in run("explain", f"{base / 'generated' / 'mlu' / path}:1").out
    script = base / "generated" / "mlu" / "scripts" / "run_models_and_profile.bash"
    made = [line["made"] for line in explained(run, f"{script}:1-3")["lines"]]
    assert made == ["template", "marker", "template"]


def test_what_a_person_wrote_is_theirs(run: Run, tree: Path) -> None:
    file = tree / "generated" / "mlu" / DEVICE
    text = file.read_text(encoding="utf-8")
    number = number_of(file, "cnrtSetDevice")
    lines = text.split("\n")
    old = lines[number - 1]
    lines[number - 1 : number] = ["    // mine: 😀 \x1b[31m", "    MINE();"]
    file.write_text("\n".join(lines), encoding="utf-8")
    value = explained(run, f"{file}:{number - 1}-{number + 2}")
    assert value["state"] == "edited"
    assert [line["made"] for line in value["lines"]] == ["template", "yours", "yours", "template"]
    assert value["lines"][1]["instead"] == [old]
    result = run("explain", f"{file}:{number}")
    assert "changed by hand since fl-gen wrote it" in result.out
    assert "you wrote this line: it is not fl-gen's\n  in its place fl-gen has:\n" in result.out
    assert "\x1b" not in result.out


def test_marks_of_a_conflict_are_nobodys(run: Run, tree: Path) -> None:
    file = tree / "generated" / "mlu" / DEVICE
    lines = file.read_text(encoding="utf-8").split("\n")
    lines[4:4] = ["<<<<<<< your version", "// mine", "=======", ">>>>>>> fl-gen 0.1.0"]
    file.write_text("\n".join(lines), encoding="utf-8")
    said = "  a mark of a conflict that --merge left: choose between the sides, and delete it\n"
    out = run("explain", f"{file}:5-8").out
    assert out.count(said) == 3
    assert out.count("  you wrote this line: it is not fl-gen's\n") == 1


def test_lines_that_fl_gen_would_not_make_now_are_not_yours(run: Run, tree: Path, tmp_path: Path) -> None:
    """The tree is older than the schemas: nobody edited it."""
    schemas = tmp_path / "schemas" / "vendors" / "mlu"
    schemas.mkdir(parents=True)
    shipped = (data_dir() / "schemas" / "vendors" / "mlu" / "vendor.yaml").read_text(encoding="utf-8")
    (schemas / "vendor.yaml").write_text(shipped.replace("cnrtSetDevice(device)", "cnrtSetDevice(device + 0)"), "utf-8")
    file = tree / "generated" / "mlu" / DEVICE
    number = number_of(file, "cnrtSetDevice")
    value = explained(run, f"{file}:{number}", "--schemas", tmp_path / "schemas")
    assert (value["state"], value["lines"][0]["made"]) == ("outdated", "outdated")
    assert "cnrtSetDevice(OrdinalOf(device) + 0)" in value["lines"][0]["instead"][0]
    lines = file.read_text(encoding="utf-8").split("\n")
    file.write_text("\n".join([*lines[:20], "// mine", *lines[20:]]), encoding="utf-8")
    value = explained(run, file, "--schemas", tmp_path / "schemas")
    made = {line["number"]: line["made"] for line in value["lines"] if line["made"] not in ("template", "marker")}
    assert (value["state"], made) == ("edited", {21: "yours", number + 1: "outdated"})


def test_a_once_file(run: Run, tree: Path) -> None:
    file = tree / "backends" / "mlu" / "kernels" / "fill.mlu"
    value = explained(run, f"{file}:20")
    assert (value["ownership"], value["state"], value["path"]) == ("once", "current", "kernels/fill.mlu")
    file.write_text("// mine\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert [line["made"] for line in explained(run, f"{file}:1-2")["lines"]] == ["yours", "template"]
    assert "made once, and yours since then" in run("explain", f"{file}:1").out


def test_a_tree_made_elsewhere_and_reached_by_any_path(
    run: Run, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = tmp_path / "with space:9" / "copied"
    shutil.copytree(tree / "generated" / "mlu", moved)
    link = tmp_path / "link.cc"
    link.symlink_to(moved / DEVICE)
    monkeypatch.chdir(moved / "src")
    wanted = explained(run, f"{tree / 'generated' / 'mlu' / DEVICE}:40")["lines"]
    for place in (moved / DEVICE, "runtime/mlu_device.cc", "../src/./runtime/mlu_device.cc", link):
        value = explained(run, f"{place}:40")
        assert (value["vendor"], value["path"], value["lines"]) == ("mlu", DEVICE, wanted)
    crlf = (moved / DEVICE).read_bytes().replace(b"\n", b"\r\n")
    (moved / DEVICE).write_bytes(crlf)
    assert explained(run, f"{moved / DEVICE}:40")["state"] == "current"


def test_nothing_is_written(run: Run, tree: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in sorted(tree.rglob("*"))}
    explained(run, tree / "generated" / "mlu" / DEVICE)
    assert {path: path.stat().st_mtime_ns for path in sorted(tree.rglob("*"))} == before


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (f"{DEVICE}:9999", "mlu_device.cc: there is no line 9999: the file has 109 lines"),
        (f"{DEVICE}:5-9999", "there is no line 9999"),
        (f"{DEVICE}:3:500", "mlu_device.cc:3: there is no column 500: it has "),
        (f"{DEVICE}:0", "lines and columns count from 1"),
        (f"{DEVICE}:9-3", "the range ends before it begins"),
        ("manifest.json", "no template makes this file: it is fl-gen's record"),
        ("nope.cc:3", "nope.cc: no such file"),
        ("src", "this is a folder"),
        ("mine.cc", "this file is not fl-gen's"),
        ("binary.cc:1", "it is not UTF-8 (byte 0)"),
        ("fifo", "this is no regular file"),
        ("../../other.txt", "no folder above it has a manifest.json of fl-gen's"),
        ("../../backends/mlu/kernels/mine.mlu", "this file is yours alone: no template makes it"),
        ("a\0b:1", "a path cannot hold the character NUL"),
        ("\udcff.cc", "no such file"),
        ("x" * 5000, "no such file"),
        ("", "the path is empty: name a file"),
        (":3", "no such file"),
    ],
)
def test_what_cannot_be_explained(
    run: Run, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, message: str
) -> None:
    folder = tmp_path / "w" / "generated" / "mlu"
    if not folder.exists():
        shutil.copytree(base, tmp_path / "w", symlinks=True)
    (folder / "mine.cc").write_text("int x;\n", encoding="utf-8")
    (folder / "binary.cc").write_bytes(b"\xff\xfe\0")
    os.mkfifo(folder / "fifo")
    (tmp_path / "w" / "other.txt").write_text("x\n", encoding="utf-8")
    (tmp_path / "w" / "backends" / "mlu" / "kernels" / "mine.mlu").write_text("x\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    assert message in refused(run("explain", place))


@pytest.mark.parametrize("name", ["{{ 7 * 7 }}.cc", "*/ int x; //.cc", "a\nb.cc", "ü😀.cc", "-x.cc", "\x1b[31m.cc"])
def test_hostile_names(run: Run, base: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(base, tmp_path / "w", symlinks=True)
    file = tmp_path / "w" / "generated" / "mlu" / name.replace("/", "_")
    file.write_text("x\n", encoding="utf-8")
    error = refused(run("explain", "--", f"{file}:1"))
    assert "this file is not fl-gen's" in error
    assert "\x1b" not in error


def test_a_project_says_what_a_tree_was_made_from(run: Run, tmp_path: Path) -> None:
    """A block of a template of the user's own, and a licence: the project knows them, the manifest alone does not."""
    template = "src/runtime/{vendor}_device.cc.j2"
    folder = tmp_path / "p" / "templates" / "infinitrain"
    (folder / "src" / "runtime").mkdir(parents=True)
    shipped = (data_dir() / "templates" / "infinitrain" / template).read_text(encoding="utf-8")
    (folder / template).write_text(
        shipped + "// {{ vendor.title }}: {{ '*/' }} {% raw %}{{ x }}{% endraw %}\n", "utf-8"
    )
    (tmp_path / "p" / "LICENCE").write_text("SPDX-License-Identifier: MIT\n", encoding="utf-8")
    (tmp_path / "p" / "fl-gen.yaml").write_text(
        "schema: 1\ngenerator: 0.1.0\nframework: infinitrain\noutput: out\nformatter: none\nlicence: LICENCE\n"
        "templates: [templates]\nvendors:\n  mlu: {sdk: sim}\n",
        encoding="utf-8",
    )
    made = run("regen", "--config", tmp_path / "p" / "fl-gen.yaml")
    assert made.code == 0, made.err
    file = tmp_path / "p" / "out" / "generated" / "mlu" / DEVICE
    number = number_of(file, "{{ x }}")
    value = explained(run, f"{file}:{number}")
    assert value["state"] == "current"
    (place,) = value["lines"][0]["templates"]
    assert (place["file"], place["line"]) == (f"p/templates/infinitrain/{template}", len(shipped.split("\n")))
    assert [node["path"] for node in value["lines"][0]["nodes"]] == ["title"]
    head = [line["made"] for line in explained(run, f"{file}:1-6")["lines"]]
    assert head[: head.index("template")] == ["marker"] * head.index("template")
    assert head.index("template") >= 2
    (tmp_path / "p" / "fl-gen.yaml").unlink()
    assert "this tree is made with overlays" in refused(run("explain", f"{file}:{number}"))


def test_a_project_that_does_not_make_the_tree(run: Run, base: Path, tmp_path: Path) -> None:
    (tmp_path / "fl-gen.yaml").write_text(
        "schema: 1\ngenerator: 0.1.0\nframework: infinitrain\noutput: .\nvendors:\n  mlu: {sdk: sim}\n",
        encoding="utf-8",
    )
    error = refused(run("explain", "--config", "fl-gen.yaml", base / "generated" / "mlu" / DEVICE))
    assert f"fl-gen.yaml: this project does not make {base / 'generated' / 'mlu'}" in error


def test_a_real_sdk_that_is_not_here(run: Run, tree: Path) -> None:
    manifest = tree / "generated" / "mlu" / "manifest.json"
    value = json.loads(manifest.read_text(encoding="utf-8"))
    value["sdk"]["simulated"] = False
    manifest.write_text(json.dumps(value), encoding="utf-8")
    assert "--sdk" in refused(run("explain", tree / "generated" / "mlu" / DEVICE))
    assert explained(run, tree / "generated" / "mlu" / DEVICE, "--sdk", "sim")["state"] == "current"


def test_a_file_that_is_made_no_more(run: Run, tree: Path) -> None:
    manifest = tree / "generated" / "mlu" / "manifest.json"
    value = json.loads(manifest.read_text(encoding="utf-8"))
    value["files"]["src/old.cc"] = value["files"][DEVICE]
    manifest.write_text(json.dumps(value), encoding="utf-8")
    (tree / "generated" / "mlu" / "src" / "old.cc").write_text("x\n", encoding="utf-8")
    assert "fl-gen makes this file no more" in refused(run("explain", tree / "generated" / "mlu" / "src" / "old.cc:1"))


def test_a_damaged_manifest(run: Run, tree: Path) -> None:
    (tree / "generated" / "mlu" / "manifest.json").write_text("{", encoding="utf-8")
    assert "the manifest is damaged" in refused(run("explain", tree / "generated" / "mlu" / DEVICE))
    (tree / "manifest.json").write_text("{}", encoding="utf-8")
    (tree / "x.txt").write_text("x", encoding="utf-8")
    assert "this is not a file of fl-gen's" in refused(run("explain", tree / "x.txt"))
