"""What cannot be read is no reason to say that all is well, or that it is missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from .conftest import Result, Run, call

DENIED = os.strerror(13)


@pytest.fixture
def here(run: Run, base: Path, tmp_path: Path) -> Path:
    shutil.copytree(base / "generated", tmp_path / "generated")
    shutil.copytree(base / "backends", tmp_path / "backends")
    return tmp_path


@pytest.fixture
def closed(here: Path) -> Iterator[Callable[[str], None]]:
    """Closes a path for everybody but root; for whom there is no such thing."""
    paths: list[Path] = []

    def close(name: str) -> None:
        paths.append(here / name)
        paths[-1].chmod(0)

    yield close
    for path in paths:
        path.chmod(0o755)


def unprivileged(tmp_path: Path, *arguments: str) -> Result:
    """One run as a user whom modes hold back."""
    if os.geteuid() != 0:
        return call(*arguments)
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        code = 99
        try:
            os.setgid(65534)
            os.setuid(65534)
            result = call(*arguments)
            os.write(write, result.err.encode()[:60_000])
            code = result.code
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        err = stream.read().decode()
    return Result(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), "", err)


@pytest.fixture(autouse=True)
def _open_to_all(tmp_path: Path) -> None:
    """Others than root may enter the temporary folders."""
    for folder in (tmp_path, *tmp_path.parents):
        if os.geteuid() == 0 and not folder.stat().st_mode & 0o001 and folder != Path("/"):
            folder.chmod(0o755)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("backends/mlu", "backends/mlu: {}\n  = allow it, or name another place\n"),
        ("backends/mlu/kernels", "backends/mlu/kernels: {}\n  = allow it, or name another place\n"),
        ("generated/mlu/src", "generated/mlu/src: {}\n  = allow it, or name another place\n"),
        ("generated/mlu/CMakeLists.txt", "generated/mlu/CMakeLists.txt: {}\n  = allow it, or name another place\n"),
    ],
)
def test_check_has_no_verdict(here: Path, closed: Callable[[str], None], name: str, message: str) -> None:
    (here / "backends/mlu/kernels").mkdir(exist_ok=True)
    closed(name)
    result = unprivileged(here, "check", "--sdk", "sim", "--no-cache")
    assert (result.code, result.err) == (2, message.format(DENIED))


@pytest.mark.parametrize("name", ["generated/mlu/src", "generated/mlu/CMakeLists.txt"])
def test_a_closed_folder_is_not_taken_for_an_empty_one(here: Path, closed: Callable[[str], None], name: str) -> None:
    closed(name)
    result = unprivileged(here, "backend", "mlu", "--sdk", "sim", "--no-cache", "--dry-run")
    assert (result.code, result.err) == (2, f"{name}: cannot be read: {DENIED}\n  = allow it and run again\n")
