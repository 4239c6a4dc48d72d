"""The coverage report for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from fl_gen.report import coverage_words as words
from fl_gen.schema.errors import cut, one_line
from fl_gen.tasks.coverage_values import Coverage

_NAME = 80  # characters of a name
_HEAD = ("next", "op", "calls", "time", "moved", "of calls", "of time", "of bytes", "reaches", "models")


def coverage_text(report: Coverage, top: int) -> str:
    """The report, at most `top` ops of it (0: all), without a final newline."""
    rows = [("model", "framework", "vendor", "ops", "fall back", "calls", "time", "bytes")]
    for model in report.models:
        rows.append(
            (
                model.model,
                model.framework,
                model.vendor,
                str(model.ops),
                str(model.fallback_ops),
                *words.shares(model.covered),
            )
        )
    lines = ["on the device, in percent", *_table(rows, 3)]
    lines += [f"note: {note}" for note in report.notes]
    if report.candidates:
        shown = report.candidates[:top] if top else report.candidates
        table = [_HEAD]
        for number, one in enumerate(shown, 1):
            amounts = one.amounts
            table.append(
                (str(number), one.op, str(amounts.calls), words.seconds(amounts.seconds), words.size(amounts.bytes),
                 *words.shares(one.share), words.percent(one.reached), ", ".join(one.models))
            )  # fmt: skip
        lines += ["", f"what to implement next, by {report.measure}", *_table(table, 2, left_last=True)]
        if len(shown) < len(report.candidates):
            lines.append(f"and {len(report.candidates) - len(shown)} more: --top 0 lists all")
    if report.changes:
        lines += ["", "worse than the baseline"]
        lines += [f"  {cut(change.model, _NAME)}: {change.kind}: {change.text}" for change in report.changes]
    lines += ["", words.verdict(report)]
    return "\n".join(one_line(line.rstrip()) for line in lines)


def _table(rows: Sequence[Sequence[str]], left: int, left_last: bool = False) -> list[str]:
    """Aligned columns: the first `left` (and the last, if asked) to the left, numbers to the right."""
    rows = [[one_line(cut(text, _NAME)) for text in row] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if column < left or (left_last and column == len(row) - 1) else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(cells))
    return lines
