"""The overlays of a run: which files of a user's own lie over the shipped ones, by kind, path and digest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from fl_gen.output.manifest import OverlayRecord, digest_file
from fl_gen.schema.errors import Diagnostic, FlGenError, SchemaError
from fl_gen.schema.location import Location
from fl_gen.schema.paths import data_dir, shown
from fl_gen.schema.suggest import closest

# Where a schema folder holds files that are read, and how those are called.
_PLACES = (
    re.compile(r"runtime\.yaml|vocabulary\.yaml"),
    re.compile(r"(?:vendors|bases)/[a-z][a-z0-9_]*/(?:vendor|api)\.yaml"),
    re.compile(r"vendors/[a-z][a-z0-9_]*/torch\.yaml"),
    re.compile(r"frameworks/[a-z][a-z0-9_]*/(?:interface|features)\.yaml"),
    re.compile(r"frameworks/[a-z][a-z0-9_]*/ops/[^/]+\.yaml"),
)
_TOP = ("vendors", "bases", "frameworks", "runtime.yaml", "vocabulary.yaml")
_OF = {"vendors": ("vendor.yaml", "api.yaml", "torch.yaml"), "bases": ("vendor.yaml", "api.yaml")}
_OF_FRAMEWORK = ("interface.yaml", "features.yaml", "ops")
_NAMED = re.compile(r"^vendor:[ \t]*['\"]?([A-Za-z0-9_]+)", re.MULTILINE)


def schema_files(folders: Sequence[Path]) -> Iterator[tuple[str, Path]]:
    """The files of users' schema folders that count: (path below the folder, file), the first folder's before others'.

    Raises FlGenError for a file or folder that would be read by nothing, and so is most likely misspelt.
    """
    seen: set[str] = set()
    for folder in folders:
        _require_known(folder)
        for path in sorted(folder.rglob("*.yaml")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and any(place.fullmatch(name) for place in _PLACES) and name not in seen:
                seen.add(name)
                yield name, path


def overlay_records(
    schema_dirs: Sequence[Path], trees: Sequence[Path], framework: str, used: Sequence[Path]
) -> tuple[OverlayRecord, ...]:
    """Every overlay that bears on a run. `trees` are the template trees of the framework, the shipped one last; `used`
    are the schema files that were read for the vendor. Raises FlGenError for an overlay that overrides nothing."""
    records = []
    read = {path.resolve() for path in used}
    for name, path in schema_files(schema_dirs):
        if path.resolve() in read:
            records.append(OverlayRecord("schema", name, digest_file(path)))
    if len(trees) > 1:
        from fl_gen.render.overlay import template_overlays

        for one in template_overlays(trees):
            place = f"{framework}/{one.path}"
            sha256 = digest_file(one.folder / one.path)
            if one.blocks:
                records += [OverlayRecord("block", f"{place}#{block}", sha256) for block in one.blocks]
            else:
                records.append(OverlayRecord("template", place, sha256))
    return tuple(records)


def _require_known(folder: Path) -> None:
    shipped = data_dir() / "schemas"
    for entry in sorted(folder.iterdir()):
        near = closest(entry.name, _TOP) if entry.name not in _TOP and entry.name != "jsonschema" else None
        if near is not None:
            raise FlGenError(f"{shown(entry)}: this lies over nothing\n  = did you mean '{near}'?")
    for kind, names in _OF.items():
        for path in sorted((folder / kind).glob("*/*")):
            if path.name not in names and path.suffix in (".yaml", ".yml"):
                near = closest(path.name, names) or "vendor.yaml"
                raise FlGenError(f"{shown(path)}: this lies over nothing\n  = did you mean '{near}'?")
        for path in sorted((folder / kind).glob("*/api.yaml")):
            other = f"{kind}/{path.parent.name}/vendor.yaml"
            if kind == "vendors" and not ((folder / other).is_file() or (shipped / other).is_file()):
                known = [one.name for one in (shipped / kind).iterdir()]
                near = closest(path.parent.name, known)
                hint = f"did you mean vendors/{near}?" if near else f"write {shown(folder / other)} as well"
                raise FlGenError(f"{shown(path)}: this lies over nothing: there is no vendor of that name\n  = {hint}")
        if kind == "vendors":
            for path in sorted((folder / kind).glob("*/vendor.yaml")):
                _require_name(path)
    for path in sorted((folder / "frameworks").glob("*/*")):
        near = closest(path.name, _OF_FRAMEWORK) if path.name not in _OF_FRAMEWORK else None
        if near is not None:
            raise FlGenError(f"{shown(path)}: this lies over nothing\n  = did you mean '{near}'?")
    for path in sorted((folder / "frameworks").glob("*/ops/*.yml")):
        raise FlGenError(f"{shown(path)}: this lies over nothing\n  = rename it to {path.stem}.yaml")


def _require_name(path: Path) -> None:
    """Raises SchemaError for a vendor in the folder of another name: nobody would find it."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return  # told when it is loaded
    found = _NAMED.search(text)
    if found is not None and found.group(1) != path.parent.name:
        line = text.count("\n", 0, found.start()) + 1
        message = f"the folder is called {path.parent.name}, the vendor in it {found.group(1)}: it lies over nothing"
        hint = f"rename the folder to {found.group(1)}, or write vendor: {path.parent.name}"
        column = found.start(1) - text.rfind("\n", 0, found.start(1))
        raise SchemaError([Diagnostic(Location(shown(path), line, column), message, hint, length=len(found.group(1)))])
