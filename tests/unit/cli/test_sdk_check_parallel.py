"""Several targets of `fl-gen sdk check`: side by side, in their order, on a terminal, interrupted, and when one dies."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
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
from fl_gen.workflow import Request
from unit.cli.conftest import Run

TARGETS = ("mlu@sim:6.0", "mlu@sim:9", "maca@sim", "nope@sim", "mlu@sim:4.3")


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


def test_no_more_processes_than_asked_for(run: Run) -> None:
    del run  # for its surroundings
    most = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.01):
            most = max(most, len(multiprocessing.active_children()))

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
    assert most == 1
    assert told == [(0, 3, ""), (1, 3, "mlu@sim:4.3"), (2, 3, "maca@sim"), (3, 3, "mlu@sim:6.0")]
    assert multiprocessing.active_children() == []
    assert default_jobs() >= 1


def test_a_child_that_dies_takes_no_other_with_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    del run
    requests = [parse_target(text, Request("")) for text in ("mlu@sim:4.3", "maca@sim")]
    turns = iter([(os.abort, False), (sdk_targets._child, True)])
    process = multiprocessing.get_context("spawn").Process

    def made(target: object, args: tuple[object, ...], daemon: bool) -> object:
        del target
        what, told = next(turns)
        return process(target=what, args=args if told else (), daemon=daemon)

    monkeypatch.setattr(multiprocessing.get_context("spawn"), "Process", made, raising=False)
    report = check_targets(requests, 2)
    dead, alive = report.results
    assert dead.no_verdict is not None
    assert dead.no_verdict.text == (
        "mlu@sim:4.3: the process that checked this SDK was ended by SIGABRT: no verdict\n"
        "  = check it alone, as the only target, to see more"
    )
    assert (dead.exit_code, alive.exit_code, report.exit_code) == (2, 0, 2)


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


def children(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(text) for text in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


@pytest.mark.parametrize("group", [True, False], ids=["ctrl-c", "the first process alone"])
def test_an_interrupt_ends_all_of_it(tmp_path: Path, group: bool) -> None:
    targets = ["mlu@sim:6.14", "mlu@sim:6.0", "maca@sim"] * 20
    process = subprocess.Popen(
        command(*targets, "--no-cache", "--jobs", "2"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, cwd=tmp_path,
    )  # fmt: skip
    until = time.monotonic() + 30
    while len(children(process.pid)) < 3 and time.monotonic() < until:  # two of them and multiprocessing's own
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
