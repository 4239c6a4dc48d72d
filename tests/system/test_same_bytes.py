"""The same inputs make the same bytes: whatever the hash seed, language, time zone, file mode, folder, cache or Python."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .building import BUILD, ROOT, environment, lock, missing, run
from .command import fl_gen, snapshot

ARGUMENTS = ("backend", "mlu", "--sdk", "sim")


@functools.cache
def _expected() -> dict[str, bytes]:
    """What this checkout made last: the golden trees are held against the templates by test_golden.py."""
    folder = BUILD / "same-bytes"
    with lock("same-bytes"):
        shutil.rmtree(folder, ignore_errors=True)
        result = fl_gen(*ARGUMENTS, "-o", folder, cwd=ROOT)
        assert result.returncode == 0, result.stderr
        return snapshot(folder)


SURROUNDINGS: dict[str, dict[str, str]] = {
    "hash_seed": {"PYTHONHASHSEED": "1"},
    "another_hash_seed": {"PYTHONHASHSEED": "4242"},
    "posix_language": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "turkish_language": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "time_zone": {"TZ": "Pacific/Kiritimati", "SOURCE_DATE_EPOCH": "1"},
    "optimised": {"PYTHONOPTIMIZE": "2"},
    "terminal": {"COLUMNS": "20", "TERM": "dumb", "NO_COLOR": "1"},
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_surroundings(name: str, tmp_path: Path) -> None:
    result = fl_gen(*ARGUMENTS, "-o", "out", cwd=tmp_path, **SURROUNDINGS[name])
    assert result.returncode == 0, result.stderr
    assert snapshot(tmp_path / "out") == _expected()


def test_file_mode(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fl_gen", *ARGUMENTS, "--no-cache"]
    result = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(ROOT / "codegen")),
        umask=0o077,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert snapshot(tmp_path) == _expected()


def test_folder_with_odd_characters(tmp_path: Path) -> None:
    folder = tmp_path / "a b'ü$"
    folder.mkdir()
    result = fl_gen(*ARGUMENTS, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert snapshot(folder) == _expected()


def test_a_second_run_touches_nothing(tmp_path: Path) -> None:
    assert fl_gen(*ARGUMENTS, cwd=tmp_path).returncode == 0
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = fl_gen(*ARGUMENTS, cwd=tmp_path)
    assert "identical" in again.stdout
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def _other_pythons() -> dict[str, Path]:
    """Interpreters that are here besides this one: those of pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = {}
    for version in ("3.10", "3.12", "3.13"):
        if f"{sys.version_info[0]}.{sys.version_info[1]}" == version:
            continue
        for python in sorted(root.glob(f"{version}.*/bin/python")):
            found[version] = python
    return found


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.10", "3.12", "3.13"])
def test_other_pythons(version: str, tmp_path: Path) -> None:
    """fl-gen with its dependencies in a virtual environment of another Python. One of them is enough in CI."""
    pythons = _other_pythons()
    if version not in pythons:
        pytest.skip(f"Python {version} is not here")
    if os.environ.get("CI") and version != next(iter(pythons)):
        pytest.skip(f"in CI Python {next(iter(pythons))} stands for the others")
    venv = tmp_path / "venv"
    run([pythons[version], "-m", "venv", venv])
    python = venv / "bin" / "python"
    installed = run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ROOT], timeout=600)
    if installed.returncode != 0:
        if "No matching distribution" in installed.stderr or "connection" in installed.stderr.lower():
            missing(f"packages for Python {version}")
        pytest.fail(installed.stderr[-3000:], pytrace=False)
    result = run([venv / "bin" / "fl-gen", *ARGUMENTS, "-o", tmp_path / "out"], cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert snapshot(tmp_path / "out") == _expected()
