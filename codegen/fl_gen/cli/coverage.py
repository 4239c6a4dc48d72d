"""`fl-gen coverage`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.deliver import deliver
from fl_gen.cli.options import FILE, FiniteRange


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=FILE)
@click.option(
    "--by",
    "measure",
    type=click.Choice(["calls", "time", "bytes"]),
    default="calls",
    show_default=True,
    help="What coverage and the order of the list are measured in.",
)
@click.option(
    "--top", type=click.IntRange(min=0), default=20, show_default=True, help="Text: list so many ops; 0: all."
)
@click.option(
    "--fail-under",
    type=FiniteRange(0, 100),
    default=None,
    metavar="PERCENT",
    help="Exit with 1 if a model's coverage is lower.",
)
@click.option(
    "--baseline",
    type=FILE,
    default=None,
    metavar="FILE",
    help="An earlier report as JSON: exit with 1 if coverage fell, or an op falls back that did not.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json", "html"]),
    default="text",
    show_default=True,
    help="Text for a terminal, Markdown for a pull request, JSON as schemas/jsonschema/coverage.json describes it, "
    "HTML as one page with plots.",
)
@click.option("--output", type=FILE, default=None, metavar="FILE", help="Write there instead of printing.")
def coverage(
    runs: tuple[Path | None, ...],
    measure: str,
    top: int,
    fail_under: float | None,
    baseline: Path | None,
    form: str,
    output: Path | None,
) -> int:
    """Say how much of recorded runs the device did itself, and which op to implement next.

    RUN is a file that a generated backend wrote: TORCH_FL_OP_STATS=FILE for a PyTorch package, or
    INFINI_<VENDOR>_FALLBACK_STATISTICS=FILE for InfiniTrain. Several runs are several models.

    \b
    Exit code 0  fine
              1  below --fail-under, or worse than --baseline
              2  stopped
    """
    from fl_gen.tasks.coverage import coverage as measured

    files = [path if path is not None else Path("/dev/stdin") for path in runs]
    if output is not None and output.is_file() and any(path.exists() and path.samefile(output) for path in files):
        raise click.UsageError(f"--output {output} is one of the runs: the report would take its place.")
    result = measured(files, measure, fail_under, baseline)  # type: ignore[arg-type]
    if form == "json":
        from fl_gen.report.coverage_json import coverage_json

        text = coverage_json(result)
    elif form == "markdown":
        from fl_gen.report.coverage_markdown import coverage_markdown

        text = coverage_markdown(result)
    elif form == "html":
        from fl_gen.report.coverage_html import coverage_html

        text = coverage_html(result)
    else:
        from fl_gen.report.coverage_text import coverage_text

        text = coverage_text(result, top) + "\n"
    from fl_gen.report.coverage_words import verdict

    deliver(text, output, verdict(result))
    return result.exit_code
