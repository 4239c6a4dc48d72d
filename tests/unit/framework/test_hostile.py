"""Trees that are none, and files that no person wrote: one message and exit code 2, never a wrong verdict."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fl_gen.schema.catalog import Catalog
from fl_gen.tasks import framework_pool, framework_tree
from fl_gen.tasks.framework_check import CheckRequest, check_framework
from fl_gen.tasks.framework_pool import WorkerDied, Workers
from fl_gen.tasks.framework_tree import blank_launches, open_tree
from fl_gen.tasks.framework_values import NoVerdict

from .conftest import CALLS, KERNELS, Files, call, infinitrain, needs_headers


def stopped(tree: Path | str) -> str:
    """The message of a check that gives no verdict."""
    result = call("framework", "check", "infinitrain", "--source", tree)
    assert (result.code, result.out) == (2, "")
    return result.err


def test_no_tree(tmp_path: Path) -> None:
    assert stopped(tmp_path / "none") == (
        f"--source {tmp_path / 'none'} does not exist\n  = name the folder of a checkout of InfiniTrain\n"
    )


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert stopped(tmp_path / "file") == (
        f"--source {tmp_path / 'file'} is a file, not a folder\n  = name the folder of a checkout of InfiniTrain\n"
    )


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert stopped(tmp_path / "loop") == (
        f"--source {tmp_path / 'loop'} is a symbolic link that leads back to itself\n  = repair the link\n"
    )


def test_another_project(tmp_path: Path) -> None:
    (tmp_path / "infini_train").mkdir()
    assert stopped(tmp_path) == (
        f"--source {tmp_path} is no checkout of InfiniTrain: it has no infini_train/include/common/common.h and 17 more\n"
        "  = name the folder that holds infini_train/include/common/common.h\n"
    )


def test_another_framework(tmp_path: Path) -> None:
    result = call("framework", "check", "infinitrian", "--source", tmp_path)
    assert result.code == 2
    assert "did you mean 'infinitrain'?" in result.err


def test_headers_of_others_that_are_missing(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(tmp_path)
    monkeypatch.setattr(
        framework_tree, "_found", lambda header, folders: header not in ("glog/logging.h", "Eigen/Dense")
    )
    assert stopped(tmp_path) == (
        "InfiniTrain cannot be read here: no include folder has glog/logging.h, Eigen/Dense\n"
        "  = install libgoogle-glog-dev libeigen3-dev, or name its prefix in CMAKE_PREFIX_PATH\n"
    )


def test_no_compiler(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(tmp_path)
    monkeypatch.setenv("FL_GEN_RESOURCE_HEADERS", "minimal")
    assert stopped(tmp_path) == (
        "a framework's sources include the C++ standard library, and this machine has no headers of one\n"
        "  = install a C++ compiler: g++\n"
    )


@needs_headers
def test_a_header_that_does_not_parse(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    header = "infini_train/include/core/ccl/ccl.h"
    files.files[header] = files.files[header].replace("class CclImpl {", "class CclImpl : public Missing {")
    files.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    message = stopped(".")
    place = files.at(header, "class CclImpl : public Missing {", "Missing")
    assert message.startswith(f"{place}: expected class name\n  = this header cannot be read, so nothing was checked")


@needs_headers
def test_files_that_no_person_wrote(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(framework_tree, "MAX_BYTES", 1 << 17)
    source = tmp_path / "infini_train" / "src"
    (source / "huge.cc").write_text("// REGISTER_KERNEL\n" + "int x;\n" * 30_000)
    (source / "loop").symlink_to(source)
    (source / "dangling.cc").symlink_to("nowhere.cc")
    (source / "self.cc").symlink_to("self.cc")
    (source / "folder.cc").mkdir()
    (source / "bytes.cc").write_bytes(b"\xff\xfe Dispatcher \x00 (((((( {{{{ <<< \n")
    (source / "garbage.cu").write_text(
        '#include "infini_train/include/dispatcher.h"\nREGISTER_KERNEL(a,\n<<<>>><<<\n#define'
    )
    os.mkfifo(source / "pipe.cc")
    result = check_framework(CheckRequest("infinitrain", Path()))
    assert result.findings == ()
    unjudged = {(one.place.file, one.what): one.why for one in result.unjudged}
    assert unjudged["infini_train/src/huge.cc", "the source"] == "larger than 0 MiB"
    assert ("infini_train/src/garbage.cu", "the registration") in unjudged
    assert result.sources == 4  # kernels, calls, bytes and garbage
    assert result.calls == 3


def test_a_worker_that_dies_takes_nothing_with_it() -> None:
    with Workers(2) as workers:
        calls = [workers.submit(os.path.basename, "a/b"), workers.submit(os._exit, 9), workers.submit(os.abort)]
        assert calls[0].result() == "b"
        for one in calls[1:]:
            with pytest.raises(WorkerDied):
                one.result()
        assert workers.submit(os.path.basename, "c/d").result() == "d"


def test_what_a_worker_raises() -> None:
    with Workers(1) as workers:
        with pytest.raises(NoVerdict, match="does not exist"):
            workers.submit(open_tree, "/nowhere", infinitrain().interface).result()
        with pytest.raises(NoVerdict, match="there is no framework 'none'"):
            workers.submit(Catalog.framework, Catalog(), "none").result()
        with pytest.raises(NoVerdict, match=r"^internal error: TypeError: .*\n  = this is a fault of fl-gen"):
            workers.submit(os.path.basename, 7).result()


def test_workers_end_with_their_owner() -> None:
    with Workers(1) as workers:
        sleeping = workers.submit(time.sleep, 60)
        time.sleep(0.3)
    with pytest.raises(WorkerDied):
        sleeping.result()


MORTAL = """
import os
from fl_gen.tasks.framework_units import read_unit

def read(job, file):
    if file.endswith("calls.cc"):
        os.abort()
    return read_unit(job, file)
"""


@needs_headers
def test_a_source_that_ends_libclang(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fl_gen.tasks.framework_check._MANY", 1)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])  # workers have the path of this process
    (tmp_path / "mortal.py").write_text(MORTAL)
    monkeypatch.setattr("fl_gen.tasks.framework_check.read_unit", importlib.import_module("mortal").read)
    result = check_framework(CheckRequest("infinitrain", Path(), jobs=2))
    assert [(one.place.file, one.why) for one in result.unjudged] == [(CALLS, "libclang died while it read this file")]
    assert result.findings == ()
    assert result.registered == {"kCPU": len(infinitrain().ops)}


def test_too_many_files(tmp_path: Path, files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(tmp_path)
    monkeypatch.setattr(framework_tree, "_MAX_FILES", 3)
    monkeypatch.setattr(framework_tree, "_require", lambda *_: None)
    with pytest.raises(NoVerdict, match="more than 3 files below infini_train"):
        open_tree(tmp_path, infinitrain().interface)


def test_kernel_launches_are_blanked_in_place() -> None:
    text = "Kernel<T><<<grid,\n  block>>>(a, b);\nx << y >> z;"
    blanked = blank_launches(text)
    assert blanked == "Kernel<T>" + " " * 8 + "\n" + " " * 10 + "(a, b);\nx << y >> z;"
    assert [len(line) for line in blanked.split("\n")] == [len(line) for line in text.split("\n")]


def test_an_interface_that_does_not_say_how_to_read(tmp_path: Path) -> None:
    from dataclasses import replace

    with pytest.raises(NoVerdict, match="no section 'checkout' says how to read InfiniTrain's sources"):
        open_tree(tmp_path, replace(infinitrain().interface, checkout=None))


def test_the_sources_of_the_sound_tree_are_found(tmp_path: Path, files: Files) -> None:
    files.files["infini_train/src/other.cc"] = "// REGISTER_KERNEL and Dispatcher stand in a comment only\nint x;\n"
    files.files["infini_train/src/wrapped.cc"] = "REGISTER_ALL(x)\n"
    files.files["infini_train/include/all.h"] = "#define REGISTER_ALL(x) \\\n    REGISTER_KERNEL(x, x, x)\n"
    files.write(tmp_path)
    tree = open_tree(tmp_path, infinitrain().interface)
    names = [os.path.relpath(path, tmp_path) for path in tree.sources]
    assert names == ["infini_train/include/all.h", CALLS, KERNELS, "infini_train/src/wrapped.cc"]
    assert tree.macros == {"REGISTER_KERNEL", "REGISTER_CPU_KERNEL", "REGISTER_ALL"}


@pytest.mark.parametrize(
    ("function", "arguments", "said"),
    [
        (time.sleep, (600,), "libclang was stopped after 1.5 s"),
        (sum, (range(10**12),), "libclang was stopped after 1 s of processor time"),
        (os._exit, (7,), "libclang died"),
    ],
    ids=["waits", "works", "dies"],
)
def test_a_call_has_only_so_much_time(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], arguments: tuple[Any, ...], said: str
) -> None:
    monkeypatch.setattr(framework_pool, "PROCESSOR_SECONDS", 1)
    monkeypatch.setattr(framework_pool, "WALL_SECONDS", 1.5 if function is time.sleep else 60.0)
    with Workers(1) as workers:
        with pytest.raises(WorkerDied) as caught:
            workers.submit(function, *arguments).result()
        assert caught.value.what == said
        monkeypatch.setattr(framework_pool, "WALL_SECONDS", 60.0)
        assert workers.submit(abs, -3).result() == 3  # another worker goes on
