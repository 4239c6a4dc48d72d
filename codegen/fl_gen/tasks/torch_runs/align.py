"""Runs a user's model on the CPU and on a device and compares.

Three things are compared. Each *op* that the device runs is run again on the CPU on the same inputs, so what is said of
it does not hang on what went before. Each *layer*'s output is held against that of the CPU's run, where errors add up.
At the end the gradients of the first step, the loss of each step and the parameters after the last.
"""

from __future__ import annotations

import copy
import importlib
import itertools
import sys
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from .compare import TOLERANCES, compare, finite
from .model_file import ModelFile, ModelFileError, moved, seed_all, tensors_of
from .told import place, words
from .tolerances import Tolerances
from .watch import Recorder

_SLACK = 16.0  # errors of many ops add up in a layer; its tolerance is this many times that of one op
_FRAMES = 20_000  # of nested calls: modules within modules take several each


@dataclass
class Stage:
    """What is being done, for the message if it fails."""

    side: str = "cpu"
    doing: str = ""
    recorder: Recorder | None = None
    comparer: OpComparer | None = None

    def text(self, error: BaseException) -> str:
        """`on mlu, backward of step 1, in head`."""
        layer = self.recorder.layer_of(error) if self.recorder is not None else ""
        op = self.comparer.refused if self.comparer is not None else ""
        places = [*([f"in {layer}"] if layer else []), *([op] if op else [])]
        return ", ".join([f"on {self.side}", self.doing, *places])

    def hint(self) -> str:
        """What to do about it."""
        if self.side == "cpu":
            return "the model fails on the CPU, before the device is asked: mend it first"
        return "the CPU runs it: the device lacks something, or the model names a device of its own"


_stage = Stage()


class OpComparer(TorchDispatchMode):
    """Runs each op of the device again on the CPU, on copies of the same inputs, and keeps what is told of it."""

    def __init__(self, device: str, recorder: Recorder, tolerances: Tolerances) -> None:
        super().__init__()
        self._device = torch.device(device).type
        self._recorder = recorder
        self._tolerances = tolerances
        self.phase = "forward"
        self.calls = 0
        self.refused = ""  # the op that raised
        self._calls_of: dict[str, int] = {}
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
        try:
            result = func(*args, **kwargs)
        except Exception:
            self.refused = name
            raise
        if name.startswith(("aten::empty", "aten::new_empty", "aten::_to_copy", "aten::copy_")):
            return result
        self.calls += 1
        self._calls_of[name] = self._calls_of.get(name, 0) + 1
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
            told.update(op=name, layer=self._recorder.layer, phase=self.phase, call=self._calls_of[name])
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
    if isinstance(host_model, torch.jit.ScriptModule):
        raise ModelFileError(
            f"{user.place('build')}: build() gives a ScriptModule, whose layers cannot be watched\n"
            "  = return the module as it is before torch.jit.script or torch.jit.trace"
        )
    twin = _twin(user, host_model, seed)
    args, kwargs = user.inputs(seed)
    wanted: dict[str, Any] = {}
    _train(user, host_model, args, kwargs, task, None, wanted)
    _stage.side, _stage.doing, _stage.recorder = device, f"moving model and inputs to {device}", None
    device_model = twin.to(device)
    found: dict[str, Any] = {}
    try:
        _train(user, device_model, moved(args, device), moved(kwargs, device), task, device, found)
    except Exception as error:
        # Where something is wrong already, that is what the user wants to know first: it may be why this happens.
        told = _told(wanted, _until(found, error), task) if found else {}
        if not told or (not told["wrong_ops"] and all(_fine(layer) for layer in told["layers"])):
            raise
        return told
    return _told(wanted, found, task)


def _until(side: dict[str, Any], error: Exception) -> dict[str, Any]:
    """What is known of a side that did not come to its end."""
    assert _stage.recorder is not None
    side.setdefault("layers", list(_stage.recorder.outputs))
    return {**side, "state": None, "failure": f"{_stage.text(error)}: {words(error)}"}


def _fine(layer: dict[str, Any]) -> bool:
    return not layer["structure"] and all(result["equal"] for result in layer["results"])


def _twin(user: ModelFile, model: torch.nn.Module, seed: int) -> torch.nn.Module:
    """Another module with the same weights. One that holds what cannot be copied (a lock, a file) is built again."""
    try:
        return copy.deepcopy(model)
    except Exception:
        twin = user.build(seed)
        twin.load_state_dict(model.state_dict())
        return twin


def _train(
    user: ModelFile,
    model: torch.nn.Module,
    args: Any,
    kwargs: Any,
    task: dict[str, Any],
    device: str | None,
    side: dict[str, Any],
) -> None:
    """One side: the layers of the first step, its gradients, all losses, and the parameters at the end."""
    recorder = Recorder(model)
    _stage.recorder = recorder
    comparer = (
        OpComparer(device, recorder, Tolerances(task["tolerances"])) if device is not None and task["ops"] else None
    )
    _stage.comparer = comparer
    side.update(comparer=comparer, losses=[], gradients={})
    order: dict[str, None] = {}
    # In which order a backward pass makes gradients is asked of the CPU's alone.
    named = [(name, p) for name, p in model.named_parameters() if device is None and p.requires_grad]
    handles = [p.register_post_accumulate_grad_hook(_noting(name, order)) for name, p in named]
    optimizer = None if task["forward_only"] else user.optimizer(model.parameters())
    model.train(not task["eval"])
    for step in range(1 if task["forward_only"] else task["steps"]):
        seed_all(task["seed"] + step)
        _stage.doing = f"forward of step {step + 1}"
        if comparer is not None and step == 0:
            with comparer:
                _step(user, model, args, kwargs, optimizer, side, comparer)
        else:
            _step(user, model, args, kwargs, optimizer, side, None)
        if step == 0:
            recorder.close()
            side["layers"] = list(recorder.outputs)
            for handle in handles:
                handle.remove()
            side["order"] = list(order)
            if optimizer is not None:
                side["gradients"] = {
                    name: p.grad.detach().cpu().clone() for name, p in model.named_parameters() if p.grad is not None
                }
        if optimizer is not None:
            _stage.doing = f"optimizer of step {step + 1}"
            optimizer.step()
    side["state"] = {name: value.detach().cpu() for name, value in model.state_dict().items() if torch.is_tensor(value)}


def _noting(name: str, order: dict[str, None]) -> Any:
    """A hook that puts the name of a parameter into `order`."""

    def hook(parameter: torch.Tensor) -> None:
        order.setdefault(name)

    return hook


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
    _stage.doing = _stage.doing.replace("forward", "backward")
    if comparer is not None:
        comparer.phase = "backward"
    loss.backward()
    side["losses"].append(finite(float(loss.detach().cpu())))


def _told(cpu: dict[str, Any], device: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    layers: list[dict[str, Any]] = []
    nothing: tuple[str, str, list[torch.Tensor]] = ("", "", [])
    failure = device.get("failure", "")
    reached = cpu["layers"][: len(device["layers"])] if failure else cpu["layers"]
    for (name, kind, wanted), (other, _, found) in itertools.zip_longest(reached, device["layers"], fillvalue=nothing):
        structure = _structure(name, other, wanted, found)
        if structure:
            layers.append({"layer": name or other, "kind": kind, "structure": structure, "results": []})
            break
        results = [_loosely(left, right, task) for left, right in zip(found, wanted, strict=True)]
        layers.append({"layer": name, "kind": kind, "structure": "", "results": results})
    gradients = [
        {"name": name, "result": _loosely(device["gradients"][name], cpu["gradients"][name], task)}
        for name in dict.fromkeys([*cpu["order"], *cpu["gradients"]])
        if name in device["gradients"] and name in cpu["gradients"]
    ]
    missing = [] if failure else sorted(set(cpu["gradients"]) ^ set(device["gradients"]))
    absent = torch.empty(0)  # has another shape than what is there
    state = [
        {"name": name, "result": _loosely(device["state"].get(name, absent), value, task)}
        for name, value in (cpu["state"].items() if device["state"] is not None else ())
    ]
    comparer = device["comparer"]
    return {
        "layers": layers,
        "gradients": gradients,
        "missing_gradients": missing,
        "state": state,
        "losses": [cpu["losses"][: len(device["losses"])], device["losses"]],
        "failure": failure,
        "op_calls": comparer.calls if comparer else 0,
        "ops": sorted(comparer.worst.values(), key=lambda told: told["op"]) if comparer else [],
        "wrong_ops": comparer.wrong if comparer else [],
        "random_ops": sorted(comparer.random) if comparer else [],
        "uncompared_ops": [[name, why] for name, why in sorted(comparer.uncompared.items())] if comparer else [],
        "torch": torch.__version__,
    }


def _structure(name: str, other: str, wanted: list[Any], found: list[Any]) -> str:
    """Why the outputs of a layer cannot be held against each other."""
    if name != other:
        if not name or not other:
            return "only the device ran it" if other else "the device did not run it"
        return f"the device ran {other}"
    if len(wanted) != len(found):
        return f"{len(found)} tensors on the device, {len(wanted)} on the CPU"
    return ""


def _loosely(found: torch.Tensor, wanted: torch.Tensor, task: dict[str, Any]) -> dict[str, Any]:
    """A comparison with the tolerance of a layer, in which the errors of many ops have added up."""
    base = TOLERANCES.get(wanted.dtype, (0.0, 0.0))
    rtol = task["rtol"] if task["rtol"] is not None else base[0] * _SLACK
    atol = task["atol"] if task["atol"] is not None else base[1] * _SLACK
    return compare(found, wanted, rtol, atol)


def main(task: dict[str, Any]) -> dict[str, Any]:
    """The result of a task, or the one message that says why there is none."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))
    try:
        return run(task)
    except ModelFileError as error:
        return {"error": str(error)}
    except ImportError as error:
        return {"error": f"{error}\n  = install the generated package into this Python, or name another with --python"}
    except BaseException as error:  # of a model that calls sys.exit as well
        # An op that the device refuses is what the user wants to know, not a fault of this program.
        where = f"{place(error, task['model'])}: {_stage.text(error)}: {words(error)}"
        return {"error": f"{where}\n  = {_stage.hint()}"}
