"""What `fl-gen regen` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fl_gen import __version__
from fl_gen.output.plan import Action, Plan
from fl_gen.report.work_text import work_text
from fl_gen.schema.paths import shown
from fl_gen.tasks.regen import Outcome


def regen_text(outcomes: Sequence[Outcome]) -> str:
    """A line for each vendor: its SDK, and how many files became what."""
    width = max((len(one.request.vendor) for one in outcomes), default=0)
    lines = []
    for one in outcomes:
        vendor = f"{one.request.vendor:<{width}}"
        if not one.plan.changes and not one.created:
            lines.append(unchanged_line(vendor, len(one.plan.entries)))
            continue
        lines.append(f"{vendor}  {one.rendered.title}: {_counts(one.plan)}{work_text(one.rendered.work)}")
        if one.created:
            lines.append(f"{'':<{width}}  yours, in {shown(one.request.backends)}: created {', '.join(one.created)}")
        for path, count in one.plan.conflicts.items():
            places = f"{count} conflict{'' if count == 1 else 's'}"
            lines.append(f"{'':<{width}}  {shown(one.plan.folder / path)}: {places} to resolve")
    return "\n".join(lines)


def pruned_text(plan: Plan, output: Path) -> str:
    """That the tree of a vendor went, and what of that vendor did not."""
    name = plan.folder.name
    own = output / "backends" / name
    stays = f"; {shown(own)} is yours and stays" if own.is_dir() else ""
    kept = plan.paths(Action.KEPT)
    lines = "".join(f"\n{'':<{len(name)}}  kept {shown(plan.folder / path)}, which you edited" for path in kept)
    return f"{name}: removed {len(plan.entries) - len(kept)} files from {shown(plan.folder)}{stays}{lines}"


def version_text(path: Path, pinned: str) -> str:
    """What an upgrade writes into the project's file, as a line; nothing when it names this fl-gen."""
    return f"{shown(path)}: generator: {pinned} -> {__version__}\n" if pinned != __version__ else ""


def unchanged_text(outcomes: Sequence[Outcome]) -> str:
    """What the next run prints when nothing changes until then."""
    width = max((len(one.request.vendor) for one in outcomes), default=0)
    return "\n".join(
        unchanged_line(f"{one.request.vendor:<{width}}", sum(e.path in one.plan.files for e in one.plan.entries))
        for one in outcomes
    )


def unchanged_line(vendor: str, files: int) -> str:
    return f"{vendor}  {files} files, nothing to do"


def _counts(plan: Plan) -> str:
    counts = Counter(entry.action for entry in plan.entries)
    return ", ".join(f"{counts[action]} {action.value}" for action in Action if counts[action])
