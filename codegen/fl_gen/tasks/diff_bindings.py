"""Compares what two checks of SDKs chose for a vendor's bindings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fl_gen.schema.errors import Diagnostic
from fl_gen.tasks.diff_values import BindingChange, BindingFate, BindingKind, BindingSide
from fl_gen.tasks.sdk_values import Chosen, FactCheck, OperationCheck, Rejected, SdkCheck


def compare_bindings(old: SdkCheck, new: SdkCheck) -> tuple[BindingChange, ...]:
    """Every operation, type, status code and constant whose choice is another one, the lost ones first."""
    found = [*_operations(old, new), *_facts(old, new)]
    order: tuple[BindingFate, ...] = ("lost", "switched", "deprecated", "gained", "undeprecated")
    kinds: tuple[BindingKind, ...] = ("operation", "type", "status", "constant")
    return tuple(sorted(found, key=lambda one: (order.index(one.fate), kinds.index(one.kind))))


def uses_of(*checks: SdkCheck) -> dict[str, tuple[str, ...]]:
    """By name of a declaration, the bindings whose chosen candidates use it on any of these SDKs."""
    found: dict[str, dict[str, None]] = {}
    for check in checks:
        chosen = [(one.name, one.chosen) for one in check.operations if one.chosen is not None]
        chosen += [(fact.name, one) for fact in check.facts for one in fact.chosen]
        for name, one in chosen:
            for use in one.declarations:
                found.setdefault(use.name, {})[name] = None
    return {name: tuple(users) for name, users in found.items()}


def _operations(old: SdkCheck, new: SdkCheck) -> Iterator[BindingChange]:
    before = {one.name: one for one in old.operations}
    for after in new.operations:
        first = before.get(after.name)
        if first is None:
            continue
        fate = _fate(_chosen(first), _chosen(after))
        if fate is not None:
            yield BindingChange(
                kind="operation",
                name=after.name,
                group=after.group,
                required=after.required,
                fate=fate,
                old=_operation_side(first),
                new=_operation_side(after),
                reasons=_reasons(fate, first.chosen, first.rejected, after.chosen, after.rejected),
                missing_header=_missing(after.group, first.state == "absent" or after.state == "absent", old, new),
            )


def _facts(old: SdkCheck, new: SdkCheck) -> Iterator[BindingChange]:
    before = {(one.kind, one.name): one for one in old.facts}
    for after in new.facts:
        first = before.get((after.kind, after.name))
        if first is None:
            continue
        fate = _fate(first.chosen, after.chosen)
        if fate is not None:
            yield BindingChange(
                kind=after.kind,
                name=after.name,
                group=after.group,
                required=after.required,
                fate=fate,
                old=_fact_side(first),
                new=_fact_side(after),
                reasons=_reasons(
                    fate, next(iter(first.chosen), None), first.rejected, next(iter(after.chosen), None), after.rejected
                ),
                missing_header=_missing(after.group, first.state == "absent" or after.state == "absent", old, new),
            )


def _chosen(one: OperationCheck) -> tuple[Chosen, ...]:
    return (one.chosen,) if one.chosen is not None else ()


def _fate(old: Sequence[Chosen], new: Sequence[Chosen]) -> BindingFate | None:
    if old and not new:
        return "lost"
    if new and not old:
        return "gained"
    if [one.index for one in old] != [one.index for one in new]:
        return "switched"
    was, is_ = (any(one.deprecated is not None for one in side) for side in (old, new))
    if was != is_:
        return "deprecated" if is_ else "undeprecated"
    return None


def _reasons(
    fate: BindingFate,
    old: Chosen | None,
    old_rejected: Sequence[Rejected],
    new: Chosen | None,
    new_rejected: Sequence[Rejected],
) -> tuple[Diagnostic, ...]:
    """The compiler's words on the old candidate with the new SDK, or, for a new one, with the old SDK."""
    if fate in ("lost", "switched") and old is not None:
        found = _words(old.index, new_rejected)
        if found:
            return found
    if fate in ("gained", "switched") and new is not None:
        return _words(new.index, old_rejected)
    return ()


def _words(index: int, rejected: Sequence[Rejected]) -> tuple[Diagnostic, ...]:
    return tuple(message for one in rejected if one.index == index for message in one.messages)


def _missing(group: str, absent: bool, old: SdkCheck, new: SdkCheck) -> str | None:
    if not absent:
        return None
    for check in (new, old):
        for one in check.groups:
            if one.key == group and not one.present and one.headers:
                return one.headers[0]
    return None


def _operation_side(one: OperationCheck) -> BindingSide:
    chosen, strategy = one.chosen, one.strategy
    return BindingSide(
        state=one.state,
        code=(chosen.code,) if chosen is not None else (),
        candidate=chosen.index if chosen is not None else None,
        strategy=strategy.name if strategy is not None else None,
        strategy_doc=strategy.doc if strategy is not None else None,
        deprecated=chosen.deprecated if chosen is not None else None,
    )


def _fact_side(one: FactCheck) -> BindingSide:
    first = one.chosen[0] if one.chosen else None
    return BindingSide(
        state=one.state,
        code=tuple(chosen.code for chosen in one.chosen),
        candidate=first.index if first is not None else None,
        strategy=None,
        strategy_doc=None,
        deprecated=next((chosen.deprecated for chosen in one.chosen if chosen.deprecated is not None), None),
    )
