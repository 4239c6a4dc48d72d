"""`fl-gen framework check --update`: findings written into the schema files, as the smallest change of their text.

Every changed file is read again and checked with all others before anything is written; a change that
would make the schema unsound is left to a person, with the reason.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence as AnySequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fl_gen.output.disk import replace_file
from fl_gen.output.lock import locked
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.errors import FlGenError, SchemaError
from fl_gen.schema.paths import data_dir, shown
from fl_gen.tasks.framework_edit import CannotEdit, apply_edit
from fl_gen.tasks.framework_values import Finding, FrameworkCheck


@dataclass
class _File:
    """A schema file while it is changed: where it is written, and its text."""

    target: Path
    text: str
    before: str | None
    edits: int = 0


@dataclass(frozen=True)
class Updated:
    """What an update wrote (file -> number of changes), and the findings that are left."""

    files: AnyMapping[str, int] = field(default_factory=dict)
    left: tuple[Finding, ...] = ()
    note: str = ""


def apply_updates(check: FrameworkCheck, schema_dirs: AnySequence[Path]) -> Updated:
    """Write the mechanical findings of a check into the schema. FlGenError when a file cannot be written."""
    catalog = Catalog(schema_dirs)
    target = _target(schema_dirs)
    files: dict[str, _File] = {}
    left: dict[int, Finding] = {}
    for number, finding in _in_order(check.findings):
        if not finding.edits:
            left[number] = finding
            continue
        tried = {name: replace(file) for name, file in files.items()}
        try:
            for edit in finding.edits:
                file = _open(tried, edit.file, catalog, check.framework, target)
                file.text = apply_edit(file.text, edit)
                file.edits += 1
            _check(tried, catalog, check.framework)
        except CannotEdit as error:
            left[number] = replace(finding, edits=(), by_hand=str(error))
            continue
        files = tried
    changed = {name: file for name, file in files.items() if file.text != file.before}
    if changed:
        root = target.folder
        with locked(root if root.is_dir() else Path(os.curdir)):
            for name in sorted(changed):
                file = changed[name]
                if file.before is None and os.path.lexists(file.target):
                    raise FlGenError(
                        f"{shown(file.target)}: is there, and was not read: it would be lost\n"
                        f"  = run again with --schemas {shown(root)}"
                    )
                replace_file(file.target, file.text)
    note = ""
    if changed and not target.in_place and target.folder not in [Path(folder) for folder in schema_dirs]:
        note = f"use it with --schemas {shown(target.folder)}"
    written = {shown(file.target): file.edits for file in changed.values()}
    return Updated(written, tuple(left[number] for number in sorted(left)), note)


# -- where --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Target:
    folder: Path
    in_place: bool  # the shipped files themselves may be changed


def _target(schema_dirs: AnySequence[Path]) -> _Target:
    """Where changed files go: the user's first schema folder; in a checkout of fl-gen the shipped one; else ./schemas.

    The schemas of an installed package are never changed: a changed copy is laid over them.
    """
    if schema_dirs:
        return _Target(Path(schema_dirs[0]), False)
    root = data_dir()
    here = Path.cwd()
    if root.name != "_data" and (here == root or root in here.parents) and os.access(root / "schemas", os.W_OK):
        return _Target(root / "schemas", True)
    return _Target(here / "schemas", False)


def _open(files: dict[str, _File], name: str, catalog: Catalog, framework: str, target: _Target) -> _File:
    """The file of a relative name, opened once; a new one is empty."""
    if name in files:
        return files[name]
    relative = f"frameworks/{framework}/{name}"
    found = next((folder / relative for folder in catalog.folders if (folder / relative).is_file()), None)
    shipped = catalog.folders[-1]
    destination = target.folder / relative
    if found is None:
        files[name] = _File(destination, "", None)
        return files[name]
    with open(found, encoding="utf-8", newline="") as stream:
        text = stream.read()
    mine = found.parent.is_relative_to(shipped) is False or target.in_place
    if mine:
        files[name] = _File(found, text, text)
    else:
        files[name] = _File(destination, text, None)
    return files[name]


def _check(files: AnyMapping[str, _File], catalog: Catalog, framework: str) -> None:
    """CannotEdit if the changed files, with all others, are not a sound framework."""
    with tempfile.TemporaryDirectory(prefix="fl-gen-") as folder:
        for name, file in files.items():
            path = Path(folder) / "frameworks" / framework / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8", newline="")
        try:
            Catalog([folder, *catalog.folders], shipped=False).framework(framework)
        except SchemaError as error:
            first = error.diagnostics[0]
            name = os.path.basename(first.location.file)
            raise CannotEdit(f"the rest of the schema must change too: {name}: {first.message}") from error


# -- what ---------------------------------------------------------------------------------------------------------


def _in_order(findings: AnySequence[Finding]) -> list[tuple[int, Finding]]:
    """Findings, with their numbers, so that no edit moves the place of a later one: what is added to lists comes last,
    from their ends, and of two items for one place the later first."""

    def key(numbered: tuple[int, Finding]) -> tuple[bool, int, int]:
        number, finding = numbered
        inserts = [edit for edit in finding.edits if edit.action == "insert"]
        return bool(inserts), -inserts[0].after if inserts else 0, -number if inserts else number

    return sorted(enumerate(findings), key=key)
