"""`fl-gen regen`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fl_gen.cli.build_options import BuildOptions, build_options
from fl_gen.cli.options import cache_folder, config_option, policy_options

if TYPE_CHECKING:
    from fl_gen.output.policy import Policy


@click.command()
@click.argument("vendors", nargs=-1, metavar="[VENDOR]...")
@config_option
@click.option("-j", "--jobs", type=click.IntRange(1), metavar="N", help="Processes at a time. Default: the processors.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write fl-gen's caches (FL_GEN_CACHE_DIR moves them).")
@policy_options
@click.option("--dry-run", is_flag=True, help="Say what would change and write nothing.")
@click.option("--upgrade", is_flag=True, help="Make the tree with this fl-gen, whatever version the project names.")
@click.option("--prune", is_flag=True, help="Remove what was made for vendors that the project does not name.")
@build_options
def regen(
    vendors: tuple[str, ...],
    config: Path | None,
    jobs: int | None,
    no_cache: bool,
    policy: Policy,
    dry_run: bool,
    upgrade: bool,
    prune: bool,
    build: BuildOptions,
) -> int:
    """Regenerate the vendors that fl-gen.yaml names, all of them or those given: every tree is written, or none.

    Everything is rendered first; a refused hand edit or a lost binding of one vendor leaves all as they are. A run
    whose inputs and outputs have not changed says so without rendering.
    """
    from fl_gen.tasks.kept import Kept

    for option, given in (("--dry-run", dry_run), ("--upgrade", upgrade), ("--prune", prune)):
        if given:
            build.refuse_with(option)
    from fl_gen.output.policy import Policy

    # A build has already seen that something changed; and a decision is for edits that were left alone so far.
    asked = dry_run or upgrade or prune or build.list_outputs or build.files.wanted
    usual = not asked and policy is Policy.REFUSE
    kept = Kept(cache_folder(no_cache), ["regen", str(config), *vendors]) if usual else None
    answer = kept.load() if kept is not None else None
    if answer is not None:
        click.echo(answer[1])
        return 0
    from fl_gen.report.regen_text import pruned_text, regen_text, unchanged_text, version_text
    from fl_gen.schema.errors import FlGenError
    from fl_gen.schema.paths import shown
    from fl_gen.tasks.regen import orphans, regenerate, require_prunable
    from fl_gen.tasks.regen_kept import state_of
    from fl_gen.tasks.render_many import render_many
    from fl_gen.tasks.sdk_targets import default_jobs
    from fl_gen.workflow.project import require_project

    project = require_project(config)
    if not upgrade:
        project.require_version()
    elif vendors:
        raise click.UsageError("--upgrade is for the whole project: name no vendors")
    cache = cache_folder(no_cache)
    requests = project.requests(vendors, cache)
    left = orphans(project.output, project.trees, str(project.project.framework))
    if not requests and not (prune and left):
        raise FlGenError(
            f"{shown(project.path)}: it names no vendor\n"
            "  = write one below vendors:, or run fl-gen backend VENDOR --sdk SDK --save"
        )
    count = jobs or default_jobs()
    if dry_run:
        from fl_gen.report.terminal import plan_text
        from fl_gen.workflow.generate import plan_files

        for one in render_many(requests, count):
            click.echo(plan_text(plan_files(one.request, one.files, policy)))
        if prune and left:
            from fl_gen.tasks.regen import prune_plans

            for plan in prune_plans(project.output, left, policy):
                click.echo(plan_text(plan))
        if upgrade:
            click.echo(version_text(project.path, str(project.project.generator)), nl=False)
        return 0
    if build.list_outputs:
        from fl_gen.tasks.build_inputs import list_outputs

        click.echo(list_outputs(requests, build.form), nl=False)
        return 0
    build.files.require_outside([folder for one in requests for folder in (one.generated, one.backends)])
    if prune and left:
        require_prunable(project.output, left, policy)  # else the trees would be written, and then it stops
    outcomes = regenerate(requests, policy, count)
    conflicts = any(outcome.plan.conflicts for outcome in outcomes)
    if build.files.wanted:
        from fl_gen.report.build_text import build_text
        from fl_gen.tasks.build_inputs import Made, finish

        made = [Made(one.request, tuple(one.rendered.files), one.created, one.rendered.watched) for one in outcomes]
        if not conflicts:
            finish(build.files, build.form, made, project.own_files)
        for outcome in outcomes:
            click.echo(build_text(outcome.request, outcome.plan, outcome.created), nl=False)
        return 1 if conflicts else 0
    if outcomes:
        click.echo(regen_text(outcomes))
    if upgrade:
        from fl_gen.tasks.project_write import upgrade as record

        record(project)
        click.echo(version_text(project.path, str(project.project.generator)), nl=False)
    if prune and left:
        from fl_gen.tasks.regen import prune as remove

        for plan in remove(project.output, left, policy):
            click.echo(pruned_text(plan, project.output))
    elif left and not vendors:
        folders = ", ".join(shown(project.output / "generated" / name) for name in left)
        click.echo(
            f"{folders}: made for a vendor that {shown(project.path)} does not name; --prune removes it", err=True
        )
        return 1 if conflicts else 0
    if kept is not None and not conflicts:
        state = state_of(project, outcomes)
        if state is not None:
            kept.store(0, unchanged_text(outcomes), state)
    return 1 if conflicts else 0
