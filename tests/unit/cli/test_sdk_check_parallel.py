"""Several targets of `fl-gen sdk check`: side by side, in their order, on a terminal, interrupted, and when one dies."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fl_gen.schema.paths import data_dir
from fl_gen.tasks import sdk_targets
from fl_gen.tasks.sdk_targets import check_targets, default_jobs, parse_target
from fl_gen.workflow.request import Request
from unit.cli.conftest import Run

TARGETS = ("mlu@sim:6.0", "mlu@sim:9", "maca@sim", "nope@sim", "mlu@sim:4.3")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No width from outside."""
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def command(*arguments: str) -> list[str]:
    """The command in a process of its own."""
    folder = str(data_dir() / "codegen")
    return [sys.executable, "-c", f"import sys; sys.path.insert(0, {folder!r})\n"
            "if __name__ == '__main__':\n from fl_gen.cli.main import entry_point\n entry_point()", "sdk", "check", *arguments]  # fmt: skip


def test_every_target_is_reported_in_the_order_given(run: Run) -> None:
    result = run("sdk", "check", *TARGETS, "--jobs", "2", "--format", "json")
    assert result.code == 2
    assert result.err == ""
    report = json.loads(result.out)
    assert [one["target"] for one in report["results"]] == list(TARGETS)
    assert [one["exit_code"] for one in report["results"]] == [0, 2, 0, 2, 0]
    assert report["exit_code"] == 2
    assert "has no version 9" in report["results"][1]["no_verdict"]["text"]
    assert "there is no vendor 'nope'" in report["results"][3]["no_verdict"]["text"]
    # A process of its own says what this one says.
    (alone,) = json.loads(run("sdk", "check", "maca@sim", "--format", "json").out)["results"]
    assert alone == report["results"][2]


def test_text_of_several_targets(run: Run) -> None:
    result = run("sdk", "check", "maca@sim", "mlu@sim:9", "--only", "strategy")
    assert result.code == 2
    assert re.findall(r"^=== (.*) ===$", result.out, re.MULTILINE) == ["maca@sim", "mlu@sim:9"]
    assert result.out.splitlines()[-1].startswith(
        "mlu@sim:9: NO VERDICT: sim:9: the simulated mlu SDK has no version 9"
    )


def test_the_sdk_option_is_for_targets_without_one(run: Run) -> None:
    report = json.loads(run("sdk", "check", "mlu", "maca", "mlu@sim:6.0", "--sdk", "sim", "--format", "json").out)
    assert [one["target"] for one in report["results"]] == ["mlu@sim", "maca@sim", "mlu@sim:6.0"]
    assert [one["check"]["sdk"]["version"] for one in report["results"]] == ["6.14.1", "3.5.3", "6.0.2"]


def children(process: int) -> list[int]:
    """The processes that a process has started and not yet taken leave of."""
    found = []
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(text) for text in tasks.read_text().split()]
    return found


def test_no_more_processes_than_asked_for(run: Run) -> None:
    del run  # for its surroundings
    before = len(children(os.getpid()))
    most = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.01):
            most = max(most, len(children(os.getpid())))

    watcher = threading.Thread(target=watch)
    watcher.start()
    told: list[tuple[int, int, str]] = []
    requests = [parse_target(text, Request("")) for text in ("mlu@sim:4.3", "maca@sim", "mlu@sim:6.0")]
    try:
        report = check_targets(requests, 1, lambda *said: told.append(said))
    finally:
        done.set()
        watcher.join()
    assert report.exit_code == 0
    assert most == before + 1
    assert told == [(0, 3, ""), (1, 3, "mlu@sim:4.3"), (2, 3, "maca@sim"), (3, 3, "mlu@sim:6.0")]
    assert len(children(os.getpid())) == before
    assert default_jobs() >= 1


@pytest.mark.parametrize(
    ("end", "how"),
    [("os.kill(os.getpid(), 11)", "was ended by SIGSEGV"), ("os._exit(7)", "ended with exit code 7")],
    ids=["signal", "exit"],
)
def test_a_child_that_dies_takes_no_other_with_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, end: str, how: str
) -> None:
    del run
    program = f"import os, sys, time; text = sys.stdin.buffer.read(); {end} if b'4.3' in text else None"
    # The second target is checked after all: what it read is put back for the real program.
    real = sdk_targets._PROGRAM.replace("t.child()", "")
    again = "import io; sys.stdin = io.TextIOWrapper(io.BytesIO(text)); t.child()"
    monkeypatch.setattr(sdk_targets, "_PROGRAM", f"{program}; {real} {again}")
    report = check_targets([parse_target(text, Request("")) for text in ("mlu@sim:4.3", "maca@sim")], 2)
    dead, alive = report.results
    assert dead.no_verdict is not None
    assert dead.no_verdict.text == (
        f"mlu@sim:4.3: the process that checked this SDK {how}: no verdict\n"
        "  = check it alone, as the only target, to see more"
    )
    assert (dead.exit_code, alive.exit_code, report.exit_code) == (2, 0, 2)


def test_a_fault_of_fl_gen_in_a_child_is_one_message(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    del run
    broken = "t.check_sdk = lambda request: print('to the error stream') or {}['x']; t.child()"
    monkeypatch.setattr(sdk_targets, "_PROGRAM", sdk_targets._PROGRAM.replace("t.child()", broken))
    report = check_targets([parse_target(text, Request("")) for text in ("mlu@sim:4.3", "maca@sim")], 2)
    assert [one.no_verdict.text.partition("\n")[0] for one in report.results if one.no_verdict is not None] == [
        "mlu@sim:4.3: internal error: KeyError: 'x'",
        "maca@sim: internal error: KeyError: 'x'",
    ]


def test_from_a_program_that_is_no_file(run: Run, tmp_path: Path) -> None:
    del run
    program = command("mlu@sim:4.3", "maca@sim", "--only", "lost")
    done = subprocess.run(
        [sys.executable, "-", *program[3:]], input=program[2], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("===") == 4


@contextlib.contextmanager
def terminal() -> Iterator[tuple[int, list[bytes]]]:
    """A terminal of its own: the end for a process, and what arrives at the other."""
    ours, theirs = pty.openpty()
    seen: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):
            while data := os.read(ours, 4096):
                seen.append(data)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    yield theirs, seen
    os.close(theirs)
    reader.join(10)
    os.close(ours)


def test_progress_is_for_a_terminal_only(run: Run, cache: Path) -> None:
    surroundings = {**os.environ, "FL_GEN_CACHE_DIR": str(cache), "TERM": "xterm"}
    quiet = run("sdk", "check", "maca@sim", "mlu@sim:4.3")
    with terminal() as (stream, seen):
        done = subprocess.run(
            command("maca@sim", "mlu@sim:4.3"), stdout=subprocess.PIPE, stderr=stream, text=True, check=False,
            env=surroundings, timeout=60,
        )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout == quiet.out
    drawn = b"".join(seen).decode()
    assert drawn.startswith("\r\x1b[K[--------------------] 0 of 2 SDKs checked\r\x1b[K[##########----------] 1 of 2")
    assert re.search(r"\[#{20}\] 2 of 2 SDKs checked (maca@sim|mlu@sim:4\.3)\r\x1b\[K\r?\n?$", drawn)


@pytest.mark.parametrize(("more", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colour_is_for_a_terminal_only(run: Run, cache: Path, more: dict[str, str], coloured: bool) -> None:
    surroundings = {**os.environ, "FL_GEN_CACHE_DIR": str(cache), "TERM": "xterm", "COLUMNS": "100", **more}
    with terminal() as (stream, seen):
        done = subprocess.run(
            command("maca@sim"), stdout=stream, stderr=subprocess.PIPE, check=False, env=surroundings, timeout=60
        )
    assert done.returncode == 0
    text = b"".join(seen).decode().replace("\r\n", "\n")
    assert ("\x1b[32mbound\x1b[0m" in text) is coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) == run("sdk", "check", "maca@sim").out


@pytest.mark.parametrize("group", [True, False], ids=["ctrl-c", "the first process alone"])
def test_an_interrupt_ends_all_of_it(tmp_path: Path, group: bool) -> None:
    targets = ["mlu@sim:6.14", "mlu@sim:6.0", "maca@sim"] * 20
    process = subprocess.Popen(
        command(*targets, "--no-cache", "--jobs", "2"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, cwd=tmp_path,
    )  # fmt: skip
    until = time.monotonic() + 30
    while len(children(process.pid)) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    family = children(process.pid)
    assert len(family) >= 2
    if group:
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 3
    assert out == ""
    assert err.strip() == "fl-gen: interrupted"
    until = time.monotonic() + 5
    while any(Path(f"/proc/{one}").exists() for one in family) and time.monotonic() < until:
        time.sleep(0.02)
    assert not [one for one in family if Path(f"/proc/{one}").exists()]
