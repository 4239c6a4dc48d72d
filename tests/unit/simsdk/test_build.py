"""Simulated SDKs built, linked and run; what a build refuses and what it says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fl_gen.output.simbuild import RECORD, SimBuild, SimBuildError, SimBuildOptions, build_sim_sdk, engine_dir
from fl_gen.render.simheaders import function_name
from fl_gen.render.simsdk import render_sim_sdk

from .conftest import HERE, api_of

COMPILER = next((name for name in ("g++", "clang++", "c++") if shutil.which(name)), "g++")
LIBRARIES = {
    "mlu": ("cncl", "cnnl", "cnrt"),
    "maca": ("mccl", "mcblas", "mcruntime"),
    "ascend": ("hccl", "opapi", "nnopbase", "ascendcl"),
}


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the whole run when it has one, so that the engine is compiled once."""
    shared = os.environ.get("FL_GEN_CACHE_DIR")
    return Path(shared) if shared else tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy: nobody changes it while the tests run."""
    copy = tmp_path_factory.mktemp("engine") / "simulator"
    shutil.copytree(engine_dir(), copy, ignore=shutil.ignore_patterns("tests", "build*"))
    return copy


@pytest.fixture(scope="session")
def mlu(tmp_path_factory: pytest.TempPathFactory, cache: Path, engine: Path) -> SimBuild:
    """Built with CMake."""
    options = SimBuildOptions(cache=cache, tool="cmake")
    return build_sim_sdk(api_of("mlu"), None, tmp_path_factory.mktemp("sdk") / "mlu", options, engine)


@pytest.fixture(scope="session")
def maca(tmp_path_factory: pytest.TempPathFactory, cache: Path, engine: Path) -> SimBuild:
    """Built with the compiler alone; the engine comes from the cache that the other build filled."""
    options = SimBuildOptions(cache=cache, tool="compiler", keep_sources=False)
    return build_sim_sdk(api_of("maca"), None, tmp_path_factory.mktemp("sdk") / "maca", options, engine)


@pytest.fixture(scope="session")
def ascend(tmp_path_factory: pytest.TempPathFactory, cache: Path, engine: Path) -> SimBuild:
    """Built with the compiler alone, as maca: four libraries, two of which share the tensors of operators."""
    options = SimBuildOptions(cache=cache, tool="compiler", keep_sources=False)
    return build_sim_sdk(api_of("ascend"), None, tmp_path_factory.mktemp("sdk") / "ascend", options, engine)


def run_smoke(vendor: str, build: SimBuild, scratch: Path) -> subprocess.CompletedProcess[str]:
    """Compile and run smoke_<vendor>.cc as a user's program would be."""
    library = build.root / api_of(vendor).layout["library"]
    program = scratch / "smoke"
    command = [COMPILER, "-std=c++20", "-O0", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
    command += ["-isystem", str(build.root / "include"), str(HERE / f"smoke_{vendor}.cc"), "-o", str(program)]
    command += [f"-L{library}", *(f"-l{name}" for name in LIBRARIES[vendor]), f"-Wl,-rpath,{library}"]
    subprocess.run(command, check=True)
    environment = {**os.environ, "FL_SIM_QUIET": "1", "FL_SIM_LEAKS": "fail", "FL_SIM_DEVICES": "2"}
    return subprocess.run([program], env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_a_program_runs_on_the_mlu_sdk(mlu: SimBuild, tmp_path: Path) -> None:
    result = run_smoke("mlu", mlu, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_program_runs_on_the_maca_sdk(maca: SimBuild, tmp_path: Path) -> None:
    result = run_smoke("maca", maca, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_program_runs_on_the_ascend_sdk(ascend: SimBuild, tmp_path: Path) -> None:
    result = run_smoke("ascend", ascend, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_folder_is_laid_out_as_the_vendors(mlu: SimBuild, maca: SimBuild) -> None:
    assert sorted(path.name for path in (mlu.root / "lib64").glob("*.so")) == ["libcncl.so", "libcnnl.so", "libcnrt.so"]
    assert sorted(path.name for path in (mlu.root / "include").iterdir()) == ["cncl.h", "cnnl.h", "cnrt.h"]
    assert (maca.root / "lib" / "libmcruntime.so").is_file()
    assert (maca.root / "include" / "mcr" / "mc_runtime.h").is_file()
    assert not (maca.root / "src").exists()
    assert json.loads((mlu.root / RECORD).read_text())["version"] == "6.14.1"
    leftovers = [path for path in mlu.root.parent.iterdir() if path.name.startswith(".")]
    assert leftovers == []


def test_libraries_find_each_other_wherever_the_folder_is(mlu: SimBuild, maca: SimBuild) -> None:
    for library in (mlu.root / "lib64" / "libcncl.so", maca.root / "lib" / "libmccl.so"):
        dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
        assert re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic) == ["$ORIGIN"]


@pytest.mark.parametrize("vendor", ["mlu", "maca", "ascend"])
def test_libraries_export_every_declared_function(vendor: str, request: pytest.FixtureRequest) -> None:
    build: SimBuild = request.getfixturevalue(vendor)
    api = api_of(vendor)
    now = api.at(api.find_version(None))
    for library in now.libraries:
        path = build.root / api.layout["library"] / f"lib{library.name}.so"
        listing = subprocess.run(
            ["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True
        ).stdout
        exported = set(re.findall(r" T (\w+)$", listing, re.MULTILINE))
        declared = {
            function_name(item.text)
            for header in now.headers
            if header.library == library.name
            for item in header.items()
            if item.kind == "function" and item.define
        }
        assert declared <= exported, sorted(declared - exported)
        assert ("fl_process_lifetime_object" in exported) == (library.name == now.libraries[0].name)


@pytest.mark.parametrize(
    ("vendor", "library", "call", "variable", "expected"),
    [
        ("mlu", "lib64/libcnrt.so", "cnrtGetDeviceCount", {"MLU_VISIBLE_DEVICES": "1"}, 1),
        ("mlu", "lib64/libcnrt.so", "cnrtGetDeviceCount", {"FL_SIM_DEVICES": "3"}, 3),
        ("mlu", "lib64/libcnrt.so", "cnrtGetDeviceCount", {"MACA_VISIBLE_DEVICES": "0"}, 2),
        ("maca", "lib/libmcruntime.so", "mcGetDeviceCount", {"MACA_VISIBLE_DEVICES": "1"}, 1),
    ],
)
def test_visible_devices(
    vendor: str, library: str, call: str, variable: dict[str, str], expected: int, request: pytest.FixtureRequest
) -> None:
    build: SimBuild = request.getfixturevalue(vendor)
    code = (
        "import ctypes, sys\n"
        "count = ctypes.c_int(-1)\n"
        "result = getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])(ctypes.byref(count))\n"
        "print(result, count.value)\n"
    )
    command = [sys.executable, "-c", code, str(build.root / library), call]
    output = subprocess.run(command, env={**os.environ, **variable}, capture_output=True, text=True, check=True).stdout
    assert output.split() == ["0", str(expected)]


def test_fault_injection_and_trace_by_the_vendors_name(mlu: SimBuild, tmp_path: Path) -> None:
    code = (
        "import ctypes, sys\n"
        "cnrt = ctypes.CDLL(sys.argv[1])\n"
        "queue = ctypes.c_void_p()\n"
        "print(cnrt.cnrtQueueCreate(ctypes.byref(queue)), cnrt.cnrtQueueCreate(ctypes.byref(queue)))\n"
    )
    trace = tmp_path / "trace.jsonl"
    environment = {
        **os.environ,
        "FL_SIM_FAIL": "cnrtQueueCreate:2:oom",
        "FL_SIM_TRACE": str(trace),
        "FL_SIM_QUIET": "1",
    }
    command = [sys.executable, "-c", code, str(mlu.root / "lib64" / "libcnrt.so")]
    output = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert output.split() == ["0", "100100"]
    assert trace.read_text().count("cnrtQueueCreate") == 2


@pytest.mark.parametrize(("vendor", "version"), [("mlu", "6.0"), ("mlu", "4.3"), ("ascend", "8.5"), ("ascend", "8.0")])
def test_sources_of_the_other_versions_compile(vendor: str, version: str, tmp_path: Path) -> None:
    files = render_sim_sdk(api_of(vendor), version)
    for path, text in files.items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    flags = [
        "-std=c++20",
        "-fsyntax-only",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-unused-parameter",
        "-Wno-unused-function",
    ]
    for source in sorted((tmp_path / "src").iterdir()):
        command = [COMPILER, *flags, "-I", tmp_path / "include", "-I", engine_dir() / "include", source]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


def test_a_build_from_the_same_inputs_is_kept(mlu: SimBuild, cache: Path, engine: Path) -> None:
    library = mlu.root / "lib64" / "libcnrt.so"
    before = library.stat().st_mtime_ns
    again = build_sim_sdk(api_of("mlu"), "6.14", mlu.root, SimBuildOptions(cache=cache), engine)
    assert not again.fresh
    assert library.stat().st_mtime_ns == before


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SimBuildError, match="is not empty and holds no simulated SDK"):
        build_sim_sdk(api_of("mlu"), None, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("sanitize", "message"),
    [("adress", "unknown sanitizer adress; known are address"), ("thread,address", "cannot be combined")],
)
def test_sanitizers_are_checked(sanitize: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SimBuildError, match=message):
        build_sim_sdk(api_of("mlu"), None, tmp_path / "sdk", SimBuildOptions(sanitize=sanitize))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    with pytest.raises(SimBuildError, match=r"no-such-compiler: no such compiler; install g\+\+"):
        build_sim_sdk(api_of("mlu"), None, tmp_path / "sdk", SimBuildOptions(compiler="no-such-compiler"))


def test_a_failed_build_shows_the_compiler_and_changes_nothing(mlu: SimBuild, tmp_path: Path) -> None:
    target = tmp_path / "sdk"
    shutil.copytree(mlu.root, target, symlinks=True)
    shutil.copytree(mlu.root, tmp_path / ".sdk.killed", symlinks=True)  # as a killed build leaves it
    before = sorted(path.relative_to(target) for path in target.rglob("*"))
    broken = tmp_path / "engine"
    (broken / "include" / "fl_sim").mkdir(parents=True)
    (broken / "src").mkdir()
    (broken / "include" / "fl_sim" / "engine.h").write_text("#error this engine is broken\n")
    with pytest.raises(SimBuildError, match="this engine is broken"):
        build_sim_sdk(api_of("mlu"), None, target, SimBuildOptions(tool="compiler"), broken)
    assert sorted(path.relative_to(target) for path in target.rglob("*")) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["engine", "sdk"]


def test_a_missing_engine_is_explained(tmp_path: Path) -> None:
    with pytest.raises(SimBuildError, match="sources of the simulator engine are missing"):
        build_sim_sdk(api_of("mlu"), None, tmp_path / "sdk", engine=tmp_path)
