"""The closing text: its commands can be typed as they stand."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from fl_gen.cli.main import main
from fl_gen.report.terminal import next_steps
from fl_gen.workflow.generate import Resolved, resolve_request
from fl_gen.workflow.request import Request


def told_version(request: Request, resolved: Resolved) -> str | None:
    (line,) = [line for line in next_steps(request, resolved) if "sim build" in line]
    arguments = shlex.split(line, comments=True)[1:]
    assert arguments[arguments.index("--out") + 1] == "build/sim"
    # The command line takes every word of it: help is asked for, so nothing is built.
    assert main([*arguments, "--help"]) == 0
    return arguments[arguments.index("--version") + 1] if "--version" in arguments else None


@pytest.mark.parametrize(("vendor", "version"), [("mlu", "6.0"), ("maca", "3.5.3")])
def test_the_simulated_sdk_is_built_by_the_command_that_is_told(vendor: str, version: str) -> None:
    request = Request(vendor, sdk=(f"sim:{version}",))
    assert str(told_version(request, resolve_request(request))).startswith(version)


def test_an_sdk_that_does_not_tell_its_version_is_built_as_the_newest() -> None:
    request = Request("maca", sdk=("sim",))
    resolved = resolve_request(request)
    sdk = replace(resolved.backend.sdk, version=None)
    silent = replace(resolved, backend=replace(resolved.backend, sdk=sdk))
    assert told_version(request, silent) is None
    assert told_version(replace(request, sdk=("sim:3.5.3",)), silent) == "3.5.3"


def test_an_sdk_in_a_folder_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MACA_PATH", raising=False)
    resolved = resolve_request(Request("maca", sdk=("sim",)))
    lines = next_steps(Request("maca", sdk=("/opt/my maca",)), resolved)
    assert lines[1] == "  export MACA_PATH='/opt/my maca'"
    assert not any("sim build" in line for line in lines)
    monkeypatch.setenv("MACA_PATH", "/opt/maca")
    assert "export" not in "".join(next_steps(Request("maca", sdk=("/opt/my maca",)), resolved))


def test_the_commands_repeat_the_schemas_and_the_sdk() -> None:
    request = Request("maca", sdk=("/opt/a", "/opt/b"), schema_dirs=(Path("my schemas"),))
    lines = next_steps(request, resolve_request(Request("maca", sdk=("sim",))))
    assert lines[1] == "  cp -r generated backends <InfiniTrain-Backends>/"
    new = shlex.split(lines[-1], comments=True)
    assert new[:3] == ["fl-gen", "kernel", "new"]
    assert new[5:] == ["--sdk", "/opt/a", "--sdk", "/opt/b", "--schemas", "my schemas"]
