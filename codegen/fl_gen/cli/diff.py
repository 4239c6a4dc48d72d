"""`fl-gen diff`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fl_gen.cli.deliver import deliver
from fl_gen.cli.options import FILE, FOLDER, cache_folder, config_option, sdk_options

if TYPE_CHECKING:
    from fl_gen.tasks.tree_diff import Scope


@click.command()
@click.argument("vendors", metavar="[VENDOR]...", nargs=-1)
@sdk_options
@config_option
@click.option(
    "--base",
    default=None,
    metavar="REV",
    help="Compare with the schemas, templates and configuration of a git revision instead of with the disk.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json", "html"]),
    default="text",
    show_default=True,
    help="Text for a terminal, Markdown for a pull request, JSON as schemas/jsonschema/tree-diff.json describes it, "
    "HTML as one page.",
)
@click.option("--all", "everything", is_flag=True, help="Text: cut no hunk and no list short.")
@click.option("--output", "report", type=FILE, default=None, metavar="FILE", help="Write there instead of printing.")
@click.option(
    "--tree",
    type=FOLDER,
    default=Path(os.curdir),
    show_default="the current folder",
    help="The folder that holds generated/ and backends/, where there is no fl-gen.yaml.",
)
@click.option("--templates", "template_dirs", multiple=True, type=FOLDER, help="A folder of templates of your own.")
@click.option("--no-format", is_flag=True, help="As with fl-gen backend.")
@click.option("--upgrade", is_flag=True, help="Compare also when fl-gen.yaml names another version of fl-gen.")
def diff(
    vendors: tuple[str, ...],
    sdk: tuple[str, ...],
    schema_dirs: tuple[Path, ...],
    no_cache: bool,
    config: Path | None,
    base: str | None,
    form: str,
    everything: bool,
    report: Path | None,
    tree: Path,
    template_dirs: tuple[Path, ...],
    no_format: bool,
    upgrade: bool,
) -> int:
    """Show what a regenerate would change below generated/, grouped by what causes it. Writes nothing there.

    The vendors are those of fl-gen.yaml; without one, those that are generated, as their manifests say. With --base REV
    this fl-gen makes both sides: generated/ need not be committed.

    \b
    Exit code 0  nothing would change
              1  something would
              2  stopped
    """
    if everything and form != "text":
        raise click.UsageError(f"--all goes with --format text: {form} cuts its lists in its own way or not at all.")
    from fl_gen.tasks.tree_diff import diff_revision
    from fl_gen.tasks.tree_diff_disk import diff_disk
    from fl_gen.tasks.tree_diff_scope import Options, scope_of

    scope = scope_of(
        Options(vendors, sdk, schema_dirs, template_dirs, tree, not no_format, config, cache_folder(no_cache), upgrade)
    )
    if report is not None:
        _require_harmless(report, scope)
    result = diff_disk(scope) if base is None else diff_revision(scope, base)
    if form == "json":
        from fl_gen.report.tree_diff_json import tree_diff_json

        text = tree_diff_json(result)
    elif form == "markdown":
        from fl_gen.report.tree_diff_markdown import tree_diff_markdown

        text = tree_diff_markdown(result)
    elif form == "html":
        from fl_gen.report.tree_diff_html import tree_diff_html

        text = tree_diff_html(result)
    else:
        from fl_gen.report.tree_diff_text import TreeLook, tree_diff_text

        on_terminal = report is None and sys.stdout is not None and sys.stdout.isatty()
        color = on_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        text = tree_diff_text(result, TreeLook(color, everything)) + "\n"
    from fl_gen.report.tree_diff_words import summary

    deliver(text, report, summary(result))
    return result.exit_code


def _require_harmless(report: Path, scope: Scope) -> None:
    """Raise FlGenError when the report would be written over what fl-gen reads or generates."""
    from fl_gen.output.depfile import require_outside
    from fl_gen.schema.errors import FlGenError

    if scope.config is not None and os.path.realpath(report) == os.path.realpath(scope.config):
        raise FlGenError(f"--output {report}: this is the project's file\n  = name another file")
    folders = [folder for one in scope.requests for folder in (one.generated, one.backends)]
    folders += [folder for one in scope.requests for folder in (*one.schema_dirs, *one.template_dirs)]
    require_outside("--output", report, folders, "name a file outside of it")
