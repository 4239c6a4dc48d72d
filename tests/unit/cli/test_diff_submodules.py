"""`fl-gen diff --base` where schemas are in a submodule: that commit of it counts which the revision names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .conftest import Run
from .test_diff import OPS, B, change, fresh, git, project

__all__ = ["fresh", "project"]  # fixtures


@pytest.fixture
def module(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `own` of the project, a submodule with the schemas of the project in it."""
    origin = tmp_path_factory.mktemp("origin")
    shutil.move(project / "schemas", origin / "schemas")
    git(origin, "init", "-q", "-b", "main")
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "schemas")
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), "own")
    change(project / "fl-gen.yaml", "schemas: [schemas]", "schemas: [own/schemas]")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "a submodule")
    return project / "own"


def commit_a_change(module: Path, old: str, new: str) -> None:
    change(module / "schemas" / OPS, old, new, "- name: AddForward")
    git(module, "commit", "-q", "-a", "-m", "a change")


def test_the_commit_that_the_revision_names_counts(module: Path, project: Path, run: Run) -> None:
    commit_a_change(module, B, B.replace("const ", "").replace(" &", ""))
    git(project, "commit", "-q", "-a", "-m", "by value")
    commit_a_change(module, 'b, type: "std::shared_ptr<Tensor>"', 'b, type: "std::shared_ptr<Tensor> &&"')
    result = run("diff", "--base", "HEAD")
    assert (result.code, result.err) == (1, "")
    assert "not followed" not in result.out
    assert (
        "schema  ops/elementwise.yaml: AddForward.params[1] changed\n"
        f"  at     own/schemas/{OPS}:472\n"
        '  was    {"name": "b", "type": "std::shared_ptr<Tensor>"}\n'
        '  is     {"name": "b", "type": "std::shared_ptr<Tensor> &&"}\n'
    ) in result.out


def test_a_submodule_that_is_itself_the_folder_of_schemas(module: Path, project: Path, run: Run) -> None:
    change(project / "fl-gen.yaml", "own/schemas", "own")
    git(module, "mv", "schemas/frameworks", "frameworks")
    git(module, "commit", "-q", "-m", "moved")
    git(project, "commit", "-q", "-a", "-m", "moved")
    result = run("diff", "--base", "HEAD")
    assert (result.code, result.err) == (0, "")
    assert "not followed" not in result.out


def test_a_submodule_that_is_not_at_hand_stops(module: Path, project: Path, run: Run) -> None:
    missing = git(module, "commit-tree", "-m", "elsewhere", "HEAD^{tree}")
    git(project, "update-index", "--cacheinfo", f"160000,{missing[:-8]}{'0' * 8},own")
    git(project, "commit", "-q", "-m", "a commit that nobody has")
    result = run("diff", "--base", "HEAD")
    assert (result.code, result.out, result.err) == (
        2,
        "",
        f"--base HEAD: the submodule own has no commit {missing[:10]}\n  = git -C own fetch, and run again\n",
    )
    shutil.rmtree(module)
    (module / "schemas").mkdir(parents=True)
    result = run("diff", "--base", "HEAD")
    assert (result.code, result.out, result.err) == (
        2,
        "",
        "--base HEAD: the submodule own is not checked out\n  = git submodule update --init own, and run again\n",
    )


def test_another_submodule_below_is_none_of_the_schemas(module: Path, project: Path, run: Run) -> None:
    change(project / "fl-gen.yaml", "own/schemas", ".")
    git(project, "commit", "-q", "-a", "-m", "schemas in the root")
    shutil.rmtree(module)
    module.mkdir()
    result = run("diff", "--base", "HEAD")
    assert (result.code, result.err) == (0, "")
    assert "  note: HEAD: not followed, as it is no regular file: own\n" in result.out
