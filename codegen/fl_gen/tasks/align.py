"""A model on the device against the CPU: the run in the other Python, and what it says as values."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fl_gen.schema.paths import shown
from fl_gen.tasks.align_values import Alignment, LayerCheck, NamedCheck, OpCheck, TensorCheck
from fl_gen.tasks.codec import from_json
from fl_gen.tasks.torch_child import TorchRunError, find_python, package_of, run_program, spoilt


@dataclass(frozen=True)
class AlignOptions:
    """What the user asked for. `rtol` and `atol` None: those of the dtype and of ops/torch.yaml."""

    model: Path
    vendor: str
    python: str | None = None
    steps: int = 5
    seed: int = 0
    forward_only: bool = False
    evaluation: bool = False
    ops: bool = True
    rtol: float | None = None
    atol: float | None = None
    schema_dirs: tuple[Path, ...] = ()
    seconds: float = 3600.0


def align(options: AlignOptions) -> Alignment:
    """Run the model on both sides. Raises TorchRunError when a side cannot be run, SchemaError for the rules."""
    if not options.model.is_file():
        raise TorchRunError(f"{options.model}: no such file\n  = give a Python file with build() and inputs()")
    on_cpu = options.vendor == "cpu"
    task = {
        "model": os.path.abspath(options.model),
        "device": options.vendor,
        "import": package_of(options.vendor),
        "seed": options.seed,
        "steps": options.steps,
        "forward_only": options.forward_only,
        "eval": options.evaluation,
        "ops": options.ops,
        "rtol": options.rtol,
        "atol": options.atol,
        "tolerances": tolerances("" if on_cpu else options.vendor, options.schema_dirs),
    }
    told = run_program(find_python(options.python), "align", task, options.seconds)
    try:
        return _alignment(options, told)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        raise spoilt(shown(options.model)) from None


def tolerances(vendor: str, schema_dirs: Sequence[Path]) -> dict[str, Any]:
    """The tolerances of ops/torch.yaml, as `torch_runs.tolerances` takes them."""
    from fl_gen.schema.catalog import Catalog

    ops: dict[str, Any] = {}
    categories: list[Any] = []
    for rules in Catalog(tuple(schema_dirs)).torch(vendor).rules:
        for name, rule in rules.ops.items():
            if rule.tolerance is not None and name not in ops:
                ops[name] = _table(rule.tolerance)
        for category in rules.categories.values():
            if category.rule.tolerance is not None:
                categories.append([[str(pattern) for pattern in category.match], _table(category.rule.tolerance)])
    return {"ops": ops, "categories": categories}


def _table(tolerance: Mapping[str, Any]) -> dict[str, list[float]]:
    return {dtype: [float(one.rtol), float(one.atol)] for dtype, one in tolerance.items()}


def _alignment(options: AlignOptions, told: Mapping[str, Any]) -> Alignment:
    return Alignment(
        model=os.path.basename(options.model),
        device=options.vendor,
        torch=str(told["torch"]),
        steps=len(told["losses"][0]),
        layers=tuple(from_json(LayerCheck, layer) for layer in told["layers"]),
        gradients=tuple(from_json(NamedCheck, one) for one in told["gradients"]),
        missing_gradients=tuple(told["missing_gradients"]),
        state=tuple(from_json(NamedCheck, one) for one in told["state"]),
        losses_cpu=tuple(told["losses"][0]),
        losses_device=tuple(told["losses"][1]),
        op_calls=told["op_calls"],
        ops=tuple(_op(one) for one in told["ops"]),
        wrong_ops=tuple(_op(one) for one in told["wrong_ops"]),
        random_ops=tuple(told["random_ops"]),
        uncompared_ops=tuple((name, why) for name, why in told["uncompared_ops"]),
        failure=str(told["failure"]),
    )


def _op(told: Mapping[str, Any]) -> OpCheck:
    own = ("op", "layer", "phase", "call", "inputs")
    result = from_json(TensorCheck, {key: value for key, value in told.items() if key not in own})
    return OpCheck(told["op"], told["layer"], told["phase"], told["call"], tuple(told["inputs"]), result)
