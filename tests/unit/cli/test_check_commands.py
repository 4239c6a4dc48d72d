"""What `fl-gen check` prints can be trusted: each finding is one line, and each command mends what it stands for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fl_gen.schema.paths import shell_word

from .conftest import Run

FILE = "generated/mlu/CMakeLists.txt"
NAMES = [
    b"a b.h",
    b"it's.h",
    b"two\nlines.h",
    b"\x1b[31mred.h",
    b"\xff\xfe.h",
    b"$(touch x).h",
    b"back\\slash\t.h",
    "ü.h".encode(),
]


@pytest.fixture
def here(run: Run, base: Path, tmp_path: Path) -> Path:
    shutil.copytree(base / "generated", tmp_path / "generated")
    shutil.copytree(base / "backends", tmp_path / "backends")
    return tmp_path


def commands(out: str) -> list[str]:
    return [line.strip() for line in out.partition("to mend it:\n")[2].splitlines()]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_one_word_of_a_shell(name: bytes) -> None:
    done = subprocess.run(["bash", "-c", f"printf %s {shell_word(os.fsdecode(name))}"], capture_output=True, check=True)
    assert done.stdout == name


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_foreign_files_of_any_name_go_by_the_printed_commands(run: Run, here: Path) -> None:
    for name in NAMES:
        (here / "generated/mlu" / os.fsdecode(name)).write_text("")
    result = run("check", "--sdk", "sim")
    found = [line for line in result.out.splitlines() if line.endswith(" is not fl-gen's")]
    assert (result.code, len(found), "\x1b" in result.out) == (1, len(NAMES), False)
    assert all(line.startswith("mlu: generated/mlu/") for line in result.out.splitlines()[: len(NAMES)])
    for command in commands(result.out):
        subprocess.run(["bash", "-c", command], cwd=here, check=True)
    assert run("check", "--sdk", "sim").code == 0
    assert not (here / "x").exists()


def test_one_long_line_is_cut(run: Run, here: Path) -> None:
    (here / FILE).write_text("x" * 5_000_000)
    result = run("check", "--sdk", "sim")
    assert result.code == 1
    assert len(result.out) < 30_000
    assert f"\n-{'x' * 299}… (4999716 more characters)\n" in result.out


def test_the_command_has_the_licence(run: Run, here: Path) -> None:
    (here / "my licence").write_text("Mine alone.\n")
    assert run("backend", "mlu", "--sdk", "sim", "--licence", "my licence").code == 0
    (here / FILE).unlink()
    result = run("check", "--licence", "my licence")
    assert commands(result.out)[0].startswith("fl-gen backend mlu --sdk sim:")
    assert commands(result.out)[0].endswith(" --licence 'my licence'")
    # Where only digests were compared, the command says what nobody has told.
    result = run("check")
    assert "it is made with a licence header: give --licence\n" in result.out
    assert commands(result.out)[0].endswith(" --licence FILE")


def test_the_command_has_the_overlays(run: Run, here: Path) -> None:
    own = here / "own" / "infinitrain"
    own.mkdir(parents=True)
    (own / "CMakeLists.txt.j2").write_text("# mine\n")
    assert run("backend", "mlu", "--sdk", "sim", "--templates", "own").code == 0
    (here / FILE).unlink()
    result = run("check")
    assert "it is made with overlays (infinitrain/CMakeLists.txt.j2): give --schemas and --templates\n" in result.out
    assert commands(result.out)[0].endswith(" --templates FOLDER")
    assert commands(run("check", "--templates", "own").out)[0].endswith(" --templates own")
