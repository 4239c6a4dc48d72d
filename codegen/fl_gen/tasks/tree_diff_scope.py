"""Which trees a diff is about: those of fl-gen.yaml, else those on the disk, else those that were named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fl_gen.output.manifest import load
from fl_gen.schema.catalog import TORCH
from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import shown
from fl_gen.tasks.tree_diff import Scope
from fl_gen.workflow.project import above, find_project
from fl_gen.workflow.request import Request, tree_of


@dataclass(frozen=True)
class Options:
    """What the command line says."""

    vendors: tuple[str, ...]
    sdk: tuple[str, ...]
    schema_dirs: tuple[Path, ...]
    template_dirs: tuple[Path, ...]
    tree: Path
    formatted: bool
    config: Path | None
    cache: Path | None
    upgrade: bool = False


def scope_of(options: Options) -> Scope:
    """The requests. Raises FlGenError when there is none, or when an option contradicts fl-gen.yaml."""
    project = find_project(options.config)
    if project is not None:
        given = {
            "--sdk": bool(options.sdk),
            "--schemas": bool(options.schema_dirs),
            "--templates": bool(options.template_dirs),
            "--no-format": not options.formatted,
        }
        extra = [name for name, one in given.items() if one]
        if extra:
            raise FlGenError(
                f"{extra[0]}: {shown(project.path)} says that for every vendor\n"
                "  = leave the option out, or change the file"
            )
        if not options.upgrade:
            project.require_version()
        # A report names trees, and what it names can be asked for.
        vendors = dict(zip(project.trees, project.project.vendors, strict=True))
        names = tuple(vendors.get(name, name) for name in options.vendors)
        return Scope(project.requests(names, options.cache), names, project.path)
    there = _on_disk(options.tree)
    names = tuple(_folder(name, there) for name in options.vendors) or there
    if not names:
        raise FlGenError(
            f"there is neither fl-gen.yaml nor anything generated in {shown(options.tree) or '.'}\n"
            f"  = {above()}name the vendors, as fl-gen diff mlu --sdk sim, or write fl-gen.yaml with fl-gen init"
        )
    return Scope(tuple(_request(options, name) for name in dict.fromkeys(names)), options.vendors)


def _on_disk(tree: Path) -> tuple[str, ...]:
    try:
        folders = sorted((tree / "generated").iterdir())
    except OSError:
        return ()
    return tuple(one.name for one in folders if not one.is_symlink() and (one / "manifest.json").is_file())


def _folder(name: str, there: Sequence[str]) -> str:
    """The folder that a person means: of that name, or the package for PyTorch if that is all the vendor has."""
    package = tree_of(name, TORCH)
    return package if name not in there and package in there else name


def _request(options: Options, name: str) -> Request:
    """What `fl-gen backend` would be asked for the folder `name`; what it does not say comes from its manifest."""
    sdk, vendor, framework, formatted = options.sdk, name, "infinitrain", options.formatted
    try:
        manifest: Any = load(options.tree / "generated" / name) if "/" not in name and name not in ("", "..") else None
    except FlGenError:
        manifest = None  # told when it is compared
    if manifest is not None and tree_of(manifest.vendor, manifest.framework) == name:
        vendor, framework = manifest.vendor, manifest.framework
    if manifest is not None:
        formatted = formatted and manifest.inputs.get("clang-format") != "none"
        if not sdk and manifest.sdk.get("simulated"):
            sdk = ("sim",)
    return Request(
        vendor=vendor,
        framework=framework,
        sdk=sdk,
        output=options.tree,
        schema_dirs=options.schema_dirs,
        template_dirs=options.template_dirs,
        cache=options.cache,
        formatted=formatted,
    )
