"""Makes `fl-gen.yaml` and records vendors in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from fl_gen import __version__
from fl_gen.output.manifest import load
from fl_gen.schema.catalog import Catalog, UnknownSchema
from fl_gen.schema.errors import Diagnostic, FlGenError, SchemaError, quote
from fl_gen.schema.location import Location
from fl_gen.schema.paths import shown
from fl_gen.schema.project import is_simulated
from fl_gen.schema.project_edit import Vendors, project_text, with_vendor, with_version
from fl_gen.schema.project_spec import read_project
from fl_gen.schema.suggest import suggestion
from fl_gen.tasks.regen import orphans
from fl_gen.workflow.project import ProjectFile
from fl_gen.workflow.request import Request, tree_of

Value = TypeVar("Value")


def write_new(path: Path, requests: Sequence[Request], base: Request, licence: Path | None) -> str:
    """Make the file `path` and return its text. `requests` name the vendors, none: those of manifests below the output.

    `base` has what all vendors share. Raises FlGenError, also when there is a file already.
    """
    if os.path.lexists(path):
        raise FlGenError(
            f"{shown(path)}: is there already, and init never writes over it\n"
            "  = edit it, or record a vendor in it: fl-gen backend VENDOR --sdk SDK --save"
        )
    known = Catalog(base.schema_dirs).vendors()
    for request in requests:
        if request.vendor not in known:
            hint = suggestion(request.vendor, known, "vendors")
            raise UnknownSchema(f"there is no vendor {quote(request.vendor)}" + (f"\n  = {hint}" if hint else ""))
        if sum(one.vendor == request.vendor for one in requests) > 1:
            raise FlGenError(f"{request.vendor}: is named twice\n  = name each vendor once, with one SDK")
    frameworks = Catalog(base.schema_dirs).frameworks()
    if base.framework not in frameworks:
        hint = suggestion(base.framework, frameworks, "frameworks")
        raise UnknownSchema(f"there is no framework {quote(base.framework)}" + (f"\n  = {hint}" if hint else ""))
    vendors: Vendors = {one.vendor: (tuple(_relative(path, sdk) for sdk in one.sdk), one.require) for one in requests}
    text = _text(path, vendors or _made(base.output, base.framework), base, licence)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise FlGenError(f"{shown(path)}: is there already, and init never writes over it") from None
    return text


def save(path: Path, request: Request, licence: Path | None) -> bool:
    """Record a vendor in the file `path`, which is made when it is not there; whether anything changed.

    Raises SchemaError when the file says otherwise about what all its vendors share.
    """
    from fl_gen.output.disk import replace_file

    sdk = tuple(_relative(path, one) for one in request.sdk)
    if not os.path.lexists(path):
        write_new(path, [request], request, licence)
        return True
    text = _read(path)
    project = read_project(text, shown(path))
    _require_same(ProjectFile(path, project), request, licence)
    new = with_vendor(text, shown(path), request.vendor, sdk, request.require)
    if new == text:
        return False
    replace_file(path, new)
    return True


def require_savable(path: Path, request: Request, licence: Path | None) -> None:
    """Raises what `save` would raise about the file's text, before anything is generated."""
    if os.path.lexists(path):
        text = _read(path)
        _require_same(ProjectFile(path, read_project(text, shown(path))), request, licence)
        sdk = [_relative(path, one) for one in request.sdk]
        with_vendor(text, shown(path), request.vendor, sdk, request.require)
    else:
        _text(path, {request.vendor: (tuple(_relative(path, one) for one in request.sdk), ())}, request, licence)


def upgrade(project: ProjectFile) -> None:
    """Record that this fl-gen made the tree."""
    from fl_gen.output.disk import replace_file

    if project.project.generator != __version__:
        replace_file(project.path, with_version(_read(project.path), shown(project.path), __version__))


def _text(path: Path, vendors: Vendors, base: Request, licence: Path | None) -> str:
    """The text of a new file, which is one that can be read. Raises FlGenError."""
    output = _relative(path, os.fspath(base.output))
    if os.path.isabs(output):
        output = os.path.relpath(os.path.realpath(output), os.path.realpath(path.parent))
    text = project_text(
        generator=__version__,
        framework=base.framework,
        output=output,
        formatter="clang-format" if base.formatted else "none",
        licence=_relative(path, os.fspath(licence)) if licence is not None else None,
        torch=_relative(path, os.fspath(base.torch)) if base.torch is not None else None,
        schemas=[_relative(path, os.fspath(one)) for one in base.schema_dirs],
        templates=[_relative(path, os.fspath(one)) for one in base.template_dirs],
        vendors=vendors,
    )
    read_project(text, shown(path))
    return text


def _made(output: Path, framework: str) -> Vendors:
    """The vendors whose trees for `framework` are there already; a real SDK is found by its vendor's variable."""
    vendors: Vendors = {}
    for name in orphans(output, (), framework):
        manifest = load(output / "generated" / name)
        if manifest is not None and tree_of(manifest.vendor, manifest.framework) == name:
            version = manifest.sdk.get("version")
            simulated = (f"sim:{version}" if version else "sim",)
            vendors[manifest.vendor] = (simulated if manifest.sdk.get("simulated") else (), ())
    return vendors


def _require_same(file: ProjectFile, request: Request, licence: Path | None) -> None:
    """Raises SchemaError for what one file can say only once."""
    project, path = file.project, file.path
    problems = []

    def differ(key: str, location: Location | None, have: str, want: str) -> None:
        written = location is not None and location.line > 1  # a default stands nowhere
        place = location if location is not None and written else project.location
        message = f"the project has {key}: {have}, and this run {want}"
        problems.append(Diagnostic(place, message, "change the file, or run without --save", rule="project-differs"))

    def listed(values: Sequence[str]) -> str:
        return ", ".join(values) or "none"

    if os.path.realpath(file.output) != os.path.realpath(request.output):
        differ("output", project.output.location, project.output, shown(request.output))
    if project.framework != request.framework:
        differ("framework", project.framework.location, project.framework, request.framework)
    if (project.formatter != "none") != request.formatted:
        wish = "clang-format" if request.formatted else "none"
        differ("formatter", project.formatter.location, project.formatter, wish)
    for key, have, want in (
        ("schemas", project.schemas, request.schema_dirs),
        ("templates", project.templates, request.template_dirs),
        ("licence", _one(project.licence), _one(licence)),
        ("torch", _one(project.torch), _one(request.torch)),
    ):
        wanted = [_relative(path, os.fspath(one)) for one in want]
        if [os.path.normpath(one) for one in have] != [os.path.normpath(one) for one in wanted]:
            differ(key, have[0].location if have else None, listed(have), listed(wanted))
    if problems:
        raise SchemaError(problems)


def _one(value: Value | None) -> tuple[Value, ...]:
    return () if value is None else (value,)


def _read(path: Path) -> str:
    from fl_gen.schema.yaml_loader import load

    load(path, shown(path))  # says in words what is wrong with the file
    return path.read_bytes().decode("utf-8")


def _relative(config: Path, place: str) -> str:
    """A path of the command line as the file `config` has it: from its folder, unless it is absolute."""
    if is_simulated(place) or os.path.isabs(place):
        return place
    here = os.path.abspath(config.parent)
    return os.path.relpath(os.path.abspath(place), here).replace(os.sep, "/")
