"""Asks the compiler which candidates the SDK at hand allows.

Every candidate goes into one translation unit, in a function of its own, and libclang parses it against the SDK's
headers. What clang reports inside a candidate belongs to it; what it reports anywhere else means that there is no
verdict at all. The candidates that would be used are then parsed once more without the others: no error may come of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .items import Outcome, ProbeItem, ProbeReport, Verdict
from .shims import Shims, tiers

if TYPE_CHECKING:
    from .cache import Cache


def probe(
    items: Sequence[ProbeItem],
    headers: Sequence[str],
    include_dirs: Sequence[object],
    shims: Shims | Sequence[Shims] | None = None,
    cache: Cache | None = None,
    *,
    memory: Mapping[str, str] | None = None,
) -> ProbeReport:
    """The verdict on each item against `headers`, found in `include_dirs`.

    `memory` holds further header files by absolute path, which need not exist (a simulated SDK). `shims` are the sets
    of compiler headers to try, in order; None finds them. SdkHeaderError if the headers themselves do not parse.
    """
    ids = [item.id for item in items]
    if len(set(ids)) != len(ids):
        raise ValueError("two probe items have one id")
    folders = tuple(str(folder) for folder in include_dirs)
    files = dict(memory or {})
    sets = tiers() if shims is None else (shims,) if isinstance(shims, Shims) else tuple(shims)
    entry = None
    if cache is not None:
        entry = cache.entry(items, headers, folders, files, sets)
        stored = entry.load()
        if stored is not None:
            return report(items, stored)
    from .judge import judge  # imports libclang, which a warm cache does not need

    outcome = judge(items, headers, folders, files, sets)
    if entry is not None:
        entry.store(outcome)
    return report(items, outcome)


def report(items: Sequence[ProbeItem], outcome: Outcome) -> ProbeReport:
    """An outcome with its findings placed in the files that the items came from."""
    verdicts = {}
    for item in items:
        findings = outcome.findings[item.id]
        verdicts[item.id] = Verdict(
            ok=not findings,
            diagnostics=tuple(finding.at(item) for finding in findings),
            deprecated=outcome.deprecated.get(item.id),
            declarations=tuple(outcome.uses.get(item.id, ())),
        )
    return ProbeReport(
        verdicts=verdicts,
        chosen=outcome.chosen,
        types=outcome.types,
        headers_read=outcome.headers,
        libclang=outcome.libclang,
        resource_headers=outcome.resource_headers,
        cached=outcome.cached,
        parses=outcome.parses,
    )
