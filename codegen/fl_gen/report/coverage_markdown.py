"""The coverage report as Markdown for a comment on a pull request: bounded, and what failed comes first."""

from __future__ import annotations

from fl_gen.report import coverage_words as words
from fl_gen.report.markdown import LIMIT, Page, code, escaped
from fl_gen.tasks.coverage_values import Coverage

_CHANGES = 50


def coverage_markdown(report: Coverage) -> str:
    """At most LIMIT characters."""
    page = Page(LIMIT)
    page.line("### Coverage")
    page.line("")
    page.line(escaped(words.verdict(report), 1000))
    for note in report.notes:
        page.line(f"- {escaped(note, 1000)}")
    if report.changes:
        page.line("")
        rows = [(code(c.model), escaped(c.kind), escaped(c.text)) for c in report.changes[:_CHANGES]]
        page.table(("model", "worse than the baseline", ""), rows, LIMIT // 4)
    page.line("")
    models = [
        (
            code(m.model),
            escaped(m.framework),
            escaped(m.vendor),
            str(m.ops),
            str(m.fallback_ops),
            *words.shares(m.covered),
        )
        for m in report.models
    ]
    page.table(("model", "framework", "vendor", "ops", "fall back", "calls", "time", "bytes"), models, LIMIT // 3)
    if report.candidates:
        page.line("")
        page.line(f"**What to implement next**, by {report.measure}")
        page.line("")
        rows2 = (
            (str(number), code(one.op), str(one.amounts.calls), words.seconds(one.amounts.seconds),
             words.size(one.amounts.bytes), *words.shares(one.share), words.percent(one.reached))
            for number, one in enumerate(report.candidates, 1)
        )  # fmt: skip
        head = ("", "op", "calls", "time", "moved", "of calls", "of time", "of bytes", "reaches")
        page.table(head, rows2, page.left - 500)
    return page.text()
