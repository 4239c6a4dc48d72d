"""The report of a benchmark: for a terminal, as JSON, and the JSON Schema of that."""

from __future__ import annotations

import json

from fl_gen.report.coverage_words import seconds, size
from fl_gen.schema.errors import one_line
from fl_gen.tasks.bench_values import BenchReport, Timing
from fl_gen.tasks.codec import json_schema, to_json

SCHEMA_TITLE = "what fl-gen bench prints"


def bench_text(report: BenchReport) -> str:
    """The figures, a row per model and device, then what changed, without a final newline."""
    rows: list[tuple[str, ...]] = [
        ("model", "device", "step", "fastest", "noise", "throughput", "device memory", "process", "of the CPU's time")
    ]
    for one in report.models:
        slowdown = f"{one.slowdown:.2f} x" if one.slowdown is not None else "-"
        rows.append((f"{one.model} {one.mode}", *_timing(one.device), slowdown))
        if one.cpu is not None:
            rows.append(("", *_timing(one.cpu), ""))
    rows = [tuple(one_line(text) for text in row) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [f"{report.vendor}, PyTorch {report.torch}, {report.threads} thread(s)"]
    for row in rows:
        cells = [
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    if report.comparisons or report.missing:
        lines += ["", "against the baseline"]
    for change in report.comparisons:
        verdict = "REGRESSED" if change.regressed else "ok"
        if change.unjudged:
            verdict = "not judged; measure again on a machine with less to do"
        lines.append(
            f"  {change.model} {change.mode}: {change.what} {change.ratio:.2f} of it, "
            f"up to {change.limit:.2f} is noise: {verdict}"
        )
    lines += [f"  {name}: not measured now" for name in report.missing]
    return "\n".join(one_line(line) for line in lines)


def _timing(timing: Timing) -> tuple[str, ...]:
    memory = size(timing.device_bytes) if timing.device_bytes is not None else "-"
    return (
        timing.device,
        seconds(timing.median),
        seconds(timing.fastest),
        f"{100 * timing.noise:.1f} %",
        f"{timing.throughput:.1f} {timing.unit}/s",
        memory,
        size(timing.host_bytes),
    )


def bench_json(report: BenchReport) -> str:
    """The report as JSON, with a final newline."""
    return json.dumps(to_json(report), indent=1) + "\n"


def bench_schema() -> str:
    """The text of schemas/jsonschema/bench.json."""
    return json.dumps(json_schema(BenchReport, SCHEMA_TITLE), indent=2, ensure_ascii=False) + "\n"
