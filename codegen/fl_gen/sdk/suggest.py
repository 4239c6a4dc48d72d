"""Did-you-mean for names that an SDK lacks. libclang gives none, so names are compared part by part, then signatures.

Accelerator runtimes say the same things in different words; the words below are what their names are made of. The
ranking knows no vendor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Protocol, TypeVar

from . import lex
from .items import Finding, ProbeItem
from .model import Enum, Function
from .unit import spell

T = TypeVar("T")

_LEAST = 0.6  # below this a name is not like the one asked for
_MOST = 2  # suggestions shown
_STEM, _ENDING = 6, 3  # letters that two names share at least, and that one has more, to be one word with an ending
_SLIP = 0.85  # likeness of spelling from which on it is a slip
_LETTER = 0.84  # of names that share no words: one letter of a short name
_CLOSE = 0.1  # a second one must be about as good as the first
_UNKNOWN = re.compile(
    r"(?:use of undeclared identifier|unknown type name|unknown class name|no (?:type|member) named) '(?:\w+::)*(\w+)'"
)
_NOT_VIABLE = re.compile(r"no matching function for call to '(\w+)'")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Words for one thing: each maps to the parts it stands for.
_WORDS = {
    "malloc": ("mem", "alloc"),
    "memcpy": ("mem", "copy"),
    "memset": ("mem", "set"),
    "memory": ("mem",),
    "trans": ("copy",),
    "cpy": ("copy",),
    "stream": ("queue",),
    "event": ("notifier",),
    "kind": ("dir",),
    "direction": ("dir",),
    "synchronize": ("sync",),
    "synchronise": ("sync",),
    "allocate": ("alloc",),
    "device": ("dev",),
    "properties": ("prop",),
    "attribute": ("attr",),
    "error": ("status",),
    "ret": ("status",),
    "result": ("status",),
    "string": ("str",),
    "record": ("place",),
    "elapsed": ("duration",),
    "redop": ("reduce", "op"),
    "red": ("reduce",),
    "comms": ("comm",),
    "t": (),
}


@lru_cache(maxsize=8192)
def parts(name: str) -> tuple[str, ...]:
    """The words of a name in their common form: cnrtMallocAsync -> cnrt, mem, alloc, async."""
    words: list[str] = []
    for part in _PART.findall(name):
        word = part.lower()
        words += _WORDS.get(word, (word,))
    return tuple(words)


@lru_cache(maxsize=8192)
def _pairs(name: str) -> frozenset[str]:
    """The pairs of neighbouring letters of a name: comparing these is quick and nearly as good as an edit distance."""
    text = f" {name.lower()} "
    return frozenset(text[at : at + 2] for at in range(len(text) - 1))


class NameSource(Protocol):
    """What a suggestion needs to know of an SDK; `Sdk` and `Names` are such."""

    def function_names(self) -> Iterable[str]: ...

    def type_names(self) -> Iterable[str]: ...

    def constant_names(self) -> Iterable[str]: ...

    def function(self, name: str) -> Function | None: ...

    def enum(self, name: str) -> Enum | None: ...


class Suggester:
    """Ranks an SDK's names by likeness to one that it lacks."""

    def __init__(self, sdk: NameSource) -> None:
        self._sdk = sdk

    def functions(self, name: str, arguments: Sequence[str | None]) -> list[Function]:
        """Functions like `name` for a call with arguments of these types (None: not known)."""
        scored = []
        for other in self._sdk.function_names():
            likeness = self._likeness(name, other)
            function = self._sdk.function(other) if likeness > 0.35 else None
            if function is not None:
                scored.append((likeness + 0.25 * _fit(function, arguments), function))
        return [function for score, function in _best(scored) if score >= _LEAST]

    def types(self, name: str) -> list[str]:
        """Types like `name`. What an enum's constants are called tells what the enum is about."""
        scored = []
        for other in self._sdk.type_names():
            score = self._likeness(name, other)
            enum = self._sdk.enum(other) if score else None
            if enum is not None and enum.values:
                wanted = set(parts(name)[1:])
                said = set(parts(enum.values[0].name)) & set(parts(enum.values[-1].name))
                score += 0.15 * len(wanted & said) / max(1, len(wanted))
            scored.append((score, other))
        return [other for score, other in _best(scored) if score >= _LEAST]

    def constants(self, name: str) -> list[str]:
        """Enumerators and macros like `name`."""
        scored = [(self._likeness(name, other), other) for other in self._sdk.constant_names()]
        return [other for score, other in _best(scored) if score >= _LEAST]

    @staticmethod
    def _likeness(wanted: str, other: str) -> float:
        mine, theirs = parts(wanted), list(parts(other))
        words = len(mine) + len(theirs)
        shared = 0
        for word in mine:
            if word in theirs:
                theirs.remove(word)
                shared += 1
        # The first word is the library's own and shared by all.
        unlike = shared < 2 or 4 * shared < words
        short, long = sorted((wanted, other), key=len)
        ending = len(long) - len(short) if len(short) >= _STEM and long.startswith(short) else _ENDING + 1
        least = 1.0 - 0.05 * ending if ending <= _ENDING else 0.0
        if unlike and abs(len(wanted) - len(other)) > 2:
            return least
        left, right = _pairs(wanted), _pairs(other)
        spelling = 2 * len(left & right) / (len(left) + len(right))
        if unlike and spelling < _LETTER:
            return least
        # Nearly the same letters: a slip of the finger, whatever the words are.
        return max(least, 0.65 * 2 * shared / max(1, words) + 0.35 * spelling + (0.25 if spelling > _SLIP else 0.0))


def add_suggestions(
    items: Sequence[ProbeItem],
    findings: Mapping[str, tuple[Finding, ...]],
    chosen: Mapping[str, str | None],
    types: Mapping[str, str],
    sdk: NameSource,
) -> dict[str, tuple[Finding, ...]]:
    """The findings, those of groups that nothing fits with a did-you-mean or the right signature as hint."""
    suggester = Suggester(sdk)
    result = dict(findings)
    for item in items:
        if item.id in findings and chosen.get(item.choice) is None:
            result[item.id] = tuple(_with_hint(finding, item, types, suggester, sdk) for finding in findings[item.id])
    return result


def _with_hint(
    finding: Finding, item: ProbeItem, types: Mapping[str, str], suggester: Suggester, sdk: NameSource
) -> Finding:
    match = _UNKNOWN.search(finding.message)
    if match is None:
        return _with_signature(finding, sdk)
    name = match.group(1)
    arguments = _arguments(item, finding.offset, name, types)
    lines: list[str] = []
    if arguments is not None:
        lines = [f"{f.name}?  {f.signature}  ({f.at})" for f in suggester.functions(name, arguments)]
    elif "type" in finding.message or item.form == "type":
        lines = [f"{other}?" for other in suggester.types(name)]
    else:
        lines = [f"{other}?" for other in suggester.constants(name) or suggester.types(name)]
    if not lines:
        return finding
    hint = "did you mean " + "\n          or ".join(lines)
    return replace(finding, hint="\n".join(filter(None, [hint, finding.hint])))


def _with_signature(finding: Finding, sdk: NameSource) -> Finding:
    match = _NOT_VIABLE.search(finding.message)
    function = sdk.function(match.group(1)) if match else None
    if function is None or function.overloads:
        return finding
    return replace(finding, hint=f"declared at {function.at}: {function.signature}")


def _arguments(item: ProbeItem, offset: int, name: str, types: Mapping[str, str]) -> list[str | None] | None:
    """The types of a call's arguments where they are the operation's own parameters; None if this is no call."""
    if not item.code.startswith(name, offset) or not item.code[offset + len(name) :].lstrip().startswith("("):
        return None
    known = {param: type_ for type_, param in item.params}
    found: list[str | None] = []
    number = 1
    while (place := lex.argument(item.code, offset, number)) is not None:
        text = item.code[place[0] : place[0] + place[1]].strip()
        type_ = known.get(text)
        try:
            found.append(spell(type_, types) if type_ is not None else None)
        except KeyError:
            found.append(None)
        number += 1
    return found


def _fit(function: Function, arguments: Sequence[str | None]) -> float:
    """How well a function takes these arguments, from 0 to 1: half for their number, half for their types."""
    if len(function.params) != len(arguments):
        return 0.0
    pairs = list(zip(function.params, arguments, strict=True))
    agree = sum(0.5 if given is None else _bare(given) in (_bare(p.type), _bare(p.canonical)) for p, given in pairs)
    return 0.5 + 0.5 * agree / max(1, len(pairs))


def _bare(type_: str) -> str:
    return re.sub(r"\s+", "", type_)


def _best(scored: list[tuple[float, T]]) -> list[tuple[float, T]]:
    best = sorted(scored, key=lambda pair: -pair[0])[:_MOST]
    return [pair for pair in best if pair[0] > best[0][0] - _CLOSE]
