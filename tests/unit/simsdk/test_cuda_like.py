"""The simulated SDKs of CUDA-shaped vendors built, linked and run; all of their sources compile clean."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fl_gen.output.simbuild import SimBuild, SimBuildOptions, build_sim_sdk, engine_dir
from fl_gen.render.simheaders import function_name
from fl_gen.render.simsdk import render_sim_sdk

from .conftest import HERE, api_of
from .test_build import COMPILER


@dataclass(frozen=True)
class Smoke:
    """A program that uses an SDK as its users would, and what it is compiled with."""

    source: str
    libraries: tuple[str, ...]
    defines: dict[str, str] = field(default_factory=dict)


SMOKES = {
    "musa": Smoke(
        "smoke_cuda_like.cc",
        ("mccl", "mublas", "musart"),
        {
            "RT": "musa",
            "BLAS": "mublas",
            "BLAS_UPPER": "MUBLAS",
            "CCL": "mccl",
            "CCL_DEVICE": "Mu",
            "DATA_PREFIX": "MUSA_R",
            "RT_HEADER": "<musa_runtime.h>",
            "BLAS_HEADER": "<mublas.h>",
            "CCL_HEADER": "<mccl.h>",
        },
    ),
    "gcu": Smoke("smoke_gcu.cc", ("eccl", "topsrt")),
}


@pytest.fixture(scope="module", params=SMOKES)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, SimBuild]:
    """One SDK; the engine comes from the cache of the whole run, if it has one."""
    vendor: str = request.param
    shared = os.environ.get("FL_GEN_CACHE_DIR")
    cache = Path(shared) if shared else tmp_path_factory.getbasetemp() / "simsdk-cache"
    options = SimBuildOptions(cache=cache, tool="compiler", keep_sources=False)
    return vendor, build_sim_sdk(api_of(vendor), None, tmp_path_factory.mktemp("sdk") / vendor, options)


def test_a_program_runs_on_it(built: tuple[str, SimBuild], tmp_path: Path) -> None:
    vendor, build = built
    smoke = SMOKES[vendor]
    library = build.root / api_of(vendor).layout["library"]
    program = tmp_path / "smoke"
    command = [COMPILER, "-std=c++20", "-O0", "-g", "-Wall", "-Wextra", "-Werror", "-pthread"]
    command += [f"-D{name}={value}" for name, value in smoke.defines.items()]
    command += ["-isystem", str(build.root / "include"), str(HERE / smoke.source), "-o", str(program)]
    command += [f"-L{library}", *(f"-l{name}" for name in smoke.libraries), f"-Wl,-rpath,{library}"]
    compiled = subprocess.run(command, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
    environment = {**os.environ, "FL_SIM_QUIET": "1", "FL_SIM_LEAKS": "fail", "FL_SIM_DEVICES": "2"}
    result = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_its_libraries_export_every_declared_function(built: tuple[str, SimBuild]) -> None:
    vendor, build = built
    api = api_of(vendor)
    now = api.at(api.find_version(None))
    for library in now.libraries:
        path = build.root / api.layout["library"] / f"lib{library.name}.so"
        command = ["nm", "-D", "--defined-only", path]
        listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        exported = set(re.findall(r" T (\w+)$", listing, re.MULTILINE))
        declared = {
            function_name(item.text)
            for header in now.headers
            if header.library == library.name
            for item in header.items()
            if item.kind == "function" and item.define
        }
        assert declared
        assert declared <= exported, sorted(declared - exported)


@pytest.mark.parametrize(
    ("vendor", "version"),
    [
        ("nvidia", "13.5"),
        ("nvidia", "12.9"),
        ("nvidia", "12.1"),
        ("nvidia", "11.8"),
        ("corex", "4.2"),
        ("dcu", "25.04"),
    ],
)
def test_sources_compile_clean(vendor: str, version: str, tmp_path: Path) -> None:
    for path, text in render_sim_sdk(api_of(vendor), version).items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    # One unit for all libraries of one SDK would clash; NVIDIA's older releases differ in the runtime only.
    sources = sorted((tmp_path / "src").glob("cudart.cc" if version in ("12.9", "12.1", "11.8") else "*.cc"))
    assert sources
    flags = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
    flags += ["-Wno-unused-parameter", "-Wno-unused-function"]
    for source in sources:
        command = [COMPILER, *flags, "-I", tmp_path / "include", "-I", engine_dir() / "include", source]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
