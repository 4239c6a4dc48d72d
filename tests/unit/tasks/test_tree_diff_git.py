"""Names of git revisions: every spelling of one commit is taken, and what is none is said to be none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fl_gen.tasks.tree_diff_git import RevisionError, find_revision

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
USAGE = "  = give a branch, a tag or a commit, as origin/main or HEAD~1"
LISTS = "  = git branch -a and git tag list what there is"


def git(folder: Path, *arguments: str) -> str:
    own = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *own, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-qm", "the first")
    git(tmp_path, "tag", "-am", "a tag", "v1")
    return tmp_path


SPELLINGS = ["HEAD", "main", "v1", ":/first", "HEAD^{/first}", "HEAD^{commit}", "HEAD@{0}", "HEAD^0", "@"]


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_of_one_commit(repository: Path, name: str) -> None:
    assert find_revision(repository, name).commit == git(repository, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("^HEAD", f"--base '^HEAD': this is no single commit\n{USAGE}"),
        ("HEAD..HEAD", f"--base 'HEAD..HEAD': {{}} has no such revision\n{LISTS}"),
        ("HEAD^{tree}", f"--base 'HEAD^{{tree}}': {{}} has no such revision\n{LISTS}"),
        ("HEAD^{/x", f"--base 'HEAD^{{/x': {{}} has no such revision\n{LISTS}"),
        (":/second", f"--base ':/second': {{}} has no such revision\n{LISTS}"),
        ("HEAD:a", f"--base 'HEAD:a': {{}} has no such revision\n{LISTS}"),
        ("0" * 40, f"--base '{'0' * 40}': {{}} has no such revision\n{LISTS}"),
        ("--output=x", f"--base '--output=x': this is no name of a git revision\n{USAGE}"),
    ],
)
def test_what_names_no_commit(repository: Path, name: str, message: str) -> None:
    with pytest.raises(RevisionError) as caught:
        find_revision(repository, name)
    assert str(caught.value) == message.replace("{}", str(repository))
    assert caught.value.exit_code == 2


def test_a_broken_repository_is_one_message(repository: Path) -> None:
    revision = find_revision(repository, "HEAD")
    shutil.rmtree(repository / ".git" / "objects")
    (repository / ".git" / "objects").mkdir()
    with pytest.raises(RevisionError, match=r"^git: .*\n  = mend that and run again$"):
        revision.extract(["a"], repository / "out")
