"""init, regen and backend --save: a project is written once, regenerated whole, and recorded without loss."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fl_gen import __version__
from fl_gen.output import publish as publishing
from unit.cli.conftest import Run, snapshot

HEAD = f"schema: 1\ngenerator: {__version__}\nframework: infinitrain\n"


def project(tmp_path: Path, rest: str = "vendors:\n  mlu: {sdk: sim}\n") -> Path:
    path = tmp_path / "fl-gen.yaml"
    path.write_text(HEAD + rest)
    return path


def test_init_regen_and_again(run: Run, tmp_path: Path, base: Path) -> None:
    result = run("init", "mlu@sim")
    assert result == (0, "fl-gen.yaml: mlu\nnext  fl-gen regen    # makes what it names\n", "")
    written = (tmp_path / "fl-gen.yaml").read_text()
    assert f"generator: {__version__} " in written
    assert written.endswith("\n  mlu: {sdk: sim}\n")
    first = run("regen")
    assert (first.code, first.err) == (0, "")
    assert "mlu  simulated Neuware" in first.out
    assert snapshot(tmp_path / "generated") == snapshot(base / "generated")
    assert snapshot(tmp_path / "backends") == snapshot(base / "backends")
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for _ in range(3):
        again = run("regen")
        assert again.code == 0
        assert again.out.endswith(" files, nothing to do\n")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == times


def test_init_never_writes_over_a_file(run: Run, tmp_path: Path) -> None:
    for kind in ("file", "folder", "link"):
        path = tmp_path / "fl-gen.yaml"
        if kind == "file":
            path.write_text("mine")
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to("nowhere")
        assert run("init", "mlu@sim") == (
            2,
            "",
            "fl-gen.yaml: is there already, and init never writes over it\n"
            "  = edit it, or record a vendor in it: fl-gen backend VENDOR --sdk SDK --save\n",
        )
        assert kind != "file" or path.read_text() == "mine"
        path.rmdir() if kind == "folder" else path.unlink()


def test_init_takes_the_vendors_that_are_there(run: Run, tmp_path: Path, base: Path) -> None:
    (tmp_path / "generated").symlink_to(base / "generated")
    assert run("init").out.startswith("fl-gen.yaml: mlu\n")
    assert "  mlu: {sdk: sim:" in (tmp_path / "fl-gen.yaml").read_text()


INIT = {
    "vendor": (("mul",), "there is no vendor 'mul'\n  = did you mean 'mlu'?\n"),
    "licence": (("mlu", "--licence", "L"), "L: the licence cannot be read: No such file or directory\n"),
    "schemas": (("mlu", "--schemas", "s"), "s: no such schema folder\n"),
    "output": (("mlu", "-o", ".."), "it must stay inside the folder of this file"),
}


@pytest.mark.parametrize("case", INIT)
def test_init_refuses_what_regen_could_not_use(run: Run, tmp_path: Path, case: str) -> None:
    arguments, message = INIT[case]
    result = run("init", *arguments)
    assert (result.code, message in result.err) == (2, True), result.err
    assert not (tmp_path / "fl-gen.yaml").exists()


def test_regen_without_a_project(run: Run) -> None:
    assert run("regen") == (
        2,
        "",
        "there is no fl-gen.yaml in this folder\n"
        "  = fl-gen init writes one; name another with --config, or generate one vendor with fl-gen backend\n",
    )


@pytest.mark.parametrize("command", ["regen", "check", "diff"])
def test_in_a_folder_of_the_project_its_file_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    project(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    result = run(command)
    assert (result.code, "\n  = there is one above: --config ../../fl-gen.yaml; " in result.err) == (2, True)


def test_a_vendor_that_the_project_does_not_name(run: Run, tmp_path: Path) -> None:
    project(tmp_path)
    assert run("regen", "mul") == (
        2,
        "",
        "fl-gen.yaml: no vendor 'mul' in it\n  = did you mean 'mlu'?; fl-gen backend mul --save adds one\n",
    )
    for name, hint in (
        ("generated/mlu/src", "name the vendor, not its folder: mlu"),
        ("./generated/mlu/", "name the vendor, not its folder: mlu"),
        ("./", "vendors: mlu"),
    ):
        assert run("diff", name) == (2, "", f"fl-gen.yaml: no vendor '{name}' in it\n  = {hint}\n")


def test_folders_that_are_not_there_are_told_at_their_place(run: Run, tmp_path: Path) -> None:
    project(tmp_path, "schemas: [s]\ntemplates: [t]\nvendors:\n  mlu: {sdk: sim}\n")
    result = run("regen")
    assert (result.code, result.err) == (
        2,
        "fl-gen.yaml:4:11: there is no folder s\n    4 | schemas: [s]\n      |           ^\n"
        "  = make it, or remove the entry\n"
        "fl-gen.yaml:5:13: there is no folder t\n    5 | templates: [t]\n      |             ^\n"
        "  = make it, or remove the entry\n2 errors\n",
    )


def test_another_version_stops_until_it_is_told(run: Run, tmp_path: Path) -> None:
    path = project(tmp_path)
    path.write_text(path.read_text().replace(__version__, "0.0.1  # pinned"))
    result = run("regen")
    assert (result.code, result.err) == (
        2,
        f"fl-gen.yaml:2:12: the tree is made by fl-gen 0.0.1, and this is fl-gen {__version__}\n"
        "    2 | generator: 0.0.1  # pinned\n      |            ^~~~~\n"
        "  = install that one (pip install fl-gen==0.0.1),\n"
        "  = or make the tree anew with this one: fl-gen regen --upgrade\n"
        "  = (fl-gen diff --upgrade shows what that changes)\n",
    )
    assert run("check").code == 2
    assert not (tmp_path / "generated").exists()
    assert run("diff", "--upgrade").code == 1
    said = f"fl-gen.yaml: generator: 0.0.1 -> {__version__}\n"
    assert run("regen", "--upgrade", "--dry-run").out.endswith(f"; nothing was written\n{said}")
    assert run("regen", "--upgrade").out.endswith(said)
    assert path.read_text() == HEAD.replace(__version__, f"{__version__}  # pinned") + "vendors:\n  mlu: {sdk: sim}\n"
    assert run("check").code == 0


def test_a_later_vendor_that_is_refused_leaves_the_earlier_one(run: Run, tmp_path: Path) -> None:
    project(tmp_path, "formatter: none\nvendors:\n  mlu: {sdk: sim:6.0}\n  maca: {sdk: sim}\n")
    assert run("regen", "--jobs", "1").code == 0
    project(tmp_path, "formatter: none\nvendors:\n  mlu: {sdk: sim:6.14}\n  maca: {sdk: sim}\n")
    edited = tmp_path / "generated" / "maca" / "src" / "backend.cc"
    edited.write_text(edited.read_text() + "// mine\n")
    before = snapshot(tmp_path)
    result = run("regen")
    assert (result.code, "  generated/maca/src/backend.cc\n" in result.err) == (2, True), result.err
    assert snapshot(tmp_path) == before
    edited.write_text(edited.read_text().replace("// mine\n", ""))
    project(tmp_path, "formatter: none\nvendors:\n  mlu: {sdk: sim:6.14}\n  maca: {sdk: sim:9.9}\n")
    before = snapshot(tmp_path)
    result = run("regen")
    assert result.code == 2
    assert "9.9" in result.err
    assert snapshot(tmp_path) == before


def test_a_swap_that_fails_is_undone_for_those_before_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a kill between two swaps is seen by whoever reads the trees, and undone by the next run that writes."""
    project(tmp_path, "formatter: none\nvendors:\n  mlu: {sdk: sim:6.0}\n  ascend: {sdk: sim:8.0}\n")
    assert run("regen").code == 0
    project(tmp_path, "formatter: none\nvendors:\n  mlu: {sdk: sim:6.14}\n  ascend: {sdk: sim:9.1}\n")
    before = snapshot(tmp_path)
    swap, swapped = publishing.swap_in, []

    def fail_second(target: Path) -> None:
        if swapped:
            raise OSError(5, "Input/output error", str(target))
        swapped.append(target)
        swap(target)

    monkeypatch.setattr(publishing, "swap_in", fail_second)
    result = run("regen")
    assert (result.code, "Input/output error" in result.err) == (2, True), result.err
    assert snapshot(tmp_path) == before

    def die_second(target: Path) -> None:
        if len(swapped) > 1:
            os._exit(9)
        swapped.append(target)
        swap(target)

    monkeypatch.setattr(publishing, "swap_in", die_second)
    child = os.fork()
    if child == 0:
        run("regen", "--jobs", "1")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.setattr(publishing, "swap_in", swap)
    swapped_one = snapshot(tmp_path)
    said = (
        "generated/.fl-gen-journal: a run was stopped while it put its trees in place: some are new, some are old\n"
        "  = run fl-gen regen or fl-gen backend, which put the old ones back before they begin\n"
    )
    readers = [
        ("check",),
        ("check", "-o", tmp_path),
        ("diff", "mlu"),
        ("explain", "generated/mlu/CMakeLists.txt"),
        ("regen", "--dry-run"),
        ("backend", "mlu", "--sdk", "sim", "--no-config", "--dry-run"),
    ]
    for command in readers:
        assert run(*command) == (2, "", said), command
    assert snapshot(tmp_path) == swapped_one != before
    # One vendor alone: the other is the old one again, not the half of a project.
    assert run("backend", "mlu", "--sdk", "sim:6.14", "--no-format").code == 0
    assert snapshot(tmp_path / "generated" / "ascend") == {
        path.removeprefix("generated/ascend/"): value
        for path, value in before.items()
        if path.startswith("generated/ascend/")
    }
    assert run("regen").code == 0
    assert run("check").code == 0
    assert [path.name for path in (tmp_path / "generated").iterdir() if path.name.startswith(".")] == []


def test_errors_of_all_vendors_at_once_and_each_once(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s" / "frameworks" / "infinitrain").mkdir(parents=True)
    (tmp_path / "s" / "frameworks" / "infinitrain" / "interface.yaml").write_text("schema: 1\nnope: 1\n")
    project(
        tmp_path,
        "schemas: [s]\nvendors:\n  mlu: {sdk: sim}\n  maca: {sdk: sim}\n  dcu: {sdk: sim}\n  xpu: {sdk: sim}\n",
    )
    alone = run("regen", "mlu")
    together = run("regen", "--jobs", "2")
    assert (alone.code, together.code) == (2, 2)
    assert together.err == alone.err


def test_processes_make_the_same_bytes(run: Run, tmp_path: Path) -> None:
    rest = "formatter: none\nvendors:\n" + "".join(
        f"  {name}: {{sdk: sim}}\n" for name in ("mlu", "maca", "dcu", "xpu")
    )
    project(tmp_path, rest)
    assert run("regen", "--jobs", "2").code == 0
    before = snapshot(tmp_path / "generated")
    assert run("regen", "--jobs", "1", "--overwrite").code == 0
    assert snapshot(tmp_path / "generated") == before


def test_an_answer_is_kept_only_while_all_is_as_it_was(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t" / "infinitrain").mkdir(parents=True)
    path = project(tmp_path, "templates: [t]\nvendors:\n  mlu: {sdk: sim}\n")
    for _ in range(2):
        assert run("regen").code == 0
    start = time.monotonic()
    assert run("regen").code == 0
    assert time.monotonic() - start < 0.5
    backend = tmp_path / "generated" / "mlu" / "src" / "backend.cc"
    text = backend.read_text()
    backend.write_text(text + "\n")
    assert run("regen").code == 2
    backend.write_text(text)
    assert run("regen").code == 0
    backend.unlink()
    assert "1 create" in run("regen").out
    (tmp_path / "t" / "infinitrain" / "x.txt.j2").write_text("x\n")
    assert "1 create" in run("regen").out
    once = tmp_path / "backends" / "mlu" / "CMakeLists.txt"
    once.unlink()
    assert "created CMakeLists.txt" in run("regen").out
    path.write_text(path.read_text() + "formatter: none\n")
    assert " update" in run("regen").out


def test_a_vendor_that_left(run: Run, tmp_path: Path) -> None:
    project(tmp_path, "vendors:\n  mlu: {sdk: sim}\n  dcu: {sdk: sim}\n")
    assert run("regen").code == 0
    foreign = tmp_path / "generated" / "dcu" / "notes.txt"
    foreign.write_text("mine")
    edited = tmp_path / "generated" / "dcu" / "src" / "backend.cc"
    text = edited.read_text()
    edited.write_text(text + "// mine\n")
    project(tmp_path)
    backends = snapshot(tmp_path / "backends")
    said = run("regen")
    assert (said.code, said.err) == (
        0,
        "generated/dcu: made for a vendor that fl-gen.yaml does not name; --prune removes it\n",
    )
    refused = run("regen", "--prune")
    assert (refused.code, "  generated/dcu/src/backend.cc\n" in refused.err) == (2, True)
    edited.write_text(text)
    dry = run("regen", "--prune", "--dry-run").out
    assert "stale     generated/dcu/src/backend.cc\n" in dry
    assert dry.endswith(" to change; nothing was written\n")
    result = run("regen", "--prune")
    count = dry.count(" generated/dcu/")
    assert (result.code, result.out.splitlines()[-1]) == (
        0,
        f"dcu: removed {count} files from generated/dcu; backends/dcu is yours and stays",
    )
    assert snapshot(tmp_path / "generated" / "dcu") == {"notes.txt": b"mine"}
    assert snapshot(tmp_path / "backends") == backends
    foreign.unlink()
    assert run("check").code == 0


def test_a_vendor_that_left_with_edits_that_stay(run: Run, tmp_path: Path) -> None:
    project(tmp_path, "vendors:\n  mlu: {sdk: sim}\n  dcu: {sdk: sim}\n")
    assert run("regen").code == 0
    dcu = tmp_path / "generated" / "dcu"
    first, second = dcu / "src" / "backend.cc", dcu / "CMakeLists.txt"
    first.write_text(first.read_text() + "// mine\n")
    assert run("regen", "--keep").code == 0  # decided while it was generated
    second.write_text(second.read_text() + "# mine\n")
    edits = {"src": "folder", "src/backend.cc": first.read_bytes(), "CMakeLists.txt": second.read_bytes()}
    project(tmp_path)
    mlu = tmp_path / "generated" / "mlu" / "src" / "backend.cc"
    mlu.unlink()
    refused = run("regen", "--prune")
    assert (refused.code, refused.out) == (2, "")
    assert "\n  generated/dcu/CMakeLists.txt\n" in refused.err
    assert not mlu.exists()  # what stops one leaves all as they are
    result = run("regen", "--prune", "--merge")
    assert (result.code, result.err) == (0, "")
    head, *kept = result.out.splitlines()[-3:]
    assert head.startswith("dcu: removed ")
    assert kept == [
        "     kept generated/dcu/CMakeLists.txt, which you edited",
        "     kept generated/dcu/src/backend.cc, which you edited",
    ]
    assert snapshot(dcu) == edits
    assert mlu.exists()
    assert run("check").code == 0


@pytest.mark.parametrize("key", ["licence: {}", "schemas: [{}]", "templates: [{}]"])
def test_what_a_run_makes_is_not_what_it_reads(run: Run, tmp_path: Path, key: str) -> None:
    place = tmp_path / "generated" / "mlu" / "own"
    place.mkdir(parents=True)
    (place / "text").write_text("a licence\n")
    name = "generated/mlu/own/text" if key.startswith("licence") else "generated/mlu/own"
    project(tmp_path, f"{key.format(name)}\nvendors:\n  mlu: {{sdk: sim}}\n")
    line = (tmp_path / "fl-gen.yaml").read_text().splitlines().index(key.format(name)) + 1
    column = key.index("{") + 1
    for command in ("regen", "check", "diff"):
        result = run(command)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"fl-gen.yaml:{line}:{column}: {name} lies in generated, which fl-gen makes\n")
        assert result.err.endswith("\n  = put it beside that folder\n")


def test_a_dry_run_writes_nothing(run: Run, tmp_path: Path) -> None:
    project(tmp_path)
    result = run("regen", "--dry-run")
    assert result.code == 0
    assert "create    generated/mlu/src/backend.cc\n" in result.out
    assert not (tmp_path / "generated").exists()


def test_backend_saves_its_arguments(run: Run, tmp_path: Path) -> None:
    result = run("backend", "mlu", "--sdk", "sim:6.14", "--require", "ccl", "--save")
    assert (result.code, "fl-gen.yaml\n" in result.out) == (0, True)
    path = tmp_path / "fl-gen.yaml"
    assert path.read_text().endswith("  mlu: {sdk: sim:6.14, require: [ccl]}\n")
    path.write_text(path.read_text() + "  # mine\n")
    assert run("backend", "dcu", "--sdk", "sim", "--save").code == 0
    assert path.read_text().endswith("  mlu: {sdk: sim:6.14, require: [ccl]}\n  dcu: {sdk: sim}\n  # mine\n")
    assert run("check").code == 0


def test_what_a_project_says_once_is_not_saved_twice(run: Run, tmp_path: Path) -> None:
    path = project(tmp_path, "formatter: clang-format\nvendors:\n")
    before = path.read_text()
    result = run("backend", "mlu", "--sdk", "sim", "--no-format", "--save")
    assert (result.code, result.err) == (
        2,
        "fl-gen.yaml:4:12: the project has formatter: clang-format, and this run none\n"
        "    4 | formatter: clang-format\n      |            ^\n"
        "  = change the file, or run without --save\n",
    )
    assert path.read_text() == before
    assert not (tmp_path / "generated").exists()
    assert run("backend", "mlu", "--sdk", "sim", "--save", "--dry-run").code == 2


def test_one_decision_about_hand_edits(run: Run, tmp_path: Path) -> None:
    project(tmp_path)
    result = run("regen", "--keep", "--merge")
    assert (result.code, "--keep and --merge exclude each other: choose one" in result.err) == (2, True)


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(run: Run, tmp_path: Path) -> None:
    path = project(tmp_path, "formatter: none\nvendors:\n  mlu: {sdk: sim}\n")
    for _ in range(2):
        assert run("regen").code == 0
    made = tmp_path / "generated" / "mlu" / "src" / "backend.cc"
    made.unlink()
    os.mkfifo(made)
    result = run("regen")
    assert (result.code, "generated/mlu/src/backend.cc: fl-gen needs a file here" in result.err) == (2, True), (
        result.err
    )
    path.unlink()
    os.mkfifo(path)
    assert run("regen") == (
        2,
        "",
        "fl-gen.yaml:1:1: this is not a regular file\n    1 |\n      | ^\n  = put a YAML file in its place\n",
    )
