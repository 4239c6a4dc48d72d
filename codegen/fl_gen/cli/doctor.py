"""`fl-gen doctor`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import FOLDER


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

    Overlays are those of the options, else those of fl-gen.yaml in this folder.

    Marks: ok; -- told only; !! may be a problem; XX fl-gen needs it and it is missing. A line with = says what to do.

    Exit code: 0 all that fl-gen needs is there, 1 something is missing.
    """
    from fl_gen.report.doctor import doctor_json, doctor_text
    from fl_gen.tasks.doctor import diagnose

    if not (schema_dirs or template_dirs):
        schema_dirs, template_dirs = _of_project()
    diagnosis = diagnose(schema_dirs, template_dirs)
    click.echo(doctor_json(diagnosis) if form == "json" else doctor_text(diagnosis), nl=False)
    return 0 if diagnosis.healthy else 1


def _of_project() -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The schema and template folders of the project in this folder; none without a project that can be read."""
    from fl_gen.schema.errors import FlGenError
    from fl_gen.workflow.project import find_project

    try:
        project = find_project(None)
    except FlGenError as error:
        click.echo(error.render(), err=True)
        return (), ()
    if project is None:
        return (), ()
    return (
        tuple(project.folder / one for one in project.project.schemas),
        tuple(project.folder / one for one in project.project.templates),
    )
