"""The report of a reading of a hand-written backend: text, JSON and Markdown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from fl_gen.schema.errors import printable
from fl_gen.schema.location import Location
from fl_gen.tasks.adopt_values import Adoption, Fit, MethodReport, OpReport

_FITS: dict[Fit, str] = {
    "exact": "the schema's signature",
    "same": "the same to the dispatcher, but not the schema's text",
    "differs": "another signature than the schema's",
    "unknown": "in no schema",
    "unjudged": "not judged",
    "absent": "missing",
}


def adopt_text(found: Adoption, color: bool = False) -> str:
    """Faults first, then methods, ops and the kernels.yaml, then what was read and what could not be judged."""
    parts = [fault.diagnostic.render(color) for fault in found.faults]
    if parts:
        parts.append("")
    for cls, methods in _classes(found):
        parts += [f"{cls}", *(line for method in methods for line in _method(method)), ""]
    parts.append("kernels")
    for one in found.ops:
        if one.fit != "absent":
            parts.append(printable(f"  {one.op}: {_op(one)}" + (f" ({one.place})" if one.place else "")))
    parts += [f"  missing, and generated as {strategy}: {names}" for strategy, names in _missing(found)]
    parts += ["", f"kernels.yaml (backends/{found.vendor}/kernels.yaml)", *_indented(found.listing), ""]
    parts += list(_summary(found))
    return "\n".join(parts)


def _classes(found: Adoption) -> Iterator[tuple[str, list[MethodReport]]]:
    for cls in dict.fromkeys(one.cls for one in found.methods):
        yield cls, [one for one in found.methods if one.cls == cls]


def _method(one: MethodReport) -> Iterator[str]:
    place = f" ({one.place})" if one.place is not None else ""
    calls = f", calls {', '.join(one.calls)}" if one.calls else ", calls nothing of the SDK"
    note = f": {one.note}" if one.note else ""
    yield printable(f"  {one.method}: {one.presence}{calls if one.place is not None else ''}{place}{note}")
    for instead in one.instead:
        yield printable(f"      fl-gen: {instead.operation}: {instead.text}")


def _op(one: OpReport) -> str:
    text = _FITS[one.fit]
    if one.native:
        return f"{text}: it can become native, as {one.file}"
    between = ", but " if one.fit == "exact" else ": "
    return text + (f"{between}{one.note}" if one.note else "")


def _missing(found: Adoption) -> Iterator[tuple[str, str]]:
    names: dict[str, list[str]] = {}
    for one in found.ops:
        if one.fit == "absent":
            names.setdefault(one.strategy, []).append(one.op)
    yield from ((strategy, ", ".join(ones)) for strategy, ones in names.items())


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.rstrip("\n").split("\n")]


def _summary(found: Adoption) -> Iterator[str]:
    fits = Counter(one.fit for one in found.ops)
    native = sum(1 for one in found.ops if one.native)
    yield f"read     {found.folder}: {_times(found.sources, 'source')}, by {found.libclang}"
    yield f"against  {found.sdk}; {found.framework}"
    presence = Counter(one.presence for one in found.methods)
    yield "methods  " + ", ".join(f"{count} {word}" for word, count in presence.items())
    yield "kernels  " + ", ".join(f"{fits[fit]} {word}" for fit, word in _FITS.items() if fits[fit])
    yield f"native   {native} can be taken over"
    if found.absent:
        yield f"absent   read as empty: {', '.join(map(printable, found.absent))}"
    for one in found.unjudged:
        yield printable(f"unread   {one.place}: {one.what}: {one.why}")
    levels = Counter(fault.level for fault in found.faults)
    words = ", ".join(_times(levels[level], level) for level in ("error", "warning") if levels[level])
    yield f"faults   {words or 'none'}"


def adopt_json(found: Adoption) -> str:
    """Everything, for machines."""
    value: dict[str, Any] = {
        "version": 1,
        "vendor": found.vendor,
        "folder": found.folder,
        "sdk": found.sdk,
        "framework": found.framework,
        "libclang": found.libclang,
        "sources": found.sources,
        "faults": [
            {
                "rule": one.rule,
                "level": one.level,
                "place": _place(one.place),
                "message": one.message,
                "why": one.why,
                "remedy": one.remedy,
            }
            for one in found.faults
        ],
        "methods": [
            {
                "class": one.cls,
                "method": one.method,
                "presence": one.presence,
                "place": _place(one.place),
                "calls": list(one.calls),
                "instead": [{"operation": i.operation, "kind": i.kind, "text": i.text} for i in one.instead],
                "note": one.note or None,
            }
            for one in found.methods
        ],
        "ops": [
            {
                "op": one.op,
                "fit": one.fit,
                "place": _place(one.place),
                "strategy": one.strategy,
                "native": one.native,
                "file": one.file or None,
                "note": one.note or None,
            }
            for one in found.ops
        ],
        "kernels_yaml": found.listing,
        "unjudged": [{"place": _place(one.place), "what": one.what, "why": one.why} for one in found.unjudged],
        "absent": list(found.absent),
    }
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"


def _place(location: Location | None) -> dict[str, Any] | None:
    if location is None:
        return None
    return {"file": location.file, "line": location.line, "column": location.column}


def adopt_markdown(found: Adoption) -> str:
    """Tables, for a comment on a pull request."""
    lines = [f"### {found.vendor}: `{_cell(found.folder)}` against {_cell(found.sdk)}", ""]
    if found.faults:
        lines += ["| level | fault | place | what | why | remedy |", "|---|---|---|---|---|---|"]
        for fault in found.faults:
            cells = (fault.level, fault.rule, str(fault.place), fault.message, fault.why, fault.remedy)
            lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    else:
        lines.append("No fault was found.")
    lines += ["", "| method | there | calls | fl-gen generates |", "|---|---|---|---|"]
    for one in found.methods:
        instead = "; ".join(f"{i.operation}: {i.text}" for i in one.instead)
        cells4 = (f"{one.cls}::{one.method}", one.presence, ", ".join(one.calls) or one.note, instead)
        lines.append("| " + " | ".join(map(_cell, cells4)) + " |")
    lines += ["", "| kernel | signature | place |", "|---|---|---|"]
    for op in found.ops:
        if op.fit != "absent":
            lines.append("| " + " | ".join(map(_cell, (op.op, _op(op), str(op.place or "")))) + " |")
    lines += ["", *(f"- missing, and generated as {strategy}: {names}" for strategy, names in _missing(found))]
    lines += ["", "```yaml", found.listing.rstrip("\n"), "```", ""]
    lines += [f"- {_cell(line)}" for line in _summary(found)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    safe = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return safe.replace("|", "\\|").replace("\n", " ")


def _times(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
