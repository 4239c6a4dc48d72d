"""Files that are made once and belong to people from then on."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from fl_gen.output.disk import PublishError, make_folder, remedy, remove, replace_file, sync_files, write_new
from fl_gen.output.plan import kind_of
from fl_gen.output.swap import stage_of


def create_once(folder: Path, files: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Create each of `files` (relative path -> text) in `folder` unless something is there. Returns (created, kept).

    These files belong to people: what exists is never opened for writing. Raises PublishError.
    """
    with staged_once(folder, files) as place:
        return place()


@contextlib.contextmanager
def staged_once(folder: Path, files: Mapping[str, str]) -> Iterator[Callable[[], tuple[list[str], list[str]]]]:
    """`create_once` in two steps: the texts are on disk when the block begins, and the yielded function puts them in
    their places. So a full disk or a file in the way is met before anything else is published.

    Everything waits in one folder beside `folder`; what a killed run left there is removed. Raises PublishError.
    """
    stage = stage_of(folder)
    parent_is_new = not os.path.lexists(folder.parent)
    try:
        missing = {path: text for path, text in files.items() if not os.path.lexists(folder / path)}
        for parent in [folder, *(p for path in missing for p in (folder / path).parents if folder in p.parents)]:
            if os.path.lexists(parent) and not parent.is_dir():
                raise PublishError(f"{parent}: fl-gen needs a folder here and finds a {kind_of(parent)}: move it away")
            if missing and parent.is_dir() and not os.access(parent, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(parent))
        remove(stage)
        for path, text in missing.items():
            make_folder((stage / path).parent)
            write_new(stage / path, text)
        sync_files([stage / path for path in missing])
        yield lambda: _place(folder, stage, files)
    except OSError as error:
        raise PublishError(
            f"{error.filename or folder}: cannot be written: {error.strerror or error}. {remedy(error)}"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            remove(stage)
            if parent_is_new:
                folder.parent.rmdir()  # which fails, as it should, when something is in it


def _place(folder: Path, stage: Path, files: Mapping[str, str]) -> tuple[list[str], list[str]]:
    created, kept = [], []
    for path, text in sorted(files.items()):
        destination = folder / path
        if os.path.lexists(destination) or not os.path.lexists(stage / path):
            kept.append(path)
            continue
        make_folder(destination.parent)
        try:
            os.link(stage / path, destination)  # fails if somebody was faster, unlike a rename
            created.append(path)
        except FileExistsError:
            kept.append(path)
        except OSError:  # another file system (a linked folder), or one without links
            replace_file(destination, text)
            created.append(path)
    return created, kept
