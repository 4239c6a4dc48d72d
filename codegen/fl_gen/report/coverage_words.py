"""The words and numbers of the coverage reports, which all forms share."""

from __future__ import annotations

from fl_gen.tasks.coverage_values import Amounts, Coverage, Measure, Shares

UNKNOWN = "-"
_UNITS = ("B", "kB", "MB", "GB", "TB")


def percent(value: float | None) -> str:
    """`12.3 %`, or a dash for what is not known."""
    return UNKNOWN if value is None else f"{value:.1f} %"


def seconds(value: float) -> str:
    """A duration in the unit in which it reads best."""
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.2f} ms" if value >= 1e-3 else f"{value * 1e6:.1f} us"


def size(value: int) -> str:
    """A number of bytes in units of 1000."""
    amount, unit = float(value), 0
    while amount >= 1000 and unit + 1 < len(_UNITS):
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.0f} {_UNITS[unit]}" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def amount(amounts: Amounts, measure: Measure) -> str:
    """An amount in one measure, with its unit."""
    return {"calls": str(amounts.calls), "time": seconds(amounts.seconds), "bytes": size(amounts.bytes)}[measure]


def shares(found: Shares) -> tuple[str, str, str]:
    """The shares of calls, time and bytes as text."""
    return percent(found.calls), percent(found.time), percent(found.bytes)


def verdict(report: Coverage) -> str:
    """One line for the end: what `fl-gen coverage` decided."""
    problems = []
    if report.failed:
        problems.append(f"{', '.join(report.failed)}: below {report.fail_under:g} % of {report.measure}")
    if report.changes:
        problems.append(f"{len(report.changes)} change(s) for the worse against the baseline")
    if problems:
        return "; ".join(problems)
    covered = report.covered.by(report.measure)
    count = f"{len(report.candidates)} op(s) fall back" if report.candidates else "nothing falls back"
    return count if covered is None else f"{covered:.1f} % of {report.measure} on the device, {count}"
