"""What `fl-gen.yaml` says counts for a command on one vendor, too, where the command line says nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fl_gen.schema.paths import shown
from fl_gen.schema.project import ProjectVendor
from fl_gen.schema.values import Table
from fl_gen.workflow.project import ProjectFile
from fl_gen.workflow.request import Request

# The key of the file -> the field of a request that it decides.
FIELDS: Mapping[str, str] = {
    "framework": "framework",
    "output": "output",
    "formatter": "formatted",
    "licence": "licence",
    "torch": "torch",
    "schemas": "schema_dirs",
    "templates": "template_dirs",
    "sdk": "sdk",
    "require": "require",
}
_PLAIN = Request(vendor="")


@dataclass(frozen=True)
class Completed:
    """A request with what the file says of its vendor and of all vendors.

    `taken` are the keys of the file that decided something, `ignored` those that options spoke against. `licence` is
    the file of the licence that counts.
    """

    request: Request
    project: ProjectFile
    taken: tuple[str, ...]
    ignored: tuple[str, ...]
    licence: Path | None

    @property
    def text(self) -> str:
        """One line: what was read from the file, and what was not. Empty when it decided nothing."""
        parts = [", ".join(self.taken)] if self.taken else []
        if self.ignored:
            parts.append(f"not its {', '.join(self.ignored)}: the command line says otherwise")
        return f"read {shown(self.project.path)}: {'; '.join(parts)}" if parts else ""


def complete(given: Request, project: ProjectFile, options: Collection[str], licence: Path | None) -> Completed:
    """`given` completed by the file; `options` are the keys of `FIELDS` about which the command line decided, `licence`
    the file that it names.

    A vendor that the file does not name gets what it says of all. Raises SchemaError for a file that cannot be used
    and for one that another fl-gen made.
    """
    project.require_version()
    named = given.vendor in project.project.vendors
    said = _with_vendor(project, given.vendor).requests(
        [given.vendor], given.cache, shipped=named and "schemas" not in options
    )[0]
    wanted: dict[str, Any] = {}
    taken, ignored = [], []
    framework = given.framework if "framework" in options else said.framework
    for key, name in FIELDS.items():
        if key == "torch" and framework != "torch":
            continue
        theirs = getattr(said, name)
        if key not in options:
            wanted[name] = theirs
            if theirs != getattr(_PLAIN, name):
                taken.append(key)
        elif theirs not in (getattr(_PLAIN, name), getattr(given, name)):
            ignored.append(key)
    if "sdk" not in options:
        wanted["sdk_place"] = said.sdk_place if named else None
    if "licence" not in options and project.project.licence is not None:
        licence = project.folder / project.project.licence
    return Completed(replace(given, **wanted), project, tuple(taken), tuple(ignored), licence)


def _with_vendor(project: ProjectFile, name: str) -> ProjectFile:
    vendors = project.project.vendors
    if name in vendors:
        return project
    one = ProjectVendor((), (), vendors.location)
    return ProjectFile(project.path, replace(project.project, vendors=Table({name: one}, vendors.location)))
