"""`fl-gen align` and `fl-gen bench`: what is told of two runs, what a baseline decides, and models that are none."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest

from fl_gen.cli.main import main
from fl_gen.report.align_html import align_html
from fl_gen.report.align_json import align_json, align_schema
from fl_gen.report.align_text import align_text
from fl_gen.report.bench import bench_json, bench_schema, bench_text
from fl_gen.schema.paths import shown
from fl_gen.tasks.align import tolerances
from fl_gen.tasks.align_values import Alignment, LayerCheck, NamedCheck, OpCheck, TensorCheck, Worst
from fl_gen.tasks.bench import _compared
from fl_gen.tasks.bench_values import BenchReport, Measured, Timing

ROOT = Path(__file__).resolve().parents[3]
VERSION = ".".join(map(str, sys.version_info[:2]))
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

GOOD = TensorCheck(
    (2, 3), "float32", (2, 3), "float32", 0.0, 0.0, 0, 0, 6, (0, 0), (0, 0), Worst((0, 0), "1", "1"), True
)
BAD = replace(
    GOOD,
    max_abs=0.5,
    max_rel=None,
    max_ulp=7,
    mismatched=2,
    nan=(1, 0),
    worst=Worst((1, 2), "nan", "0.25"),
    equal=False,
)
CALL = OpCheck("aten::relu", "block.act", "forward", 4, ("float32[2, 3]",), BAD)


def alignment(**changes: object) -> Alignment:
    plain = Alignment(
        model="net.py",
        device="mlu",
        torch="2.13.0",
        steps=1,
        layers=(LayerCheck("a", "Linear", "", (GOOD,)),),
        gradients=(NamedCheck("a.weight", GOOD),),
        missing_gradients=(),
        state=(NamedCheck("a.weight", GOOD),),
        losses_cpu=(0.5,),
        losses_device=(0.5,),
        op_calls=9,
        ops=(),
        wrong_ops=(),
        random_ops=(),
        uncompared_ops=(),
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_an_aligned_model() -> None:
    found = alignment()
    assert found.exit_code == 0
    assert align_text(found) == (
        "net.py on mlu against the CPU (PyTorch 2.13.0)\n"
        "\n"
        "loss      CPU            device\n"
        "  step 1  0.5            0.5\n"
        "\n"
        "aligned: 1 layer calls, 9 op calls, 1 steps; every layer is equal bit for bit"
    )


def test_the_first_op_and_layer_are_named() -> None:
    layers = (LayerCheck("a", "Linear", "", (GOOD,)), LayerCheck("block.act", "ReLU", "", (BAD,)))
    found = alignment(layers=layers, ops=(CALL,), wrong_ops=(CALL,), losses_device=(None,))
    assert found.exit_code == 1
    assert align_text(found) == (
        "net.py on mlu against the CPU (PyTorch 2.13.0)\n"
        "\n"
        "first op outside its tolerance, on inputs that are the same on both sides\n"
        "  aten::relu in block.act, forward, call 4 of it, on float32[2, 3]\n"
        "  abs 0.5, rel inf, 7 ulp, 2 of 6 outside, NaN 1 on the device, 0 on the CPU\n"
        "  at [1, 2]: nan for 0.25\n"
        "\n"
        "first layer outside its tolerance\n"
        "  block.act (ReLU)\n"
        "  abs 0.5, rel inf, 7 ulp, 2 of 6 outside, NaN 1 on the device, 0 on the CPU\n"
        "\n"
        "loss      CPU            device\n"
        "  step 1  0.5            not finite\n"
        "\n"
        "first op outside its tolerance: aten::relu in block.act, forward, call 4 of it, on float32[2, 3]; "
        "first layer outside its tolerance: block.act (ReLU)"
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"missing_gradients": ("a.bias",)},
        {"gradients": (NamedCheck("a.weight", BAD),)},
        {"state": (NamedCheck("a.weight", BAD),)},
        {"layers": (LayerCheck("a", "Linear", "the device ran b", ()),)},
        {"wrong_ops": (CALL,)},
    ],
)
def test_everything_that_differs_counts(changes: dict[str, object]) -> None:
    assert alignment(**changes).exit_code == 1


def test_align_json_and_page() -> None:
    found = alignment(ops=(CALL,), wrong_ops=(replace(CALL, layer="<script>x</script>"),))
    jsonschema.validate(json.loads(align_json(found)), json.loads(align_schema()))
    assert (ROOT / "schemas/jsonschema/align.json").read_text(encoding="utf-8") == align_schema()
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign,assignment]
    parser.feed(align_html(found))
    assert tags.count("script") == 1
    assert tags.count("svg") == 1


def test_tolerances_come_from_the_rules() -> None:
    rules = tolerances("", ())
    matrix = next(table for patterns, table in rules["categories"] if "aten::mm*" in patterns)
    assert matrix["float32"] == [1e-4, 1e-4]


def timing(device: str, median: float, noise: float = 0.01, memory: int | None = 1000) -> Timing:
    return Timing(device, median, median, noise, 30, 8, "images", memory if device != "cpu" else None, 5000)


def measured(device: float, cpu: float | None, **more: float) -> BenchReport:
    beside = timing("cpu", cpu) if cpu is not None else None
    one = Measured("resnet", "train", timing("mlu", device, **more), beside)  # type: ignore[arg-type]
    return BenchReport("mlu", "2.13.0", 1, (one,), (), ())


@pytest.mark.parametrize(
    ("before", "now", "regressed"),
    [
        (measured(1.0, None), measured(1.09, None), False),  # below the threshold
        (measured(1.0, None), measured(1.12, None), True),
        (measured(1.0, None, noise=0.05), measured(1.12, None), False),  # within the noise of the baseline
        (measured(1.0, None, noise=5.0), measured(1.45, None), False),
        (measured(1.0, None, noise=5.0), measured(2.0, None), True),  # twice the time is no noise
        (measured(1.0, 1.0), measured(2.0, 2.0), False),  # the machine is slower, the CPU as well
        (measured(1.0, 1.0), measured(1.0, 0.5), True),
        (measured(1.0, None), measured(1.0, None, memory=1030), True),
        (measured(1.0, None), measured(1.0, None, memory=1010), False),
    ],
)
def test_a_baseline(before: BenchReport, now: BenchReport, regressed: bool) -> None:
    found = _compared(now, before, 0.1)
    assert bool(found.regressions) == regressed
    assert found.exit_code == int(regressed)
    assert ("REGRESSED" in bench_text(found)) == regressed


def test_a_model_that_is_not_measured_any_more_fails() -> None:
    found = _compared(BenchReport("mlu", "2.13.0", 1, (), (), ()), measured(1.0, None), 0.1)
    assert (found.missing, found.exit_code) == (("resnet",), 1)


def test_bench_json() -> None:
    jsonschema.validate(json.loads(bench_json(measured(1.0, 2.0))), json.loads(bench_schema()))
    assert (ROOT / "schemas/jsonschema/bench.json").read_text(encoding="utf-8") == bench_schema()


@pytest.mark.parametrize(("median", "noise"), [(0.0, 0.0), (-1.0, 0.0), (1.0, -0.5)])
def test_a_baseline_that_was_never_measured(
    tmp_path: Path, median: float, noise: float, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(bench_json(measured(median, None, noise=noise)), encoding="utf-8")
    assert main(["bench", "--device", "mlu", "--baseline", str(baseline)]) == 2
    assert capsys.readouterr().err == (
        f"{baseline}: 'resnet' on 'mlu': a time of {median:g} s with a noise of {noise:g} was never measured\n"
        "  = give the file as fl-gen bench wrote it\n"
    )


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [("bench", "--threshold", "nan"), ("bench", "--timeout", "inf"), ("align", "--rtol", "nan"), ("align", "--atol", "inf")],
)  # fmt: skip
def test_numbers_that_nothing_can_be_held_against(
    command: str, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "x.py", "--device", "mlu", option, value]) == 2
    assert capsys.readouterr().err.endswith(
        f"Error: Invalid value for '{option}': '{value}' is no number that anything can be held against\n"
    )


def test_names_of_layers_cannot_make_lines_of_their_own() -> None:
    evil = LayerCheck("a\n  = b\x1b[31m", "<b>", "", (BAD,))
    assert "  a\\n  = b\\x1b[31m (<b>)\n" in align_text(alignment(layers=(evil,)))
    one = Measured("net\nfl-gen: fine", "train", timing("mlu", 1.0), None)
    assert "  net\\nfl-gen: fine train  " in bench_text(BenchReport("mlu", "2", 1, (one,), (), ("a\nb",)))


def test_equal_nans_are_told() -> None:
    lost = replace(GOOD, nan=(6, 6))
    found = alignment(layers=(LayerCheck("a", "Linear", "", (GOOD,)), LayerCheck("b", "Norm", "", (lost,))))
    assert align_text(found).endswith(
        "the CPU itself has NaN or Inf in 1 of 2 layer calls, first in b (Norm): equal or not, these say little\n"
        "\n"
        "aligned: 2 layer calls, 9 op calls, 1 steps; 1 of the layer calls hold NaN or Inf"
    )


def test_what_cannot_be_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["align", str(tmp_path / "none.py"), "--device", "mlu"]) == 2
    assert capsys.readouterr().err == (
        f"{tmp_path}/none.py: no such file\n  = give a Python file with build() and inputs()\n"
    )
    assert main(["bench", "resnett", "--device", "mlu"]) == 2
    assert capsys.readouterr().err == "resnett: no such file, and no shipped model\n  = did you mean 'resnet'?\n"
    assert main(["bench", "--device", "mlu", "--python", "/none/python"]) == 2
    assert capsys.readouterr().err == (
        "--python /none/python: no such program\n  = name a Python that has PyTorch and the generated package\n"
    )
    for device in ("../x", "", "mlu;x"):
        assert main(["bench", "gpt", "--device", device]) == 2
        assert capsys.readouterr().err == (
            f"--device '{device}': that is no device\n  = give a vendor's name, as mlu, or cpu\n"
        )
    wrong = tmp_path / "baseline.json"
    wrong.write_text("{}", encoding="utf-8")
    assert main(["bench", "--device", "mlu", "--baseline", str(wrong)]) == 2
    assert "--baseline takes what fl-gen bench --format json wrote" in capsys.readouterr().err


def test_a_python_without_pytorch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "net.py"
    model.write_text("", encoding="utf-8")
    plain = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(plain)], check=True)
    python = plain / "bin" / "python"
    assert main(["align", str(model), "--device", "mlu", "--python", str(python)]) == 2
    assert (
        capsys.readouterr().err
        == f"{shown(python)}: this Python has no PyTorch\n  = name one that has it with --python\n"
    )


MODEL = """
import torch

def build():
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())

def inputs():
    return torch.randn(2, 4)
"""


@needs_torch
def test_the_cpu_is_aligned_with_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "net.py"
    model.write_text(MODEL, encoding="utf-8")
    assert main(["align", str(model), "--device", "cpu", "--python", sys.executable, "--steps", "2"]) == 0
    assert "every layer is equal bit for bit" in capsys.readouterr().out


@needs_torch
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "{model}:1:1: there is no function build()\n"),
        (
            "def build(:\n",
            "{model}:1:11: invalid syntax\n    1 | def build(:\n      |           ^\n"
            "  = this is no Python {version}: mend that line\n",
        ),
        (
            "import os\ndef build():\n    os._exit(3)\ndef inputs(): pass\n",
            "{model}: the process ended with exit code 3 and no result\n"
            "  = leave out what ends a process (os._exit) or writes into files of others, and run it alone\n",
        ),
        (
            "import ctypes\ndef build():\n    ctypes.string_at(0)\ndef inputs(): pass\n",
            "{model}:3: in build(): the process died of SIGSEGV\n  = run it alone on the device: what crashes here crashes there\n",
        ),
        (
            "import os, time\nif os.fork() == 0:\n    time.sleep(1000)\ndef build(): return 3\ndef inputs(): pass\n",
            "{model}:4: build() gives int\n  = return a torch.nn.Module\n",
        ),
        (
            f"{MODEL}\nimport atexit, sys\natexit.register(lambda: open(sys.argv[4], 'w').write('{{}}'))\n",
            "{model}: the result of the run was spoilt\n",
        ),
        (
            MODEL.replace("torch.nn.ReLU()", "Bad()")
            + "class Bad(torch.nn.Module):\n    def forward(self, x):\n        return x @ x\n",
            "{model}:11: on cpu, forward of step 1, in 1: RuntimeError: mat1 and mat2 shapes cannot be multiplied "
            "(2x3 and 2x3)\n  = the model fails on the CPU, before the device is asked: mend it first\n",
        ),
    ],
)
def test_a_model_file_that_is_none(tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "net.py"
    model.write_text(text, encoding="utf-8")
    assert main(["align", str(model), "--device", "cpu", "--python", sys.executable]) == 2
    assert capsys.readouterr().err.startswith(message.format(model=shown(model), version=VERSION))


@needs_torch
def test_distances_of_tensors() -> None:
    import torch

    from fl_gen.tasks.torch_runs.compare import compare

    one = torch.tensor([1.0, -0.0, 2.0])
    told = compare(torch.nextafter(one, torch.tensor(9.0)), one, None, None)
    assert (told["max_ulp"], told["equal"]) == (1, True)
    assert compare(torch.tensor([0.0]), torch.tensor([-0.0]), None, None)["max_ulp"] == 0
    assert compare(torch.tensor([-1e-45]), torch.tensor([1e-45]), None, None)["max_ulp"] == 2
    told = compare(torch.tensor([1.0, float("nan")]), torch.tensor([1.5, 2.0]), None, None)
    assert (told["mismatched"], told["nan"], told["max_abs"], told["worst"]["index"]) == (2, [1, 0], None, [1])
    told = compare(torch.tensor([float("nan"), float("inf")]), torch.tensor([float("nan"), float("inf")]), None, None)
    assert (told["equal"], told["max_abs"]) == (True, 0.0)
    assert compare(torch.tensor([1.0]), torch.tensor([0.0]), None, None)["max_rel"] is None
    assert not compare(torch.zeros(2, 1), torch.zeros(2), None, None)["equal"]
    assert compare(torch.zeros(0), torch.zeros(0), None, None)["equal"]
    low, high = torch.tensor([-1.5e308], dtype=torch.float64), torch.tensor([1.5e308], dtype=torch.float64)
    assert compare(low, high, None, None)["max_ulp"] > 2**62


@needs_torch
@pytest.mark.parametrize(
    ("text", "call", "message"),
    [
        (
            "raise ValueError('x' * 10_000)",
            "",
            "{model}:1: ValueError: " + "x" * 600 + "...\n  = what is no definition",
        ),
        ("import sys\nsys.exit(3)", "", "{model}:2: sys.exit(3)\n  = what is no definition goes behind if __name__ =="),
        ("import none_such", "", "{model}:1: ModuleNotFoundError: No module named 'none_such'\n  = install it into "),
        (
            "def build(a): pass\ndef inputs(): pass",
            "",
            "{model}:1: build(): missing a required argument: 'a'\n  = build()",
        ),
        ("a\0b", "", "{model}:1:1: source code string cannot contain null bytes\n  = this is no Python "),
        (
            "def build():\n  yield 1\ndef inputs(): pass",
            "build",
            "{model}:1: build() gives generator\n  = return a torch",
        ),
        (
            "import torch\ndef build(): return torch.nn.Linear(1, 1, device='meta')\ndef inputs(): pass",
            "build",
            "{model}:2: build() puts weight on meta\n  = build on the CPU: fl-gen moves the model to the device",
        ),
        (
            "import torch\ndef build(): pass\ndef inputs(): return torch.ones(1, device='meta')",
            "inputs",
            "{model}:3: inputs() gives a tensor on meta\n  = give tensors on the CPU: fl-gen moves them to the device",
        ),
        (
            "def build(): pass\ndef inputs(): return {1: 2}",
            "inputs",
            "{model}:2: inputs() gives dict\n  = return a tensor, a tuple, or a dict by the names of the model's",
        ),
    ],
)
def test_what_a_model_file_may_not_do(tmp_path: Path, text: str, call: str, message: str) -> None:
    from fl_gen.tasks.torch_runs.model_file import ModelFile, ModelFileError

    model = tmp_path / "net.py"
    model.write_text(text, encoding="utf-8")
    with pytest.raises(ModelFileError) as caught:
        getattr(ModelFile(str(model)), call)(0)
    assert str(caught.value).startswith(message.format(model=model))


@needs_torch
def test_losses_and_optimizers_that_do_not_train(tmp_path: Path) -> None:
    import torch

    from fl_gen.tasks.torch_runs.model_file import ModelFile, ModelFileError

    model = tmp_path / "net.py"
    model.write_text(
        "import torch\ndef build(): pass\ndef inputs(): pass\n"
        "def loss(output): return output.detach().sum()\n"
        "def optimizer(parameters): return torch.optim.LBFGS(parameters)\n",
        encoding="utf-8",
    )
    user = ModelFile(str(model))
    with pytest.raises(ModelFileError, match=r":4: loss\(\) gives a tensor without a gradient\n"):
        user.loss(torch.ones(2, requires_grad=True), (), {})
    with pytest.raises(
        ModelFileError, match="the model has no parameters to train\n  = use fl-gen align --forward-only"
    ):
        user.optimizer([])
    with pytest.raises(ModelFileError, match=r":5: optimizer\(\) gives LBFGS, whose step\(\) needs a closure\n"):
        user.optimizer([torch.nn.Parameter(torch.ones(1))])


@needs_torch
def test_models_that_are_seldom(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "net.py"
    model.write_text(
        """
import dataclasses, random, threading
import torch

@dataclasses.dataclass(frozen=True)
class Batch:
    x: torch.Tensor

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()  # no copy can be made of it
        self.body = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(inplace=True), torch.nn.Linear(3, 2))
        for _ in range(200):
            self.body = torch.nn.Sequential(self.body)

    def forward(self, batch):
        return Batch(torch.fft.fft(self.body(batch.x)) * random.random())

def build(): return Net()
def inputs(): return (Batch(torch.randn(2, 4)),)
""",
        encoding="utf-8",
    )
    assert main(["align", str(model), "--device", "cpu", "--python", sys.executable, "--steps", "2"]) == 0
    assert "every layer is equal bit for bit" in capsys.readouterr().out
