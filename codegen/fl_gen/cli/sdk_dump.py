"""`fl-gen sdk dump`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import FILE, FOLDER, not_empty


@click.command()
@click.argument("vendor", metavar="[VENDOR]", required=False)
@click.option(
    "--sdk",
    multiple=True,
    callback=not_empty,
    metavar="PATH|sim[:VERSION]",
    help="Root of the SDK; several for one whose headers are spread. With VENDOR as in `sdk check`.",
)
@click.option(
    "--header",
    "headers",
    multiple=True,
    callback=not_empty,
    metavar="HEADER",
    help="Read this header, as an #include spells it, instead of those of VENDOR or those found below --sdk.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "yaml"]),
    default="json",
    show_default=True,
    help="JSON as schemas/jsonschema/sdk-dump.json describes it, or the same values as YAML.",
)
@click.option("-o", "--output", type=FILE, default=None, metavar="FILE", help="Write there instead of printing.")
@click.option("--schemas", "schema_dirs", multiple=True, type=FOLDER, help="A folder of schemas of your own.")
def dump(
    vendor: str | None,
    sdk: tuple[str, ...],
    headers: tuple[str, ...],
    form: str,
    output: Path | None,
    schema_dirs: tuple[Path, ...],
) -> None:
    """Print all that the headers of an SDK declare: functions with their types, enums, records, typedefs, macros.

    Each declaration comes with its header and line, its deprecation, and the preprocessor conditions around it. What
    the headers declare only under other conditions is listed as unavailable, with what would have to hold. With VENDOR
    the headers are those of its groups that are there, without it those that are found below --sdk. The output is the
    same wherever the SDK is installed.
    """
    from fl_gen.report.dump_text import dump_json, dump_left_out, dump_summary, dump_yaml
    from fl_gen.schema.errors import printable
    from fl_gen.tasks.sdk_dump import dump_folder, dump_vendor
    from fl_gen.workflow.request import Request

    if vendor is not None:
        result = dump_vendor(Request(vendor=vendor, sdk=sdk, schema_dirs=schema_dirs), headers)
    else:
        if not sdk:
            raise click.UsageError("Name a VENDOR, or the folder of an SDK with --sdk.")
        if any(one == "sim" or one.startswith("sim:") for one in sdk):
            raise click.UsageError("--sdk sim needs a VENDOR: there is one simulated SDK for each.")
        result = dump_folder(sdk, headers)
    text = dump_json(result) if form == "json" else dump_yaml(result)
    left_out = dump_left_out(result)
    if left_out is not None:
        click.echo(printable(left_out), err=True)
    if output is None:
        click.echo(text, nl=False)
        return
    from fl_gen.output.disk import replace_file

    replace_file(output, text)
    click.echo(f"{dump_summary(result)}\nwritten to {output}")
