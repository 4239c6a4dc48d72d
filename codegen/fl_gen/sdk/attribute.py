"""Whose fault is a diagnostic? Physical offsets decide, because libclang's locations ignore `#line`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from . import clang, lex
from .clang import Message, Parsed
from .faults import HeaderTrouble
from .items import Finding
from .tree import Tree
from .unit import MAIN_FILE, Span, Unit


@dataclass(frozen=True)
class Round:
    """One parsed unit, read.

    `findings` by item id; `sound` are the items that stand in the tree as written, without an error; `fatal` those
    that stopped clang; `stray` are errors in the unit that no item holds.
    """

    unit: Unit
    parsed: Parsed
    tree: Tree
    findings: Mapping[str, tuple[Finding, ...]]
    deprecated: Mapping[str, str]
    sound: frozenset[str]
    fatal: frozenset[str]
    stray: tuple[Message, ...]

    @property
    def broken(self) -> bool:
        """Whether an item may have changed how others were read."""
        placed = len(self.sound) + len(self.findings)
        return bool(self.stray) or placed < len(self.unit.spans) or bool(self._misplaced)

    @property
    def _misplaced(self) -> list[str]:
        # A faulty item that kept its place and its end cannot have swallowed what follows.
        return [span.item.id for span in self.unit.spans if span.item.id in self.findings and not self.kept(span)]

    def kept(self, span: Span) -> bool:
        return span.item.form in ("type", "helper") or self.tree.sound(span.item)

    @property
    def clean(self) -> bool:
        return not self.findings and not self.stray and len(self.sound) == len(self.unit.spans)


def attribute(unit: Unit, parsed: Parsed) -> Round:
    """Give each error to the item that holds it, else to one that holds one of its notes.

    HeaderTrouble if an error belongs to no item and is not in the probe's own text: then the headers are at fault.
    """
    findings: dict[str, list[Finding]] = {}
    deprecated: dict[str, str] = {}
    fatal: set[str] = set()
    stray: list[Message] = []
    outside: list[Message] = []
    for message in parsed.messages:
        if message.severity < clang.ERROR:
            span = _holder(unit, message)
            if span is not None and message.option.startswith("-Wdeprecated"):
                deprecated.setdefault(span.item.id, message.text)
            continue
        span = _holder(unit, message)
        if span is not None:
            findings.setdefault(span.item.id, []).append(_finding(message, span))
            if message.severity >= clang.FATAL:
                fatal.add(span.item.id)
        elif message.place.file == MAIN_FILE and unit.include_at(message.place.offset) is None:
            stray.append(message)
        else:
            outside.append(message)
    if outside:
        raise HeaderTrouble(outside, unit, parsed)
    tree = Tree(parsed, unit)
    sound = set()
    for span in unit.spans:
        item = span.item
        if item.id in findings:
            continue
        declared = tree.declares(item)
        mixed = tree.mixed(item) if item.strict_typedefs else ()
        if declared is not None or mixed:
            findings[item.id] = [declared] if declared is not None else list(mixed)
        elif tree.sound(item):
            sound.add(item.id)
    return Round(
        unit=unit,
        parsed=parsed,
        tree=tree,
        findings={id_: tuple(dict.fromkeys(found)) for id_, found in findings.items()},
        deprecated=deprecated,
        sound=frozenset(sound),
        fatal=frozenset(fatal),
        stray=tuple(stray),
    )


def _holder(unit: Unit, message: Message) -> Span | None:
    places = [message.place, *(place for place, _ in message.notes)]
    for place in places:
        if place.file == MAIN_FILE:
            span = unit.find(place.offset)
            if span is not None:
                return span
    return None


def _finding(message: Message, span: Span) -> Finding:
    place, code = message.place, span.item.code
    inside = place.file == MAIN_FILE and span.start <= place.offset < span.end
    if not inside:
        # The error stands in a header; a note leads to this item.
        noted = [p for p, _ in message.notes if p.file == MAIN_FILE and span.start <= p.offset < span.end]
        return Finding(f"clang: {message.text}", span.offset(noted[0].offset) if noted else 0, 1, _at(message))
    offset = min(span.offset(place.offset), max(0, len(code) - 1))
    length = max(1, span.offset(place.offset + message.length) - offset)
    notes = [(p, text) for p, text in message.notes if p.file and p.file != MAIN_FILE]
    text, hint = f"clang: {message.text}", _at(message)
    if len(notes) == 1 and "not viable" in notes[0][1]:
        # C functions are not overloaded: the reason is in the one note, and it may name the argument.
        where, reason = notes[0]
        text = f"{text}; {reason}"
        hint = f"declared at {where.file.rsplit('/', 1)[-1]}:{where.line}"
        argument = _ARGUMENT.search(reason)
        if argument is not None:
            offset, length = lex.argument(code, offset, int(argument.group(1))) or (offset, length)
    elif "return object" in message.text or "return value" in message.text:
        hint = f"the operation returns {span.item.returns}"
    if place.offset < span.brace:
        hint = "\n".join(filter(None, ["this is about the declared types of the operation", hint]))
    return Finding(text, offset, length, hint)


_ARGUMENT = re.compile(r"\b([0-9]+)(?:st|nd|rd|th) argument")


def _at(message: Message) -> str | None:
    """clang's notes that point into a header, each with its place."""
    lines = [
        f"{place.file.rsplit('/', 1)[-1]}:{place.line}: {text}"
        for place, text in message.notes
        if place.file and place.file != MAIN_FILE
    ]
    return "\n".join(lines[:3]) or None
