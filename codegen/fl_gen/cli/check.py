"""`fl-gen check`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from fl_gen.cli.options import FILE, FOLDER, cache_folder, config_option, output_option, sdk_options


@click.command()
@click.argument("vendors", nargs=-1, metavar="[VENDOR]...")
@config_option
@sdk_options
@click.option("--templates", "template_dirs", multiple=True, type=FOLDER, help="As for fl-gen backend.")
@click.option("--licence", type=FILE, metavar="FILE", help="As for fl-gen backend.")
@output_option
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Processes at a time. Default: the processors.")
def check(
    vendors: tuple[str, ...],
    config: Path | None,
    sdk: tuple[str, ...],
    schema_dirs: tuple[Path, ...],
    no_cache: bool,
    template_dirs: tuple[Path, ...],
    licence: Path | None,
    output: Path,
    jobs: int | None,
) -> int:
    """Say whether generated/ is what fl-gen makes now. Changes nothing: made for CI and pre-commit.

    Found are changed, missing, stale, extra and hand-edited files, and conflict markers that somebody left in
    generated/ or backends/; each with the command that mends it. With fl-gen.yaml (here, or --config) that is all that
    is needed. Without it the manifests say what to make again; --sdk, --schemas, --templates, --licence and --output
    are for that case alone, and where a real SDK is not there, only digests are compared.

    Exit code: 0 nothing found, 1 something found, 2 no verdict, 3 interrupted.
    """
    from fl_gen.tasks.kept import Kept

    cache = cache_folder(no_cache)
    alone = bool(sdk or schema_dirs or template_dirs or licence or output != Path())
    kept = Kept(None if alone else cache, ["check", str(config), *vendors])
    answer = kept.load()
    if answer is not None:
        click.echo(answer[1], nl=False)
        return answer[0]
    from fl_gen.report.check_text import check_text
    from fl_gen.schema.project import CONFIG_NAME
    from fl_gen.tasks.check_kept import state_of, trees_before
    from fl_gen.tasks.sdk_targets import default_jobs
    from fl_gen.tasks.tree_check import check_manifests, check_project
    from fl_gen.workflow.project import find_project
    from fl_gen.workflow.request import Request

    if config is not None and alone:
        raise click.UsageError("--config names a project, which says all: leave the other options out")
    project = None if alone else find_project(config)
    if project is not None:
        before = trees_before(project, vendors)
        result = check_project(project, vendors, cache, jobs or default_jobs())
        state = state_of(before, result) if before is not None else None
        if state is not None:
            kept.store(0, check_text(result), state)
    else:
        from fl_gen.render.licence import read_licence

        base = Request(
            vendor="",
            sdk=sdk,
            output=output,
            schema_dirs=schema_dirs,
            template_dirs=template_dirs,
            cache=cache,
            licence=read_licence(licence) if licence is not None else None,
        )
        result = check_manifests(base, vendors, licence)
    terminal = sys.stdout is not None and sys.stdout.isatty()
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    click.echo(check_text(result, colour), nl=False)
    if project is None and alone and os.path.lexists(CONFIG_NAME):
        click.echo(f"{CONFIG_NAME} was not read: options said what to compare with", err=True)
    return result.exit_code
