"""`fl-gen diff` as a command: against the disk and a revision, causes and what they mean, and what is said when it stops."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fl_gen.schema.paths import data_dir
from fl_gen.workflow.generate import __version__

from .conftest import Run

OPS = "frameworks/infinitrain/ops/elementwise.yaml"
CONFIG = f"""schema: 1
generator: {__version__}
framework: infinitrain
output: .
formatter: none
schemas: [schemas]
templates: [templates]
vendors:
  mlu: {{sdk: sim}}
"""
B = '      - {name: b, type: "const std::shared_ptr<Tensor> &"}\n'
SIGNATURE = "std::shared_ptr<Tensor> AddForward(const std::shared_ptr<Tensor> &, {})"


def git(folder: Path, *arguments: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    who = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, env=own, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def fresh() -> None:
    """Each test has templates of its own at the same relative path."""
    from fl_gen.render import environment, incremental

    environment.environment_for.cache_clear()
    incremental._recording.cache_clear()


@pytest.fixture
def project(run: Run, tmp_path: Path) -> Path:
    """A repository with fl-gen.yaml and one ops file of its own, committed, nothing generated."""
    ops = tmp_path / "schemas" / OPS
    ops.parent.mkdir(parents=True)
    ops.write_bytes((data_dir() / "schemas" / OPS).read_bytes())
    (tmp_path / "templates" / "infinitrain").mkdir(parents=True)
    (tmp_path / "templates" / "infinitrain" / "notes.txt.j2").write_text("notes on {{ v.snake }}\n")
    (tmp_path / "fl-gen.yaml").write_text(CONFIG)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "one")
    return tmp_path


def change(path: Path, old: str, new: str, after: str = "") -> None:
    """Replace the first `old` behind `after`, and fail when there is none."""
    text = path.read_text(encoding="utf-8")
    at = text.index(old, text.index(after))
    path.write_text(text[:at] + new + text[at + len(old) :], encoding="utf-8")


def change_add(project: Path) -> None:
    change(project / "schemas" / OPS, B, B.replace("const ", "").replace(" &", ""), "- name: AddForward")


def test_a_revision_by_cause(project: Path, run: Run) -> None:
    change_add(project)
    change(project / "schemas" / OPS, "[float32, bfloat16, float16]", "[float32, bfloat16]", "- name: MulForward")
    change(project / "templates" / "infinitrain" / "notes.txt.j2", "notes", "remarks")
    result = run("diff", "--base", "HEAD", "--format", "json")
    assert (result.code, result.err) == (1, "")
    diff = json.loads(result.out)
    assert diff["commit"] == git(project, "rev-parse", "HEAD")
    causes = {one["title"]: one for one in diff["causes"]}
    assert list(causes) == [
        "ops/elementwise.yaml: AddForward.params[1]",
        "ops/elementwise.yaml: MulForward.dtypes",
        "notes.txt.j2",
    ]
    add, mul, notes = causes.values()
    old, new = SIGNATURE.format("const std::shared_ptr<Tensor> &"), SIGNATURE.format("std::shared_ptr<Tensor>")
    assert add["meanings"] == [
        {"effect": "signature changed", "subject": "AddForward", "old": old, "new": new, "vendors": ["mlu"]}
    ]
    assert [(one["effect"], one["new"]) for one in mul["meanings"]] == [("dtypes changed", "bfloat16, float32")]
    assert [one["effect"] for one in notes["meanings"]] == ["text only"]
    # Every hunk has the one cause that it is about, and is sure of it.
    for file in diff["files"]:
        for hunk in file["hunks"]:
            text = " ".join(row["text"] for row in hunk["rows"] if None in (row["old"], row["new"]))
            wanted = 2 if file["path"] == "notes.txt" else 1 if "MulForward" in text else 0
            assert (hunk["causes"], hunk["certainty"]) == ([wanted], "exact"), (file["path"], text)
    # kernels.h says the declaration twice: one fold, two places.
    assert max(len(fold["spots"]) for fold in add["folds"]) >= 2
    # It leaves nothing behind.
    assert sorted(path.name for path in project.iterdir()) == [".git", "fl-gen.yaml", "schemas", "templates"]


def test_the_text_of_one_change(project: Path, run: Run) -> None:
    change(project / "templates" / "infinitrain" / "notes.txt.j2", "notes", "remarks")
    result = run("diff", "--base", "HEAD")
    commit = git(project, "rev-parse", "HEAD")[:10]
    sdk = next(line for line in result.out.splitlines() if line.startswith("  mlu: "))[7:]
    count = result.out.rpartition("changed; ")[2].partition(" ")[0]
    assert int(count) > 100
    shipped = [line for line in result.out.splitlines() if line.startswith("  note: ")]
    assert len(shipped) == 1
    assert result.out == (
        f"What changed since HEAD ({commit}) in generated code: mlu\n"
        f"  mlu: {sdk}\n"
        f"{shipped[0]}\n"
        "\n"
        "template  notes.txt.j2 changed\n"
        "  at     templates/infinitrain/notes.txt.j2:1\n"
        "  means  text only: the kernels, signatures and bindings stay as they were\n"
        "  1 hunk in 1 file of mlu\n"
        "  @@ mlu/notes.txt:3\n"
        "   # Generated by fl-gen from infinitrain/notes.txt.j2; do not edit.\n"
        "\n"
        "  -notes on mlu\n"
        "  +remarks on mlu\n"
        "\n"
        "files  M changed\n"
        "  M mlu/notes.txt  +1 -1\n"
        "\n"
        f"1 changed; {count} the same; +1 -1 lines in 1 hunk\n"
    )


def test_kernels_vendors_and_sdks_that_come_and_go(project: Path, run: Run) -> None:
    ops = project / "schemas" / OPS
    text = ops.read_text(encoding="utf-8")
    start = text.index("  - name: ReciprocalForward")
    ops.write_text(text[:start] + text[text.index("  - name: ", start + 5) :], encoding="utf-8")
    diff = json.loads(run("diff", "--base", "HEAD", "--format", "json").out)
    (cause,) = diff["causes"]
    assert (cause["title"], cause["change"]) == ("ops/elementwise.yaml: ReciprocalForward", "removed")
    assert {(one["effect"], one["subject"]) for one in cause["meanings"]} == {("kernel removed", "ReciprocalForward")}

    git(project, "checkout", "-q", ".")
    change(project / "fl-gen.yaml", "mlu: {sdk: sim}", "mlu: {sdk: sim:6.0}\n  maca: {sdk: sim}")
    diff = json.loads(run("diff", "--base", "HEAD", "--format", "json").out)
    kinds = {one["kind"]: one for one in diff["causes"]}
    assert set(kinds) == {"sdk", "unknown"}
    assert kinds["unknown"]["title"] == "the vendor maca is not in HEAD"
    assert {one["effect"] for one in kinds["sdk"]["meanings"]} <= {
        "call replaced",
        "strategy changed",
        "type changed",
        "constant changed",
        "text only",
    }
    assert {one["status"] for one in diff["files"] if one["vendor"] == "maca"} == {"created"}


def test_the_disk(project: Path, run: Run) -> None:
    fresh = json.loads(run("diff", "--format", "json").out)
    assert {one["status"] for one in fresh["files"]} == {"created"}
    assert [one["title"] for one in fresh["causes"]] == ["nothing is generated in generated/mlu yet"]

    assert run("regen").code == 0
    same = run("diff")
    assert (same.code, same.err) == (0, "")
    assert "\nnothing would change: " in same.out
    before = {path: path.stat().st_mtime_ns for path in (project / "generated").rglob("*")}

    header = project / "generated" / "mlu" / "src" / "kernels" / "kernels.h"
    change(header, "NegForward(", "NegForward(/* mine */ ")
    change_add(project)
    result = run("diff", "--format", "json")
    assert (result.code, result.err) == (1, "")
    diff = json.loads(result.out)
    status = {one["path"]: one["status"] for one in diff["files"]}
    assert status["src/kernels/kernels.h"] == "edited"
    assert status["manifest.json"] == "changed"
    titles = [one["title"] for one in diff["causes"]]
    assert titles == ["generated/mlu/src/kernels/kernels.h", "ops/elementwise.yaml: AddForward.params[1]"]
    assert [one["effect"] for one in diff["causes"][1]["meanings"]] == ["signature changed"]
    (edited,) = [one for one in diff["files"] if one["path"] == "src/kernels/kernels.h"]
    for hunk in edited["hunks"]:
        text = " ".join(row["text"] for row in hunk["rows"] if None in (row["old"], row["new"]))
        assert (hunk["causes"], hunk["certainty"]) == ([0 if "/* mine */" in text else 1], "exact")
    after = {path: path.stat().st_mtime_ns for path in (project / "generated").rglob("*")}
    assert {path for path in before if before[path] != after[path]} == {header}


def test_a_block_laid_over_is_one_cause_with_a_place_to_open(project: Path, run: Run) -> None:
    over = project / "templates" / "infinitrain" / "src" / "backend.cc.j2"
    over.parent.mkdir()
    over.write_text(
        '{% extends "shipped/src/backend.cc.j2" %}\n{% block includes %}\n{{ super() }}\n#include "mine.h"\n{% endblock %}\n'
    )
    diff = json.loads(run("diff", "--base", "main", "--format", "json").out)
    assert [(one["kind"], one["title"], one["change"], one["place"]) for one in diff["causes"]] == [
        ("template", "src/backend.cc.j2", "changed", "templates/infinitrain/src/backend.cc.j2:1"),
    ]


def test_a_file_that_went_and_a_vendor_that_left(project: Path, run: Run) -> None:
    assert run("regen").code == 0
    (project / "generated" / "mlu" / "notes.txt").unlink()
    (project / "generated" / "gone").mkdir()
    (project / "generated" / "gone" / "manifest.json").write_text("{}")
    result = run("diff")
    count = len(
        [path for path in (project / "generated" / "mlu").rglob("*") if path.is_file() and path.parts[-2] != ".fl-gen"]
    )
    assert result.out == (
        "What a regenerate would change: mlu\n"
        "  mlu: simulated Neuware 6.14.1 (a test double)\n"
        "  note: generated/gone was made for a vendor that fl-gen.yaml does not name: fl-gen regen --prune removes it\n"
        "\n"
        "hand edit  generated/mlu/notes.txt removed\n"
        "  means  a regenerate makes it again\n"
        "  1 hunk in 1 file of mlu\n"
        "  @@ mlu/notes.txt:1\n"
        "  +# Generated by fl-gen from infinitrain/notes.txt.j2; do not edit.\n"
        "  +\n"
        "  +notes on mlu\n"
        "\n"
        "files  A created\n"
        "  A mlu/notes.txt  +3 -0\n"
        "\n"
        f"1 created; {count} the same; +3 -0 lines in 1 hunk\n"
    )


def test_a_licence_that_came_is_text_and_no_riddle(run: Run, base: Path, tmp_path: Path) -> None:
    """No history is needed to know what made the tree: the same without the licence."""
    shutil.copytree(base / "generated", tmp_path / "generated")
    shutil.copytree(base / "backends", tmp_path / "backends")
    (tmp_path / "LICENCE").write_text("Ours.\n")
    (tmp_path / "fl-gen.yaml").write_text(
        f"schema: 1\ngenerator: {__version__}\nframework: infinitrain\nlicence: LICENCE\nvendors:\n  mlu: {{sdk: sim}}\n"
    )
    diff = json.loads(run("diff", "--format", "json").out)
    assert [(one["kind"], [each["effect"] for each in one["meanings"]]) for one in diff["causes"]] == [
        ("licence", ["text only"])
    ]
    assert [side["note"] for side in diff["vendors"]] == [None]


def test_the_disk_without_a_history_knows_the_kind(run: Run, base: Path, tmp_path: Path) -> None:
    shutil.copytree(base / "generated", tmp_path / "generated")
    shutil.copytree(base / "backends", tmp_path / "backends")
    templates = tmp_path / "mine"
    (templates / "infinitrain").mkdir(parents=True)
    (templates / "infinitrain" / "notes.txt.j2").write_text("notes\n")
    result = run("diff", "--templates", templates, "--format", "json")
    diff = json.loads(result.out)
    assert result.code == 1
    assert [(one["path"], one["status"]) for one in diff["files"]] == [
        ("notes.txt", "created"),
        ("manifest.json", "changed"),
    ]
    assert [one["kind"] for one in diff["causes"]] == ["template"]


ODD = {
    "no-such": (
        "--base 'no-such': . has no such revision\n  = git branch -a and git tag list what there is\n"
    ),
    "-q": (
        "--base '-q': this is no name of a git revision\n"
        "  = give a branch, a tag or a commit, as origin/main or HEAD~1\n"
    ),
    "--output=x": (
        "--base '--output=x': this is no name of a git revision\n"
        "  = give a branch, a tag or a commit, as origin/main or HEAD~1\n"
    ),
    "a\nb": (
        "--base 'a\\nb': this is no name of a git revision\n"
        "  = give a branch, a tag or a commit, as origin/main or HEAD~1\n"
    ),
    "$(touch x)": "--base '$(touch x)': . has no such revision\n  = git branch -a and git tag list what there is\n",
    "HEAD:fl-gen.yaml": (
        "--base 'HEAD:fl-gen.yaml': . has no such revision\n  = git branch -a and git tag list what there is\n"
    ),
    "origin/main": "--base 'origin/main': . has no such revision\n  = git fetch origin, and run again; git branch -a lists what there is\n",
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_revisions(project: Path, run: Run, name: str) -> None:
    result = run("diff", "--base", name)
    assert (result.code, result.out) == (2, "")
    assert result.err.replace(str(project), ".") == ODD[name]
    assert not (project / "x").exists()


def test_no_repository_no_git_and_a_shallow_clone(
    project: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(project / "fl-gen.yaml", "mlu: {sdk: sim}", "mlu: {sdk: sim:6.0}")
    git(project, "commit", "-q", "-a", "-m", "two")
    git(project, "clone", "-q", "--depth", "1", f"file://{project}", "shallow")
    monkeypatch.chdir(project / "shallow")
    result = run("diff", "--base", "HEAD~1")
    assert result.code == 2
    assert result.err.endswith(
        "has no such revision\n  = the clone is shallow: git fetch --unshallow (in a workflow: fetch-depth: 0), and run again\n"
    )
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    result = run("diff", "--base", "HEAD")
    assert (result.code, result.err) == (
        2,
        "git is not installed, and --base reads a revision with it\n"
        "  = install git, or leave --base out to compare with the disk\n",
    )


def test_a_revision_that_cannot_be_read_says_where(project: Path, run: Run) -> None:
    ops = project / "schemas" / OPS
    good = ops.read_text(encoding="utf-8")
    change(ops, "strategy: fallback", "strategy: fallbak")
    git(project, "commit", "-q", "-a", "-m", "broken")
    ops.write_text(good, encoding="utf-8")
    result = run("diff", "--base", "HEAD")
    assert (result.code, result.out) == (2, "")
    first, second = result.err.splitlines()[:2]
    assert first == "--base HEAD: this fl-gen makes nothing of that revision's schemas and templates:"
    assert second.startswith(f"HEAD:schemas/{OPS}:")
    assert "/tmp/" not in result.err


def test_links_of_a_revision_are_not_followed(project: Path, run: Run, tmp_path: Path) -> None:
    outside = tmp_path / "outside.j2"
    outside.write_text("secret\n")
    (project / "templates" / "infinitrain" / "leak.txt.j2").symlink_to(outside)
    git(project, "add", "-A", "templates")
    git(project, "commit", "-q", "-m", "link")
    (project / "templates" / "infinitrain" / "leak.txt.j2").unlink()
    result = run("diff", "--base", "HEAD")
    assert result.err == ""
    assert "  note: HEAD: not followed, as it is no regular file: templates/infinitrain/leak.txt.j2\n" in result.out
    assert "secret" not in result.out


def test_nothing_to_compare_and_options_that_contradict(run: Run, tmp_path: Path) -> None:
    result = run("diff")
    assert (result.code, result.err) == (
        2,
        "there is neither fl-gen.yaml nor anything generated in .\n"
        "  = name the vendors, as fl-gen diff mlu --sdk sim, or write fl-gen.yaml with fl-gen init\n",
    )
    (tmp_path / "fl-gen.yaml").write_text(CONFIG)
    result = run("diff", "--sdk", "sim")
    assert (result.code, result.err) == (
        2, "--sdk: fl-gen.yaml says that for every vendor\n  = leave the option out, or change the file\n",
    )  # fmt: skip
    assert run("diff", "--all", "--format", "json").code == 2
