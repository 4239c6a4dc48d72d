"""What a build sees of a run that it started."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fl_gen.output.plan import Action, Plan
from fl_gen.schema.paths import shown
from fl_gen.workflow.request import Request


def build_text(request: Request, plan: Plan, created: Sequence[str]) -> str:
    """What changed on disk, a line each for generated/ and backends/, and a line for each file with conflicts."""
    counts: Counter[Action] = Counter(entry.action for entry in plan.entries if entry.action is not Action.IDENTICAL)
    lines = []
    if counts:
        verbs = ", ".join(f"{counts[action]} {action.value}" for action in Action if counts[action])
        lines.append(f"fl-gen: {shown(request.generated)}: {verbs}\n")
    if created:
        lines.append(f"fl-gen: {shown(request.backends)}: created {', '.join(created)}\n")
    for path, count in plan.conflicts.items():
        places = f"{count} conflict{'' if count == 1 else 's'}"
        lines.append(f"fl-gen: {shown(plan.folder / path)}: {places} to resolve\n")
    return "".join(lines)
