"""The coverage report as one HTML page with plots: a bar per model, and what each further op would gain."""

from __future__ import annotations

from collections.abc import Sequence

from fl_gen.report import coverage_words as words
from fl_gen.report.html_page import Html, el, page
from fl_gen.tasks.coverage_values import Candidate, Coverage, ModelCoverage

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 260, 44, 30
_BARS = 20  # ops that the plot of shares shows


def coverage_html(report: Coverage) -> str:
    """The page. It loads nothing."""
    return page(
        "Coverage",
        el("h1", "Coverage"),
        el("p", el("b", words.verdict(report))),
        [el("p", note, class_="soft") for note in report.notes],
        _changes(report),
        el("div", [_card(model, report) for model in report.models], class_="cards"),
        _plots(report),
        _table(report),
        styles=("page.css", "plots.css"),
    )


def _changes(report: Coverage) -> Html | None:
    if not report.changes:
        return None
    rows = [el("p", el("b", change.model), f": {change.kind}: {change.text}") for change in report.changes]
    return el("div", el("h2", "Worse than the baseline"), rows, class_="trouble")


def _card(model: ModelCoverage, report: Coverage) -> Html:
    covered = model.covered.by(report.measure)
    low = model.model in report.failed
    bar = el("div", el("i", class_="lost" if low else "bound", style=f"width: {covered or 0:.2f}%"), class_="bar")
    return el(
        "div",
        el(
            "b",
            el("span", model.model),
            el("span", words.percent(covered), class_=f"pill {'lost' if low else 'bound'}"),
        ),
        el("span", f"{model.framework}, {model.vendor}", class_="soft"),
        bar if covered is not None else None,
        el(
            "span",
            f"{model.fallback_ops} of {model.ops} ops fall back; {model.fallback.calls} of {model.total.calls} calls",
        ),
        class_="card",
    )


def _plots(report: Coverage) -> list[Html]:
    if not report.candidates:
        return []
    figures = [_figure(f"What falls back: share of {report.measure}", _shares_plot(report.candidates[:_BARS], report))]
    if all(one.reached is not None for one in report.candidates):
        figures.append(_figure("Coverage after the first n ops of the list", _curve(report)))
    return figures


def _figure(title: str, plot: Html) -> Html:
    return el("figure", el("figcaption", title), plot)


def _svg(height: int, label: str, *children: Sequence[Html]) -> Html:
    flat = [child for group in children for child in group]
    return el("svg", flat, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=label)


def _shares_plot(candidates: Sequence[Candidate], report: Coverage) -> Html:
    """Horizontal bars, the op that pays most on top."""
    row, names = 20, 240
    largest = max((one.share.by(report.measure) or 0.0) for one in candidates) or 1.0
    bars, texts = [], []
    for number, one in enumerate(candidates):
        share = one.share.by(report.measure) or 0.0
        length = (_WIDTH - names - 70) * share / largest
        top = number * row
        bars.append(
            el("rect", x=str(names), y=str(top + 3), width=f"{length:.1f}", height=str(row - 6), class_="bar-of")
        )
        texts.append(el("text", one.op[-36:], x=str(names - 8), y=str(top + 14), text_anchor="end"))
        texts.append(el("text", words.percent(share), x=f"{names + length + 6:.1f}", y=str(top + 14)))
    return _svg(len(candidates) * row, "shares of ops that fall back", bars, texts)


def _curve(report: Coverage) -> Html:
    """Coverage over the number of ops implemented, from what it is now to 100 %."""
    now = report.covered.by(report.measure) or 0.0
    values = [now, *[one.reached or 0.0 for one in report.candidates]]
    wide, high = _WIDTH - _LEFT - 10, _HEIGHT - _BOTTOM - 10
    step = wide / max(1, len(values) - 1)
    points = [(_LEFT + index * step, 10 + high * (1 - value / 100)) for index, value in enumerate(values)]
    lines = []
    for level in (0, 25, 50, 75, 100):
        y = f"{10 + high * (1 - level / 100):.1f}"
        lines.append(el("line", x1=str(_LEFT), x2=str(_WIDTH - 10), y1=y, y2=y, class_="grid"))
        lines.append(el("text", f"{level} %", x=str(_LEFT - 6), y=y, text_anchor="end", dominant_baseline="middle"))
    path = el("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), class_="curve")
    last = str(len(values) - 1)
    labels = [
        el("text", "0", x=str(_LEFT), y=str(_HEIGHT - 8), text_anchor="middle"),
        el("text", f"{last} ops", x=str(_WIDTH - 10), y=str(_HEIGHT - 8), text_anchor="end"),
    ]
    return _svg(_HEIGHT, "coverage after the first n ops", lines, [path], labels)


def _table(report: Coverage) -> Html | None:
    if not report.candidates:
        return None
    head = ("", "op", "calls", "time", "moved", "of calls", "of time", "of bytes", "reaches", "models")
    rows = [
        el(
            "tr",
            [el("td", text) for text in (
                str(number), one.op, str(one.amounts.calls), words.seconds(one.amounts.seconds),
                words.size(one.amounts.bytes), *words.shares(one.share), words.percent(one.reached),
                ", ".join(one.models),
            )],
        )
        for number, one in enumerate(report.candidates, 1)
    ]  # fmt: skip
    table = el("table", el("thead", el("tr", [el("th", text) for text in head])), el("tbody", rows))
    return el("section", el("h2", f"What to implement next, by {report.measure}"), el("div", table, class_="scroll"))
