"""`fl-gen kernel`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from fl_gen.cli.options import cache_folder, decided_keys, output_option, sdk_options, vendor_argument


@click.group()
def kernel() -> None:
    """Hand-written kernels, below backends/VENDOR."""


@kernel.command()
@vendor_argument
@click.argument("op", metavar="OP")
@sdk_options
@output_option
def new(
    vendor: str, op: str, sdk: tuple[str, ...], schema_dirs: tuple[Path, ...], no_cache: bool, output: Path
) -> None:
    """Write the skeleton of a kernel of OP with its exact signature, and list it in kernels.yaml.

    Nothing that exists is written over. What the fl-gen.yaml of this folder says counts where no option does. Run
    `fl-gen backend VENDOR` afterwards, so that the router knows it.
    """
    from fl_gen.report.terminal import request_options, schema_options
    from fl_gen.workflow.project import find_project
    from fl_gen.workflow.project_defaults import complete
    from fl_gen.workflow.request import Request
    from fl_gen.workflow.scaffold import scaffold

    given = Request(vendor=vendor, sdk=sdk, output=output, schema_dirs=schema_dirs, cache=cache_folder(no_cache))
    request, project = given, find_project(None)
    if project is not None:
        completed = complete(given, project, decided_keys(), None)
        request = completed.request
        if completed.text:
            click.echo(completed.text, err=True)
    result = scaffold(request if request.sdk else replace(request, sdk=("sim",)), op)
    click.echo(f"created {result.path}")
    click.echo(f"{'created' if result.listed_new else 'extended'} {result.listing}")
    if sdk:
        options = request_options(given)
    else:
        known = project is not None and vendor in project.project.vendors
        options = ("" if known else " --sdk ...") + schema_options(given)
    click.echo(f"next: write the kernel, then fl-gen backend {vendor}{options} so that the router knows it")
