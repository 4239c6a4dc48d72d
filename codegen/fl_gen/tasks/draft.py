"""A draft of a vendor file for an SDK that nobody described yet, from its headers and the words of the field."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fl_gen.schema.catalog import Catalog
from fl_gen.schema.errors import FlGenError, quote
from fl_gen.schema.paths import shown
from fl_gen.schema.runtime import Runtime
from fl_gen.schema.scalars import VENDOR
from fl_gen.schema.spec import validate
from fl_gen.schema.vendor_spec import SPEC
from fl_gen.schema.vocabulary import Vocabulary, load_vocabulary
from fl_gen.schema.yaml_loader import loads
from fl_gen.sdk.discover import Discovered, discover, nothing_found
from fl_gen.sdk.headers import read_sdk
from fl_gen.sdk.items import SdkError
from fl_gen.sdk.model import Sdk
from fl_gen.tasks.draft_constants import Constants
from fl_gen.tasks.draft_files import choose_headers, find_libraries, variables
from fl_gen.tasks.draft_model import Draft, GroupDraft, Proposal, Status
from fl_gen.tasks.draft_rank import Ranking
from fl_gen.tasks.draft_survey import Survey, make_surface
from fl_gen.tasks.draft_verify import verified
from fl_gen.tasks.draft_words import pieces
from fl_gen.tasks.draft_yaml import Parts, parts_of, vendor_yaml

_SYMBOLS = 5  # functions by which the library of a group is recognised


@dataclass(frozen=True)
class DraftRequest:
    """What a draft is made from: the roots of one SDK, and a tradition of names or none (then it is guessed)."""

    name: str
    sdk: tuple[str, ...]
    tradition: str | None = None


def vocabulary_of(catalog: Catalog) -> Vocabulary:
    """The words of the field, shipped or the user's."""
    path = catalog.path("vocabulary.yaml", "vocabulary", "vocabulary")
    return load_vocabulary(path, shown(path))


def draft(
    request: DraftRequest,
    runtime: Runtime,
    vocabulary: Vocabulary,
    known: tuple[Discovered, Sdk] | None = None,
) -> Draft:
    """Propose a vendor's groups, types, codes and bindings. Only headers are read; nothing is written.

    `known` are the headers and what they declare, if they were read already.

    SdkError if no header parses, or if no part of the SDK is a runtime.
    """
    found = known[0] if known is not None else discover(request.sdk)
    if not found.headers:
        raise nothing_found(request.sdk, found)
    sdk = known[1] if known is not None else read_sdk(found.headers, found.include_dirs, memory=found.memory)
    codes = {} if _returns_enums(sdk) else variables(found, sdk)
    survey = Survey(make_surface(sdk, codes), vocabulary, runtime)
    prefixes = survey.groups()
    if "runtime" not in prefixes:
        raise _no_runtime(request, survey, found)
    statuses: dict[str, Status] = {}
    for key in list(prefixes):
        status = survey.status(prefixes[key])
        if status is None:
            del prefixes[key]
        else:
            statuses[key] = status
    if "runtime" not in statuses:
        raise _no_runtime(request, survey, found)
    types = survey.types(prefixes)
    finder = Constants(survey, types, prefixes)
    constants = finder.all()
    tradition = request.tradition or guess_tradition(survey)
    ranking = Ranking(survey, prefixes, statuses, types, constants, finder, tradition)
    proposals = {name: ranking.proposals(operation) for name, operation in runtime.operations.items()}
    libraries = find_libraries(request.sdk, found.own_include_dirs)
    groups: dict[str, GroupDraft] = {}
    for key in vocabulary.groups:
        if key in prefixes:
            headers = choose_headers(found, declared_in(key, runtime, proposals))
            calls = [some[0] for name, some in proposals.items() if some and runtime.operations[name].group == key]
            surest = sorted(calls, key=lambda one: -one.confidence)[:_SYMBOLS]
            symbols = [name for one in surest for name in one.functions if name in sdk.functions]
            chosen, guessed = libraries.of(prefixes[key][0], headers, symbols)
            groups[key] = GroupDraft(key, prefixes[key], statuses[key], headers, chosen, guessed)
    made = Draft(
        name=request.name,
        roots=request.sdk,
        include_dirs=found.own_include_dirs,
        defines=found.defines,
        library_dirs=libraries.folders,
        groups=groups,
        types=types,
        constants=constants,
        proposals=proposals,
        version=finder.version(),
        tradition=tradition,
        skipped=tuple(f"{one.name}: {one.reason}" for one in found.skipped),
        macros=frozenset(sdk.macros),
        needs={name: one.needs for name, one in vocabulary.operations.items() if one.needs is not None},
    )
    return verified(made, runtime, found)


@dataclass(frozen=True)
class Drafted:
    """A draft that was written: its file, and what of it could be used."""

    draft: Draft
    parts: Parts
    path: Path
    replaces: bool


def new_vendor(request: DraftRequest, output: Path, catalog: Catalog) -> Drafted:
    """Draft a vendor and write `output`/vendors/NAME/vendor.yaml, once: what is there is never touched.

    FlGenError for a name that no vendor can have, for a folder that is there, and for an SDK that cannot be drafted.
    """
    from fl_gen.output.once import create_once

    require_name(request.name)
    vocabulary = vocabulary_of(catalog)
    if request.tradition is not None and request.tradition not in vocabulary.traditions:
        known = ", ".join(vocabulary.traditions)
        raise FlGenError(f"--like {quote(request.tradition)} is no way of naming that is known\n  = one of {known}")
    for root in request.sdk:
        if root.partition(":")[0] == "sim" and not os.path.exists(root):
            raise FlGenError(
                f"--sdk {root}: a draft is made from headers on the disk\n"
                "  = name their folder; fl-gen sim build VENDOR --out DIR writes those of a simulated SDK"
            )
    folder = output / "vendors" / request.name
    if os.path.lexists(folder):
        raise FlGenError(
            f"{shown(folder)} is there already, and a draft never replaces what somebody wrote\n"
            "  = choose another name or --output, or move it away"
        )
    runtime = catalog.runtime()
    made = draft(request, runtime, vocabulary)
    parts = parts_of(made, runtime)
    text = vendor_yaml(made, runtime, parts)
    validate(SPEC, loads(text, shown(folder / "vendor.yaml")), "a vendor file")
    created, _ = create_once(folder, {"vendor.yaml": text})
    if not created:
        raise FlGenError(f"{shown(folder)}: somebody made it while the draft was written\n  = move it away")
    return Drafted(made, parts, folder / "vendor.yaml", request.name in catalog.vendors())


def require_name(name: str) -> None:
    """FlGenError for a name that a vendor file would be refused with."""
    hint = VENDOR.hint or ""
    if re.fullmatch(VENDOR.pattern or "", name) and VENDOR.refine is not None:
        try:
            VENDOR.refine(name)
            return
        except ValueError as error:
            hint = str(error)
    raise FlGenError(f"{quote(name)} cannot be the name of a vendor\n  = {hint}")


def declared_in(key: str, runtime: Runtime, proposals: Mapping[str, tuple[Proposal, ...]]) -> Counter[str]:
    """The headers that declare what a group's best proposals call, each as often as it does."""
    headers: Counter[str] = Counter()
    for name, found in proposals.items():
        if runtime.operations[name].group == key and found:
            headers[found[0].at.rpartition(":")[0]] += 1
    return headers


def _returns_enums(sdk: Sdk) -> bool:
    """Whether most functions return an enum: then no variable is needed to name its values."""
    votes = Counter(one.canonical_returns for one in sdk.functions.values() if one.canonical_returns != "void")
    return bool(votes) and votes.most_common(1)[0][0] in sdk.enums


def guess_tradition(survey: Survey) -> str:
    """The way of naming whose words stand in most names of functions."""
    names = [set(pieces(name)) for name in survey.surface.sdk.functions]
    votes = {
        tradition: sum(len(name & set(words)) for name in names)
        for tradition, words in survey.vocabulary.traditions.items()
    }
    return max(votes, key=lambda one: votes[one]) if votes else ""


def _no_runtime(request: DraftRequest, survey: Survey, found: Discovered) -> SdkError:
    clusters = sorted(survey.surface.clusters.values(), key=lambda one: -len(one.functions))[:3]
    seen = ", ".join(f"{one.prefix}* ({len(one.functions)} functions)" for one in clusters) or "no function"
    where = ", ".join(os.fspath(root) for root in request.sdk)
    return SdkError(
        f"{where}: nothing in {', '.join(found.own_headers[:5])} looks like a device runtime: found {seen}",
        "name the folder that holds the runtime's headers with --sdk too, or write vendor.yaml by hand",
    )
