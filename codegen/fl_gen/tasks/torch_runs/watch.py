"""Which module runs: names for what happens in the forward and the backward pass of a model."""

from __future__ import annotations

import sys
from typing import Any

import torch

from .model_file import tensors_of


class Recorder:
    """The outputs of each module call of one run, in order, and the module that runs now.

    A backward pass is followed by the nodes of the graph that a module's forward pass made. Full backward hooks would
    do it in one line, and make a view of each output: a model that writes into one (`ReLU(inplace=True)`) would fail.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self.outputs: list[tuple[str, str, list[torch.Tensor]]] = []
        self.stack: list[str] = []
        self.failed: tuple[BaseException | None, str] = (None, "")
        self._backward = ""
        self._claimed: set[Any] = set()
        self._handles: list[Any] = []
        for name, module in model.named_modules():
            shown = name or "(model)"
            self._handles.append(module.register_forward_pre_hook(self._enter(shown)))
            leave = self._leave(shown, type(module).__name__)
            self._handles.append(module.register_forward_hook(leave, with_kwargs=True, always_call=True))

    def close(self) -> None:
        """Watch no longer."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._claimed.clear()

    @property
    def layer(self) -> str:
        """The module that runs, or whose gradient is computed; empty outside of all."""
        return self.stack[-1] if self.stack else self._backward

    def layer_of(self, error: BaseException) -> str:
        """The innermost module that an exception came out of; empty if it came from outside."""
        return self.failed[1] if self.failed[0] is error else self.layer

    def _enter(self, name: str) -> Any:
        def hook(module: torch.nn.Module, args: Any) -> None:
            self.stack.append(name)

        return hook

    def _leave(self, name: str, kind: str) -> Any:
        def hook(module: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            if self.stack:
                self.stack.pop()
            error = sys.exc_info()[1]  # PyTorch calls this for a module that raised as well
            if error is not None and self.failed[0] is not error:
                self.failed = (error, name)
            if error is not None and output is None:
                return
            # A copy: a later op may write into the output. The recorder's own copies are not ops of the model.
            with torch.utils._python_dispatch._disable_current_modes():
                kept = [tensor.detach().cpu().clone() for tensor in tensors_of(output)]
            self.outputs.append((name, kind, kept))
            self._claim(name, tensors_of((args, kwargs)), tensors_of(output))

        return hook

    def _claim(self, name: str, given: list[torch.Tensor], made: list[torch.Tensor]) -> None:
        """The nodes between outputs and inputs of a module are its own, but for those that a module inside has."""
        before = {tensor.grad_fn for tensor in given}
        waiting = [tensor.grad_fn for tensor in made]
        seen: set[Any] = {None, *before}
        while waiting:
            node: Any = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if node not in self._claimed and node.next_functions:  # a leaf's node lives on after this step
                self._claimed.add(node)
                self._handles.append(node.register_prehook(self._reached(name)))
            waiting += [following for following, _ in node.next_functions]

    def _reached(self, name: str) -> Any:
        def hook(gradients: Any) -> None:
            self._backward = name

        return hook
