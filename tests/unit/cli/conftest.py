"""Runs of the command in this process, in a folder of their own, with one cache for all of them."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from fl_gen.cli.main import main


class Result(NamedTuple):
    """Exit code and the two streams of one run."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]


def call(*arguments: str | Path) -> Result:
    """One run of `fl-gen`; an exception that gets out of `main` fails the test."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Result(code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache folder, so that only the first run formats and probes."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def run(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`call` in `tmp_path`, without the caller's SDKs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(cache))
    for name in ("NEUWARE_HOME", "MACA_PATH", "FL_GEN_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return call


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """An output folder with the mlu backend in it; copy it, do not change it."""
    folder = tmp_path_factory.mktemp("base")
    before = os.environ.get("FL_GEN_CACHE_DIR")
    os.environ["FL_GEN_CACHE_DIR"] = str(cache)
    try:
        assert call("backend", "mlu", "--sdk", "sim", "-o", folder).code == 0
    finally:
        if before is None:
            del os.environ["FL_GEN_CACHE_DIR"]
        else:
            os.environ["FL_GEN_CACHE_DIR"] = before
    return folder


@pytest.fixture
def tree(base: Path, tmp_path: Path) -> Path:
    """A copy of `base` to damage."""
    return Path(shutil.copytree(base, tmp_path / "w", symlinks=True))


def snapshot(folder: Path) -> dict[str, bytes | str]:
    """Every path below `folder` with its content, or its kind."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"link to {os.readlink(path)}"
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = "folder" if path.is_dir() else "special"
    return found
