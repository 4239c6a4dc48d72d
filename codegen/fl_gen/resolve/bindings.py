"""Ask the SDK's headers, through the probe, which candidate of each binding holds, and choose.

Everything goes into one probe: each type is assumed to be its first candidate, and only if one of those fails is the
probe run again with the next. An SDK of a known release therefore costs one parse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fl_gen.resolve.model import Choice, Declaration, Rejection, Status
from fl_gen.resolve.spelling import portable_types, spell_types
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.runtime import Operation, Runtime
from fl_gen.schema.vendor import Candidate, Text, Vendor
from fl_gen.sdk.probe import ProbeItem, ProbeReport, Verdict

Prober = Callable[[Sequence[ProbeItem]], ProbeReport]

# What a portable constant is when the vendor names no type for its kind: flags.
_FLAGS_TYPE = "unsigned int"


@dataclass(frozen=True)
class Bindings:
    """The outcome for one vendor and one SDK."""

    types: Mapping[str, str]
    statuses: Mapping[str, Status]
    constants: Mapping[str, Mapping[str, str | None]]
    choices: Mapping[str, Choice]
    report: ProbeReport


def choose(runtime: Runtime, vendor: Vendor, groups: frozenset[str], prober: Prober) -> Bindings:
    """Choose a candidate for every operation of `groups`.

    Raises SchemaError with one diagnostic per type, status code or required operation that this SDK does not have.
    """
    candidates = _type_candidates(runtime, vendor, groups)
    rank = dict.fromkeys(candidates, 0)
    while True:
        types = {key: texts[rank[key]].value for key, texts in candidates.items()}
        report = prober(_items(runtime, vendor, groups, types, candidates, rank))
        failed = [key for key in types if not report.verdicts[f"type:{key}"].ok]
        exhausted = [key for key in failed if rank[key] + 1 >= len(candidates[key])]
        if exhausted:
            raise SchemaError(
                [_lost(f"the type {key.removeprefix('status.')!r}", candidates[key], f"type:{key}", report) for key in exhausted]
            )
        if not failed:
            break
        for key in failed:
            rank[key] += 1
    problems: list[Diagnostic] = []
    statuses = _statuses(vendor, groups, types, report, problems)
    constants = _constants(vendor, runtime, groups, report)
    choices = {
        name: _choice(operation, vendor, groups, report, problems) for name, operation in runtime.operations.items()
    }
    if problems:
        raise SchemaError(problems)
    portable = {key: value for key, value in types.items() if not key.startswith("status.")}
    return Bindings(portable, statuses, constants, choices, report)


def status_domain(candidate: Candidate | None, operation: Operation, vendor: Vendor) -> str:
    """The status domain that checks a call: the candidate's own, else the group's, else the runtime's."""
    if candidate is not None and candidate.status is not None:
        return candidate.status
    if operation.group in vendor.statuses:
        return operation.group
    # A library without statuses of its own (an op library behind the BLAS handle) shares that library's.
    return "blas" if operation.group == "dnn" and "blas" in vendor.statuses else "runtime"


def _type_candidates(runtime: Runtime, vendor: Vendor, groups: frozenset[str]) -> dict[str, tuple[Text, ...]]:
    """Every type to settle: portable ones, and each status domain's under `status.<domain>`."""
    found = {
        name: texts
        for name, texts in vendor.types.items()
        if texts and (name not in runtime.types or runtime.types[name].group in groups)
    }
    for domain, status in vendor.statuses.items():
        if domain in groups:
            found[f"status.{domain}"] = status.type
    return found


def _items(
    runtime: Runtime,
    vendor: Vendor,
    groups: frozenset[str],
    types: Mapping[str, str],
    candidates: Mapping[str, tuple[Text, ...]],
    rank: Mapping[str, int],
) -> list[ProbeItem]:
    items = [_text_item(f"type:{key}", "type", "", texts[rank[key]]) for key, texts in candidates.items()]
    for domain, status in vendor.statuses.items():
        if domain not in groups:
            continue
        type_ = types[f"status.{domain}"]
        for kind, texts in (("success", status.success), ("not_ready", status.not_ready), ("oom", status.oom)):
            items += [_text_item(f"status:{domain}:{kind}:{i}", "constant", type_, t) for i, t in enumerate(texts)]
        items.append(_text_item(f"status:{domain}:text", "expr", "const char *", status.text, ((type_, "status"),)))
    for kind, names in vendor.constants.items():
        type_ = _constant_type(kind, runtime, groups, types)
        if type_ is None:
            continue
        for name, texts in names.items():
            items += [_text_item(f"constant:{kind}:{name}:{i}", "constant", type_, t) for i, t in enumerate(texts)]
    for name, operation in runtime.operations.items():
        if operation.group not in groups or not _spellable(operation, types):
            continue
        params = tuple((spell_types(param.type, types), param.name) for param in operation.params)
        for index, candidate in enumerate(vendor.bindings.get(name, ())):
            items.append(
                ProbeItem(
                    id=f"op:{name}:{index}",
                    returns=_returns(operation, candidate, vendor, types),
                    params=params,
                    code=spell_types(candidate.code.value, types),
                    form=candidate.form,
                    helpers=tuple(spell_types(vendor.helpers[h].code.value, types) for h in candidate.helpers),
                    location=candidate.location,
                    locate=candidate.code.locate,
                )
            )
    return items


def _text_item(
    id_: str, form: str, returns: str, text: Text, params: tuple[tuple[str, str], ...] = ()
) -> ProbeItem:
    return ProbeItem(
        id=id_, returns=returns, params=params, code=text.value, form=form, helpers=(), location=text.location, locate=text.locate
    )


def _spellable(operation: Operation, types: Mapping[str, str]) -> bool:
    texts = [param.type for param in operation.params] + ([operation.returns] if operation.returns else [])
    return all(name in types for text in texts for name in portable_types(text))


def _constant_type(
    kind: str, runtime: Runtime, groups: frozenset[str], types: Mapping[str, str]
) -> str | None:
    """The type of a kind of constants; None when it belongs to a group that the SDK lacks."""
    if kind in types:
        return types[kind]
    if kind in runtime.types and runtime.types[kind].group not in groups:
        return None
    return _FLAGS_TYPE


def _returns(operation: Operation, candidate: Candidate, vendor: Vendor, types: Mapping[str, str]) -> str:
    result = candidate.result or operation.result
    if result in ("status", "state"):
        return types[f"status.{status_domain(candidate, operation, vendor)}"]
    if result == "value" and operation.returns is not None:
        return spell_types(operation.returns, types)
    return "void"


def _statuses(
    vendor: Vendor,
    groups: frozenset[str],
    types: Mapping[str, str],
    report: ProbeReport,
    problems: list[Diagnostic],
) -> dict[str, Status]:
    found = {}
    for domain, status in vendor.statuses.items():
        if domain not in groups:
            continue

        def existing(kind: str, texts: tuple[Text, ...], domain: str = domain) -> tuple[str, ...]:
            return tuple(t.value for i, t in enumerate(texts) if report.verdicts[f"status:{domain}:{kind}:{i}"].ok)

        success = existing("success", status.success)
        if not success:
            problems.append(_lost("the success code", status.success, f"status:{domain}:success:0", report))
        text = report.verdicts[f"status:{domain}:text"]
        if not text.ok:
            problems.append(_lost("the text of a status", (status.text,), f"status:{domain}:text", report))
        found[domain] = Status(
            domain=domain,
            type=types[f"status.{domain}"],
            success=success[0] if success else "",
            not_ready=existing("not_ready", status.not_ready),
            oom=existing("oom", status.oom),
            text_expression=status.text.value,
            macro=status.macro,
        )
    return found


def _constants(
    vendor: Vendor, runtime: Runtime, groups: frozenset[str], report: ProbeReport
) -> dict[str, dict[str, str | None]]:
    found: dict[str, dict[str, str | None]] = {}
    for kind, names in vendor.constants.items():
        if kind in runtime.types and runtime.types[kind].group not in groups:
            continue
        found[kind] = {
            name: next(
                (t.value for i, t in enumerate(texts) if report.verdicts[f"constant:{kind}:{name}:{i}"].ok), None
            )
            for name, texts in names.items()
        }
    return found


def _choice(
    operation: Operation, vendor: Vendor, groups: frozenset[str], report: ProbeReport, problems: list[Diagnostic]
) -> Choice:
    candidates = vendor.bindings.get(operation.name, ())
    if operation.group not in groups:
        return Choice(operation, None, status_domain(None, operation, vendor))
    good: list[tuple[Candidate, Verdict]] = []
    rejected = []
    for index, candidate in enumerate(candidates):
        verdict = report.verdicts.get(f"op:{operation.name}:{index}")
        if verdict is not None and verdict.ok:
            good.append((candidate, verdict))
        elif verdict is not None:
            first = verdict.diagnostics[0].location if verdict.diagnostics else candidate.location
            rejected.append(Rejection(candidate, tuple(d.message for d in verdict.diagnostics), first))
    good.sort(key=lambda pair: pair[1].deprecated)
    if not good:
        if operation.required:
            problems.extend(_required(operation, vendor, rejected))
        return Choice(operation, None, status_domain(None, operation, vendor), tuple(rejected))
    candidate, verdict = good[0]
    return Choice(
        operation,
        candidate,
        status_domain(candidate, operation, vendor),
        tuple(rejected),
        tuple(Declaration(d.name, d.header, d.line) for d in verdict.declarations),
        verdict.deprecated,
    )


def _required(operation: Operation, vendor: Vendor, rejected: list[Rejection]) -> list[Diagnostic]:
    if not rejected:
        return [
            Diagnostic(
                vendor.location,
                f"{operation.name} is required and {vendor.name} has no binding for it",
                f"add one under bindings: it must {operation.doc[0].lower()}{operation.doc[1:]}",
            )
        ]
    return [
        Diagnostic(
            rejection.location,
            f"{operation.name} is required, and this SDK refuses the binding: {'; '.join(rejection.reasons)}",
            "add a candidate that this SDK's headers allow",
        )
        for rejection in rejected
    ]


def _lost(what: str, texts: tuple[Text, ...], id_: str, report: ProbeReport) -> Diagnostic:
    tried = ", ".join(text.value for text in texts)
    reasons = "; ".join(diagnostic.message for diagnostic in report.verdicts[id_].diagnostics)
    return Diagnostic(
        texts[-1].location,
        f"this SDK does not have {what} (tried {tried}): {reasons}",
        "add this release's spelling to the vendor schema",
    )
