"""Files that a person filled with endless lines, or with very many: what is printed stays short, and comes soon."""

from __future__ import annotations

import json
import re
import shutil
import time
from pathlib import Path

import pytest

from .conftest import Run

FILE = "generated/mlu/CMakeLists.txt"


@pytest.fixture
def here(run: Run, base: Path, tmp_path: Path) -> Path:
    shutil.copytree(base / "generated", tmp_path / "generated")
    shutil.copytree(base / "backends", tmp_path / "backends")
    return tmp_path


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_a_diff_cuts_an_endless_line(run: Run, here: Path, form: str) -> None:
    (here / FILE).write_text("x" * 2_000_000)
    result = run("diff", "--format", form)
    assert result.code == 1
    assert len(result.out) < 100_000
    if form == "text":
        assert re.search(r"^  [+-]x{400}… \(19996\d\d more characters\)$", result.out, re.MULTILINE)
        assert "x" * 2_000_000 in run("diff", "--all").out


def test_explain_cuts_an_endless_line_in_text_alone(run: Run, here: Path) -> None:
    (here / FILE).write_text("x" * 2_000_000)
    assert f"{FILE}:1: {'x' * 400}… (1999600 more characters)\n" in run("explain", f"{FILE}:1").out
    value = json.loads(run("explain", f"{FILE}:1", "--format", "json").out)
    assert value["lines"][0]["text"] == "x" * 2_000_000


def test_a_file_of_many_lines_is_explained_soon(run: Run, here: Path) -> None:
    (here / FILE).write_text("\n" * 20_000)
    began = time.process_time()
    assert run("explain", FILE).code == 0
    assert time.process_time() - began < 10
