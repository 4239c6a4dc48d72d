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

    Marks: ok; -- told only; !! may be a problem; XX fl-gen needs it and it is missing. A line with = says what to do.

    Exit code: 0 all that fl-gen needs is there, 1 something is missing.
    """
    from fl_gen.report.doctor import doctor_json, doctor_text
    from fl_gen.tasks.doctor import diagnose

    diagnosis = diagnose(schema_dirs, template_dirs)
    click.echo(doctor_json(diagnosis) if form == "json" else doctor_text(diagnosis), nl=False)
    return 0 if diagnosis.healthy else 1
