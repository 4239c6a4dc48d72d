"""Kernels that a user writes: skeletons of `fl-gen kernel new`, built into the package of mlu."""

from __future__ import annotations

import json
from pathlib import Path

from .packages import Package

PROGRAM = """
import json, torch, torch_mlu

def told(work):
    torch_mlu.enable_op_stats()
    torch_mlu.reset_op_stats()
    right = work(torch.linspace(-2, 2, 7), "mlu")
    return [right, sorted([stat.op, stat.strategy] for stat in torch_mlu.get_op_stats() if stat.op in OPS)]

def run(function, dtype):
    def work(x, device):
        x = x.to(dtype)
        return torch.allclose(function(x.to(device)).cpu(), function(x), atol=1e-6)
    return work

OPS = ("aten::relu", "aten::sigmoid")
found = {"relu float32": told(run(torch.relu, torch.float32)), "relu float64": told(run(torch.relu, torch.float64))}
found["sigmoid float32"] = told(run(torch.sigmoid, torch.float32))
found["sigmoid float64"] = told(run(torch.sigmoid, torch.float64))
torch_mlu.set_op_blacklist(OPS)
found["relu blacklisted"] = told(run(torch.relu, torch.float32))
found["sigmoid blacklisted"] = told(run(torch.sigmoid, torch.float32))
print(json.dumps(found))
"""


def test_a_kernel_runs_for_its_dtypes_unless_it_is_blacklisted(mlu: Package, tmp_path: Path) -> None:
    result = mlu.run("-c", PROGRAM, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {
        # The skeleton asks the host for the result.
        "relu float32": [True, [["aten::relu", "fallback"], ["aten::relu", "native"]]],
        "relu float64": [True, [["aten::relu", "fallback"]]],
        "sigmoid float32": [True, [["aten::sigmoid", "python"]]],
        "sigmoid float64": [True, [["aten::sigmoid", "fallback"]]],
        "relu blacklisted": [True, [["aten::relu", "fallback"]]],
        "sigmoid blacklisted": [True, [["aten::sigmoid", "fallback"]]],
    }
