"""`fl-gen sdk` and `fl-gen sdk check`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fl_gen.cli.options import FILE, cache_folder, not_empty, sdk_options
from fl_gen.cli.progress import ProgressLine
from fl_gen.cli.sdk_diff import diff
from fl_gen.cli.sdk_dump import dump

if TYPE_CHECKING:
    from fl_gen.report.sdk_text import Look
    from fl_gen.tasks.sdk_values import CheckReport

FORMATS = ("text", "json", "sarif", "markdown", "html")
ONLY = ("lost", "strategy", "left-out", "bound", "inferred", "deprecated", "required")
_LEAST_WIDTH, _MOST_WIDTH = 40, 160  # columns that a report is laid out for


@click.group()
def sdk() -> None:
    """A vendor's SDK, as its headers really are."""


@sdk.command()
@click.argument("targets", nargs=-1, required=True, metavar="VENDOR[@SDK]...")
@sdk_options
@click.option(
    "--require",
    multiple=True,
    callback=not_empty,
    metavar="GROUP",
    help="Give no verdict (exit 2) if this part of the SDK (blas, ccl, ...) is not there.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="Form to write.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write there instead of printing.")
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Processes at a time. Default: the processors.")
@click.option("-v", "--verbose", is_flag=True, help="Text: signatures, sources, and all that clang says.")
@click.option("--only", multiple=True, type=click.Choice(ONLY), help="Text: operations of this kind only, repeatable.")
def check(
    targets: tuple[str, ...],
    sdk: tuple[str, ...],
    schema_dirs: tuple[Path, ...],
    no_cache: bool,
    require: tuple[str, ...],
    form: str,
    output: Path | None,
    jobs: int | None,
    verbose: bool,
    only: tuple[str, ...],
) -> int:
    """Hold every binding of a vendor against an SDK and say what was chosen. Changes nothing.

    A target is VENDOR, with the SDK of --sdk (given several times: the folders that hold one SDK together), or
    VENDOR@SDK with one of its own: a folder, several joined by commas, sim, or sim:VERSION. Several targets are
    checked side by side, each in a process of its own, and reported in the order given.

    \b
    Exit code, the worst of all targets:
      0  every operation that a backend needs is bound; others may have taken a strategy
      1  at least one that it needs is lost on this SDK
      2  no verdict: no SDK there, a required part of it missing, its headers do not parse, or
         the schemas are not sound
      3  interrupted

    A part of the SDK that is optional and not there (blas, ccl) is reported and is no fault: ask for it with
    --require. Coverage counts the operations of the parts that are there.
    """
    kept, layout = None, _Layout(output, verbose, only)
    if len(targets) == 1 and form == "text" and output is None:
        # Asked again and again by builds and people: the answer is kept, and nothing heavy is imported to give it.
        from fl_gen.tasks.kept import Kept

        question = [*targets, "--sdk", *sdk, "--schemas", *map(str, schema_dirs), "--require", *require]
        kept = Kept(cache_folder(no_cache), [*question, repr(layout)])
        answer = kept.load()
        if answer is not None:
            click.echo(answer[1])
            return answer[0]
    from fl_gen.schema.errors import FlGenError
    from fl_gen.tasks.sdk_targets import check_targets, default_jobs, parse_target
    from fl_gen.workflow.request import Request

    if form != "text" and (verbose or only):
        raise click.UsageError(
            f"{'--verbose' if verbose else '--only'} goes with --format text: {form} holds everything"
        )
    if output is not None and output.is_dir():
        raise FlGenError(f"{output}: this is a folder\n  = name a file in it: --output {output / f'report.{form}'}")
    base = Request(vendor="", sdk=sdk, require=require, schema_dirs=schema_dirs, cache=cache_folder(no_cache))
    requests = [parse_target(text, base) for text in targets]
    if sdk and all("@" in text for text in targets):
        raise FlGenError(
            f"--sdk {sdk[0]}: every target here names an SDK of its own behind @\n"
            "  = leave --sdk out, or name the vendor without @"
        )
    if kept is not None:
        # The one that people type most: what stops it is told as by every other command, with its colours.
        from fl_gen.report.sdk_text import check_text
        from fl_gen.tasks.sdk_check import check_with_inputs

        found, inputs = check_with_inputs(requests[0])
        text = check_text(found, layout.look())
        click.echo(text)
        kept.store(found.exit_code, text, inputs())
        return found.exit_code
    with ProgressLine() as line:

        def show(done: int, total: int, last: str) -> None:
            filled = 20 * done // total
            line.draw(f"[{'#' * filled}{'-' * (20 - filled)}] {done} of {total} SDKs checked {last}")

        report = check_targets(requests, jobs or default_jobs(), show)
    text = _text(report, form, layout)
    if output is None:
        click.echo(text, nl=False)
        return report.exit_code
    from fl_gen.output.disk import replace_file
    from fl_gen.report.sdk_text import summaries

    replace_file(output, text)
    click.echo("\n".join([*summaries(report), f"written to {output}"]))
    return report.exit_code


def _text(report: CheckReport, form: str, layout: _Layout) -> str:
    """The report in one of FORMATS, with its final newline."""
    if form == "text":
        from fl_gen.report.sdk_text import report_text

        return report_text(report, layout.look())
    writers: dict[str, tuple[str, str]] = {
        "json": ("sdk_json", "report_json"),
        "sarif": ("sarif", "report_sarif"),
        "markdown": ("markdown", "report_markdown"),
        "html": ("html", "report_html"),
    }
    import importlib

    module, function = writers[form]
    writer: Callable[[CheckReport], str] = getattr(importlib.import_module(f"fl_gen.report.{module}"), function)
    return writer(report)


class _Layout:
    """How text is laid out: for the terminal it goes to, else for 100 columns (COLUMNS changes that)."""

    def __init__(self, output: Path | None, verbose: bool, only: tuple[str, ...]) -> None:
        terminal = output is None and sys.stdout is not None and sys.stdout.isatty()
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        width = shutil.get_terminal_size((100, 24)).columns if terminal or os.environ.get("COLUMNS") else 100
        self._parts = (min(max(width, _LEAST_WIDTH), _MOST_WIDTH), terminal and not plain, verbose, only)

    def __repr__(self) -> str:
        return repr(self._parts)

    def look(self) -> Look:
        """The same, for the writers of reports."""
        from fl_gen.report.sdk_text import Look

        return Look(*self._parts)


sdk.add_command(diff)
sdk.add_command(dump)
