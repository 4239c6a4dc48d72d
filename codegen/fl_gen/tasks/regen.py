"""Regenerates several vendors: all of them, or none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fl_gen.output.manifest import MANIFEST_NAME, ManifestError, load
from fl_gen.output.plan import Action, Entry, Plan, kind_of, signature
from fl_gen.output.policy import Policy
from fl_gen.tasks.render_many import Rendered, render_many
from fl_gen.workflow.generate import plan_files, require_decided
from fl_gen.workflow.request import Request, tree_of


@dataclass(frozen=True)
class Outcome:
    """What was done for one vendor: the plan that was published, and once-files that were made or left alone."""

    rendered: Rendered
    plan: Plan
    created: tuple[str, ...]
    kept: tuple[str, ...]

    @property
    def request(self) -> Request:
        return self.rendered.request


def regenerate(requests: Sequence[Request], policy: Policy = Policy.REFUSE, jobs: int = 1) -> tuple[Outcome, ...]:
    """Make the trees of all `requests`, in their order. Everything is rendered before anything is written.

    Raises RenderError with what stops any of them, EditedError when a hand edit would be lost, PublishError when a
    folder cannot be written: then no tree is changed. A kill between two swaps leaves a journal, by which the next run
    puts the old trees back before it begins.
    """
    return publish_rendered(render_many(requests, jobs), policy)


def publish_rendered(rendered: Sequence[Rendered], policy: Policy) -> tuple[Outcome, ...]:
    """The second half of `regenerate`."""
    from fl_gen.output.once import staged_once
    from fl_gen.output.publish import publish_all
    from fl_gen.output.transaction import held

    with contextlib.ExitStack() as stack:
        for output in sorted({os.path.realpath(one.request.output) for one in rendered}):
            stack.enter_context(held(Path(output)))  # in one order, so that two runs cannot wait for each other
        plans = [plan_files(one.request, one.files, policy) for one in rendered]
        require_decided([(one.request, plan) for one, plan in zip(rendered, plans, strict=True)], policy)
        places = [stack.enter_context(staged_once(one.request.backends, one.once)) for one in rendered]
        publish_all(plans)
        results = [place() for place in places]
    return tuple(
        Outcome(one, plan, tuple(created), tuple(kept))
        for one, plan, (created, kept) in zip(rendered, plans, results, strict=True)
    )


def orphans(output: Path, trees: Sequence[str], framework: str | None = None) -> tuple[str, ...]:
    """Folders below generated/ that fl-gen made and that are none of `trees`, sorted; of `framework` alone if given."""
    folder = output / "generated"
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False))
    except OSError:
        return ()
    return tuple(
        name
        for name in names
        if not name.startswith(".")
        and name not in trees
        and os.path.lexists(folder / name / MANIFEST_NAME)
        and framework in (None, _framework_of(folder / name, framework))
    )


def _framework_of(folder: Path, wanted: str | None) -> str | None:
    """The framework that a tree is for; `wanted` when its manifest cannot tell."""
    try:
        manifest = load(folder) if wanted is not None else None
    except ManifestError:
        return wanted
    return manifest.framework if manifest is not None else wanted


def prune(output: Path, names: Sequence[str], policy: Policy) -> tuple[Plan, ...]:
    """Remove what fl-gen wrote into the folders `names` of `orphans`; what it did not write stays, and so do files that
    a person edited and decided to keep.

    Raises EditedError for hand edits about which nobody decided, and PublishError.
    """
    from fl_gen.output.publish import publish_all
    from fl_gen.output.transaction import held

    with held(output):
        plans = prune_plans(output, names, policy)
        publish_all(plans)
        for plan in plans:
            _remove_empty(plan.folder)
    return plans


def require_prunable(output: Path, names: Sequence[str], policy: Policy) -> None:
    """Raises what would stop `prune`, for a run that has something else to write before."""
    from fl_gen.output.transaction import held

    with held(output):
        prune_plans(output, names, policy)


def prune_plans(output: Path, names: Sequence[str], policy: Policy) -> tuple[Plan, ...]:
    """What `prune` would remove. Raises EditedError as it does."""
    plans = []
    for name in names:
        request = Request(vendor=name, output=output)
        manifest = load(output / "generated" / name)
        if manifest is None:
            continue
        if tree_of(manifest.vendor, manifest.framework) == name:
            request = replace(request, vendor=manifest.vendor, framework=manifest.framework)
        # There is nothing of fl-gen's to merge with: what a person wrote stays as it is.
        plan = plan_files(request, {}, Policy.KEEP if policy is Policy.MERGE else policy)
        plans.append((request, plan))
    require_decided(plans, policy)
    return tuple(_with_manifest(plan) for _, plan in plans)


def _with_manifest(plan: Plan) -> Plan:
    """The plan with the removal of the manifest, which names all files but itself."""
    seen = {**plan.seen, MANIFEST_NAME: signature(plan.folder / MANIFEST_NAME)}
    return replace(plan, entries=(*plan.entries, Entry(Action.STALE, MANIFEST_NAME)), seen=seen)


def _remove_empty(folder: Path) -> None:
    """Remove a vendor's folder that holds nothing but fl-gen's own records."""
    from fl_gen.output.manifest import RECORD_FOLDER

    for name in (".gitignore", "written.json"):
        with contextlib.suppress(OSError):
            (folder / RECORD_FOLDER / name).unlink()
    for path in (folder / RECORD_FOLDER / "base", folder / RECORD_FOLDER, folder):
        if os.path.lexists(path) and kind_of(path) == "folder":
            with contextlib.suppress(OSError):
                path.rmdir()  # which fails, as it should, when something is in it
