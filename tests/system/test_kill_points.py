"""Publishing that is killed, or whose calls fail, at every system call that changes the disk."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .building import ROOT, environment

HERE = Path(__file__).parent
TORTURE = bool(os.environ.get("FL_GEN_TORTURE"))
POINTS = 0 if TORTURE else 25  # 0: all


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("shim") / "kill_points.so"
    source = HERE / "kill_points.c"
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *flags, "-o", library, source, "-ldl"], check=True)
    return library


def drive(shim: Path, folder: Path, points: int, error: int) -> dict[str, Any]:
    env = environment(PYTHONPATH=str(ROOT / "codegen"), LD_PRELOAD=str(shim), PYTHONDONTWRITEBYTECODE="1")
    command = [sys.executable, HERE / "kill_driver.py", folder, str(points), str(error)]
    result = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=1200)
    assert result.returncode == 0, result.stderr
    report: dict[str, Any] = json.loads(result.stdout)
    assert report["problems"] == []
    return report


def test_a_kill_at_every_system_call(shim: Path, tmp_path: Path) -> None:
    """The old tree or the new one, whatever the moment; the next run makes it whole and leaves nothing behind.

    Of several vendors' trees all are old or all new as soon as the next command that writes has begun.
    """
    report = drive(shim, tmp_path, POINTS, 0)
    assert report["calls of update"] > 60, report
    assert report["old"] > 0, report
    assert report["new"] > 0, report
    assert report["points"] >= (37 if POINTS else 300)
    assert report["calls of project"] > 150, report
    assert POINTS or report["mixed"] > 2, report


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES], ids=["full disk", "broken disk", "refused"])
def test_a_failure_of_every_system_call(shim: Path, tmp_path: Path, error: int) -> None:
    """As a kill; and fl-gen says what happened, or has done its work."""
    report = drive(shim, tmp_path, POINTS // 2, error)
    assert report["told"] > 0, report
