"""`fl-gen backend`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fl_gen.cli.build_options import BuildOptions, build_options
from fl_gen.cli.options import (
    FILE,
    FOLDER,
    cache_folder,
    decided_keys,
    not_empty,
    output_option,
    policy_options,
    require_torch,
    sdk_options,
    torch_option,
    vendor_argument,
)

if TYPE_CHECKING:
    from fl_gen.output.policy import Policy


@click.command()
@vendor_argument
@sdk_options
@output_option
@click.option("--framework", default="infinitrain", show_default=True, help="What the backend plugs into.")
@torch_option
@click.option(
    "--require",
    multiple=True,
    callback=not_empty,
    metavar="GROUP",
    help="Stop if this part of the SDK (blas, ccl, ...) is not there.",
)
@click.option(
    "--templates",
    "template_dirs",
    multiple=True,
    type=FOLDER,
    help="A folder of templates of your own, laid over the shipped ones. May be given several times.",
)
@click.option("--verify", is_flag=True, help="Parse every C++ file against the SDK and the framework before writing.")
@click.option("--no-format", is_flag=True, help="Leave the C++ as the templates make it.")
@click.option("--licence", type=FILE, metavar="FILE", help="A text put as a comment atop every file that is made.")
@click.option("--no-config", is_flag=True, help="Do not read the fl-gen.yaml of this folder.")
@click.option("--save", is_flag=True, help="Record what is generated in fl-gen.yaml, for fl-gen regen.")
@policy_options
@click.option("--dry-run", is_flag=True, help="Say what would change and write nothing.")
@build_options
def backend(
    vendor: str,
    sdk: tuple[str, ...],
    schema_dirs: tuple[Path, ...],
    no_cache: bool,
    output: Path,
    framework: str,
    torch: Path | None,
    require: tuple[str, ...],
    template_dirs: tuple[Path, ...],
    verify: bool,
    no_format: bool,
    licence: Path | None,
    no_config: bool,
    save: bool,
    policy: Policy,
    dry_run: bool,
    build: BuildOptions,
) -> int:
    """Generate the backend of VENDOR: generated/VENDOR from scratch, backends/VENDOR once.

    Every SDK call is checked against the SDK's headers first. What the SDK cannot do gets a strategy, and the closing
    list says which.

    What the fl-gen.yaml of this folder says counts here, too, where no option says otherwise.
    """
    from fl_gen.report.build_text import build_text
    from fl_gen.report.terminal import backend_summary, plan_text
    from fl_gen.schema.paths import shown
    from fl_gen.schema.project import CONFIG_NAME
    from fl_gen.tasks import project_write
    from fl_gen.tasks.build_inputs import Made, finish, list_outputs
    from fl_gen.workflow.generate import generate, plan_of, prepare
    from fl_gen.workflow.project import find_project
    from fl_gen.workflow.project_defaults import complete
    from fl_gen.workflow.request import Request

    if dry_run:
        build.refuse_with("--dry-run")
    request = Request(
        vendor=vendor,
        framework=framework,
        sdk=sdk,
        output=output,
        require=require,
        schema_dirs=schema_dirs,
        template_dirs=template_dirs,
        cache=cache_folder(no_cache),
        formatted=not no_format,
        verify=verify,
        licence=_licence(licence),
        torch=torch,
    )
    config = Path(CONFIG_NAME)
    project = None if no_config else find_project(None)
    if project is not None:
        completed = complete(request, project, decided_keys(), licence)
        request, licence = completed.request, completed.licence
        if completed.text and build.files.stamp is None:
            click.echo(completed.text, err=True)
    require_torch(request.framework, torch)
    if save:
        if dry_run or build.list_outputs:
            raise click.UsageError("--save records what was generated, and here nothing is: leave it out")
        project_write.require_savable(config, request, licence)
    if dry_run:
        click.echo(plan_text(plan_of(request, prepare(request), policy)))
        return 0
    if build.list_outputs:
        click.echo(list_outputs([request], build.form), nl=False)
        return 0
    build.files.require_outside([request.generated, request.backends])
    outcome = generate(request, policy)
    saved = save and project_write.save(config, request, licence)
    # Last of all: what a build finds says that everything else succeeded.
    if not outcome.plan.conflicts:
        own = [one for one in (project.path if project is not None else None, licence) if one is not None]
        finish(build.files, build.form, [Made.of(request, outcome)], own)
    if build.files.stamp is not None:
        click.echo(build_text(request, outcome.plan, outcome.created), nl=False)
    else:
        click.echo(backend_summary(request, outcome))
    if saved:
        click.echo(f"saved    {shown(config)}")
    return 1 if outcome.plan.conflicts else 0


def _licence(path: Path | None) -> str | None:
    """The text of a licence file, None without one."""
    from fl_gen.render.licence import read_licence

    return read_licence(path) if path is not None else None
