"""The build layer of the system tests: simulated SDKs, generated trees and built backends, each made once and reused.

Everything lives below `build/test/` and is kept between runs: the SDKs are recognised by their inputs, the trees keep
the time stamps of identical files, and ninja does the rest. A lock per product lets several pytest workers share them.
A tool that is missing skips the test with its name, and fails it where CI is set.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from filelock import FileLock

from fl_gen.output.policy import Policy
from fl_gen.output.simbuild import SimBuildOptions, build_sim_sdk
from fl_gen.render.simapi import load_api
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.paths import data_dir
from fl_gen.workflow.generate import generate
from fl_gen.workflow.request import Request

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("FL_GEN_TEST_BUILD_DIR", ROOT / "build" / "test"))
CACHE = BUILD / "cache"
CLANG = "clang++-16"


@dataclass(frozen=True)
class Variant:
    """One way to build a backend. `version` is that of the simulated SDK, "" the newest; `sanitize` as for -fsanitize=."""

    vendor: str
    compiler: str = "g++"
    sanitize: str = ""
    version: str = ""

    @property
    def key(self) -> str:
        parts = [self.vendor, self.version, self.compiler, self.sanitize.replace(",", "+")]
        return "-".join(part for part in parts if part)

    @property
    def sdk_key(self) -> str:
        return f"sdk-{self.key}"

    @property
    def tree_key(self) -> str:
        return "-".join(part for part in ("tree", self.vendor, self.version) if part)


@dataclass(frozen=True)
class Built:
    """A built backend: its build folder, the tree it was made from and the SDK it runs on."""

    variant: Variant
    build: Path
    tree: Path
    sdk: Path

    @property
    def generated(self) -> Path:
        return self.tree / "generated" / self.variant.vendor

    @property
    def programs(self) -> Path:
        """The folder of the generated test programs."""
        return self.build / "backends" / self.variant.vendor / "generated" / "tests"


def missing(what: str) -> None:
    """Skip because `what` is not there; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(f"CI must have {what}", pytrace=False)
    pytest.skip(f"needs {what}")


@functools.cache
def _which(name: str) -> str | None:
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


def tool(name: str) -> str:
    """A program of the virtual environment, else of the path."""
    found = _which(name)
    if found is None:
        missing(name)
    return str(found)


def lock(name: str) -> FileLock:
    """Of one product, between the workers of a run and between runs."""
    BUILD.mkdir(parents=True, exist_ok=True)
    return FileLock(BUILD / f".{name}.lock")


def environment(**values: str) -> dict[str, str]:
    """The process's environment without what would change a build or a test run, and with `values`."""
    dropped = ("FL_SIM_", "INFINI_", "CXXFLAGS", "CPATH", "CPLUS_INCLUDE_PATH", "GTEST_", "CMAKE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    folder = str(Path(sys.executable).parent)
    kept["PATH"] = f"{folder}{os.pathsep}{kept.get('PATH', '')}"
    return {**kept, "FL_GEN_CACHE_DIR": str(CACHE), **values}


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 900,
) -> subprocess.CompletedProcess[str]:
    """Run `command` to its end, output as text."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=dict(environment() if env is None else env),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
    )


def succeed(command: Sequence[str | os.PathLike[str]], **options: object) -> str:
    """Run `command`, fail the test with the end of its output unless it exits with 0, return its output."""
    result = run(command, **options)  # type: ignore[arg-type]
    if result.returncode != 0:
        tail = "\n".join((result.stdout + result.stderr).splitlines()[-60:])
        pytest.fail(f"exit code {result.returncode}: {' '.join(map(str, command))}\n{tail}", pytrace=False)
    return result.stdout


def sim_sdk(variant: Variant) -> Path:
    """The simulated SDK that `variant` runs on, built with its compiler and sanitizers."""
    compiler = tool(variant.compiler)
    out = BUILD / variant.sdk_key
    api = load_api(data_dir() / "schemas" / "vendors" / variant.vendor / "api.yaml")
    options = SimBuildOptions(sanitize=variant.sanitize, compiler=compiler, tool="compiler", cache=CACHE)
    with lock(variant.sdk_key):
        build_sim_sdk(api, variant.version or None, out, options)
    return out


def tree(variant: Variant) -> Path:
    """generated/ and backends/ for `variant`, rendered now."""
    tool("clang-format")
    folder = BUILD / variant.tree_key
    sdk = f"sim:{variant.version}" if variant.version else "sim"
    with lock(variant.tree_key):
        request = Request(vendor=variant.vendor, sdk=(sdk,), output=folder, cache=CACHE)
        outcome = generate(request, Policy.OVERWRITE)
        # Once-files are a person's, and kept; here nobody has changed them, and a template may have.
        for path in outcome.kept:
            file, text = request.backends / path, outcome.prepared.once[path]
            if file.read_text(encoding="utf-8") != text:
                file.write_text(text, encoding="utf-8")
    return folder


def backend_build(variant: Variant, target: str = "fl_test_programs") -> Built:
    """`variant` configured and built with its tests, in the layout of an InfiniTrain-Backends checkout."""
    cmake, ninja, compiler = tool("cmake"), tool("ninja"), tool(variant.compiler)
    sdk, source = sim_sdk(variant), tree(variant)
    build = BUILD / f"build-{variant.key}"
    built = Built(variant, build, source, sdk)
    with lock(f"build-{variant.key}"):
        settings = _settings(built, ninja, compiler)
        record = build / "fl-gen-settings.json"
        if not record.exists() or json.loads(record.read_text(encoding="utf-8")) != settings:
            shutil.rmtree(build, ignore_errors=True)
            options = [f"-D{name}={value}" for name, value in settings.items()]
            succeed(
                [cmake, "-G", "Ninja", "-S", ROOT / "tests" / "hosts" / "infinitrain-backends", "-B", build, *options],
                env=environment(**{_sdk_variable(variant.vendor): str(sdk)}),
            )
            record.write_text(json.dumps(settings, indent=2), encoding="utf-8")
        succeed([ninja, "-C", build, target], timeout=1800)
    return built


def _sdk_variable(vendor: str) -> str:
    """The environment variable that generated build files look for the SDK in."""
    return Catalog().vendor(vendor).sdk.environment[0]


def _settings(built: Built, ninja: str, compiler: str) -> dict[str, str]:
    variant = built.variant
    flags = ["-O0", "-Wall", "-Wextra", "-Werror"]
    if variant.sanitize:
        # The dispatcher calls kernels through casted pointers by design, which -fsanitize=function takes for a mistake.
        flags += [f"-fsanitize={variant.sanitize}", "-fno-omit-frame-pointer", "-g1"]
        if "clang" in variant.compiler and "undefined" in variant.sanitize:
            flags.append("-fno-sanitize=function")
        if "undefined" in variant.sanitize:
            flags.append("-fno-sanitize-recover=undefined")
    return {
        "CMAKE_MAKE_PROGRAM": ninja,
        "CMAKE_CXX_COMPILER": compiler,
        "CMAKE_CXX_FLAGS": " ".join(flags),
        "CMAKE_EXE_LINKER_FLAGS": "-fuse-ld=gold" if variant.compiler == "g++" and _which("ld.gold") else "",
        "CMAKE_PROJECT_InfiniTrainBackends_INCLUDE": str(HERE / "precompile.cmake"),
        "Python3_EXECUTABLE": sys.executable,
        "INFINITRAIN_BACKEND": variant.vendor,
        "INFINITRAIN_BACKENDS_ROOT": str(built.tree),
        f"INFINITRAIN_{variant.vendor.upper()}_SDK_ROOT": str(built.sdk),
        "BUILD_TEST": "ON",
    }
