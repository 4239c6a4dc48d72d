"""Depfiles: what a build system must watch, in the one spelling that GNU Make and Ninja read alike.

They share a grammar and differ in its corners, so a path is written only if Make and Ninja read back the same bytes.
For the few others (`*`, `;`, a backslash before a blank, …) the run stops with the path's name: a dependency that is
quietly lost is a stale build. Blanks, `#`, `:`, `$`, `%`, quotes, brackets, single backslashes and all of UTF-8 are
fine. CMake translates depfiles itself and does not get `#`, `$`, `:` and backslashes across, as in files of its own.

A folder may be an input: its time stamp moves when a name in it comes or goes, which is how a *new* file is seen. What
no depfile can see: environment variables, the search path for programs, and a symbolic link that is turned to another
place whose files are older than the last run.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fl_gen.output.disk import PublishError, replace_file
from fl_gen.schema.errors import FlGenError, quote

# Ninja takes no other characters of ASCII (`*;<>^`|` and controls), and GNU Make gives most of those a meaning.
# A word that ends in `)` is a member of an archive there, and a blank at the end is lost.
_UNREADABLE = re.compile(r"[\x00-\x1f\x7f*;<>^`|]|\\[ #:$\\]|[\\: ]$|\(.*\)$|[\ud800-\udfff]")
_TO_ESCAPE = re.compile(r"([ #:])")
# In the target GNU Make takes `%` for a pattern and `=` for an assignment; escaped, Ninja reads another name.
_NO_TARGET = re.compile(r"[%=]")
# A rule without a recipe for each input, so that Make goes on when one was removed; some names would be patterns there.
_PLAIN = re.compile(r"[^%=~?\[\]]+")
_CLOCK_STEP = 10_000_000  # nanoseconds that a file system's clock may lag behind the system's


class DepfileError(FlGenError):
    """A path that depfiles cannot hold, or a file of a build that would overwrite what fl-gen makes."""


@dataclass(frozen=True)
class BuildFiles:
    """The files that a run leaves for a build system; each may be None.

    `stamp` and `depfile` are named as the build file names them. `outputs` is a list of the generated files that is
    rewritten only when it changes. `started` is when the run began to read, in nanoseconds since the epoch.
    """

    depfile: Path | None = None
    stamp: Path | None = None
    outputs: Path | None = None
    started: int = 0

    def __post_init__(self) -> None:
        if self.depfile is not None and self.stamp is None:
            raise DepfileError("--depfile needs --stamp: the stamp is the target that the depfile names")
        named = [os.path.abspath(path) for path in (self.depfile, self.stamp, self.outputs) if path is not None]
        if len(set(named)) != len(named):
            raise DepfileError("--depfile, --stamp and --outputs must be three different files")

    @property
    def wanted(self) -> bool:
        """Whether there is anything to leave."""
        return any(path is not None for path in (self.depfile, self.stamp, self.outputs))

    def require_outside(self, folders: Iterable[Path]) -> None:
        """Raise DepfileError for a file that lies in one of `folders`, which hold generated files and a person's."""
        for option, path in self._named():
            require_outside(option, path, folders, "put it into the build folder")

    def require_no_input(self, inputs: Iterable[str]) -> None:
        """Raise DepfileError for a file that is one of `inputs`: it would be lost, and never be up to date."""
        read = set(map(os.path.realpath, inputs))
        for option, path in self._named():
            if os.path.realpath(path) in read:
                raise DepfileError(f"{option} {path}: fl-gen reads this file\n  = put it into the build folder")

    def _named(self) -> Iterator[tuple[str, Path]]:
        for option, path in (("--depfile", self.depfile), ("--stamp", self.stamp), ("--outputs", self.outputs)):
            if path is not None:
                yield option, path


def require_outside(option: str, path: Path, folders: Iterable[Path], remedy: str) -> None:
    """Raise DepfileError for a file in one of `folders`, which hold fl-gen's files and a person's."""
    for folder in folders:
        if _within(path, folder):
            raise DepfileError(f"{option} {path}: it lies in {folder}\n  = {remedy}")


def leave(build: BuildFiles, inputs: Iterable[str], created: Iterable[str] = (), outputs: str = "") -> None:
    """What a build wants to find after a run that succeeded: the depfile, the list, and last of all the stamp.

    `inputs` are files and folders; `created` are those of them that this very run made, `outputs` the text of the list.
    Depfile and list are written only if they change. Raises DepfileError or PublishError; the stamp is then untouched.
    """
    paths = sorted({os.path.abspath(path) for path in inputs})
    build.require_no_input(paths)
    spelled = [f"{path}/." if path[-1] in " )" and os.path.isdir(path) else path for path in paths]
    made = {os.path.abspath(path) for path in created}
    if build.depfile is not None:
        _write_changed(build.depfile, depfile_text(os.fspath(build.stamp or ""), spelled))
    if build.outputs is not None:
        _write_changed(build.outputs, outputs)
    newest = max((_mtime(path) for path in paths if path not in made), default=0)
    if build.depfile is not None and newest:
        for path in made.intersection(paths):
            # Ninja takes the start of the command as the time of its outputs, and would run again for what the command
            # itself made. Such a file follows from the others and is as old as they are.
            with contextlib.suppress(OSError):
                os.utime(path, ns=(newest, newest))
    if build.stamp is not None:
        # Something changed while it was read: the stamp must not be newer than that, or nobody would look again.
        raced = build.started and newest > build.started - _CLOCK_STEP
        _touch(build.stamp, build.started - 2 * _CLOCK_STEP if raced else None)


def depfile_text(target: str, inputs: Iterable[str]) -> str:
    """The depfile of `target`: one rule with all inputs, and an empty rule for each that may vanish."""
    if _NO_TARGET.search(target):
        raise _unreadable(target, "the target of a depfile may hold neither % nor =")
    lines = [_escaped(target) + ":", *(_escaped(path) for path in inputs)]
    rules = "".join(f"{_escaped(path)}:\n" for path in inputs if _PLAIN.fullmatch(path))
    return " \\\n  ".join(lines) + "\n" + rules


def _escaped(path: str) -> str:
    found = _UNREADABLE.search(path)
    if found is not None:
        raise _unreadable(path, f"no depfile that Make and Ninja both read can hold {quote(found.group())} in a name")
    return _TO_ESCAPE.sub(r"\\\1", path).replace("$", "$$")


def _unreadable(path: str, reason: str) -> DepfileError:
    return DepfileError(f"{quote(path)}: {reason}\n  = rename it, or name it by a relative path from another folder")


def _write_changed(path: Path, text: str) -> None:
    try:
        if path.is_file() and path.read_bytes() == text.encode():
            return
    except OSError:
        pass  # what cannot be read is replaced, and says so if that fails too
    replace_file(path, text)


def _touch(path: Path, moment: int | None) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab"):
            pass
        if moment is None:
            os.utime(path)
        else:
            os.utime(path, ns=(moment, moment))
    except OSError as error:
        raise PublishError(f"{path}: the stamp cannot be written: {error.strerror or error}") from error


def _mtime(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0


def _within(path: Path, folder: Path) -> bool:
    whole, outer = os.path.realpath(path), os.path.realpath(folder)
    return whole == outer or whole.startswith(outer + os.sep)
