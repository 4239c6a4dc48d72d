"""`fl-gen doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fl_gen.cli.options import FOLDER

if TYPE_CHECKING:
    from fl_gen.workflow.project import ProjectFile


@click.command()
@click.option(
    "--schemas", "schema_dirs", multiple=True, type=FOLDER, help="Schemas of your own, laid over the shipped ones."
)
@click.option(
    "--templates",
    "template_dirs",
    multiple=True,
    type=FOLDER,
    help="Templates of your own, laid over the shipped ones.",
)
@click.option("--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True)
def doctor(schema_dirs: tuple[Path, ...], template_dirs: tuple[Path, ...], form: str) -> int:
    """Show what is installed and used: libclang, compilers, formatters, SDKs, overlays, caches. Changes nothing.

    Overlays are those of the options, else those of fl-gen.yaml in this folder, as PyTorch is.

    Marks: ok; -- told only; !! may be a problem; XX fl-gen needs it and it is missing. A line with = says what to do.

    Exit code: 0 all that fl-gen needs is there, 1 something is missing.
    """
    from fl_gen.report.doctor import doctor_json, doctor_text
    from fl_gen.tasks.doctor import diagnose

    project = _project()
    torch = None
    if project is not None:
        folder, said = project.folder, project.project
        torch = folder / said.torch if said.torch is not None else None
        if not (schema_dirs or template_dirs):
            schema_dirs = tuple(folder / one for one in said.schemas)
            template_dirs = tuple(folder / one for one in said.templates)
    diagnosis = diagnose(schema_dirs, template_dirs, torch)
    click.echo(doctor_json(diagnosis) if form == "json" else doctor_text(diagnosis), nl=False)
    return 0 if diagnosis.healthy else 1


def _project() -> ProjectFile | None:
    """The project in this folder, if there is one that can be read."""
    from fl_gen.schema.errors import FlGenError

    try:
        from fl_gen.workflow.project import find_project

        return find_project(None)
    except FlGenError as error:
        click.echo(error.render(), err=True)
    except ImportError:  # a library is not there, which a section tells
        pass
    return None
