"""`torch` as templates see it while they are traced: the same answers, and a record of what was asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from fl_gen.render.schema_nodes import Node, Tagged
from fl_gen.render.torch_kernels import CxxKernel, PackageKernel, PythonKernel
from fl_gen.render.torch_nodes import TorchNodeIndex
from fl_gen.render.torch_view import TorchView
from fl_gen.render.tracing import Tracer
from fl_gen.resolve.torch_ops import ResolvedTorchOp, Strategy


class TracedTorch(TorchView):
    """Answers as `view` does and tells `tracer` which nodes of `index` each answer rests on."""

    def __init__(self, view: TorchView, index: TorchNodeIndex, tracer: Tracer) -> None:
        super().__init__(Tagged(view.version, index.release), view.device, view.features, view.ops)
        object.__setattr__(self, "_asked", (index, tracer))

    _asked: tuple[TorchNodeIndex, Tracer]

    def _touch(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self._asked[1].touch(node)

    def _about(self, name: str, attribute: str) -> None:
        self._touch(self._asked[0].of_op(name, attribute))

    def has(self, feature: str) -> bool:
        found = super().has(feature)
        self._touch([self._asked[0].features[feature]])
        return found

    def has_op(self, name: str) -> bool:
        self._about(name, "name")
        return super().has_op(name)

    def op(self, name: str) -> ResolvedTorchOp:
        found = super().op(name)
        self._about(name, "name")
        return found

    def strategy(self, name: str) -> Strategy | None:
        self._about(name, "strategy")
        return super().strategy(name)

    def library(self, operation: str) -> Sequence[ResolvedTorchOp]:
        index = self._asked[0]
        self._touch(index.ruled(operation))
        self._touch([index.choices[operation]] if operation in index.choices else [])
        return super().library(operation)

    def by_hand(self, name: str) -> bool:
        self._about(name, "kernel")
        return super().by_hand(name)

    @property
    def package_kernels(self) -> Sequence[PackageKernel]:
        return self._listed(self._package)

    @property
    def compiled(self) -> Sequence[ResolvedTorchOp]:
        return self._listed(super().compiled)

    @property
    def kernels(self) -> Sequence[ResolvedTorchOp]:
        return self._listed(super().kernels)

    @property
    def native(self) -> Sequence[CxxKernel]:
        return self._listed(self._cxx)

    @property
    def python_kernels(self) -> Sequence[PythonKernel]:
        return self._listed(self._python)

    def _listed(self, found: Sequence[Any]) -> Sequence[Any]:
        """A list. Its elements tell where they are from by themselves; whether there are any is what they decide."""
        index, tracer = self._asked
        if tracer.deciding:
            self._touch(node for one in found for node in index.of_value(one))
        return found

    @cached_property
    def _cxx(self) -> list[Any]:
        return self._asked[0].kernels(super().native)

    @cached_property
    def _package(self) -> list[Any]:
        return self._asked[0].kernels(super().package_kernels)

    @cached_property
    def _python(self) -> list[Any]:
        return self._asked[0].kernels(super().python_kernels)

    @property
    def version_info(self) -> tuple[int, ...]:
        self._touch([self._asked[0].release])
        return super().version_info
