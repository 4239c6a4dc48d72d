"""`fl-gen doctor`: everything has a line, what is broken has a remedy, and nothing can stop it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fl_gen.report.doctor import doctor_json, doctor_text
from fl_gen.tasks import doctor, doctor_tools
from fl_gen.tasks.doctor import diagnose
from fl_gen.tasks.doctor_tools import ask, ask_libclang, ask_path
from fl_gen.tasks.doctor_values import Diagnosis, Item, Section

from .conftest import Run

Program = Callable[[str, str], Path]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Makes a shell script that is found before every other program of its name."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def make(name: str, script: str) -> Path:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    return make


def found(text: str, name: str) -> dict[str, Any]:
    """The first item of that name in a JSON report."""
    items = [item for section in json.loads(text)["sections"] for item in section["items"]]
    return next(item for item in items if item["name"] == name)


def test_a_sound_machine(run: Run) -> None:
    result = run("doctor", "--format", "json")
    assert result.code == 0, result.out
    assert result.err == ""
    titles = [section["title"] for section in json.loads(result.out)["sections"]]
    assert titles == [
        "fl-gen", "libclang", "compilers and build tools", "formatters", "PyTorch", "headers of others", "SDKs",
        "caches", "environment",
    ]  # fmt: skip
    libclang = found(result.out, "libclang")
    assert "18.1.1" in libclang["details"]["version"]
    assert Path(libclang["details"]["library"]).is_file()
    assert found(result.out, "clang-format")["text"].startswith("16.0.6, ")
    assert found(result.out, "builtin headers")["text"].startswith("first choice: ")
    assert found(result.out, "cache")["details"]["folder"] == os.environ["FL_GEN_CACHE_DIR"]


def test_every_vendor_has_a_line(run: Run) -> None:
    from fl_gen.schema.catalog import Catalog

    result = run("doctor", "--format", "json")
    section = next(one for one in json.loads(result.out)["sections"] if one["title"] == "SDKs")
    names = [item["name"] for item in section["items"]]
    assert [name for name in names if not name.endswith(" compiler")] == list(Catalog().vendors())


def test_an_sdk_that_the_environment_names(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    include = tmp_path / "sdk" / "include"
    include.mkdir(parents=True)
    (include / "cnrt.h").write_text(
        "#define CNRT_MAJOR_VERSION 6\n#define CNRT_MINOR_VERSION 2\n#define CNRT_PATCH_VERSION 1\n"
    )
    monkeypatch.setenv("NEUWARE_HOME", str(tmp_path / "sdk"))
    item = found(run("doctor", "--format", "json").out, "mlu")
    assert item["text"] == (
        f"Neuware 6.2.1 at {tmp_path / 'sdk'} (NEUWARE_HOME); has runtime; lacks blas (no cnnl.h), ccl (no cncl.h); "
        "libraries not found: cnrt"
    )
    assert (item["state"], item["remedy"]) == ("note", "programs will not link; checking and generating work")
    assert item["details"]["version"] == "6.2.1"


def test_a_variable_that_names_no_sdk_is_a_warning(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEUWARE_HOME", str(tmp_path / "nothing"))
    result = run("doctor", "--format", "json")
    item = found(result.out, "mlu")
    assert result.code == 0  # no SDK is needed: there is a simulated one
    assert item["state"] == "warning"
    assert item["text"] == f"NEUWARE_HOME={tmp_path / 'nothing'} does not exist"
    assert item["remedy"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise ImportError('no such library')", "the Python package libclang is missing"),
        ("import os\nos.abort()", "the process that loaded it was ended by signal 6"),
        ("import sys\nsys.exit(7)", "the process that loaded it ended with exit code 7"),
        ("print('nonsense')\nimport os\nos._exit(0)", "its answer makes no sense"),
    ],
    ids=["no import", "crash", "exit", "nonsense"],
)
def test_a_libclang_that_does_not_work(
    text: str, said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "broken" / "clang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(text)
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    result = run("doctor", "--format", "json")
    item = found(result.out, "libclang")
    assert result.code == 1
    assert result.err == ""
    assert item["state"] == "missing"
    assert item["text"] == said
    assert item["remedy"] == "pip install --force-reinstall libclang==18.1.1"


def test_a_libclang_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "slow" / "clang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import time\ntime.sleep(60)\n")
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    monkeypatch.setattr(doctor_tools, "TIMEOUT", 0.3)
    assert ask_libclang().fault == "gave no answer within 0.9 seconds"


def test_a_program_that_hangs(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_tools, "TIMEOUT", 0.2)
    path = program("cmake", "sleep 60 & sleep 60")
    answer = ask("cmake")
    assert answer is not None
    assert (answer.path, answer.fault) == (str(path), "gave no answer within 0.2 seconds")


def test_a_program_that_does_not_stop_talking(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_tools, "TIMEOUT", 0.5)
    answer = ask_path(str(program("cmake", "yes 1.2.3")))
    assert answer.fault == "did not end within 0.5 seconds"


@pytest.mark.parametrize(
    ("script", "fault"),
    [("exit 3", "ended with exit code 3"), ("kill -9 $$", "was ended by signal 9")],
)
def test_a_program_that_fails(script: str, fault: str, program: Program) -> None:
    assert ask_path(str(program("ninja", script))).fault == fault


def test_a_program_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "cmake"
    path.write_bytes(b"\x7fELF\0\0")
    path.chmod(0o755)
    assert ask_path(str(path)).fault == "cannot be run: Exec format error"
    assert ask("no-such-program-anywhere") is None


def test_an_old_cmake(program: Program, run: Run) -> None:
    path = program("cmake", "echo cmake version 3.20.1")
    result = run("doctor", "--format", "json")
    item = found(result.out, "cmake")
    assert (item["state"], item["text"]) == ("warning", f"3.20.1, {path}: builds need 3.28")
    assert item["remedy"]
    assert result.code == 0  # fl-gen itself does not need it


def test_no_clang_format(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clang_format", None)
    result = run("doctor")
    assert result.code == 1
    assert "  XX  clang-format" in result.out
    assert "= pip install clang-format==16.0.6, or run with --no-format" in result.out
    assert result.out.endswith("missing, and needed by fl-gen (XX): 1\n") or "(XX): 1; " in result.out


def test_overlays(run: Run, tmp_path: Path) -> None:
    schemas = tmp_path / "own"
    (schemas / "vendors" / "mlu").mkdir(parents=True)
    (schemas / "vendors" / "mine").mkdir()
    (schemas / "vendors" / "mlu" / "vendor.yaml").write_text("schema: 1\nvendor: [\n")
    (schemas / "vendors" / "mine" / "vendor.yaml").write_text("schema: 1\n")
    result = run("doctor", "--schemas", schemas, "--format", "json")
    assert result.code == 0
    assert found(result.out, "--schemas")["text"] == (
        "own: replaces vendors/mlu/vendor.yaml; adds vendors/mine/vendor.yaml"
    )
    assert found(result.out, "mlu")["text"].startswith("own/vendors/mlu/vendor.yaml:")
    assert found(result.out, "mlu")["remedy"] == "fl-gen schema check mlu"


def test_a_fault_of_an_overlay_is_one_line_and_its_remedy(run: Run, tmp_path: Path) -> None:
    vendor = tmp_path / "own" / "vendors" / "mychip" / "vendor.yaml"
    vendor.parent.mkdir(parents=True)
    vendor.write_text("schema: 1\nvendor: musa\n")
    out = re.sub(" +", " ", run("doctor", "--schemas", "own").out)
    assert (
        " !! --schemas own/vendors/mychip/vendor.yaml:2:9: the folder is called mychip, the vendor in it musa: it lies over "
        "nothing\n = rename the folder to musa, or write vendor: mychip\n ok --schemas own: "
    ) in out


def test_an_overlay_that_is_not_there(run: Run) -> None:
    result = run("doctor", "--schemas", "nowhere", "--templates", "nothing")
    assert result.code == 1
    assert "XX  --schemas" in result.out
    assert "nowhere: no such folder" in result.out
    assert "nothing: no such folder" in result.out


def test_a_cache_that_is_a_file(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cache").write_text("")
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(tmp_path / "cache"))
    item = found(run("doctor", "--format", "json").out, "cache")
    assert (item["state"], item["text"]) == ("warning", f"{tmp_path / 'cache'} is no folder")


def test_resource_headers_that_are_none(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FL_GEN_RESOURCE_HEADERS", str(tmp_path))
    out = run("doctor").out
    assert f"FL_GEN_RESOURCE_HEADERS={tmp_path}: there is no stddef.h in it" in out


def test_a_part_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise RuntimeError("the disk\nis gone")

    monkeypatch.setattr(doctor, "_caches", broken)
    section = next(one for one in diagnose().sections if one.title == "caches")
    (item,) = section.items
    assert (item.state, item.text) == ("warning", "cannot be looked at: RuntimeError: the disk is gone")


def test_a_part_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    released = threading.Event()

    def hung() -> Any:
        released.wait(30)
        return []

    monkeypatch.setattr(doctor, "_headers", hung)
    monkeypatch.setattr(doctor, "_PATIENCE", 0.2)
    try:
        section = next(one for one in diagnose().sections if one.title == "headers of others")
    finally:
        released.set()
    assert section.items[0].text == "gave no answer in time"


def test_what_is_printed() -> None:
    diagnosis = Diagnosis(
        (
            Section("tools", (Item("cmake", "ok", "3.31"), Item("ninja", "note", "none", "pip install ninja"))),
            Section("libclang", (Item("libclang", "missing", "bad \x1b[2J", "install it", {"version": None}),)),
        )
    )
    assert doctor_text(diagnosis) == (
        "tools\n"
        "  ok  cmake     3.31\n"
        "  --  ninja     none\n"
        "                = pip install ninja\n"
        "\n"
        "libclang\n"
        "  XX  libclang  bad \\x1b[2J\n"
        "                = install it\n"
        "\n"
        "missing, and needed by fl-gen (XX): 1\n"
    )
    assert json.loads(doctor_json(diagnosis))["healthy"] is False


@pytest.mark.parametrize("module", ["yaml", "jinja2", "platformdirs", "clang"])
def test_a_package_that_cannot_be_imported(module: str, tmp_path: Path) -> None:
    program = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from fl_gen.cli.main import main\n"
        "sys.exit(main(['doctor', '--schemas', '.']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode in (0, 1)
    assert done.stderr == ""
    assert "Traceback" not in done.stdout
    assert "\nlibclang\n" in done.stdout
    if module == "yaml":
        assert done.returncode == 1
        assert "XX  check" in done.stdout
