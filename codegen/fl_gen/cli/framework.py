"""`fl-gen framework`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import click

from fl_gen.cli.options import FILE, FOLDER
from fl_gen.cli.progress import ProgressLine

FORMATS = ("text", "json", "markdown")


@click.group()
def framework() -> None:
    """What backends plug into, as its sources really are."""


@framework.command()
@click.argument("name", metavar="FRAMEWORK")
@click.option("--source", type=FOLDER, required=True, metavar="TREE", help="A checkout of the framework.")
@click.option(
    "--schemas", "schema_dirs", multiple=True, type=FOLDER, help="Schemas of your own, laid over the shipped ones."
)
@click.option("--update", is_flag=True, help="Write into the schema what can be written mechanically.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Form to write.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write there instead of printing.")
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Processes at a time. Default: the processors.")
def check(
    name: str,
    source: Path,
    schema_dirs: tuple[Path, ...],
    update: bool,
    form: str,
    output: Path | None,
    jobs: int | None,
) -> int:
    """Hold the schema of FRAMEWORK (interface.yaml and ops/*.yaml) against its sources.

    Found are: methods, enumerators, members, macros and functions that are new, changed or gone; kernels that are
    registered with another signature, in one place only, or not in the schema; and calls of kernels by name whose
    arguments do not fit the kernel, which the type-erased dispatcher cannot see.

    --update changes the schema files: those of the first --schemas folder, in a checkout of fl-gen its own, else
    copies in ./schemas, which are then given with --schemas. Comments and layout stay.

    \b
    Exit code:
      0  schema and tree agree (with --update: everything that was found has been written)
      1  something was found
      2  no verdict: TREE is no checkout of the framework, or a header that it needs is missing
    """
    from fl_gen.report import framework as report
    from fl_gen.tasks.framework_check import CheckRequest, check_framework
    from fl_gen.tasks.framework_update import apply_updates
    from fl_gen.tasks.sdk_targets import default_jobs

    with ProgressLine() as line:
        found = check_framework(CheckRequest(name, source, schema_dirs, jobs or default_jobs()), _reading(line))
    updated = apply_updates(found, schema_dirs) if update else None
    if form == "text":
        plain = output is not None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        color = not plain and sys.stdout is not None and sys.stdout.isatty()
        text = report.framework_text(found, updated, color) + "\n"
    elif form == "json":
        text = report.framework_json(found, updated)
    else:
        text = report.framework_markdown(found, updated)
    if output is not None:
        from fl_gen.output.disk import replace_file

        replace_file(output, text)
    else:
        click.echo(text, nl=False)
    return 1 if (updated.left if updated is not None else found.findings) else 0


def _reading(line: ProgressLine) -> Callable[[int, int, str], None]:
    """What draws on `line` how many sources have been read; the headers are first."""

    def show(done: int, total: int, last: str) -> None:
        line.draw(f"{done} of {total} sources read {os.path.basename(last)}")

    line.draw("reading headers")
    return show
