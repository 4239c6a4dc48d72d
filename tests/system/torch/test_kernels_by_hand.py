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


OWN = """
import json, torch, torch_mlu
from torch import nn

OPS = ("aten::convolution_overrideable", "aten::convolution_backward_overrideable", "aten::native_dropout",
       "aten::native_dropout_backward", "aten::_thnn_fused_lstm_cell", "aten::normal_")

def told(work):
    torch_mlu.enable_op_stats()
    torch_mlu.reset_op_stats()
    right = work()
    return [right, sorted([stat.op.removeprefix("aten::"), stat.strategy] for stat in torch_mlu.get_op_stats()
                          if stat.op in OPS)]

# Whether a module computes on the device what it does on the CPU, and with the same gradients.
def same(module, *inputs, gradients=True):
    def run(device):
        torch.manual_seed(5)
        x = [one.detach().to(device).requires_grad_(gradients) for one in inputs]
        module.to(device).zero_grad()
        with torch.set_grad_enabled(gradients):
            y = module(*x)
        first = y[0] if isinstance(y, tuple) else y
        if gradients:
            first.square().sum().backward()
        parts = [first, *([one.grad for one in x] if gradients else [])]
        parts += [p.grad for p in module.parameters() if p.grad is not None]
        return [part.detach().cpu() for part in parts]
    pairs = list(zip(run("cpu"), run("mlu"), strict=True))
    return all(torch.allclose(a, b, atol=1e-5) for a, b in pairs)

def dropped(dtype):
    x = torch.ones(64, dtype=dtype, device="mlu", requires_grad=True)
    y = nn.functional.dropout(x, 0.5)
    y.sum().backward()
    return bool(((y == 0) | (y == 2)).all()) and torch.equal(x.grad, y)

def drawn():
    torch.manual_seed(5)
    found = torch.empty(9, device="mlu").normal_().cpu()
    torch.manual_seed(5)
    return torch.equal(found, torch.empty(9).normal_())

conv, cell = nn.Conv2d(2, 3, 3, padding=1), nn.LSTMCell(4, 5)
image, row = torch.randn(2, 2, 6, 6), torch.randn(3, 4)
found = {"convolution": told(lambda: same(conv, image))}
found["dropout float32"] = told(lambda: dropped(torch.float32))
found["dropout float64"] = told(lambda: dropped(torch.float64))
found["cell with gradient"] = told(lambda: same(cell, row))
found["cell"] = told(lambda: same(cell, row, gradients=False))
found["normal"] = told(drawn)
torch_mlu.set_op_blacklist(OPS)
found["convolution blacklisted"] = told(lambda: same(conv, image))
found["dropout blacklisted"] = told(lambda: dropped(torch.float32))
found["cell blacklisted"] = told(lambda: same(cell, row, gradients=False))
torch_mlu.set_op_blacklist([])
torch_mlu.set_op_strategy(OPS[0], "fallback")
found["convolution by strategy"] = told(lambda: same(conv, image, gradients=False))
torch_mlu.set_op_strategy(OPS[0], "auto")
found["convolution again"] = told(lambda: same(conv, image, gradients=False))
kinds = {op.op.removeprefix("aten::"): op.kind for op in torch_mlu.list_registered_ops(fallback=True)}
found["kinds"] = {op.removeprefix("aten::"): kinds[op.removeprefix("aten::")] for op in OPS}
print(json.dumps(found))
"""


def test_kernels_take_the_place_of_what_the_package_does_itself(mlu: Package, tmp_path: Path) -> None:
    result = mlu.run("-c", OWN, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    # A skeleton does what there was before, which is counted as well.
    convolution = [["convolution_overrideable", "fallback"], ["convolution_overrideable", "native"]]
    backward = [["convolution_backward_overrideable", "fallback"]]
    dropout_backward = ["native_dropout_backward", "fallback"]
    assert json.loads(result.stdout) == {
        "convolution": [True, [*backward, *convolution]],
        "dropout float32": [True, [["native_dropout", "fallback"], ["native_dropout", "native"], dropout_backward]],
        "dropout float64": [True, [["native_dropout", "fallback"], dropout_backward]],
        # The kernel has no gradient: with one the cell is taken apart.
        "cell with gradient": [True, []],
        "cell": [True, [["_thnn_fused_lstm_cell", "native"]]],
        "normal": [True, [["normal_", "fallback"], ["normal_", "native"]]],
        "convolution blacklisted": [True, [*backward, convolution[0]]],
        "dropout blacklisted": [True, [["native_dropout", "fallback"], dropout_backward]],
        "cell blacklisted": [True, []],
        "convolution by strategy": [True, [convolution[0]]],
        "convolution again": [True, convolution],
        "kinds": {
            "convolution_overrideable": "native",
            "convolution_backward_overrideable": "fallback",
            "native_dropout": "native",
            "native_dropout_backward": "fallback",
            "_thnn_fused_lstm_cell": "native",
            "normal_": "native",
        },
    }


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
