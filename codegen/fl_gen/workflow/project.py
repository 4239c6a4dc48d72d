"""From `fl-gen.yaml` to requests: one for each vendor, with every path in its place."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path, PurePath

from fl_gen import __version__
from fl_gen.render.licence import read_licence
from fl_gen.schema.errors import Diagnostic, FlGenError, SchemaError, quote
from fl_gen.schema.frozen import frozen
from fl_gen.schema.location import Location
from fl_gen.schema.paths import shown
from fl_gen.schema.project import CONFIG_NAME, Project, is_simulated
from fl_gen.schema.project_spec import load_project
from fl_gen.schema.suggest import suggestion
from fl_gen.schema.values import Ref
from fl_gen.workflow.request import Request, tree_of


@frozen
class ProjectFile:
    """A project, and the file that it was read from."""

    path: Path
    project: Project

    @property
    def folder(self) -> Path:
        """What the paths of the file are relative to."""
        return self.path.parent

    @property
    def output(self) -> Path:
        """The folder that holds generated/ and backends/."""
        return self.folder / self.project.output

    @property
    def own_files(self) -> tuple[Path, ...]:
        """The file itself and the other files that it names: what a build watches beside a vendor's own inputs."""
        licence = self.project.licence
        return (self.path, self.folder / licence) if licence is not None else (self.path,)

    def require_version(self) -> None:
        """Raises SchemaError when another fl-gen made the tree: what changes then is more than was asked for."""
        pinned = self.project.generator
        if pinned == __version__:
            return
        message = f"the tree is made by fl-gen {pinned}, and this is fl-gen {__version__}"
        hint = (
            f"install that one (pip install fl-gen=={pinned}),\n"
            f"or make the tree anew with this one: fl-gen regen --upgrade{self.option}\n"
            f"(fl-gen diff --upgrade{self.option} shows what that changes)"
        )
        raise SchemaError([Diagnostic(pinned.location, message, hint, length=len(pinned), rule="generator-version")])

    @property
    def option(self) -> str:
        """` --config FILE` for commands that are printed, nothing when the file is the one that they find."""
        return "" if os.fspath(self.path) == CONFIG_NAME else f" --config {shlex.quote(shown(self.path))}"

    @property
    def trees(self) -> tuple[str, ...]:
        """What the folders of its vendors are called below generated/."""
        return tuple(tree_of(name, str(self.project.framework)) for name in self.project.vendors)

    def names(self, wanted: Sequence[str] = ()) -> tuple[str, ...]:
        """The vendors of `wanted`, all when it is empty, in the order of the file. Raises FlGenError for others."""
        known = tuple(self.project.vendors)
        for name in wanted:
            if name not in known:
                raise FlGenError(f"{shown(self.path)}: no vendor {quote(name)} in it\n  = {self._hint(name)}")
        return tuple(name for name in known if not wanted or name in wanted)

    def _hint(self, name: str) -> str:
        """What may have been meant by a name that the project does not have."""
        known = tuple(self.project.vendors)
        hint = suggestion(name, known, "vendors") or "it names none yet"
        called = {**dict(zip(self.trees, known, strict=True)), **dict(zip(known, known, strict=True))}
        if name in called or "/" in name:  # a folder, or a file in one
            meant = next((called[part] for part in reversed(PurePath(name).parts) if part in called), None)
            return f"name the vendor, not its folder: {meant}" if meant else hint
        return f"{hint}; fl-gen backend {shlex.quote(name)} --save adds one"

    def requests(
        self, wanted: Sequence[str] = (), cache: Path | None = None, shipped: bool = True
    ) -> tuple[Request, ...]:
        """A request for each vendor of `wanted`, for all when it is empty.

        Raises SchemaError for a folder that is not there and for a vendor or framework that no schema has (not with
        `shipped` false, when other schemas than fl-gen's own will count), and what `read_licence` raises.
        """
        project = self.project
        names = self.names(wanted)
        missing = [
            Diagnostic(one.location, f"there is no folder {shown(self.folder / one)}", "make it, or remove the entry")
            for one in (*project.schemas, *project.templates)
            if not (self.folder / one).is_dir()
        ]
        if missing or (made := self._made_by_runs()):
            raise SchemaError(missing or made)
        if shipped:
            self._require_known(names)
        licence = read_licence(self.folder / project.licence) if project.licence is not None else None
        return tuple(
            Request(
                vendor=name,
                framework=str(project.framework),
                sdk=tuple(self._sdk(text) for text in project.vendors[name].sdk),
                output=self.output,
                require=tuple(map(str, project.vendors[name].require)),
                schema_dirs=tuple(self.folder / one for one in project.schemas),
                template_dirs=tuple(self.folder / one for one in project.templates),
                cache=cache,
                formatted=project.formatter != "none",
                licence=licence,
                torch=self.folder / project.torch if project.torch is not None else None,
                sdk_place=self._sdk_place(name),
            )
            for name in names
        )

    def _made_by_runs(self) -> list[Diagnostic]:
        """What is read from generated/: a run would change what the next one reads, and no tree would ever be right."""
        project, found = self.project, []
        generated = Path(os.path.realpath(self.output / "generated"))
        for one in (*project.schemas, *project.templates, *([project.licence] if project.licence is not None else [])):
            if Path(os.path.realpath(self.folder / one)).is_relative_to(generated):
                what = f"{shown(self.folder / one)} lies in {shown(self.output / 'generated')}, which fl-gen makes"
                found.append(Diagnostic(one.location, what, "put it beside that folder", length=len(one)))
        return found

    def _require_known(self, names: Sequence[str]) -> None:
        """Raises SchemaError for a framework and for vendors that no schema has, and for templates of neither."""
        from fl_gen.schema.catalog import Catalog

        project = self.project
        catalog = Catalog([self.folder / one for one in project.schemas])
        problems = []
        if project.framework not in (frameworks := catalog.frameworks()):
            what = f"there is no framework {quote(project.framework)}"
            hint = suggestion(project.framework, frameworks, "frameworks")
            problems.append(Diagnostic(project.framework.location, what, hint, length=len(project.framework)))
        vendors = catalog.vendors()
        for name in names:
            if name not in vendors:
                place, hint = project.vendors.location_of(name), suggestion(name, vendors, "vendors")
                what = f"there is no vendor {quote(name)}"
                problems.append(Diagnostic(place, what, hint, length=len(name)))
        for one in project.templates:
            if not problems and not (self.folder / one / project.framework).is_dir():
                hint = f"lay it out as the shipped templates: {project.framework}/<path of the generated file>.j2"
                what = f"{shown(self.folder / one)} holds no folder {project.framework}"
                problems.append(Diagnostic(one.location, what, hint, length=len(one)))
        if problems:
            raise SchemaError(problems)

    def _sdk_place(self, name: str) -> Location:
        """Where the file says what the SDK of a vendor is, or where it could."""
        sdk = self.project.vendors[name].sdk
        return sdk[0].location if sdk else self.project.vendors.location_of(name)

    def _sdk(self, text: Ref) -> str:
        return str(text) if is_simulated(text) else os.fspath(self.folder / text)


def find_project(config: Path | None) -> ProjectFile | None:
    """The project of `config`, else of the current folder; None when that has none. Raises SchemaError."""
    path = Path(CONFIG_NAME) if config is None else config
    if config is None and not os.path.lexists(path):
        return None
    return ProjectFile(path, load_project(path, shown(path)))


def above() -> str:
    """`there is one above: --config ../fl-gen.yaml; `, or nothing: who is in a folder of the project reads it first."""
    folder = Path.cwd()
    for level, one in enumerate(folder.parents, 1):
        if (one / CONFIG_NAME).is_file():
            return f"there is one above: --config {'../' * level}{CONFIG_NAME}; "
    return ""


def require_project(config: Path | None) -> ProjectFile:
    """`find_project`, which must find one."""
    found = find_project(config)
    if found is None:
        raise FlGenError(
            f"there is no {CONFIG_NAME} in this folder\n"
            f"  = {above()}fl-gen init writes one; name another with --config, or generate one vendor with fl-gen "
            "backend"
        )
    return found
