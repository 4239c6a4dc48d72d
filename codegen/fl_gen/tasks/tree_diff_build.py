"""Puts a tree diff together: files with their hunks, the causes of all vendors, hunks that are the same folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fl_gen import __version__
from fl_gen.tasks.tree_diff_causes import Suspect
from fl_gen.tasks.tree_diff_events import Event
from fl_gen.tasks.tree_diff_hunks import Part, lines_of, parts_of
from fl_gen.tasks.tree_diff_values import (
    Cause,
    Certainty,
    FileDiff,
    Fold,
    Hunk,
    Meaning,
    Spot,
    Status,
    TreeDiff,
    VendorSide,
)

Finder = Callable[[str, Part], tuple[list[Suspect], Certainty]]

_ORDER = ("hand-edit", "node", "native", "template", "sdk", "wheel", "generator", "formatter", "licence", "unknown")


@dataclass
class _Known:
    """What is known about one suspect, over all vendors."""

    number: int
    vendors: dict[str, None] = field(default_factory=dict)
    blind: dict[str, None] = field(default_factory=dict)  # vendors whose old model nobody has
    meanings: dict[tuple[str, str, str | None, str | None], tuple[Meaning, dict[str, None]]] = field(
        default_factory=dict
    )
    hunks: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Spot]] = field(default_factory=dict)


class Builder:
    """Takes one vendor after the other."""

    def __init__(self) -> None:
        self._suspects: dict[Suspect, _Known] = {}
        self._files: list[FileDiff] = []
        self._vendors: list[VendorSide] = []
        self.notes: list[str] = []

    def vendor(self, side: VendorSide) -> None:
        self._vendors.append(side)

    def suspect(self, suspect: Suspect, vendor: str) -> _Known:
        known = self._suspects.setdefault(suspect, _Known(len(self._suspects)))
        known.vendors[vendor] = None
        return known

    def blind(self, vendor: str, suspects: Sequence[Suspect]) -> None:
        """Say that nothing is known of what `suspects` mean for a vendor."""
        for suspect in suspects:
            self.suspect(suspect, vendor).blind[vendor] = None

    def events(self, vendor: str, events: Mapping[Suspect, Sequence[Event]]) -> None:
        """What the models of a vendor say that suspects mean."""
        for suspect, many in events.items():
            for event in many:
                self._mean(suspect, event.meaning((vendor,)), vendor)

    def _mean(self, suspect: Suspect, meaning: Meaning, vendor: str) -> None:
        known = self.suspect(suspect, vendor)
        key = (meaning.effect, meaning.subject, meaning.old, meaning.new)
        known.meanings.setdefault(key, (meaning, {}))[1][vendor] = None

    def file(
        self,
        vendor: str,
        path: str,
        status: Status,
        template: str | None,
        texts: tuple[str | None, str | None],
        find: Finder,
        note: str | None = None,
    ) -> None:
        """Add a file that is not the same: its text on both sides, and who finds the suspects of a hunk."""
        hunks: list[Hunk] = []
        added = removed = 0
        for part in parts_of(lines_of(texts[0]), lines_of(texts[1])):
            suspects, certainty = find(path, part)
            added += len(part.added)
            removed += len(part.removed)
            spot = Spot(len(self._files), len(hunks))
            numbers = []
            for suspect in suspects:
                known = self.suspect(suspect, vendor)
                known.hunks.setdefault(part.key, []).append(spot)
                numbers.append(known.number)
                if status in ("created", "removed") and suspect.kind != "unknown":
                    effect = Meaning("file added" if status == "created" else "file removed", path, None, None, ())
                    self._mean(suspect, effect, vendor)
            hunks.append(Hunk(part.rows, tuple(numbers), certainty))
        self._files.append(FileDiff(vendor, path, status, template, added, removed, tuple(hunks), note))

    def finish(self, against: str, commit: str | None) -> TreeDiff:
        """The whole. Causes stand by kind and then as they were found; files by vendor and path."""
        order = sorted(
            self._suspects.items(), key=lambda item: (not item[1].hunks, _ORDER.index(item[0].kind), item[1].number)
        )
        place = {known.number: position for position, (_, known) in enumerate(order)}
        files = tuple(
            FileDiff(
                one.vendor,
                one.path,
                one.status,
                one.template,
                one.added,
                one.removed,
                tuple(Hunk(h.rows, tuple(sorted(place[n] for n in h.causes)), h.certainty) for h in one.hunks),
                one.note,
            )
            for one in self._files
        )
        changes = any(one.status != "kept" for one in files)
        return TreeDiff(
            format=1,
            generator=f"fl-gen {__version__}",
            against=against,
            commit=commit,
            exit_code=1 if changes else 0,
            vendors=tuple(self._vendors),
            causes=tuple(_cause(suspect, known) for suspect, known in order),
            files=files,
            notes=tuple(dict.fromkeys(self.notes)),
        )


def _cause(suspect: Suspect, known: _Known) -> Cause:
    meanings = [
        Meaning(one.effect, one.subject, one.old, one.new, tuple(vendors)) for one, vendors in known.meanings.values()
    ]
    if not meanings and known.hunks:
        # A formatter and a licence change nothing else, whatever else is known of the old side.
        blind = known.blind and suspect.kind not in ("formatter", "licence")
        effect = "not known" if blind or suspect.kind in ("hand-edit", "unknown") else "text only"
        meanings.append(Meaning(effect, "", None, None, tuple(known.vendors)))  # type: ignore[arg-type]
    folds = sorted(known.hunks.values(), key=lambda spots: (-len(spots), spots[0].file, spots[0].hunk))
    return Cause(
        kind=suspect.kind,
        title=suspect.title,
        change=suspect.change,
        place=suspect.place,
        old=suspect.old,
        new=suspect.new,
        meanings=tuple(meanings),
        folds=tuple(Fold(tuple(spots)) for spots in folds),
        vendors=tuple(known.vendors),
    )
