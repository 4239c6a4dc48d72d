"""`fl-gen sdk diff`."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from fl_gen.cli.options import FILE, FOLDER, cache_folder, not_empty, vendor_argument


@click.command()
@vendor_argument
@click.option(
    "--from",
    "old",
    multiple=True,
    required=True,
    callback=not_empty,
    metavar="PATH|sim[:VERSION]",
    help="Root of the old SDK, or a simulated one. Several for an SDK whose headers are spread.",
)
@click.option(
    "--to",
    "new",
    multiple=True,
    required=True,
    callback=not_empty,
    metavar="PATH|sim[:VERSION]",
    help="Root of the new SDK, in the same way.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Text for a terminal, JSON as schemas/jsonschema/sdk-diff.json describes it, Markdown for a pull request.",
)
@click.option("--all", "everything", is_flag=True, help="Text: cut no list short.")
@click.option("--patch", is_flag=True, help="Add the unified diff of the generated files, formatted.")
@click.option("-o", "--output", type=FILE, default=None, metavar="FILE", help="Write there instead of printing.")
@click.option("--schemas", "schema_dirs", multiple=True, type=FOLDER, help="A folder of schemas of your own.")
@click.option("--templates", "template_dirs", multiple=True, type=FOLDER, help="A folder of templates of your own.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write fl-gen's caches.")
def diff(
    vendor: str,
    old: tuple[str, ...],
    new: tuple[str, ...],
    form: str,
    everything: bool,
    patch: bool,
    output: Path | None,
    schema_dirs: tuple[Path, ...],
    template_dirs: tuple[Path, ...],
    no_cache: bool,
) -> int:
    """Say what another release of the SDK means for the backend of VENDOR. Writes nothing.

    Compared are the bindings (which call each operation gets, and why), what the headers declare (functions,
    enumerators with values, macros, records, typedefs; what this backend uses comes first, marked *), and the generated
    files. Types are compared as the compiler sees them: another name for a type or a parameter is no change.

    \b
    Exit code 0  nothing is lost
              1  a binding is lost: an operation, type, status code or constant
                 that had a call or a spelling in the old SDK has none in the new
                 one, whether a strategy stands in for it or not
              2  no verdict on one of the SDKs
    """
    if everything and form != "text":
        raise click.UsageError(f"--all goes with --format text: {form} cuts its lists in its own way or not at all.")
    from fl_gen.tasks.sdk_diff import diff_sdks
    from fl_gen.workflow.request import Request

    request = Request(vendor=vendor, schema_dirs=schema_dirs, template_dirs=template_dirs, cache=cache_folder(no_cache))
    result = diff_sdks(request, old, new, patch)
    if form == "json":
        from fl_gen.report.diff_json import diff_json

        text = diff_json(result)
    elif form == "markdown":
        from fl_gen.report.diff_markdown import diff_markdown

        text = diff_markdown(result)
    else:
        from fl_gen.report.diff_text import DiffLook, diff_text

        on_terminal = output is None and sys.stdout is not None and sys.stdout.isatty()
        width = min(shutil.get_terminal_size().columns, 120) if on_terminal else 100
        color = on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        text = diff_text(result, DiffLook(width, color, everything)) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        from fl_gen.output.disk import replace_file
        from fl_gen.report.diff_words import summary

        replace_file(output, text)
        click.echo(f"{summary(result)}\nwritten to {output}")
    return result.exit_code
