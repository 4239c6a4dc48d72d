"""The report of an SDK check as one HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fl_gen.report import sdk_words as words
from fl_gen.report.html_page import Html, el, page
from fl_gen.schema.errors import Diagnostic
from fl_gen.tasks.sdk_values import (
    CheckReport,
    Chosen,
    OperationCheck,
    Rejected,
    SdkCheck,
    State,
    TargetResult,
)

_STATES: tuple[State, ...] = ("lost", "strategy", "left_out", "bound")


def report_html(report: CheckReport) -> str:
    """The page: cards, a search box where scripts run, and a section per target."""
    targets = ", ".join(result.target for result in report.results)
    return page(
        f"SDK check: {targets}",
        el("h1", "SDK check"),
        el("div", (_card(number, result) for number, result in enumerate(report.results)), class_="cards"),
        _tools(report),
        (_section(number, result) for number, result in enumerate(report.results)),
        el("p", f"Made by {report.generator}.", class_="soft"),
    )


def _verdict(result: TargetResult) -> Html:
    if result.check is None:
        return el("span", "no verdict", class_="pill no-verdict")
    if result.check.lost:
        return el("span", f"{len(result.check.lost_names)} lost", class_="pill lost")
    return el("span", "usable", class_="pill usable")


def _card(number: int, result: TargetResult) -> Html:
    check = result.check
    head = el("b", el("span", result.target), _verdict(result))
    if check is None:
        text = result.no_verdict.text.partition("\n")[0] if result.no_verdict is not None else ""
        return el("a", head, el("span", text, class_="soft"), class_="card", href=f"#t{number}")
    counts = Counter(one.state for one in check.operations)
    parts = [f"{counts['bound']} bound"]
    parts += [f"{counts[state]} {words.STATE_WORDS[state]}" for state in ("strategy", "left_out") if counts[state]]
    parts += [f"{counts['lost']} lost"] * bool(counts["lost"])
    parts += [f"{len(check.inferred)} inferred"] * bool(check.inferred)
    return el(
        "a",
        head,
        el("span", check.sdk.title, class_="soft"),
        _bar(check.operations),
        el("span", f"{check.coverage.percent:g} %: {', '.join(parts)}"),
        class_="card",
        href=f"#t{number}",
    )


def _bar(operations: tuple[OperationCheck, ...]) -> Html:
    """The shares of bound, strategy and lost operations of the parts that are there."""
    counts: Counter[State] = Counter(one.state for one in operations if one.state in _STATES)
    total = sum(counts.values()) or 1
    shares: tuple[State, ...] = ("bound", "strategy", "lost")
    parts = [
        el("i", class_=state, style=f"width: {100 * counts[state] / total:.2f}%") for state in shares if counts[state]
    ]
    return el("div", parts, class_="bar")


def _tools(report: CheckReport) -> Html | None:
    checks = [result.check for result in report.results if result.check is not None]
    counts = Counter(kind for check in checks for one in check.operations for kind in _kinds(one))
    boxes = []
    for state in _STATES:
        if counts[state]:
            box = el("input", type="checkbox", value=state, checked=True)
            boxes.append(el("label", box, f"{words.STATE_WORDS[state]} ({counts[state]})"))
    if not boxes:
        return None
    search = el("input", type="search", id="search", placeholder="Search operations, calls, headers, messages",
                aria_label="Search", autocomplete="off")  # fmt: skip
    return el("div", search, boxes, el("span", id="count", class_="soft"), class_="tools")


def _kinds(operation: OperationCheck) -> list[str]:
    return [operation.state] if operation.state != "absent" else []


def _section(number: int, result: TargetResult) -> Html:
    title = el("h2", result.target, " ", _verdict(result))
    check = result.check
    if check is None:
        text = result.no_verdict.text if result.no_verdict is not None else ""
        return el("section", title, el("div", el("pre", text), class_="trouble"), id=f"t{number}")
    missing = words.warnings(check)
    return el(
        "section",
        title,
        _facts(check),
        el("h3", f"Lost: {words.lost_line(check)}") if check.lost else None,
        el("div", map(_diagnostic, check.lost), class_="trouble") if check.lost else None,
        el("h3", f"Warnings: {words.counted(len(missing), words.MISSING)}") if missing else None,
        el("div", map(_diagnostic, missing), class_="trouble") if missing else None,
        el("h3", "Parts"),
        _groups(check),
        (_operations(check, group.key, group.title) for group in check.groups if group.present),
        _details(check),
        id=f"t{number}",
    )


def _facts(check: SdkCheck) -> Html:
    sdk = check.sdk
    rows: list[tuple[str, str]] = [
        ("SDK", sdk.title),
        ("found by", "" if sdk.origin == "simulated" else sdk.origin),
        ("roots", ", ".join(sdk.roots)),
        ("held against", check.schema_file),
        ("checked by", f"{sdk.libclang}, compiler headers: {sdk.compiler_headers}"),
        ("headers", f"{len(sdk.headers)} read, digest {sdk.digest[:16]}"),
    ]
    if sdk.simulated and not sdk.libraries:
        rows.append(("libraries", "none: this test double is not built"))
    return el("dl", ([el("dt", label), el("dd", text)][part] for label, text in rows if text for part in (0, 1)))


def _groups(check: SdkCheck) -> Html:
    rows = []
    for group in check.groups:
        coverage = f"{group.coverage.bound} of {group.coverage.total} ({group.coverage.percent:g} %)"
        own = tuple(one for one in check.operations if one.group == group.key)
        files = [
            el("small", f"{name}: {path}") if path else el("small", el("span", f"{name} not found", class_="pill mark"))
            for name, path in words.libraries(check, group)
        ]
        rows.append(
            el(
                "tr",
                el("td", el("b", group.key), " ", group.title),
                el("td", "required" if group.required else "optional"),
                el(
                    "td", words.group_state(group), [el("small", line) for line in words.reasons(group.unusable)], files
                ),
                el("td", coverage if group.present else "", _bar(own) if group.present else None),
            )
        )
    head = el("thead", el("tr", (el("th", text) for text in ("part", "", "state", "operations"))))
    return el("div", el("table", head, el("tbody", rows)), class_="scroll")


def _operations(check: SdkCheck, group: str, title: str) -> Html:
    shown = [one for one in check.operations if one.group == group and one.state != "absent"]
    order = {state: number for number, state in enumerate(_STATES)}
    shown.sort(key=lambda one: order[one.state])
    head = el("thead", el("tr", (el("th", text) for text in ("operation", "state", "how"))))
    table = el("table", head, el("tbody", map(_row, shown)), class_="operations")
    return el("div", el("h3", f"{group}: {title}"), table, data_part=True)


def _row(operation: OperationCheck) -> Html:
    need = el("span", "required", class_="soft") if operation.required else None
    return el(
        "tr",
        el("td", el("code", operation.name), " ", need, el("small", operation.doc), class_="name"),
        el("td", el("span", words.STATE_WORDS[operation.state], class_=f"pill {operation.state}"), class_="state"),
        el("td", *_how(operation)),
        data_kinds=" ".join(_kinds(operation)),
    )


def _how(operation: OperationCheck) -> Iterator[Html]:
    chosen = operation.chosen
    if chosen is None:
        yield el("span", words.instead(operation))
    else:
        yield from _chosen(chosen)
        for mark in words.marks(operation):
            yield el("span", mark, class_="pill mark")
            reason = chosen.source if mark == "inferred" else chosen.deprecated
            yield el("span", f" {reason}", class_="soft")
    if operation.rejected:
        count = len(operation.rejected)
        words_ = f"{count} candidate{'s' if count > 1 else ''} refused"
        inside = [el("summary", words_), *map(_refused, operation.rejected)]
        yield el("details", inside, open=operation.state == "lost")


def _chosen(chosen: Chosen) -> Iterator[Html]:
    if "\n" in chosen.code.strip():
        yield el("details", el("summary", el("code", words.one_line(chosen.code))), el("pre", chosen.code.rstrip()))
    else:
        yield el("code", chosen.code)
    for use in words.calls(chosen):
        yield el("small", el("code", f"{use.header}:{use.line}"), " ", el("code", use.signature or use.name))
    yield el("small", f"candidate {chosen.index + 1}, {chosen.location}")


def _refused(rejected: Rejected) -> Html:
    return el(
        "div", el("code", words.one_line(rejected.code, 200)), map(_diagnostic, rejected.messages), class_="refused"
    )


def _diagnostic(diagnostic: Diagnostic) -> Html:
    hints = [line.strip() for line in (diagnostic.hint or "").split("\n") if line.strip()]
    return el(
        "div",
        el("p", diagnostic.message),
        (el("p", line, class_="soft") for line in hints),
        el("p", el("code", str(diagnostic.location)), class_="soft"),
    )


def _details(check: SdkCheck) -> Html:
    rows = [el("tr", el("td", label), el("td", text)) for label, text in words.fact_lines(check)]
    headers = [
        el("tr", el("td", header.name), el("td", header.path or "in memory"), el("td", el("code", header.digest[:16])))
        for header in check.sdk.headers
    ]
    return el(
        "div",
        el("details", el("summary", "Types, status codes and constants"), el("table", el("tbody", rows))),
        el("details", el("summary", f"{len(headers)} headers read"), el("table", el("tbody", headers))),
    )
