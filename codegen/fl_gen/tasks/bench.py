"""Measures models on a device and on the CPU, alternating, and holds the figures against a baseline."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from fl_gen.schema.errors import quote
from fl_gen.schema.paths import shown
from fl_gen.schema.suggest import suggestion
from fl_gen.tasks.bench_values import BenchReport, Comparison, Measured, Timing
from fl_gen.tasks.codec import from_json
from fl_gen.tasks.coverage_read import RecordError, load_json
from fl_gen.tasks.torch_child import TorchRunError, find_python, package_of, run_program, spoilt

MIN_ROUNDS = 3  # with fewer it is not known how far apart rounds of the same code are
SHIPPED = ("resnet", "bert", "gpt")
_MEMORY = 0.02  # a device's memory does not depend on noise; this much may come from another allocator's rounding
_SIGMA = 3.0  # times the noise of both sides that a difference must exceed
_MOST_NOISE = 0.9  # what noise may excuse at most: twice the time is never noise, however restless the machine was


@dataclass(frozen=True)
class BenchOptions:
    """What to measure. `models` are names of SHIPPED or Python files; `threshold` is a part of the time."""

    vendor: str
    models: tuple[str, ...] = SHIPPED
    python: str | None = None
    train: bool = True
    rounds: int = 3
    repeat: int = 10
    warmup: int = 2
    threads: int = 1
    seed: int = 0
    beside_cpu: bool = True
    threshold: float = 0.1
    baseline: Path | None = None
    seconds: float = 1800.0


def bench(options: BenchOptions, told: Callable[[str], None] = lambda text: None) -> BenchReport:
    """Measure everything. `told` is called before each model. Raises TorchRunError and RecordError."""
    tasks = [(_name(model), _task(options, model)) for model in options.models]
    names = [name for name, _ in tasks]
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise TorchRunError(
            f"the model {quote(double)} is given twice\n  = give each once, in files of different names"
        )
    before = _baseline(options) if options.baseline is not None else None
    if before is not None and options.rounds < MIN_ROUNDS:
        raise TorchRunError(
            f"--rounds {options.rounds} with --baseline: fewer than {MIN_ROUNDS} rounds do not tell the noise, "
            f"and a difference says nothing without it\n  = use --rounds {MIN_ROUNDS} or more"
        )
    python = find_python(options.python)
    models = []
    version = ""
    for name, task in tasks:
        told(name)
        measured, version = _measure(options, python, name, task)
        models.append(measured)
    report = BenchReport(options.vendor, version, options.threads, tuple(models), (), ())
    return report if before is None else _compared(report, before, options.threshold)


def _name(model: str) -> str:
    return model if model in SHIPPED else Path(model).stem


def _task(options: BenchOptions, model: str) -> dict[str, Any]:
    if model not in SHIPPED and not Path(model).is_file():
        hint = suggestion(model, SHIPPED)
        raise TorchRunError(
            f"{model}: no such file, and no shipped model\n"
            f"  = {hint or 'give a Python file with build() and inputs(), or one of ' + ', '.join(SHIPPED)}"
        )
    return {
        "model": "" if model in SHIPPED else os.path.abspath(model),
        "shipped": model if model in SHIPPED else "",
        "train": options.train,
        "seed": options.seed,
        "threads": options.threads,
        "repeat": options.repeat,
        "warmup": options.warmup,
    }


def _measure(options: BenchOptions, python: str, name: str, task: dict[str, Any]) -> tuple[Measured, str]:
    """Rounds of device and CPU in turn, so that a machine that slows down slows both."""
    devices = list(dict.fromkeys([options.vendor, *(["cpu"] if options.beside_cpu else [])]))
    found: dict[str, list[dict[str, Any]]] = {device: [] for device in devices}
    for _ in range(options.rounds):
        for device in devices:
            package = package_of(device)
            found[device].append(
                run_program(python, "bench", {**task, "device": device, "import": package}, options.seconds)
            )
    try:
        timings = {device: _timing(device, rounds) for device, rounds in found.items()}
        figures = _figures(found, options.vendor)
        version = str(found[options.vendor][0]["torch"])
    except (ValueError, KeyError, TypeError, OverflowError):
        raise spoilt(name) from None
    mode: Literal["train", "infer"] = "train" if options.train else "infer"
    cpu = timings.get("cpu") if options.vendor != "cpu" else None
    return (
        Measured(name, mode, timings[options.vendor], cpu, figures),
        version,
    )


def _figures(found: dict[str, list[dict[str, Any]]], vendor: str) -> tuple[float, ...]:
    """The figure of each round: what the device took beside what the CPU took right after it, if that was measured."""
    beside = found.get("cpu") if vendor != "cpu" else None
    device = [statistics.median(float(one) for one in told["seconds"]) for told in found[vendor]]
    if beside is None:
        return tuple(device)
    cpu = [statistics.median(float(one) for one in told["seconds"]) for told in beside]
    return tuple(left / right for left, right in zip(device, cpu, strict=True) if right)


def _timing(device: str, rounds: Sequence[dict[str, Any]]) -> Timing:
    seconds = [float(one) for told in rounds for one in told["seconds"]]
    median = statistics.median(seconds)
    noise = statistics.median(abs(one - median) for one in seconds) / median if median else 0.0
    first = rounds[0]
    used = [told["device_bytes"] for told in rounds if told["device_bytes"] is not None]
    return Timing(
        device=device,
        median=median,
        fastest=min(seconds),
        noise=noise,
        steps=len(seconds),
        items=first["items"],
        unit=first["unit"],
        device_bytes=max(used) if used else None,
        host_bytes=max(told["host_bytes"] for told in rounds),
    )


def _baseline(options: BenchOptions) -> BenchReport:
    assert options.baseline is not None
    path = options.baseline
    try:
        before = from_json(BenchReport, load_json(path, "an earlier measurement"))
    except ValueError as error:
        raise RecordError(
            f"{shown(path)}: {error}\n  = --baseline takes what fl-gen bench --format json wrote"
        ) from None
    for one in before.models:
        for timing in (one.device, *([one.cpu] if one.cpu is not None else [])):
            if timing.median <= 0 or timing.noise < 0 or (timing.device_bytes or 0) < 0:
                raise RecordError(
                    f"{shown(path)}: {quote(one.model)} on {quote(timing.device)}: a time of {timing.median:g} s "
                    f"with a noise of {timing.noise:g} was never measured\n"
                    "  = give the file as fl-gen bench wrote it"
                )
        if len(one.rounds) < MIN_ROUNDS:
            raise RecordError(
                f"{shown(path)}: {quote(one.model)} was measured in {len(one.rounds)} round(s): fewer than "
                f"{MIN_ROUNDS} do not tell the noise, and a difference says nothing without it\n"
                f"  = measure the baseline again with --rounds {MIN_ROUNDS} or more"
            )
        if min(one.rounds) <= 0 or one.spread >= 1:
            raise RecordError(
                f"{shown(path)}: the rounds of {quote(one.model)} lie from {min(one.rounds):.3g} to "
                f"{max(one.rounds):.3g}: nothing can be held against that\n"
                "  = measure the baseline again on a machine with less to do, or with more --repeat"
            )
    if before.vendor != options.vendor:
        raise RecordError(
            f"{shown(path)}: it was measured on {quote(before.vendor)}, not on {quote(options.vendor)}\n"
            "  = give the baseline of the same device"
        )
    return before


def _compared(report: BenchReport, before: BenchReport, threshold: float) -> BenchReport:
    """`report` with what became of each model of the baseline."""
    now = {(one.model, one.mode): one for one in report.models}
    comparisons: list[Comparison] = []
    missing = []
    for old in before.models:
        new = now.get((old.model, old.mode))
        if new is None:
            missing.append(old.model)
            continue
        comparisons += _of_one(old, new, threshold)
    return replace(report, comparisons=tuple(comparisons), missing=tuple(missing))


def _of_one(old: Measured, new: Measured, threshold: float) -> list[Comparison]:
    noise = [old.device.noise, new.device.noise]
    if old.slowdown is not None and new.slowdown is not None and old.cpu is not None and new.cpu is not None:
        noise += [old.cpu.noise, new.cpu.noise]
        what: Literal["time", "time beside the CPU"] = "time beside the CPU"
        ratio = new.slowdown / old.slowdown
        if old.rounds and new.rounds:
            ratio = statistics.median(new.rounds) / statistics.median(old.rounds)
    else:
        what, ratio = "time", new.device.median / old.device.median
    # Of the same code rounds are as far apart as they were on either side: a regression must be more than that.
    apart = old.spread + new.spread
    limit = 1 + max(threshold, min(_MOST_NOISE, _SIGMA * max(noise)), apart)
    found = [Comparison(new.model, new.mode, what, ratio, limit, 1 + threshold)]
    if old.device.device_bytes and new.device.device_bytes is not None:
        grown = new.device.device_bytes / old.device.device_bytes
        found.append(Comparison(new.model, new.mode, "device memory", grown, 1 + _MEMORY, 1 + _MEMORY))
    return found
