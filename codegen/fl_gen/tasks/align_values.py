"""What `fl-gen align` finds: where a model on the device leaves what the CPU computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class Worst:
    """The element that is furthest off. `found` is the device's value, `wanted` the CPU's."""

    index: tuple[int, ...]
    found: str
    wanted: str


@dataclass(frozen=True)
class TensorCheck:
    """Two tensors held against each other."""

    shape: tuple[int, ...]
    dtype: str
    found_shape: tuple[int, ...]
    found_dtype: str
    max_abs: Annotated[float | None, "largest absolute error; null if it is not finite"]
    max_rel: Annotated[float | None, "largest error relative to the CPU's value; null if it is not finite"]
    max_ulp: Annotated[int | None, "largest distance in units in the last place; null for dtypes without"]
    mismatched: Annotated[int, "elements outside the tolerance"]
    elements: int
    nan: Annotated[tuple[int, ...], "NaNs on the device and on the CPU"]
    inf: Annotated[tuple[int, ...], "infinities on the device and on the CPU"]
    worst: Worst | None
    equal: Annotated[bool, "whether every element is within the tolerance"]


@dataclass(frozen=True)
class LayerCheck:
    """One call of a module in the first step; `structure` says why its outputs could not be compared."""

    layer: str
    kind: str
    structure: str
    results: tuple[TensorCheck, ...]

    @property
    def equal(self) -> bool:
        return not self.structure and all(result.equal for result in self.results)


@dataclass(frozen=True)
class OpCheck:
    """One call of an op on the device, held against the same op on the CPU with the same inputs."""

    op: str
    layer: str
    phase: str
    call: Annotated[int, "which call of this op in the step it is, from 1"]
    inputs: tuple[str, ...]
    result: TensorCheck


@dataclass(frozen=True)
class NamedCheck:
    """A parameter, a buffer or a gradient."""

    name: str
    result: TensorCheck


@dataclass(frozen=True)
class Alignment:
    """The whole comparison of one model on one device with the CPU."""

    model: str
    device: str
    torch: str
    steps: int
    layers: tuple[LayerCheck, ...]
    gradients: Annotated[tuple[NamedCheck, ...], "in the order in which the backward pass makes them"]
    missing_gradients: tuple[str, ...]
    state: Annotated[tuple[NamedCheck, ...], "parameters and buffers after the last step"]
    losses_cpu: Annotated[tuple[float | None, ...], "one a step; null if it is not finite"]
    losses_device: tuple[float | None, ...]
    op_calls: int
    ops: Annotated[tuple[OpCheck, ...], "the worst call of each op"]
    wrong_ops: Annotated[tuple[OpCheck, ...], "calls outside their tolerance, in order, at most 200"]
    random_ops: Annotated[tuple[str, ...], "ops that draw random numbers, which are not compared one by one"]
    uncompared_ops: Annotated[tuple[tuple[str, ...], ...], "ops that the CPU refused, with its words"]
    failure: Annotated[str, "what stopped the device's run after something was wrong; empty if nothing did"] = ""

    @property
    def first_layer(self) -> LayerCheck | None:
        """The first layer whose output leaves its tolerance."""
        return next((layer for layer in self.layers if not layer.equal), None)

    @property
    def first_op(self) -> OpCheck | None:
        """The first op that leaves its tolerance on inputs that are the same on both sides."""
        return self.wrong_ops[0] if self.wrong_ops else None

    @property
    def wrong_gradients(self) -> tuple[NamedCheck, ...]:
        return tuple(one for one in self.gradients if not one.result.equal)

    @property
    def wrong_state(self) -> tuple[NamedCheck, ...]:
        return tuple(one for one in self.state if not one.result.equal)

    @property
    def lost_layers(self) -> tuple[LayerCheck, ...]:
        """Layers whose output the CPU has NaN or infinities in: equal or not, little is said by it."""
        return tuple(one for one in self.layers if any(result.nan[1] or result.inf[1] for result in one.results))

    @property
    def aligned(self) -> bool:
        """Whether everything that was compared is within its tolerance."""
        wrong = (self.first_layer, self.first_op, *self.wrong_gradients, *self.wrong_state, *self.missing_gradients)
        return not self.failure and not any(item is not None for item in wrong)

    @property
    def exit_code(self) -> int:
        return 0 if self.aligned else 1
