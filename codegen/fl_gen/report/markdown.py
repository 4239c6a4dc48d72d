"""The report of an SDK check as Markdown for a comment on a pull request: what matters first, and never too long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from fl_gen.report import sdk_words as words
from fl_gen.schema.errors import Diagnostic, printable
from fl_gen.tasks.sdk_values import CheckReport, OperationCheck, SdkCheck, TargetResult

LIMIT = 60_000  # characters of a report; the usual forges take 65 536 in a comment
_CELL = 240  # characters of a cell
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "#": "&#35;"}
_MORE = "\n*{} more rows: the forms json and html hold all of them*"
_LEFT_OUT = "\n*{} more targets: the forms json and html hold all of them*"
_RESERVE = 200  # characters kept for what closes a table

_TOTAL = ("target", "SDK", "verdict", "bound", "strategy", "left out", "inferred")


def report_markdown(report: CheckReport) -> str:
    """A line per target; then for each what is lost, what took a strategy, what to watch, and a folded full table."""
    page = Page(LIMIT)
    page.line("### SDK check")
    page.line("")
    page.table(_TOTAL, (_total(result) for result in report.results), LIMIT // 3)
    for number, result in enumerate(report.results):
        rest = len(report.results) - number
        share = page.left // rest  # so that the last target has its part as well
        if share < 4 * _RESERVE:
            page.line(_LEFT_OUT.format(rest))
            break
        _target(page, result, share)
    return page.text()


class Page:
    """Lines that stay within a number of characters."""

    def __init__(self, limit: int) -> None:
        self._lines: list[str] = []
        self.left = limit

    def line(self, text: str) -> None:
        """Add a line, which the caller knows to fit."""
        self._lines.append(text)
        self.left -= len(text) + 1

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], room: int) -> None:
        """Add a table with as many of the rows as fit into `room` characters, and say how many do not."""
        until = self.left - room + _RESERVE
        self.line(f"| {' | '.join(head)} |")
        self.line(f"|{' --- |' * len(head)}")
        dropped = 0
        for row in rows:
            text = f"| {' | '.join(row)} |"
            if dropped or self.left - len(text) - 1 < until:
                dropped += 1
            else:
                self.line(text)
        if dropped:
            self.line(_MORE.format(dropped))

    def text(self) -> str:
        return "\n".join(self._lines).rstrip("\n") + "\n"


def escaped(text: str, limit: int = _CELL) -> str:
    """Text that means itself: on one line, without markup, mentions, links to issues, or cells of its own."""
    return "".join(
        _ENTITIES.get(character) or (f"\\{character}" if character in "\\`*_[]|~" else character)
        for character in _cut(text, limit)
    )


def code(text: str, limit: int = _CELL) -> str:
    """A code span for a cell of a table, of any text. Even there a bar would end the cell without its backslash."""
    short = _cut(text, limit) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", short)), default=0))
    pad = " " if short.startswith("`") or short.endswith("`") else ""
    return f"{fence}{pad}{short}{pad}{fence}".replace("|", "\\|")


def block(text: str, limit: int) -> str:
    """A block of text as it is, cut to a number of characters."""
    shown = printable(text[: limit + 1])
    if len(shown) > limit:
        shown = shown[:limit] + "…"
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence}text\n{shown}\n{fence}"


def _cut(text: str, limit: int) -> str:
    short = printable(" ".join(text.split()))
    return short if len(short) <= limit else short[: limit - 1] + "…"


def _total(result: TargetResult) -> tuple[str, ...]:
    check = result.check
    if check is None:
        reason = result.no_verdict.text.partition("\n")[0] if result.no_verdict is not None else ""
        return (code(result.target), escaped(reason), "**no verdict**", "", "", "", "")
    return (
        code(check.target),
        escaped(check.sdk.title),
        f"**{len(check.lost_names)} lost**" if check.lost else "usable",
        f"{check.coverage.bound} of {check.coverage.total} ({check.coverage.percent:g} %)",
        str(len(check.in_state("strategy"))),
        str(len(check.in_state("left_out"))),
        str(len(check.inferred)),
    )


def _target(page: Page, result: TargetResult, share: int) -> None:
    """One target within `share` characters: its short tables get half of it each time, the folded one what is left."""
    until = page.left - share
    check = result.check
    page.line("")
    page.line(f"#### {code(result.target)}")
    page.line("")
    if check is None:
        if result.no_verdict is not None:
            page.line(block(result.no_verdict.text, share - 2 * _RESERVE))
        return
    for title, head, rows in _sections(check):
        room = (page.left - until) // 2
        if rows and room > 3 * _RESERVE:
            page.line(f"**{title}**")
            page.line("")
            page.table(head, rows, room)
            page.line("")
    room = page.left - until - _RESERVE
    if room > 3 * _RESERVE:
        page.line("<details><summary>All operations</summary>")
        page.line("")
        page.table(("operation", "state", "by", "declared", ""), map(_row, _shown(check)), room)
        page.line("")
        page.line("</details>")


def _sections(check: SdkCheck) -> Iterator[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    lost: list[tuple[str, ...]] = [
        (code(str(one.location)), escaped(one.message) + "".join(f"<br>{escaped(line)}" for line in _hints(one)))
        for one in check.lost
    ]
    yield "Lost: no backend on this SDK", ("where", "why"), lost
    strategies: list[tuple[str, ...]] = [
        (code(one.name), escaped(words.instead(one)), _refused(one)) for one in check.in_state("strategy")
    ]
    yield "Strategies", ("operation", "instead", "refused"), strategies
    watch: list[tuple[str, ...]] = [
        (code(str(one.location)), "warning", escaped("; ".join(filter(None, (one.message, one.hint)))))
        for one in words.warnings(check)
    ]
    for one in check.operations:
        if one.chosen is not None and one.chosen.inferred:
            watch.append((code(one.name), "inferred", escaped(one.chosen.source)))
        if one.chosen is not None and one.chosen.deprecated is not None:
            watch.append((code(one.name), "deprecated", escaped(one.chosen.deprecated)))
    watch += [(code(one.name), "left out", _refused(one)) for one in check.in_state("left_out")]
    for group in check.groups:
        if not group.present:
            said = "<br>".join(escaped(line) for line in words.reasons(group.unusable)) or escaped(group.title)
            watch.append((code(group.key), escaped(words.group_state(group)), said))
        watch += [
            (code(name), "library not found", escaped(group.title))
            for name, path in words.libraries(check, group)
            if path is None
        ]
    yield "To watch", ("what", "why", "details"), watch


def _hints(diagnostic: Diagnostic) -> list[str]:
    return [line.strip() for line in (diagnostic.hint or "").split("\n") if line.strip()]


def _shown(check: SdkCheck) -> list[OperationCheck]:
    return [operation for operation in check.operations if operation.state != "absent"]


def _refused(operation: OperationCheck) -> str:
    """Each candidate that does not hold with clang's first words on it."""
    return "<br>".join(
        f"{code(words.one_line(one.code))}: {escaped(one.messages[0].message if one.messages else 'refused')}"
        for one in operation.rejected
    )


def _row(operation: OperationCheck) -> tuple[str, ...]:
    chosen = operation.chosen
    state = words.STATE_WORDS[operation.state]
    if chosen is None:
        return (code(operation.name), state, escaped(words.instead(operation)), "", "")
    declared = ", ".join(f"{use.header}:{use.line}" for use in words.calls(chosen))
    return (
        code(operation.name),
        state,
        code(words.one_line(chosen.code)),
        escaped(declared),
        ", ".join(words.marks(operation)),
    )
