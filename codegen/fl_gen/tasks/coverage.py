"""Recorded runs -> how much of them the device did itself, and what to implement next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fl_gen.schema.paths import shown
from fl_gen.tasks.codec import from_json
from fl_gen.tasks.coverage_read import FALLBACK, RecordError, load_json, read_run
from fl_gen.tasks.coverage_values import (
    MEASURES,
    NOTHING,
    Amounts,
    Candidate,
    Change,
    Coverage,
    Measure,
    ModelCoverage,
    OpRecord,
    RecordedRun,
    Shares,
)

_SLACK = 0.05  # percent by which a coverage of calls may differ from the baseline without having fallen: rounding


def coverage(
    files: Sequence[Path], measure: Measure = "calls", fail_under: float | None = None, baseline: Path | None = None
) -> Coverage:
    """The coverage of the runs in `files`.

    `fail_under` is a percentage that every model must reach; `baseline` is an earlier report as JSON. Raises
    RecordError for a file that is no recorded run, a model that is recorded twice, or a limit on a run that does not
    count all ops.
    """
    runs = [read_run(path) for path in files]
    _require_distinct(runs)
    if fail_under is not None:
        for run in runs:
            if not run.complete:
                raise RecordError(
                    f"{run.path}: it records fallbacks only, so its coverage is not known and --fail-under has nothing "
                    "to hold against\n  = leave the limit out for it, or use --baseline"
                )
    models = tuple(_model(run) for run in runs)
    complete = [model for model, run in zip(models, runs, strict=True) if run.complete]
    total, fallback = _sum([m.total for m in complete]), _sum([m.fallback for m in complete])
    candidates = _candidates(runs, measure, bool(complete) and len(complete) == len(runs))
    failed = tuple(m.model for m in models if fail_under is not None and _below(m.covered.by(measure), fail_under))
    changes = _changes(models, runs, measure, baseline) if baseline is not None else ()
    return Coverage(
        measure, models, _shares(total - fallback, total), candidates, _notes(runs), changes, fail_under, failed
    )


def _require_distinct(runs: Sequence[RecordedRun]) -> None:
    seen: dict[tuple[str, str, str], RecordedRun] = {}
    for run in runs:
        first = seen.setdefault((run.model, run.framework, run.vendor), run)
        if first is not run:
            raise RecordError(
                f"{run.path}: the model {run.model!r} is in {first.path} as well\n"
                "  = give one run of each, or name them apart when recording (save_op_stats(path, model=...))"
            )


def _model(run: RecordedRun) -> ModelCoverage:
    total = _sum([op.amounts for op in run.ops])
    falling = [op for op in run.ops if op.strategy == FALLBACK]
    fallback = _sum([op.amounts for op in falling])
    covered = _shares(total - fallback, total) if run.complete else Shares(None, None, None)
    names = {op.op for op in run.ops}
    return ModelCoverage(
        run.model,
        run.framework,
        run.vendor,
        run.path,
        total,
        fallback,
        len(names),
        len({o.op for o in falling}),
        covered,
    )


def _candidates(runs: Sequence[RecordedRun], measure: Measure, complete: bool) -> tuple[Candidate, ...]:
    """Every op that falls back, the one whose replacement pays most first."""
    total = _sum([op.amounts for run in runs for op in run.ops])
    found: dict[str, list[tuple[str, OpRecord]]] = {}
    for run in runs:
        for op in run.ops:
            if op.strategy == FALLBACK and op.amounts.calls:
                found.setdefault(op.op, []).append((run.model, op))
    sums = {name: _sum([op.amounts for _, op in uses]) for name, uses in found.items()}
    # Ties are broken by the other measures, then by name, so that the list is the same for the same runs.
    others = [other for other in MEASURES if other != measure]
    order = sorted(sums, key=lambda name: (-sums[name].by(measure), *(-sums[name].by(o) for o in others), name))
    whole = total.by(measure)
    done = whole - sum(amounts.by(measure) for amounts in sums.values())
    candidates = []
    for name in order:
        done += sums[name].by(measure)
        models = tuple(dict.fromkeys(model for model, _ in found[name]))
        reached = 100 * done / whole if complete and whole else None
        candidates.append(Candidate(name, sums[name], _shares(sums[name], total), models, reached))
    return tuple(candidates)


def _changes(
    models: Sequence[ModelCoverage], runs: Sequence[RecordedRun], measure: Measure, path: Path
) -> tuple[Change, ...]:
    """What is worse than in the report at `path`."""
    try:
        old = from_json(Coverage, load_json(path, "an earlier report"))
    except ValueError as error:
        raise RecordError(
            f"{shown(path)}: {error}\n  = --baseline takes what fl-gen coverage --format json wrote"
        ) from None
    # New fallbacks are judged over all models, as the report lists them.
    fell_back = {(model, candidate.op) for candidate in old.candidates for model in candidate.models}
    known = {(m.model, m.framework, m.vendor): m for m in old.models}
    now = {(m.model, m.framework, m.vendor): m for m in models}
    changes = []
    for key, before in known.items():
        if key not in now:
            changes.append(Change(before.model, "missing model", f"the baseline has it, from {before.path}"))
            continue
        was, becomes = before.covered.by(measure), now[key].covered.by(measure)
        if was is not None and becomes is not None and becomes < was - _SLACK:
            changes.append(Change(before.model, "coverage fell", f"{was:.1f} % to {becomes:.1f} % by {measure}"))
    for run in runs:
        if (run.model, run.framework, run.vendor) not in known:
            continue
        for name in dict.fromkeys(op.op for op in run.ops if op.strategy == FALLBACK and op.amounts.calls):
            if (run.model, name) not in fell_back:
                changes.append(Change(run.model, "new fallback", name))
    return tuple(changes)


def _notes(runs: Sequence[RecordedRun]) -> tuple[str, ...]:
    partial = [run.model for run in runs if not run.complete]
    if not partial:
        return ()
    return (
        f"fallbacks only are recorded for {', '.join(partial)}: shares are of all fallbacks, coverage is not known",
    )


def _below(value: float | None, limit: float) -> bool:
    return value is not None and value < limit


def _shares(part: Amounts, whole: Amounts) -> Shares:
    return Shares(*(100 * part.by(m) / whole.by(m) if whole.by(m) else None for m in MEASURES))


def _sum(amounts: Sequence[Amounts]) -> Amounts:
    return sum(amounts, NOTHING)
