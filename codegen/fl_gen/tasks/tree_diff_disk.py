"""`fl-gen diff` against the disk.

The manifest says what the tree was made from. When that can be rendered again (with the SDK that it names, or with
schemas and templates of git's history), and gives exactly the recorded files, causes are as precise as against a
revision; else they are the kinds of input whose digests differ.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from fl_gen import __version__
from fl_gen.output.base import Bases
from fl_gen.output.manifest import MANIFEST_NAME, Manifest, digest, load
from fl_gen.output.plan import Action
from fl_gen.output.transaction import require_settled
from fl_gen.schema.paths import data_dir, shown
from fl_gen.tasks.regen import orphans
from fl_gen.tasks.tree_diff import Scope
from fl_gen.tasks.tree_diff_base import Snapshot, Then, take
from fl_gen.tasks.tree_diff_build import Builder, Finder
from fl_gen.tasks.tree_diff_causes import (
    Suspect,
    changed_inputs,
    formatter_suspect,
    same_but_blanks,
    wheel_suspect,
)
from fl_gen.tasks.tree_diff_git import Revision, RevisionError, find_revision, last_commit, top_of
from fl_gen.tasks.tree_diff_hunks import Part, lines_of, parts_of
from fl_gen.tasks.tree_diff_sides import Child, Job, Side, attempt, formatters, make_side
from fl_gen.tasks.tree_diff_tell import attribution_of, tell_meanings
from fl_gen.tasks.tree_diff_values import Certainty, Status, TreeDiff, VendorSide
from fl_gen.workflow.generate import plan_files
from fl_gen.workflow.request import Request, is_simulated


def diff_disk(scope: Scope) -> TreeDiff:
    """Compare what is below generated/ with what a regenerate would make. Raises what rendering and planning raise."""
    builder = Builder()
    with tempfile.TemporaryDirectory(prefix="fl-gen-diff-") as folder:
        for request in scope.requests:
            require_settled(request.output)
            _disk(builder, scope, request, Path(folder))
    if scope.config is not None and not scope.names:
        for output, framework in dict.fromkeys((request.output, request.framework) for request in scope.requests):
            for name in orphans(output, [request.tree for request in scope.requests], framework):
                place, config = shown(output / "generated" / name), shown(scope.config)
                builder.notes.append(
                    f"{place} was made for a vendor that {config} does not name: fl-gen regen --prune removes it"
                )
    return builder.finish("disk", None)


@dataclass(frozen=True)
class _Recorded:
    """What made the tree on the disk, rendered again."""

    job: Job
    side: Side


def _disk(builder: Builder, scope: Scope, request: Request, folder: Path) -> None:
    new = make_side(request)
    manifest = load(request.generated)
    plan = plan_files(request, {**new.files, MANIFEST_NAME: new.record})
    changed = [e for e in plan.entries if e.action is not Action.IDENTICAL and e.path != MANIFEST_NAME]
    find: Finder
    recorded = None
    note = None
    if manifest is None:
        nothing = Suspect("unknown", f"nothing is generated in {shown(request.generated)} yet", "added")
        find = _always([nothing])
    elif changed or MANIFEST_NAME not in plan.paths(Action.IDENTICAL):
        recorded = _recorded(scope, request, manifest, new, folder)
        if recorded is None:
            suspects = _kinds(manifest, new, request)
            builder.blind(request.tree, suspects)
            find = _by_kind(suspects)
            release = _lost_wheel(manifest, new)
            note = "what made the tree on the disk"
            if release is not None and _wheel_of(request, release) is None:
                note = f"PyTorch {release}, which made the tree on the disk,"
            note += " is not at hand: causes are known by their kind only"
        else:
            inputs = changed_inputs(recorded.side, new)
            paths = [entry.path for entry in changed]
            find = attribution_of(builder, inputs, (recorded.job, Job(request)), paths, folder).of_part
            tell_meanings(builder, inputs)
    else:
        find = _always([])
    for entry in changed:
        _disk_file(builder, request, entry.path, entry.action, new, manifest, recorded, find)
    if plan.paths(Action.UPDATE, Action.CREATE).count(MANIFEST_NAME):
        status: Status = "created" if manifest is None else "changed"
        text = _record_note(manifest, new)
        builder.file(request.tree, MANIFEST_NAME, status, None, (None, None), find, text)
    same = len(plan.paths(Action.IDENTICAL))
    builder.vendor(VendorSide(request.tree, _about_before(manifest, new), new.about, same, note))


def _about_before(manifest: Manifest | None, new: Side) -> str | None:
    if manifest is None:
        return None
    sdk = new.sdk if dict(manifest.sdk) == json.loads(new.record)["sdk"] else _sdk_words(manifest)
    release = manifest.inputs.get("torch")
    return sdk if release is None else f"{sdk}, PyTorch {release}"


def _lost_wheel(manifest: Manifest, new: Side) -> str | None:
    """The release of PyTorch that a tree is for, if it is not that of now."""
    release = manifest.inputs.get("torch")
    return release if new.wheel is not None and release not in (None, new.wheel[0]) else None


def _wheel_of(request: Request, release: str) -> Path | None:
    """Another PyTorch of this machine: that of a release."""
    from fl_gen.sdk.wheel import find_release

    return find_release(request.torch, release)


def _record_note(manifest: Manifest | None, new: Side) -> str:
    """What of the manifest is another."""
    text = "the record of what made the tree"
    if manifest is None:
        return text
    now = json.loads(new.record)
    keys = sorted({*manifest.inputs, *now["inputs"]})
    names = [key for key in keys if manifest.inputs.get(key) != now["inputs"].get(key)]
    names += ["SDK"] if dict(manifest.sdk) != now["sdk"] else []
    names += ["generator"] if manifest.generator != now["generator"] else []
    before = [{"kind": one.kind, "path": one.path, "sha256": one.sha256} for one in manifest.overlays]
    # An overlay that is equal to what it lies over changes nothing else.
    names += ["overlays"] if not names and before != now.get("overlays", []) else []
    return f"{text}: {', '.join(names)}" if names else text


def _sdk_words(manifest: Manifest) -> str:
    kind = "simulated " if manifest.sdk.get("simulated") else ""
    return f"{kind}{manifest.sdk.get('name', 'SDK')} {manifest.sdk.get('version') or 'of unknown version'}"


_STATUS: Mapping[Action, Status] = {
    Action.CREATE: "created",
    Action.UPDATE: "changed",
    Action.STALE: "removed",
    Action.EDITED: "edited",
    Action.CONFLICT: "conflict",
    Action.KEPT: "kept",
}


def _disk_file(
    builder: Builder,
    request: Request,
    path: str,
    action: Action,
    new: Side,
    manifest: Manifest | None,
    recorded: _Recorded | None,
    find: Finder,
) -> None:
    source = new.sources.get(path)
    record = manifest.files.get(path) if manifest is not None else None
    template = source[0] if source is not None else record.template if record is not None else None
    after = new.files.get(path)
    if action is Action.KEPT:
        builder.file(request.tree, path, "kept", template, (None, None), find, "a person's version, which stays")
        return
    before = None
    if action is Action.CREATE and record is not None:
        find = _always([Suspect("hand-edit", shown(request.generated / path), "removed")])
    if action is not Action.CREATE:
        before = (request.generated / path).read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    if action in (Action.EDITED, Action.CONFLICT):
        base = None
        if record is not None:
            base = recorded.side.files.get(path) if recorded is not None else None
            base = base if base is not None else Bases(request.generated).find(path, record.sha256)
        find = _hand_edits(Suspect("hand-edit", shown(request.generated / path), "changed"), base, after, find)
    builder.file(request.tree, path, _STATUS[action], template, (before, after), find)


def _hand_edits(edit: Suspect, base: str | None, after: str | None, find: Finder) -> Finder:
    """Tells a person's hunks from fl-gen's, by what fl-gen changed since the text that the person began with."""
    own = parts_of(lines_of(base), lines_of(after)) if base is not None else []
    keys = {part.key: part for part in own}
    lines = {line for part in own for line in (*part.added, *part.removed) if line.strip()}

    def found(path: str, part: Part) -> tuple[list[Suspect], Certainty]:
        if part.key in keys:
            return find(path, keys[part.key])
        if base is not None and not lines & {*part.added, *part.removed}:
            return [edit], "exact"
        if base is None:
            return [edit], "likely"
        return [edit, *find(path, part)[0]], "one-of"

    return found


def _always(suspects: list[Suspect]) -> Finder:
    return lambda path, part: (suspects, "exact")


def _kinds(manifest: Manifest, new: Side, request: Request) -> list[Suspect]:
    """The kinds of input that the manifest and a regenerate do not have in common."""
    now = json.loads(new.record)
    found = []
    if manifest.generator != __version__:
        found.append(Suspect("generator", f"fl-gen {manifest.generator} -> {__version__}", "changed"))
    for key, kind, title in (("schemas", "node", "the schemas"), ("templates", "template", "the templates")):
        if manifest.inputs.get(key) != now["inputs"].get(key):
            found.append(Suspect(kind, title, "changed"))  # type: ignore[arg-type]
    if dict(manifest.sdk) != now["sdk"]:
        before = _sdk_words(manifest)
        found.append(Suspect("sdk", f"{before} -> {new.sdk}", "changed"))
    release = _lost_wheel(manifest, new)
    if release is not None and new.wheel is not None:
        found.append(wheel_suspect(release, new.wheel[0]))
    old_format, new_format = formatters(manifest.inputs), formatters(now["inputs"])
    if old_format != new_format:
        found.append(formatter_suspect(old_format, new_format))
    if manifest.inputs.get("licence") != now["inputs"].get("licence"):
        found.append(Suspect("licence", "the licence header", "changed"))
    if not found:
        listing = shown(request.backends / "kernels.yaml")
        found.append(Suspect("generator", f"fl-gen {__version__} itself, or {listing}", "changed"))
    return found


def _by_kind(suspects: list[Suspect]) -> Finder:
    formatter = [one for one in suspects if one.kind == "formatter"]

    def found(path: str, part: Part) -> tuple[list[Suspect], Certainty]:
        if len(suspects) == 1:
            return suspects, "exact"
        if formatter and same_but_blanks(part):
            return formatter, "likely"
        return suspects, "one-of"

    return found


def _recorded(scope: Scope, request: Request, manifest: Manifest, new: Side, folder: Path) -> _Recorded | None:
    """Render what the manifest records: with the inputs of now, then with those of git's history."""
    if _makes(new, manifest):
        return _Recorded(Job(request), new)
    old = replace(request, formatted=manifest.inputs.get("clang-format") != "none")
    if "licence" not in manifest.inputs:
        old = replace(old, licence=None)
    if is_simulated(request.sdk) and manifest.sdk.get("simulated") and manifest.sdk.get("version"):
        old = replace(old, sdk=(f"sim:{manifest.sdk['version']}",))
    release = _lost_wheel(manifest, new)
    if release is not None:
        wheel = _wheel_of(request, release)
        if wheel is None:
            return None  # no other input makes these files with another wheel: they name its release
        old = replace(old, torch=wheel)
    if old != request:
        side = attempt(old)
        if isinstance(side, Side) and _makes(side, manifest):
            return _Recorded(Job(old), side)
    for then in _history(scope, request, old, folder):
        again = then.requests.get(request.tree)
        if again is None:
            continue
        job = Job(again, then.data)
        with Child([job]) as child:
            side = child.result()[0]
        if isinstance(side, Side) and _makes(side, manifest):
            return _Recorded(job, side)
    return None


def _history(scope: Scope, request: Request, old: Request, folder: Path) -> list[Then]:
    """The inputs at the last commit, and at the last one that changed the manifest."""
    try:
        tops = [top for top in (top_of(_near(request.generated)), top_of(data_dir())) if top is not None]
        if not tops:
            return []
        top = tops[0]
        place = Path(os.path.realpath(request.generated / MANIFEST_NAME))
        names = ["HEAD"]
        if place.is_relative_to(top):
            found = last_commit(top, place.relative_to(top).as_posix())
            names += [found] if found is not None else []
        commits: dict[str, Revision] = {}
        for name in names:
            revision = find_revision(top, name)
            commits.setdefault(revision.commit, revision)
        return [take(Snapshot(one, Path(tempfile.mkdtemp(dir=folder))), (old,)) for one in commits.values()]
    except RevisionError:
        return []  # no git, no commit yet: then the causes are told by kind


def _near(path: Path) -> Path:
    while not path.is_dir() and path != path.parent:
        path = path.parent
    return path


def _makes(side: Side, manifest: Manifest) -> bool:
    """Whether a side is exactly what the manifest records."""
    return side.files.keys() == manifest.files.keys() and all(
        digest(text) == manifest.files[path].sha256 for path, text in side.files.items()
    )
