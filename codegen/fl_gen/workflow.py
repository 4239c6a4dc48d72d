"""One run from a request to a tree: the only place where schemas, SDK, rendering and disk meet.

The command line calls these functions and prints what they return.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen import __version__
from fl_gen.output.manifest import MANIFEST_NAME, FileRecord, Manifest, ManifestError, digest, load
from fl_gen.output.plan import Plan, make_plan
from fl_gen.resolve.model import Backend
from fl_gen.schema.catalog import Catalog, Schemas
from fl_gen.schema.errors import Diagnostic, FlGenError, SchemaError, quote
from fl_gen.schema.paths import data_dir, shown
from fl_gen.sdk.items import ProbeReport

if TYPE_CHECKING:
    from fl_gen.render.verify import Verified
    from fl_gen.schema.kernels import NativeKernel
    from fl_gen.schema.vendor import Vendor


# C++ files of a backend after which clang-format begins with them, about half.
_FIRST_BATCH = 48


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    `sdk` are paths, or the one word `sim` or `sim:VERSION`; empty means the vendor's environment variables and default
    places. `output` is the folder that holds `generated/` and `backends/`. `require` names groups of the SDK that must
    be there. `cache` None turns fl-gen's caches off.
    """

    vendor: str
    framework: str = "infinitrain"
    sdk: tuple[str, ...] = ()
    output: Path = field(default_factory=Path)
    require: tuple[str, ...] = ()
    schema_dirs: tuple[Path, ...] = ()
    template_dirs: tuple[Path, ...] = ()
    cache: Path | None = None
    formatted: bool = True
    verify: bool = False

    @property
    def generated(self) -> Path:
        return self.output / "generated" / self.vendor

    @property
    def backends(self) -> Path:
        return self.output / "backends" / self.vendor


@dataclass(frozen=True)
class Resolved:
    """A backend model, the report of the probe behind it, and the SDK that it was made for."""

    schemas: Schemas
    backend: Backend
    report: ProbeReport
    sdk: FoundSdk


@dataclass(frozen=True)
class Prepared:
    """Everything in memory, nothing written: what each file will hold."""

    resolved: Resolved
    files: dict[str, str]
    once: dict[str, str]
    manifest: Manifest
    verified: Verified | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run did: the plan that was published and the once-files that were made or left alone."""

    prepared: Prepared
    plan: Plan
    created: tuple[str, ...]
    kept: tuple[str, ...]


class EditedError(FlGenError):
    """Files under generated/ were changed by hand; the run would lose that."""


def resolve_request(request: Request) -> Resolved:
    """Load the schemas, find and check the SDK, choose every binding."""
    from fl_gen.resolve.backend import resolve
    from fl_gen.schema.kernels import load_native_kernels
    from fl_gen.sdk.cache import Cache
    from fl_gen.sdk.items import ProbeItem
    from fl_gen.sdk.probe import probe

    catalog = Catalog(request.schema_dirs)
    schemas = catalog.load(request.vendor, request.framework)
    sdk = find_sdk_of(request, schemas.vendor, catalog)
    schemas = replace(schemas, vendor=schemas.vendor.fitted(sdk.has_header))
    cache = Cache(request.cache) if request.cache is not None else None
    headers = sdk.headers(schemas.vendor)

    def prober(items: Sequence[ProbeItem]) -> ProbeReport:
        return probe(items, headers, sdk.include_dirs, cache=cache, memory=sdk.memory)

    listing = request.backends / "kernels.yaml"
    native = load_native_kernels(listing, shown(listing)).kernels if os.path.lexists(listing) else None
    backend, report = resolve(schemas, sdk.groups, sdk.version, sdk.simulated, sdk.libraries_missing, prober, native)
    _require_sources(request, schemas.vendor, native or ())
    return Resolved(schemas, backend, report, sdk)


def _require_sources(request: Request, vendor: Vendor, kernels: Sequence[NativeKernel]) -> None:
    """Raise SchemaError for a hand-written kernel whose source is not there: its entry in the router would not link."""
    from fl_gen.resolve.ops import shipped_native

    # A kernel that comes with the vendor is made anew when it was deleted.
    made = {kernel.file for kernel in shipped_native(vendor)}
    folder = request.backends / "kernels"
    missing = [kernel for kernel in kernels if kernel.file not in made and not (folder / kernel.file).is_file()]
    if missing:
        raise SchemaError(
            Diagnostic(
                kernel.location,
                f"{kernel.op}: there is no file {shown(folder / kernel.file)}",
                f"write it (fl-gen kernel new {request.vendor} {kernel.op} makes a skeleton), or remove the entry",
                rule="kernel",
            )
            for kernel in missing
        )


def prepare(request: Request) -> Prepared:
    """Render every file of the backend. Nothing is written."""
    from fl_gen.render.formatter import PINNED_VERSION, TreeFormatter
    from fl_gen.render.infinitrain import render_infinitrain

    resolved = resolve_request(request)
    roots = template_roots(request)
    compiled = request.cache / "templates" if request.cache is not None else None
    if request.formatted:
        styles = [root / request.framework / "clang-format.yaml" for root in roots]
        style = next(path for path in styles if path.is_file()).read_text(encoding="utf-8")
        cache = request.cache / "format" if request.cache is not None else None
        with TreeFormatter(style, cache, _FIRST_BATCH) as formatter:
            rendered = render_infinitrain(resolved.backend, roots, compiled, formatter)
    else:
        rendered = render_infinitrain(resolved.backend, roots, compiled)
    files, once = rendered.generated, rendered.once
    verified = None
    if request.verify:
        from fl_gen.render.verify import Sources, verify

        sources = Sources(rendered.sources, tuple(root / request.framework for root in roots), request.generated)
        verified = verify(files, resolved.backend, sources, resolved.sdk.include_dirs, resolved.sdk.memory)
    manifest = Manifest(
        generator=__version__,
        vendor=request.vendor,
        framework=request.framework,
        sdk={
            "name": resolved.backend.sdk.name,
            "version": resolved.backend.sdk.version,
            "simulated": resolved.backend.sdk.simulated,
            "groups": list(resolved.backend.sdk.groups),
            "headers": resolved.backend.sdk.digest,
        },
        inputs={
            "schemas": _digest_files(Catalog(request.schema_dirs).files(request.vendor, request.framework)),
            "templates": _digest_templates(roots, request.framework),
            "clang-format": PINNED_VERSION if request.formatted else "none",
        },
        files={
            path: FileRecord(digest(text), rendered.sources[path][0], rendered.sources[path][1])
            for path, text in files.items()
        },
    )
    return Prepared(resolved, {**files, MANIFEST_NAME: manifest.to_text()}, once, manifest, verified)


def template_roots(request: Request) -> tuple[Path, ...]:
    """The template folders, a user's before the shipped one. Raises FlGenError for one that is none."""
    for folder in request.template_dirs:
        if not folder.is_dir():
            raise FlGenError(
                f"--templates {shown(folder)}: no such folder\n  = name a folder that holds {request.framework}/"
            )
        if not (folder / request.framework).is_dir():
            raise FlGenError(
                f"--templates {shown(folder)}: it holds no folder {request.framework}\n"
                f"  = lay it out as the shipped templates: {request.framework}/<path of the generated file>.j2"
            )
    return (*request.template_dirs, data_dir() / "templates")


def plan_of(request: Request, prepared: Prepared) -> Plan:
    """What publishing `prepared` would do to the disk. Raises ManifestError for a folder of another vendor."""
    manifest = load(request.generated)
    if manifest is not None and manifest.vendor != request.vendor:
        raise ManifestError(
            f"{request.generated / MANIFEST_NAME}:1:1: this is the manifest of {quote(manifest.vendor)}, "
            f"in the folder of {request.vendor}\n  = move the folder away and generate again"
        )
    return make_plan(request.generated, prepared.files, manifest)


def generate(request: Request, overwrite: bool = False) -> Outcome:
    """Make the vendor's tree. Raises EditedError, and writes nothing, if a hand edit would be lost."""
    from fl_gen.output.publish import locked, publish, recover, staged_once

    prepared = prepare(request)
    with locked(request.output):
        recover(request.generated)
        plan = plan_of(request, prepared)
        if plan.refused and not overwrite:
            raise _edited(request, plan)
        with staged_once(request.backends, prepared.once) as place:
            publish(plan)
            created, kept = place()
    return Outcome(prepared, plan, tuple(created), tuple(kept))


@dataclass(frozen=True)
class Scaffold:
    """The skeleton that was written, and the kernels.yaml that lists it."""

    path: Path
    listing: Path
    listed_new: bool


def scaffold(request: Request, op: str) -> Scaffold:
    """Write the skeleton of a hand-written kernel of `op` and add one line to kernels.yaml.

    Raises FlGenError for an unknown op, a view, or a kernel that is there already; nothing is written then.
    """
    from fl_gen.output.publish import locked, replace_file, staged_once
    from fl_gen.render.environment import FileRender, environment_for, render_file
    from fl_gen.render.infinitrain import base_context
    from fl_gen.render.kernels import scaffold_file
    from fl_gen.schema.kernels import empty_listing, with_entry
    from fl_gen.schema.suggest import suggestion

    resolved = resolve_request(request)
    backend = resolved.backend
    names = [resolved_op.name for resolved_op in backend.ops]
    if op not in names:
        hint = suggestion(op, names)
        raise FlGenError(f"{request.framework} has no kernel '{op}'" + (f"\n  = {hint}" if hint else ""))
    if any(known.name == op and known.native is not None for known in backend.ops):
        raise FlGenError(f"{op} is in {shown(request.backends / 'kernels.yaml')} already: there is nothing to scaffold")
    try:
        file = scaffold_file(backend, op)
    except ValueError as error:
        raise FlGenError(str(error)) from error
    roots = tuple(root / request.framework for root in template_roots(request))
    environment = environment_for(roots)
    merged = FileRender(file.template, file.path, {**base_context(backend), **file.context}, file.nodes)
    text = render_file(environment, merged)
    listing = request.backends / "kernels.yaml"
    with locked(request.output):
        listed_new = not os.path.lexists(listing)
        # Bytes, not text mode: a person's line ends stay.
        before = empty_listing() if listed_new else listing.read_bytes().decode("utf-8")
        after = with_entry(before, shown(listing), op, Path(file.path).name)
        if os.path.lexists(request.backends / file.path):
            raise FlGenError(
                f"{shown(request.backends / file.path)}: there is a file of that name already\n"
                f"  = list it yourself in {shown(listing)}, or move it away"
            )
        with staged_once(request.backends, {file.path: text}) as place:
            created, _ = place()
            try:
                replace_file(listing, after)
            except BaseException:
                for path in created:
                    (request.backends / path).unlink()
                raise
    return Scaffold(request.backends / file.path, listing, listed_new)


_IN_MEMORY = "/__fl_gen_"  # how the paths of files begin that are on no disk
_DEFINES_ROOT, _DEFINES_HEADER = f"{_IN_MEMORY}defines__", "fl_gen_defines.h"


@dataclass(frozen=True)
class FoundSdk:
    """An SDK that is there, installed or simulated, before anything is asked of it.

    `memory` holds the headers of a simulated one by absolute path, and a header with the macros that the SDK's headers
    want defined. `libraries` maps each library to its file or None; it is empty for a simulated SDK whose libraries are
    not built.
    """

    groups: frozenset[str]
    include_dirs: tuple[str, ...]
    memory: dict[str, str]
    version: str | None
    simulated: bool
    title: str
    origin: str
    roots: tuple[str, ...] = ()
    libraries: Mapping[str, str | None] = field(default_factory=dict)

    def has_header(self, name: str) -> bool:
        """Whether one of the include folders holds the header."""
        paths = [os.path.join(folder, name) for folder in self.include_dirs]
        return any(path in self.memory or os.path.isfile(path) for path in paths)

    def headers(self, vendor: Vendor) -> tuple[str, ...]:
        """The headers of the groups that are there, in the order in which they are included."""
        first = (_DEFINES_HEADER,) if vendor.sdk.defines else ()
        return (*first, *(name for key, group in vendor.groups.items() if key in self.groups for name in group.headers))

    @property
    def folders(self) -> tuple[str, ...]:
        """The include folders that are on the disk."""
        return tuple(folder for folder in self.include_dirs if not folder.startswith(_IN_MEMORY))

    @property
    def libraries_missing(self) -> tuple[str, ...]:
        return tuple(name for name, path in self.libraries.items() if path is None)


def is_simulated(sdk: Sequence[str]) -> bool:
    """Whether `--sdk` asks for the simulated SDK."""
    return len(sdk) == 1 and (sdk[0] == "sim" or sdk[0].startswith("sim:"))


def find_sdk_of(request: Request, vendor: Vendor, catalog: Catalog) -> FoundSdk:
    """The SDK that a request means. Raises FlGenError when there is none, or when a group that must be there is not."""
    from fl_gen.resolve.backend import required_groups

    simulated = [text for text in request.sdk if is_simulated([text])]
    if simulated and len(request.sdk) > 1:
        raise FlGenError(
            f"--sdk {simulated[0]} is a whole SDK and cannot be combined with another --sdk\n"
            f"  = give --sdk {simulated[0]} alone, or only paths"
        )
    sdk = _simulated(request, vendor, catalog) if is_simulated(request.sdk) else _installed(request, vendor)
    missing = sorted(required_groups(vendor, request.require) - sdk.groups)
    if missing:
        raise _missing_group(vendor, sdk, missing[0])
    return _with_defines(sdk, vendor.sdk.defines)


def _with_defines(sdk: FoundSdk, defines: Sequence[str]) -> FoundSdk:
    """The SDK with one more header, in memory, that defines what its headers want defined."""
    if not defines:
        return sdk
    lines = [" ".join(("#define", name, value or "1")) for name, _, value in (text.partition("=") for text in defines)]
    return replace(
        sdk,
        include_dirs=(*sdk.include_dirs, _DEFINES_ROOT),
        memory={**sdk.memory, f"{_DEFINES_ROOT}/{_DEFINES_HEADER}": "\n".join(lines) + "\n"},
    )


def _simulated(request: Request, vendor: Vendor, catalog: Catalog) -> FoundSdk:
    """The simulated SDK's headers, in memory: nothing has to be built to generate code for it."""
    from fl_gen.render.simapi import load_api
    from fl_gen.render.simheaders import render_headers

    path = catalog.api_path(request.vendor)
    if path is None:
        raise FlGenError(
            f"--sdk {request.sdk[0]}: there is no simulated SDK for {request.vendor}: its folder has no api.yaml\n"
            "  = give the path of a real SDK with --sdk"
        )
    api = load_api(path, catalog.folders)
    wanted = request.sdk[0].partition(":")[2]
    version = api.find_version(wanted)
    root = f"{_IN_MEMORY}sim__/{request.vendor}-{version.version}/include"
    headers = render_headers(api, wanted)
    present = frozenset(
        name for name, group in vendor.groups.items() if all(header in headers for header in group.headers)
    )
    return FoundSdk(
        groups=present,
        include_dirs=(root,),
        memory={f"{root}/{name}": text for name, text in headers.items()},
        version=version.version,
        simulated=True,
        title=f"simulated {vendor.sdk.name} {version.version} (a test double)",
        origin="simulated",
    )


def _installed(request: Request, vendor: Vendor) -> FoundSdk:
    from fl_gen.render.simsdk import MARKER_FILE
    from fl_gen.sdk.find import find_sdk

    found = find_sdk(vendor, [Path(path) for path in request.sdk], os.environ)
    return FoundSdk(
        groups=frozenset(found.groups_present),
        include_dirs=tuple(str(folder) for folder in found.include_dirs),
        memory={},
        version=found.version,
        simulated=(found.root / MARKER_FILE).is_file(),
        title=f"{vendor.sdk.name} {found.version or 'of unknown version'} at {found.root}",
        origin=found.origin,
        roots=tuple(str(root) for root in found.roots),
        libraries=found.libraries,
    )


def _missing_group(vendor: Vendor, sdk: FoundSdk, name: str) -> FlGenError:
    group = vendor.groups[name]
    where = ", ".join(sdk.include_dirs)
    return FlGenError(
        f"{sdk.title}: {group.title} is needed, and its header {group.headers[0]} is not in {where}\n"
        f"  = install {group.title}, or point --sdk at an SDK that has it"
    )


def _edited(request: Request, plan: Plan) -> EditedError:
    listed = "\n".join(f"  {request.generated / path}" for path in plan.refused)
    return EditedError(
        f"{len(plan.refused)} file(s) under {request.generated} were changed by hand, and this run would lose that:\n"
        f"{listed}\n"
        "  = move your change to a template, a schema or backends/, or run again with --overwrite to drop it"
    )


def _digest_files(paths: Sequence[Path]) -> str:
    total = hashlib.sha256()
    for path in paths:
        total.update(hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).digest())
    return total.hexdigest()


def _digest_templates(roots: Sequence[Path], framework: str) -> str:
    total = hashlib.sha256()
    for root in roots:
        for path in sorted((root / framework).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                total.update(path.relative_to(root).as_posix().encode("utf-8", "surrogateescape") + b"\0")
                total.update(hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n")).digest())
    return total.hexdigest()
