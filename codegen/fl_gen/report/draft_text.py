"""A vendor draft for people: what was found, a line for each operation, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from fl_gen.schema.paths import shown
from fl_gen.schema.runtime import Operation, Runtime
from fl_gen.tasks.draft import Drafted
from fl_gen.tasks.draft_model import Proposal
from fl_gen.tasks.draft_rank import LEAST

_SKIPPED = 5  # headers that are told with their reasons
_WIDEST = 48  # columns of a proposal


def draft_text(drafted: Drafted, runtime: Runtime, schemas: str) -> str:
    """The summary of a written draft. `schemas` is the folder that `--schemas` then takes."""
    draft, parts = drafted.draft, drafted.parts
    lines = [f"{shown(drafted.path)}: a draft from headers in {', '.join(draft.include_dirs)}"]
    for key, group in parts.groups.items():
        libraries = ", ".join(group.libraries) + (" (guessed)" if group.guessed_library else "")
        lines.append(
            f"  {key:<8} {group.prefixes[0]}*: {', '.join(group.headers)}; library {libraries}; "
            f"{group.status.type}, {group.status.success} is success"
        )
    for key, name in parts.left_out.items():
        lines.append(f"  {key:<8} left out: nothing in it is like {name}, which is required")
    if draft.defines:
        lines.append(f"  its headers want {', '.join(draft.defines)} defined")
    if draft.unverified:
        lines.append(f"  nothing is verified, since the headers do not parse together: {draft.unverified}")
    lines.append("")
    rows = [("operation", "proposal", "confidence", "verified")]
    bound = total = 0
    for name, operation in runtime.operations.items():
        if operation.group not in parts.groups:
            continue
        total += 1
        found = parts.candidates.get(name, ())
        bound += bool(found)
        rows.append(_row(operation, found, draft.proposals.get(name, ())))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += ["", f"{bound} of {total} operations have a proposal; the others are in the file as comments"]
    lacking = [
        name
        for name, operation in runtime.operations.items()
        if operation.required and operation.group in parts.groups and not parts.candidates.get(name)
    ]
    if lacking:
        lines.append(f"required and without a proposal: {', '.join(lacking)}: write them before the first run")
    if draft.skipped:
        lines.append(f"{len(draft.skipped)} {'header was' if len(draft.skipped) == 1 else 'headers were'} left out:")
        lines += [f"  {one}" for one in draft.skipped[:_SKIPPED]]
        if len(draft.skipped) > _SKIPPED:
            lines.append(f"  and {len(draft.skipped) - _SKIPPED} more")
    if drafted.replaces:
        lines.append(f"with --schemas {schemas} this file stands in place of the shipped vendor {draft.name}")
    sdk = " ".join(f"--sdk {shlex.quote(root)}" for root in draft.roots)
    folder = shlex.quote(schemas)
    lines += [
        "",
        "next:",
        f"  read {shown(drafted.path)} against the vendor's documentation",
        f"  fl-gen sdk check {draft.name} --schemas {folder} {sdk}",
        f"  fl-gen backend {draft.name} --schemas {folder} {sdk}",
    ]
    return "\n".join(lines)


def _row(operation: Operation, found: Sequence[Proposal], proposals: Sequence[Proposal]) -> tuple[str, str, str, str]:
    name = operation.name + (" *" if operation.required else "")
    if found:
        one = found[0]
        verdict = "yes" if one.verified else "refused" if one.refused else "no"
        return name, _cut(" + ".join(one.functions)), f"{one.confidence:.2f}", verdict
    instead = f"strategy {operation.strategy.name}" if operation.strategy is not None else "-"
    nearest = proposals[0] if proposals and proposals[0].confidence >= LEAST else None
    if nearest is not None:
        instead += f" (nearest {' + '.join(nearest.functions)})"
    return name, _cut(instead), "", ""


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
