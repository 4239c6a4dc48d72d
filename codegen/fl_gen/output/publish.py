"""Put a plan on disk, all or nothing.

The whole vendor folder is staged beside its target (identical files hard-linked, files that fl-gen does not own
carried over) and swapped in by one `renameat2(RENAME_EXCHANGE)`. A run that is killed leaves the old tree or the new
one; a staging folder that it leaves behind is removed by the next run, under the same lock. Of several folders
`transaction` makes one step.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from fl_gen.output.base import record_files
from fl_gen.output.disk import PublishError, make_folder, remedy, remove, sync_files, sync_folder, write_new
from fl_gen.output.plan import Action, Plan, signature
from fl_gen.output.swap import stage_of, swap_in
from fl_gen.output.transaction import Swap, begin, commit, same_file, undo, withdraw


def publish(plan: Plan) -> None:
    """Make the disk what `plan` says. The caller holds the lock and has dealt with `plan.refused`.

    Does nothing, not even to a time stamp, when the plan changes nothing. Raises PublishError; nothing is half-written.
    """
    publish_all([plan])


def publish_all(plans: Sequence[Plan]) -> None:
    """`publish` for several folders of one parent, all or none: every new folder is on the disk before the first is
    swapped in, and when a swap fails, those before it are swapped back. A kill between two swaps leaves a journal, by
    which the next run puts the old ones back. Raises PublishError.
    """
    changed = [plan for plan in plans if plan.changes]
    swaps: list[Swap] = []
    where = plans[0].folder if plans else Path()
    try:
        written = {}
        for plan in plans:
            where = plan.folder
            remove(stage_of(where))
            if plan.changes:
                make_folder(where.parent)
                written[where] = _stage(plan, stage_of(where))
        for plan in plans:
            _require_as_seen(plan)
        swaps = [Swap.of(plan.folder, written[plan.folder]) for plan in changed]
        if len(swaps) > 1:
            begin(swaps)
        for plan in changed:
            where = plan.folder
            swap_in(where)
            sync_folder(where.parent)
        for plan in changed:
            where = plan.folder
            _require_nothing_lost(plan, stage_of(where))
        if len(swaps) > 1:
            commit(where.parent)
    except BaseException as error:
        undone = _undone(plans, swaps)
        if not isinstance(error, OSError):
            raise
        named = error.filename if error.filename is not None else where
        unchanged = where if len(plans) == 1 else where.parent
        state = "is unchanged" if undone else "is partly new: the next run puts the old trees back"
        raise PublishError(
            f"{named}: cannot be written: {error.strerror or error}\n  {unchanged} {state}. {remedy(error)}"
        ) from error
    for plan in changed:
        _discard(stage_of(plan.folder))


def _undone(plans: Sequence[Plan], swaps: Sequence[Swap]) -> bool:
    """Bring the old folders back; whether that was done. Where it fails, the journal stays, and so do they."""
    try:
        undo(swaps)
        for folder in {plan.folder.parent for plan in plans}:
            withdraw(folder)
    except OSError:
        return False
    for plan in plans:
        with contextlib.suppress(OSError):
            remove(stage_of(plan.folder))
    return True


def _require_as_seen(plan: Plan) -> None:
    """Raises PublishError when a file that is to go was changed since it was compared: that edit would be lost."""
    for path, seen in plan.seen.items():
        file = plan.folder / path
        if os.path.lexists(file) and signature(file) != seen:
            raise PublishError(f"{file}: was changed while fl-gen worked; nothing was written. Run again.")


def _require_nothing_lost(plan: Plan, old: Path) -> None:
    """Raises PublishError when the folder that was just swapped out, now at `old`, holds what staging has not seen:
    somebody saved a file in between, which would be removed with the folder."""
    for root, folders, names in os.walk(old):
        for name in [*names, *(name for name in folders if (Path(root) / name).is_symlink())]:
            file = Path(root) / name
            path = file.relative_to(old).as_posix()
            if (
                signature(file) != plan.seen.get(path)
                and not plan.is_record(path)
                and not same_file(file, plan.folder / path)
            ):
                raise PublishError(
                    f"{plan.folder / path}: was changed while fl-gen worked; nothing was written. Run again."
                )


def _discard(stage: Path) -> None:
    """Remove an old folder after the new one is in its place. Raises PublishError."""
    try:
        remove(stage)
    except OSError as error:
        raise PublishError(
            f"{error.filename or stage}: the old folder cannot be removed: {error.strerror or error}\n"
            f"  the new one is in its place. {remedy(error)}"
        ) from error


def _stage(plan: Plan, stage: Path) -> list[str]:
    """Build the new folder at `stage`: files that stay are linked to the old ones, which keeps their time stamps.

    Returns the paths that were written.
    """
    target = plan.folder
    stage.mkdir()
    touched = {entry.path for entry in plan.entries if entry.action not in (Action.IDENTICAL, Action.KEPT)}
    records = record_files(plan.made, plan.bases) if plan.made else {}  # a vendor that goes leaves none
    if target.is_dir():
        for root, folders, names in os.walk(target):
            relative = Path(root).relative_to(target)
            links = [name for name in folders if (Path(root) / name).is_symlink()]
            for name in [*names, *links]:
                path = (relative / name).as_posix()
                if path in touched or plan.is_record(path):
                    continue
                make_folder((stage / path).parent)
                _carry(Path(root) / name, stage / path)
            for name in folders:
                # Empty folders of a person stay; those that only held stale files go.
                if name not in links and not any((Path(root) / name).iterdir()):
                    make_folder(stage / relative / name)
    texts = {path: plan.files[path] for path in touched if path in plan.files} | records
    for path, text in sorted(texts.items()):
        make_folder((stage / path).parent)
        write_new(stage / path, text)
    sync_files([stage / path for path in sorted(texts)])
    if target.is_dir():
        _keep_modes(target, stage, texts)
    sync_folder(stage)
    return sorted(texts)


def _keep_modes(target: Path, stage: Path, written: Iterable[str]) -> None:
    """What a person opened or closed stays so: folders, and files that are written anew."""
    for path in written:
        if (target / path).is_file():
            shutil.copymode(target / path, stage / path)
    for root, folders, _ in os.walk(stage, topdown=False):  # a closed folder is closed when all is in it
        for folder in (Path(root) / name for name in folders):
            before = target / folder.relative_to(stage)
            if before.is_dir() and not folder.is_symlink():
                shutil.copymode(before, folder)
    shutil.copymode(target, stage)


def _carry(source: Path, destination: Path) -> None:
    if source.is_symlink():
        os.symlink(os.readlink(source), destination)
        return
    try:
        os.link(source, destination)
    except OSError:
        shutil.copy2(source, destination)
