"""`fl-gen kernel`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from fl_gen.cli.options import (
    cache_folder,
    decided_keys,
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

    Nothing that exists is written over. What the fl-gen.yaml of this folder says counts where no option does. Run
    `fl-gen backend VENDOR` afterwards, so that the router knows it.
    """
    from fl_gen.report.terminal import request_options
    from fl_gen.workflow.project import find_project
    from fl_gen.workflow.project_defaults import complete
    from fl_gen.workflow.request import Request
    from fl_gen.workflow.scaffold import scaffold

    given = Request(
        vendor=vendor,
        framework=framework,
        sdk=sdk,
        output=output,
        schema_dirs=schema_dirs,
        cache=cache_folder(no_cache),
        torch=torch,
    )
    request, project = given, find_project(None)
    if project is not None:
        completed = complete(given, project, decided_keys(), None)
        request = completed.request
        if completed.text:
            click.echo(completed.text, err=True)
    require_torch(request.framework, torch)
    request = request if request.sdk else replace(request, sdk=("sim",))
    if request.framework == "torch":
        from fl_gen.workflow.torch_scaffold import scaffold_torch

        result = scaffold_torch(request, op, python)
    elif python:
        raise click.UsageError("--python goes with --framework torch")
    else:
        result = scaffold(request, op)
    click.echo(f"created {result.path}")
    click.echo(f"{'created' if result.listed_new else 'extended'} {result.listing}")
    known = project is not None and vendor in project.project.vendors
    options = ("" if sdk or known else " --sdk ...") + request_options(given)
    if request.framework == "torch":
        chosen = "" if given.framework != "torch" else " --framework torch"
        click.echo(f"next: write the kernel, then fl-gen backend {vendor}{chosen}{options}, and build again")
        return
    click.echo(f"next: write the kernel, then fl-gen backend {vendor}{options} so that the router knows it")
