"""What publishing guarantees: all or nothing, nothing of a person's lost, nothing touched without need."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fl_gen.output import publish as publishing
from fl_gen.output import swap as swapping
from fl_gen.output import transaction
from fl_gen.output.disk import PublishError, replace_file
from fl_gen.output.lock import locked
from fl_gen.output.manifest import MANIFEST_NAME, RECORD_FOLDER, FileRecord, Manifest, ManifestError, digest, load
from fl_gen.output.once import create_once
from fl_gen.output.plan import Action, Plan, PlanError, make_plan
from fl_gen.output.publish import publish


def tree(files: Mapping[str, str]) -> dict[str, str]:
    """`files` with the manifest that owns them."""
    records = {path: FileRecord(digest(text), f"{path}.j2") for path, text in files.items()}
    manifest = Manifest("0", "mlu", "infinitrain", {}, {}, records)
    return {**files, MANIFEST_NAME: manifest.to_text()}


def plan(folder: Path, files: Mapping[str, str]) -> Plan:
    return make_plan(folder, tree(files), load(folder))


def write(folder: Path, files: Mapping[str, str]) -> None:
    publish(plan(folder, files))


def contents(folder: Path) -> dict[str, str]:
    """Every file but the records for merges, which tests of their own look at."""
    found = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}
    return {path: text for path, text in found.items() if not path.startswith(f"{RECORD_FOLDER}/")}


def test_first_run_creates_every_file(tmp_path: Path) -> None:
    target = tmp_path / "generated" / "mlu"
    write(target, {"a.h": "a\n", "src/b.cc": "b\n"})
    assert contents(target) == tree({"a.h": "a\n", "src/b.cc": "b\n"})
    assert sorted(p.name for p in target.parent.iterdir()) == ["mlu"]


def test_run_that_changes_nothing_moves_no_time_stamp(tmp_path: Path) -> None:
    target = tmp_path / "mlu"
    write(target, {"a.h": "a\n"})
    os.utime(target / "a.h", ns=(1, 1))
    before = {p: p.stat().st_mtime_ns for p in [target, *target.rglob("*")]}
    inode = target.stat().st_ino
    write(target, {"a.h": "a\n"})
    assert {p: p.stat().st_mtime_ns for p in [target, *target.rglob("*")]} == before
    assert target.stat().st_ino == inode


def test_update_keeps_time_stamps_of_files_that_stay(tmp_path: Path) -> None:
    target = tmp_path / "mlu"
    write(target, {"a.h": "a\n", "b.h": "b\n"})
    os.utime(target / "a.h", ns=(7, 7))
    write(target, {"a.h": "a\n", "b.h": "new\n"})
    assert (target / "a.h").stat().st_mtime_ns == 7
    assert (target / "b.h").read_text() == "new\n"


def test_stale_file_goes_and_foreign_file_stays(tmp_path: Path) -> None:
    target = tmp_path / "mlu"
    write(target, {"a.h": "a\n", "old/b.h": "b\n"})
    (target / "notes.txt").write_text("mine")
    (target / "old" / "more.txt").write_text("mine too")
    (target / "empty").mkdir()
    write(target, {"a.h": "a\n"})
    assert contents(target) == tree({"a.h": "a\n"}) | {"notes.txt": "mine", "old/more.txt": "mine too"}
    assert (target / "empty").is_dir()


def test_folder_that_held_only_stale_files_goes(tmp_path: Path) -> None:
    target = tmp_path / "mlu"
    write(target, {"a.h": "a\n", "old/b.h": "b\n"})
    write(target, {"a.h": "a\n"})
    assert not (target / "old").exists()


def test_what_a_person_opened_or_closed_stays_so(tmp_path: Path) -> None:
    folder = tmp_path / "mlu"
    write(folder, {"a/b.h": "old", "c.h": "same"})
    modes = {"a": 0o700, "a/b.h": 0o600, "c.h": 0o640, "mine": 0o700, "mine/x": 0o600, "mine/empty": 0o500}
    (folder / "mine" / "empty").mkdir(parents=True)
    (folder / "mine" / "x").write_text("secret")
    for path, mode in modes.items():
        (folder / path).chmod(mode)
    write(folder, {"a/b.h": "new", "c.h": "same", "a/new.h": "new"})
    assert (folder / "a/b.h").read_text() == "new"
    assert {path: (folder / path).stat().st_mode & 0o7777 for path in modes} == modes


def test_foreign_symbolic_link_is_carried_over(tmp_path: Path) -> None:
    target = tmp_path / "mlu"
    write(target, {"a.h": "a\n"})
    (target / "link").symlink_to("/nowhere")
    write(target, {"a.h": "new\n"})
    assert os.readlink(target / "link") == "/nowhere"


@pytest.mark.parametrize(
    ("change", "files", "action"),
    [
        ("edited\n", {"a.h": "new\n"}, Action.EDITED),
        ("edited\n", {}, Action.EDITED),
        ("edited\n", {"a.h": "edited\n"}, Action.IDENTICAL),
        ("old\n", {"a.h": "new\n"}, Action.UPDATE),
        ("old\r\n", {"a.h": "old\n"}, Action.IDENTICAL),
        ("old\n", {}, Action.STALE),
    ],
)
def test_hand_edit_is_told_from_an_update(tmp_path: Path, change: str, files: dict[str, str], action: Action) -> None:
    target = tmp_path / "mlu"
    write(target, {"a.h": "old\n"})
    (target / "a.h").write_bytes(change.encode())
    entries = {entry.path: entry.action for entry in plan(target, files).entries}
    assert entries["a.h"] is action


def test_file_that_fl_gen_never_wrote_is_a_conflict(tmp_path: Path) -> None:
    target = tmp_path / "mlu"
    target.mkdir()
    (target / "a.h").write_text("mine\n")
    assert plan(target, {"a.h": "a\n"}).refused == ["a.h"]


def test_file_where_a_folder_must_be(tmp_path: Path) -> None:
    target = tmp_path / "mlu"
    target.mkdir()
    (target / "src").write_text("")
    with pytest.raises(PlanError, match=r"src: fl-gen needs a folder here and finds a file: move it away"):
        plan(target, {"src/a.h": "a\n"})


def test_folder_where_a_file_must_be(tmp_path: Path) -> None:
    target = tmp_path / "mlu"
    (target / "a.h").mkdir(parents=True)
    with pytest.raises(PlanError, match=r"a\.h: fl-gen needs a file here and finds a folder"):
        plan(target, {"a.h": "a\n"})


def test_link_that_leads_out_of_the_tree_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "mlu"
    target.mkdir()
    (target / "src").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PlanError, match="finds a symbolic link"):
        plan(target, {"src/a.h": "a\n"})
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_vendor_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "mlu").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PlanError, match="finds a symbolic link"):
        plan(tmp_path / "mlu", {"a.h": "a\n"})


@pytest.mark.parametrize("path", ["../a", "/a", "a/../../b", "a\\b", "", "a//b", "./a", "a\0b"])
def test_path_that_leaves_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(PlanError, match="must stay inside its folder"):
        make_plan(tmp_path / "mlu", {path: ""}, None)


@pytest.mark.parametrize("path", ["a\nb", "\x1b[31m.h", "\udcff.h"])
def test_a_path_that_nobody_can_read_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(PlanError) as caught:
        make_plan(tmp_path / "mlu", {path: ""}, None)
    assert str(caught.value) == (
        f"{path!r}: a generated path must hold nothing but what can be printed\n  = rename its template"
    )


@pytest.mark.parametrize("path", [".fl-gen/written.json", "a\\nb", "\\udcff.h"])
def test_a_manifest_owns_no_path_that_fl_gen_does_not_write(tmp_path: Path, path: str) -> None:
    (tmp_path / MANIFEST_NAME).write_text(
        '{"format": 1, "generator": "", "vendor": "", "framework": "", "sdk": {}, "inputs": {}, '
        f'"files": {{"{path}": {{"sha256": "", "template": "", "nodes": []}}}}}}'
    )
    with pytest.raises(ManifestError, match="is none that fl-gen writes"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the manifest is damaged"),
        ("[]", "not a JSON object"),
        ('{"format": 99}', "format 99, this fl-gen reads 1"),
        ('{"format": 1, "files": {}}', "the manifest is damaged"),
        ("[" * 100000, "the manifest is damaged"),
        (
            '{"format": 1, "generator": "", "vendor": "", "framework": "", "sdk": {}, "inputs": {}, '
            '"files": {"../../etc/passwd": {"sha256": "", "template": "", "nodes": []}}}',
            "leads out of the folder",
        ),
    ],
)
def test_damaged_manifest_is_one_message(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / MANIFEST_NAME).write_text(text)
    with pytest.raises(ManifestError, match=message):
        load(tmp_path)


def test_disk_that_fills_up_leaves_the_old_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "mlu"
    write(target, {"a.h": "a\n", "b.h": "b\n"})
    before = contents(target)
    written = []

    def full(path: Path, text: str) -> None:
        written.append(path)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        path.write_text(text)

    monkeypatch.setattr(publishing, "write_new", full)
    with pytest.raises(PublishError, match=r"No space left on device\n.*is unchanged\. Make room on the disk"):
        write(target, {"a.h": "new\n", "b.h": "new\n"})
    assert contents(target) == before
    assert [p.name for p in tmp_path.iterdir()] == ["mlu"]


def test_without_an_exchange_the_swap_is_two_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swapping, "_renameat2", lambda stage, target: False)
    target = tmp_path / "mlu"
    write(target, {"a.h": "a\n"})
    write(target, {"a.h": "new\n"})
    assert contents(target) == tree({"a.h": "new\n"})
    assert [p.name for p in tmp_path.iterdir()] == ["mlu"]


def test_run_killed_between_two_renames_is_recovered(tmp_path: Path) -> None:
    target = tmp_path / "generated" / "mlu"
    write(target, {"a.h": "a\n"})
    target.rename(target.parent / ".mlu.fl-gen-old")
    transaction.recover(tmp_path)
    assert contents(target) == tree({"a.h": "a\n"})
    assert [p.name for p in target.parent.iterdir()] == ["mlu"]


def test_what_killed_runs_left_of_other_vendors_is_removed_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "generated" / "mlu", {"a.h": "a\n"})
    for path in ("generated/.maca.fl-gen-stage/x", "generated/.mlu.fl-gen-old/x", "backends/.maca.fl-gen-stage/x"):
        (tmp_path / path).mkdir(parents=True)
    mine = ["generated/.mlu.fl-gen-stage.txt", "generated/.git/x", "generated/mlu/.a.fl-gen-stage", "backends/.hidden"]
    for path in mine:
        (tmp_path / path).mkdir(parents=True)
    with transaction.held(tmp_path):
        left = {p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_dir()}
    assert left == {*mine, "generated", "generated/.git", "generated/mlu", "generated/mlu/.fl-gen", "backends"}


def test_staging_folder_of_a_killed_run_is_removed(tmp_path: Path) -> None:
    target = tmp_path / "mlu"
    write(target, {"a.h": "a\n"})
    (tmp_path / ".mlu.fl-gen-stage" / "deep").mkdir(parents=True)
    write(target, {"a.h": "a\n"})
    assert [p.name for p in tmp_path.iterdir()] == ["mlu"]


def test_once_files_are_made_once(tmp_path: Path) -> None:
    assert create_once(tmp_path, {"k/a.mlu": "new\n"}) == (["k/a.mlu"], [])
    (tmp_path / "k" / "a.mlu").write_text("mine\n")
    assert create_once(tmp_path, {"k/a.mlu": "new\n", "b": "b\n"}) == (["b"], ["k/a.mlu"])
    assert contents(tmp_path) == {"k/a.mlu": "mine\n", "b": "b\n"}


def test_replaced_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "kernels.yaml"
    path.write_text("a")
    path.chmod(0o640)
    replace_file(path, "b")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("b", 0o640)
    assert [p.name for p in tmp_path.iterdir()] == ["kernels.yaml"]


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("a")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "ahead").symlink_to("deep/new")
    replace_file(tmp_path / "link", "b")
    replace_file(tmp_path / "ahead", "c")
    assert (os.readlink(tmp_path / "link"), (tmp_path / "real").read_text()) == ("real", "b")
    assert (os.readlink(tmp_path / "ahead"), (tmp_path / "deep" / "new").read_text()) == ("deep/new", "c")


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_text)
        replace_file(pipe, "told")
        assert read.result(timeout=10) == "told"
    assert pipe.is_fifo()
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def test_what_cannot_be_replaced_is_said_of_the_path_that_was_named(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("round")
    for path, message in [
        (tmp_path, "this is a folder\n  = name a file in it"),
        (tmp_path / "round", "cannot be written: Too many levels of symbolic links. Mend that and run again."),
        (tmp_path / ("a" * 300), "cannot be written: File name too long. Mend that and run again."),
    ]:
        with pytest.raises(PublishError) as caught:
            replace_file(path, "text")
        assert str(caught.value) == f"{path}: {message}"
    assert [p.name for p in tmp_path.iterdir()] == ["round"]


def test_second_run_waits_and_then_says_who_is_in_the_way(tmp_path: Path) -> None:
    who = f"another fl-gen (process {os.getpid()}) has held this folder for 0 seconds: wait for it, or stop it"
    with locked(tmp_path), pytest.raises(PublishError, match=re.escape(who)):  # noqa: SIM117
        with locked(tmp_path, seconds=0.1):
            pass


def test_lock_of_a_dead_process_is_no_lock(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import os, pathlib
        from fl_gen.output.lock import locked
        with locked(pathlib.Path({str(tmp_path)!r})):
            os._exit(9)
        """
    )
    source = Path(publishing.__file__).parents[2]
    result = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(source)}, check=False)
    assert result.returncode == 9
    start = time.monotonic()
    with locked(tmp_path, seconds=5):
        assert time.monotonic() - start < 4


def test_manifest_text_does_not_depend_on_order() -> None:
    records = {"b": FileRecord("1", "b.j2"), "a": FileRecord("2", "a.j2")}
    one = Manifest("0", "mlu", "f", {}, {}, records).to_text()
    other = Manifest("0", "mlu", "f", {}, {}, dict(reversed(list(records.items())))).to_text()
    assert one == other
    assert one.endswith("}\n")
