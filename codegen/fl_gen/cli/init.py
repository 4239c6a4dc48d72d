"""`fl-gen init`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from fl_gen.cli.options import FILE, FOLDER, config_option, output_option, require_torch, torch_option


@click.command()
@click.argument("targets", nargs=-1, metavar="[VENDOR[@SDK]]...")
@config_option
@output_option
@click.option("--framework", default="infinitrain", show_default=True, help="What the backends plug into.")
@torch_option
@click.option("--schemas", "schema_dirs", multiple=True, type=FOLDER, help="A folder of schemas of your own.")
@click.option("--templates", "template_dirs", multiple=True, type=FOLDER, help="A folder of templates of your own.")
@click.option("--licence", type=FILE, metavar="FILE", help="A text put as a comment atop every generated file.")
@click.option("--no-format", is_flag=True, help="Leave the C++ as the templates make it.")
def init(
    targets: tuple[str, ...],
    config: Path | None,
    output: Path,
    framework: str,
    torch: Path | None,
    schema_dirs: tuple[Path, ...],
    template_dirs: tuple[Path, ...],
    licence: Path | None,
    no_format: bool,
) -> None:
    """Write fl-gen.yaml, which says what this repository generates. Never over one that is there.

    A target is VENDOR, whose SDK its environment variable names, or VENDOR@SDK: sim, sim:VERSION, a folder, or several
    joined by commas. Without one, the vendors whose trees are there already are written.
    """
    from fl_gen.render.licence import read_licence
    from fl_gen.schema.paths import shown
    from fl_gen.schema.project import CONFIG_NAME
    from fl_gen.schema.project_spec import read_project
    from fl_gen.tasks.project_write import write_new
    from fl_gen.tasks.sdk_targets import parse_target
    from fl_gen.workflow.request import Request

    require_torch(framework, torch)
    path = config or Path(CONFIG_NAME)
    if licence is not None:
        read_licence(licence)
    base = Request(
        vendor="",
        framework=framework,
        output=output,
        schema_dirs=schema_dirs,
        template_dirs=template_dirs,
        formatted=not no_format,
        torch=torch,
    )
    text = write_new(path, [parse_target(target, base) for target in targets], base, licence)
    vendors = list(read_project(text, shown(path)).vendors)
    option = f" --config {shlex.quote(shown(path))}" if path != Path(CONFIG_NAME) else ""
    named = ", ".join(vendors) if vendors else "no vendors yet: write them in it"
    click.echo(f"{shown(path)}: {named}\nnext  fl-gen regen{option}    # makes what it names")
