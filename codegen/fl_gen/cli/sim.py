"""`fl-gen sim`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import FOLDER, cache_folder, vendor_argument


@click.group()
def sim() -> None:
    """The simulated SDK: a test double of a vendor's SDK that runs on any machine."""


@sim.command()
@vendor_argument
@click.option("--out", required=True, type=FOLDER, help="Folder to build into.")
@click.option("--version", default=None, metavar="VERSION", help="Release to imitate, or the start of its number.")
@click.option("--sanitize", default="", metavar="LIST", help="Sanitizers to build with: address,undefined or thread.")
@click.option("--schemas", "schema_dirs", multiple=True, type=FOLDER, help="Schemas of your own.")
def build(vendor: str, out: Path, version: str | None, sanitize: str, schema_dirs: tuple[Path, ...]) -> None:
    """Build the simulated SDK of VENDOR: headers, libraries and a CMake package."""
    from fl_gen.output.simbuild import SimBuildOptions, build_sim_sdk
    from fl_gen.render.simapi import load_api
    from fl_gen.schema.catalog import Catalog
    from fl_gen.schema.errors import FlGenError

    catalog = Catalog(schema_dirs)
    layout = catalog.vendor(vendor).sdk
    path = catalog.api_path(vendor)
    if path is None:
        raise FlGenError(f"{vendor} has no simulated SDK: there is no api.yaml in its folder")
    api = load_api(path, catalog.folders)
    result = build_sim_sdk(api, version, out, SimBuildOptions(sanitize=sanitize, cache=cache_folder(False)))
    click.echo(f"simulated {layout.name} {result.version} (a test double) is in {result.root}")
    if layout.environment:
        click.echo(f"use it: export {layout.environment[0]}={result.root.resolve()}")
