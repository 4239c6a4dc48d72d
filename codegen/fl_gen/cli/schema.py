"""`fl-gen schema`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import FOLDER


@click.group()
def schema() -> None:
    """The YAML files that drive everything."""


@schema.command()
@click.argument("kind", required=False)
@click.option("--out", type=FOLDER, help="Folder to write KIND.json into; default: print it.")
def export(kind: str | None, out: Path | None) -> None:
    """Export the JSON Schema of KIND (all kinds with --out), for editors and other tools.

    KIND is a kind of schema file, or a report: align, bench, coverage, explain, sdk-check, sdk-diff,
    sdk-dump, tree-diff.
    """
    from fl_gen.output.disk import replace_file
    from fl_gen.report.schemas import REPORT_KINDS, report_schema_text
    from fl_gen.schema.errors import FlGenError
    from fl_gen.schema.jsonschema import KINDS as FILE_KINDS
    from fl_gen.schema.jsonschema import export_text
    from fl_gen.schema.suggest import suggestion

    kinds = (*FILE_KINDS, *REPORT_KINDS)

    def text_of(name: str) -> str:
        return report_schema_text(name) if name in REPORT_KINDS else export_text(name)

    if kind is not None and kind not in kinds:
        hint = suggestion(kind, kinds)
        raise FlGenError(
            f"there is no schema kind '{kind}'; the kinds are {', '.join(kinds)}" + (f"\n  = {hint}" if hint else "")
        )
    if out is None:
        if kind is None:
            raise FlGenError(f"name a kind ({', '.join(kinds)}), or give --out for all of them")
        click.echo(text_of(kind), nl=False)
        return
    for name in [kind] if kind is not None else kinds:
        path = out / f"{name}.json"
        replace_file(path, text_of(name))
        click.echo(str(path))


@schema.command()
@click.argument("vendors", nargs=-1)
@click.option("--framework", default="infinitrain", show_default=True, help="Framework to check against.")
@click.option("--schemas", "schema_dirs", multiple=True, type=FOLDER, help="Schemas of your own.")
def check(vendors: tuple[str, ...], framework: str, schema_dirs: tuple[Path, ...]) -> None:
    """Check the schema files of VENDORS (default: all, and all bases) and what they refer to. All problems are reported
    at once."""
    from fl_gen.schema.catalog import Catalog
    from fl_gen.schema.errors import Diagnostic, SchemaError

    catalog = Catalog(schema_dirs)
    problems: list[Diagnostic] = []
    names = vendors or catalog.vendors()
    for name in names:
        problems += catalog.check(name, framework)
    for base in () if vendors else catalog.bases():
        problems += catalog.check_base(base)
    if problems:
        raise SchemaError(problems)
    click.echo(f"{framework} and {', '.join(names)}: the schemas are sound")
