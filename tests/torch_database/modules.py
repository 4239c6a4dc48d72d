"""Runs the modules and the optimizers of PyTorch's databases on a device, against the CPU.

    python -m torch_database.modules --device mlu --import torch_mlu --what modules|optimizers --results FILE

A module is built once, copied to the device, and must give the same outputs and gradients, in training and in evaluation.
An optimizer makes three steps from the same parameters and gradients.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from torch_database.ops import tensors_of, write
from torch_database.values import Difference, attempt, differences, to_device

_SEED = 20
_STEPS = 3


def _outputs(module: torch.nn.Module, given: Any, training: bool) -> tuple[Any, list[Any]]:
    """What the module gives, and the gradients of its parameters and inputs for the sum of all outputs."""
    args, kwargs = given
    module.train(training)
    torch.manual_seed(_SEED)
    result = module(*args, **kwargs)
    outputs = [out for out in tensors_of(result) if out.requires_grad]
    wanted = [tensor for tensor in [*module.parameters(), *tensors_of(given)] if tensor.requires_grad]
    if not outputs or not wanted:
        return result, []
    total = sum((out.abs() if out.is_complex() else out).sum() for out in outputs)
    return result, list(torch.autograd.grad(total, wanted, allow_unused=True))


def compare_module(info: Any, device: str, training: bool) -> Iterator[Difference]:
    """Every input of a module, forward and backward."""
    inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=True, training=training)
    for index, sample in enumerate(inputs):
        if sample.forward_input is None:
            continue
        torch.manual_seed(_SEED)
        build, call = sample.constructor_input, sample.forward_input
        module = info.module_cls(*build.args, **build.kwargs)
        twin, error = attempt(lambda module=module: copy.deepcopy(module).to(device))
        if error is not None:
            yield Difference("moving", f"input {index}: {type(error).__name__}: {error}")
            continue
        given = (tuple(call.args), dict(call.kwargs))
        moved = to_device(given, device)
        wanted, cpu_error = attempt(lambda m=module, g=given: _outputs(m, g, training))
        found, device_error = attempt(lambda m=twin, g=moved: _outputs(m, g, training))
        if cpu_error is not None or device_error is not None:
            if cpu_error is None or device_error is None:
                yield Difference("raises", f"input {index}: device {device_error!r}, CPU {cpu_error!r}"[:400])
            continue
        for difference in differences(found, wanted, device):
            if difference.kind != "strides":
                yield Difference(difference.kind, f"input {index}: {difference.text}")
        buffers = dict(twin.state_dict()), dict(module.state_dict())
        for difference in differences(buffers[0], buffers[1], device):
            yield Difference("state " + difference.kind, f"input {index}: {difference.text}")


def compare_optimizer(info: Any, device: str) -> Iterator[Difference]:
    """Every configuration of an optimizer, three steps on three parameters."""
    for index, config in enumerate(info.optim_inputs_func(device="cpu")):
        kwargs = dict(config.kwargs)
        torch.manual_seed(_SEED)
        start = [
            torch.randn(shape) for shape in ((4, 6), (5, 6) if info.optim_cls is torch.optim.Muon else (6,), (1, 2))
        ]
        sides = []
        for place in ("cpu", device):
            result, error = attempt(
                lambda place=place, kwargs=kwargs, start=start: _stepped(info, start, kwargs, place)
            )
            sides.append((result, error))
        (wanted, cpu_error), (found, device_error) = sides
        if cpu_error is not None or device_error is not None:
            if cpu_error is None or device_error is None:
                yield Difference("raises", f"{config.desc or index}: device {device_error!r}, CPU {cpu_error!r}"[:400])
            continue
        for difference in differences(found, wanted, device):
            yield Difference(difference.kind, f"{config.desc or index}: {difference.text}")


def _stepped(info: Any, start: list[torch.Tensor], kwargs: dict[str, Any], place: str) -> list[torch.Tensor]:
    """The parameters after three steps."""
    kwargs = {
        name: value.to(place) if isinstance(value, torch.Tensor) and value.dim() else value
        for name, value in kwargs.items()
    }
    parameters = [torch.nn.Parameter(tensor.clone().to(place)) for tensor in start]
    optimizer = info.optim_cls(parameters, **kwargs)
    generator = torch.Generator().manual_seed(_SEED)
    for _ in range(_STEPS):
        for parameter in parameters:
            gradient = torch.randn(parameter.shape, generator=generator)
            parameter.grad = (gradient.to_sparse() if info.only_supports_sparse_grads else gradient).to(place)

        def closure() -> torch.Tensor:
            return sum((parameter.detach() ** 2).sum() for parameter in parameters)  # type: ignore[return-value]

        optimizer.step(closure) if info.step_requires_closure else optimizer.step()
    return [parameter.detach() for parameter in parameters]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", required=True)
    parser.add_argument("--import", dest="module", default="")
    parser.add_argument("--what", choices=["modules", "optimizers"], required=True)
    parser.add_argument("--results", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.module:
        importlib.import_module(options.module)
    warnings.filterwarnings("ignore")
    with open(options.results, "a", encoding="utf-8") as stream:
        for name, run in _cases(options.what, options.device):
            write(stream, {"begin": name, "dtype": "float32"})
            found, error = attempt(lambda run=run: list(run()))
            problems: dict[str, str] = {}
            for difference in found or ():
                problems.setdefault(difference.kind, difference.text)
            if error is not None:
                problems["harness"] = f"{type(error).__name__}: {error}"
            write(stream, {"op": name, "dtype": "float32", "problems": problems})


def _cases(what: str, device: str) -> Iterator[tuple[str, Any]]:
    if what == "modules":
        from torch.testing._internal.common_modules import module_db

        for info in module_db:
            for training in (True, False):
                mode = "train" if training else "eval"
                yield f"{info.name} {mode}", lambda info=info, training=training: compare_module(info, device, training)
    else:
        from torch.testing._internal.common_optimizers import optim_db

        for info in optim_db:
            yield info.optim_cls.__name__, lambda info=info: compare_optimizer(info, device)


if __name__ == "__main__":
    main()
