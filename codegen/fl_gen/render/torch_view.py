"""What a template sees as `torch`: the PyTorch at hand, and what is generated for its ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fl_gen.render.torch_kernels import (
    OF_PYTORCH,
    CxxKernel,
    PackageKernel,
    PythonKernel,
    cxx_kernel,
    package_kernel,
    python_kernel,
)
from fl_gen.resolve.torch_ops import ResolvedTorchOp, Strategy, device_rules
from fl_gen.schema.name import Name


@dataclass(frozen=True)
class TorchView:
    """The PyTorch that the tree is made for.

    `version` is its release, without what a build appends; `device` is what the device type is called in it. `features`
    says of each feature of features.yaml whether the headers have it. `ops` are all its operators, in its own order.
    """

    version: str
    device: Name
    features: Mapping[str, bool]
    ops: Sequence[ResolvedTorchOp] = ()

    @cached_property
    def _by_name(self) -> Mapping[str, ResolvedTorchOp]:
        return {op.name: op for op in self.ops}

    def has_op(self, name: str) -> bool:
        """Whether this PyTorch has the operator, as aten::add.Tensor."""
        return name in self._by_name

    def op(self, name: str) -> ResolvedTorchOp:
        """An operator by name. LookupError for one that this PyTorch lacks."""
        if name not in self._by_name:
            raise LookupError(f"PyTorch {self.version} has no operator {name}")
        return self._by_name[name]

    def strategy(self, name: str) -> Strategy | None:
        """Where an operator comes from, None when this PyTorch lacks it."""
        return self._by_name[name].strategy if name in self._by_name else None

    def library(self, operation: str) -> Sequence[ResolvedTorchOp]:
        """The operators that an operation of the vendor's library serves, none when a rule says otherwise."""
        return [op for op in self.ops if op.operation == operation]

    @property
    def kernels(self) -> Sequence[ResolvedTorchOp]:
        """The operators with a kernel for the device, hand-written or of the vendor's library."""
        return [op for op in self.ops if op.strategy in ("native", "library")]

    @cached_property
    def device_rules(self) -> Mapping[str, Sequence[str]]:
        """The operators whose tensors need not be on one device, by rule: iterator or any."""
        return device_rules(self.ops)

    def by_hand(self, name: str) -> bool:
        """Whether a hand-written kernel in C++ takes the place of what the package has for an operator itself."""
        return name in self._by_name and self._by_name[name].by_hand

    @property
    def package_kernels(self) -> Sequence[PackageKernel]:
        """The package's own functions that a hand-written kernel may replace, in the order of the operators."""
        return [package_kernel(op) for op in self.ops if op.own and op.name not in OF_PYTORCH]

    @property
    def compiled(self) -> Sequence[ResolvedTorchOp]:
        """The operators that compiled code of the package serves, without those that only reach the boxed fallback."""
        return [op for op in self.ops if op.compiled in ("native", "library", "runtime") or op.own]

    @property
    def native(self) -> Sequence[CxxKernel]:
        """The hand-written kernels in C++, in the order of the operators."""
        return [cxx_kernel(op) for op in self.ops if op.kernel is not None and op.kernel.file is not None]

    @property
    def python_kernels(self) -> Sequence[PythonKernel]:
        """The hand-written kernels in Python, in the order of the operators."""
        return [python_kernel(op.kernel) for op in self.ops if op.kernel is not None and op.kernel.python is not None]

    def has(self, feature: str) -> bool:
        """Whether the headers have a feature. LookupError for one that features.yaml lacks: a template's fault."""
        if feature not in self.features:
            raise LookupError(f"unknown feature {feature!r}: list it in schemas/frameworks/torch/features.yaml")
        return self.features[feature]

    @property
    def version_info(self) -> tuple[int, ...]:
        """The release as numbers: (2, 13, 0)."""
        return tuple(int(part) for part in self.version.split(".")[:3] if part.isdigit())
