"""`fl-gen backend`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import FOLDER, cache_folder, not_empty, output_option, sdk_options, vendor_argument


@click.command()
@vendor_argument
@sdk_options
@output_option
@click.option("--framework", default="infinitrain", show_default=True, help="What the backend plugs into.")
@click.option(
    "--require",
    multiple=True,
    callback=not_empty,
    metavar="GROUP",
    help="Stop if this part of the SDK (blas, ccl, ...) is not there.",
)
@click.option(
    "--templates",
    "template_dirs",
    multiple=True,
    type=FOLDER,
    help="A folder of templates of your own, laid over the shipped ones. May be given several times.",
)
@click.option("--verify", is_flag=True, help="Parse every C++ file against the SDK and the framework before writing.")
@click.option("--no-format", is_flag=True, help="Leave the C++ as the templates make it.")
@click.option("--overwrite", is_flag=True, help="Drop hand edits below generated/VENDOR.")
@click.option("--dry-run", is_flag=True, help="Say what would change and write nothing.")
def backend(
    vendor: str,
    sdk: tuple[str, ...],
    schema_dirs: tuple[Path, ...],
    no_cache: bool,
    output: Path,
    framework: str,
    require: tuple[str, ...],
    template_dirs: tuple[Path, ...],
    verify: bool,
    no_format: bool,
    overwrite: bool,
    dry_run: bool,
) -> None:
    """Generate the backend of VENDOR: generated/VENDOR from scratch, backends/VENDOR once.

    Every SDK call is checked against the SDK's headers first. What the SDK cannot do gets a strategy, and the closing
    list says which.
    """
    from fl_gen.report.terminal import backend_summary, plan_text
    from fl_gen.workflow.generate import generate, plan_of, prepare
    from fl_gen.workflow.request import Request

    request = Request(
        vendor=vendor,
        framework=framework,
        sdk=sdk,
        output=output,
        require=require,
        schema_dirs=schema_dirs,
        template_dirs=template_dirs,
        cache=cache_folder(no_cache),
        formatted=not no_format,
        verify=verify,
    )
    if dry_run:
        click.echo(plan_text(plan_of(request, prepare(request))))
        return
    click.echo(backend_summary(request, generate(request, overwrite)))
