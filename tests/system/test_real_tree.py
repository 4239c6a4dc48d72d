"""The generated backends in a real InfiniTrain: INFINITRAIN_SOURCE_DIR names a checkout that has the PrivateUse1 interface.

Skipped without it, since the framework is not part of this repository and takes long to build. CXX names a compiler whose
library has <format>. The devices are simulated; what they run is the framework's own suites, and trainings that have to
equal the CPU's: the same whole model in one process, spread over threads, and over processes.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from .building import BUILD, HERE, ROOT, SDK_VARIABLE, Variant, environment, run, sim_sdk, succeed, tool, tree
from .command import fl_gen

SOURCE = os.environ.get("INFINITRAIN_SOURCE_DIR", "")
VENDORS = ("mlu", "maca")
SUITES = ("tensor", "optimizer", "autograd", "lora", "hook", "dtype", "transformer", "checkpoint")
STEPS = 5

pytestmark = [
    pytest.mark.skipif(not SOURCE, reason="needs INFINITRAIN_SOURCE_DIR"),
    pytest.mark.xdist_group("real-tree"),
]


@dataclass(frozen=True)
class Real:
    """A vendor's backend built with the checkout."""

    vendor: str
    build: Path

    @property
    def train(self) -> Path:
        return self.build / "train"

    def suite(self, name: str) -> Path | None:
        return next(self.build.rglob(f"test_{name}_{self.vendor}"), None)


@pytest.fixture(scope="module", params=VENDORS)
def real(request: pytest.FixtureRequest) -> Real:
    variant = Variant(request.param)
    cmake, ninja, sdk, source = tool("cmake"), tool("ninja"), sim_sdk(variant), tree(variant)
    build = BUILD / f"build-real-{variant.vendor}"
    settings = {
        "CMAKE_MAKE_PROGRAM": ninja,
        "CMAKE_CXX_COMPILER": os.environ.get("CXX", "g++"),
        "CMAKE_CXX_FLAGS": "-O0",
        "CMAKE_PROJECT_InfiniTrainBackends_INCLUDE": str(HERE / "real_tree" / "programs.cmake"),
        "INFINITRAIN_BACKEND": variant.vendor,
        "INFINITRAIN_BACKENDS_ROOT": str(source),
        "INFINITRAIN_SOURCE_DIR": SOURCE,
        f"INFINITRAIN_{variant.vendor.upper()}_SDK_ROOT": str(sdk),
        "BUILD_TEST": "ON",
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    host = ROOT / "tests" / "hosts" / "infinitrain-backends"
    succeed(
        [cmake, "-G", "Ninja", "-S", host, "-B", build, *options],
        env=environment(**{SDK_VARIABLE[variant.vendor]: str(sdk)}),
    )
    succeed([ninja, "-C", build], timeout=7200)
    return Real(variant.vendor, build)


@pytest.mark.parametrize("vendor", VENDORS)
def test_every_unit_parses_against_the_checkout(vendor: str, tmp_path: Path) -> None:
    variables = {"INFINITRAIN_SOURCE_DIR": SOURCE, "CMAKE_PREFIX_PATH": os.environ.get("CMAKE_PREFIX_PATH", "")}
    result = fl_gen("backend", vendor, "--sdk", "sim", "--verify", "--no-format", cwd=tmp_path, **variables)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("suite", SUITES)
def test_every_case_of_the_frameworks_suites(real: Real, suite: str, tmp_path: Path) -> None:
    """Each case in a process of its own: a missing kernel would take the rest of its program with it."""
    program = real.suite(suite)
    assert program is not None, f"the checkout's suite {suite} was not built for {real.vendor}"
    cases = list_cases(succeed([program, "--gtest_list_tests"], cwd=tmp_path))
    assert cases
    failed = {}
    for case in cases:
        result = run([program, f"--gtest_filter={case}"], cwd=tmp_path, timeout=120)
        if result.returncode != 0:
            failed[case] = result.stderr[-2000:]
    assert not failed, f"{len(failed)} of {len(cases)} cases fail: {failed}"


def list_cases(listing: str) -> list[str]:
    """Full names from `--gtest_list_tests`."""
    cases, suite = [], ""
    for line in listing.splitlines():
        name = line.partition("#")[0].rstrip()
        if re.fullmatch(r"\S+\.", name):
            suite = name
        elif name.startswith("  "):
            cases.append(suite + name.strip())
    return cases


# --- training ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """What one rank wrote: the loss of each step and its parameters by name."""

    losses: tuple[float, ...]
    parameters: Mapping[str, tuple[float, ...]]


def read(path: Path) -> Trained:
    losses, parameters, done = [], {}, False
    for line in path.read_text(encoding="utf-8").splitlines():
        word, *rest = line.split()
        if word == "loss":
            losses.append(float(rest[1]))
        elif word == "param":
            parameters[rest[0]] = tuple(map(float, rest[1:]))
        done = done or word == "done"
    assert done, f"{path} is not complete"
    assert len(losses) == STEPS
    assert parameters
    return Trained(tuple(losses), parameters)


def train(
    real: Real,
    folder: Path,
    device: str,
    model: str,
    optimizer: str,
    dtype: str,
    layout: str = "single",
    threads: int = 1,
) -> Trained:
    """One process; the result of its rank 0."""
    out = folder / f"{device}-{model}-{optimizer}-{dtype}-{layout}"
    settings = environment(FL_SIM_DEVICES="2", FL_SIM_LEAKS="fail")
    succeed([real.train, device, model, optimizer, dtype, layout, str(threads), out], cwd=folder, env=settings)
    return read(Path(f"{out}.0"))


def difference(first: Trained, second: Trained) -> tuple[float, float]:
    """The largest difference of a loss, and of a parameter that both hold whole."""
    losses = max(abs(a - b) for a, b in zip(first.losses, second.losses, strict=True))
    shared = [
        (values, second.parameters[name])
        for name, values in first.parameters.items()
        if len(second.parameters.get(name, ())) == len(values)
    ]
    assert shared
    return losses, max(abs(a - b) for one, other in shared for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("model", ["gpt", "llama", "mlp"])
def test_training_equals_the_cpu(real: Real, model: str, optimizer: str, tmp_path: Path) -> None:
    reference = train(real, tmp_path, "cpu", model, optimizer, "fp32")
    assert difference(reference, train(real, tmp_path, real.vendor, model, optimizer, "fp32")) == (0.0, 0.0)
    low = train(real, tmp_path, real.vendor, model, optimizer, "default")
    assert 0.0 < difference(reference, low)[0] < 1e-2


@pytest.mark.parametrize("layout", ["ddp", "tp", "pp"])
@pytest.mark.parametrize("processes", [1, 2])
def test_two_ranks_equal_the_cpu(real: Real, layout: str, processes: int, tmp_path: Path) -> None:
    reference = train(real, tmp_path, "cpu", "gpt", "sgd", "fp32")
    out = tmp_path / layout
    threads = 2 // processes
    arguments = [str(real.train), real.vendor, "gpt", "sgd", "fp32", layout, str(threads), str(out)]
    layout_of = {"NNODES": "1", "NPROC_PER_NODE": str(processes), "PROC_WORLD_SIZE": str(processes)}
    started = [
        subprocess.Popen(
            arguments,
            cwd=tmp_path,
            env=environment(FL_SIM_DEVICES="2", GLOBAL_PROC_RANK=str(rank), LOCAL_PROC_RANK=str(rank), **layout_of),
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    for process in started:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors[-2000:]
    for rank in range(2):
        trained = read(Path(f"{out}.{rank}"))
        losses, parameters = difference(reference, trained)
        assert parameters < 1e-6
        # Of a pipeline only the last stage knows the loss.
        assert losses < 1e-5 or (layout == "pp" and rank == 0)
