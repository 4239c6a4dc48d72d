"""Hand edits: kept or merged on request, remembered, and with their base on record."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from fl_gen import __version__
from fl_gen.output.disk import PublishError
from fl_gen.output.manifest import MANIFEST_NAME, RECORD_FOLDER, Edit, FileRecord, Manifest, ManifestError, digest, load
from fl_gen.output.markers import MarkersError, find_markers, marker_lines
from fl_gen.output.plan import Action, Plan, PlanError, make_plan
from fl_gen.output.policy import Policy
from fl_gen.output.publish import publish

ONE = "a\nb\nc\nd\ne\nf\ng\n"
TWO = "a\nb\nc\nd\ne\nF\ng\n"
THREE = "a\nb\nc\nd\ne\nF\nG\n"
MINE = "a\nmine\nb\nc\nd\ne\nf\ng\n"


def tree(files: Mapping[str, str]) -> dict[str, str]:
    records = {path: FileRecord(digest(text), f"{path}.j2") for path, text in files.items()}
    return {**files, MANIFEST_NAME: Manifest("0", "mlu", "infinitrain", {}, {}, records).to_text()}


def run(folder: Path, files: Mapping[str, str], policy: Policy = Policy.REFUSE) -> Plan:
    """One run, as `generate` does it; a refused one writes nothing."""
    plan = make_plan(folder, tree(files), load(folder), policy)
    if not plan.refused or policy is Policy.OVERWRITE:
        publish(plan)
    return plan


def action(plan: Plan, path: str = "x.h") -> Action:
    return {entry.path: entry.action for entry in plan.entries}[path]


def edit_of(folder: Path, path: str = "x.h") -> Edit | None:
    manifest = load(folder)
    assert manifest is not None
    return manifest.files[path].edit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which `x.h` was written as ONE and edited to MINE."""
    target = tmp_path / "generated" / "mlu"
    run(target, {"x.h": ONE, "y.h": "y\n"})
    (target / "x.h").write_text(MINE)
    return target


def test_keep_leaves_the_file_and_remembers(folder: Path) -> None:
    plan = run(folder, {"x.h": TWO, "y.h": "new y\n"}, Policy.KEEP)
    assert (action(plan), action(plan, "y.h")) == (Action.KEPT, Action.UPDATE)
    assert ((folder / "x.h").read_text(), (folder / "y.h").read_text()) == (MINE, "new y\n")
    manifest = load(folder)
    assert manifest is not None
    # What fl-gen would have written, and what the edit descends from.
    assert manifest.files["x.h"] == FileRecord(digest(TWO), "x.h.j2", (), Edit("keep", digest(ONE)))
    assert (folder / RECORD_FOLDER / "base" / "x.h").read_text() == ONE


def test_what_was_kept_is_not_asked_again_until_fl_gen_has_something_new_to_say(folder: Path) -> None:
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.KEEP)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    plan = run(folder, {"x.h": TWO, "y.h": "y\n"})
    assert (plan.refused, action(plan), plan.changes) == ([], Action.KEPT, False)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    (folder / "x.h").write_text(MINE + "more\n")  # the person goes on
    assert run(folder, {"x.h": TWO, "y.h": "other\n"}).refused == []
    assert (folder / "x.h").read_text() == MINE + "more\n"
    assert run(folder, {"x.h": THREE, "y.h": "y\n"}).refused == ["x.h"]


def test_a_merge_after_a_keep_brings_in_every_change_since_the_edit(folder: Path) -> None:
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.KEEP)
    plan = run(folder, {"x.h": THREE, "y.h": "y\n"}, Policy.MERGE)
    assert (action(plan), plan.conflicts) == (Action.MERGED, {})
    assert (folder / "x.h").read_text() == "a\nmine\nb\nc\nd\ne\nF\nG\n"
    assert edit_of(folder) == Edit("merge", digest(THREE))


def test_a_kept_file_can_be_merged_although_fl_gen_says_the_same_as_before(folder: Path) -> None:
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.KEEP)
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.MERGE)
    assert (folder / "x.h").read_text() == "a\nmine\nb\nc\nd\ne\nF\ng\n"


def test_merges_go_on_from_one_to_the_next(folder: Path) -> None:
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.MERGE)
    assert (folder / "x.h").read_text() == "a\nmine\nb\nc\nd\ne\nF\ng\n"
    assert run(folder, {"x.h": TWO, "y.h": "y\n"}).changes is False
    run(folder, {"x.h": THREE, "y.h": "y\n"}, Policy.MERGE)
    assert (folder / "x.h").read_text() == "a\nmine\nb\nc\nd\ne\nF\nG\n"


def test_overwrite_drops_what_was_kept(folder: Path) -> None:
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.KEEP)
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.OVERWRITE)
    assert ((folder / "x.h").read_text(), edit_of(folder)) == (TWO, None)
    assert not (folder / RECORD_FOLDER / "base").exists()


def test_an_edit_that_was_taken_back_is_none(folder: Path) -> None:
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.KEEP)
    (folder / "x.h").write_text(ONE)
    assert action(run(folder, {"x.h": THREE, "y.h": "y\n"})) is Action.UPDATE
    assert ((folder / "x.h").read_text(), edit_of(folder)) == (THREE, None)


def test_a_conflict_is_counted_and_its_markers_stop_the_next_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parents[1])
    (folder / "x.h").write_text(ONE.replace("f\n", "mine\n"))
    plan = run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.MERGE)
    assert plan.conflicts == {"x.h": 1}
    assert (folder / "x.h").read_text() == (
        f"a\nb\nc\nd\ne\n<<<<<<< your version\nmine\n=======\nF\n>>>>>>> fl-gen {__version__}\ng\n"
    )
    assert find_markers([folder]) == ["generated/mlu/x.h:6", "generated/mlu/x.h:10"]
    before = (folder / "x.h").read_text()
    for policy in (Policy.REFUSE, Policy.KEEP, Policy.MERGE):
        with pytest.raises(MarkersError) as caught:
            run(folder, {"x.h": TWO, "y.h": "new\n"}, policy)
        assert str(caught.value) == (
            "generated/mlu/x.h:6:1: a conflict marker is left\n"
            "generated/mlu/x.h:10:1: a conflict marker is left\n"
            "  = resolve the conflict, delete its markers and run again; or regenerate with --overwrite, which drops your version"
        )
    assert ((folder / "x.h").read_text(), (folder / "y.h").read_text()) == (before, "y\n")
    (folder / "x.h").write_text(ONE.replace("f\n", "mine and F\n"))  # resolved
    assert run(folder, {"x.h": TWO, "y.h": "new\n"}).refused == []
    assert (folder / "x.h").read_text() == ONE.replace("f\n", "mine and F\n")


def test_overwrite_drops_markers_too(folder: Path) -> None:
    (folder / "x.h").write_text("<<<<<<< mine\n")
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.OVERWRITE)
    assert (folder / "x.h").read_text() == TWO


def test_markers_are_told_from_headings_and_shifts() -> None:
    assert marker_lines(b"=======\n x <<<<<<< y\n<<<<<<<< z\n>>>>>>>>\n") == []
    assert marker_lines(b"a\r\n<<<<<<< m\r\n=======\r\n>>>>>>>\r\n") == [2, 4]


@pytest.mark.parametrize("policy", [Policy.KEEP, Policy.MERGE])
def test_an_edited_file_that_no_template_makes_any_more_becomes_the_persons_own(folder: Path, policy: Policy) -> None:
    plan = run(folder, {"y.h": "y\n"}, policy)
    assert action(plan) is Action.KEPT
    assert plan.conflicts == ({"x.h": 1} if policy is Policy.MERGE else {})
    assert (folder / "x.h").read_text() == MINE
    manifest = load(folder)
    assert manifest is not None
    assert "x.h" not in manifest.files
    assert run(folder, {"y.h": "y\n"}, Policy.OVERWRITE).changes is False
    assert (folder / "x.h").read_text() == MINE


def test_a_foreign_file_in_the_way_is_kept_or_merged_without_a_base(tmp_path: Path) -> None:
    (tmp_path / "x.h").write_text("a\nmine\n")
    plan = run(tmp_path, {"x.h": "a\nnew\n"}, Policy.KEEP)
    assert (action(plan), edit_of(tmp_path)) == (Action.KEPT, Edit("keep", None))
    assert run(tmp_path, {"x.h": "a\nnew\n"}).changes is False
    plan = run(tmp_path, {"x.h": "a\nnew\n"}, Policy.MERGE)
    assert plan.conflicts == {"x.h": 1}
    assert (tmp_path / "x.h").read_text().startswith("a\n<<<<<<< your version\nmine\n=======\nnew\n>>>>>>> fl-gen")


def test_crlf_and_bytes_that_are_not_utf8_and_the_mode_survive_a_merge(folder: Path) -> None:
    (folder / "x.h").write_bytes(b"a\r\n\xff mine\r\n" + ONE[2:].replace("\n", "\r\n").encode())
    (folder / "x.h").chmod(0o750)
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.MERGE)
    assert (folder / "x.h").read_bytes() == b"a\r\n\xff mine\r\n" + TWO[2:].replace("\n", "\r\n").encode()
    assert (folder / "x.h").stat().st_mode & 0o777 == 0o750


def test_what_is_no_text_is_not_merged(folder: Path) -> None:
    (folder / "x.h").write_bytes(b"\0\1")
    with pytest.raises(PlanError, match=r"x\.h: this is no text and cannot be merged: use --keep or --overwrite"):
        run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.MERGE)
    assert (folder / "x.h").read_bytes() == b"\0\1"


# --- where the base comes from ----------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@needs_git
def test_the_record_of_unedited_files_stays_out_of_version_control(tmp_path: Path) -> None:
    target = tmp_path / "generated" / "mlu"
    git(tmp_path, "init", "-q")
    run(target, {"x.h": ONE})
    git(tmp_path, "add", "-A")
    listed = subprocess.run(["git", "ls-files"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert listed.split() == ["generated/mlu/manifest.json", "generated/mlu/x.h"]


@needs_git
def test_in_a_clone_the_base_of_a_fresh_edit_is_in_the_history(tmp_path: Path) -> None:
    origin = tmp_path / "origin" / "generated" / "mlu"
    run(origin, {"x.h": ONE, "y.h": "y\n"})
    git(tmp_path / "origin", "init", "-q")
    git(tmp_path / "origin", "add", "-A")
    git(tmp_path / "origin", "commit", "-qm", "generated")
    (origin / "x.h").write_text(MINE)
    git(tmp_path / "origin", "commit", "-qam", "edited")
    git(tmp_path, "clone", "-q", "origin", "clone")
    clone = tmp_path / "clone" / "generated" / "mlu"
    assert not (clone / RECORD_FOLDER).exists()
    assert run(clone, {"x.h": TWO, "y.h": "y\n"}, Policy.MERGE).conflicts == {}
    assert (clone / "x.h").read_text() == "a\nmine\nb\nc\nd\ne\nF\ng\n"


@needs_git
def test_the_base_of_a_kept_file_comes_with_the_clone(tmp_path: Path) -> None:
    """Also where generated text and edit were committed together, so that the history never held the base as a file."""
    origin = tmp_path / "origin" / "generated" / "mlu"
    run(origin, {"x.h": ONE})
    (origin / "x.h").write_text(MINE)
    run(origin, {"x.h": TWO}, Policy.KEEP)
    git(tmp_path / "origin", "init", "-q")
    git(tmp_path / "origin", "add", "-A")
    git(tmp_path / "origin", "commit", "-qm", "generated and edited")
    git(tmp_path, "clone", "-q", "origin", "clone")
    clone = tmp_path / "clone" / "generated" / "mlu"
    run(clone, {"x.h": THREE}, Policy.MERGE)
    assert (clone / "x.h").read_text() == "a\nmine\nb\nc\nd\ne\nF\nG\n"


def test_a_base_with_another_digest_is_none(folder: Path) -> None:
    written = folder / RECORD_FOLDER / "written.json"
    for damage in (
        json.dumps({"x.h": MINE}),
        '{"x.h": "\\ud800"}',
        "{",
        "[" * 100_000,
        "\udcff".encode("utf-8", "surrogateescape"),
    ):
        written.write_bytes(damage if isinstance(damage, bytes) else damage.encode())
        plan = make_plan(folder, tree({"x.h": TWO, "y.h": "y\n"}), load(folder), Policy.MERGE)
        assert plan.conflicts["x.h"] > 0


def test_no_folder_of_records_leads_out_of_the_tree(folder: Path, tmp_path: Path) -> None:
    for name in (RECORD_FOLDER, f"{RECORD_FOLDER}/base"):
        if (folder / name).exists():
            shutil.rmtree(folder / name)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(tmp_path)
        with pytest.raises(PlanError, match="finds a symbolic link"):
            run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.MERGE)
        (folder / name).unlink()


@pytest.mark.parametrize("name", ["written.json", ".gitignore", "base/x.h"])
def test_a_folder_where_a_record_must_be_is_refused(folder: Path, name: str) -> None:
    record = folder / RECORD_FOLDER / name
    record.unlink(missing_ok=True)
    record.mkdir(parents=True)
    (record / "mine").write_text("mine")
    with pytest.raises(PlanError) as caught:
        run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.KEEP)
    assert str(caught.value) == f"{record}: fl-gen needs a file here and finds a folder: move it away"
    assert (record / "mine").read_text() == "mine"
    shutil.rmtree(record)
    assert action(run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.KEEP)) is Action.KEPT


def test_a_persons_file_among_the_records_stays(folder: Path) -> None:
    for name in ("note.txt", "base/note.txt"):
        (folder / RECORD_FOLDER / name).parent.mkdir(exist_ok=True)
        (folder / RECORD_FOLDER / name).write_text("mine")
    run(folder, {"x.h": TWO, "y.h": "y\n"}, Policy.OVERWRITE)
    assert (folder / RECORD_FOLDER / "note.txt").read_text() == "mine"
    assert (folder / RECORD_FOLDER / "base" / "note.txt").read_text() == "mine"


@pytest.mark.parametrize("edit", [1, {"decision": "x", "base": None}, {"decision": "keep"}, []])
def test_a_damaged_decision_is_one_message(folder: Path, edit: object) -> None:
    value = json.loads((folder / MANIFEST_NAME).read_text())
    value["files"]["x.h"]["edit"] = edit
    (folder / MANIFEST_NAME).write_text(json.dumps(value))
    with pytest.raises(ManifestError, match="the manifest is damaged"):
        load(folder)


# --- while fl-gen works -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["x.h", "y.h", "foreign.txt", "deep/new.txt"])
def test_a_file_that_is_saved_between_comparing_and_writing_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Saved as editors do: a new file is renamed over the old one, in the moment before the swap."""
    from fl_gen.output import swap as swapping

    target = tmp_path / "mlu"
    run(target, {"x.h": ONE, "y.h": "y\n"})
    (target / "foreign.txt").write_text("old")
    exchange = swapping.exchange
    saved = []

    def save_first(stage: Path, folder: Path) -> None:
        if not saved:
            saved.append(path)
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / "tmp").write_text("saved meanwhile")
            os.replace(folder / "tmp", folder / path)
        exchange(stage, folder)

    monkeypatch.setattr(swapping, "exchange", save_first)
    with pytest.raises(PublishError, match=rf"{path}: was changed while fl-gen worked"):
        run(target, {"x.h": TWO, "y.h": "y\n"})
    assert (target / path).read_text() == "saved meanwhile"
    assert path == "x.h" or (target / "x.h").read_text() == ONE
    assert [p.name for p in tmp_path.iterdir()] == ["mlu"]
