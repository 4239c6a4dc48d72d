"""What `fl-gen bench` measures, and how it is held against an earlier measurement."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Annotated, Literal

_LARGE = 1.5  # a ratio that nobody wants to overlook


@dataclass(frozen=True)
class Timing:
    """One model on one device. Seconds are those of a step; `noise` is how far steps usually are from the median."""

    device: str
    median: Annotated[float, "seconds a step"]
    fastest: Annotated[float, "seconds"]
    noise: Annotated[float, "median distance from the median, as a part of it"]
    steps: int
    items: Annotated[int, "what one step handles"]
    unit: str
    device_bytes: Annotated[int | None, "the most device memory that tensors held; null on the CPU"]
    host_bytes: Annotated[int, "the most memory of the process"]

    @property
    def throughput(self) -> float:
        """Items a second, at the median."""
        return self.items / self.median if self.median else 0.0


@dataclass(frozen=True)
class Measured:
    """One model: on the device and, side by side, on the CPU."""

    model: str
    mode: Literal["train", "infer"]
    device: Timing
    cpu: Timing | None
    rounds: Annotated[tuple[float, ...], "of each round: seconds on the device for each on the CPU, or seconds"] = ()

    @property
    def spread(self) -> float:
        """How far apart the rounds are, as a part of their median: what the same code does on that machine."""
        return (max(self.rounds) - min(self.rounds)) / median(self.rounds) if self.rounds else 0.0

    @property
    def slowdown(self) -> float | None:
        """Seconds on the device for each second on the CPU, the figure that a noisy machine changes least."""
        return self.device.median / self.cpu.median if self.cpu is not None and self.cpu.median else None


@dataclass(frozen=True)
class Comparison:
    """A model now and in the baseline.

    A `ratio` above 1 is slower, or more memory; `limit` is what noise and threshold allow. A large ratio that is within
    the noise is not judged: it may be a regression or nothing.
    """

    model: str
    mode: str
    what: Literal["time", "time beside the CPU", "device memory"]
    ratio: float
    limit: float
    threshold: Annotated[float, "what the limit is without noise"] = 1.0

    @property
    def regressed(self) -> bool:
        return self.ratio > self.limit

    @property
    def unjudged(self) -> bool:
        """Whether it is so much that it would matter, and within the noise."""
        return max(self.threshold, _LARGE) < self.ratio <= self.limit


@dataclass(frozen=True)
class BenchReport:
    """A whole measurement; as JSON it is the baseline of later ones."""

    vendor: str
    torch: str
    threads: int
    models: tuple[Measured, ...]
    comparisons: Annotated[tuple[Comparison, ...], "against the baseline; empty without one"]
    missing: Annotated[tuple[str, ...], "models that the baseline has and this measurement has not"]

    @property
    def regressions(self) -> tuple[Comparison, ...]:
        return tuple(one for one in self.comparisons if one.regressed)

    @property
    def exit_code(self) -> int:
        if self.regressions or self.missing:
            return 1
        return 2 if any(one.unjudged for one in self.comparisons) else 0
