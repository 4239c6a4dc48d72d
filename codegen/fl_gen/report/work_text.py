"""How much of a run was work."""

from __future__ import annotations

from fl_gen.render.tree import Work


def work_text(work: Work) -> str:
    """How little of the tree had to be made, to put behind its counts; nothing when all of it was."""
    if not work.incremental:
        return ""
    return f" ({work.rendered} of {work.files} files rendered, {work.formatted} formatted)"
