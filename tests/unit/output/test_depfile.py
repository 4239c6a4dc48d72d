"""Depfiles, read by the two programs that they are written for."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from fl_gen.output.depfile import BuildFiles, DepfileError, depfile_text, leave
from fl_gen.output.disk import PublishError

LONG_AGO, LATER = 10**18, 4 * 10**18  # nanoseconds since the epoch

READABLE = [
    *(
        "plain",
        "a b",
        "a  b",
        " lead",
        "a#b",
        "#x",
        "a$b",
        "$x",
        "$$",
        "${x}",
        "a%b",
        "a:b",
        "c:d:e",
        "a\\b",
        "x\\y\\z",
    ),
    *(
        "a'b",
        'a"b',
        "a(b",
        "(ab)c",
        "a{b}",
        "a[b]",
        "a?b",
        "a=b",
        "a~b",
        "ü語😀",
        "a&b",
        "a!b",
        "a,b",
        "a@b",
        "a+b",
        "-x",
    ),
    *("a b#c$d:e%f", "a\\[b", "e\u0301", "\u00a0", "\u2028"),
]
UNREADABLE = [
    *("a*b", "a;b", "a|b", "a<b", "a>b", "a^b", "a`b", "a\nb", "a\rb", "a\tb", "a\x01b", "a\x7f"),
    *("trail ", "trail:", "trail\\", "a\\ b", "a\\#b", "a\\:b", "a\\$b", "a\\\\b", "a(b)", "\udcff"),
]


def require(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            if os.environ.get("CI"):
                pytest.fail(f"{program} is missing")
            pytest.skip(f"{program} is missing")


def runs(program: str, folder: Path) -> bool:
    """Whether `program` would make the stamp again."""
    command = {"make": ["make", "-q", "out.stamp"], "ninja": ["ninja", "-n"]}[program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if program == "make":
        assert done.returncode in (0, 1), done.stderr
        return done.returncode == 1
    assert done.returncode == 0, done.stdout
    return "no work to do" not in done.stdout


def build_file(program: str, folder: Path) -> None:
    """A build whose one rule makes out.stamp and takes its depfile from x.d; the rule has run."""
    if program == "make":
        (folder / "Makefile").write_text("out.stamp:\n\ttouch out.stamp\n-include x.d\n")
        (folder / "out.stamp").touch()
        return
    rule = "rule g\n command = cp src.d x.d && touch out.stamp\n depfile = x.d\n deps = gcc\nbuild out.stamp: g\n"
    shutil.copy(folder / "x.d", folder / "src.d")
    (folder / "build.ninja").write_text(rule)
    subprocess.run(["ninja"], cwd=folder, check=True, capture_output=True)


def at(path: Path, moment: int) -> None:
    os.utime(path, ns=(moment, moment))


@pytest.mark.parametrize("program", ["make", "ninja"])
def test_every_name_is_read_as_it_is(tmp_path: Path, program: str) -> None:
    require(program)
    inputs = tmp_path / "in put"
    inputs.mkdir()
    for name in READABLE:
        (inputs / name).touch()
        at(inputs / name, LONG_AGO)
    (tmp_path / "x.d").write_text(depfile_text("out.stamp", [str(inputs / name) for name in READABLE]))
    build_file(program, tmp_path)
    assert not runs(program, tmp_path)
    for name in READABLE:
        at(inputs / name, LATER)
        assert runs(program, tmp_path), name
        at(inputs / name, LONG_AGO)
    assert not runs(program, tmp_path)


@pytest.mark.parametrize("program", ["make", "ninja"])
def test_a_vanished_input_runs_again_and_stops_nobody(tmp_path: Path, program: str) -> None:
    require(program)
    for name in ("gone a", "stays"):
        (tmp_path / name).touch()
        at(tmp_path / name, LONG_AGO)
    (tmp_path / "x.d").write_text(depfile_text("out.stamp", [str(tmp_path / "gone a"), str(tmp_path / "stays")]))
    build_file(program, tmp_path)
    assert not runs(program, tmp_path)
    (tmp_path / "gone a").unlink()
    assert runs(program, tmp_path)


@pytest.mark.parametrize("program", ["make", "ninja"])
@pytest.mark.parametrize("name", ["folder", "folder (2)", "folder "])
def test_a_folder_is_watched_for_new_files(tmp_path: Path, program: str, name: str) -> None:
    require(program)
    watched = tmp_path / name
    watched.mkdir()
    at(watched, LONG_AGO)
    leave(BuildFiles(tmp_path / "x.d", Path("out.stamp")), [str(watched)])
    Path("out.stamp").unlink()
    build_file(program, tmp_path)
    assert not runs(program, tmp_path)
    (watched / "new").touch()
    at(watched, LATER)
    assert runs(program, tmp_path)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_name_that_would_be_lost_is_refused(name: str) -> None:
    with pytest.raises(DepfileError, match="no depfile that Make and Ninja both read can hold"):
        depfile_text("out.stamp", [f"/x/{name}"])


@pytest.mark.parametrize("name", ["a%b", "a=b"])
def test_a_target_that_is_a_pattern_or_an_assignment_is_refused(name: str) -> None:
    with pytest.raises(DepfileError) as caught:
        depfile_text(f"b/{name}", ["/x/a"])
    assert str(caught.value) == (
        f"'b/{name}': the target of a depfile may hold neither % nor =\n"
        "  = rename it, or name it by a relative path from another folder"
    )


def test_the_text() -> None:
    assert depfile_text("b/out.stamp", ["/x/a b", "/x/50%"]) == "b/out.stamp: \\\n  /x/a\\ b \\\n  /x/50%\n/x/a\\ b:\n"


class TestLeave:
    def test_only_the_stamp_moves_when_nothing_changed(self, tmp_path: Path) -> None:
        source = tmp_path / "in"
        source.touch()
        build = BuildFiles(Path("b/x.d"), Path("b/x.stamp"), Path("b/list"))
        leave(build, [str(source)], outputs="one\n")
        for name in ("x.d", "x.stamp", "list"):
            at(tmp_path / "b" / name, LONG_AGO)
        leave(build, [str(source)], outputs="one\n")
        moved = [name for name in ("x.d", "x.stamp", "list") if os.stat(f"b/{name}").st_mtime_ns != LONG_AGO]
        assert moved == ["x.stamp"]
        leave(build, [str(source)], outputs="two\n")
        assert Path("b/list").read_text() == "two\n"
        assert sorted(path.name for path in Path("b").iterdir()) == ["list", "x.d", "x.stamp"]

    def test_an_input_that_changed_meanwhile_is_newer_than_the_stamp(self, tmp_path: Path) -> None:
        source = tmp_path / "in"
        source.touch()
        at(source, LONG_AGO + 5 * 10**9)
        leave(BuildFiles(Path("x.d"), Path("x.stamp"), started=LONG_AGO), [str(source)])
        assert os.stat("x.stamp").st_mtime_ns < source.stat().st_mtime_ns
        leave(BuildFiles(Path("x.d"), Path("x.stamp"), started=LONG_AGO + 10**10), [str(source)])
        assert os.stat("x.stamp").st_mtime_ns > source.stat().st_mtime_ns

    def test_what_the_run_made_itself_is_as_old_as_what_it_was_made_from(self, tmp_path: Path) -> None:
        source, made = tmp_path / "in", tmp_path / "kernels.yaml"
        for path in (source, made):
            path.touch()
        at(source, LONG_AGO)
        leave(BuildFiles(Path("x.d"), Path("x.stamp"), started=LATER), [str(source), str(made)], [str(made)])
        assert made.stat().st_mtime_ns == LONG_AGO

    def test_no_stamp_without_the_depfile(self, tmp_path: Path) -> None:
        (tmp_path / "b").touch()
        with pytest.raises(PublishError, match="b"):
            leave(BuildFiles(Path("b/x.d"), Path("x.stamp")), [str(tmp_path)])
        assert not Path("x.stamp").exists()

    def test_a_stamp_that_cannot_be(self, tmp_path: Path) -> None:
        (tmp_path / "x.stamp").mkdir()
        with pytest.raises(PublishError, match=r"^x\.stamp: the stamp cannot be written: Is a directory$"):
            leave(BuildFiles(stamp=Path("x.stamp")), [])


def test_files_of_a_build_are_three_and_lie_elsewhere() -> None:
    with pytest.raises(DepfileError, match="--depfile needs --stamp"):
        BuildFiles(depfile=Path("x.d"))
    with pytest.raises(DepfileError, match="must be three different files"):
        BuildFiles(Path("x"), Path("b/../x"))
    with pytest.raises(DepfileError, match=r"--outputs g/mlu/\.\./mlu/list: it lies in g/mlu"):
        BuildFiles(outputs=Path("g/mlu/../mlu/list")).require_outside([Path("g/mlu")])
    BuildFiles(stamp=Path("g/mlu2")).require_outside([Path("g/mlu")])
