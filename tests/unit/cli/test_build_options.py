"""What a build system asks of `backend` and `regen`: inputs, a stamp, and the list of outputs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.paths import data_dir
from unit.cli.conftest import Run, snapshot

PACKAGE = Path(__file__).resolve().parents[3] / "codegen" / "fl_gen"
COMBINED = "cannot be combined with --depfile, --stamp, --outputs or --list-outputs"


def watched(depfile: Path) -> set[str]:
    """The inputs of a depfile whose paths hold no `$` and no backslash."""
    rule = depfile.read_text().replace("\\\n", "").split("\n", 1)[0].partition(": ")[2]
    return {part.replace("\0", " ") for part in rule.replace("\\ ", "\0").split()}


def times(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}


@pytest.fixture
def sdk(tmp_path: Path) -> Path:
    """The headers of the simulated SDK as files, as those of an installed SDK are."""
    catalog = Catalog()
    path = catalog.api_path("mlu")
    assert path is not None
    folder = tmp_path / "the sdk"
    for name, text in render_headers(load_api(path, catalog.folders), "").items():
        (folder / "include" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "include" / name).write_text(text)
    return folder


def test_the_list_is_what_is_made_and_nothing_is_written(run: Run, tree: Path, tmp_path: Path) -> None:
    result = run("backend", "mlu", "--sdk", "sim", "-o", "new", "--list-outputs")
    assert (result.code, result.err) == (0, "")
    assert not (tmp_path / "new").exists()
    made = {path for path in (tree / "generated").rglob("*") if path.is_file() and ".fl-gen" not in path.parts}
    assert result.out.splitlines() == sorted(str(Path("new") / path.relative_to(tree)) for path in made)
    cmake = run("backend", "mlu", "--sdk", "sim", "-o", "new", "--list-outputs", "--list-format", "cmake")
    assert cmake.out == result.out.strip().replace("\n", ";")


def test_a_build_that_has_nothing_to_do_moves_the_stamp_alone(run: Run, tree: Path) -> None:
    build = ("--depfile", tree / "b/x.d", "--stamp", tree / "b/x.stamp", "--outputs", tree / "b/list")
    command = ("backend", "mlu", "--sdk", "sim", "-o", tree, *build)
    assert run(*command).out == ""
    for path in (tree / "b").iterdir():
        os.utime(path, ns=(10**18, 10**18))
    before = times(tree)
    result = run(*command)
    assert (result.code, result.out, result.err) == (0, "", "")
    after = times(tree)
    assert {path for path in after if before.get(path) != after[path]} == {str(tree / "b/x.stamp")}
    assert before.keys() == after.keys()


def test_a_build_says_in_a_line_what_changed(run: Run, tree: Path) -> None:
    (tree / "generated/mlu/src/backend.cc").unlink()
    (tree / "backends/mlu/kernels.yaml").unlink()
    result = run("backend", "mlu", "--sdk", "sim", "-o", tree, "--stamp", tree / "x.stamp")
    generated, backends = os.path.relpath(tree / "generated/mlu"), os.path.relpath(tree / "backends/mlu")
    assert result.out == f"fl-gen: {generated}: 1 create\nfl-gen: {backends}: created kernels.yaml\n"


def test_no_stamp_when_the_run_stops(run: Run, tree: Path) -> None:
    with open(tree / "generated/mlu/src/backend.cc", "a") as file:
        file.write("// mine\n")
    result = run(*("backend", "mlu", "--sdk", "sim", "-o", tree, "--depfile", "x.d", "--stamp", "x.stamp"))
    assert result.code == 2
    assert "changed by hand" in result.err
    assert not Path("x.d").exists()
    assert not Path("x.stamp").exists()


def test_no_stamp_while_a_merge_is_left_to_a_person(run: Run, tree: Path, tmp_path: Path) -> None:
    path = tree / "generated/mlu/CMakeLists.txt"
    path.write_text(
        path.read_text().replace("cmake_minimum_required(VERSION 3.28)", "cmake_minimum_required(VERSION 4)")
    )
    template = (data_dir() / "templates/infinitrain/CMakeLists.txt.j2").read_text()
    own = tmp_path / "own" / "infinitrain" / "CMakeLists.txt.j2"
    own.parent.mkdir(parents=True)
    own.write_text(template.replace("cmake_minimum_required(VERSION 3.28)", "cmake_minimum_required(VERSION 3.30)"))
    result = run(
        *("backend", "mlu", "--sdk", "sim", "-o", tree, "--templates", tmp_path / "own", "--merge"),
        *("--depfile", "x.d", "--stamp", "x.stamp"),
    )
    assert result.code == 1
    assert f"fl-gen: {os.path.relpath(path)}: 1 conflict to resolve\n" in result.out
    assert not Path("x.stamp").exists()
    assert not Path("x.d").exists()


def test_what_is_watched(run: Run, sdk: Path, tmp_path: Path) -> None:
    """Everything that decides, the folders in which something new would, and nothing of the compiler's."""
    own, templates = tmp_path / "own schemas", tmp_path / "own templates"
    (own / "frameworks/infinitrain/ops").mkdir(parents=True)
    sigmoid = own / "frameworks/infinitrain/ops/sigmoid.yaml"
    sigmoid.write_text((data_dir() / "schemas/frameworks/infinitrain/ops/sigmoid.yaml").read_text())
    (templates / "infinitrain/src").mkdir(parents=True)
    (templates / "infinitrain/src/note.cc.j2").write_text("int note();\n")
    Path("LICENCE").write_text("Ours.\n")
    result = run(
        *("backend", "mlu", "--sdk", sdk, "--schemas", own, "--templates", templates, "-o", "out"),
        *("--licence", "LICENCE", "--depfile", "x.d", "--stamp", "x.stamp"),
    )
    assert result.code == 0, result.err
    found = watched(Path("x.d"))
    shipped = data_dir()
    files = {
        sigmoid,
        templates / "infinitrain/src/note.cc.j2",
        tmp_path / "LICENCE",
        tmp_path / "out/backends/mlu/kernels.yaml",
        shipped / "schemas/runtime.yaml",
        shipped / "schemas/vendors/mlu/vendor.yaml",
        shipped / "schemas/frameworks/infinitrain/interface.yaml",
        shipped / "schemas/frameworks/infinitrain/ops/elementwise.yaml",
        *(path for path in (shipped / "templates/infinitrain").rglob("*.j2")),
        *(path for path in (sdk / "include").rglob("*.h")),
        *PACKAGE.rglob("*.py"),
    }
    assert {str(path) for path in files} - found == set()
    folders = {
        *(own, own / "frameworks/infinitrain/ops", templates, templates / "infinitrain", templates / "infinitrain/src"),
        *(sdk, sdk / "include", shipped / "schemas/frameworks/infinitrain/ops", shipped / "templates/infinitrain"),
    }
    assert {str(path) for path in folders} - found == set()
    # Replaced by the overlay, and data of a simulated SDK that is not used.
    assert str(shipped / "schemas/frameworks/infinitrain/ops/sigmoid.yaml") not in found
    assert str(shipped / "schemas/vendors/mlu/api.yaml") not in found
    libraries = {path for path in found if "site-packages" in Path(path).parts}
    roots = (str(tmp_path), str(shipped), str(PACKAGE))
    assert {path for path in found - libraries if not path.startswith(roots)} == set()
    # black is one of them where PyTorch packages are made.
    needed = {"jinja2", "markupsafe", "yaml", "clang", "clang_format"}
    assert {Path(path).parent.name for path in libraries} - {"black"} == needed
    assert str(tmp_path / "out") not in found
    assert str(tmp_path / "out/generated/mlu") not in found


def test_a_simulated_sdk_is_what_its_data_says(run: Run, tree: Path) -> None:
    run("backend", "mlu", "--sdk", "sim", "-o", tree, "--depfile", "x.d", "--stamp", "x.stamp")
    assert str(data_dir() / "schemas/vendors/mlu/api.yaml") in watched(Path("x.d"))


def test_regen_does_the_same(run: Run, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    assert run("backend", "mlu", "--sdk", "sim", "--save").code == 0
    listed = run("regen", "--list-outputs")
    assert "generated/mlu/manifest.json" in listed.out.splitlines()
    result = run("regen", "mlu", "--depfile", "b/x.d", "--stamp", "b/x.stamp", "--outputs", "b/list")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert Path("b/list").read_text() == listed.out
    found = watched(Path("b/x.d"))
    assert {str(tree / "fl-gen.yaml"), str(tree / "backends/mlu/kernels.yaml")} <= found
    assert Path("b/x.stamp").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--depfile", "x.d"), "--depfile needs --stamp: the stamp is the target that the depfile names"),
        (("--stamp", "x", "--outputs", "x"), "--depfile, --stamp and --outputs must be three different files"),
        (
            ("--list-outputs", "--stamp", "x"),
            "--list-outputs writes nothing: leave out --depfile, --stamp and --outputs",
        ),
        (("--dry-run", "--stamp", "x"), f"--dry-run {COMBINED}"),
        (("--dry-run", "--list-outputs"), f"--dry-run {COMBINED}"),
        (("--stamp", ""), "name a file that the build can find again"),
        (("--depfile", "-", "--stamp", "x"), "name a file that the build can find again"),
        (("--stamp", "generated/mlu/src/backend.cc"), "it lies in generated/mlu\n  = put it into the build folder"),
        (("--outputs", "backends/mlu/kernels.yaml"), "it lies in backends/mlu\n  = put it into the build folder"),
    ],
)
def test_options_that_do_not_go_together(run: Run, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    result = run("backend", "mlu", "--sdk", "sim", *options)
    assert result.code == 2
    assert message in result.err
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize("option", ["--stamp", "--outputs", "--depfile"])
@pytest.mark.parametrize("how", ["as it is", "by a link"])
def test_what_a_run_reads_is_not_written_over(run: Run, tmp_path: Path, option: str, how: str) -> None:
    assert run("init", "mlu@sim").code == 0
    text = Path("fl-gen.yaml").read_text()
    name = "fl-gen.yaml"
    if how == "by a link":
        name = "link"
        Path(name).symlink_to("fl-gen.yaml")
    more = ("--stamp", "b/stamp") if option != "--stamp" else ()
    result = run("regen", option, name, *more)
    assert (result.code, result.err) == (
        2,
        f"{option} {name}: fl-gen reads this file\n  = put it into the build folder\n",
    )
    assert Path("fl-gen.yaml").read_text() == text
    assert not Path("b/stamp").exists()


def test_the_cmake_module_is_found(run: Run) -> None:
    result = run("--cmake-dir")
    assert (result.code, result.err) == (0, "")
    assert (Path(result.out.strip()) / "FlGen.cmake").is_file()
