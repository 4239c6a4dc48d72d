"""Hand edits on the command line: refused, dropped, kept or merged, from the first run to the next ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fl_gen import __version__
from fl_gen.output.manifest import load
from unit.cli.conftest import Run, snapshot

BACKEND = ("backend", "mlu", "-o", "w", "--sdk")
MINE = "// written by hand\n"


def edited(tree: Path) -> Path:
    """A file that differs between releases 6.14 and 6.0, with a line of a person at its end."""
    path = tree / "generated" / "mlu" / "tests" / "test_runtime.cc"
    path.write_text(path.read_text() + MINE)
    return path


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """The same vendor on an older SDK."""
    from fl_gen.workflow.generate import generate
    from fl_gen.workflow.request import Request

    folder = tmp_path_factory.mktemp("older")
    generate(Request("mlu", sdk=("sim:6.0",), output=folder, cache=cache))
    return folder


def test_without_a_decision_the_run_is_refused_and_names_the_three(run: Run, tree: Path) -> None:
    edited(tree)
    before = snapshot(tree)
    result = run(*BACKEND, "sim:6.0")
    assert (result.code, result.out) == (2, "")
    assert all(f"--{policy}" in result.err for policy in ("merge", "keep", "overwrite"))
    assert snapshot(tree) == before


def test_keep_updates_all_other_files_and_holds_for_the_next_runs(run: Run, tree: Path, older: Path) -> None:
    path = edited(tree)
    text = path.read_text()
    assert run(*BACKEND, "sim:6.0", "--keep").code == 0
    assert path.read_text() == text
    same = {"tests/test_runtime.cc", "manifest.json"}
    for file, data in snapshot(older / "generated" / "mlu").items():
        if file not in same and not file.startswith(".fl-gen"):
            assert snapshot(tree / "generated" / "mlu")[file] == data, file
    before = snapshot(tree)
    result = run(*BACKEND, "sim:6.0")
    assert result.code == 0
    assert "1 kept" in result.out
    assert snapshot(tree) == before
    assert run(*BACKEND, "sim:6.0", "--overwrite").code == 0
    assert snapshot(tree) == snapshot(older)


def test_a_clean_merge_is_silent_and_has_both(run: Run, tree: Path, older: Path) -> None:
    path = edited(tree)
    result = run(*BACKEND, "sim:6.0", "--merge")
    assert (result.code, result.err) == (0, "")
    assert "conflict" not in result.out
    assert path.read_text() == (older / "generated" / "mlu" / "tests" / "test_runtime.cc").read_text() + MINE
    assert run(*BACKEND, "sim:6.0").code == 0


def test_a_conflict_is_exit_code_1_and_its_markers_stop_the_next_run(run: Run, tree: Path, older: Path) -> None:
    path = tree / "generated" / "mlu" / "tests" / "test_runtime.cc"
    new = (older / "generated" / "mlu" / "tests" / "test_runtime.cc").read_text().split("\n")
    lines = path.read_text().split("\n")
    at = next(number for number, pair in enumerate(zip(lines, new, strict=False)) if pair[0] != pair[1])
    lines[at] += MINE.rstrip()
    path.write_text("\n".join(lines))
    result = run(*BACKEND, "sim:6.0", "--merge")
    assert result.code == 1
    assert "w/generated/mlu/tests/test_runtime.cc: 1 conflict to resolve" in result.out
    assert f">>>>>>> fl-gen {__version__}\n" in path.read_text()
    before = snapshot(tree)
    for policy in ((), ("--merge",), ("--keep",)):
        again = run(*BACKEND, "sim:6.0", *policy)
        assert (again.code, again.out) == (2, "")
        assert f"w/generated/mlu/tests/test_runtime.cc:{at + 1}:1: a conflict marker is left" in again.err
    assert snapshot(tree) == before
    assert run(*BACKEND, "sim:6.0", "--overwrite").code == 0
    assert snapshot(tree) == snapshot(older)


def test_dry_run_shows_what_a_policy_would_do(run: Run, tree: Path) -> None:
    edited(tree)
    before = snapshot(tree)
    for policy, word in (("--merge", "merged"), ("--keep", "kept"), ("--overwrite", "edited")):
        assert f"{word:<9} w/generated/mlu/tests/test_runtime.cc" in run(*BACKEND, "sim:6.0", policy, "--dry-run").out
    assert snapshot(tree) == before


def test_a_project_remembers_a_kept_file_and_still_takes_another_decision(run: Run, tmp_path: Path) -> None:
    (tmp_path / "fl-gen.yaml").write_text(
        f"schema: 1\ngenerator: {__version__}\nframework: infinitrain\nvendors:\n  mlu: {{sdk: sim:6.14}}\n"
    )
    assert run("regen").code == 0
    path = edited(tmp_path)
    assert run("regen", "--keep").code == 0
    for _ in range(3):  # the second and third are answered from what the first left
        assert run("regen").code == 0
        assert MINE in path.read_text()
    assert run("regen", "--overwrite").code == 0
    assert MINE not in path.read_text()


def test_an_op_that_goes_leaves_no_file_and_takes_no_foreign_one(run: Run, tree: Path, older: Path) -> None:
    """Here a whole release: whatever the older one does not make is gone, and what stands beside it stays."""
    generated = tree / "generated" / "mlu"
    kernels = generated / "src" / "kernels"
    (kernels / "mine.cc").write_text("mine")
    manifest = load(generated)
    assert manifest is not None
    assert run(*BACKEND, "sim:4.3").code == 0
    left = load(generated)
    assert left is not None
    on_disk = {p.relative_to(generated).as_posix() for p in generated.rglob("*") if p.is_file()}
    on_disk = {path for path in on_disk if not path.startswith(".fl-gen/")}
    assert on_disk == {*left.files, "manifest.json", "src/kernels/mine.cc"}
    shutil.rmtree(tree / "backends")
    assert run(*BACKEND, "sim:6.0").code == 0
    (kernels / "mine.cc").unlink()
    assert snapshot(tree) == snapshot(older)
