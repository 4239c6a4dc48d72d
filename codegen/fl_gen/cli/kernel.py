"""`fl-gen kernel`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import cache_folder, output_option, sdk_options, vendor_argument


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

    Nothing that exists is written over. Run `fl-gen backend VENDOR` afterwards, so that the router knows it.
    """
    from fl_gen.report.terminal import request_options, schema_options
    from fl_gen.workflow.request import Request
    from fl_gen.workflow.scaffold import scaffold

    request = Request(
        vendor=vendor, sdk=sdk or ("sim",), output=output, schema_dirs=schema_dirs, cache=cache_folder(no_cache)
    )
    result = scaffold(request, op)
    click.echo(f"created {result.path}")
    click.echo(f"{'created' if result.listed_new else 'extended'} {result.listing}")
    options = request_options(request) if sdk else " --sdk ..." + schema_options(request)
    click.echo(f"next: write the kernel, then fl-gen backend {vendor}{options} so that the router knows it")
