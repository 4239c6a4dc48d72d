"""The tests that a generated package brings along pass on the simulated SDK, whose device memory the host cannot touch.

Each file runs in a process of its own, as users run it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .packages import Package, failures

# Each with the seconds that it may take on two cores.
FILES = {
    "test_compile.py": 120,
    "test_copy.py": 60,
    "test_data.py": 60,
    "test_distributed.py": 240,
    "test_fallback.py": 180,
    "test_host_kernels.py": 60,
    "test_import.py": 180,
    "test_kernels.py": 120,
    "test_memory.py": 60,
    "test_modules.py": 120,
    "test_profiler.py": 60,
    "test_random.py": 60,
    "test_registry.py": 90,
    "test_serialization.py": 60,
    "test_same_device.py": 60,
    "test_setup.py": 180,
    "test_sparse.py": 60,
    "test_streams.py": 60,
    "test_training.py": 120,
    "test_views.py": 60,
}
# The only reason to skip a test where there are two devices.
ALLOWED = "PyTorch drops the imaginary part with a warning"


@pytest.mark.parametrize("name", FILES)
def test_generated_tests_pass(mlu: Package, name: str, tmp_path: Path) -> None:
    result = mlu.run(
        *("-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider", "--rootdir", mlu.tests, mlu.tests / name),
        cwd=tmp_path,
        timeout=FILES[name] * 3,
        FL_SIM_LEAKS="report",
    )
    assert result.returncode == 0, "\n".join(failures(result.stdout)) + result.stdout[-6000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
    skipped = [line for line in result.stdout.splitlines() if line.startswith("SKIPPED")]
    assert [line for line in skipped if ALLOWED not in line] == []


def test_every_generated_test_file_is_run(mlu: Package) -> None:
    assert {path.name for path in mlu.tests.glob("test_*.py")} == set(FILES)


def test_generated_tests_notice_a_wrong_result(mlu: Package, tmp_path: Path) -> None:
    """A kernel that is a little wrong is found by the tests of training."""
    (tmp_path / "wrong.py").write_text(
        "import torch, torch_mlu\n"
        "@torch_mlu.register_op('aten::native_layer_norm')\n"
        "def wrong(x, shape, weight, bias, eps):\n"
        "    found = torch.native_layer_norm(x.cpu(), shape, weight.cpu(), bias.cpu(), eps)\n"
        "    return tuple((part * (1 + 1e-6)).to('mlu') for part in found)\n",
        encoding="utf-8",
    )
    info = tmp_path / "wrong-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: wrong\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[torch_mlu.plugins]\nwrong = wrong\n", encoding="utf-8")
    result = mlu.run(
        *("-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "--rootdir", mlu.tests),
        *(mlu.tests / "test_training.py", "-k", "transformer-sgd and bit"),
        cwd=tmp_path,
        PYTHONPATH=f"{mlu.path}:{tmp_path}",
    )
    assert result.returncode == 1, result.stdout
    assert len(failures(result.stdout)) == 1


def test_a_recorded_run_is_what_coverage_reads(mlu: Package, tmp_path: Path) -> None:
    code = "import torch; x = torch.ones(3, device='mlu'); (x.erf() + x).sum().item()"
    assert mlu.run("-c", code, cwd=tmp_path, TORCH_FL_OP_STATS="run.json").returncode == 0
    told = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert {"aten::erf.out", "aten::erf"} & {op["op"] for op in told["ops"]}
    assert all(op["strategy"] in ("native", "library", "runtime", "fallback", "python") for op in told["ops"])
