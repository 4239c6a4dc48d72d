"""The report of a check of a framework: text, JSON and Markdown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from fl_gen.schema.errors import printable
from fl_gen.schema.location import Location
from fl_gen.tasks.framework_update import Updated
from fl_gen.tasks.framework_values import Finding, FrameworkCheck

_MOST_CALLERS = 4  # places of calls that a text lists for each kernel


def framework_text(check: FrameworkCheck, updated: Updated | None = None, color: bool = False) -> str:
    """Every finding with both places, then what was written, what was read and what could not be judged."""
    parts = [finding.diagnostic.render(color) for finding in (updated.left if updated else check.findings)]
    if updated is not None:
        parts = [*_written(check, updated), *(["by hand:", *parts] if parts else [])]
    return "\n".join([*parts, *([""] if parts else []), *_read(check), *_verdict(check, updated)])


def _written(check: FrameworkCheck, updated: Updated) -> Iterator[str]:
    for file, count in sorted(updated.files.items()):
        yield f"updated  {file}: {_times(count, 'change')}"
    if updated.files:
        done = len(check.findings) - len(updated.left)
        yield f"         {_times(done, 'finding')} written; read the difference before you commit it"
        if updated.note:
            yield f"         {updated.note}"
    else:
        yield "updated  nothing: no finding can be written mechanically"


def _read(check: FrameworkCheck) -> Iterator[str]:
    kernels = ", ".join(f"{count} for {device}" for device, count in check.registered.items()) or "none"
    yield f"tree     {check.tree} ({check.framework})"
    yield f"checked  by {check.libclang}: {_times(check.sources, 'source')}, {_times(check.calls, 'call')} of kernels"
    yield f"kernels  registered: {kernels}"
    for needed in check.by_name:
        places = ", ".join(map(str, needed.callers[:_MOST_CALLERS]))
        more = len(needed.callers) - _MOST_CALLERS
        yield f"         {needed.kernel} is called by name from other kernels: {places}" + (
            f" and {more} more" if more > 0 else ""
        )
    if check.absent:
        yield f"absent   read as empty or by a stand-in: {', '.join(check.absent)}"
    for one in check.unjudged:
        yield f"unread   {one.place}: {one.what}: {printable(one.why)}"


def _verdict(check: FrameworkCheck, updated: Updated | None) -> Iterator[str]:
    findings = updated.left if updated is not None else check.findings
    if not findings:
        yield f"agrees   the schema of {check.framework} and the tree"
        return
    counts = Counter(finding.level for finding in findings)
    words = ", ".join(_times(counts[level], level) for level in ("error", "warning") if counts[level])
    yield f"found    {words}"
    if updated is None and any(finding.edits for finding in findings):
        count = sum(1 for finding in findings if finding.edits)
        yield f"         {count} can be written into the schema: run again with --update"


def framework_json(check: FrameworkCheck, updated: Updated | None = None) -> str:
    """Everything, for machines."""
    value: dict[str, Any] = {
        "version": 1,
        "framework": check.framework,
        "tree": check.tree,
        "agrees": not (updated.left if updated is not None else check.findings),
        "libclang": check.libclang,
        "sources": check.sources,
        "calls": check.calls,
        "registered": dict(check.registered),
        "findings": [_finding(finding) for finding in check.findings],
        "needed_by_name": [
            {"kernel": one.kernel, "callers": [_place(caller) for caller in one.callers]} for one in check.by_name
        ],
        "unjudged": [{"place": _place(one.place), "what": one.what, "why": one.why} for one in check.unjudged],
        "absent": list(check.absent),
        "updated": dict(sorted(updated.files.items())) if updated is not None else None,
        "left": [_finding(finding) for finding in updated.left] if updated is not None else None,
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "level": finding.level,
        "subject": finding.subject,
        "message": finding.message,
        "meaning": finding.meaning,
        "tree": _place(finding.tree) if finding.tree is not None else None,
        "schema": _place(finding.schema) if finding.schema is not None else None,
        "mechanical": bool(finding.edits),
        "by_hand": finding.by_hand or None,
    }


def _place(location: Location) -> dict[str, Any]:
    return {"file": location.file, "line": location.line, "column": location.column}


def framework_markdown(check: FrameworkCheck, updated: Updated | None = None) -> str:
    """A table of findings, for a comment on a pull request."""
    findings: Sequence[Finding] = updated.left if updated is not None else check.findings
    lines = [f"### {check.framework} against `{check.tree}`", ""]
    if updated is not None:
        lines += [f"- {line}" for line in (text.strip() for text in _written(check, updated))] + [""]
    if findings:
        lines += ["| level | kind | what | tree | schema | what it means |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {one.level} | {one.kind} | {_cell(one.message)} | {_cell(str(one.tree or ''))} "
            f"| {_cell(str(one.schema or ''))} | {_cell(one.meaning)} |"
            for one in findings
        ]
    else:
        lines.append("Schema and tree agree.")
    lines += ["", *(f"- {line.strip()}" for line in _read(check))]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    safe = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return safe.replace("|", "\\|").replace("\n", " ")


def _times(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
