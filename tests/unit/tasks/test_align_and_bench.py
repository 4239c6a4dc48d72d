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
        "  aten::relu in block.act, forward, call 4, on float32[2, 3]\n"
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
        "first op outside its tolerance: aten::relu in block.act, forward, call 4, on float32[2, 3]; "
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
        ("def build(:\n", "{model}:1: SyntaxError: "),
        ("def build():\n    return 3\ndef inputs():\n    return 3\n", "{model}: build() gives int\n"),
        (
            "import torch\ndef build():\n    raise KeyError('w')\ndef inputs(): pass\n",
            "{model}:3: build(): KeyError: 'w'",
        ),
        ("import os\ndef build():\n    os._exit(3)\ndef inputs(): pass\n", "{python}: align ended with exit code 3"),
    ],
)
def test_a_model_file_that_is_none(tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "net.py"
    model.write_text(text, encoding="utf-8")
    assert main(["align", str(model), "--device", "cpu", "--python", sys.executable]) == 2
    assert capsys.readouterr().err.startswith(message.format(model=model, python=shown(sys.executable)))


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
