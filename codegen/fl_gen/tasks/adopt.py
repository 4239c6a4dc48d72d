"""`fl-gen adopt`: an existing hand-written backend against what fl-gen would generate. Only reads.

The sources are read in processes of their own: one that takes libclang down with it, or that it does not come to an end
with, is told as unread.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fl_gen.resolve.model import Backend
from fl_gen.schema.errors import FlGenError
from fl_gen.schema.framework import Interface
from fl_gen.schema.location import Location
from fl_gen.schema.paths import shown
from fl_gen.tasks.adopt_faults import ccl_constants, find_faults, sdk_names
from fl_gen.tasks.adopt_files import Files, find_files, source_tree
from fl_gen.tasks.adopt_parts import listing_of, methods_of, ops_of, overridden_nothing
from fl_gen.tasks.adopt_read import Reading, read_source
from fl_gen.tasks.adopt_values import Adoption, Facts
from fl_gen.tasks.framework_check import Locator
from fl_gen.tasks.framework_compare import wanted_types
from fl_gen.tasks.framework_kernels import Abi, class_types
from fl_gen.tasks.framework_pool import WorkerDied, Workers
from fl_gen.tasks.framework_surface import Surface, read_surface
from fl_gen.tasks.framework_tree import Tree
from fl_gen.tasks.framework_units import Job, precompile, trivial_types
from fl_gen.tasks.framework_values import NoVerdict, UnitRead, Unjudged
from fl_gen.workflow.generate import Resolved, resolve_request
from fl_gen.workflow.request import Request

_MOST = 3  # errors of the compiler that are told for one file


@dataclass(frozen=True)
class AdoptRequest:
    """What is read: the vendor's backend in `folder`, held against the SDK and the framework.

    `framework_source` is a checkout of the framework, None for the headers that fl-gen makes from its schema.
    """

    vendor: str
    folder: Path
    sdk: tuple[str, ...] = ()
    framework_source: Path | None = None
    schema_dirs: tuple[Path, ...] = ()
    cache: Path | None = None
    jobs: int = 1
    framework: str = "infinitrain"


def adopt(request: AdoptRequest) -> Adoption:
    """The report. Raises FlGenError when there is no backend in the folder, or no SDK to hold it against."""
    with tempfile.TemporaryDirectory(prefix="fl-gen-") as scratch:
        # An output folder with nothing in it: what is asked is what fl-gen makes before anything was written by hand.
        output = Path(scratch) / "none"
        asked = Request(
            vendor=request.vendor,
            framework=request.framework,
            sdk=request.sdk,
            output=output,
            schema_dirs=request.schema_dirs,
            cache=request.cache or Path(scratch) / "cache",
        )
        _probe(asked)
        resolved = resolve_request(asked)
        backend = resolved.backend
        compiler = backend.vendor.device_compiler
        files = find_files(request.folder, request.vendor, compiler.suffix if compiler is not None else None)
        interface = backend.framework.interface
        if not any(_words(interface).search(text) for text in files.texts.values()):
            raise _nothing(files, ())
        source = source_tree(files, interface, backend.vendor, resolved.sdk, request.framework_source)
        surface, facts, abi = _read(source, files, resolved, os.path.join(scratch, "prefix.pch"), request.jobs)
    if not any(one.read.registered or one.classes for one in facts):
        raise _nothing(files, facts)
    locate = Locator()
    ops = tuple(ops_of(facts, backend, surface.types, abi, locate))
    methods = tuple(methods_of(facts, backend, surface.types, locate))
    faults = {*find_faults(facts, files, backend, locate), *overridden_nothing(methods)}
    return Adoption(
        vendor=request.vendor,
        folder=shown(files.root),
        sdk=resolved.sdk.title,
        framework=shown(request.framework_source) if request.framework_source else "headers made from interface.yaml",
        methods=methods,
        ops=ops,
        faults=tuple(sorted(faults, key=lambda one: (one.place, one.rule, one.message))),
        unjudged=tuple(_unjudged(files, facts, locate)),
        sources=sum(1 for one in facts if not one.read.unread),
        absent=source.absent,
        listing=listing_of(ops, request.vendor),
        libclang=surface.libclang,
    )


def _probe(request: Request) -> None:
    """Read the SDK's headers in another process, which may be stopped, and leave the answer in the cache."""
    with Workers(1) as workers:
        try:
            workers.submit(_try_resolving, request).result()
        except WorkerDied as error:
            raise NoVerdict(
                f"{request.vendor}: {error.what} while it read the SDK's headers\n"
                "  = check that the headers are whole: fl-gen sdk check reads the same ones"
            ) from error


def _try_resolving(request: Request) -> None:
    with contextlib.suppress(FlGenError):  # this process says it, with its place
        resolve_request(request)


def _read(source: Tree, files: Files, resolved: Resolved, target: str, jobs: int) -> tuple[Surface, list[Facts], Abi]:
    backend = resolved.backend
    framework = backend.framework
    job = Job(source, framework.interface.kernels.dispatch, target)
    reading = _reading(job, files, backend, resolved.sdk.include_dirs)
    with Workers(max(1, jobs)) as workers:
        try:
            ready = workers.submit(precompile, source, target)
            types = list(wanted_types(framework))
            surface = workers.submit(read_surface, source, framework.interface, types)
            ready.result()
            futures = {file: workers.submit(read_source, reading, file) for file in source.sources}
            facts = []
            for file, future in futures.items():
                try:
                    facts.append(future.result())
                except WorkerDied as error:
                    facts.append(Facts(UnitRead(file, unread=f"{error.what} while it read this file")))
            names = class_types([one.read for one in facts])
            return surface.result(), facts, Abi(workers.submit(trivial_types, job, names).result())
        except WorkerDied as error:
            raise NoVerdict(
                f"{shown(files.root)}: {error.what} while it read the framework's headers\n"
                "  = check that the headers are whole; another version of libclang may help"
            ) from error


def _reading(job: Job, files: Files, backend: Backend, folders: Sequence[str]) -> Reading:
    interface = backend.framework.interface
    return Reading(
        job=job,
        own=frozenset(files.texts),
        sdk=tuple(folders),
        names=sdk_names(backend),
        statuses=frozenset(status.type for status in backend.statuses.values()),
        stream=str(backend.types.get("stream", "")),
        event=str(backend.types.get("event", "")),
        dtypes=frozenset(ccl_constants(backend)),
        macros=tuple(str(cls.macro) for cls in interface.classes if cls.macro is not None),
        data_type=f"{interface.namespace('root')}::{interface.enum('DataType').name}",
        runtime=backend.vendor.groups["runtime"].headers,
    )


def _words(interface: Interface) -> re.Pattern[str]:
    """What the text of every backend mentions: an interface of the framework, or the macro that registers kernels."""
    names = [cls.name for cls in interface.classes if cls.role == "interface"]
    names += [
        str(interface.kernels.macro),
        *(call.type for call in interface.kernels.dispatch if call.role == "register"),
    ]
    return re.compile(r"\b(?:" + "|".join(map(re.escape, names)) + r")\b")


def _nothing(files: Files, facts: Sequence[Facts]) -> NoVerdict:
    said = [f"{shown(one.file)}: {one.read.unread}" for one in facts if one.read.unread]
    said += [
        f"{shown(complaint.place.file)}:{complaint.place.line}:{complaint.place.column}: {complaint.text}"
        for one in facts
        for complaint in one.complaints[:1]
    ]
    listed = "".join(f"\n  = {text}" for text in said[:_MOST])
    return NoVerdict(
        f"{shown(files.root)}: no class of the framework is overridden in it and no kernel is registered{listed}\n"
        "  = name the folder of a backend, and with --framework-source the framework that it was written for"
    )


def _unjudged(files: Files, facts: Sequence[Facts], locate: Locator) -> Iterator[Unjudged]:
    for file, why in files.unread.items():
        yield Unjudged(Location(shown(file)), "the file", why)
    seen: set[Location] = set()
    counts: Counter[str] = Counter()
    for one in facts:
        if one.read.unread:
            yield Unjudged(Location(shown(one.file)), "the source", one.read.unread)
        for complaint in one.complaints:
            place = locate(complaint.place)
            if complaint.sdk or place in seen:
                continue
            seen.add(place)
            counts[place.file] += 1
            if counts[place.file] <= _MOST:
                yield Unjudged(place, "the code", f"the compiler says: {complaint.text}")
        for lost, why in one.read.lost:
            yield Unjudged(locate(lost), "the registration", why)
    for file, count in counts.items():
        if count > _MOST:
            yield Unjudged(Location(file), "the code", f"and {count - _MOST} more errors of the compiler")
