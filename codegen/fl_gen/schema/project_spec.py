"""Reads `fl-gen.yaml`."""

from __future__ import annotations

import os

from .location import Location
from .project import FORMATTERS, Project, ProjectVendor
from .scalars import NAME, VENDOR, WORD_REF, Choice, Int, Str
from .spec import ByShape, Field, ListOf, MapOf, Nullable, Record, validate
from .values import Ref, Table
from .yaml_loader import load, loads

WHAT = "a project file"


def _path(value: str) -> str:
    if value != value.strip():
        raise ValueError("it begins or ends with a blank")
    return value


def _inside(value: str) -> str:
    if os.path.isabs(value) or (len(value) > 1 and value[1] == ":"):
        raise ValueError("it must be relative to the folder of this file, so that the file works on every machine")
    if ".." in value.replace("\\", "/").split("/"):
        raise ValueError("it must stay inside the folder of this file: put the file where generated/ is to be")
    return _path(value)


def _sdk(value: str) -> str:
    if value == "sim:":
        raise ValueError("write sim for the newest simulated SDK, or sim:VERSION")
    return _path(value)


_PATH = Str("a path", refine=_path, located=True)
_SDK = Str("an SDK: a folder, sim or sim:VERSION", refine=_sdk, located=True)


def _vendor(sdk: Ref | tuple[Ref, ...] | None, require: tuple[Ref, ...], location: Location) -> ProjectVendor:
    return ProjectVendor((sdk,) if isinstance(sdk, Ref) else sdk or (), require, location)


_VENDOR = Record(
    "a vendor of a project",
    _vendor,
    {
        "sdk": Field(
            ByShape(_SDK, ListOf(_SDK, at_least=1, unique=True)),
            "its SDK: sim, sim:VERSION, a folder, or a list of folders; without it the vendor's environment variable",
            None,
        ),
        "require": Field(ListOf(WORD_REF, unique=True), "parts of the SDK that must be there, as blas and ccl", ()),
    },
    title="project_vendor",
)
_NO_VENDOR = ProjectVendor((), (), Location("none"))
_NO_VENDORS: Table[ProjectVendor] = Table({}, Location("none"))

SPEC = Record(
    WHAT,
    Project,
    {
        "schema": Field(Int(1, 1), "version of this format", name="version"),
        "generator": Field(
            Str("a version of fl-gen", "[0-9][0-9A-Za-z.+!-]{0,60}", "as fl-gen --version prints it", located=True),
            "the version of fl-gen that makes the tree; another one stops and says so",
        ),
        "framework": Field(
            Str("the name of a framework", NAME.pattern, NAME.hint, located=True), "what the backends plug into"
        ),
        "output": Field(
            Str("a folder", refine=_inside, located=True),
            "the folder that holds generated/ and backends/, relative to this file",
            Ref(".", Location("none")),
        ),
        "formatter": Field(
            Choice(FORMATTERS, located=True), "what formats the C++", Ref("clang-format", Location("none"))
        ),
        "licence": Field(
            Nullable(_PATH), "a text file that is put as a comment at the top of every generated file", None
        ),
        "torch": Field(
            Nullable(_PATH),
            "with framework torch: PyTorch's package or its site-packages; without it the one that Python finds",
            None,
        ),
        "schemas": Field(
            Nullable(ListOf(_PATH, unique=True), ()),
            "folders of schemas that lie over the shipped ones, first wins",
            (),
        ),
        "templates": Field(
            Nullable(ListOf(_PATH, unique=True), ()),
            "folders of templates that lie over the shipped ones, first wins",
            (),
        ),
        "vendors": Field(
            Nullable(MapOf(VENDOR, Nullable(_VENDOR, _NO_VENDOR)), _NO_VENDORS), "the vendors to generate, by name"
        ),
    },
    title="project",
)


def load_project(path: str | os.PathLike[str], name: str | None = None) -> Project:
    """The project of a file; `name` is the path that messages show. Raises SchemaError with all errors."""
    project: Project = validate(SPEC, load(path, name), WHAT)
    return project


def read_project(text: str, name: str) -> Project:
    """The project of a text, as `load_project`."""
    project: Project = validate(SPEC, loads(text, name), WHAT)
    return project
