"""Tells the causes of what differs between two renders of one vendor apart."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from fl_gen.schema.paths import data_dir
from fl_gen.tasks.tree_diff_build import Builder
from fl_gen.tasks.tree_diff_causes import Attribution, Inputs
from fl_gen.tasks.tree_diff_events import assign_events
from fl_gen.tasks.tree_diff_sides import Child, Job, Side, maps_of
from fl_gen.tasks.tree_diff_values import CauseKind


def tell_meanings(builder: Builder, inputs: Inputs) -> None:
    for suspects in inputs.by_kind.values():
        for suspect in suspects:
            builder.suspect(suspect, inputs.new.vendor)
    events, rest = assign_events(inputs)
    builder.events(inputs.new.vendor, events)
    for event in rest:
        was = f" (was {event.old})" if event.old is not None else ""
        builder.notes.append(
            f"{inputs.new.vendor}: {event.effect}: {event.fact[1]}{was}: no single one of the causes is behind it"
        )


def attribution_of(
    builder: Builder, inputs: Inputs, jobs: tuple[Job, Job], paths: list[str], folder: Path
) -> Attribution:
    """Who tells the causes of the files `paths` apart; with one suspect there is nothing to tell."""
    if not paths or sum(map(len, inputs.by_kind.values())) < 2:
        return Attribution(inputs, {}, ({}, {}))
    texts = [{path: side.files[path] for path in paths if path in side.files} for side in (inputs.old, inputs.new)]
    with Child([replace(jobs[0], texts=texts[0])]) as child:
        after = maps_of(jobs[1].request, texts[1])
        before = child.result()[0]
    maps = ({} if isinstance(before, str) else before, after)
    made = _variants(inputs, jobs, folder)
    for kind, why in made.items():
        if isinstance(why, str):  # as when a template needs what only the new schemas have
            first = why.partition("\n")[0]
            builder.notes.append(f"{inputs.new.vendor}: the change of the {kind} alone cannot be rendered: {first}")
    return Attribution(inputs, {kind: one for kind, one in made.items() if isinstance(one, Side)}, maps)


def _variants(inputs: Inputs, jobs: tuple[Job, Job], folder: Path) -> dict[CauseKind, Side | str]:
    """The old side with one kind of the new input each, or why there is none, when there are several kinds."""
    if len(inputs.kinds) < 2:
        return {}
    old, new = jobs
    wanted: dict[CauseKind, Job] = {}
    for kind in inputs.kinds:
        if kind == "node":
            wanted[kind] = Job(
                replace(old.request, schema_dirs=new.request.schema_dirs), _mixed(new.data, old.data, folder)
            )
        elif kind == "template":
            wanted[kind] = Job(
                replace(old.request, template_dirs=new.request.template_dirs), _mixed(old.data, new.data, folder)
            )
        elif kind == "sdk":
            wanted[kind] = Job(replace(old.request, sdk=new.request.sdk), old.data)
        elif kind == "wheel":
            wanted[kind] = Job(replace(old.request, torch=new.request.torch), old.data)
        elif kind == "formatter":
            wanted[kind] = Job(replace(old.request, formatted=new.request.formatted), old.data)
        elif kind == "licence":
            wanted[kind] = Job(replace(old.request, licence=new.request.licence), old.data)
        elif kind == "native":
            wanted[kind] = Job(replace(old.request, output=new.request.output), old.data)
    with Child(list(wanted.values())) as child:
        results = child.result()
    return dict(zip(wanted, results, strict=True))


def _mixed(schemas: Path | None, templates: Path | None, folder: Path) -> Path | None:
    """A folder with the shipped schemas of one side and the shipped templates of the other."""
    if schemas == templates:
        return schemas
    made = Path(tempfile.mkdtemp(dir=folder))
    for name, data in (("schemas", schemas), ("templates", templates)):
        (made / name).symlink_to((data or data_dir()).resolve() / name, target_is_directory=True)
    return made
