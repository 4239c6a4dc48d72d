"""`fl-gen diff`: where its report may stand, and where `--base` finds no repository that git can use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fl_gen.schema.paths import data_dir
from fl_gen.tasks.tree_diff_git import top_of

from .conftest import Run


@pytest.mark.parametrize("where", [".", "inner"])
def test_a_repository_that_git_cannot_use_is_not_taken_for_fl_gens_own(run: Run, tmp_path: Path, where: str) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere\n")
    place = tmp_path / where
    place.mkdir(exist_ok=True)
    assert run("init", "mlu@sim", "--config", str(place / "fl-gen.yaml"), "-o", str(place)).code == 0
    result = run("diff", "--base", "HEAD", "--config", str(place / "fl-gen.yaml"))
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("--base HEAD: ")
    assert result.err.endswith(
        " is in no git repository\n  = run it in one, or leave --base out to compare with the disk\n"
    )


def test_without_a_repository_it_is_said_whose_revision_counts(run: Run, tmp_path: Path) -> None:
    if top_of(data_dir()) != Path(os.path.realpath(data_dir())):
        pytest.skip("fl-gen is no checkout here")
    result = run("diff", "mlu", "--sdk", "sim", "--no-format", "--base", "HEAD", "--tree", str(tmp_path))
    assert "note: there is no git repository here: HEAD is one of fl-gen's own checkout" in result.out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fl-gen.yaml", "this is the project's file\n  = name another file\n"),
        ("generated/mlu/x.html", "it lies in generated/mlu\n  = name a file outside of it\n"),
        ("backends/mlu/kernels.yaml", "it lies in backends/mlu\n  = name a file outside of it\n"),
        ("own/x.yaml", "it lies in own\n  = name a file outside of it\n"),
    ],
)
def test_a_report_is_written_over_nothing_of_a_tree(run: Run, tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "own").mkdir()
    assert run("init", "mlu@sim", "--schemas", "own").code == 0
    before = (tmp_path / "fl-gen.yaml").read_text()
    result = run("diff", "--output", name)
    assert (result.code, result.out, result.err) == (2, "", f"--output {name}: {message}")
    assert {path.name for path in tmp_path.rglob("*")} == {"fl-gen.yaml", "own"}
    assert (tmp_path / "fl-gen.yaml").read_text() == before
