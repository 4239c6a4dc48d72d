"""What `fl-gen coverage` finds: how much of a run the device did itself, and which fallback to replace next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

Measure = Literal["calls", "time", "bytes"]
MEASURES: tuple[Measure, ...] = ("calls", "time", "bytes")


@dataclass(frozen=True)
class Amounts:
    """How much of something: calls, seconds spent in them, bytes that they moved between host and device."""

    calls: int
    seconds: float
    bytes: int

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(self.calls + other.calls, self.seconds + other.seconds, self.bytes + other.bytes)

    def __sub__(self, other: Amounts) -> Amounts:
        return Amounts(self.calls - other.calls, max(0.0, self.seconds - other.seconds), self.bytes - other.bytes)

    def by(self, measure: Measure) -> float:
        """The amount in one measure."""
        return float(self.calls if measure == "calls" else self.bytes if measure == "bytes" else self.seconds)


NOTHING = Amounts(0, 0.0, 0)


@dataclass(frozen=True)
class OpRecord:
    """What one recorded run says of one op."""

    op: str
    strategy: str
    amounts: Amounts


@dataclass(frozen=True)
class RecordedRun:
    """One file that a backend wrote. `complete` says whether it counts the calls that did not fall back as well."""

    model: str
    framework: str
    vendor: str
    path: str
    complete: bool
    ops: tuple[OpRecord, ...]


@dataclass(frozen=True)
class Shares:
    """Parts of a whole in percent, None where the whole is nothing or is not recorded."""

    calls: float | None
    time: float | None
    bytes: float | None

    def by(self, measure: Measure) -> float | None:
        """The share in one measure."""
        return {"calls": self.calls, "time": self.time, "bytes": self.bytes}[measure]


@dataclass(frozen=True)
class ModelCoverage:
    """One model's run: how much of it was done without falling back."""

    model: str
    framework: str
    vendor: str
    path: str
    total: Annotated[Amounts, "of all recorded ops"]
    fallback: Annotated[Amounts, "of those that fell back"]
    ops: Annotated[int, "different ops"]
    fallback_ops: Annotated[int, "different ops that fell back"]
    covered: Annotated[Shares, "what did not fall back, in percent; null where the run records fallbacks only"]


@dataclass(frozen=True)
class Candidate:
    """An op that falls back, in the order in which replacing it pays."""

    op: str
    amounts: Amounts
    share: Annotated[Shares, "of all recorded work of all runs, in percent"]
    models: tuple[str, ...]
    reached: Annotated[
        float | None, "coverage in percent, by the chosen measure, once this op and all before it are done"
    ]


@dataclass(frozen=True)
class Change:
    """A way in which a run is worse than the baseline."""

    model: str
    kind: Literal["coverage fell", "new fallback", "missing model"]
    text: str


@dataclass(frozen=True)
class Coverage:
    """The answer to: what runs on the device, and what should be implemented next?"""

    measure: Measure
    models: tuple[ModelCoverage, ...]
    covered: Annotated[Shares, "over all runs that record everything"]
    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...]
    changes: Annotated[tuple[Change, ...], "against the baseline; empty without one"]
    fail_under: float | None
    failed: Annotated[tuple[str, ...], "models whose coverage is below fail_under"]

    @property
    def exit_code(self) -> int:
        """1 when a model is below the limit or worse than the baseline."""
        return 1 if self.failed or self.changes else 0
