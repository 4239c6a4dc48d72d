"""The part of `fl-gen doctor` about vendors: their SDKs and device compilers on this machine, and overlays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen.schema.errors import FlGenError
from fl_gen.tasks.doctor_tools import TIMEOUT, Answer, ask, ask_all, ask_path
from fl_gen.tasks.doctor_values import Item, answered, told

if TYPE_CHECKING:
    from fl_gen.schema.vendor import Vendor
    from fl_gen.sdk.find import SdkLocation


def sdks(schema_dirs: Sequence[Path]) -> Iterator[Item]:
    """One item for each vendor of the catalog: its SDK, or why there is none; then device compilers that are there."""
    from fl_gen.schema.catalog import Catalog

    catalog = Catalog([folder for folder in schema_dirs if Path(folder).is_dir()])
    found: dict[str, SdkLocation] = {}
    vendors: dict[str, Vendor] = {}
    for name in catalog.vendors():
        try:
            vendors[name] = catalog.vendor(name)
        except FlGenError as error:
            yield Item(name, "warning", _first(error), f"fl-gen schema check {name}")
    for name, vendor in vendors.items():
        item, location = _sdk(name, vendor)
        if location is not None:
            found[name] = location
        yield item
    yield from _device_compilers(vendors, found)


def _sdk(name: str, vendor: Vendor) -> tuple[Item, SdkLocation | None]:
    from fl_gen.sdk.find import find_sdk
    from fl_gen.workflow.sdks import installed_title

    named = next((variable for variable in vendor.sdk.environment if os.environ.get(variable)), None)
    try:
        location = find_sdk(vendor, ())
    except FlGenError as error:
        first, remedy = told(error)
        if named is not None:  # a place that a person named and that holds none
            return Item(name, "warning", first, remedy, {"sdk": vendor.sdk.name}), None
        places = [f"${variable}" for variable in vendor.sdk.environment] + list(vendor.sdk.roots)
        text = f"no {vendor.sdk.name} in {', '.join(places)}"
        return Item(name, "note", text, "", {"sdk": vendor.sdk.name}), None
    groups = ", ".join(location.groups_present)
    parts = [f"{installed_title(vendor, location)} ({location.origin})"]
    parts.append(f"has {groups}")
    missing = [f"{group} (no {header})" for group, header in location.groups_missing.items()]
    if missing:
        parts.append(f"lacks {', '.join(missing)}")
    remedy = ""
    if location.libraries_missing:
        parts.append(f"libraries not found: {', '.join(location.libraries_missing)}")
        remedy = "programs will not link; checking and generating work"
    details = {
        "sdk": vendor.sdk.name,
        "version": location.version,
        "root": str(location.root),
        "origin": location.origin,
        "groups": groups,
    }
    state = "note" if location.libraries_missing else "ok"
    return Item(name, "note" if state == "note" else "ok", "; ".join(parts), remedy, details), location


def _device_compilers(vendors: dict[str, Vendor], found: dict[str, SdkLocation]) -> Iterator[Item]:

    paths: dict[str, str | None] = {}
    for name, vendor in vendors.items():
        compiler = vendor.device_compiler
        if compiler is None:
            continue
        path = os.path.join(found[name].root, compiler.path) if name in found else None
        if path is not None and os.path.isfile(path):
            paths[name] = path
        elif compiler.name not in ("clang++", "g++", "c++"):  # those are everywhere, and no vendor's
            paths[name] = None

    def question(name: str, path: str | None) -> Answer | None:
        compiler = vendors[name].device_compiler
        assert compiler is not None
        return ask_path(path) if path is not None else ask(str(compiler.name))

    questions = {name: lambda name=name, path=path: question(name, path) for name, path in paths.items()}
    for name, answer in ask_all(questions, 2 * TIMEOUT).items():
        if answer is not None:
            item = answered(f"{name} compiler", answer, f"device kernels of {name}")
            yield Item(
                item.name, "note" if item.state == "warning" else item.state, item.text, item.remedy, item.details
            )


def overlays(schema_dirs: Sequence[Path], template_dirs: Sequence[Path]) -> Iterator[Item]:
    """What folders of a user's own replace, and what they add."""
    from fl_gen.schema.catalog import Catalog
    from fl_gen.schema.paths import data_dir, shown

    for kind, folders in (("schemas", schema_dirs), ("templates", template_dirs)):
        shipped = data_dir() / kind
        for folder in folders:
            if not folder.is_dir():
                yield Item(f"--{kind}", "missing", f"{shown(folder)}: no such folder", "name a folder that is there")
                continue
            suffix = ".yaml" if kind == "schemas" else ".j2"
            files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob(f"*{suffix}") if path.is_file())
            replaced = [file for file in files if (shipped / file).is_file()]
            added = [file for file in files if file not in replaced]
            blocks, faults = _blocks(folder) if kind == "templates" else ({}, _misspelt(folder))
            replaced = [f"{file} ({', '.join(blocks[file])} only)" if file in blocks else file for file in replaced]
            text = f"{shown(folder)}: replaces {_listed(replaced)}; adds {_listed(added)}"
            for fault in faults:
                yield Item(f"--{kind}", "warning", *told(fault))
            if not files:
                yield Item(
                    f"--{kind}", "warning", f"{shown(folder)}: holds no {suffix} file", f"lay it out as {shipped}"
                )
            else:
                yield Item(f"--{kind}", "ok", text)
    usable = [folder for folder in schema_dirs if folder.is_dir()]
    if usable:
        catalog = Catalog(usable)
        for name in catalog.frameworks():
            try:
                catalog.framework(name)
            except FlGenError as error:
                yield Item(f"framework {name}", "warning", _first(error), "fl-gen schema check")


def _blocks(folder: Path) -> tuple[dict[str, tuple[str, ...]], list[FlGenError]]:
    """The templates of which a folder replaces blocks only, with these, and what lies over nothing."""
    from fl_gen.render.overlay import template_overlays
    from fl_gen.schema.paths import data_dir

    blocks: dict[str, tuple[str, ...]] = {}
    faults = []
    for tree in sorted(path for path in folder.iterdir() if path.is_dir()):
        shipped = data_dir() / "templates" / tree.name
        if not shipped.is_dir():
            continue
        try:
            found = template_overlays((tree, shipped))
        except FlGenError as error:
            faults.append(error)
            continue
        blocks |= {f"{tree.name}/{one.path}": one.blocks for one in found if one.blocks}
    return blocks, faults


def _misspelt(folder: Path) -> list[FlGenError]:
    """What lies over nothing in a folder of schemas."""
    from fl_gen.workflow.overlays import schema_files

    try:
        list(schema_files([folder]))
    except FlGenError as error:
        return [error]
    return []


def _listed(files: Sequence[str]) -> str:
    return ", ".join(files) if files else "nothing"


def _first(error: FlGenError) -> str:
    return error.render().partition("\n")[0]
