"""What a policy makes of hand edits: kept, merged, or left for the caller to refuse or to drop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fl_gen import __version__
from fl_gen.output.base import Bases
from fl_gen.output.manifest import MANIFEST_NAME, Edit, FileRecord, Manifest, digest, digest_file, with_edits
from fl_gen.output.markers import MarkersError, marker_lines
from fl_gen.output.merge3 import merge3
from fl_gen.output.plan import Action, PlanError
from fl_gen.output.policy import Policy
from fl_gen.schema.paths import shown

LABELS = ("your version", f"fl-gen {__version__}")


@dataclass
class Decided:
    """The parts of a plan after the policy: see `Plan`."""

    actions: dict[str, Action]
    files: dict[str, str]
    conflicts: dict[str, int] = field(default_factory=dict)
    bases: dict[str, str] = field(default_factory=dict)


def decide(
    folder: Path,
    files: Mapping[str, str],
    manifest: Manifest | None,
    policy: Policy,
    actions: Mapping[str, Action],
) -> Decided:
    """Apply `policy` to what `actions` (path -> action) found. Raises PlanError and MarkersError."""
    decided = Decided(dict(actions), dict(files))
    recorded = manifest.files if manifest is not None else {}
    finder = Bases(folder)
    edits: dict[str, Edit] = {}
    if policy is not Policy.OVERWRITE:
        _refuse_markers(folder, actions)
    for path, action in sorted(actions.items()):
        if action not in (Action.EDITED, Action.CONFLICT, Action.KEPT):
            continue
        edit = _decide_one(decided, _Case(folder, path, recorded.get(path), finder), policy)
        if edit is not None:
            edits[path] = edit
    if MANIFEST_NAME in files and edits:
        text = with_edits(files[MANIFEST_NAME], edits)
        decided.files[MANIFEST_NAME] = text
        on_disk = folder / MANIFEST_NAME
        same = on_disk.is_file() and digest_file(on_disk) == digest(text)
        decided.actions[MANIFEST_NAME] = (
            Action.IDENTICAL if same else Action.UPDATE if on_disk.is_file() else Action.CREATE
        )
    return decided


@dataclass(frozen=True)
class _Case:
    """One file that a person changed."""

    folder: Path
    path: str
    record: FileRecord | None
    finder: Bases

    @property
    def base(self) -> str | None:
        """The digest of the text that the person's version descends from."""
        if self.record is None:
            return None
        return self.record.sha256 if self.record.edit is None else self.record.edit.base

    def base_text(self, new: str) -> str | None:
        if self.base is None:
            return None
        return new if self.base == digest(new) else self.finder.find(self.path, self.base)


def _decide_one(decided: Decided, case: _Case, policy: Policy) -> Edit | None:
    """Settle one hand edit in `decided`; its decision for the manifest, None where there is none."""
    path, action = case.path, decided.actions[case.path]
    if path not in decided.files:  # no template makes it any more
        if policy in (Policy.KEEP, Policy.MERGE):
            # From now on it is a file of the person's own, which the manifest does not name.
            decided.actions[path] = Action.KEPT
            if policy is Policy.MERGE:
                decided.conflicts[path] = 1
        return None
    new = decided.files[path]
    if policy is Policy.MERGE:
        return _merge(decided, case, new)
    if policy is not Policy.KEEP and action is not Action.KEPT:
        return None
    decided.actions[path] = Action.KEPT
    base = case.base_text(new)
    if base is not None:
        decided.bases[path] = base
    decision = case.record.edit.decision if case.record is not None and case.record.edit is not None else "keep"
    return Edit(decision, case.base)


def _merge(decided: Decided, case: _Case, new: str) -> Edit | None:
    path = case.folder / case.path
    data = path.read_bytes()
    if b"\0" in data:
        raise PlanError(f"{shown(path)}: this is no text and cannot be merged: use --keep or --overwrite")
    yours = data.decode("utf-8", "surrogateescape")
    merged = merge3(case.base_text(new), yours, new, LABELS)
    if merged.conflicts:
        decided.conflicts[case.path] = merged.conflicts
    if merged.text == yours:
        decided.actions[case.path] = Action.KEPT
    else:
        decided.actions[case.path] = Action.MERGED
        decided.files[case.path] = merged.text
    if digest(merged.text) == digest(new):
        return None
    decided.bases[case.path] = new
    return Edit("merge", digest(new))


def _refuse_markers(folder: Path, actions: Mapping[str, Action]) -> None:
    """A merge that nobody finished is not built on, and not merged again."""
    places = []
    for path, action in sorted(actions.items()):
        if action in (Action.EDITED, Action.CONFLICT, Action.KEPT):
            file = folder / path
            places += [f"{shown(file)}:{line}" for line in marker_lines(file.read_bytes())]
    if places:
        raise MarkersError(places)
