"""What `fl-gen check` prints."""

from __future__ import annotations

from fl_gen.schema.errors import cut, one_line, printable
from fl_gen.tasks.tree_check import KINDS, TreeCheck, VendorCheck

_MOST_LINES = 400  # of all diffs together
_MOST_FILES = 60  # of one kind and vendor
_MOST_WIDE = 300  # characters of one line of a diff
_COLOURS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_OFF = "\x1b[0m"


def check_text(check: TreeCheck, colour: bool = False) -> str:
    """A line for each finding, the differences, and the commands that mend it."""
    lines: list[str] = []
    room = _MOST_LINES
    for one in check.vendors:
        lines += _findings(one)
    for one in check.vendors:
        for finding in one.findings:
            if not finding.diff:
                continue
            if room <= 0:
                break
            shown = finding.diff[:room]
            room -= len(shown)
            more = finding.cut + len(finding.diff) - len(shown)
            lines += ["", *(_coloured(printable(cut(line, _MOST_WIDE)), colour) for line in shown)]
            if more:
                lines.append(f"… {more} more lines of this file differ")
    if room <= 0:
        lines += ["", f"… only {_MOST_LINES} lines of differences are shown"]
    mend = _commands(check)
    if mend:
        lines += ["", "to mend it:", *(f"  {printable(command)}" for command in mend)]
    return "\n".join(lines) + "\n"


def _commands(check: TreeCheck) -> list[str]:
    """What to run: commands that differ in the vendor alone are one."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in check.vendors:
        for mend in one.mend:
            vendors = found.setdefault((mend.before, mend.after), [])
            if mend.vendor not in vendors:
                vendors.append(mend.vendor)
    return [f"{before}{' '.join(vendors)}{after}" for (before, after), vendors in found.items()]


def _findings(one: VendorCheck) -> list[str]:
    lines = []
    count = f"{one.files} file{'' if one.files == 1 else 's'}"
    kept = f", {one.kept} of them edited and kept as you decided" if one.kept else ""
    if one.digests is not None:
        lines.append(f"{one.vendor}: only digests of {count} were compared: {one.digests}")
    elif not one.findings:
        lines.append(f"{one.vendor}: {count} as fl-gen makes them{kept}")
    for kind, meaning in KINDS.items():
        of = [finding for finding in one.findings if finding.kind == kind]
        for finding in of[:_MOST_FILES]:
            note = f": {finding.note}" if finding.note else ""
            lines.append(f"{one.vendor}: {one_line(finding.path)} {meaning}{note}")
        if len(of) > _MOST_FILES:
            lines.append(f"{one.vendor}: … and {len(of) - _MOST_FILES} more of these")
    return lines


def _coloured(line: str, colour: bool) -> str:
    sign = _COLOURS.get(line[:1]) if colour else None
    return f"{sign}{line}{_OFF}" if sign else line
