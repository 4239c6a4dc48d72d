"""Ask the SDK's headers, through one probe, which candidate of each binding holds, and read the answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from fl_gen.resolve.model import Choice, Declaration, Rejection, Status
from fl_gen.resolve.needs import (
    causes,
    lost,
    lost_types,
    missing_values,
    refused,
    takes,
    unusable_groups,
    without,
)
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.frozen import frozen
from fl_gen.schema.runtime import Operation, Runtime
from fl_gen.schema.vendor import Candidate, Text, Vendor
from fl_gen.sdk.items import ProbeItem, ProbeReport

Prober = Callable[[Sequence[ProbeItem]], ProbeReport]

# What a portable constant is when no type of its kind exists: flags.
_FLAGS_TYPE = "unsigned int"


@frozen
class Bindings:
    """The outcome for one vendor and one SDK. `types` are the SDK's own by portable name.

    `groups` are those that can be used. `lost` are the names of types, status parts and values (type stream, status
    runtime.success, ...) without which there is no backend.
    """

    types: Mapping[str, str]
    statuses: Mapping[str, Status]
    constants: Mapping[str, Mapping[str, str | None]]
    choices: Mapping[str, Choice]
    report: ProbeReport
    groups: frozenset[str]
    lost: frozenset[str]


def survey(
    runtime: Runtime, vendor: Vendor, groups: frozenset[str], prober: Prober, wanted: Collection[str] = ()
) -> tuple[Bindings, tuple[Diagnostic, ...]]:
    """What becomes of every operation of `groups`, and one diagnostic per thing that no backend can do without.

    `wanted` are groups that must be usable, beside those that the vendor file requires. Bindings that lack such a thing
    are for reports only: a lost status domain is not among `statuses`.
    """
    items = probe_items(runtime, vendor, groups)
    report = prober(items)
    unusable = unusable_groups(vendor, groups, report)
    problems = [
        one for key, reasons in unusable.items() if key in wanted or vendor.groups[key].required for one in reasons
    ]
    groups = groups - unusable.keys()
    present = {name: one for name, one in runtime.operations.items() if one.group in groups}
    depend = causes(items, present, report)
    lacking = lost_types(runtime, vendor, groups, report, depend)
    problems += lacking.values()
    lost_names = {f"type {name}" for name in lacking}
    statuses = _statuses(vendor, groups, report, problems, lost_names, depend, present)
    choices = {
        name: _choice(operation, vendor, groups, report, problems, _cause(depend.get(name, ()), lost_names))
        for name, operation in runtime.operations.items()
    }
    for kind, values in missing_values(runtime, vendor, groups, report).items():
        users = [name for name, operation in present.items() if takes(operation, kind)]
        if any(present[name].required for name in users):
            problems += values.values()
            lost_names |= {f"constant {kind}.{value}" for value in values}
        else:
            choices |= {name: refused(choices[name], tuple(values.values())) for name in users}
    portable = {name: type_ for name, type_ in report.types.items() if _is_of(name, runtime, groups)}
    constants = _constants(vendor, runtime, groups, report)
    bindings = Bindings(portable, statuses, constants, choices, report, groups, frozenset(lost_names))
    return bindings, tuple(problems)


def _is_of(type_name: str, runtime: Runtime, groups: frozenset[str]) -> bool:
    """Whether a chosen type is a portable one of a group that can be used; the others are those of statuses."""
    return type_name in runtime.types and runtime.types[type_name].group in groups


def _cause(types: Collection[str], lost: Collection[str]) -> str | None:
    """The lost thing, by its name in reports, behind the first of the types that an operation lacks."""
    for name in types:
        status = name.removeprefix("status_")
        text = f"status {status}.type" if status != name else f"type {name}"
        if text in lost:
            return text
    return None


def choose(
    runtime: Runtime, vendor: Vendor, groups: frozenset[str], prober: Prober, wanted: Collection[str] = ()
) -> Bindings:
    """Choose a candidate for every operation of `groups`.

    Raises SchemaError with one diagnostic per status code or required operation that this SDK does not have.
    """
    bindings, problems = survey(runtime, vendor, groups, prober, wanted)
    if problems:
        raise SchemaError(problems)
    return bindings


def status_domain(candidate: Candidate | None, operation: Operation, vendor: Vendor) -> str:
    """The status domain that checks a call: the candidate's own, else the group's, else the runtime's."""
    if candidate is not None and candidate.status is not None:
        return candidate.status
    if operation.group in vendor.statuses:
        return operation.group
    # An operator library without statuses of its own stands behind the BLAS handle and shares its codes.
    return "blas" if operation.group == "dnn" and "blas" in vendor.statuses else "runtime"


def probe_items(runtime: Runtime, vendor: Vendor, groups: frozenset[str]) -> list[ProbeItem]:
    """Everything that the schemas say about the `groups` of one SDK, as questions to the compiler."""
    items: list[ProbeItem] = []
    for name, texts in vendor.types.items():
        if name not in runtime.types or runtime.types[name].group in groups:
            items += _alternatives(f"type:{name}", "type", "", texts, provides=name)
    for domain, status in vendor.statuses.items():
        if domain in groups:
            items += _alternatives(f"type:status:{domain}", "type", "", status.type, provides=f"status_{domain}")
            for kind, texts in (("success", status.success), ("not_ready", status.not_ready), ("oom", status.oom)):
                items += _alternatives(f"status:{domain}:{kind}", "constant", f"$status_{domain}", texts)
            params = ((f"$status_{domain}", "status"),)
            items += _alternatives(f"status:{domain}:text", "expr", "const char *", (status.text,), params=params)
    for kind, names in vendor.constants.items():
        type_ = _constant_type(kind, runtime, vendor, groups)
        if type_ is not None:
            for name, texts in names.items():
                items += _alternatives(f"constant:{kind}:{name}", "constant", type_, texts)
    used: dict[str, None] = {}
    operations: list[ProbeItem] = []
    for name, operation in runtime.operations.items():
        if operation.group not in groups:
            continue
        for index, candidate in enumerate(vendor.bindings.get(name, ())):
            used.update(dict.fromkeys(candidate.helpers))
            operations.append(
                ProbeItem(
                    id=f"op:{name}:{index}",
                    returns=_returns(operation, candidate, vendor),
                    params=tuple((param.type, param.name) for param in operation.params),
                    code=candidate.code.value,
                    form=candidate.form,
                    helpers=tuple(f"helper:{helper}" for helper in candidate.helpers),
                    location=candidate.location,
                    locate=candidate.code.locate,
                    group=f"op:{name}",
                    strict_typedefs=vendor.strict_typedefs,
                )
            )
    for name, helper in vendor.helpers.items():
        if name in used:
            code = helper.code
            items.append(ProbeItem(f"helper:{name}", "", (), code.value, "helper", (), code.location, code.locate))
    return items + operations


def _alternatives(
    group: str,
    form: str,
    returns: str,
    texts: Sequence[Text],
    params: tuple[tuple[str, str], ...] = (),
    provides: str = "",
) -> list[ProbeItem]:
    return [
        ProbeItem(
            id=f"{group}:{index}",
            returns=returns,
            params=params,
            code=text.value,
            form=form,  # type: ignore[arg-type]
            helpers=(),
            location=text.location,
            locate=text.locate,
            group=group,
            provides=provides,
        )
        for index, text in enumerate(texts)
    ]


def _constant_type(kind: str, runtime: Runtime, vendor: Vendor, groups: frozenset[str]) -> str | None:
    """The type of a kind of constants; None when it belongs to a group that the SDK lacks."""
    if kind in runtime.types and runtime.types[kind].group not in groups:
        return None
    return f"${kind}" if kind in vendor.types else _FLAGS_TYPE


def _returns(operation: Operation, candidate: Candidate, vendor: Vendor) -> str:
    result = candidate.result or operation.result
    if result in ("status", "state"):
        return f"$status_{status_domain(candidate, operation, vendor)}"
    return operation.returns if result == "value" and operation.returns is not None else "void"


def _existing(report: ProbeReport, group: str, texts: Sequence[Text]) -> tuple[str, ...]:
    return tuple(text.value for index, text in enumerate(texts) if report.verdicts[f"{group}:{index}"].ok)


def _statuses(
    vendor: Vendor,
    groups: frozenset[str],
    report: ProbeReport,
    problems: list[Diagnostic],
    lost_names: set[str],
    depend: Mapping[str, tuple[str, ...]],
    operations: Mapping[str, Operation],
) -> dict[str, Status]:
    """The status domains that are there; what lacks of them goes to `problems` and, by name, to `lost_names`."""
    found = {}
    for domain, status in vendor.statuses.items():
        if domain not in groups:
            continue
        type_ = report.types.get(f"status_{domain}")
        if type_ is None:
            users = [
                name for name, types in depend.items() if f"status_{domain}" in types and operations[name].required
            ]
            what = f"the status type of {domain!r}"
            problems.append(lost(what, status.type, f"type:status:{domain}", report, without(users)))
            lost_names.add(f"status {domain}.type")
            continue
        success = _existing(report, f"status:{domain}:success", status.success)
        if not success:
            problems.append(lost("the success code", status.success, f"status:{domain}:success", report))
            lost_names.add(f"status {domain}.success")
        if not report.verdicts[f"status:{domain}:text:0"].ok:
            problems.append(lost("the text of a status", (status.text,), f"status:{domain}:text", report))
            lost_names.add(f"status {domain}.text")
        found[domain] = Status(
            domain=domain,
            type=type_,
            success=success[0] if success else "",
            not_ready=_existing(report, f"status:{domain}:not_ready", status.not_ready),
            oom=_existing(report, f"status:{domain}:oom", status.oom),
            text_expression=status.text.value,
            macro=status.macro,
        )
    return found


def _constants(
    vendor: Vendor, runtime: Runtime, groups: frozenset[str], report: ProbeReport
) -> dict[str, dict[str, str | None]]:
    found: dict[str, dict[str, str | None]] = {}
    for kind, names in vendor.constants.items():
        if _constant_type(kind, runtime, vendor, groups) is not None:
            found[kind] = {
                name: next(iter(_existing(report, f"constant:{kind}:{name}", texts)), None)
                for name, texts in names.items()
            }
    return found


def _choice(
    operation: Operation,
    vendor: Vendor,
    groups: frozenset[str],
    report: ProbeReport,
    problems: list[Diagnostic],
    depends_on: str | None,
) -> Choice:
    candidates = vendor.bindings.get(operation.name, ())
    if operation.group not in groups:
        return Choice(operation, None, status_domain(None, operation, vendor))
    rejected = []
    for index, candidate in enumerate(candidates):
        verdict = report.verdicts[f"op:{operation.name}:{index}"]
        if not verdict.ok:
            place = verdict.diagnostics[0].location if verdict.diagnostics else candidate.location
            rejected.append(Rejection(candidate, verdict.diagnostics, place))
    chosen = report.chosen.get(f"op:{operation.name}")
    if chosen is None:
        if operation.required and depends_on is None:  # else what it depends on is told
            problems.extend(required_problems(operation, vendor, rejected))
        domain = status_domain(None, operation, vendor)
        return Choice(operation, None, domain, tuple(rejected), depends_on=depends_on)
    candidate = candidates[int(chosen.rpartition(":")[2])]
    verdict = report.verdicts[chosen]
    return Choice(
        operation,
        candidate,
        status_domain(candidate, operation, vendor),
        tuple(rejected),
        tuple(Declaration(use.name, use.header, use.line, use.signature) for use in verdict.declarations),
        verdict.deprecated,
    )


def required_problems(operation: Operation, vendor: Vendor, rejected: Sequence[Rejection]) -> list[Diagnostic]:
    """Why an operation that generated code cannot do without is not there: at least one diagnostic."""
    if not any(rejection.diagnostics for rejection in rejected):
        return [
            Diagnostic(
                vendor.location,
                f"{operation.name} is required, and {vendor.name} has no binding for it",
                f"add one under bindings; it must do this: {operation.doc}",
                rule="sdk-required",
            )
        ]
    return [
        Diagnostic(
            diagnostic.location,
            f"{operation.name} is required, and this SDK refuses its binding: {diagnostic.message}",
            diagnostic.hint or "add a candidate that this SDK's headers allow",
            length=diagnostic.length,
            rule="sdk-required",
        )
        for rejection in rejected
        for diagnostic in rejection.diagnostics
    ]
