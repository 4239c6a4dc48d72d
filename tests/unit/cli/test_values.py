"""Odd values on the command line: each ends in exit code 2 and one message with a remedy."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fl_gen.cli import main as cli
from unit.cli.conftest import Run, snapshot

SIM = ("--sdk", "sim")
CASES: list[tuple[tuple[str, ...], str]] = [
    (("backend",), "Missing argument 'VENDOR'"),
    (("backend", "", *SIM), "there is no vendor '' in"),
    (("backend", "MLU", *SIM), "did you mean 'mlu'?"),
    (("backend", "mlu\n", *SIM), "there is no vendor 'mlu\\n' in"),
    (("backend", "../mlu", *SIM), "there is no vendor '../mlu'"),
    (("backend", "mlu", "--sdk", ""), "the value is empty: leave the option out"),
    (("backend", "mlu", "--sdk", "sim:6.14.1.9"), "has no version 6.14.1.9; it has 6.14.1, 6.0.2, 4.3.0"),
    (("backend", "mlu", *SIM, *SIM), "--sdk sim is a whole SDK and cannot be combined"),
    (("backend", "mlu", "--sdk", "/usr", "--sdk", "sim:6.0"), "--sdk sim:6.0 is a whole SDK"),
    (("backend", "mlu", "--sdk", "file"), "--sdk file is a file, not a folder"),
    (("backend", "mlu", "--sdk", "nowhere"), "--sdk nowhere does not exist"),
    (("backend", "mlu", "--sdk", "\udc80"), r"--sdk '\udc80' is not UTF-8, and libclang takes no other path"),
    (("backend", "mlu", *SIM, "--framework", "../x"), "there is no framework '../x'"),
    (("backend", "mlu", *SIM, "--require", "nope"), "mlu has no group of that name; it has runtime, blas, ccl"),
    (("backend", "mlu", *SIM, "--require", " "), "the value is empty"),
    (("backend", "mlu", *SIM, "-o", ""), "the path is empty: name a folder"),
    (("backend", "mlu", *SIM, "-o", "file"), "file: fl-gen needs a folder here and finds a file"),
    (("backend", "mlu", *SIM, "-o", "file/x"), "a part of this path is a file"),
    (("backend", "mlu", *SIM, "-o", "a" * 300), "File name too long"),
    (("backend", "mlu", *SIM, "-o", "/proc/nope"), "/proc/nope"),
    (("backend", "mlu", *SIM, "--schemas", ""), "the path is empty: name a folder"),
    (("backend", "mlu", *SIM, "--schemas", "nowhere"), "nowhere: no such schema folder"),
    (("backend", "mlu", *SIM, "--templates", "nowhere"), "--templates nowhere: no such folder"),
    (("backend", "mlu", *SIM, "--templates", "."), "it holds no folder infinitrain"),
    (("bakend",), "Did you mean 'backend'?"),
    (("kernel", "new", "mlu", "../../x"), "infinitrain has no kernel '../../x'"),
    (("kernel", "new", "mlu", "addforward"), "did you mean 'AddForward'?"),
    (("kernel", "new", "mlu", "NoOpForward"), "NoOpForward is a view"),
    (("schema", "export"), "name a kind"),
    (("schema", "export", "vendr"), "did you mean 'vendor'?"),
    (("schema", "export", "--out", "file"), "file: fl-gen needs a folder here"),
    (("schema", "check", "nope"), "there is no vendor 'nope'"),
    (("sdk", "check", "mlu"), "no Neuware SDK found"),
    (("sim", "build", "mlu", "--out", ""), "the path is empty: name a folder"),
    (("sim", "build", "mlu", "--out", "file"), "is no folder; name a folder"),
    (("sim", "build", "mlu", "--out", "file/x"), "cannot be written"),
    (("sim", "build", "mlu", "--out", "full"), "is not empty and holds no simulated SDK"),
    (("sim", "build", "mlu", "--out", "/proc/nope"), "cannot be written"),
    (("sim", "build", "mlu", "--out", "\udc80"), "compilers need a path in UTF-8"),
    (("sim", "build", "mlu", "--out", "x", "--version", "99"), "has no version 99"),
    (("sim", "build", "mlu", "--out", "x", "--sanitize", "thread,address"), "cannot be combined"),
]


@pytest.mark.parametrize(("arguments", "message"), CASES, ids=[repr(" ".join(case[0]))[:60] for case in CASES])
def test_an_odd_value(run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "file").write_text("mine\n")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine\n")
    before = snapshot(tmp_path)
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert "internal error" not in result.err
    assert snapshot(tmp_path) == before


def test_what_nobody_foresaw_is_still_one_message(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise LookupError("a\nb\x1b[2J")

    monkeypatch.setattr(cli, "_group", broken)
    result = run("backend", "mlu")
    assert result.code == 2
    assert result.err.startswith("fl-gen: internal error: LookupError: a b\\x1b[2J (")
    monkeypatch.setenv("FL_GEN_TRACEBACK", "1")
    with pytest.raises(LookupError):
        run("backend", "mlu")


def test_the_system_refuses(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "/mnt/x")

    monkeypatch.setattr(cli, "_group", refused)
    result = run("backend", "mlu")
    assert result.code == 2
    assert result.err == "/mnt/x: Read-only file system\n  = name a place that can be written\n"


def test_an_interrupt(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_group", interrupted)
    assert run("backend", "mlu") == (3, "", "fl-gen: interrupted\n")
    monkeypatch.setattr(cli, "_run", lambda args: interrupted())  # while it imports what it needs
    assert run("backend", "mlu") == (3, "", "fl-gen: interrupted\n")
