"""Several folders published as one: whatever the moment of a kill, the next run finds all old or all new."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from fl_gen.output import publish, swap, transaction
from fl_gen.output.disk import PublishError
from fl_gen.output.lock import locked
from fl_gen.output.manifest import MANIFEST_NAME, FileRecord, Manifest, digest, load
from fl_gen.output.plan import make_plan
from fl_gen.output.publish import publish_all
from fl_gen.output.transaction import JOURNAL, UnsettledError, held, recover, require_settled

VENDORS = ("ascend", "maca", "mlu")  # the first is new, the last two have trees


def tree(vendor: str, text: str) -> dict[str, str]:
    files = {"same.h": "same\n", "src/a.cc": f"{vendor} {text}\n", f"{text}.h": f"{text}\n"}
    records = {path: FileRecord(digest(body), f"{path}.j2") for path, body in files.items()}
    return {**files, MANIFEST_NAME: Manifest("0", vendor, "infinitrain", {}, {}, records).to_text()}


def write(root: Path, text: str, vendors: tuple[str, ...] = VENDORS) -> None:
    """What a command does: hold the folder, compare, publish."""
    with held(root):
        folders = [root / "generated" / vendor for vendor in vendors]
        publish_all([make_plan(folder, tree(folder.name, text), load(folder)) for folder in folders])


def state(root: Path) -> dict[str, str]:
    """Every file below generated/, whatever it is called."""
    return {p.relative_to(root).as_posix(): p.read_text() for p in sorted(root.rglob("*")) if p.is_file()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two of three vendors with an old tree, and a file of a person's in each."""
    write(tmp_path, "old", VENDORS[1:])
    for vendor in VENDORS[1:]:
        (tmp_path / "generated" / vendor / "mine.txt").write_text(f"mine {vendor}\n")
    return tmp_path


CALLS = ((os, "rename"), (os, "replace"), (swap, "_renameat2"), (Path, "unlink"))


def killed(root: Path, at: int, exchange: bool, before: bool) -> bool:
    """Publish in a child that dies right before or after step `at` of those that change names. Whether it came so far."""
    child = os.fork()
    if child == 0:
        steps = itertools.count()

        def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
            def step(*arguments: Any, **options: Any) -> Any:
                number = next(steps)
                if number == at and before:
                    os._exit(9)
                result = function(*arguments, **options)
                if number == at:
                    os._exit(9)
                return result

            return step

        code = 1
        try:
            if not exchange:
                swap._renameat2 = lambda stage, target: False
            for module, name in CALLS:
                setattr(module, name, wrapped(getattr(module, name)))
            write(root, "new")
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


@pytest.mark.parametrize(("exchange", "before"), [(True, True), (True, False), (False, True), (False, False)])
def test_a_kill_at_every_step_leaves_all_old_or_all_new(
    root: Path, tmp_path_factory: pytest.TempPathFactory, exchange: bool, before: bool
) -> None:
    old = state(root)
    whole = tmp_path_factory.mktemp("whole") / "w"
    shutil.copytree(root, whole)
    write(whole, "new")
    new = state(whole)
    seen = {"old": 0, "new": 0, "mixed": 0}
    for at in range(1000):
        here = tmp_path_factory.mktemp("kill") / "w"
        shutil.copytree(root, here)
        alive = not killed(here, at, exchange, before)
        now = {path: text for path, text in state(here).items() if not path.startswith("generated/.")}
        if now not in (old, new):
            seen["mixed"] += 1
            with pytest.raises(UnsettledError, match="some are new, some are old"):
                require_settled(here)
        recover(here)
        assert state(here) in (old, new), f"step {at}"
        seen["old" if state(here) == old else "new"] += 1
        require_settled(here)
        assert not [path for path in (here / "generated").iterdir() if path.name.startswith(".")]
        write(here, "new")
        assert state(here) == new
        shutil.rmtree(here)
        if alive:
            break
    assert seen["mixed"] >= (2 if exchange else 4), seen
    assert seen["old"] > seen["mixed"], seen
    assert seen["new"] >= 1, seen


@pytest.mark.parametrize("again", range(4))
def test_an_undoing_that_is_killed_is_gone_on_with(root: Path, again: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "_renameat2", lambda stage, target: False)
    old = state(root)
    stopped_after(root, 3)
    for at in range(again):
        child = os.fork()
        if child == 0:
            os.rename = dying(os.rename, at)
            try:
                recover(root)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    recover(root)
    assert state(root) == old


def dying(rename: Callable[..., None], at: int) -> Callable[..., None]:
    """A rename that ends the process instead of its call `at`."""
    count = itertools.count()

    def die(source: Any, destination: Any) -> None:
        if next(count) == at:
            os._exit(9)
        rename(source, destination)

    return die


def stopped_after(root: Path, swaps: int) -> None:
    """A run that is killed after so many swaps."""
    child = os.fork()
    if child == 0:
        done = itertools.count(1)
        swap_in = publish.swap_in

        def die(target: Path) -> None:
            swap_in(target)
            if next(done) == swaps:
                os._exit(9)

        publish.swap_in = die
        try:
            write(root, "new")
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_a_change_that_the_undoing_would_lose_stops_it(root: Path) -> None:
    """What a person saved since in a folder that was swapped; what they saved in the others is in no danger."""
    old = state(root)
    stopped_after(root, 2)
    generated = root / "generated"
    (generated / "maca" / "src" / "a.cc").write_text("saved since\n")
    (generated / "ascend" / "more.txt").write_text("saved since\n")
    (generated / "mlu" / "src" / "a.cc").write_text("saved since\n")
    before = state(root)
    with pytest.raises(UnsettledError) as caught:
        write(root, "new")
    assert str(caught.value) == (
        "a run was stopped while it put its trees in place, and what it wrote was changed since:\n"
        f"  {generated}/ascend/more.txt\n"
        f"  {generated}/maca/src/a.cc\n"
        "  = move these files away: the old trees are put back first, and your change would go; "
        "then run again and bring it back"
    )
    assert state(root) == before
    (generated / "ascend" / "more.txt").unlink()
    (generated / "maca" / "src" / "a.cc").rename(root / "a.cc")
    recover(root)
    assert state(root) == {**old, "a.cc": "saved since\n", "generated/mlu/src/a.cc": "saved since\n"}


def test_a_file_of_a_persons_that_both_trees_have_is_in_no_danger(root: Path) -> None:
    stopped_after(root, 2)
    with open(root / "generated" / "maca" / "mine.txt", "a", encoding="utf-8") as file:
        file.write("and more\n")  # the same file in both trees
    recover(root)
    assert (root / "generated" / "maca" / "mine.txt").read_text() == "mine maca\nand more\n"


def test_in_a_copy_of_the_tree_nothing_is_swapped_and_nothing_lost(root: Path) -> None:
    stopped_after(root, 2)
    copy = root / "copy" / "w"
    copy.parent.mkdir()
    shutil.copytree(root / "generated", copy / "generated")
    with pytest.raises(UnsettledError):
        require_settled(copy)
    before = {path: text for path, text in state(copy).items() if "/." not in path}
    recover(copy)
    assert state(copy) == {**before, **{p: t for p, t in state(copy).items() if "/.fl-gen/" in p}}
    write(copy, "new")
    assert {load(copy / "generated" / vendor).vendor for vendor in VENDORS} == set(VENDORS)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100000,
        '{"format": 2, "folders": []}',
        '{"format": 1, "folders": [{"name": "../../elsewhere", "made": 1, "had": true, "written": {}}]}',
        '{"format": 1, "folders": [{"name": ".", "made": 1, "had": true, "written": {}}]}',
        '{"format": 1, "folders": [{"name": "mlu", "made": 1, "had": true, "written": {"a": [1]}}]}',
        '{"format": 1, "folders": 7}',
    ],
)
def test_a_damaged_journal_is_one_message(root: Path, text: str) -> None:
    path = root / "generated" / JOURNAL
    path.write_text(text)
    before = state(root)
    message = (
        f"{path}: a run was stopped while it put its trees in place, and its journal is damaged\n"
        "  = remove the file, and run fl-gen regen, which makes all trees anew"
    )
    with pytest.raises(UnsettledError, match=re.escape(message)):
        write(root, "new")
    assert state(root) == before


def test_a_journal_that_is_no_file(root: Path) -> None:
    (root / "generated" / JOURNAL).symlink_to("/dev/zero")
    with pytest.raises(UnsettledError, match="journal is damaged"):
        write(root, "new")


def test_a_swap_that_fails_is_undone_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, swap_in = state(root), publish.swap_in

    def fail(target: Path) -> None:
        if target.name == "mlu":
            raise OSError(5, "Input/output error", str(target))
        swap_in(target)

    monkeypatch.setattr(publish, "swap_in", fail)
    with pytest.raises(PublishError) as caught:
        write(root, "new")
    generated = root / "generated"
    assert str(caught.value) == (
        f"{generated}/mlu: cannot be written: Input/output error\n  {generated} is unchanged. Mend that and run again."
    )
    assert state(root) == old


def test_an_undoing_that_fails_is_said_and_done_by_the_next_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, swap_in = state(root), publish.swap_in

    def fail(target: Path) -> None:
        if target.name == "mlu":
            raise OSError(5, "Input/output error", str(target))
        swap_in(target)

    def never(target: Path) -> None:
        raise OSError(30, "Read-only file system", str(target))

    monkeypatch.setattr(publish, "swap_in", fail)
    monkeypatch.setattr(transaction, "swap_back", never)
    with pytest.raises(PublishError, match="generated is partly new: the next run puts the old trees back"):
        write(root, "new")
    monkeypatch.undo()
    with pytest.raises(UnsettledError):
        require_settled(root)
    recover(root)
    assert state(root) == old


def test_an_interrupt_between_two_swaps_is_undone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, swap_in = state(root), publish.swap_in

    def interrupted(target: Path) -> None:
        swap_in(target)
        if target.name == "maca":
            raise KeyboardInterrupt

    monkeypatch.setattr(publish, "swap_in", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(root, "new")
    assert state(root) == old


def test_whoever_reads_waits_for_a_run_that_is_just_at_it(root: Path) -> None:
    """The journal of a living run is no fault: it is gone when the run is done."""
    stopped_after(root, 1)
    ready, go = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with locked(root):
                os.write(go, b"x")
                recover(root)
        finally:
            os._exit(0)
    os.read(ready, 1)
    require_settled(root)
    os.waitpid(child, 0)


def test_one_folder_needs_no_journal(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "begin", lambda swaps: pytest.fail("a journal"))
    write(root, "new", ("mlu",))
    assert state(root)["generated/mlu/src/a.cc"] == "mlu new\n"


def test_the_journal_names_no_path_outside(root: Path) -> None:
    stopped_after(root, 1)
    value: Mapping[str, Any] = json.loads((root / "generated" / JOURNAL).read_text())
    assert [one["name"] for one in value["folders"]] == list(VENDORS)
    assert [one["had"] for one in value["folders"]] == [False, True, True]
    assert str(root) not in (root / "generated" / JOURNAL).read_text()


def test_trees_behind_a_link_are_recovered_as_others(root: Path) -> None:
    old = state(root)
    (root / "generated").rename(root / "elsewhere")
    (root / "generated").symlink_to("elsewhere")
    stopped_after(root, 2)
    recover(root)
    assert state(root / "elsewhere") == {path.removeprefix("generated/"): text for path, text in old.items()}
    assert sorted(path.name for path in (root / "elsewhere").iterdir()) == list(VENDORS[1:])
