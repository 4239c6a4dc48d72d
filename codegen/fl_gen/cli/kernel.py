"""`fl-gen kernel`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import (
    cache_folder,
    output_option,
    require_torch,
    sdk_options,
    torch_option,
    vendor_argument,
)


@click.group()
def kernel() -> None:
    """Hand-written kernels, below backends/VENDOR."""


@kernel.command()
@vendor_argument
@click.argument("op", metavar="OP")
@sdk_options
@output_option
@click.option("--framework", default="infinitrain", show_default=True, help="Whose kernel it is.")
@torch_option
@click.option("--python", is_flag=True, help="With --framework torch: a kernel in Python, or Triton, instead of C++.")
def new(
    vendor: str,
    op: str,
    sdk: tuple[str, ...],
    schema_dirs: tuple[Path, ...],
    no_cache: bool,
    output: Path,
    framework: str,
    torch: Path | None,
    python: bool,
) -> None:
    """Write the skeleton of a kernel of OP with its exact signature, and list it in kernels.yaml.

    Nothing that exists is written over. Run `fl-gen backend VENDOR` afterwards, so that the router knows it.
    """
    from fl_gen.report.terminal import request_options, schema_options
    from fl_gen.workflow.request import Request
    from fl_gen.workflow.scaffold import scaffold

    require_torch(framework, torch)
    request = Request(
        vendor=vendor,
        framework=framework,
        sdk=sdk or ("sim",),
        output=output,
        schema_dirs=schema_dirs,
        cache=cache_folder(no_cache),
        torch=torch,
    )
    if framework == "torch":
        from fl_gen.workflow.torch_scaffold import scaffold_torch

        result = scaffold_torch(request, op, python)
    elif python:
        raise click.UsageError("--python goes with --framework torch")
    else:
        result = scaffold(request, op)
    click.echo(f"created {result.path}")
    click.echo(f"{'created' if result.listed_new else 'extended'} {result.listing}")
    options = request_options(request) if sdk else " --sdk ..." + schema_options(request)
    if framework == "torch":
        click.echo(f"next: write the kernel, then fl-gen backend {vendor} --framework torch{options}, and build again")
        return
    click.echo(f"next: write the kernel, then fl-gen backend {vendor}{options} so that the router knows it")
