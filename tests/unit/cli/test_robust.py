"""Runs that are killed, run at once, interrupted or starved: a tree is entirely old or entirely new, with equal bytes."""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.output.disk import PublishError
from fl_gen.workflow.generate import Prepared, prepare
from fl_gen.workflow.request import Request
from unit.cli.conftest import Run, call, snapshot

KILLS = 100 if os.environ.get("FL_GEN_TORTURE") else 20
FORK = multiprocessing.get_context("fork")


@pytest.fixture(scope="module")
def prepared(cache: Path) -> dict[str, Prepared]:
    """Two different outputs of one vendor, rendered once."""
    return {version: prepare(Request("mlu", sdk=(version,), cache=cache)) for version in ("sim:6.14", "sim:6.0")}


def _generate(folder: Path, ready: Prepared) -> None:
    from fl_gen.workflow import generate as workflow

    workflow.prepare = lambda request: ready  # in a child process of its own
    workflow.generate(Request("mlu", sdk=("sim",), output=folder))


def _in_child(action: Callable[[], object]) -> int:
    """Start `action` in a fork of this process; its number."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            action()
            code = 0
        except BaseException:
            traceback.print_exc()  # shown with the test that fails
            sys.stderr.flush()
        finally:
            os._exit(code)
    return process


def test_killed_at_any_moment(tmp_path: Path, prepared: dict[str, Prepared]) -> None:
    trees = {}
    for version, ready in prepared.items():
        os.waitpid(_in_child(lambda ready=ready, version=version: _generate(tmp_path / version, ready)), 0)  # type: ignore[misc]
        trees[version] = snapshot(tmp_path / version / "generated" / "mlu")
    assert trees["sim:6.14"] != trees["sim:6.0"]
    folder = tmp_path / "w"
    began = time.monotonic()
    os.waitpid(_in_child(lambda: _generate(folder, prepared["sim:6.0"])), 0)
    long = time.monotonic() - began
    choice = random.Random(1)
    seen = set()
    for index in range(KILLS):
        version = ("sim:6.14", "sim:6.0")[index % 2]
        if index % 5 == 4:
            shutil.rmtree(folder)  # also the first run of all
        child = _in_child(lambda: _generate(folder, prepared[version]))  # noqa: B023
        time.sleep(choice.uniform(0, long))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if (folder / "generated" / "mlu").exists():
            now = snapshot(folder / "generated" / "mlu")
            assert now in trees.values()
            seen.add(now == trees[version])
        for path in (folder / "backends" / "mlu").rglob("*") if (folder / "backends").exists() else ():
            name = path.relative_to(folder / "backends" / "mlu").as_posix()
            assert path.is_dir() or path.read_text() == prepared[version].once[name]
    assert seen == {True, False}
    os.waitpid(_in_child(lambda: _generate(folder, prepared["sim:6.14"])), 0)
    assert snapshot(folder) == snapshot(tmp_path / "sim:6.14")


def _both(arguments: tuple[str, ...]) -> int:
    return call(*arguments).code


def test_two_at_once(run: Run, tmp_path: Path, base: Path) -> None:
    commands = [
        ("backend", "mlu", "--sdk", "sim", "-o", "w"),
        ("backend", "mlu", "--sdk", "sim", "-o", "w"),
        ("backend", "maca", "--sdk", "sim", "-o", "w"),
    ]
    with FORK.Pool(3) as pool:
        assert pool.map(_both, commands, 1) == [0, 0, 0]
    mlu = {path: text for path, text in snapshot(tmp_path / "w").items() if "maca" not in path.split("/")[1:2]}
    assert mlu == snapshot(base)
    assert run("backend", "maca", "--sdk", "sim", "-o", "v").code == 0
    for part in ("generated", "backends"):
        assert snapshot(tmp_path / "w" / part / "maca") == snapshot(tmp_path / "v" / part / "maca")


def test_kernels_scaffolded_at_once(run: Run, tree: Path) -> None:
    ops = ("AddForward", "SubForward", "MulForward")
    assert {run("kernel", "new", "mlu", op, "-o", "w", "--sdk", "sim").code for op in ops[:1]} == {0}
    with FORK.Pool(2) as pool:
        assert pool.map(_both, [("kernel", "new", "mlu", op, "-o", "w") for op in ops[1:]], 1) == [0, 0]
    listing = (tree / "backends" / "mlu" / "kernels.yaml").read_text()
    assert all(listing.count(f"op: {op},") == 1 for op in ops)
    assert run("backend", "mlu", "--sdk", "sim", "-o", "w").code == 0


def test_a_disk_that_fills_up(tree: Path, prepared: dict[str, Prepared]) -> None:
    """A limit on the size of files stands for the full disk: both fail in write()."""
    (tree / "generated" / "mlu" / "CMakeLists.txt").unlink()
    shutil.rmtree(tree / "backends")
    before = snapshot(tree)

    def starved() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))
        with pytest.raises(PublishError, match="cannot be written: File too large"):
            _generate(tree, prepared["sim:6.14"])

    assert os.waitpid(_in_child(starved), 0)[1] == 0
    after = snapshot(tree)
    after.pop("backends", None)
    assert after == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
@pytest.mark.parametrize("closed", ["", "generated", "backends", "backends/mlu"])
def test_folders_that_may_not_be_written(tmp_path: Path, prepared: dict[str, Prepared], closed: str) -> None:
    for folder in ("generated", "backends", "backends/mlu"):
        (tmp_path / "w" / folder).mkdir(parents=True, exist_ok=True)
        os.chown(tmp_path / "w" / folder, 65534, 65534)
    os.chown(tmp_path / "w", 65534, 65534)
    os.chown(tmp_path / "w" / closed, 0, 0)
    (tmp_path / "w" / closed).chmod(0o755)
    before = snapshot(tmp_path)

    def unprivileged() -> None:
        os.chdir(tmp_path / "w")  # the folders above are closed to others
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        if closed == "":  # everything below can be written, so nothing is refused
            _generate(Path(), prepared["sim:6.14"])
            return
        with pytest.raises(PublishError, match=r"Permission denied(?s:.*)Make the folder writable"):
            _generate(Path(), prepared["sim:6.14"])

    assert os.waitpid(_in_child(unprivileged), 0)[1] == 0
    assert (snapshot(tmp_path) == before) == (closed != "")


def _command(*arguments: str, **settings: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "import sys; from fl_gen.cli.main import entry_point; entry_point()", *arguments]
    return subprocess.run(command, text=True, check=False, timeout=120, **settings)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("schema", "export", "vendor")])
def test_output_that_cannot_be_written(run: Run, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        result = _command(*arguments, stdout=full, stderr=subprocess.PIPE)
    assert result.returncode == 2
    assert result.stderr == "fl-gen: No space left on device\n  = make room on the disk and run again\n"


@pytest.mark.parametrize("arguments", [("--version",), ("schema", "export", "vendor")])
def test_a_reader_that_has_seen_enough(run: Run, arguments: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    result = _command(*arguments, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (result.returncode, result.stderr) == (0, "")


SETTINGS: list[tuple[dict[str, str], int]] = [
    ({"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Asia/Tokyo", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, 0o022),
    ({"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1", "PATH": "/nonexistent"}, 0o077),
]


@pytest.mark.parametrize(("environment", "umask"), SETTINGS, ids=["C locale", "no PATH and umask 077"])
def test_same_bytes_anywhere(run: Run, tmp_path: Path, base: Path, environment: dict[str, str], umask: int) -> None:
    name = f"Ünï {umask}"
    (tmp_path / name).mkdir()
    inherited = {key: os.environ[key] for key in ("PYTHONPATH", "FL_GEN_CACHE_DIR") if key in os.environ}
    result = _command(
        "backend", "mlu", "--sdk", "sim", "-o", f"../{name}/w",
        cwd=tmp_path / name, env={**inherited, **environment}, umask=umask, capture_output=True, encoding="utf-8",
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, "")
    assert snapshot(tmp_path / name / "w") == snapshot(base)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / name / "w").rglob("*")}
    assert modes == ({0o755, 0o644} if umask == 0o022 else {0o700, 0o600})


def test_an_interrupt_from_the_keyboard(run: Run, tree: Path) -> None:
    """Ctrl-C while another run holds the folder: exit code 3, one line, nothing changed."""
    from fl_gen.output.lock import locked

    (tree / "generated" / "mlu" / "CMakeLists.txt").unlink()
    before = snapshot(tree)
    command = [sys.executable, "-c", "import sys; from fl_gen.cli.main import entry_point; entry_point()"]
    with locked(tree):
        process = subprocess.Popen(
            [*command, "backend", "mlu", "--sdk", "sim", "-o", "w"], stderr=subprocess.PIPE, text=True
        )
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors.strip()) == (3, "fl-gen: interrupted")
    assert snapshot(tree) == before
