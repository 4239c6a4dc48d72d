"""The closing text: its commands can be typed as they stand."""

from __future__ import annotations

import shlex
from dataclasses import replace

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
    assert told_version(replace(request, sdk=("a/folder",)), silent) is None
    assert told_version(replace(request, sdk=("sim:3.5.3",)), silent) == "3.5.3"
