"""A user's model file: `build()` gives the module, `inputs()` its arguments; `loss` and `optimizer` may be left out."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch


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
        except Exception as error:
            raise ModelFileError(f"{_place(error, path)}: {type(error).__name__}: {error}") from None
        for name in ("build", "inputs"):
            if not callable(getattr(module, name, None)):
                raise ModelFileError(
                    f"{path}:1:1: there is no function {name}()\n"
                    "  = define build() -> torch.nn.Module and inputs() -> a tuple or dict of arguments"
                )
        self._module = module

    def build(self, seed: int) -> torch.nn.Module:
        """The module, on the CPU, from the same random numbers each time."""
        torch.manual_seed(seed)
        model = self._call("build")
        if not isinstance(model, torch.nn.Module):
            raise ModelFileError(f"{self.path}: build() gives {type(model).__name__}\n  = return a torch.nn.Module")
        return model

    def inputs(self, seed: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and named arguments, on the CPU."""
        torch.manual_seed(seed)
        given = self._call("inputs")
        if isinstance(given, torch.Tensor):
            return (given,), {}
        if isinstance(given, dict):
            return (), dict(given)
        if isinstance(given, (tuple, list)):
            return tuple(given), {}
        raise ModelFileError(
            f"{self.path}: inputs() gives {type(given).__name__}\n  = return a tensor, a tuple or a dict"
        )

    def loss(self, output: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor:
        """What is minimised: the file's own `loss(output, *inputs)`, else the mean square of all floating outputs."""
        own = getattr(self._module, "loss", None)
        if own is not None:
            result = self._call("loss", output, *args, **kwargs)
            if not isinstance(result, torch.Tensor) or result.numel() != 1:
                raise ModelFileError(f"{self.path}: loss() gives no tensor of one element\n  = return a scalar tensor")
            return result
        terms = [t.float().pow(2).mean() for t in tensors_of(output) if t.is_floating_point() and t.requires_grad]
        if not terms:
            raise ModelFileError(
                f"{self.path}: no output of the model has a gradient\n"
                "  = define loss(output, *inputs), or use --forward-only"
            )
        return torch.stack(terms).sum()

    def optimizer(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """The file's own `optimizer(parameters)`, else SGD with learning rate 1e-2."""
        own = getattr(self._module, "optimizer", None)
        result = self._call("optimizer", parameters) if own is not None else torch.optim.SGD(parameters, lr=1e-2)
        if not isinstance(result, torch.optim.Optimizer):
            raise ModelFileError(
                f"{self.path}: optimizer() gives {type(result).__name__}\n  = return a torch.optim.Optimizer"
            )
        return result

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return getattr(self._module, name)(*args, **kwargs)
        except Exception as error:
            raise ModelFileError(f"{_place(error, self.path)}: {name}(): {type(error).__name__}: {error}") from None


def tensors_of(value: Any) -> list[torch.Tensor]:
    """Every tensor in a nest of tuples, lists and dicts, in order."""
    leaves = torch.utils._pytree.tree_flatten(value)[0]
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def moved(value: Any, device: str) -> Any:
    """`value` with every tensor on `device`."""

    def move(item: Any) -> Any:
        return item.detach().to(device).requires_grad_(item.requires_grad) if isinstance(item, torch.Tensor) else item

    return torch.utils._pytree.tree_map(move, value)


def _place(error: BaseException, path: str) -> str:
    """`file:line` of the last frame of the user's own file."""
    line = getattr(error, "lineno", None) or 1
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}:{line}"
