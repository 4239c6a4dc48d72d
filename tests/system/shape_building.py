"""Builds the runtime, the collectives and their tests of one backend, without its kernels: what an SDK of an odd shape is
tried with. A build is a few files for ninja; the framework's small host is compiled once for all of them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fl_gen.output.policy import Policy
from fl_gen.output.simbuild import SimBuildOptions, build_sim_sdk
from fl_gen.render.contract import render_contract, write_contract
from fl_gen.render.simapi import load_api
from fl_gen.resolve.model import Backend
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.framework_spec import load_interface
from fl_gen.schema.paths import data_dir
from fl_gen.workflow.generate import generate
from fl_gen.workflow.request import Request

from .building import BUILD, CACHE, ROOT, environment, lock, run, succeed, tool

FRAMEWORK = ROOT / "tests" / "hosts" / "infinitrain"
HOST = BUILD / "shapes" / "host"  # compiled with g++, without sanitizers
HOST_SOURCES = (
    "src/core/ccl/ccl.cc",
    "src/core/privateuse1_backend.cc",
    "src/core/runtime/cpu_guard_impl.cc",
    "src/core/runtime/device_guard.cc",
    "src/datatype.cc",
    "src/device.cc",
    "src/parallel.cc",
)
PRECOMPILED = """#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "glog/logging.h"
#include "gtest/gtest.h"

#include "infini_train/include/core/ccl/ccl.h"
#include "infini_train/include/core/runtime/device_guard.h"
"""
# The framework refuses a backend without certain kernels. These builds have none, and nothing calls them.
KERNELS = """#include "glog/logging.h"

#include "infini_train/include/dispatcher.h"

namespace {{
void NoKernel() {{ LOG(FATAL) << "this build has no kernels"; }}
}} // namespace

{registrations}
"""
FLAGS = "-std=c++20 -O0 -Wall -Wextra -Werror -pthread"
RULES = """
rule cc
  command = $cxx $flags -MMD -MF $out.d -c $in -o $out
  depfile = $out.d
  deps = gcc
rule pch
  command = $cxx $flags -MMD -MF $out.d -x c++-header $in -o $out
  depfile = $out.d
  deps = gcc
rule link
  command = $cxx -pthread -fuse-ld=gold $in -o $out $libs
"""


@dataclass(frozen=True)
class Shape:
    """A built backend of one vendor and SDK version."""

    vendor: str
    folder: Path
    backend: Backend
    host: Path
    compiler: str
    sanitize: str

    @property
    def generated(self) -> Path:
        return self.folder / "tree" / "generated" / self.vendor

    def strategies(self) -> dict[str, str]:
        """Each operation that the SDK lacks, with the strategy that generated code takes."""
        choices = self.backend.choices.values()
        return {choice.operation.name: choice.strategy for choice in choices if choice.strategy is not None}

    def run(self, program: str, *arguments: str, devices: int = 3, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run one of the built tests on the simulated SDK, where a leak is a failure."""
        variables = {"FL_SIM_DEVICES": str(devices), "FL_SIM_LEAKS": "fail", **settings}
        path = self.folder / "build" / program
        arguments = ("--gtest_brief=1", *arguments) if program.startswith("test_") else arguments
        return run([path, *arguments], cwd=path.parent, env=environment(**variables), timeout=300)

    def check(self, program: str, *arguments: str, devices: int = 3, **settings: str) -> str:
        """The output of a test program, which must end well and skip nothing."""
        finished = self.run(program, *arguments, devices=devices, **settings)
        text = finished.stdout + finished.stderr
        if finished.returncode != 0:
            pytest.fail(f"{program} of {self.vendor}: exit code {finished.returncode}\n{text[-6000:]}", pytrace=False)
        assert "SKIPPED" not in text, text[-3000:]
        return text


def host_folder(compiler: str, sanitize: str) -> Path:
    """Where the framework's host is compiled with that compiler; sanitizers as for -fsanitize=, or none."""
    parts = [name for name in (Path(compiler).name, sanitize.replace(",", "+")) if name not in ("g++", "")]
    return HOST.with_name("-".join(["host", *parts]))


def flags_of(sanitize: str) -> str:
    extra = [f"-fsanitize={sanitize}", "-fno-omit-frame-pointer", "-g1", "-fno-sanitize-recover=undefined"]
    return " ".join([FLAGS, *extra]) if sanitize else FLAGS


def host(compiler: str, sanitize: str = "") -> list[Path]:
    """The objects of the framework's host, and beside them its contract headers and the precompiled header."""
    folder = host_folder(compiler, sanitize)
    with lock(f"shapes-{folder.name}"):
        folder.mkdir(parents=True, exist_ok=True)
        interface = load_interface(data_dir() / "schemas" / "frameworks" / "infinitrain" / "interface.yaml")
        write_contract(render_contract(interface), folder / "contract")
        names = "\n".join(
            f"REGISTER_KERNEL(infini_train::Device::DeviceType::kPrivateUse1, {name}, NoKernel)"
            for name in interface.kernels.required
        )
        _write(folder / "kernels.cc", KERNELS.format(registrations=names))
        _write(folder / "shapes.h", PRECOMPILED)
        flags = flags_of(sanitize)
        lines = [f"cxx = {compiler}", f"flags = {flags} -I{FRAMEWORK} -I{folder / 'contract'}", RULES]
        lines.append(f"build shapes.h.gch: pch {folder / 'shapes.h'}")
        sources = [*(FRAMEWORK / source for source in HOST_SOURCES), folder / "kernels.cc"]
        objects = [folder / f"{source.stem}.o" for source in sources]
        lines += [f"build {made.name}: cc {source}" for source, made in zip(sources, objects, strict=True)]
        _write(folder / "build.ninja", "\n".join(lines) + "\n")
        succeed([tool("ninja"), "-C", folder], timeout=600)
    return objects


def build_shape(
    vendor: str,
    version: str = "",
    schemas: Sequence[Path] = (),
    programs: Sequence[str] = (),
    *,
    compiler: str = "g++",
    sanitize: str = "",
) -> Shape:
    """Generate the backend of `vendor` on its simulated SDK, compile it with `programs`: names of generated tests, or selftest."""
    key = "-".join(part for part in (vendor, version, sanitize.replace(",", "+")) if part)
    compiler = tool(compiler)
    folder = BUILD / "shapes" / key
    objects = host(compiler, sanitize)
    with lock(f"shape-{key}"):
        request = Request(
            vendor=vendor,
            sdk=(f"sim:{version}" if version else "sim",),
            output=folder / "tree",
            schema_dirs=tuple(schemas),
            cache=CACHE,
        )
        outcome = generate(request, Policy.OVERWRITE)
        backend = outcome.prepared.resolved.backend
        shape = Shape(vendor, folder, backend, host_folder(compiler, sanitize), compiler, sanitize)
        catalog = Catalog(schemas)
        path = catalog.api_path(vendor)
        assert path is not None
        api = load_api(path, catalog.folders)
        options = SimBuildOptions(compiler=compiler, sanitize=sanitize, tool="compiler", cache=CACHE)
        build_sim_sdk(api, version or None, folder / "sdk", options)
        _build(shape, objects, programs)
    return shape


def _build(shape: Shape, objects: Sequence[Path], programs: Sequence[str]) -> None:
    backend, generated, base = shape.backend, shape.generated, flags_of(shape.sanitize)
    layout = backend.vendor.sdk
    sdk = shape.folder / "sdk"
    libraries = [library for group in backend.sdk.groups for library in backend.vendor.groups[group].libraries]
    folders = [sdk / name for name in layout.library if (sdk / name).is_dir()]
    defines = [f"-DUSE_{backend.vendor.groups['ccl'].name.upper}"] if backend.has_group("ccl") else []
    flags = [base, *defines, "-include", str(shape.host / "shapes.h"), "-Winvalid-pch", f"-I{generated / 'src'}"]
    flags += [f"-I{generated / 'include'}", f"-I{generated / 'tests'}", f"-I{FRAMEWORK}"]
    flags.append(f"-I{shape.host / 'contract'}")
    flags += [f"-isystem {sdk / name}" for name in layout.include if (sdk / name).is_dir()]
    libs = (
        [f"-L{path} -Wl,-rpath,{path}" for path in folders] + [f"-l{name}" for name in libraries] + ["-lgtest -lglog"]
    )
    if shape.sanitize:
        libs.append(f"-fsanitize={shape.sanitize}")
    lines = [f"cxx = {shape.compiler}", f"flags = {' '.join(flags)}", f"libs = {' '.join(libs)}", RULES]
    parts = []
    for source in sorted(p for p in (generated / "src").rglob("*.cc") if "kernels" not in p.parts):
        parts.append(f"{source.stem}.o")
        lines.append(f"build {parts[-1]}: cc {source}")
    for program in programs:
        if program == "selftest":
            checks = sorted((generated / "selftest").glob("*.cc"))
            lines += [f"build selftest-{source.stem}.o: cc {source}" for source in checks]
            lines.append(f"build selftest: link {' '.join(f'selftest-{source.stem}.o' for source in checks)}")
            continue
        lines.append(f"build {program}.o: cc {generated / 'tests' / program}.cc")
        lines.append(f"build {program}: link {program}.o {' '.join(parts)} {' '.join(str(made) for made in objects)}")
    build = shape.folder / "build"
    build.mkdir(parents=True, exist_ok=True)
    _write(build / "build.ninja", "\n".join(lines) + "\n")
    succeed([tool("ninja"), "-C", build], timeout=900)


def _write(path: Path, text: str) -> None:
    """Write a file, unless it holds that text already."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
