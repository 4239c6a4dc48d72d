"""The command around the check: forms, files, colours, progress and help."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from fl_gen.cli.framework import _reading
from fl_gen.cli.progress import ProgressLine
from fl_gen.report.framework import framework_markdown, framework_text
from fl_gen.schema.location import Location
from fl_gen.tasks import framework_check
from fl_gen.tasks.framework_update import Updated
from fl_gen.tasks.framework_values import Edit, Finding, FrameworkCheck, Needed, Unjudged

from .conftest import call

CALLERS = tuple(Location("tree/k.cu", line, 5) for line in range(1, 7))
FINDINGS = (
    Finding("call-mismatch", "error", "Exp", "passes (a|b) to Exp", "silent", Location("tree/c.cc", 3, 7),
            Location("s/ops.yaml", 9, 3), by_hand="mend the call"),
    Finding("enumerator-new", "warning", "Kind::kB", "Kind::kB = 2 is new", "unknown", Location("tree/k.h", 4, 5),
            Location("s/interface.yaml", 8, 3), (Edit("insert", "interface.yaml", ("enums",), {}),)),
)  # fmt: skip


def a_check(*findings: Finding) -> FrameworkCheck:
    return FrameworkCheck(
        "infinitrain", "tree", findings, (Needed("Gemm", CALLERS),),
        (Unjudged(Location("tree/x.cc", 2, 1), "the call", "a \x1b[2J template"),), 5, {"kCPU": 3, "kCUDA": 4}, 7,
        ("cub/cub.cuh",), "clang version 18.1.1",
    )  # fmt: skip


def test_text() -> None:
    assert framework_text(a_check(*FINDINGS)) == (
        "tree/c.cc:3:7: passes (a|b) to Exp\n"
        "  = silent\n"
        "  = by hand: mend the call\n"
        "s/ops.yaml:9:3: note: Exp in the schema\n"
        "tree/k.h:4:5: warning: Kind::kB = 2 is new\n"
        "  = unknown\n"
        "s/interface.yaml:8:3: note: Kind::kB in the schema\n"
        "\n"
        "tree     tree (infinitrain)\n"
        "checked  by clang version 18.1.1: 5 sources, 7 calls of kernels\n"
        "kernels  registered: 3 for kCPU, 4 for kCUDA\n"
        "         Gemm is called by name from other kernels: tree/k.cu:1:5, tree/k.cu:2:5, tree/k.cu:3:5, tree/k.cu:4:5 "
        "and 2 more\n"
        "absent   read as empty or by a stand-in: cub/cub.cuh\n"
        "unread   tree/x.cc:2:1: the call: a \\x1b[2J template\n"
        "found    1 error, 1 warning\n"
        "         1 can be written into the schema: run again with --update"
    )


def test_text_of_an_update() -> None:
    updated = Updated({"schemas/interface.yaml": 1}, FINDINGS[:1], "use it with --schemas schemas")
    lines = framework_text(a_check(*FINDINGS), updated).splitlines()
    assert lines[:5] == [
        "updated  schemas/interface.yaml: 1 change",
        "         1 finding written; read the difference before you commit it",
        "         use it with --schemas schemas",
        "by hand:",
        "tree/c.cc:3:7: passes (a|b) to Exp",
    ]
    assert lines[-1] == "found    1 error"
    nothing = framework_text(a_check(*FINDINGS[:1]), Updated({}, FINDINGS[:1]))
    assert nothing.startswith("updated  nothing: no finding can be written mechanically\nby hand:\n")
    done = framework_text(a_check(*FINDINGS[1:]), Updated({"a": 1}))
    assert done.endswith("agrees   the schema of infinitrain and the tree")


def test_markdown() -> None:
    lines = framework_markdown(a_check(*FINDINGS)).splitlines()
    assert lines[2] == "| level | kind | what | tree | schema | what it means |"
    assert lines[4] == "| error | call-mismatch | passes (a\\|b) to Exp | tree/c.cc:3:7 | s/ops.yaml:9:3 | silent |"
    assert "Schema and tree agree." in framework_markdown(a_check())


@pytest.mark.parametrize(("findings", "code"), [((), 0), (FINDINGS, 1)])
def test_the_command(findings: tuple[Finding, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[framework_check.CheckRequest] = []

    def answer(request: framework_check.CheckRequest, _progress: object) -> FrameworkCheck:
        asked.append(request)
        return a_check(*findings)

    monkeypatch.setattr(framework_check, "check_framework", answer)
    monkeypatch.chdir(tmp_path)
    arguments = ("framework", "check", "infinitrain", "--source", "tree", "--schemas", "own", "-j", "3")
    assert call(*arguments).code == code
    assert asked == [framework_check.CheckRequest("infinitrain", Path("tree"), (Path("own"),), 3)]
    result = call(*arguments, "--format", "json", "-o", "out/report.json")
    assert (result.code, result.out, result.err) == (code, "", "")
    assert json.loads((tmp_path / "out" / "report.json").read_text())["agrees"] is (code == 0)
    assert call(*arguments, "--format", "markdown").out.startswith("### infinitrain against `tree`\n")


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressLine() as line:
        _reading(line)(1, 2, "/tree/a.cc")
    assert terminal.getvalue() == "\r\x1b[Kreading headers\r\x1b[K1 of 2 sources read a.cc\r\x1b[K"


def test_no_progress_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressLine() as line:
        _reading(line)(1, 2, "/tree/a.cc")
    assert stream.getvalue() == ""


def test_help_and_usage() -> None:
    assert "2  no verdict: TREE is no checkout" in call("framework", "check", "--help").out
    assert call("framework", "check", "infinitrain").code == 2
    assert call("framework", "check", "infinitrain", "--source", "").code == 2
