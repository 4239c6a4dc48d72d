"""`fl-gen explain`."""

from __future__ import annotations

from pathlib import Path

import click

from fl_gen.cli.options import FILE, FOLDER, cache_folder, config_option, sdk_options


@click.command()
@click.argument("place", metavar="FILE[:LINE]")
@config_option
@sdk_options
@click.option("--templates", "template_dirs", multiple=True, type=FOLDER, help="As for fl-gen backend.")
@click.option("--licence", type=FILE, metavar="FILE", help="As for fl-gen backend.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, or JSON as schemas/jsonschema/explain.json describes it.",
)
def explain(
    place: str,
    config: Path | None,
    sdk: tuple[str, ...],
    schema_dirs: tuple[Path, ...],
    no_cache: bool,
    template_dirs: tuple[Path, ...],
    licence: Path | None,
    form: str,
) -> None:
    """Say what made a line of a generated file.

    Told are the line of the template and the macros that it went through, the schema nodes that the line says something
    of, the vendor's binding, the declaration in the SDK's header, and what decided that the line is there; for PyTorch
    also the feature of its headers, the rule for an operator, and its entry in the wheel. In a file that was changed by
    hand, the lines that are yours are told apart. FILE:LINE:COLUMN asks for one place in a line,
    FILE:FIRST-LAST for several lines, FILE alone for a summary.

    The project above the file, or else the manifest of its tree, says what it was made from; for a real SDK that is not
    in its usual place, give --sdk. Nothing is written.
    """
    from fl_gen.render.licence import read_licence
    from fl_gen.tasks.explain import explain as explained
    from fl_gen.workflow.request import Request

    given = Request(
        vendor="",
        sdk=sdk,
        schema_dirs=schema_dirs,
        template_dirs=template_dirs,
        cache=cache_folder(no_cache),
        licence=read_licence(licence) if licence is not None else None,
    )
    result = explained(place, given, config)
    if form == "json":
        from fl_gen.report.explain_json import explain_json

        click.echo(explain_json(result), nl=False)
    else:
        from fl_gen.report.explain_text import explain_text

        click.echo(explain_text(result), nl=False)
