"""What a generated tree was made from, as files and folders that a build system can watch, and what such a run leaves.

Folders stand for what is not there yet: a new file of ops, a schema or template that would lie over a shipped one, a
header that would be found before another, a library. Where such a folder is missing itself, the nearest one that is
there is watched instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen.output.depfile import BuildFiles, leave
from fl_gen.schema.catalog import Catalog
from fl_gen.workflow.generate import prepare, template_roots
from fl_gen.workflow.request import is_simulated

if TYPE_CHECKING:
    from fl_gen.workflow.generate import Outcome, Prepared, Resolved
    from fl_gen.workflow.request import Request

_PACKAGE = Path(__file__).resolve().parents[1]
# What is emitted depends on these, too; an update writes them anew.
_LIBRARIES = ("jinja2", "markupsafe", "yaml", "clang", "clang_format", "black")


def inputs_of(request: Request, prepared: Prepared, catalog: Catalog | None = None) -> tuple[str, ...]:
    """Every file and folder that decides what `request` makes, absolute and sorted, without the compiler's headers.

    `catalog` is that of the request's schema folders, if they have been read.
    """
    catalog = catalog or Catalog(request.schema_dirs)
    found = {
        *_schemas(request, catalog),
        *_templates(request),
        *_sdk(request, prepared.resolved),
        *(prepared.torch.files if prepared.torch is not None else ()),
        *generator_files(),
        str(request.backends / "kernels.yaml"),  # which the run itself may be about to make
    }
    return tuple(sorted(os.path.abspath(path) for path in found))


def generator_files() -> Iterator[str]:
    """The generator's own modules and one file of each library that it is built on."""
    for path in _PACKAGE.rglob("*.py"):
        yield str(path)
    for name in _LIBRARIES:
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            yield spec.origin


@dataclass(frozen=True)
class Made:
    """What a build has to know of one vendor: the paths below generated/ and backends/ that were written or are as they
    should be, and `watched`, the answer of `inputs_of`."""

    request: Request
    files: tuple[str, ...]
    created: tuple[str, ...]
    watched: tuple[str, ...]

    @classmethod
    def of(cls, request: Request, outcome: Outcome) -> Made:
        """That of a run that has just ended."""
        prepared = outcome.prepared
        return cls(request, tuple(prepared.files), outcome.created, inputs_of(request, prepared))


def list_outputs(requests: Sequence[Request], form: str) -> str:
    """The list of what a run over `requests` would generate, in `form`. Nothing is written."""
    plain = [replace(request, formatted=False, verify=False) for request in requests]
    return _listing([(request, prepare(request).files) for request in plain], form)


def finish(build: BuildFiles, form: str, made: Sequence[Made], extra: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Leave depfile, list (in `form`) and stamp of a run that succeeded; `extra` are inputs that no request knows, as
    the project file. Raises DepfileError or PublishError; the stamp is then untouched."""
    if not build.wanted:
        return
    inputs = {_standing(Path(path)) for path in (*extra, *(path for one in made for path in one.watched))}
    created = [str(one.request.backends / path) for one in made for path in one.created]
    leave(build, inputs, created, _listing([(one.request, one.files) for one in made], form))


def _listing(made: Iterable[tuple[Request, Iterable[str]]], form: str) -> str:
    """All generated files: `lines`, one each, or `cmake`, as one list.

    A build system removes its outputs when it cleans, so the once-files below backends/ are none.
    """
    paths = sorted(str(request.generated / path) for request, files in made for path in files)
    if form == "cmake":
        return ";".join(path.replace("\\", "/").replace(";", "\\;") for path in paths)
    return "".join(f"{path}\n" for path in paths)


def _schemas(request: Request, catalog: Catalog) -> Iterator[str]:
    """The schema files that were read, and the folders in which another one would have been."""
    yield from (str(path) for path in catalog.files(request.vendor, request.framework))
    api = catalog.api_path(request.vendor)
    if api is not None and is_simulated(request.sdk):
        yield str(api)
    for root in catalog.folders:
        yield str(root)
        # A base is looked for by its name in every folder.
        yield from (str(path) for path in (root / "bases").glob("*/*.yaml"))
        yield from (str(path) for path in (root / "bases").glob("*") if path.is_dir())
        framework = root / "frameworks" / request.framework
        for folder in (root / "vendors" / request.vendor, root / "bases", framework, framework / "ops"):
            yield _standing(folder)


def _templates(request: Request) -> Iterator[str]:
    """Every template of the framework, and the folders."""
    for root in template_roots(request):
        yield str(root)
        for folder, folders, names in os.walk(root / request.framework):
            folders[:] = [name for name in folders if name != "__pycache__"]
            yield folder
            yield from (path for name in names if os.path.isfile(path := os.path.join(folder, name)))


def _sdk(request: Request, resolved: Resolved) -> Iterator[str]:
    """The SDK's headers that were read, and the folders in which its parts were looked for."""
    sdk, layout = resolved.sdk, resolved.schemas.vendor.sdk
    own = [header for header in resolved.report.headers_read if header.sdk and os.path.isfile(header.path)]
    yield from (header.path for header in own)
    if is_simulated(request.sdk):
        return  # made in memory, of api.yaml
    if layout.version is not None:
        headers = [os.path.join(folder, layout.version.header) for folder in sdk.folders]
        yield from (path for path in headers if os.path.isfile(path))
    roots = list(sdk.roots) if request.sdk else [*sdk.roots, *map(os.path.expanduser, layout.roots)]
    for root in roots:
        yield from (_standing(Path(root, part)) for part in ("", *layout.include, *layout.library))
    inner = {os.path.dirname(header.name) for header in own} | {""}
    yield from (_standing(Path(folder, part)) for folder in sdk.folders for part in inner)
    yield from (os.path.dirname(header.path) for header in own)


def _standing(path: Path) -> str:
    """`path`, or where it would be: the nearest folder above it that is there."""
    path = Path(os.path.abspath(path))
    while not os.path.lexists(path) and path.parent != path:
        path = path.parent
    return str(path)
