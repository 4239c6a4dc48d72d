"""Keeps the answer of a `regen` that has nothing to do, while neither its inputs nor its outputs change."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fl_gen.tasks.kept import Inputs

if TYPE_CHECKING:
    from fl_gen.tasks.regen import Outcome
    from fl_gen.workflow.project import ProjectFile


def state_of(project: ProjectFile, outcomes: Sequence[Outcome]) -> Inputs | None:
    """All that a run depends on and all that it made; None when the next run may have something to do, or to say.

    The trees are taken as they were written, not as they are: a file that was changed meanwhile makes the answer void.
    """
    from fl_gen.output.plan import Action

    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    variables: dict[str, str | None] = {}
    for one in outcomes:
        if one.created or one.plan.paths(Action.KEPT, Action.MERGED):
            return None
        files |= one.rendered.inputs.files
        folders |= one.rendered.inputs.folders
        variables |= one.rendered.inputs.variables
        for path, text in one.plan.files.items():
            digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
            files[os.path.join(one.request.generated, path)] = digest
    own = [os.fspath(project.path)]
    if project.project.licence is not None:
        own.append(os.path.join(project.folder, project.project.licence))
    # What a killed run leaves stands beside the trees.
    beside = [os.path.join(project.output, part) for part in ("generated", "backends")]
    extra = Inputs.of(own, beside, ())
    return Inputs({**files, **extra.files}, {**folders, **extra.folders}, variables)
