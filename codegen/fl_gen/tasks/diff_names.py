"""Which names of two SDKs mean one type, whatever tag or typedef a header spells it with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from fl_gen.tasks.dump_values import SdkDump, TypedefEntry


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def joint_aliases(*dumps: SdkDump) -> dict[str, str]:
    """By each name of a type, and each tag, the one name to compare it by, the same for all SDKs.

    `typedef enum X {} X_t` and `typedef enum {} X_t` are one type to users, and so is an opaque handle whose tag
    changed: what a typedef joins in any of the SDKs is one type, unless that would join two types of one SDK.
    """
    tags = [_names(dump.enums) | _names(dump.records) for dump in dumps]
    groups: dict[str, set[str]] = {}
    for dump, own in zip(dumps, tags, strict=True):
        opaque = {f"{one.name} *": one.name for one in dump.records if one.size is None}
        for one in dump.typedefs:
            if one.canonical in own and one.canonical != one.name:
                _join(groups, one.canonical, one.name)
            elif one.canonical in opaque:
                _join(groups, opaque[one.canonical], f"*{one.name}")  # not the name of the tag: of what points to it
    typedefs = [_typedefs(dump.typedefs) for dump in dumps]
    found: dict[str, str] = {}
    for group in {id(group): group for group in groups.values()}.values():
        if any(len(group & own) > 1 for own in tags):
            continue  # a typedef that names another type now
        known = sorted(group, key=lambda name: (-sum(name in names for names in typedefs), name.startswith("*"), name))
        found.update(dict.fromkeys((name for name in group if not name.startswith("*")), known[0].lstrip("*")))
    return found


def _join(groups: dict[str, set[str]], one: str, other: str) -> None:
    merged = groups.get(one, {one}) | groups.get(other, {other})
    groups.update(dict.fromkeys(merged, merged))


def _names(entries: Iterable[_Named]) -> set[str]:
    return {one.name for one in entries}


def _typedefs(entries: Iterable[TypedefEntry]) -> set[str]:
    """Names of typedefs, those that may stand for a pointer with a star."""
    names = _names(entries)
    return names | {f"*{name}" for name in names}
