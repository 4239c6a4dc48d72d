"""The hooks for pre-commit and the example of a workflow say what fl-gen understands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from fl_gen import __version__
from unit.cli.conftest import Run

ROOT = Path(__file__).resolve().parents[3]
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "github-workflow.yml").read_text())
STEPS = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]


def test_the_hooks_have_what_pre_commit_needs() -> None:
    assert [hook["id"] for hook in HOOKS] == ["fl-gen-check", "fl-gen-regen"]
    for hook in HOOKS:
        assert {"id", "name", "entry", "language", "pass_filenames"} <= hook.keys()
        assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    check, regen = HOOKS
    # Commits that only remove a generated file, or change schemas in a folder of any name, are looked at as well.
    assert (check["always_run"], "files" in check) == (True, False)
    for path in ("fl-gen.yaml", "sub/fl-gen.yaml", "generated/mlu/a.cc", "my-schemas/vendors/mlu/vendor.yaml"):
        assert re.search(regen["files"], path)
    assert not re.search(regen["files"], "src/a.cc")


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_runs_as_it_is_written(run: Run, tmp_path: Path, base: Path, hook: dict[str, Any]) -> None:
    shutil.copytree(base / "generated", tmp_path / "generated")
    shutil.copytree(base / "backends", tmp_path / "backends")
    text = f"schema: 1\ngenerator: {__version__}\nframework: infinitrain\nvendors:\n  mlu: {{sdk: sim}}\n"
    (tmp_path / "fl-gen.yaml").write_text(text)
    program, *arguments = hook["entry"].split()
    assert program == "fl-gen"
    assert run(*arguments).code == 0


def test_the_workflow_installs_the_version_that_the_project_names(run: Run, tmp_path: Path) -> None:
    assert run("init", "mlu@sim").code == 0
    steps = {step for step in STEPS if "pip install" in step}
    assert len(steps) == 1
    pip = tmp_path / "bin" / "pip"  # which says what it was asked
    pip.parent.mkdir()
    pip.write_text('#!/bin/sh\necho "$@"\n')
    pip.chmod(0o755)
    path = {"PATH": f"{pip.parent}{os.pathsep}{os.environ['PATH']}"}
    for text in ((tmp_path / "fl-gen.yaml").read_text(), f"schema: 1\ngenerator: {__version__}\n"):
        (tmp_path / "fl-gen.yaml").write_text(text)
        done = subprocess.run(["sh", "-ec", *steps], cwd=tmp_path, env=path, capture_output=True, text=True, check=True)
        assert done.stdout == f"install fl-gen=={__version__}\n"


def test_the_workflow_uses_commands_that_there_are(run: Run) -> None:
    used = {match for step in STEPS for match in re.findall(r"^\s*(?:- run: )?fl-gen (\w+)(.*)", step, re.MULTILINE)}
    assert {command for command, _ in used} == {"check", "diff"}
    for command, rest in used:
        text = run(command, "--help").out
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in text
