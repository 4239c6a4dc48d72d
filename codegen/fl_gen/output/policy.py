"""What a run does with files below generated/ that a person changed."""

from __future__ import annotations

import enum


class Policy(enum.Enum):
    """A person's decision about hand edits; without one a run that would lose an edit is refused."""

    REFUSE = "refuse"
    OVERWRITE = "overwrite"  # the edit goes
    KEEP = "keep"  # the file stays as it is, and the manifest remembers that
    MERGE = "merge"  # three-way, with conflict markers where both sides changed the same lines
