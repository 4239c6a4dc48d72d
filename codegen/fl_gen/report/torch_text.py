"""What a person reads after a run for PyTorch: the wheel, where operators come from, how to build and try it."""

from __future__ import annotations

import shlex
from collections import Counter

from fl_gen.report import terminal
from fl_gen.schema.paths import shown
from fl_gen.workflow.generate import Resolved
from fl_gen.workflow.request import Request
from fl_gen.workflow.torch import TorchRun

_MANY = 8  # names that a line lists
# Operators that make a good first kernel: of one tensor or two, and in every model.
_FIRST = ("aten::relu", "aten::sigmoid", "aten::tanh", "aten::gelu", "aten::add.Tensor", "aten::mul.Tensor")


def torch_summary(run: TorchRun) -> list[str]:
    """The wheel and its operators by strategy."""
    view = run.view
    none = "that not even the CPU has"
    counts = Counter(
        none if op.strategy == "fallback" and not (op.op.cpu or op.own) else str(op.strategy) for op in view.ops
    )
    order = ("native", "library", "runtime", "fallback", "composite", none)
    words = {"runtime": "of the runtime", "composite": "composed of others by PyTorch, or views"}
    listed = ", ".join(f"{counts[name]} {words.get(name, name)}" for name in order if counts[name])
    lacking = sorted(name for name, there in view.features.items() if not there)
    lines = [
        f"PyTorch  {run.wheel.version} ({run.wheel.origin}): {shown(run.wheel.package)}",
        f"features {len(view.features) - len(lacking)} of {len(view.features)} in its headers"
        + (f"; not {', '.join(lacking[:_MANY])}{', …' if len(lacking) > _MANY else ''}" if lacking else ""),
        f"ops      {len(view.ops)}: {listed}",
    ]
    for strategy in ("native", "library"):
        names = [op.name for op in view.ops if op.strategy == strategy]
        if names:
            lines.append(f"         {strategy}: {', '.join(names[:_MANY])}{', …' if len(names) > _MANY else ''}")
    lines += [f"         {op.name}: {op.note}" for op in view.kernels if op.note is not None]
    lines += [f"         {op.name} falls back: {op.unavailable}" for op in view.ops if op.unavailable is not None]
    return lines


def torch_steps(request: Request, resolved: Resolved, run: TorchRun) -> list[str]:
    """Commands to go on with, each as it has to be typed for this request."""
    folder = shlex.quote(shown(request.generated))
    vendor = request.vendor
    lines = [
        "next",
        *terminal.sdk_steps(request, resolved),
        f"  pip install --no-build-isolation {folder}    # needs scikit-build-core, cmake and ninja",
        f"  python -c 'import torch; print(torch.ones(3, device=\"{run.view.device.snake}\"))'",
        f"  pytest {folder}/tests",
    ]
    free = (name for name in _FIRST if run.view.has_op(name) and run.view.strategy(name) == "fallback")
    first = next(free, None)
    if first is not None:
        command = f"fl-gen kernel new {vendor} {first} --framework torch{terminal.request_options(request)}"
        any_yet = any(op.kernel is not None for op in run.view.ops)
        lines.append(f"  {command}    # {'another' if any_yet else 'the first'} kernel of your own")
    return lines
