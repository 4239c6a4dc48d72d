"""`fl-gen diff --base` where there is no repository, or one that git cannot use."""

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
