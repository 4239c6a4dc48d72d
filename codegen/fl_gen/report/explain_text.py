"""An explanation for people."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from fl_gen.output.merge3 import MIDDLE, THEIRS, YOURS
from fl_gen.schema.errors import cut, printable
from fl_gen.schema.paths import data_dir
from fl_gen.tasks.explain_values import ExplainedLine, Explanation, SchemaPlace, SdkPlace

_MOST_CONDITIONS = 6  # of one line; JSON has them all
_MOST_INSTEAD = 12
_MOST_LISTED = 40  # nodes of a whole file
_OWN = "<fl-gen>"
_WHOLE = "(the whole file)"  # the path of a node that is a file
_WIDE = 400  # characters of a line of the file; JSON has them all
_TEXT_WIDTH = 100  # characters of C++ from a schema
_STATES = {
    "current": "as fl-gen makes it now",
    "edited": "changed by hand since fl-gen wrote it",
    "outdated": "as fl-gen made it earlier: its schemas, templates, SDK or formatter have changed since",
}
_CONFLICT = "a mark of a conflict that --merge left: choose between the sides, and delete it"
_MADE = {
    "marker": "fl-gen puts this line above every file",
    "yours": "you wrote this line: it is not fl-gen's",
    "outdated": "an earlier run of fl-gen made this line; now it would not",
}


def explain_text(explanation: Explanation) -> str:
    """What is known of each line, or of the file as a whole, with a final newline."""
    lines = [f"{explanation.file}: {_STATES[explanation.state]}"]
    if explanation.ownership == "once":
        lines[0] = (
            f"{explanation.file}: made once, and yours since then; it is compared with what fl-gen would make now"
        )
    if explanation.whole:
        lines += _whole(explanation)
    else:
        for line in explanation.lines:
            lines += ["", *_line(explanation, line)]
    if any(_OWN in line for line in lines):
        lines += ["", f"{_OWN} is {data_dir()}"]
    return printable("\n".join(lines)).rstrip("\n") + "\n"


def _short(file: str) -> str:
    """A path; one of fl-gen's own, when that is installed elsewhere, without the folder that all of them begin with."""
    root = f"{data_dir()}{os.sep}"
    return f"{_OWN}/{file.removeprefix(root)}" if file.startswith(root) else file


def _line(explanation: Explanation, line: ExplainedLine) -> Iterable[str]:
    yield f"{explanation.file}:{line.number}: {cut(line.text.strip(), _WIDE)}"
    if line.made == "yours" and (line.text.startswith((YOURS, THEIRS)) or line.text.strip() == MIDDLE):
        yield f"  {_CONFLICT}"
        return
    if line.made != "template":
        yield f"  {_MADE[line.made]}"
    if line.instead:
        yield "  in its place fl-gen has:"
        yield from (f"    {text}" for text in line.instead[:_MOST_INSTEAD])
        yield from _more(len(line.instead) - _MOST_INSTEAD)
    elif line.made in ("yours", "outdated"):
        yield "  in its place fl-gen has nothing"
    for index, place in enumerate(line.templates):
        part = f" ({place.part})" if place.part else ""
        yield f"  {'template' if index == 0 else '        '}  {_short(place.file)}:{place.line}{part}"
        if place.text:
            yield f"            | {place.text}"
    for node in line.nodes:
        yield from _node(node)
    conditions = [node for node in line.conditions if node.path != _WHOLE]  # that a file decided says nothing
    for node in conditions[:_MOST_CONDITIONS]:
        yield f"  because   {_short(node.file)}:{node.line}  {node.path}"
    yield from _more(len(conditions) - _MOST_CONDITIONS)


def _node(node: SchemaPlace) -> Iterable[str]:
    what = "binding" if node.kind in ("binding", "type", "constant", "status", "helper") else "schema"
    what = "PyTorch" if node.kind in ("operator", "wheel") else what
    yield f"  {what:<8}  {_short(node.file)}:{node.line}  {node.path}"
    if node.text:
        text = " ".join(node.text.split())
        yield f"            | {text if len(text) <= _TEXT_WIDTH else text[: _TEXT_WIDTH - 1] + '…'}"
    who = "PyTorch" if node.kind == "feature" else "SDK"
    yield from (f"  {who:<8}  {_sdk(use)}" for use in node.declarations)


def _sdk(use: SdkPlace) -> str:
    return f"{use.header}:{use.line}  {use.signature or use.name}"


def _more(count: int) -> Iterable[str]:
    if count > 0:
        yield f"            … and {count} more"


def _whole(explanation: Explanation) -> Iterable[str]:
    yield f"  vendor    {explanation.vendor}, for {explanation.sdk}"
    templates: dict[str, list[int]] = {}
    nodes: dict[SchemaPlace, list[int]] = {}
    for line in explanation.lines:
        for place in line.templates:
            part = f" ({place.part})" if place.part else ""
            templates.setdefault(f"{_short(place.file)}{part}", []).append(line.number)
        for node in line.nodes:
            nodes.setdefault(node, []).append(line.number)
    for name, numbers in templates.items():
        yield f"  template  {name}: {_ranges(numbers)}"
    for made in ("yours", "outdated"):
        numbers = [line.number for line in explanation.lines if line.made == made]
        if numbers:
            yield f"  {made:<8}  {_ranges(numbers)}"
    for node, numbers in list(nodes.items())[:_MOST_LISTED]:
        first, *rest = _node(node)
        yield f"{first}: {_ranges(numbers)}"
        yield from rest
    yield from _more(len(nodes) - _MOST_LISTED)
    yield f"  = a line of it: fl-gen explain {explanation.file}:LINE"


def _ranges(numbers: Sequence[int]) -> str:
    """`lines 1-3, 7`; long lists are cut."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number <= found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in found]
    cut = [*texts[:8], "…"] if len(texts) > 8 else texts
    return f"line{'' if len(set(numbers)) == 1 else 's'} {', '.join(cut)}"
