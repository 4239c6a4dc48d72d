"""`fl-gen sdk`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import cache_folder, sdk_options, vendor_argument
from fl_gen.cli.sdk_dump import dump


@click.group()
def sdk() -> None:
    """A vendor's SDK, as its headers really are."""


@sdk.command()
@vendor_argument
@sdk_options
def check(vendor: str, sdk: tuple[str, ...], schema_dirs: tuple[Path, ...], no_cache: bool) -> None:
    """Hold every binding of VENDOR against an SDK and say what was chosen. Writes nothing."""
    from fl_gen.report.terminal import sdk_check_text
    from fl_gen.workflow import Request, resolve_request

    request = Request(vendor=vendor, sdk=sdk, schema_dirs=schema_dirs, cache=cache_folder(no_cache))
    click.echo(sdk_check_text(resolve_request(request)))


sdk.add_command(dump)
