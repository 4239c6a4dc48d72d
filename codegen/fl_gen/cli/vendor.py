"""`fl-gen vendor`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import FOLDER, not_empty


@click.group()
def vendor() -> None:
    """Vendor files: what describes an SDK."""


@vendor.command()
@click.argument("name", metavar="NAME")
@click.option(
    "--sdk",
    required=True,
    multiple=True,
    callback=not_empty,
    metavar="PATH",
    help="Root of the SDK. May be given several times, when its headers are in several places.",
)
@click.option(
    "--like",
    "tradition",
    default=None,
    metavar="TRADITION",
    help="Whose way of naming it follows: cuda, cnrt or acl. A hint only; default: guessed from the names.",
)
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    default=Path("schemas"),
    show_default=True,
    help="Folder of schemas in which vendors/NAME is made; --schemas takes it afterwards.",
)
@click.option("--schemas", "schema_dirs", multiple=True, type=FOLDER, help="Schemas of your own.")
def new(name: str, sdk: tuple[str, ...], tradition: str | None, output: Path, schema_dirs: tuple[Path, ...]) -> None:
    """Draft a vendor file for an SDK that nobody described yet, from its headers."""
    from fl_gen.report.draft_text import draft_text
    from fl_gen.schema.catalog import Catalog
    from fl_gen.tasks.draft import DraftRequest, new_vendor

    catalog = Catalog(schema_dirs)
    drafted = new_vendor(DraftRequest(name, sdk, tradition), output, catalog)
    click.echo(draft_text(drafted, catalog.runtime(), str(output)))
