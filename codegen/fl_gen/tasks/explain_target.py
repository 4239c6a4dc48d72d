"""Which file, lines and tree `FILE[:LINE[:COLUMN]]` means, and what must be known to make that tree again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fl_gen.output.manifest import MANIFEST_NAME, RECORD_FOLDER, Manifest, ManifestError, load
from fl_gen.output.transaction import require_settled
from fl_gen.schema.errors import FlGenError, quote
from fl_gen.schema.paths import shown
from fl_gen.schema.project import CONFIG_NAME
from fl_gen.workflow.request import Request, tree_of

_PLACE = re.compile(
    r"(?P<file>.+?):(?P<line>[0-9]{1,9})(?:-(?P<last>[0-9]{1,9})|:(?P<column>[0-9]{1,9}))?:?", re.DOTALL
)
_MAX_BYTES = 64 << 20  # of a file to explain: a bigger one is not one of ours


class ExplainError(FlGenError):
    """There is nothing to explain: the file is not there, not fl-gen's, or has no such line."""


@dataclass(frozen=True)
class Target:
    """What was asked for. `last` is the last line of a range, `line` None asks for the whole file."""

    file: Path
    line: int | None = None
    last: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Located:
    """A file of a tree: `path` is relative to the tree's folder below generated/ or (`once`) below backends/."""

    file: Path
    path: str
    once: bool
    output: Path
    generated: Path
    manifest: Manifest


def parse_target(text: str) -> Target:
    """`FILE`, `FILE:LINE`, `FILE:LINE:COLUMN` (as compilers print it, a colon behind it allowed) or `FILE:FIRST-LAST`.

    A file that is there under the whole text is that file. Raises ExplainError for an impossible place.
    """
    found = _PLACE.fullmatch(text)
    if "\0" in text:
        raise ExplainError(f"{quote(text)}: a path cannot hold the character NUL")
    if not text:
        raise ExplainError("the path is empty: name a file")
    if found is None or os.path.lexists(text):
        return Target(Path(text))
    line = int(found["line"])
    last = int(found["last"]) if found["last"] else None
    column = int(found["column"]) if found["column"] else None
    if line < 1 or (last is not None and last < 1) or (column is not None and column < 1):
        raise ExplainError(f"{quote(text)}: lines and columns count from 1")
    if last is not None and last < line:
        raise ExplainError(f"{quote(text)}: the range ends before it begins\n  = write {found['file']}:{last}-{line}")
    return Target(Path(found["file"]), line, last, column)


def read_target(target: Target) -> str:
    """The text of the file, with LF. Raises ExplainError when it cannot be read as text."""
    name = shown(target.file)
    if not os.path.lexists(target.file):
        raise ExplainError(f"{name}: no such file")
    if target.file.is_dir():
        raise ExplainError(f"{name}: this is a folder\n  = name a file in it")
    if not target.file.is_file():
        raise ExplainError(f"{name}: this is no regular file")
    if target.file.stat().st_size > _MAX_BYTES:
        raise ExplainError(f"{name}: it is larger than {_MAX_BYTES >> 20} MiB, and no file of fl-gen's")
    try:
        return target.file.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ExplainError(f"{name}: it is not UTF-8 (byte {error.start}), and no file of fl-gen's") from error


def locate(target: Target) -> Located:
    """The vendor's tree that the file is in. Raises ExplainError when it is in none, or is not for explaining."""
    for file in dict.fromkeys((os.path.abspath(target.file), os.path.realpath(target.file))):
        for folder in Path(file).parents:
            found = _generated(Path(file), folder) or _once(Path(file), folder)
            if found is not None:
                require_settled(found.output)
                _require_explainable(target, found)
                return found
    raise ExplainError(
        f"{shown(target.file)}: this is not a file of fl-gen's: no folder above it has a {MANIFEST_NAME} of fl-gen's\n"
        "  = name a file below generated/VENDOR, or one that fl-gen made in backends/VENDOR"
    )


def _generated(file: Path, folder: Path) -> Located | None:
    if not (folder / MANIFEST_NAME).is_file():
        return None
    try:
        manifest = load(folder)
    except ManifestError:
        if folder.parent.name == "generated":
            raise
        return None  # many programs have a manifest.json
    if manifest is None:
        return None
    return Located(file, file.relative_to(folder).as_posix(), False, folder.parent.parent, folder, manifest)


def _once(file: Path, folder: Path) -> Located | None:
    if folder.parent.name != "backends":
        return None
    output = folder.parent.parent
    generated = output / "generated" / folder.name
    manifest = load(generated)
    if manifest is None:
        return None
    return Located(file, file.relative_to(folder).as_posix(), True, output, generated, manifest)


def _require_explainable(target: Target, found: Located) -> None:
    name = shown(target.file)
    if found.once:
        return
    if found.path == MANIFEST_NAME or found.path.startswith(f"{RECORD_FOLDER}/"):
        raise ExplainError(
            f"{name}: no template makes this file: it is fl-gen's record of what it wrote\n"
            "  = name one of the files that it lists"
        )
    if found.path not in found.manifest.files:
        own = found.output / "backends" / tree_of(found.manifest.vendor, found.manifest.framework)
        raise ExplainError(
            f"{name}: this file is not fl-gen's: {shown(found.generated / MANIFEST_NAME)} does not list it\n"
            f"  = what you write yourself belongs into {shown(own)}"
        )


def request_for(found: Located, given: Request, config: Path | None) -> Request:
    """The request that makes the tree again: the project's that names it, else what its manifest tells.

    `given` has what the command line says about SDK, schemas, templates and licence, which counts more than both.
    """
    manifest = found.manifest
    base = replace(given, vendor=manifest.vendor, framework=manifest.framework, output=found.output)
    base = replace(base, formatted=manifest.inputs.get("clang-format") != "none")
    project = _of_project(found, config, given.cache)
    if project is not None:
        return replace(
            project,
            sdk=given.sdk or project.sdk,
            schema_dirs=given.schema_dirs or project.schema_dirs,
            template_dirs=given.template_dirs or project.template_dirs,
            licence=given.licence if given.licence is not None else project.licence,
        )
    if manifest.overlays and not (given.schema_dirs or given.template_dirs):
        raise ExplainError(
            f"{shown(found.generated)}: this tree is made with overlays ({manifest.overlays[0].path})\n"
            "  = give their folders with --schemas and --templates, or the project with --config"
        )
    if not base.sdk and manifest.sdk.get("simulated"):
        version = manifest.sdk.get("version")
        return replace(base, sdk=(f"sim:{version}" if version else "sim",))
    return base


def _of_project(found: Located, config: Path | None, cache: Path | None) -> Request | None:
    """The request of the project that makes this tree, if one of the folders above has its file."""
    from fl_gen.workflow.project import find_project

    for path in [config] if config is not None else _configs(found.output):
        project = find_project(path)
        if project is None:
            continue
        same = os.path.realpath(project.output) == os.path.realpath(found.output)
        made = tree_of(found.manifest.vendor, found.manifest.framework)
        if not same or made not in project.trees:
            if config is None:
                continue
            raise ExplainError(
                f"{shown(config)}: this project does not make {shown(found.generated)}\n"
                "  = leave --config out, or name the project that does"
            )
        return project.requests([found.manifest.vendor], cache)[0]
    return None


def _configs(output: Path) -> Iterator[Path]:
    for folder in (output, *output.parents):
        if os.path.lexists(folder / CONFIG_NAME):
            yield folder / CONFIG_NAME
