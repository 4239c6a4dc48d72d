"""`fl-gen align` of models in which one op is wrong on the device: what is named, in which layer, and what follows.

The device is the CPU here, with ops of the test's own that are wrong at the call that the device makes of them.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from fl_gen.cli.main import main

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

# Each op is called by the CPU's run, by the device's, and by the comparison; WRONG is the device's call.
MODEL = """
import torch

calls = {"forward": 0, "backward": 0}

def spoil(kind, value):
    calls[kind] += 1
    return SPOILT if kind == "KIND" and calls[kind] == WRONG else value

@torch.library.custom_op("fl_gen_test::act", mutates_args=())
def act(x: torch.Tensor) -> torch.Tensor:
    return spoil("forward", x.clamp(min=0))

@torch.library.custom_op("fl_gen_test::act_backward", mutates_args=())
def act_backward(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return spoil("backward", gradient * (x > 0))

act.register_autograd(
    lambda ctx, gradient: act_backward(gradient, *ctx.saved_tensors),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)

class Act(torch.nn.Module):
    def forward(self, x):
        return act(x)

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.one = torch.nn.Linear(4, 4), Act()
        self.second, self.two = torch.nn.Linear(4, 4), Act()
        self.head = torch.nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.two(self.second(self.one(self.first(x)))))

def build():
    return Net()

def inputs():
    return torch.randn(8, 4)
"""


def model(folder: Path, kind: str, wrong: int, spoilt: str) -> str:
    text = MODEL.replace("SPOILT", spoilt).replace("KIND", kind).replace("WRONG", str(wrong))
    path = folder / "net.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def align(path: str, *options: str) -> int:
    return main(["align", path, "--device", "cpu", "--python", sys.executable, "--steps", "1", *options])


def test_a_wrong_shape_is_named_before_what_it_breaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The CPU's run calls it twice; then come the device's first call and the comparison's.
    path = model(tmp_path, "forward", 5, "value[:, :3].clone()")
    assert align(path, "--forward-only") == 1
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines()[1:] == [
        "",
        "first op outside its tolerance, on inputs that are the same on both sides",
        "  fl_gen_test::act in two, forward, call 2 of it, on float32[8, 4]",
        "  float32[8, 3] for float32[8, 4]",
        "",
        "first layer outside its tolerance",
        "  two (Act)",
        "  float32[8, 3] for float32[8, 4]",
        "",
        "after that the device stopped",
        "  on cpu, forward of step 1, in head, aten::addmm: RuntimeError: mat1 and mat2 shapes cannot be multiplied "
        "(8x3 and 4x2)",
        "",
        "first op outside its tolerance: fl_gen_test::act in two, forward, call 2 of it, on float32[8, 4]; "
        "first layer outside its tolerance: two (Act); the device did not come to the end",
    ]


def test_an_op_that_the_device_refuses_is_named_with_its_layer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model(tmp_path, "forward", 3, "torch.linalg.inv(torch.zeros(2, 3))")
    assert align(path) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "on cpu, forward of step 1, in one, fl_gen_test::act: RuntimeError: " in said.err


def test_a_wrong_gradient_is_of_the_layer_whose_forward_it_belongs_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Backward, `two` is asked before `one`: calls 1 and 2 are the CPU's, 3 is two's on the device, 5 is one's.
    path = model(tmp_path, "backward", 5, "value + 1")
    assert align(path, "--format", "json") == 1
    told = json.loads(capsys.readouterr().out)
    (wrong,) = told["wrong_ops"]
    assert (wrong["op"], wrong["layer"], wrong["phase"], wrong["call"]) == (
        *("fl_gen_test::act_backward", "one", "backward", 2),
    )
    names = [one["name"] for one in told["gradients"]]
    assert [name.partition(".")[0] for name in names] == ["head", "head", "second", "second", "first", "first"]
    differ = [one["name"] for one in told["gradients"] if not one["result"]["equal"]]
    assert sorted(differ) == ["first.bias", "first.weight"]  # from the fault on, and none before it


def test_gradients_are_listed_from_the_fault_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, "backward", 3, "value + 1")
    assert align(path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "  fl_gen_test::act_backward in two, backward, its first call, on float32[8, 4], float32[8, 4]" in lines
    start = lines.index("gradients that differ after the first backward, in its order") + 1
    names = [line.split()[0].partition(".")[0] for line in lines[start : start + 4]]
    assert names == ["second", "second", "first", "first"]
