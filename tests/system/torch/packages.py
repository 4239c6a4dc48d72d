"""The build layer of the PyTorch tests: a generated package, built once against the simulated SDK and the PyTorch that is there.

As in `building`, everything lives below `build/test/`, is kept between runs, and is locked against other workers. PyTorch is that
of the running Python, else that of the Python that FL_GEN_TORCH_PYTHON names.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fl_gen.output.policy import Policy
from fl_gen.sdk.wheel import find_wheel
from fl_gen.workflow.generate import generate
from fl_gen.workflow.request import Request
from fl_gen.workflow.torch_scaffold import scaffold_torch
from system.building import BUILD, CACHE, Variant, environment, lock, missing, run, sim_sdk, succeed, tool

# Two and not one, so that a wrong device shows.
DEVICES = "2"


@dataclass(frozen=True)
class Package:
    """A built package: what goes onto Python's path, where it was generated, the SDK that it runs on, and the Python."""

    vendor: str
    path: Path
    tree: Path
    build: Path
    sdk: Path
    python: Path

    @property
    def tests(self) -> Path:
        """The generated tests."""
        return self.tree / "tests"

    def environment(self, **variables: str) -> dict[str, str]:
        """That of a process that uses the package."""
        own = {
            "PYTHONPATH": str(self.path),
            "FL_SIM_DEVICES": DEVICES,
            "FL_SIM_QUIET": "1",
            "OMP_NUM_THREADS": "2",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return environment(**{**own, **variables})

    def run(
        self, *arguments: str | os.PathLike[str], cwd: Path | None = None, timeout: float = 600, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Python with `arguments`."""
        return run([self.python, *arguments], cwd=cwd, env=self.environment(**variables), timeout=timeout)


def _has_torch(python: Path) -> Path | None:
    """The folder of `python`'s PyTorch, without importing it."""
    code = "import importlib.util as u; s = u.find_spec('torch'); print(s.origin if s else '')"
    origin = run([python, "-c", code]).stdout.strip()
    return Path(origin).parent if origin else None


@functools.cache
def torch_python() -> tuple[Path, Path]:
    """A Python that has PyTorch, and PyTorch's folder in it. Skips the test where there is none."""
    spec = importlib.util.find_spec("torch")
    if spec is not None and spec.origin:
        return Path(sys.executable), Path(spec.origin).parent
    named = os.environ.get("FL_GEN_TORCH_PYTHON")
    if named:
        folder = _has_torch(Path(named))
        if folder is None:
            pytest.fail(f"FL_GEN_TORCH_PYTHON={named} has no torch", pytrace=False)
        return Path(named), folder
    missing("PyTorch: install torch, or name a Python that has it in FL_GEN_TORCH_PYTHON")
    raise AssertionError


@functools.cache
def package(vendor: str = "mlu") -> Package:
    """The package of `vendor` for the PyTorch that is there, generated now and built as far as it is not.

    That of mlu has kernels of its user: aten::relu in C++, for two dtypes, aten::sigmoid in Python, for one, and in C++ those
    of operators that the package does itself, as convolutions, dropout and the cell of an LSTM.
    """
    python, torch = torch_python()
    # A few units, so that both processors have work; that each file compiles alone is what --verify tests.
    settings = {"CMAKE_CXX_FLAGS": "-O1", "CMAKE_UNITY_BUILD": "ON", "CMAKE_UNITY_BUILD_BATCH_SIZE": "12"}
    return _built(vendor, torch, python, BUILD / f"torch-{vendor}", settings, kernels=vendor == "mlu")


@functools.cache
def quick_package(vendor: str, *, torch: Path | None = None, extension: bool = True) -> Package:
    """As `package`, but as fast as it can be compiled: one unit for each library, without optimisation.

    `torch` is the folder of another PyTorch than the one that is there; what is built for it can be linked and not run,
    and the libraries that its own libraries need may be absent. `extension` says whether Python's is built.
    """
    python = Path(sys.executable) if torch else torch_python()[0]
    settings = {
        "CMAKE_CXX_FLAGS": "-O0",
        "CMAKE_UNITY_BUILD": "ON",
        "CMAKE_UNITY_BUILD_BATCH_SIZE": "0",
        "CMAKE_SHARED_LINKER_FLAGS": "-Wl,--no-undefined"
        + (" -Wl,--unresolved-symbols=ignore-in-shared-libs" * bool(torch)),
        "PYTHON": "ON" if extension else "OFF",
    }
    wheel = torch or torch_python()[1]
    folder = "-".join(["torch", "quick", vendor, *([read_version(wheel)] if torch else [])])
    return _built(vendor, wheel, python, BUILD / folder, settings)


def read_version(torch: Path) -> str:
    """The release of the PyTorch in the folder `torch`."""
    return find_wheel(torch).release


def _write_kernels(request: Request) -> None:
    """What `fl-gen kernel new` makes, narrowed to some dtypes; the one in Python is written to its end."""
    listing = request.backends / "kernels.yaml"
    if listing.exists() and "normal_" in listing.read_text(encoding="utf-8"):
        return
    shutil.rmtree(request.backends, ignore_errors=True)
    for op in ("relu", "convolution_overrideable", "native_dropout", "_thnn_fused_lstm_cell", "normal_"):
        scaffold_torch(request, f"aten::{op}", python=False)
    sigmoid = scaffold_torch(request, "aten::sigmoid", python=True).path
    skeleton = sigmoid.read_text(encoding="utf-8")
    sigmoid.write_text(
        skeleton.replace("return NotImplemented", "return self.neg().exp().add(1).reciprocal()"), "utf-8"
    )
    text = listing.read_text(encoding="utf-8")
    text = text.replace("function: relu}", "function: relu, dtypes: [float32, float16]}")
    text = text.replace("function: native_dropout}", "function: native_dropout, dtypes: [float32]}")
    listing.write_text(text.replace("sigmoid:sigmoid}", "sigmoid:sigmoid, dtypes: [float32]}"), encoding="utf-8")


def _built(
    vendor: str, torch: Path, python: Path, out: Path, own: Mapping[str, str], *, kernels: bool = False
) -> Package:
    """The package in the folder `out`, built with the settings `own`."""
    sdk = sim_sdk(Variant(vendor))
    with lock(out.name):
        request = Request(vendor=vendor, sdk=("sim",), output=out / "tree", cache=CACHE, framework="torch", torch=torch)
        if kernels:
            _write_kernels(request)
        generate(request, Policy.OVERWRITE)
        source, build = out / "tree" / "generated" / f"torch_{vendor}", out / "build"
        settings = _settings(vendor, sdk, torch, python, own)
        record = out / "fl-gen-settings.json"
        if not record.exists() or json.loads(record.read_text(encoding="utf-8")) != settings:
            shutil.rmtree(build, ignore_errors=True)
            options = [f"-D{name}={value}" for name, value in settings.items()]
            succeed([tool("cmake"), "-G", "Ninja", "-S", source, "-B", build, *options])
            record.write_text(json.dumps(settings, indent=2), encoding="utf-8")
        succeed([tool("ninja"), "-C", build], timeout=3600)
    return Package(vendor, build / "python", source, build, sdk, python)


def _settings(vendor: str, sdk: Path, torch: Path, python: Path, own: Mapping[str, str]) -> dict[str, str]:
    """The variables for CMake. The package's own, in capitals without an underscore, get its name in front."""
    package = f"TORCH_{vendor.upper()}"
    settings = {
        "CMAKE_MAKE_PROGRAM": tool("ninja"),
        "CMAKE_CXX_COMPILER": tool("g++"),
        "CMAKE_BUILD_TYPE": "None",
        "Python_EXECUTABLE": str(python),
        f"{package}_SDK_ROOT": str(sdk),
        f"{package}_TORCH_DIR": str(torch),
        f"{package}_WERROR": "ON",
        **{name if "_" in name else f"{package}_{name}": value for name, value in own.items()},
    }
    launcher = shutil.which("ccache")
    if launcher:
        settings["CMAKE_CXX_COMPILER_LAUNCHER"] = launcher
    return settings


def failures(output: str) -> Sequence[str]:
    """The lines of pytest's summary that name what failed."""
    return [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]
