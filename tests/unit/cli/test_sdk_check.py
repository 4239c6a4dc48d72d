"""`fl-gen sdk check`: targets, exit codes, formats and files; its messages by their text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.schema.paths import data_dir
from unit.cli.conftest import Run

SCHEMA = json.loads((data_dir() / "schemas" / "jsonschema" / "sdk-check.json").read_text(encoding="utf-8"))
FORMATS = ("json", "sarif", "markdown", "html")


def flat(text: str) -> str:
    """The text on one line: where a path of this machine is wrapped does not matter."""
    return " ".join(text.split())


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No width from outside."""
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def neuware(tmp_path: Path) -> Path:
    """A folder with the headers of the simulated Neuware 6.14, which passes for an installed SDK without libraries."""
    root = tmp_path / "neuware"
    for name, text in render_headers(load_api(data_dir() / "schemas" / "vendors" / "mlu" / "api.yaml"), "6.14").items():
        path = root / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_one_target_every_way(run: Run, neuware: Path) -> None:
    by_option = run("sdk", "check", "mlu", "--sdk", neuware)
    by_target = run("sdk", "check", f"mlu@{neuware}")
    assert by_option == by_target
    assert by_option.code == 0
    assert by_option.err == ""
    assert f"SDK Neuware 6.14.1 at {neuware} held against" in flat(by_option.out)
    assert "library cnrt: NOT FOUND\n" in by_option.out
    assert "3 libraries not found" in flat(by_option.out)
    simulated = run("sdk", "check", "mlu@sim:6.0")
    assert simulated.code == 0
    assert "simulated Neuware 6.0.2 (a test double)" in simulated.out


def test_libraries_that_are_there(run: Run, neuware: Path) -> None:
    (neuware / "lib64").mkdir()
    (neuware / "lib64" / "libcnrt.so").touch()
    out = run("sdk", "check", "mlu", "--sdk", neuware).out
    assert f"library cnrt: {neuware}/lib64/libcnrt.so group" in flat(out)
    assert "2 libraries not found\n  cnnl\n  cncl\n" in out


def test_a_required_operation_that_is_lost_is_a_finding(run: Run, neuware: Path) -> None:
    header = neuware / "include" / "cnrt.h"
    header.write_text(header.read_text(encoding="utf-8").replace("cnrtSetDevice(", "cnrtSetDeviceX("), encoding="utf-8")
    result = run("sdk", "check", "mlu", "--sdk", neuware)
    assert result.code == 1
    assert result.err == ""
    assert "device.set *                   LOST      nothing can stand in for it" in result.out
    assert "\nLOST: device.set: no backend on this SDK\n" in result.out
    assert "device.set is required, and this SDK refuses its binding: clang: use of undeclared identifier" in result.out
    assert "did you mean cnrtSetDeviceX?" in result.out
    report = json.loads(run("sdk", "check", "mlu", "--sdk", neuware, "--format", "json").out)
    (one,) = report["results"]
    assert (report["exit_code"], one["exit_code"]) == (1, 1)
    assert {lost["location"]["file"].rpartition("/")[2] for lost in one["check"]["lost"]} == {"vendor.yaml"}
    # `backend` stops at the same thing.
    stopped = run("backend", "mlu", "--sdk", neuware)
    assert stopped.code == 2
    assert "device.set is required, and this SDK refuses its binding" in stopped.err


def test_an_optional_part_that_is_not_there_is_reported(run: Run, neuware: Path) -> None:
    (neuware / "include" / "cncl.h").unlink()
    result = run("sdk", "check", "mlu", "--sdk", neuware)
    assert result.code == 0
    assert "group    ccl      CNCL  optional  left out: no cncl.h\n" in result.out
    assert "ccl.all_reduce" not in result.out
    asked = run("sdk", "check", "mlu", "--sdk", neuware, "--require", "ccl")
    assert asked.code == 2
    assert asked.out == ""
    assert asked.err == (
        f"Neuware 6.14.1 at {neuware}: CNCL is needed, and its header cncl.h is not in {neuware}/include\n"
        "  = install CNCL, or point --sdk at an SDK that has it\n"
    )


def test_headers_that_do_not_parse_give_no_verdict(run: Run, neuware: Path) -> None:
    header = neuware / "include" / "cnrt.h"
    header.write_text(f"#include <nowhere.h>\n{header.read_text(encoding='utf-8')}", encoding="utf-8")
    result = run("sdk", "check", "mlu", "--sdk", neuware)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith(
        f"{header}:1:10: no verdict on this SDK: clang: 'nowhere.h' file not found\n    1 | #include <nowhere.h>\n"
    )
    for form in FORMATS:
        machine = run("sdk", "check", "mlu", "--sdk", neuware, "--format", form)
        assert machine.code == 2
        assert machine.err == ""
        assert "nowhere.h" in machine.out
        if form == "json":
            document = json.loads(machine.out)
            jsonschema.Draft202012Validator(SCHEMA).validate(document)
            (said,) = document["results"][0]["no_verdict"]["diagnostics"]
            assert said["location"] == {"file": str(header), "line": 1, "column": 10, "via": None}
            assert said["hint"].startswith("name a complete SDK with --sdk")
        if form == "sarif":
            (one,) = json.loads(machine.out)["runs"][0]["results"]
            assert one["ruleId"] == "sdk-header"
            assert one["locations"][0]["physicalLocation"]["region"]["startLine"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["nope"],
            "there is no vendor 'nope' in {schemas}\n  = ",
        ),
        (
            ["mlu@sim:9"],
            "sim:9: the simulated mlu SDK has no version 9; it has 6.14.1, 6.0.2, 4.3.0\n",
        ),
        (
            ["mlu@"],
            "mlu@: the SDK behind the @ is empty\n  = write mlu@FOLDER, mlu@sim or mlu\n",
        ),
        (
            ["mlu@a,,b"],
            "mlu@a,,b: the SDK behind the @ is empty\n  = write mlu@FOLDER, mlu@sim or mlu\n",
        ),
        (
            ["@sim"],
            "@sim: a target is VENDOR or VENDOR@SDK, and this one names no vendor\n",
        ),
        (
            ["mlu@sim", "--sdk", "/opt/x"],
            "--sdk /opt/x: every target here names an SDK of its own behind @\n"
            "  = leave --sdk out, or name the vendor without @\n",
        ),
        (
            ["mlu@sim,/opt/x"],
            "--sdk sim is a whole SDK and cannot be combined with another --sdk\n"
            "  = give --sdk sim alone, or only paths\n",
        ),
        (
            ["mlu@/no/such"],
            "--sdk /no/such does not exist\n  = name the folder that holds include/cnrt.h\n",
        ),
        (
            ["mlu", "--sdk", "sim", "--require", "cc"],
            "--require cc: mlu has no group of that name; it has runtime, blas, ccl\n  = did you mean 'ccl'?\n",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_messages(run: Run, arguments: list[str], message: str) -> None:
    result = run("sdk", "check", *arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith(message.format(schemas=data_dir() / "schemas"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'VENDOR[@SDK]...'"),
        (["mlu", "--format", "xml"], "'xml' is not one of 'text', 'json', 'sarif', 'markdown', 'html'"),
        (["mlu", "--jobs", "0"], "0 is not in the range x>=1"),
        (["mlu@sim", "--format", "json", "--verbose"], "--verbose goes with --format text: json holds everything"),
        (["mlu@sim", "--format", "html", "--only", "lost"], "--only goes with --format text: html holds everything"),
        (["mlu@sim", "--only", "all"], "'all' is not one of 'lost', 'strategy'"),
        (["mlu@sim", "--output", ""], "the path is empty"),
    ],
)
def test_usage(run: Run, arguments: list[str], said: str) -> None:
    result = run("sdk", "check", *arguments)
    assert result.code == 2
    assert said in result.err


def test_a_list_of_some_operations(run: Run) -> None:
    result = run("sdk", "check", "mlu@sim:6.0", "--only", "inferred", "--verbose")
    listed = re.findall(r"^  ([a-z]+\.[a-z_]+)(?: \*)? +bound", result.out, re.MULTILINE)
    assert listed == ["library.cast", "ccl.all_gather", "ccl.reduce_scatter"]
    assert "cnclResult_t cnclAllGather(" in result.out
    assert "inferred: cncl.h" in result.out


@pytest.mark.parametrize("form", ["text", *FORMATS])
def test_into_a_file(run: Run, tmp_path: Path, form: str) -> None:
    printed = run("sdk", "check", "mlu@sim:6.0", "--format", form)
    path = tmp_path / "deep" / "report"
    result = run("sdk", "check", "mlu@sim:6.0", "--format", form, "-o", path)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].startswith("mlu@sim:6.0: ")
    assert lines[1:] == [f"written to {path}"]
    written = path.read_text(encoding="utf-8")
    # A file holds the heading of its target as well, so that it reads alone.
    assert written == (f"=== mlu@sim:6.0 ===\n{printed.out}" if form == "text" else printed.out)
    assert [one.name for one in path.parent.iterdir()] == ["report"]


def test_a_file_says_that_there_is_no_verdict(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_text("all is well\n", encoding="utf-8")
    result = run("sdk", "check", "mlu@sim:9", "-o", path)
    assert result.code == 2
    assert path.read_text(encoding="utf-8").startswith("=== mlu@sim:9 ===\nno verdict\nsim:9: the simulated mlu SDK")
    folder = run("sdk", "check", "mlu@sim", "-o", tmp_path)
    assert (folder.code, folder.out) == (2, "")
    assert folder.err == f"{tmp_path}: this is a folder\n  = name a file in it: --output {tmp_path}/report.text\n"
    closed = run("sdk", "check", "mlu@sim", "-o", tmp_path / "report.txt" / "x")
    assert closed.code == 2
    assert "report.txt" in closed.err


def test_the_width_is_that_of_columns(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    narrow = run("sdk", "check", "mlu@sim:6.0").out
    assert "  device.count: bound, required\n    cnrtGetDeviceCount (cnrt.h:" in narrow
    monkeypatch.setenv("COLUMNS", "x")
    assert run("sdk", "check", "mlu@sim:6.0").out.splitlines()[0].startswith("SDK           simulated")


def test_the_schema_is_exported(run: Run, tmp_path: Path) -> None:
    assert json.loads(run("schema", "export", "sdk-check").out) == SCHEMA
    assert run("schema", "export", "--out", tmp_path).code == 0
    assert json.loads((tmp_path / "sdk-check.json").read_text(encoding="utf-8")) == SCHEMA


def test_several_folders_hold_one_sdk(run: Run, neuware: Path, tmp_path: Path) -> None:
    other = tmp_path / "with, comma"
    (other / "include").mkdir(parents=True)
    for name in ("cncl.h", "cnnl.h"):
        (neuware / "include" / name).rename(other / "include" / name)
    by_option = run("sdk", "check", "mlu", "--sdk", neuware, "--sdk", other)
    assert by_option.code == 0
    assert "left out: no" not in by_option.out
    assert f" roots {neuware}, {other} held against" in flat(by_option.out)
    plain = other.rename(tmp_path / "plain")
    assert "left out: no" not in run("sdk", "check", f"mlu@{neuware},{plain}").out
    # A folder whose name has a comma is that folder.
    back = plain.rename(other)
    (back / "include" / "cnrt.h").write_bytes((neuware / "include" / "cnrt.h").read_bytes())
    alone = run("sdk", "check", f"mlu@{back}")
    assert alone.code == 0, alone.err
    assert f"at {back} held against" in flat(alone.out)
