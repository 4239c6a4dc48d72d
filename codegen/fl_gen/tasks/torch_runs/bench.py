"""Measures training or inference of one model on one device: seconds a step, items a second, memory."""

from __future__ import annotations

import importlib
import resource
import time
from collections.abc import Callable
from typing import Any

import torch

from .model_file import ModelFile, ModelFileError, moved
from .models import loss as shipped_loss
from .models import shipped
from .told import place, words


class Case:
    """A model on its device, with one step of it as a call."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.device = task["device"]
        self.train = task["train"]
        torch.manual_seed(task["seed"])
        self._loss: Callable[[Any], Any]
        if task["shipped"]:
            entry = shipped(task["shipped"])
            model, (given, target) = entry.build(), entry.inputs()
            self.args, self.kwargs = (given.to(self.device),), {}
            target = target.to(self.device)
            self._loss = lambda output: shipped_loss(output, target)
            self.items, self.unit = entry.items, entry.unit
            optimizer: Any = lambda parameters: torch.optim.AdamW(parameters, lr=1e-3)  # noqa: E731
        else:
            user = ModelFile(task["model"])
            model = user.build(task["seed"])
            args, kwargs = user.inputs(task["seed"])
            self.args, self.kwargs = moved(args, self.device), moved(kwargs, self.device)
            self._loss = lambda output: user.loss(output, self.args, self.kwargs)
            self.items, self.unit = 1, "steps"
            optimizer = user.optimizer
        self.model = model.to(self.device).train(self.train)
        self.optimizer = optimizer(self.model.parameters()) if self.train else None

    def step(self) -> None:
        """One step, finished when this returns."""
        if self.optimizer is None:
            with torch.no_grad():
                self.model(*self.args, **self.kwargs)
        else:
            self.optimizer.zero_grad(set_to_none=True)
            total: Any = self._loss(self.model(*self.args, **self.kwargs))
            total.backward()
            self.optimizer.step()
        synchronize(self.device)


def synchronize(device: str) -> None:
    """Wait for the device."""
    if device != "cpu":
        getattr(torch, device).synchronize()


def _device_memory(device: str) -> int | None:
    """The most device memory that tensors held since the start, in bytes; None on the CPU."""
    if device == "cpu":
        return None
    return int(getattr(torch, device).max_memory_allocated())


def run(task: dict[str, Any]) -> dict[str, Any]:
    """The seconds of each timed step, in order, and what they took."""
    if task["import"]:
        importlib.import_module(task["import"])
    torch.set_num_threads(task["threads"])
    case = Case(task)
    for _ in range(task["warmup"]):
        case.step()
    seconds = []
    for _ in range(task["repeat"]):
        start = time.perf_counter()
        case.step()
        seconds.append(time.perf_counter() - start)
    return {
        "seconds": seconds,
        "items": case.items,
        "unit": case.unit,
        "device_bytes": _device_memory(case.device),
        "host_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "torch": torch.__version__,
    }


def main(task: dict[str, Any]) -> dict[str, Any]:
    """The result of a task, or the one message that says why there is none."""
    try:
        return run(task)
    except ModelFileError as error:
        return {"error": str(error)}
    except ImportError as error:
        return {"error": f"{error}\n  = install the generated package into this Python, or name another with --python"}
    except BaseException as error:  # of a model that calls sys.exit as well
        model = task["model"] or f"the model {task['shipped']}"
        hint = "fl-gen align compares it with the CPU layer by layer"
        return {"error": f"{place(error, model)}: on {task['device']}: {words(error)}\n  = {hint}"}
