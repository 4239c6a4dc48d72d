"""Compares what two SDKs declare. Types are compared without their typedefs, so another spelling is no change."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fl_gen.tasks.diff_names import joint_aliases
from fl_gen.tasks.diff_values import Change, ItemKind, SdkChange
from fl_gen.tasks.dump_values import (
    EnumeratorEntry,
    FunctionEntry,
    FunctionMacroEntry,
    MacroEntry,
    Place,
    RecordEntry,
    SdkDump,
    TypedefEntry,
    UnavailableEntry,
)

_NAME = re.compile(r"[A-Za-z_]\w*")
_UNNAMED = re.compile(r"\(unnamed at [^()]*\)")
_FEW = 5  # names that a note lists
_A = {
    "function": "a function",
    "enumerator": "an enumerator",
    "macro": "a macro",
    "record": "a record",
    "typedef": "a typedef",
}
_KINDS: tuple[ItemKind, ...] = ("function", "enumerator", "typedef", "record", "macro")
_CHANGES: tuple[Change, ...] = ("vanished", "changed", "deprecated", "undeprecated", "appeared", "moved")


@dataclass(frozen=True)
class _Item:
    """A declaration, ready to compare.

    `key` decides whether it changed, `names` are the names in its types, which may have changed instead, `spelled` is
    the key without typedefs resolved. `note` says what is unusual about it; `overloads` are a function's signatures by
    key.
    """

    shown: str
    key: Any
    spelled: Any
    names: frozenset[str]
    availability: str
    at: Place
    note: str | None = None
    overloads: Mapping[Any, str] = field(default_factory=dict)


class _Side:
    """The declarations of one SDK by kind and name."""

    def __init__(self, dump: SdkDump, aliases: Mapping[str, str]) -> None:
        self._aliases = aliases
        self.items: dict[ItemKind, dict[str, _Item]] = {
            "function": {one.name: self._function(one) for one in dump.functions},
            "enumerator": {
                value.name: self._enumerator(value, enum.name)
                for enum in (*dump.enums, *dump.anonymous_enums)
                for value in enum.values
            },
            # A typedef that only gives a record its name is the record.
            "typedef": {one.name: self._typedef(one) for one in dump.typedefs},
            "record": {
                self._aliases.get(one.name, one.name): self._record(one)
                for one in dump.records
                if one.name.isidentifier() and (one.size is not None or one.name not in self._aliases)
            },
            "macro": {one.name: _macro(one) for one in dump.macros},
        }
        for one in dump.typedefs:
            if self._aliases.get(one.canonical, one.canonical) == one.name and one.name in self.items["record"]:
                del self.items["typedef"][one.name]
        for call in dump.function_macros:
            self.items["macro"][call.name] = _Item(
                f"({', '.join(call.params)}) {call.text}", call.text.split(), None, frozenset(), "available", call.at
            )
        self._take_renames(dump)
        self.hidden: dict[str, UnavailableEntry] = {}
        for hidden in dump.unavailable:
            if hidden.declared is None:
                self.hidden.setdefault(hidden.name, hidden)

    def _take_renames(self, dump: SdkDump) -> None:
        """A macro that only stands for a function is that function to whoever calls it."""
        functions = self.items["function"]
        macros: tuple[MacroEntry | FunctionMacroEntry, ...] = (*dump.macros, *dump.function_macros)
        for one in macros:
            target = functions.get(one.stands_for[0]) if len(one.stands_for) == 1 else None
            if target is None or not _renames(one, one.stands_for[0]):
                continue
            del self.items["macro"][one.name]
            functions[one.name] = replace(target, at=one.at, note=f"a macro for {one.stands_for[0]}")

    def _canonical(self, text: str) -> str:
        text = _UNNAMED.sub("(unnamed)", text)
        return _NAME.sub(lambda match: self._aliases.get(match[0], match[0]), text)

    def _function(self, one: FunctionEntry) -> _Item:
        all_ = (one, *one.overloads)
        key = tuple(sorted(self._signature(each) for each in all_))
        spelled = tuple(
            sorted((_plain(each.returns.type), *(_plain(item.type) for item in each.params)) for each in all_)
        )
        names = frozenset(_NAME.findall(" ".join(text for row in spelled for text in row)))
        overloads = {self._signature(each): each.signature for each in all_}
        shown = "; ".join(overloads.values())
        return _Item(shown, key, spelled, names, one.availability, one.at, overloads=overloads)

    def _signature(self, one: FunctionEntry) -> tuple[str, ...]:
        types = (one.returns.canonical, *(_by_value(item.canonical) for item in one.params))
        return (*map(self._canonical, types), *(("...",) if one.variadic else ()))

    def _enumerator(self, one: EnumeratorEntry, enum: str) -> _Item:
        owner = self._aliases.get(enum, enum)
        shown = f"{one.value}" + (f" ({owner})" if owner else "")
        return _Item(shown, (one.value, owner), (one.value, owner), frozenset(), one.availability, one.at)

    def _typedef(self, one: TypedefEntry) -> _Item:
        # What names a tag is compared as the tag itself is: by its enumerators or fields.
        key = self._canonical(one.canonical)
        return _Item(one.type, key, _plain(one.type), frozenset(_NAME.findall(one.type)), one.availability, one.at)

    def _record(self, one: RecordEntry) -> _Item:
        body = "; ".join(f"{item.type} {item.name}" for item in one.fields)
        body = f"{{{body}}}" if len(one.fields) <= _FEW else f"of {len(one.fields)} fields"
        size = f"{one.size} bytes" if one.size is not None else "not completed"
        key = (one.kind, one.size, tuple((item.name, self._canonical(item.canonical)) for item in one.fields))
        spelled = (one.kind, one.size, tuple((item.name, _plain(item.type)) for item in one.fields))
        names = frozenset(_NAME.findall(" ".join(item.type for item in one.fields)))
        return _Item(
            f"{one.kind} {body}, {size}" if one.fields else f"{one.kind}, {size}",
            key,
            spelled,
            names,
            "available",
            one.at,
        )


def _renames(macro: MacroEntry | FunctionMacroEntry, target: str) -> bool:
    """Whether a macro is `target`, `CALL(target)` or, with parameters, `target(...)` and nothing more."""
    if isinstance(macro, MacroEntry):
        return re.fullmatch(rf"\(*\s*(?:\w+\s*\(\s*)?{target}\s*[\s)]*", macro.text) is not None
    return re.fullmatch(rf"\(*\s*{target}\s*\([^()]*\)[\s)]*", macro.text) is not None


def _macro(one: MacroEntry) -> _Item:
    key: Any = one.value if one.value is not None else one.text.split()
    shown = one.text if one.value is None or one.text == str(one.value) else f"{one.text} = {one.value}"
    return _Item(shown, key, key, frozenset(), "available", one.at)


def _by_value(canonical: str) -> str:
    """A parameter's type without the const of the parameter itself, which is no part of the function's type."""
    if canonical.endswith("const"):
        return canonical[:-5].rstrip()
    return canonical.removeprefix("const ") if not canonical.endswith(("*", "&", "]", ")")) else canonical


def _plain(text: str) -> str:
    """A type without what C++ does not need: `struct`, `enum`, blanks before a star."""
    return " ".join(_UNNAMED.sub("(unnamed)", re.sub(r"\b(?:struct|enum|union|class)\s+", "", text)).split())


def compare(old: SdkDump, new: SdkDump, uses: Mapping[str, Sequence[str]]) -> tuple[SdkChange, ...]:
    """Every difference; `uses` maps a name to the bindings that use it, and those come first."""
    aliases = joint_aliases(old, new)
    sides = _Side(old, aliases), _Side(new, aliases)
    typedefs = _typedefs(*sides)
    found: list[SdkChange] = []
    for kind in _KINDS:
        tables = sides[0].items[kind], sides[1].items[kind]
        for name in dict.fromkeys([*tables[0], *tables[1]]):
            before, after = tables[0].get(name), tables[1].get(name)
            for change, note in _changes(kind, name, before, after, sides, typedefs):
                shown = _differing(before, after)
                found.append(
                    SdkChange(
                        kind=kind,
                        name=name,
                        change=change,
                        old=shown[0],
                        new=shown[1],
                        old_at=before.at if before else None,
                        new_at=after.at if after else None,
                        used_by=_users(name, aliases, uses),
                        note=note,
                    )
                )
    found = _across_kinds(found, sides)
    _note_consequences(found, sides)
    found.sort(key=lambda one: (not one.used_by, _CHANGES.index(one.change), _KINDS.index(one.kind), one.name))
    return tuple(found)


def _differing(before: _Item | None, after: _Item | None) -> tuple[str | None, str | None]:
    """What to show of both; of a function with overloads those that only one of the SDKs has."""
    if before is None or after is None:
        return (before.shown if before else None), (after.shown if after else None)
    if max(len(before.overloads), len(after.overloads)) < 2:
        return before.shown, after.shown
    gone = [text for key, text in before.overloads.items() if key not in after.overloads]
    come = [text for key, text in after.overloads.items() if key not in before.overloads]
    return "; ".join(gone) or before.shown, "; ".join(come) or after.shown


def _users(name: str, aliases: Mapping[str, str], uses: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The bindings that use a name, or another name of the same type."""
    names = [name, *(other for other, alias in aliases.items() if alias == name)]
    return tuple(dict.fromkeys(user for one in names for user in uses.get(one, ())))


def _typedefs(old: _Side, new: _Side) -> frozenset[str]:
    """The typedefs that stand for another type now: what is spelled with one of them changed only through it."""
    tables = old.items["typedef"], new.items["typedef"]
    return frozenset(name for name in tables[0].keys() & tables[1].keys() if tables[0][name].key != tables[1][name].key)


def _changes(
    kind: ItemKind,
    name: str,
    before: _Item | None,
    after: _Item | None,
    sides: tuple[_Side, _Side],
    typedefs: frozenset[str],
) -> Iterator[tuple[Change, str | None]]:
    if before is None:
        yield "appeared", _joined(after.note if after else None, _was_hidden(name, sides[0], "it was there, but only"))
        return
    if after is None:
        yield "vanished", _was_hidden(name, sides[1], "it is still there, but only")
        return
    rename = after.note if after.note != before.note else None
    if before.key != after.key:
        if before.spelled != after.spelled or not (before.names & typedefs):
            gone = f"no longer {before.note}" if before.note and not after.note else None
            more = _overloads(before, after) if kind == "function" else None
            yield "changed", _joined(rename, gone, more, _fields(before, after) if kind == "record" else None)
    elif kind == "function" and (mixed := _handles(before, after, sides)) is not None:
        yield "changed", _joined(rename, mixed)
    elif before.at.header != after.at.header or rename is not None:
        yield "moved", rename
    if before.availability != after.availability:
        yield ("deprecated" if after.availability != "available" else "undeprecated"), None


def _handles(before: _Item, after: _Item, sides: tuple[_Side, _Side]) -> str | None:
    """Where a function takes another handle than before, though both are `void *` to the compiler.

    Only where both SDKs have both handles: a handle that was renamed is the same one.
    """
    if len(before.spelled) != 1 or len(after.spelled) != 1:
        return None
    for old, new in zip(before.spelled[0], after.spelled[0], strict=False):
        names = [[name for name in _NAME.findall(text) if name != "const"] for text in (old, new)]
        if old == new or any(len(found) != 1 for found in names):
            continue
        both = {names[0][0], names[1][0]}
        tables = [side.items["typedef"] for side in sides]
        if len(both) == 2 and all(name in table and table[name].key == "void *" for name in both for table in tables):
            return f"{new} where {old} was; both are void * to the compiler"
    return None


def _overloads(before: _Item, after: _Item) -> str | None:
    """Said of a function that is as it was and has further overloads."""
    more = len(after.key) - len(before.key)
    return f"as before, with {more} further overload{'s' * (more > 1)}" if set(before.key) < set(after.key) else None


def _fields(before: _Item, after: _Item) -> str:
    """What changed inside a record."""
    old, new = dict(before.key[2]), dict(after.key[2])
    parts = []
    for word, names in (
        ("new fields", [name for name in new if name not in old]),
        ("gone fields", [name for name in old if name not in new]),
        (
            "fields of another type",
            [f"{name} ({old[name]} -> {new[name]})" for name in new if name in old and old[name] != new[name]],
        ),
    ):
        if names:
            parts.append(
                f"{word}: {', '.join(names[:_FEW])}" + (f" and {len(names) - _FEW} more" * (len(names) > _FEW))
            )
    kept = [name for name in old if name in new]
    if kept != [name for name in new if name in old]:
        parts.append("fields in another order")
    return "; ".join(parts)


def _was_hidden(name: str, side: _Side, words: str) -> str | None:
    hidden = side.hidden.get(name)
    if hidden is None:
        return None
    conditions = " && ".join(one.text if " " not in one.text else f"({one.text})" for one in hidden.conditions)
    return f"{words} under {conditions} ({hidden.at.header}:{hidden.at.line})"


def _across_kinds(found: list[SdkChange], sides: tuple[_Side, _Side]) -> list[SdkChange]:
    """A name that vanished as a macro and appeared as an enumerator, or the like, is one change."""
    vanished = {one.name: one for one in found if one.change == "vanished"}
    merged: dict[int, SdkChange] = {}
    dropped: set[int] = set()
    for one in found:
        before = vanished.get(one.name)
        if one.change != "appeared" or before is None:
            continue
        old, new = sides[0].items[before.kind][one.name].key, sides[1].items[one.kind][one.name].key
        same = _value(old) is not None and _value(old) == _value(new)
        note = f"{_A[one.kind]} now, {_A[before.kind]} before" + ("; the same value" if same else "")
        merged[id(one)] = replace(
            one,
            change="moved" if same else "changed",
            old=before.old,
            old_at=before.old_at,
            note=_joined(note, one.note),
        )
        dropped.add(id(before))
    return [merged.get(id(one), one) for one in found if id(one) not in dropped]


def _value(key: Any) -> int | None:
    """The number of a macro or an enumerator."""
    value = key[0] if isinstance(key, tuple) and key else key
    return value if isinstance(value, int) else None


def _note_consequences(found: list[SdkChange], sides: tuple[_Side, _Side]) -> None:
    """Say of a changed typedef how many functions take or give another type through it."""
    functions = sides[1].items["function"]
    for index, one in enumerate(found):
        if one.kind == "typedef" and one.change == "changed":
            names = [name for name, item in functions.items() if one.name in item.names]
            if names:
                listed = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
                found[index] = replace(one, note=_joined(one.note, f"in the signature of {listed}"))


def _joined(*notes: str | None) -> str | None:
    return "; ".join(note for note in notes if note) or None


__all__ = ["compare"]
