"""The alignment report as one HTML page: the verdict, the error along the layers as a plot, and tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from fl_gen.report import align_words as words
from fl_gen.report.html_page import Html, el, page
from fl_gen.tasks.align_values import Alignment, LayerCheck, NamedCheck

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 640, 240, 52, 24
_FLOOR = 1e-9  # an error of zero is drawn at the bottom of the logarithmic axis


def align_html(found: Alignment) -> str:
    """The page. It loads nothing."""
    state = "bound" if found.aligned else "lost"
    return page(
        f"Alignment of {found.model}",
        el("h1", f"{found.model} on {found.device}"),
        el(
            "p",
            el("span", "aligned" if found.aligned else "differs", class_=f"pill {state}"),
            " ",
            words.verdict(found),
        ),
        el("p", f"PyTorch {found.torch}; {found.steps} step(s); {found.op_calls} op calls compared", class_="soft"),
        _first(found),
        _plot(found.layers),
        _section("Layers, in the order of their calls", ("layer", "module", "output", "error"), _layers(found.layers)),
        _section(
            "Ops, the worst call of each", ("op", "layer", "phase", "inputs", "error", "worst element"), _ops(found)
        ),
        _section("Gradients of the first step", ("parameter", "shape", "error"), _named(found.gradients)),
        _section(f"State after {found.steps} step(s)", ("name", "shape", "error"), _named(found.state)),
        _section("Loss", ("step", "CPU", "device"), _losses(found)),
        _notes(found),
        styles=("page.css", "plots.css"),
    )


def _first(found: Alignment) -> Html | None:
    lines = []
    if found.first_op is not None:
        check = found.first_op
        lines += [el("p", el("b", "First op: "), words.op(check)), el("p", words.errors(check.result))]
        lines.append(el("p", words.worst(check.result)))
    if found.first_layer is not None:
        lines.append(el("p", el("b", "First layer: "), f"{found.first_layer.layer} ({found.first_layer.kind})"))
        lines.append(el("p", words.layer(found.first_layer)))
    if found.failure:
        lines.append(el("p", el("b", "After that the device stopped: "), found.failure))
    return el("div", lines, class_="trouble") if lines else None


def _plot(layers: Sequence[LayerCheck]) -> Html | None:
    """The largest absolute error of each layer call, on a logarithmic axis."""
    errors = [max((_size(result.max_abs) for result in layer.results), default=0.0) for layer in layers]
    if not errors:
        return None
    top = max(0, math.ceil(math.log10(max(max(errors), _FLOOR))))
    bottom = round(math.log10(_FLOOR))
    wide, high = _WIDTH - _LEFT - 10, _HEIGHT - _BOTTOM - 10

    def height(error: float) -> float:
        return 10 + high * (top - math.log10(max(error, _FLOOR))) / (top - bottom)

    marks = []
    for exponent in range(bottom, top + 1, 3):
        y = f"{height(10.0**exponent):.1f}"
        marks.append(el("line", x1=str(_LEFT), x2=str(_WIDTH - 10), y1=y, y2=y, class_="grid"))
        marks.append(el("text", f"1e{exponent}", x=str(_LEFT - 6), y=y, text_anchor="end", dominant_baseline="middle"))
    step = wide / max(1, len(errors) - 1)
    for index, (error, layer) in enumerate(zip(errors, layers, strict=True)):
        title = el("title", f"{layer.layer}: {words.layer(layer)}")
        place = {"cx": f"{_LEFT + index * step:.1f}", "cy": f"{height(error):.1f}", "r": "3"}
        marks.append(el("circle", title, class_="dot" if layer.equal else "dot off", **place))
    picture = el("svg", marks, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label="error along the layers")
    return el("figure", el("figcaption", "Largest absolute error of each layer call"), picture)


def _size(value: float | None) -> float:
    return 1e9 if value is None else min(value, 1e9)


def _section(title: str, head: Sequence[str], rows: Iterable[Sequence[str | Html]]) -> Html | None:
    body = [el("tr", [el("td", cell) for cell in row]) for row in rows]
    if not body:
        return None
    table = el("table", el("thead", el("tr", [el("th", text) for text in head])), el("tbody", body))
    return el("section", el("h2", title), el("div", table, class_="scroll"))


def _mark(text: str, equal: bool) -> Html:
    return el("span", text, class_=None if equal else "pill lost")


def _layers(layers: Sequence[LayerCheck]) -> Iterable[Sequence[str | Html]]:
    for layer in layers:
        shapes = ", ".join(words.shape(result) for result in layer.results)
        yield (_mark(layer.layer, layer.equal), layer.kind, shapes, words.layer(layer))


def _ops(found: Alignment) -> Iterable[Sequence[str | Html]]:
    for check in found.ops:
        result = check.result
        yield (
            _mark(check.op, result.equal), check.layer, check.phase, ", ".join(check.inputs), words.errors(result),
            words.worst(result),
        )  # fmt: skip


def _named(checks: Sequence[NamedCheck]) -> Iterable[Sequence[str | Html]]:
    for one in checks:
        yield (_mark(one.name, one.result.equal), words.shape(one.result), words.errors(one.result))


def _losses(found: Alignment) -> Iterable[Sequence[str | Html]]:
    for step, (cpu, device) in enumerate(zip(found.losses_cpu, found.losses_device, strict=True), 1):
        yield (str(step), words.number(cpu), words.number(device))


def _notes(found: Alignment) -> list[Html]:
    return [el("p", note, class_="soft") for note in words.notes(found)]
