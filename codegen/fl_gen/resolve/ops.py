"""Where each kernel of the framework comes from on one backend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from fl_gen.resolve.model import Choice
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.framework import Framework
from fl_gen.schema.frozen import frozen
from fl_gen.schema.kernels import NativeKernel
from fl_gen.schema.link import native_kernel_problems
from fl_gen.schema.ops import Op
from fl_gen.schema.vendor import Vendor, VendorKernel

Strategy = Literal["native", "library", "fallback", "host"]

# The library kernels that templates/infinitrain/src/kernels/library can make, and the operation that each stands on.
LIBRARY_KERNELS: Mapping[str, str] = {"Cast": "library.cast", "Gemm": "library.gemm"}


@frozen
class ResolvedOp:
    """One kernel: its schema node and what the backend has for it beside the host.

    `library` is None as well when the SDK at hand cannot do the operation; then `unavailable` says so.
    """

    op: Op
    native: NativeKernel | None = None
    library: VendorKernel | None = None
    unavailable: str | None = None

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def strategy(self) -> Strategy:
        """What is tried first. A native kernel is compiled only with device kernels switched on."""
        if self.native is not None:
            return "native"
        return "library" if self.library is not None else self.op.strategy


def shipped_native(vendor: Vendor) -> tuple[NativeKernel, ...]:
    """The hand-written kernels that come with `vendor`, for its first kernels.yaml."""
    return tuple(
        NativeKernel(kernel.op, kernel.file or "", kernel.dtypes, kernel.location)
        for kernel in vendor.kernels.values()
        if kernel.strategy == "native"
    )


def resolve_ops(
    framework: Framework, vendor: Vendor, choices: Mapping[str, Choice], native: Sequence[NativeKernel] | None = None
) -> tuple[ResolvedOp, ...]:
    """Every op of `framework` in file order. `native` is what kernels.yaml lists, None if there is none yet.

    Raises SchemaError for a kernel of an op that does not exist, and for a library kernel that no template makes.
    """
    hand_written = {str(kernel.op): kernel for kernel in (shipped_native(vendor) if native is None else native)}
    problems = native_kernel_problems(hand_written.values(), framework)
    problems += _impossible(framework, vendor, hand_written.values())
    if problems:
        raise SchemaError(problems)
    return tuple(
        _resolve(op, vendor.kernels.get(op.name), hand_written.get(op.name), choices) for op in framework.ops.values()
    )


def _resolve(
    op: Op, kernel: VendorKernel | None, native: NativeKernel | None, choices: Mapping[str, Choice]
) -> ResolvedOp:
    if kernel is None or kernel.strategy != "library":
        return ResolvedOp(op, native)
    operation = str(kernel.operation)
    if operation in choices and choices[operation].bound:
        return ResolvedOp(op, native, kernel)
    return ResolvedOp(op, native, unavailable=f"{operation} has no binding in this SDK")


def _impossible(framework: Framework, vendor: Vendor, native: Iterable[NativeKernel]) -> list[Diagnostic]:
    problems = []
    for kernel in native:
        op = framework.ops.get(kernel.op)
        if op is not None and op.strategy == "host":
            message = f"{kernel.op} is a view: it has no device work to write a kernel for"
            problems.append(
                Diagnostic(kernel.op.location, message, "remove the entry", length=len(kernel.op), rule="kernel")
            )
    for name, vendor_kernel in vendor.kernels.items():
        if vendor_kernel.strategy == "library" and LIBRARY_KERNELS.get(name) != vendor_kernel.operation:
            known = ", ".join(f"{op} by {operation}" for op, operation in LIBRARY_KERNELS.items())
            message = f"there is no template for a library kernel of {name} by {vendor_kernel.operation}"
            place = vendor_kernel.operation.location if vendor_kernel.operation is not None else vendor_kernel.location
            problems.append(Diagnostic(place, message, f"the library kernels are {known}", rule="kernel"))
    return problems
