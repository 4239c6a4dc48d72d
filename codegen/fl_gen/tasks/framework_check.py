"""`fl-gen framework check`: a framework's schema against a source tree of it.

The sources are read in processes of their own. One that takes libclang down with it is told as unread.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fl_gen.schema.catalog import Catalog
from fl_gen.schema.framework import Framework
from fl_gen.schema.location import Location
from fl_gen.schema.paths import shown
from fl_gen.tasks.framework_compare import compare_interface, wanted_types
from fl_gen.tasks.framework_kernels import Abi, KernelComparison, class_types
from fl_gen.tasks.framework_pool import WorkerDied, Workers
from fl_gen.tasks.framework_surface import Surface, read_surface
from fl_gen.tasks.framework_tree import Tree, open_tree
from fl_gen.tasks.framework_units import Job, precompile, read_unit, trivial_types
from fl_gen.tasks.framework_values import Finding, FrameworkCheck, NoVerdict, Place, UnitRead, Unjudged

Progress = Callable[[int, int, str], None]  # how many sources are read, of how many, the one that was read last

# From so many sources on other processes gain more than it costs to start them.
_MANY = 8
_LEVELS = {"error": 0, "warning": 1}


@dataclass(frozen=True)
class CheckRequest:
    """What is checked: the framework, the folder of its sources, and the schema folders of the user.

    `jobs` is the most processes that read at a time.
    """

    framework: str
    source: Path
    schema_dirs: tuple[Path, ...] = ()
    jobs: int = 1


def check_framework(request: CheckRequest, progress: Progress | None = None) -> FrameworkCheck:
    """Everything on which schema and tree, or parts of the tree, disagree.

    Raises NoVerdict when the tree cannot be judged, SchemaError for schemas that are unsound by themselves.
    """
    framework = Catalog(request.schema_dirs).framework(request.framework)
    tree = open_tree(request.source, framework.interface)
    say = progress or (lambda done, total, last: None)
    surface, units, abi = _read(tree, framework, request.jobs, say)
    locate = Locator()
    kernels = KernelComparison(framework, units, surface.types, abi, locate, tree.root)
    findings = compare_interface(framework.interface, surface, tree, locate)
    findings += kernels.findings()
    registered = Counter(one.device or "?" for unit in units for one in unit.registered)
    return FrameworkCheck(
        framework=request.framework,
        tree=shown(tree.root),
        findings=tuple(sorted(findings, key=_order)),
        by_name=kernels.by_name(),
        unjudged=tuple(_unjudged(tree, units, locate)),
        sources=len(tree.sources),
        registered=dict(sorted(registered.items())),
        calls=sum(1 for unit in units for call in unit.calls if not call.why_not),
        absent=tree.absent,
        libclang=surface.libclang,
    )


class Locator:
    """From places of libclang, whose columns count bytes, to locations for people."""

    def __init__(self) -> None:
        self._lines: dict[str, list[bytes]] = {}

    def __call__(self, place: Place) -> Location:
        lines = self._lines.get(place.file)
        if lines is None:
            try:
                lines = Path(place.file).read_bytes().split(b"\n")
            except OSError:
                lines = []
            self._lines[place.file] = lines
        line = lines[place.line - 1] if 0 < place.line <= len(lines) else b""
        before = line[: max(0, place.column - 1)].decode("utf-8", "replace")
        return Location(shown(place.file), max(1, place.line), len(before) + 1 if line else max(1, place.column))


def _order(finding: Finding) -> tuple[int, str, Location]:
    place = finding.tree or finding.schema
    assert place is not None
    return _LEVELS[finding.level], finding.kind, place


def _unjudged(tree: Tree, units: Iterable[UnitRead], locate: Locator) -> Iterator[Unjudged]:
    for file, why in tree.unread.items():
        yield Unjudged(Location(shown(file)), "the source", why)
    for unit in units:
        if unit.unread:
            yield Unjudged(Location(shown(unit.file)), "the source", unit.unread)
        for one in unit.registered:
            if one.function is None:
                yield Unjudged(locate(one.place), f"the kernel {one.kernel}", one.why_not)
        for place, why in unit.lost:
            yield Unjudged(locate(place), "the registration", why)
        for call in unit.calls:
            if call.why_not:
                yield Unjudged(locate(call.place), "the call", call.why_not)


# -- reading, in this process or in others ------------------------------------------------------------------------


def _read(tree: Tree, framework: Framework, jobs: int, progress: Progress) -> tuple[Surface, list[UnitRead], Abi]:
    """The interface's headers, all sources, and how their types travel."""
    interface = framework.interface
    types = list(wanted_types(framework))
    dispatch = interface.kernels.dispatch
    with tempfile.TemporaryDirectory(prefix="fl-gen-") as folder:
        job = Job(tree, dispatch, os.path.join(folder, "prefix.pch"))
        if len(tree.sources) < _MANY:
            surface = read_surface(tree, interface, types)
            precompile(tree, job.precompiled)
            units = []
            for number, file in enumerate(tree.sources, 1):
                units.append(read_unit(job, file))
                progress(number, len(tree.sources), file)
            return surface, units, Abi(trivial_types(job, class_types(units)))
        with Workers(max(1, jobs)) as workers:
            try:
                ready = workers.submit(precompile, tree, job.precompiled)
                headers = workers.submit(read_surface, tree, interface, types)
                ready.result()
                units = _collect(workers, job, tree.sources, progress)
                surface = headers.result()
                return surface, units, Abi(workers.submit(trivial_types, job, class_types(units)).result())
            except WorkerDied as error:
                raise NoVerdict(
                    f"--source {shown(tree.root)}: {error.what} while it read the headers\n"
                    "  = check that the headers are whole; another version of libclang may help"
                ) from error


def _collect(workers: Workers, job: Job, files: Sequence[str], progress: Progress) -> list[UnitRead]:
    """All sources, in their order. The largest are begun first, so that none of them is left alone at the end."""
    ordered = sorted(files, key=lambda file: (-os.path.getsize(file), file))
    reading = {workers.submit(read_unit, job, file): file for file in ordered}
    found: dict[str, UnitRead] = {}
    for future in workers.completed(reading):
        file = reading[future]
        try:
            found[file] = future.result()
        except WorkerDied as error:
            found[file] = UnitRead(file, unread=f"{error.what} while it read this file")
        progress(len(found), len(reading), file)
    return [found[file] for file in sorted(found)]
