"""Lets the compiler judge a draft: its file, with every alternative as a candidate, goes through the real probe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fl_gen.resolve.bindings import probe_items
from fl_gen.schema.runtime import Runtime
from fl_gen.schema.spec import validate
from fl_gen.schema.vendor import Vendor
from fl_gen.schema.vendor_spec import SPEC
from fl_gen.schema.yaml_loader import loads
from fl_gen.sdk.discover import Discovered
from fl_gen.sdk.items import ProbeReport, SdkHeaderError
from fl_gen.sdk.probe import probe
from fl_gen.tasks.draft_model import Draft, Proposal
from fl_gen.tasks.draft_yaml import Parts, vendor_yaml

_TRIED = 4  # proposals of an operation that are probed
_VERIFIED = 0.3  # what it is worth, in confidence, that the compiler accepts a proposal
_WORDS = 160  # characters of a refusal


def verified(draft: Draft, runtime: Runtime, found: Discovered) -> Draft:
    """The draft with each proposal marked, in the variant that the compiler accepts, those first that it does.

    Types and constants that it refuses are dropped. If the groups' headers do not parse together nothing is verified.
    """
    trials = {
        name: [
            replace(one, code=code, variants=()) for one in proposals[:_TRIED] if not one.holes for code in _codes(one)
        ]
        for name, proposals in draft.proposals.items()
    }
    groups = {key: group for key, group in draft.groups.items() if group.headers}
    trials = {name: some for name, some in trials.items() if some and runtime.operations[name].group in groups}
    if "runtime" not in groups:
        return draft
    vendor: Vendor = validate(SPEC, loads(vendor_yaml(draft, runtime, Parts(groups, trials, {})), "<draft>"), "a draft")
    headers = [*found.headers[: len(found.defines[:1])], *(name for group in groups.values() for name in group.headers)]
    try:
        report = probe(
            probe_items(runtime, vendor, frozenset(groups)),
            list(dict.fromkeys(headers)),
            found.include_dirs,
            memory=found.memory,
        )
    except SdkHeaderError as error:
        return replace(draft, unverified=error.message.split("\n")[0])
    proposals = {name: _judged(name, some, trials.get(name, []), report) for name, some in draft.proposals.items()}
    types = {
        name: one
        for name, one in draft.types.items()
        if name in report.types or runtime.types[name].group not in groups
    }
    constants = {
        kind: {
            value: one if one and _holds(f"constant:{kind}:{value}:0", report) else None
            for value, one in values.items()
        }
        for kind, values in draft.constants.items()
    }
    return replace(draft, proposals=proposals, types=types, constants=constants)


def _holds(id_: str, report: ProbeReport) -> bool:
    return id_ not in report.verdicts or report.verdicts[id_].ok


def _codes(one: Proposal) -> list[str]:
    return list(dict.fromkeys([one.code, *one.variants]))


def _judged(
    operation: str, proposals: Sequence[Proposal], trials: Sequence[Proposal], report: ProbeReport
) -> tuple[Proposal, ...]:
    """The proposals in the variant that is accepted, ranked anew."""
    verdicts = {(one.functions, one.code): report.verdicts[f"op:{operation}:{at}"] for at, one in enumerate(trials)}
    judged: list[Proposal] = []
    for one in proposals:
        tried = [(code, verdicts[one.functions, code]) for code in _codes(one) if (one.functions, code) in verdicts]
        accepted = next((code for code, verdict in tried if verdict.ok), None)
        if accepted is not None:
            judged.append(replace(one, code=accepted, verified=True))
        elif tried:
            said = tried[0][1].diagnostics[0].message if tried[0][1].diagnostics else "it does not compile"
            judged.append(replace(one, refused=" ".join(said.split())[:_WORDS]))
        else:
            judged.append(one)
    return tuple(sorted(judged, key=lambda one: -(one.confidence + (_VERIFIED if one.verified else 0.0))))
