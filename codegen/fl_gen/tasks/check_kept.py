"""Keeps the answer of a `check` that found nothing, while neither the trees nor what they are made from change."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fl_gen.tasks.kept import Inputs

if TYPE_CHECKING:
    from fl_gen.tasks.tree_check import TreeCheck
    from fl_gen.workflow.project import ProjectFile

_MOST_FILES = 20_000
_LARGEST = 16 << 20  # bytes of one file: reading it each time would cost more than it saves


def trees_before(project: ProjectFile, vendors: Sequence[str]) -> Inputs | None:
    """All that is below generated/ and backends/ of `vendors`, all when there are none, and the project's own files.

    Taken before they are looked at, and held against them once more afterwards. None when there is too much.
    """
    files = [os.fspath(path) for path in project.own_files]
    parents = [os.path.join(project.output, part) for part in ("generated", "backends")]
    folders = list(parents)
    for name in vendors or project.project.vendors:
        for parent in parents:
            for folder, _, names in os.walk(os.path.join(parent, name)):
                folders.append(folder)
                files += [os.path.join(folder, one) for one in names]
                if len(files) > _MOST_FILES:
                    return None
    try:
        if any(os.path.getsize(path) > _LARGEST for path in files):
            return None
    except OSError:
        return None  # a link that leads nowhere, or a file that has just gone
    return Inputs.of(files, folders, ())


def state_of(before: Inputs, check: TreeCheck) -> Inputs | None:
    """`before` with what the trees are made from; None when something was found, not everything was rendered, or a file
    changed meanwhile: nobody knows which of its states was compared."""
    if check.exit_code or len(check.rendered) != len(check.vendors) or not before.hold():
        return None
    files, folders = dict(before.files), dict(before.folders)
    variables: dict[str, str | None] = {}
    for one in check.rendered:
        files = {**one.inputs.files, **files}
        folders = {**one.inputs.folders, **folders}
        variables |= one.inputs.variables
    return Inputs(files, folders, variables)
