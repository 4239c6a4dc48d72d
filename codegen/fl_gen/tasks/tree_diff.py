"""`fl-gen diff`: what the schemas, templates and configuration of now make, against those of a git revision.

Both sides are rendered by this fl-gen. `tree_diff_disk` compares with the disk.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import data_dir
from fl_gen.tasks.tree_diff_base import snapshot_then
from fl_gen.tasks.tree_diff_build import Builder
from fl_gen.tasks.tree_diff_causes import Suspect, changed_inputs
from fl_gen.tasks.tree_diff_git import Revision, find_revision, top_of
from fl_gen.tasks.tree_diff_sides import Child, Job, Side, make_side
from fl_gen.tasks.tree_diff_tell import attribution_of, tell_meanings
from fl_gen.tasks.tree_diff_values import Status, TreeDiff, VendorSide
from fl_gen.workflow.request import Request


class DiffError(FlGenError):
    """Two states that cannot be compared."""


@dataclass(frozen=True)
class Scope:
    """What is compared: the requests of now, and the project's file that they come from, if there is one.

    `names` are the vendors that the user named; none means all.
    """

    requests: tuple[Request, ...]
    names: tuple[str, ...] = ()
    config: Path | None = None


def diff_revision(scope: Scope, name: str) -> TreeDiff:
    """Compare what the schemas, templates and configuration of the revision `name` make with what those of now make.

    Both sides are made by this fl-gen. Raises RevisionError, DiffError and what rendering raises.
    """
    revision, notes = _revision(scope, name)
    builder = Builder()
    with tempfile.TemporaryDirectory(prefix="fl-gen-diff-") as folder:
        then = snapshot_then(revision, scope.requests, scope.names, scope.config, Path(folder))
        builder.notes += then.notes
        builder.notes += notes
        now = {request.tree: request for request in scope.requests}
        with Child([Job(request, then.data) for request in then.requests.values()]) as child:
            sides = {tree: make_side(request) for tree, request in now.items()}
            made = dict(zip(then.requests, child.result(), strict=True))
        broken = {tree: text for tree, text in made.items() if isinstance(text, str)}
        if broken:
            texts = "\n".join(dict.fromkeys(broken.values()))
            raise DiffError(
                f"--base {name}: this fl-gen makes nothing of that revision's schemas and templates:\n"
                f"{texts.replace(os.path.join(folder, 'then', ''), f'{name}:')}"
            )
        before = {tree: side for tree, side in made.items() if isinstance(side, Side)}
        for tree in [*now, *(one for one in before if one not in now)]:
            old, new = before.get(tree), sides.get(tree)
            if old is not None and new is not None:
                jobs = (Job(then.requests[tree], then.data), Job(now[tree]))
                _compare(builder, jobs, old, new, Path(folder))
            elif new is not None:
                _whole(builder, new, "created", name)
            elif old is not None:
                _whole(builder, old, "removed", name)
    return builder.finish(name, revision.commit)


def _revision(scope: Scope, name: str) -> tuple[Revision, list[str]]:
    """The revision in the repository of the project, else in that of fl-gen's own checkout, and then a note on that."""
    place = scope.config.parent if scope.config is not None else next((r.output for r in scope.requests), Path())
    while not place.is_dir() and place != place.parent:  # an output folder that nobody has made yet
        place = place.parent
    if top_of(place) is None and not _has_git(place):
        own = top_of(data_dir())
        if own is not None and own == Path(os.path.realpath(data_dir())):
            note = f"there is no git repository here: {name} is one of fl-gen's own checkout"
            return find_revision(own, name), [note]
    return find_revision(place, name), []


def _has_git(folder: Path) -> bool:
    """Whether a person means the folder to be in a repository, be it one that git cannot use."""
    whole = Path(os.path.abspath(folder))
    return any(os.path.lexists(one / ".git") for one in (whole, *whole.parents))


def _compare(builder: Builder, jobs: tuple[Job, Job], old: Side, new: Side, folder: Path) -> None:
    """Both sides of one vendor, rendered."""
    inputs = changed_inputs(old, new)
    changed = [path for path in sorted({*old.files, *new.files}) if old.files.get(path) != new.files.get(path)]
    finder = attribution_of(builder, inputs, jobs, changed, folder).of_part
    for path in changed:
        before, after = old.files.get(path), new.files.get(path)
        status: Status = "created" if before is None else "removed" if after is None else "changed"
        template = (new if after is not None else old).sources[path][0]
        builder.file(new.vendor, path, status, template, (before, after), finder)
    tell_meanings(builder, inputs)
    same = len({*old.files, *new.files}) - len(changed)
    builder.vendor(VendorSide(new.vendor, old.about, new.about, same, None))


def _whole(builder: Builder, side: Side, status: Status, name: str) -> None:
    """A vendor that only one side has."""
    word = f"{side.vendor} is not in {name}" if status == "created" else f"{side.vendor} is only in {name}"
    what = "the vendor" if side.wheel is None else "the package"
    suspect = Suspect("unknown", f"{what} {word}", "added" if status == "created" else "removed")
    for path in side.files:
        texts = (None, side.files[path]) if status == "created" else (side.files[path], None)
        builder.file(side.vendor, path, status, side.sources[path][0], texts, lambda *_: ([suspect], "exact"))
    builder.vendor(VendorSide(side.vendor, None if status == "created" else side.about, side.about, 0, word))
