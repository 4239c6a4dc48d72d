"""A user's model file: `build()` gives the module, `inputs()` its arguments; `loss` and `optimizer` may be left out."""

from __future__ import annotations

import copy
import dataclasses
import importlib.util
import inspect
import itertools
import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from .told import place, syntax, words

_HINTS = {
    "build": "build() is called without arguments, and returns a torch.nn.Module on the CPU",
    "inputs": "inputs() is called without arguments, and returns the model's arguments on the CPU",
    "loss": "loss(output, *inputs) is called with what the model gave and its arguments",
    "optimizer": "optimizer(parameters) is called with the list of the model's parameters",
}


class ModelFileError(Exception):
    """The file is not what such a file has to be; the text is for the user."""


class ModelFile:
    """The functions of a model file, checked."""

    def __init__(self, path: str) -> None:
        self.path = path
        spec = importlib.util.spec_from_file_location("fl_gen_user_model", path)
        if spec is None or spec.loader is None:
            raise ModelFileError(f"{path}: this is no Python file\n  = give a file that ends in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        sys.path.insert(0, str(Path(path).resolve().parent))
        try:
            spec.loader.exec_module(module)
        except SyntaxError as error:
            if error.filename not in (None, path):  # of a file that it imports
                raise ModelFileError(f"{place(error, path)}: {words(error)}\n  = mend that file") from None
            raise ModelFileError(syntax(error, path)) from None
        except ModuleNotFoundError as error:
            hint = f"install it into {sys.executable}, or name another Python with --python"
            raise ModelFileError(f"{place(error, path)}: {words(error)}\n  = {hint}") from None
        except BaseException as error:  # sys.exit() of a script is none of the Exceptions
            hint = 'what is no definition goes behind if __name__ == "__main__"'
            raise ModelFileError(f"{place(error, path)}: {words(error)}\n  = {hint}, or mend it") from None
        self._module = module
        for name in ("build", "inputs"):
            function = getattr(module, name, None)
            if not callable(function):
                raise ModelFileError(
                    f"{path}:1:1: there is no function {name}()\n"
                    "  = define build() -> torch.nn.Module and inputs() -> a tuple or dict of arguments"
                )
            try:
                inspect.signature(function).bind()
            except TypeError as error:
                raise ModelFileError(f"{self.place(name)}: {name}(): {error}\n  = {_HINTS[name]}") from None
            except ValueError:  # a builtin that does not tell
                continue

    def place(self, name: str) -> str:
        """`file:line` of one of the functions."""
        code = getattr(getattr(self._module, name, None), "__code__", None)
        if code is None or code.co_filename != self.path:
            return self.path
        return f"{self.path}:{code.co_firstlineno}"

    def build(self, seed: int) -> torch.nn.Module:
        """The module, on the CPU, from the same random numbers each time."""
        seed_all(seed)
        model = self._call("build")
        if not isinstance(model, torch.nn.Module):
            raise ModelFileError(
                f"{self.place('build')}: build() gives {type(model).__name__}\n  = return a torch.nn.Module"
            )
        for name, tensor in itertools.chain(model.named_parameters(), model.named_buffers()):
            if tensor.device.type != "cpu":
                raise ModelFileError(
                    f"{self.place('build')}: build() puts {name} on {tensor.device}\n"
                    "  = build on the CPU: fl-gen moves the model to the device"
                )
        return model

    def inputs(self, seed: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and named arguments, on the CPU."""
        seed_all(seed)
        given = self._call("inputs")
        for tensor in tensors_of(given):
            if tensor.device.type != "cpu":
                raise ModelFileError(
                    f"{self.place('inputs')}: inputs() gives a tensor on {tensor.device}\n"
                    "  = give tensors on the CPU: fl-gen moves them to the device"
                )
        if isinstance(given, torch.Tensor):
            return (given,), {}
        if isinstance(given, dict) and all(isinstance(key, str) for key in given):
            return (), dict(given)
        if isinstance(given, (tuple, list)):
            return tuple(given), {}
        raise ModelFileError(
            f"{self.place('inputs')}: inputs() gives {type(given).__name__}\n"
            "  = return a tensor, a tuple, or a dict by the names of the model's arguments"
        )

    def loss(self, output: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
        """What is minimised: the file's own `loss(output, *inputs)`, else the mean square of all floating outputs."""
        own = getattr(self._module, "loss", None)
        if own is not None:
            result = self._call("loss", output, *args, **kwargs)
            if not isinstance(result, torch.Tensor) or result.numel() != 1:
                raise ModelFileError(
                    f"{self.place('loss')}: loss() gives no tensor of one element\n  = return a scalar tensor"
                )
            if not result.requires_grad:
                raise ModelFileError(
                    f"{self.place('loss')}: loss() gives a tensor without a gradient\n"
                    "  = compute it from the model's output without detach(), or use --forward-only"
                )
            return result
        terms = [
            (t.abs() if t.is_complex() else t).float().pow(2).mean()
            for t in tensors_of(output)
            if (t.is_floating_point() or t.is_complex()) and t.requires_grad
        ]
        if not terms:
            raise ModelFileError(
                f"{self.path}: no output of the model has a gradient\n"
                "  = define loss(output, *inputs), or use --forward-only"
            )
        return torch.stack(terms).sum()

    def optimizer(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """The file's own `optimizer(parameters)`, else SGD with learning rate 1e-2."""
        own = getattr(self._module, "optimizer", None)
        parameters = list(parameters)
        if not any(parameter.requires_grad for parameter in parameters):
            raise ModelFileError(
                f"{self.path}: the model has no parameters to train\n"
                "  = use fl-gen align --forward-only, or fl-gen bench --infer"
            )
        result = self._call("optimizer", parameters) if own is not None else torch.optim.SGD(parameters, lr=1e-2)
        if not isinstance(result, torch.optim.Optimizer):
            raise ModelFileError(
                f"{self.place('optimizer')}: optimizer() gives {type(result).__name__}\n"
                "  = return a torch.optim.Optimizer"
            )
        if isinstance(result, torch.optim.LBFGS):
            raise ModelFileError(
                f"{self.place('optimizer')}: optimizer() gives LBFGS, whose step() needs a closure\n"
                "  = return one that needs none, as SGD or AdamW"
            )
        return result

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return getattr(self._module, name)(*args, **kwargs)
        except BaseException as error:
            where = place(error, self.path)
            raise ModelFileError(f"{where}: {name}(): {words(error)}\n  = {_HINTS[name]}") from None


def seed_all(seed: int) -> None:
    """Begins all random numbers anew that a model may draw: PyTorch's, Python's, and NumPy's if it is in use."""
    torch.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def tensors_of(value: Any) -> list[torch.Tensor]:
    """Every tensor in a nest of tuples, lists, dicts and dataclasses, in order."""
    found: list[torch.Tensor] = []
    for leaf in torch.utils._pytree.tree_flatten(value)[0]:
        if isinstance(leaf, torch.Tensor):
            found.append(leaf)
        elif dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            found += tensors_of([getattr(leaf, field.name, None) for field in dataclasses.fields(leaf)])
    return found


def moved(value: Any, device: str) -> Any:
    """`value` with every tensor on `device`."""

    def move(item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            return item.detach().to(device).requires_grad_(item.requires_grad)
        if dataclasses.is_dataclass(item) and not isinstance(item, type):
            twin = copy.copy(item)
            for field in dataclasses.fields(item):
                object.__setattr__(twin, field.name, moved(getattr(item, field.name, None), device))
            return twin
        return item

    return torch.utils._pytree.tree_map(move, value)
