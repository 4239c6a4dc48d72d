"""One run from a request to a tree: the only place where schemas, SDK, rendering and disk meet."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen import __version__
from fl_gen.output.manifest import MANIFEST_NAME, FileRecord, Manifest, ManifestError, digest, load
from fl_gen.output.plan import Plan, make_plan
from fl_gen.output.policy import Policy
from fl_gen.resolve.model import Backend
from fl_gen.schema.catalog import TORCH, Catalog, Schemas
from fl_gen.schema.errors import Diagnostic, FlGenError, SchemaError, quote
from fl_gen.schema.paths import data_dir, shown
from fl_gen.sdk.items import ProbeReport
from fl_gen.workflow.request import Request
from fl_gen.workflow.sdks import FoundSdk, find_sdk_of

if TYPE_CHECKING:
    from fl_gen.render.formatter import TreeFormatter
    from fl_gen.render.incremental import KeptTexts
    from fl_gen.render.infinitrain import Rendered
    from fl_gen.render.tree import Work
    from fl_gen.render.verify import Verified
    from fl_gen.schema.kernels import NativeKernel
    from fl_gen.schema.vendor import Vendor
    from fl_gen.workflow.torch import TorchRun


# C++ files of a backend after which clang-format begins with them, about half.
_FIRST_BATCH = 48


@dataclass(frozen=True)
class Resolved:
    """A backend model, the report of the probe behind it, and the SDK that it was made for."""

    schemas: Schemas
    backend: Backend
    report: ProbeReport
    sdk: FoundSdk


@dataclass(frozen=True)
class Prepared:
    """Everything in memory, nothing written: what each file will hold, and how much of that was made now.

    `torch` is there for that framework alone.
    """

    resolved: Resolved
    files: dict[str, str]
    once: dict[str, str]
    manifest: Manifest
    work: Work
    verified: Verified | None = None
    torch: TorchRun | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run did: the plan that was published and the once-files that were made or left alone."""

    prepared: Prepared
    plan: Plan
    created: tuple[str, ...]
    kept: tuple[str, ...]


class EditedError(FlGenError):
    """Files under generated/ were changed by hand; the run would lose that."""


def resolve_request(request: Request, catalog: Catalog | None = None) -> Resolved:
    """Load the schemas, find and check the SDK, choose every binding.

    `catalog` has the request's schema folders; several requests with the same ones need not read them anew.
    """
    from fl_gen.resolve.backend import resolve
    from fl_gen.schema.kernels import load_native_kernels
    from fl_gen.sdk.cache import Cache
    from fl_gen.sdk.items import ProbeItem
    from fl_gen.sdk.probe import probe

    catalog = catalog or Catalog(request.schema_dirs)
    schemas = catalog.load(request.vendor, request.framework)
    sdk = find_sdk_of(request, schemas.vendor, catalog)
    schemas = replace(schemas, vendor=schemas.vendor.fitted(sdk.has_header))
    cache = Cache(request.cache) if request.cache is not None else None
    headers = sdk.headers(schemas.vendor)

    def prober(items: Sequence[ProbeItem]) -> ProbeReport:
        return probe(items, headers, sdk.include_dirs, cache=cache, memory=sdk.memory)

    listing = request.backends / "kernels.yaml"
    listed = request.framework != TORCH and os.path.lexists(listing)
    native = load_native_kernels(listing, shown(listing)).kernels if listed else None
    backend, report = resolve(
        schemas, sdk.groups, sdk.version, sdk.simulated, sdk.libraries_missing, prober, native, request.require
    )
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


def prepare(request: Request, catalog: Catalog | None = None) -> Prepared:
    """Render every file of the backend. Nothing is written. `catalog` is that of `resolve_request`."""
    from fl_gen.render.formatter import PINNED_VERSION
    from fl_gen.render.licence import with_licence
    from fl_gen.workflow.overlays import overlay_records

    if request.cache is not None:
        import fl_gen.render.incremental  # noqa: F401  before more code of fl-gen is read than must be: it notes its state

    catalog = catalog or Catalog(request.schema_dirs)
    resolved = resolve_request(request, catalog)
    roots = template_roots(request)
    schemas = catalog.files(request.vendor, request.framework)
    trees = [root / request.framework for root in roots]
    overlays = overlay_records(request.schema_dirs, trees, request.framework, schemas)
    compiled = request.cache / "templates" if request.cache is not None else None
    if request.formatted:
        styles = [root / request.framework / "clang-format.yaml" for root in roots]
        style = next(path for path in styles if path.is_file()).read_text(encoding="utf-8")
        cache = request.cache / "format" if request.cache is not None else None
        kept = _kept_texts(request, PINNED_VERSION, style)
        with _formatter_for(request)(style, cache, _FIRST_BATCH) as formatter:
            rendered, torch = _render(request, resolved.backend, roots, compiled, formatter, kept)
    else:
        kept = _kept_texts(request, "none")
        rendered, torch = _render(request, resolved.backend, roots, compiled, None, kept)
    files = {path: with_licence(path, text, request.licence) for path, text in rendered.generated.items()}
    device = resolved.backend.vendor.device_compiler
    suffix = device.suffix if device is not None else None
    once = {path: with_licence(path, text, request.licence, suffix) for path, text in rendered.once.items()}
    verified = None
    if request.verify:
        from fl_gen.render.verify import Sources, verify

        sources = Sources(rendered.sources, tuple(root / request.framework for root in roots), request.generated)
        sdk = resolved.sdk
        if torch is not None:
            from fl_gen.render.verify_torch import verify_torch

            headers = request.cache / "torch" if request.cache is not None else None
            verified = verify_torch(
                files, resolved.backend, sources, torch.wheel, sdk.include_dirs, sdk.memory, headers
            )
        else:
            verified = verify(files, resolved.backend, sources, sdk.include_dirs, sdk.memory)
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
        inputs=input_digests(request, catalog),
        files={
            path: FileRecord(digest(text), rendered.sources[path][0], rendered.sources[path][1])
            for path, text in files.items()
        },
        overlays=overlays,
    )
    return Prepared(
        resolved, {**files, MANIFEST_NAME: manifest.to_text()}, once, manifest, rendered.work, verified, torch
    )


def _formatter_for(request: Request) -> type[TreeFormatter]:
    """What formats the files of the framework that `request` is for."""
    if request.framework == TORCH:
        from fl_gen.render.python_format import PackageFormatter

        return PackageFormatter
    from fl_gen.render.formatter import TreeFormatter

    return TreeFormatter


def _render(
    request: Request,
    backend: Backend,
    roots: Sequence[Path],
    compiled: Path | None,
    formatter: TreeFormatter | None,
    kept: KeptTexts | None,
) -> tuple[Rendered, TorchRun | None]:
    """The files of the framework that `request` is for, and the PyTorch that they are for if it is that."""
    if request.framework == TORCH:
        from fl_gen.workflow.torch import render_request

        return render_request(request, backend, roots, compiled, formatter, kept)
    from fl_gen.render.infinitrain import render_infinitrain

    return render_infinitrain(backend, roots, compiled, formatter, kept), None


def input_digests(request: Request, catalog: Catalog | None = None, release: str | None = None) -> dict[str, str]:
    """What a manifest records of all that a tree is made from, but for the SDK: that need not be there to ask this.

    `release` is the PyTorch that is taken for granted where none is here. Raises NoTorch.
    """
    from fl_gen.render.formatter import PINNED_VERSION

    catalog = catalog or Catalog(request.schema_dirs)
    return {
        "schemas": _digest_files(catalog.files(request.vendor, request.framework)),
        "templates": _digest_templates(template_roots(request), request.framework),
        "clang-format": PINNED_VERSION if request.formatted else "none",
        **_torch_inputs(request, release),
        **({"licence": digest(request.licence)} if request.licence is not None else {}),
    }


def _torch_inputs(request: Request, release: str | None = None) -> dict[str, str]:
    """What the framework torch adds to that. Raises NoTorch without a PyTorch."""
    if request.framework != TORCH:
        return {}
    from fl_gen.workflow.torch import wheel_inputs

    return wheel_inputs(request, release)


def _kept_texts(request: Request, *formatter: str) -> KeptTexts | None:
    """The texts of this vendor's last run here with the same `formatter`; None without a cache."""
    from fl_gen.render.incremental import KeptTexts

    if request.cache is None:
        return None
    slot = [request.framework, request.vendor, os.path.realpath(request.generated), formatter[0]]
    return KeptTexts(request.cache / "texts", slot, [*formatter, _torch_inputs(request).get("black", "")])


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


def plan_of(request: Request, prepared: Prepared, policy: Policy = Policy.REFUSE) -> Plan:
    """What publishing `prepared` would do to the disk. Raises ManifestError for a folder of another vendor."""
    return plan_files(request, prepared.files, policy)


def plan_files(request: Request, files: Mapping[str, str], policy: Policy = Policy.REFUSE) -> Plan:
    """`plan_of` of the files alone, the manifest among them. Raises UnsettledError for what a killed run left."""
    from fl_gen.output.transaction import require_settled

    require_settled(request.output)
    manifest = load(request.generated)
    if manifest is not None and manifest.vendor != request.vendor:
        raise ManifestError(
            f"{request.generated / MANIFEST_NAME}:1:1: this is the manifest of {quote(manifest.vendor)}, "
            f"in the folder of {request.vendor}\n  = move the folder away and generate again"
        )
    return make_plan(request.generated, files, manifest, policy)


def generate(request: Request, policy: Policy = Policy.REFUSE) -> Outcome:
    """Make the vendor's tree. Raises EditedError, and writes nothing, if a hand edit would be lost."""
    from fl_gen.output.once import staged_once
    from fl_gen.output.publish import publish
    from fl_gen.output.transaction import held

    prepared = prepare(request)
    with held(request.output):
        plan = plan_of(request, prepared, policy)
        require_decided([(request, plan)], policy)
        with staged_once(request.backends, prepared.once) as place:
            publish(plan)
            created, kept = place()
    return Outcome(prepared, plan, tuple(created), tuple(kept))


def require_decided(plans: Sequence[tuple[Request, Plan]], policy: Policy) -> None:
    """Raises EditedError when a plan would lose hand edits about which nobody decided."""
    refused = [(request, plan) for request, plan in plans if plan.refused]
    if not refused or policy is Policy.OVERWRITE:
        return
    listed = "\n".join(f"  {request.generated / path}" for request, plan in refused for path in plan.refused)
    count = sum(len(plan.refused) for _, plan in refused)
    folders = {request.generated.parent if len(refused) > 1 else request.generated for request, _ in refused}
    where = ", ".join(str(folder) for folder in sorted(folders))
    files, were = ("file", "was") if count == 1 else ("files", "were")
    raise EditedError(
        f"{count} {files} under {where} {were} changed by hand, and this run would lose that:\n"
        f"{listed}\n"
        "  = move your change to a template, a schema or backends/; or run again with --merge to have both, "
        "with --keep to leave your files as they are, or with --overwrite to drop your change"
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
