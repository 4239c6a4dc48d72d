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
    "third_hash_seed": {"PYTHONHASHSEED": "4294967295"},
    "random_hash_seed": {"PYTHONHASHSEED": "random"},
    "posix_language": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "turkish_language": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "language_that_is_not_here": {"LC_ALL": "xx_XX.GBK", "LANG": "zh_CN.GB18030", "PYTHONIOENCODING": "latin-1"},
    "time_zone_of_the_west": {"TZ": "Pacific/Marquesas"},
    "time_zone": {"TZ": "Pacific/Kiritimati", "SOURCE_DATE_EPOCH": "1"},
    "optimised": {"PYTHONOPTIMIZE": "2"},
    "no_home": {"HOME": "/nonexistent", "USER": "nobody", "LOGNAME": "nobody", "XDG_CACHE_HOME": "/nonexistent/cache"},
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


def test_ways_to_write_the_path_of_the_output(tmp_path: Path) -> None:
    """Absolute, relative, through `..`, with a slash, through a link to the folder: nothing of it stands in the files."""
    (tmp_path / "here" / "deeper").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "here")
    ways = {
        "absolute": (tmp_path / "here", str(tmp_path / "a")),
        "relative": (tmp_path / "here" / "deeper", "../../b/"),
        "roundabout": (tmp_path / "here", "./deeper/..//./c"),
        "linked": (tmp_path / "link", "d"),
    }
    for name, (cwd, output) in ways.items():
        result = fl_gen(*ARGUMENTS, "-o", output, cwd=cwd)
        assert result.returncode == 0, result.stderr
        assert snapshot(cwd / output) == _expected(), name


def test_ways_to_write_the_path_of_a_schema_folder(tmp_path: Path) -> None:
    """An overlay is named in the manifest, and by the same name whatever folder fl-gen is run in."""
    schemas = tmp_path / "project" / "schemas"
    name = "frameworks/infinitrain/ops/fill.yaml"
    (schemas / name).parent.mkdir(parents=True)
    text = (ROOT / "schemas" / name).read_text(encoding="utf-8")
    (schemas / name).write_text(text + "# ours\n", encoding="utf-8")
    ways = {
        "absolute": (tmp_path, str(schemas)),
        "relative": (tmp_path / "project", "schemas"),
        "roundabout": (schemas, "../../project/./schemas/"),
    }
    made = {}
    for way, (cwd, folder) in ways.items():
        result = fl_gen(*ARGUMENTS, "--schemas", folder, "-o", tmp_path / way, cwd=cwd)
        assert result.returncode == 0, result.stderr
        made[way] = snapshot(tmp_path / way)
    assert made["absolute"] == made["relative"] == made["roundabout"]
    assert str(tmp_path).encode() not in b"".join(made["absolute"].values())


def _with_crlf(folder: Path) -> None:
    """Every text file below `folder` as git checks it out on Windows."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and b"\0" not in (data := path.read_bytes()):
            path.write_bytes(data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


def test_a_checkout_of_fl_gen_with_crlf(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for name in ("codegen", "schemas", "templates", "simulator"):
        shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
        _with_crlf(checkout / name)
    result = run(
        [sys.executable, "-m", "fl_gen", *ARGUMENTS, "-o", "out"],
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(checkout / "codegen")),
    )
    assert result.returncode == 0, result.stderr
    assert snapshot(tmp_path / "out") == _expected()


def test_a_checkout_of_the_output_with_crlf(tmp_path: Path) -> None:
    """It is neither a hand edit nor out of date, and a run leaves it alone."""
    assert fl_gen(*ARGUMENTS, cwd=tmp_path).returncode == 0
    _with_crlf(tmp_path / "generated")
    before = snapshot(tmp_path)
    checked = fl_gen("check", "mlu", "--sdk", "sim", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    again = fl_gen(*ARGUMENTS, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert snapshot(tmp_path) == before


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
