"""Errors of the headers themselves: which file, what clang says, and what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fl_gen.schema.location import Location

from .clang import Message, Parsed
from .items import HeaderFault, SdkHeaderError
from .unit import MAIN_FILE, Unit

_MOST = 5  # faults shown; the first is nearly always the cause of the rest
_MISSING = re.compile(r"'([^']+)' file not found")


class HeaderTrouble(Exception):
    """The headers did not parse with one set of compiler headers."""

    def __init__(self, messages: Sequence[Message], unit: Unit, parsed: Parsed) -> None:
        super().__init__(messages[0].text)
        faults = []
        for message in messages[:_MOST]:
            place = message.place
            if place.file == MAIN_FILE:
                header = unit.include_at(place.offset) or unit.includes.get(0, "the SDK")
                # A header that leaves something open is noticed at the end only; a note tells where it was opened.
                opened = [Location(p.file, p.line, p.column) for p, _ in message.notes if p.file not in ("", MAIN_FILE)]
                faults.append(HeaderFault(opened[0] if opened else Location(header), message.text))
                continue
            includers = parsed.includers(place.file)
            chain = tuple(Location(file, max(1, line)) for file, line in includers if file not in ("", MAIN_FILE))
            where = Location(place.file or "the SDK", max(1, place.line), max(1, place.column))
            faults.append(HeaderFault(where, message.text, chain))
        # A header without an include guard is read, and refused, once for each header that includes it.
        self.faults = tuple({(fault.location, fault.text): fault for fault in reversed(faults)}.values())[::-1]
        self.count = len(messages)

    @property
    def missing(self) -> str | None:
        """The header that was not found, if that is what went wrong."""
        for fault in self.faults:
            match = _MISSING.search(fault.text)
            if match:
                return match.group(1)
        return None


def header_error(troubles: Sequence[HeaderTrouble], folders: Sequence[str]) -> SdkHeaderError:
    """The error to show: of all sets of compiler headers that were tried, the one that came furthest."""
    best = min(troubles, key=lambda one: (one.missing is not None and _standard(one.missing), one.count))
    searched = ", ".join(folders) or "no folder"
    missing = best.missing
    if missing is None:
        remedy = "repair or complete the SDK's headers, or name another SDK with --sdk; nothing was checked"
    elif _standard(missing):
        remedy = f"install a C++ compiler: the SDK's headers include <{missing}>, which none on this machine provides"
    else:
        remedy = f"name a complete SDK with --sdk, or give the folder that holds {missing} too (looked in {searched})"
    return SdkHeaderError(best.faults, remedy)


def _standard(header: str) -> bool:
    """Whether a header's name is one of the C++ library's, or of the C library's or the system's."""
    folder, _, name = header.rpartition("/")
    return ("." not in name and folder in ("", "experimental")) or folder in ("sys", "bits", "linux", "asm")
