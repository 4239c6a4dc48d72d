"""What a backend cannot do without: types, values and calls that others stand on, and what follows from a lost one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fl_gen.resolve.model import Choice, Rejection
from fl_gen.schema.errors import Diagnostic
from fl_gen.schema.location import Location
from fl_gen.schema.runtime import Operation, Runtime, type_references
from fl_gen.schema.vendor import GROUP_NEEDS, NEEDED_VALUES, Text, Vendor
from fl_gen.sdk.items import ProbeItem, ProbeReport
from fl_gen.sdk.unit import placeholders

RULE = "sdk-required"
_SPELLING = "add this release's spelling to the vendor schema"


def lost(what: str, texts: Sequence[Text], group: str, report: ProbeReport, consequence: str = "") -> Diagnostic:
    """The diagnostic of a thing of which no candidate exists, at its last candidate, with what follows from that."""
    said = [one for index in range(len(texts)) for one in report.verdicts[f"{group}:{index}"].diagnostics]
    hints = dict.fromkeys(one.hint for one in said if one.hint)
    return Diagnostic(
        texts[-1].location,
        f"this SDK does not have {what} (tried {', '.join(text.value for text in texts)}): "
        + "; ".join(one.message for one in said),
        "\n".join([*(hints or (_SPELLING,)), *([consequence] if consequence else [])]),
        length=said[-1].length if said else 1,
        rule=RULE,
    )


def causes(
    items: Sequence[ProbeItem], operations: Mapping[str, Operation], report: ProbeReport
) -> dict[str, tuple[str, ...]]:
    """The operations of which every candidate needs a type that the SDK lacks: each with these types."""
    missing: dict[str, set[str]] = {}
    free: set[str] = set()
    for item in items:
        name = item.choice.removeprefix("op:")
        if item.choice.startswith("op:") and name in operations:
            types = placeholders(item) - set(report.types)
            missing.setdefault(name, set()).update(types)
            if not types:
                free.add(name)
    return {name: tuple(sorted(types)) for name, types in missing.items() if name not in free}


def without(names: Collection[str]) -> str:
    """What is lost as a consequence, in one line."""
    return f"without it there is no {', '.join(names)}" if names else ""


def lost_types(
    runtime: Runtime, vendor: Vendor, groups: frozenset[str], report: ProbeReport, depend: Mapping[str, tuple[str, ...]]
) -> dict[str, Diagnostic]:
    """The types without which a required operation has no candidate, by portable name, each with one diagnostic."""
    found = {}
    for name, portable in runtime.types.items():
        users = [
            operation for operation, types in depend.items() if name in types and runtime.operations[operation].required
        ]
        if portable.group not in groups or name in report.types or not users:
            continue
        texts = vendor.types.get(name, ())
        what = f"the type {name}"
        if texts:
            found[name] = lost(what, texts, f"type:{name}", report, without(users))
        else:
            message = f"the vendor file names no type {name}"
            hint = "\n".join((f"add it under types: {portable.doc}", without(users)))
            found[name] = Diagnostic(vendor.types.location_of(name), message, hint, rule=RULE)
    return found


def missing_values(
    runtime: Runtime, vendor: Vendor, groups: frozenset[str], report: ProbeReport
) -> dict[str, dict[str, Diagnostic]]:
    """The values that every operation of their kind needs and this SDK lacks: kind, value, and why."""
    found: dict[str, dict[str, Diagnostic]] = {}
    for kind, values in NEEDED_VALUES.items():
        if kind not in report.types or runtime.types[kind].group not in groups:
            continue  # what takes this kind is refused already
        table = vendor.constants.get(kind)
        for value in values:
            texts = table.get(value, ()) if table is not None else ()
            group = f"constant:{kind}:{value}"
            if report.chosen.get(group) is not None:
                continue
            if texts:
                diagnostic = lost(f"the value {kind}.{value}", texts, group, report)
            else:
                place = table.location_of(value) if table is not None else vendor.constants.location_of(kind)
                diagnostic = Diagnostic(
                    place, f"the vendor file names no {kind}.{value}", f"add it under constants: {kind}:", rule=RULE
                )
            found.setdefault(kind, {})[value] = diagnostic
    return found


def takes(operation: Operation, kind: str) -> bool:
    """Whether an operation has a parameter of a kind of constants."""
    return any(kind in type_references(param.type) for param in operation.params)


def refused(choice: Choice, reasons: Sequence[Diagnostic]) -> Choice:
    """A choice whose candidate cannot be used because of something that it needs."""
    if choice.candidate is None:
        return choice
    place: Location = reasons[0].location
    return Choice(
        choice.operation, None, choice.status, (*choice.rejected, Rejection(choice.candidate, tuple(reasons), place))
    )


def unusable_groups(vendor: Vendor, groups: frozenset[str], report: ProbeReport) -> dict[str, tuple[Diagnostic, ...]]:
    """The groups that are there and of no use, since something that every call of theirs needs is not; and why."""
    found = {}
    for key, (types, operations) in GROUP_NEEDS.items():
        if key not in groups:
            continue
        group = vendor.groups[key]
        reasons: list[Diagnostic] = []
        for name in types:
            texts = vendor.types.get(name, ())
            if name in report.types:
                continue
            if texts:
                reasons.append(lost(f"the type {name}", texts, f"type:{name}", report))
            else:
                reasons.append(_unnamed(group.location, f"the vendor file names no type {name}", "types"))
        for name in operations if not reasons else ():
            candidates = vendor.bindings.get(name, ())
            if report.chosen.get(f"op:{name}") is not None:
                continue
            if not candidates:
                reasons.append(_unnamed(vendor.bindings.location, f"{name} has no binding", "bindings"))
            for index in range(len(candidates)):
                for one in report.verdicts[f"op:{name}:{index}"].diagnostics:
                    message = f"this SDK refuses the binding of {name}: {one.message}"
                    reasons.append(Diagnostic(one.location, message, one.hint, length=one.length, rule=RULE))
        if reasons:
            found[key] = tuple(reasons)
    return found


def _unnamed(place: Location, message: str, table: str) -> Diagnostic:
    return Diagnostic(place, message, f"add it under {table}:", rule=RULE)
