"""Holds every binding of a vendor against one SDK: what was chosen, what was refused and why, what is lost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fl_gen.resolve.bindings import survey
from fl_gen.resolve.model import Choice, Declaration
from fl_gen.resolve.needs import unusable_groups
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.link import cross_problems
from fl_gen.tasks.sdk_inputs import inputs_of
from fl_gen.tasks.sdk_values import (
    Chosen,
    Coverage,
    FactCheck,
    FactKind,
    GroupCheck,
    HeaderFact,
    OperationCheck,
    Rejected,
    SdkCheck,
    SdkFacts,
    State,
    StrategyUsed,
)
from fl_gen.workflow.generate import Resolved
from fl_gen.workflow.request import Request
from fl_gen.workflow.sdks import FoundSdk, find_sdk_of

if TYPE_CHECKING:
    from fl_gen.schema.location import Location
    from fl_gen.schema.runtime import Runtime
    from fl_gen.schema.vendor import Text, Vendor
    from fl_gen.sdk.items import ProbeItem, ProbeReport
    from fl_gen.tasks.kept import Inputs


def target_name(request: Request) -> str:
    """What a target is called on the command line: VENDOR, or VENDOR@SDK."""
    return f"{request.vendor}@{','.join(request.sdk)}" if request.sdk else request.vendor


def check_sdk(request: Request) -> SdkCheck:
    """Hold the bindings of `request.vendor` against the SDK that `request` names. Nothing is written.

    A required binding that the SDK lost is part of the result. Raises FlGenError when there is no verdict: schemas that
    are not sound, no SDK, a required group that is not there, headers that do not parse.
    """
    return check_with_inputs(request)[0]


def check_with_inputs(request: Request) -> tuple[SdkCheck, Callable[[], Inputs]]:
    """As `check_sdk`, with what gives the state of all that the outcome depends on."""
    from fl_gen.sdk.cache import Cache
    from fl_gen.sdk.probe import probe

    catalog = Catalog(request.schema_dirs)
    runtime, vendor = catalog.runtime(), catalog.vendor(request.vendor)
    problems = cross_problems(vendor, runtime)
    if problems:
        raise SchemaError(problems)
    sdk = find_sdk_of(request, vendor, catalog)
    vendor = vendor.fitted(sdk.has_header)
    headers = sdk.headers(vendor)
    cache = Cache(request.cache) if request.cache is not None else None

    def prober(items: Sequence[ProbeItem]) -> ProbeReport:
        return probe(items, headers, sdk.include_dirs, cache=cache, memory=sdk.memory)

    bindings, lost = survey(runtime, vendor, sdk.groups, prober)
    check = _check(request, runtime, vendor, sdk, bindings.choices, bindings.report, lost, bindings.lost)
    return check, lambda: inputs_of(request, vendor, catalog, sdk, bindings.report)


def check_of(request: Request, resolved: Resolved) -> SdkCheck:
    """What was found out about the SDK when a backend was made for it; nothing is lost then."""
    schemas, choices = resolved.schemas, resolved.backend.choices
    return _check(request, schemas.runtime, schemas.vendor, resolved.sdk, choices, resolved.report, ())


def _check(
    request: Request,
    runtime: Runtime,
    vendor: Vendor,
    sdk: FoundSdk,
    choices: Mapping[str, Choice],
    report: ProbeReport,
    lost: Sequence[Diagnostic],
    lost_names: Collection[str] = (),
) -> SdkCheck:
    unusable = unusable_groups(vendor, sdk.groups, report)
    sdk = replace(sdk, groups=sdk.groups - unusable.keys())
    operations = tuple(_operation(choice, vendor, sdk, report) for choice in choices.values())
    return SdkCheck(
        target=target_name(request),
        vendor=request.vendor,
        title=vendor.title,
        schema_file=vendor.location.file,
        sdk=_sdk_facts(sdk, vendor, report),
        groups=tuple(_groups(vendor, sdk, operations, unusable)),
        operations=operations,
        facts=tuple(_facts(runtime, vendor, sdk, report, lost_names)),
        coverage=Coverage.of(one for one in operations if one.group in sdk.groups),
        lost=tuple(SchemaError(lost).diagnostics) if lost else (),
    )


def _sdk_facts(sdk: FoundSdk, vendor: Vendor, report: ProbeReport) -> SdkFacts:
    return SdkFacts(
        name=vendor.sdk.name,
        version=sdk.version,
        simulated=sdk.simulated,
        title=sdk.title,
        origin=sdk.origin,
        roots=sdk.roots,
        # A simulated SDK that is not built has no folder: its headers are in memory.
        include_dirs=sdk.folders,
        libraries=dict(sdk.libraries),
        headers=tuple(
            HeaderFact(header.name, None if header.path in sdk.memory else header.path, header.digest)
            for header in report.headers_read
            if header.sdk
        ),
        digest=report.sdk_digest,
        libclang=report.libclang,
        compiler_headers=report.resource_headers,
    )


def _groups(
    vendor: Vendor, sdk: FoundSdk, operations: Sequence[OperationCheck], unusable: Mapping[str, tuple[Diagnostic, ...]]
) -> Iterator[GroupCheck]:
    for key, group in vendor.groups.items():
        coverage = Coverage.of(one for one in operations if one.group == key)
        yield GroupCheck(
            key,
            str(group.name),
            group.title,
            group.required,
            key in sdk.groups,
            group.headers,
            group.libraries,
            group.location,
            coverage,
            unusable.get(key, ()),
        )


def _operation(choice: Choice, vendor: Vendor, sdk: FoundSdk, report: ProbeReport) -> OperationCheck:
    operation = choice.operation
    candidates = vendor.bindings.get(operation.name, ())
    present = operation.group in sdk.groups
    index = {id(candidate): number for number, candidate in enumerate(candidates)}
    chosen = None
    if choice.candidate is not None:
        candidate = choice.candidate
        chosen = Chosen(
            index=index[id(candidate)],
            code=candidate.code.value,
            form=candidate.form,
            location=candidate.location,
            certainty=candidate.certainty,
            source=candidate.source,
            note=candidate.note,
            deprecated=choice.deprecated,
            declarations=choice.declarations,
        )
    state: State = "bound"
    if chosen is None:
        left: State = "strategy" if operation.strategy is not None else "left_out"
        state = "absent" if not present else "lost" if operation.required else left
    strategy = operation.strategy if state == "strategy" else None
    verdicts = report.verdicts
    return OperationCheck(
        name=operation.name,
        group=operation.group,
        doc=operation.doc,
        required=operation.required,
        state=state,
        location=vendor.bindings.location_of(operation.name),
        chosen=chosen,
        rejected=tuple(
            Rejected(index[id(one.candidate)], one.candidate.code.value, one.location, one.diagnostics)
            for one in choice.rejected
        ),
        also_fit=tuple(
            number
            for number in range(len(candidates) if present else 0)
            if chosen is not None and number != chosen.index and verdicts[f"op:{operation.name}:{number}"].ok
        ),
        strategy=StrategyUsed(strategy.name, strategy.doc) if strategy is not None else None,
        depends_on=choice.depends_on,
    )


def _facts(
    runtime: Runtime, vendor: Vendor, sdk: FoundSdk, report: ProbeReport, lost: Collection[str]
) -> Iterator[FactCheck]:
    """The types, status codes and constants of the vendor file, in its order. `lost` names those that are lost."""
    for name, texts in vendor.types.items():
        group = runtime.types[name].group
        place = vendor.types.location_of(name)
        yield _fact(f"type:{name}", name, "type", group, f"type {name}" in lost, place, texts, sdk, report)
    for domain, status in vendor.statuses.items():
        parts: tuple[tuple[str, str, bool, tuple[Text, ...]], ...] = (
            (f"type:status:{domain}", "type", True, status.type),
            (f"status:{domain}:success", "success", True, status.success),
            (f"status:{domain}:not_ready", "not_ready", False, status.not_ready),
            (f"status:{domain}:oom", "oom", False, status.oom),
            (f"status:{domain}:text", "text", True, (status.text,)),
        )
        for key, part, required, texts in parts:
            place = texts[0].location if texts else status.location
            yield _fact(
                key, f"{domain}.{part}", "status", domain, required, place, texts, sdk, report, status.source,
                part in ("not_ready", "oom"),
            )  # fmt: skip
    for kind, names in vendor.constants.items():
        group = runtime.types[kind].group if kind in runtime.types else "runtime"
        for name, texts in names.items():
            key, place = f"constant:{kind}:{name}", names.location_of(name)
            need = f"constant {kind}.{name}" in lost
            yield _fact(key, f"{kind}.{name}", "constant", group, need, place, texts, sdk, report)


def _fact(
    key: str,
    name: str,
    kind: FactKind,
    group: str,
    required: bool,
    place: Location,
    texts: Sequence[Text],
    sdk: FoundSdk,
    report: ProbeReport,
    source: str = "",
    every: bool = False,
) -> FactCheck:
    """One thing with its spellings: the probe's choice of a type, the first that exists, or, for `every`, all."""
    if group not in sdk.groups:
        return FactCheck(name, kind, group, required, "absent", place, (), ())
    form = "type" if key.startswith("type:") else "expr" if key.endswith(":text") else "constant"
    chosen: list[Chosen] = []
    rejected: list[Rejected] = []
    for index, text in enumerate(texts):
        verdict = report.verdicts[f"{key}:{index}"]
        if not verdict.ok:
            rejected.append(Rejected(index, text.value, text.location, verdict.diagnostics))
        elif every or (report.chosen.get(key) == f"{key}:{index}" if form == "type" else not chosen):
            uses = tuple(Declaration(use.name, use.header, use.line, use.signature) for use in verdict.declarations)
            chosen.append(
                Chosen(index, text.value, form, text.location, "certain", source, None, verdict.deprecated, uses)
            )
    state: State = "bound" if chosen else "lost" if required else "left_out"
    return FactCheck(name, kind, group, required, state, place, tuple(chosen), tuple(rejected))


__all__ = ["SdkCheck", "check_sdk", "target_name"]
