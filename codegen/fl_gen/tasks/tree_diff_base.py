"""What a git revision has of all that a request reads, as requests that read it from a temporary folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fl_gen.schema.paths import data_dir, shown
from fl_gen.tasks.tree_diff_git import Revision
from fl_gen.workflow.project import ProjectFile
from fl_gen.workflow.request import Request, is_simulated


@dataclass(frozen=True)
class Then:
    """The requests of a revision by tree; `data` has its shipped schemas and templates, None for fl-gen's own."""

    requests: dict[str, Request]
    data: Path | None
    notes: tuple[str, ...]


@dataclass
class Snapshot:
    """Files of a revision, taken into `folder` when they are needed."""

    revision: Revision
    folder: Path
    notes: list[str] = field(default_factory=list)

    def bring(self, *paths: Path) -> None:
        """Take what the revision has at or below `paths`, of the work tree."""
        inside = [place for place in map(self.revision.within, paths) if place is not None]
        links = self.revision.extract(inside, self.folder) if inside else ()
        if links:
            self.notes.append(f"{self.revision.name}: not followed, as it is no regular file: {', '.join(links[:3])}")

    def place(self, path: Path) -> Path:
        """Where `path` of the work tree is in the snapshot; itself, if it is outside the repository."""
        inside = self.revision.within(path)
        return path if inside is None else self.folder / inside

    def real(self, path: str) -> str:
        """The work tree's path of one in the snapshot."""
        try:
            return os.fspath(self.revision.top / Path(path).relative_to(self.folder))
        except ValueError:
            return path


def snapshot_then(
    revision: Revision, requests: Sequence[Request], names: Sequence[str], config: Path | None, folder: Path
) -> Then:
    """The revision's side of `requests`: by its own project file, where it has one, else by the same requests."""
    snapshot = Snapshot(revision, folder / "then")
    snapshot.folder.mkdir()
    if config is None:
        return take(snapshot, requests)
    snapshot.bring(config)
    file = snapshot.place(config)
    if revision.within(config) is None or not file.is_file():
        snapshot.notes.append(f"{revision.name} has no {shown(config)}: that of now counts for both sides")
        return take(snapshot, requests)
    return take(snapshot, _project_requests(snapshot, file, requests, names))


def _project_requests(
    snapshot: Snapshot, file: Path, requests: Sequence[Request], names: Sequence[str]
) -> list[Request]:
    """The requests of the project file of the revision, with the paths of the work tree."""
    from fl_gen.schema.project_spec import load_project

    project = load_project(file, f"{snapshot.revision.name}:{file.relative_to(snapshot.folder).as_posix()}")
    folder = Path(snapshot.real(os.fspath(file.parent)))
    read = [*project.schemas, *project.templates, *([project.licence] if project.licence is not None else [])]
    snapshot.bring(*(folder / one for one in read))
    for one in (*project.schemas, *project.templates):  # git keeps no empty folder
        snapshot.place(folder / one).mkdir(parents=True, exist_ok=True)
    found = ProjectFile(file, project)
    cache = next((request.cache for request in requests), None)
    wanted = [name for name in project.vendors if not names or name in names]
    made = found.requests(wanted, cache, shipped=False) if wanted else ()
    real = snapshot.real
    return [
        replace(
            request,
            sdk=tuple(one if is_simulated([one]) else real(one) for one in request.sdk),
            output=Path(real(os.fspath(request.output))),
            schema_dirs=tuple(Path(real(os.fspath(one))) for one in request.schema_dirs),
            template_dirs=tuple(Path(real(os.fspath(one))) for one in request.template_dirs),
            torch=Path(real(os.fspath(request.torch))) if request.torch is not None else None,
        )
        for request in made
    ]


def take(snapshot: Snapshot, requests: Sequence[Request]) -> Then:
    """`requests`, which have paths of the work tree, on the revision's files."""
    data = _data(snapshot)
    made = {}
    for request in requests:
        own = request.backends
        folders = (*request.schema_dirs, *request.template_dirs)
        snapshot.bring(*folders, own / "kernels.yaml", own / "kernels")
        # A template folder without the framework's folder would be refused, and is as good as none.
        templates = [snapshot.place(one) for one in request.template_dirs]
        schemas = [snapshot.place(one) for one in request.schema_dirs]
        made[request.tree] = replace(
            request,
            output=snapshot.place(request.output),
            schema_dirs=tuple(one for one in schemas if one.is_dir()),
            template_dirs=tuple(one for one in templates if (one / request.framework).is_dir()),
        )
    return Then(made, data, tuple(dict.fromkeys(snapshot.notes)))


def _data(snapshot: Snapshot) -> Path | None:
    """The shipped schemas and templates of the revision, if it is one of fl-gen's own checkout."""
    shipped = data_dir()
    if snapshot.revision.within(shipped) is None:
        snapshot.notes.append("the schemas and templates that come with fl-gen are those of now on both sides")
        return None
    snapshot.bring(shipped / "schemas", shipped / "templates")
    found = snapshot.place(shipped)
    if not (found / "schemas" / "runtime.yaml").is_file():
        snapshot.notes.append(f"{snapshot.revision.name} has no schemas of fl-gen: those of now count for both sides")
        return None
    return found
