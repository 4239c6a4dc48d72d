"""The report of an SDK check for a terminal: a table per group, then what to look at, lost ones first."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from fl_gen.report import sdk_words as words
from fl_gen.schema.errors import Diagnostic, printable
from fl_gen.tasks.sdk_values import CheckReport, OperationCheck, Rejected, SdkCheck, State

# What --only takes.
KINDS = ("lost", "strategy", "left-out", "bound", "inferred", "deprecated", "required")

_COLOURS = {"red": "\x1b[1;31m", "green": "\x1b[32m", "yellow": "\x1b[33m", "dim": "\x1b[2m", "bold": "\x1b[1m"}
_STATE_COLOURS: dict[State, str] = {
    "bound": "green",
    "strategy": "yellow",
    "left_out": "dim",
    "lost": "red",
    "absent": "dim",
}
_WIDE = 76  # columns from which on a row holds all of an operation
_LEAST = 20  # columns that text is never narrower than


@dataclass(frozen=True)
class Look:
    """How a report is laid out: `width` in columns, and what it holds."""

    width: int = 100
    color: bool = False
    verbose: bool = False
    only: Collection[str] = ()

    def paint(self, text: str, colour: str) -> str:
        return f"{_COLOURS[colour]}{text}\x1b[0m" if self.color and text else text

    def shows(self, operation: OperationCheck) -> bool:
        """Whether `--only` lets an operation through."""
        if operation.state == "absent":
            return False
        kinds = {operation.state.replace("_", "-"), *words.marks(operation), "required" if operation.required else ""}
        return not self.only or not kinds.isdisjoint(self.only)


def check_text(check: SdkCheck, look: Look) -> str:
    """The whole report of one target, without a final newline."""
    lines = [*_head(check, look), "", *_groups(check, look)]
    for group in check.groups:
        rows = [one for one in check.operations if one.group == group.key and look.shows(one)]
        if rows:
            legend = "" if look.width < _WIDE else "  (* required)"
            lines += ["", look.paint(printable(f"{group.key}: {group.title}"), "bold") + legend]
            width = max(len(one.name) for one in check.operations if one.group == group.key) + 2
            for operation in rows:
                lines += _row(operation, width, look)
    if not look.only:
        lines += ["", *_facts(check, look)]
    lines += [*_closing(check, look), ""]
    lines += [look.paint(row, "red" if check.lost else "bold") for row in _wrap(words.summary(check), look, "", "  ")]
    return "\n".join(lines)


def _wrap(text: str, look: Look, first: str = "", rest: str = "") -> list[str]:
    """Text in lines of the terminal's width; words longer than a line are not broken, so that they can be copied."""
    width = max(look.width, len(rest) + _LEAST)
    return textwrap.wrap(
        printable(text), width, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]  # fmt: skip


def _head(check: SdkCheck, look: Look) -> Iterator[str]:
    sdk = check.sdk
    rows = [
        ("SDK", sdk.title + (f", found by {sdk.origin}" if sdk.origin not in ("--sdk", "simulated") else "")),
        ("held against", check.schema_file),
        ("checked by", f"{sdk.libclang}, compiler headers: {sdk.compiler_headers}"),
        ("headers", f"{len(sdk.headers)} read, digest {sdk.digest[:12]}"),
    ]
    if sdk.simulated and not sdk.libraries:
        rows.append(("libraries", "none: this test double is not built (fl-gen sim build makes them)"))
    if len(sdk.roots) > 1:
        rows.insert(1, ("roots", ", ".join(sdk.roots)))
    for label, text in rows:
        yield from _wrap(text, look, f"{label:<13} ", " " * 14)
    if look.verbose:
        for header in sdk.headers:
            yield from _wrap(f"{header.name}  {header.path or '(in memory)'}", look, " " * 14, " " * 16)


def _groups(check: SdkCheck, look: Look) -> Iterator[str]:
    title = max(len(group.title) for group in check.groups)
    for group in check.groups:
        need = "required" if group.required else "optional"
        line = printable(f"{group.key:<8} {group.title:<{title}}  {need}  ")
        text = words.group_state(group)
        if group.present:
            text += f", {group.coverage.bound} of {group.coverage.total} operations ({group.coverage.percent:g} %)"
        yield from _wrap(text, look, f"group    {line}", " " * 11)
        for reason in words.reasons(group.unusable):
            yield from _wrap(reason.strip(), look, " " * (11 if reason.startswith(" ") else 9), " " * 11)
        for name, path in words.libraries(check, group):
            for row in _wrap(f"library {name}: {path or 'NOT FOUND'}", look, " " * 9, " " * 11):
                yield row if path else look.paint(row, "yellow")


def _row(operation: OperationCheck, width: int, look: Look) -> Iterator[str]:
    state = words.STATE_WORDS[operation.state]
    colour = _STATE_COLOURS[operation.state]
    what = _what(operation)
    if look.width >= _WIDE:
        name = operation.name + " *" * operation.required
        head = f"  {name:<{width}}  {state:<8}  "
        rows = _wrap(what, look, head, " " * len(head))
        rows[0] = rows[0].replace(f"  {state} ", f"  {look.paint(state, colour)} ", 1) if look.color else rows[0]
        yield from rows
    else:
        yield f"  {operation.name}: {look.paint(state, colour)}{', required' if operation.required else ''}"
        yield from _wrap(what, look, "    ", "    ")
    chosen = operation.chosen
    if chosen is not None and look.verbose:
        for use in chosen.declarations:
            yield from _wrap(f"{use.header}:{use.line}: {use.signature or use.name}", look, "      uses     ", " " * 17)
        yield from _wrap(f"{chosen.location}: {words.one_line(chosen.code)}", look, "      by       ", " " * 17)
        yield from _wrap(f"{chosen.certainty}: {chosen.source}", look, "      from     ", " " * 17)
        also = ", ".join(str(number + 1) for number in operation.also_fit)
        spare = f"candidate {chosen.index + 1}; of the others, {also} would hold as well" if also else None
        for label, text in (("note", chosen.note), ("warning", chosen.deprecated), ("chosen", spare)):
            if text:
                yield from _wrap(text, look, f"      {label:<8} ", " " * 17)
    for rejected in operation.rejected:
        yield from _refused(rejected, look, brief=chosen is not None and not look.verbose)


def _what(operation: OperationCheck) -> str:
    """The calls of a choice with where they are declared, or what is done instead."""
    chosen = operation.chosen
    if chosen is None:
        return words.instead(operation)
    calls = ", ".join(f"{use.name} ({use.header}:{use.line})" for use in words.calls(chosen))
    text = calls or words.one_line(chosen.code)
    return " ".join([text, *(f"[{mark}]" for mark in words.marks(operation))])


def _refused(rejected: Rejected, look: Look, brief: bool) -> Iterator[str]:
    """A candidate that does not hold: its text, and what clang says at which place of the vendor file.

    `brief` is for one that another candidate stands in for.
    """
    wide = look.width >= _WIDE
    indent = " " * (15 if wide else 6)
    first = "      refused  " if wide else "    refused "
    if brief:
        said = f": {rejected.messages[0].message}" if rejected.messages else ""
        rows = _wrap(words.one_line(rejected.code) + said, look, first, indent)
        yield from (look.paint(row, "dim") for row in rows)
        return
    yield from _wrap(words.one_line(rejected.code), look, first, indent)
    for message in rejected.messages if look.verbose else rejected.messages[:1]:
        yield from _wrap(f"{message.location}: {message.message}", look, indent, indent + "  ")
        lines = [line.strip() for line in (message.hint or "").split("\n") if line.strip()]
        for line in lines if look.verbose else lines[:1]:
            yield from _wrap(f"= {line}", look, indent + "  ", indent + "    ")


def _facts(check: SdkCheck, look: Look) -> Iterator[str]:
    lines = words.fact_lines(check)
    width = min(16, max(len(label) for label, _ in lines)) + 2
    for label, text in lines:
        yield from _wrap(text, look, f"{label:<{width}}", " " * width)


def _closing(check: SdkCheck, look: Look) -> Iterator[str]:
    """What to look at, the worst first."""
    if check.lost:
        yield ""
        yield look.paint(f"LOST: {words.lost_line(check)}: no backend on this SDK", "red")
        for diagnostic in check.lost:
            yield from _lost(diagnostic, look)
    missing = [] if look.only else words.warnings(check)
    if missing:
        yield ""
        yield look.paint(words.counted(len(missing), words.MISSING), "yellow")
        for diagnostic in missing:
            yield from _lost(diagnostic, look)
    strategies = [f"{one.name} ({words.instead(one)})" for one in check.in_state("strategy") if look.shows(one)]
    yield from _listed(("by strategy",) * 2, strategies, look)
    yield from _listed(("left out",) * 2, [one.name for one in check.in_state("left_out") if look.shows(one)], look)
    shown = [one for one in check.inferred if look.shows(one)]
    inferred = [f"{one.name} ({one.chosen.source})" for one in shown if one.chosen is not None]
    if len(inferred) > words.MANY and not look.verbose:
        yield ""
        yield look.paint(f"{words.counted(len(inferred), words.INFERRED)} (--verbose says from where)", "bold")
        yield from _wrap(", ".join(one.name for one in shown), look, "  ", "  ")
    else:
        yield from _listed(words.INFERRED, inferred, look)
    old = [one for one in check.deprecated if look.shows(one)]
    deprecated = [f"{one.name} ({one.chosen.deprecated})" for one in old if one.chosen is not None]
    yield from _listed(words.DEPRECATED, deprecated, look)
    if not look.only:
        yield from _listed(words.LIBRARIES, list(check.sdk.libraries_missing), look)


def _lost(diagnostic: Diagnostic, look: Look) -> Iterator[str]:
    """A diagnostic with its excerpt and caret; without them where a line of YAML has no room."""
    if look.width >= _WIDE:
        yield diagnostic.render(look.color)
        return
    word = "" if diagnostic.severity == "error" else f"{diagnostic.severity}: "
    yield from _wrap(f"{diagnostic.location}: {word}{diagnostic.message}", look, "  ", "    ")
    for line in (diagnostic.hint or "").split("\n"):
        if line.strip():
            yield from _wrap(f"= {line.strip()}", look, "    ", "      ")


def _listed(title: tuple[str, str], items: Sequence[str], look: Look) -> Iterator[str]:
    if items:
        yield ""
        yield look.paint(words.counted(len(items), title), "bold")
        for item in items:
            yield from _wrap(item, look, "  ", "    ")


def report_text(report: CheckReport, look: Look) -> str:
    """The reports of several targets one after the other, and one line each at the end."""
    parts = []
    for result in report.results:
        parts.append(look.paint(f"=== {printable(result.target)} ===", "bold"))
        if result.check is not None:
            parts.append(check_text(result.check, look))
        elif result.no_verdict is not None:
            parts.append(f"{look.paint('no verdict', 'red')}\n{result.no_verdict.text}")
        parts.append("")
    if len(report.results) > 1:
        parts += [row for line in summaries(report) for row in _wrap(line, look, "", "  ")]
    return "\n".join(parts).rstrip("\n") + "\n"


def summaries(report: CheckReport) -> list[str]:
    """One line per target."""
    lines = []
    for result in report.results:
        if result.check is not None:
            lines.append(words.summary(result.check))
        elif result.no_verdict is not None:
            lines.append(f"{result.target}: NO VERDICT: {result.no_verdict.text.partition(chr(10))[0]}")
    return [printable(line) for line in lines]
