"""Runs a user's model on the CPU and on a device and compares.

Three things are compared. Each *op* that the device runs is run again on the CPU on the same inputs, so what is said of
it does not hang on what went before. Each *layer*'s output is held against that of the CPU's run, where errors add up.
At the end the gradients of the first step, the loss of each step and the parameters after the last.
"""

from __future__ import annotations

import copy
import importlib
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from .compare import TOLERANCES, compare, finite
from .model_file import ModelFile, ModelFileError, moved, tensors_of
from .tolerances import Tolerances

_SLACK = 16.0  # errors of many ops add up in a layer; its tolerance is this many times that of one op


class Recorder:
    """The outputs of each module call of one run, in order, and the module that runs now."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.outputs: list[tuple[str, str, list[torch.Tensor]]] = []
        self.stack: list[str] = []
        self._handles: list[Any] = []
        for name, module in model.named_modules():
            shown = name or "(model)"
            kind = type(module).__name__
            self._handles.append(module.register_forward_pre_hook(self._enter(shown)))
            self._handles.append(module.register_forward_hook(self._leave(shown, kind), always_call=False))
            if not list(module.children()) and any(True for _ in module.parameters()):
                self._handles.append(module.register_full_backward_pre_hook(self._backward_enter(shown)))
                self._handles.append(module.register_full_backward_hook(self._backward_leave()))

    def close(self) -> None:
        for handle in self._handles:
            handle.remove()

    @property
    def layer(self) -> str:
        return self.stack[-1] if self.stack else ""

    def _enter(self, name: str) -> Any:
        def hook(module: torch.nn.Module, args: Any) -> None:
            self.stack.append(name)

        return hook

    def _leave(self, name: str, kind: str) -> Any:
        def hook(module: torch.nn.Module, args: Any, output: Any) -> None:
            if self.stack:
                self.stack.pop()
            # A copy: a later op may write into the output. The recorder's own copies are not ops of the model.
            with torch.utils._python_dispatch._disable_current_modes():
                kept = [tensor.detach().cpu().clone() for tensor in tensors_of(output)]
            self.outputs.append((name, kind, kept))

        return hook

    def _backward_enter(self, name: str) -> Any:
        def hook(module: torch.nn.Module, gradient: Any) -> None:
            self.stack.append(name)

        return hook

    def _backward_leave(self) -> Any:
        def hook(module: torch.nn.Module, inputs: Any, outputs: Any) -> None:
            if self.stack:
                self.stack.pop()

        return hook


class OpComparer(TorchDispatchMode):
    """Runs each op of the device again on the CPU, on copies of the same inputs, and keeps what is told of it."""

    def __init__(self, device: str, recorder: Recorder, tolerances: Tolerances) -> None:
        super().__init__()
        self._device = torch.device(device).type
        self._recorder = recorder
        self._tolerances = tolerances
        self.phase = "forward"
        self.calls = 0
        self.random: set[str] = set()
        self.uncompared: dict[str, str] = {}
        self.worst: dict[str, dict[str, Any]] = {}
        self.wrong: list[dict[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = func.name()
        on_device = any(t.device.type == self._device for t in tensors_of((args, kwargs)))
        if not on_device or torch.Tag.nondeterministic_seeded in func.tags or func.is_view:
            if on_device and torch.Tag.nondeterministic_seeded in func.tags:
                self.random.add(name)
            return func(*args, **kwargs)
        on_host = self._host_copy((args, kwargs))
        result = func(*args, **kwargs)
        if name.startswith(("aten::empty", "aten::new_empty", "aten::_to_copy", "aten::copy_")):
            return result
        self.calls += 1
        try:
            wanted = func(*on_host[0], **on_host[1])
        except Exception as error:
            self.uncompared.setdefault(name, f"{type(error).__name__}: {str(error)[:120]}")
            return result
        self._judge(func, (args, kwargs), tensors_of(result), tensors_of(wanted))
        return result

    def _host_copy(self, value: Any) -> Any:
        def copied(item: Any) -> Any:
            if isinstance(item, torch.Tensor):
                host = item.detach().cpu()
                return host.clone() if host is item or item.device.type == "cpu" else host
            return torch.device("cpu") if isinstance(item, torch.device) else item

        return tree_map(copied, value)

    def _judge(self, func: Any, given: Any, found: list[torch.Tensor], wanted: list[torch.Tensor]) -> None:
        name = func.name()
        for left, right in zip(found, wanted, strict=False):
            rtol, atol = self._tolerances.of(name, func.tags, right.dtype)
            told = compare(left.detach().cpu(), right.detach(), rtol, atol)
            told.update(op=name, layer=self._recorder.layer, phase=self.phase, call=self.calls)
            told["inputs"] = [f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in tensors_of(given)]
            worst = self.worst.get(name)
            if worst is None or (told["mismatched"], told["max_ulp"] or 0) > (
                worst["mismatched"],
                worst["max_ulp"] or 0,
            ):
                self.worst[name] = told
            if not told["equal"] and len(self.wrong) < 200:
                self.wrong.append(told)


def run(task: dict[str, Any]) -> dict[str, Any]:
    """The whole comparison; the JSON that fl-gen turns into a report."""
    if task["import"]:
        importlib.import_module(task["import"])
    device, seed = task["device"], task["seed"]
    torch.backends.cuda.enable_flash_sdp(False)  # the CPU's flash kernel rounds differently from the composite
    user = ModelFile(task["model"])
    host_model = user.build(seed)
    device_model = copy.deepcopy(host_model).to(device)
    args, kwargs = user.inputs(seed)
    sides = {
        "cpu": _train(user, host_model, args, kwargs, task, None),
        device: _train(user, device_model, moved(args, device), moved(kwargs, device), task, device),
    }
    return _told(sides["cpu"], sides[device], task)


def _train(
    user: ModelFile, model: torch.nn.Module, args: Any, kwargs: Any, task: dict[str, Any], device: str | None
) -> Any:
    """One side: the layers of the first step, its gradients, all losses, and the parameters at the end."""
    recorder = Recorder(model)
    comparer = (
        OpComparer(device, recorder, Tolerances(task["tolerances"])) if device is not None and task["ops"] else None
    )
    side: dict[str, Any] = {"comparer": comparer, "losses": [], "gradients": {}}
    optimizer = None if task["forward_only"] else user.optimizer(model.parameters())
    model.train(not task["eval"])
    for step in range(1 if task["forward_only"] else task["steps"]):
        torch.manual_seed(task["seed"] + step)
        if comparer is not None and step == 0:
            with comparer:
                _step(user, model, args, kwargs, optimizer, side, comparer)
        else:
            _step(user, model, args, kwargs, optimizer, side, None)
        if step == 0:
            recorder.close()
            side["layers"] = list(recorder.outputs)
            if optimizer is not None:
                side["gradients"] = {
                    name: p.grad.detach().cpu().clone() for name, p in model.named_parameters() if p.grad is not None
                }
        if optimizer is not None:
            optimizer.step()
    side["state"] = {name: value.detach().cpu() for name, value in model.state_dict().items() if torch.is_tensor(value)}
    return side


def _step(
    user: ModelFile,
    model: Any,
    args: Any,
    kwargs: Any,
    optimizer: Any,
    side: dict[str, Any],
    comparer: OpComparer | None,
) -> None:
    """Forward, and backward where there is an optimizer."""
    if optimizer is None:
        with torch.no_grad():
            model(*args, **kwargs)
        return
    optimizer.zero_grad()
    loss = user.loss(model(*args, **kwargs), args, kwargs)
    if comparer is not None:
        comparer.phase = "backward"
    loss.backward()
    side["losses"].append(finite(float(loss.detach().cpu())))


def _told(cpu: dict[str, Any], device: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    layers = []
    for (name, kind, wanted), (other, _, found) in zip(cpu["layers"], device["layers"], strict=False):
        if name != other or len(wanted) != len(found):
            layers.append({"layer": name, "kind": kind, "structure": f"the device ran {other}", "results": []})
            break
        results = [_loosely(left, right, task) for left, right in zip(found, wanted, strict=True)]
        layers.append({"layer": name, "kind": kind, "structure": "", "results": results})
    gradients = [
        {"name": name, "result": _loosely(device["gradients"][name], wanted, task)}
        for name, wanted in cpu["gradients"].items()
        if name in device["gradients"]
    ]
    missing = sorted(set(cpu["gradients"]) ^ set(device["gradients"]))
    state = [
        {"name": name, "result": _loosely(device["state"][name], value, task)} for name, value in cpu["state"].items()
    ]
    comparer = device["comparer"]
    return {
        "layers": layers,
        "gradients": gradients,
        "missing_gradients": missing,
        "state": state,
        "losses": [cpu["losses"], device["losses"]],
        "op_calls": comparer.calls if comparer else 0,
        "ops": sorted(comparer.worst.values(), key=lambda told: told["op"]) if comparer else [],
        "wrong_ops": comparer.wrong if comparer else [],
        "random_ops": sorted(comparer.random) if comparer else [],
        "uncompared_ops": [[name, why] for name, why in sorted(comparer.uncompared.items())] if comparer else [],
        "torch": torch.__version__,
    }


def _loosely(found: torch.Tensor, wanted: torch.Tensor, task: dict[str, Any]) -> dict[str, Any]:
    """A comparison with the tolerance of a layer, in which the errors of many ops have added up."""
    base = TOLERANCES.get(wanted.dtype, (0.0, 0.0))
    rtol = task["rtol"] if task["rtol"] is not None else base[0] * _SLACK
    atol = task["atol"] if task["atol"] is not None else base[1] * _SLACK
    return compare(found, wanted, rtol, atol)


def main(task: dict[str, Any]) -> dict[str, Any]:
    """The result of a task, or the one message that says why there is none."""
    try:
        return run(task)
    except ModelFileError as error:
        return {"error": str(error)}
    except ImportError as error:
        return {"error": f"{error}\n  = install the generated package into this Python, or name another with --python"}
    except Exception as error:
        # An op that the device refuses is what the user wants to know, not a fault of this program.
        return {"error": f"{task['model']}: {type(error).__name__}: {error}"}
