"""PyTorch's databases of operators, modules and optimizers, run on the generated package and compared with the CPU.

What differs is listed, each with its reason, in differs.yaml, which may only shrink: an entry that is equal fails as well.
The campaign of CI runs every operator in float32 with every sample, the other dtypes with one sample each, and every
sample of what is listed; FL_GEN_TORTURE runs all samples of all dtypes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from torch_database.campaign import Result, Run, report, run_parts

from .packages import Package

TORTURE = bool(os.environ.get("FL_GEN_TORTURE"))
LISTED: dict[str, dict[str, str]] = yaml.safe_load((Path(__file__).parent / "differs.yaml").read_text(encoding="utf-8"))
OTHER_DTYPES = ("int64", "bool", "float16", "bfloat16", "complex64")
AT_LEAST = 0.98  # of all operators
SAMPLES = 0 if TORTURE else 1
SECONDS = 7200.0 if TORTURE else 1200.0


def run(package: Package, folder: Path, module: str, *arguments: str, parts: int = 2) -> list[Result]:
    common = ["--device", package.vendor, "--import", f"torch_{package.vendor}"]
    environment = package.environment(OMP_NUM_THREADS="1")
    task = Run(str(package.python), f"torch_database.{module}", [*common, *arguments], environment, folder, SECONDS)
    return run_parts(task, parts)


def share_equal(results: list[Result]) -> float:
    """The part of all operators of which every dtype that was run is equal."""
    names = {result.name for result in results}
    differing = {result.name for result in results if not result.equal}
    return 1 - len(differing) / len(names)


@pytest.mark.xdist_group("torch-database-float32")
def test_every_operator_in_float32(mlu: Package, tmp_path: Path) -> None:
    results = run(mlu, tmp_path, "ops", "--dtypes", "float32")
    assert not report(results, LISTED["operators"])
    assert len(results) > 600
    assert share_equal(results) >= AT_LEAST
    assert not [result for result in results if "crash" in result.problems]


@pytest.mark.xdist_group("torch-database-others")
def test_operators_in_other_dtypes(mlu: Package, tmp_path: Path) -> None:
    results = run(mlu, tmp_path, "ops", "--dtypes", ",".join(OTHER_DTYPES), "--samples", str(SAMPLES))
    assert not report(results, LISTED["operators"], whole=not SAMPLES)
    assert {result.dtype for result in results} == set(OTHER_DTYPES)
    assert share_equal(results) >= AT_LEAST
    assert not [result for result in results if "crash" in result.problems]


@pytest.mark.xdist_group("torch-database-others")
def test_what_is_listed_still_differs(mlu: Package, tmp_path: Path) -> None:
    keys = [key.partition(" ") for key in LISTED["operators"]]
    names = {name for name, _, dtype in keys if dtype}
    dtypes = {dtype for _, _, dtype in keys if dtype}
    results = run(
        mlu, tmp_path, "ops", "--dtypes", ",".join(sorted(dtypes)), "--only", ",".join(sorted(names)), parts=1
    )
    assert {result.name for result in results} == names
    assert not report(results, LISTED["operators"])


@pytest.mark.xdist_group("torch-database-others")
@pytest.mark.parametrize(("what", "count"), [("modules", 200), ("optimizers", 14)])
def test_every_module_and_optimizer(mlu: Package, tmp_path: Path, what: str, count: int) -> None:
    results = run(mlu, tmp_path, "modules", "--what", what, parts=1)
    assert not report(results, LISTED[what])
    assert len(results) > count


@pytest.mark.xdist_group("torch-database-others")
def test_operators_with_sparse_tensors(mlu: Package, tmp_path: Path) -> None:
    results = run(mlu, tmp_path, "sparse", parts=1)
    assert not report(results, LISTED["sparse"])
    assert sum(bool(result.samples) for result in results) > 180
    assert not [result for result in results if "crash" in result.problems]


def test_the_comparison_sees_a_wrong_kernel(mlu: Package, tmp_path: Path) -> None:
    """A campaign that finds nothing proves something only if it finds a fault that is there."""
    package = tmp_path / "wrong_kernel"
    package.mkdir()
    (package / "wrong_kernel.py").write_text(
        "import torch, torch_mlu\n"
        "@torch_mlu.register_op('aten::sin.out')\n"
        "def wrong(x, *, out):\n"
        "    return out.copy_(torch.cos(x.cpu()))\n"
        "@torch_mlu.register_op('aten::sin')\n"
        "def wrong_too(x):\n"
        "    return torch.cos(x.cpu()).to(x.device)\n",
        encoding="utf-8",
    )
    environment = mlu.environment(PYTHONPATH=f"{mlu.path}:{package}")
    arguments = ["--device", "mlu", "--import", "wrong_kernel", "--only", "sin,cos"]
    task = Run(str(mlu.python), "torch_database.ops", arguments, environment, tmp_path, SECONDS)
    results = {result.name: result for result in run_parts(task, 1)}
    assert not results["sin"].equal
    assert "value" in results["sin"].problems
    assert results["cos"].problems.keys() <= {"gradient value", "gradient raises"}  # its gradient is made of sin
