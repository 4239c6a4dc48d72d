"""The options by which a build system drives fl-gen, the same for every command that generates."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from fl_gen.cli.options import FolderPath
from fl_gen.output.depfile import BuildFiles

Function = TypeVar("Function", bound=Callable[..., Any])
_STARTED = time.time_ns()  # this module is imported before anything is read


class BuildFile(FolderPath):
    """A file that a build finds again by its name, so none of the streams."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if os.fspath(value) in ("", "-"):
            self.fail("name a file that the build can find again", param, ctx)
        return super().convert(value, param, ctx)


@dataclass(frozen=True)
class BuildOptions:
    """What a build asked for: files to leave, or the list of outputs instead of a run; `form` is that of the list."""

    files: BuildFiles
    list_outputs: bool
    form: str

    def refuse_with(self, option: str) -> None:
        """Raise UsageError if `option`, with which nothing is written, is combined with an option of a build."""
        if self.files.wanted or self.list_outputs:
            raise click.UsageError(f"{option} cannot be combined with --depfile, --stamp, --outputs or --list-outputs")


_FILE = BuildFile()


def build_options(function: Function) -> Function:
    """Adds the options and hands them over as one keyword argument, `build: BuildOptions`."""

    @functools.wraps(function)
    def wrapped(
        *arguments: Any,
        depfile: Path | None,
        stamp: Path | None,
        outputs: Path | None,
        list_outputs: bool,
        list_format: str,
        **others: Any,
    ) -> Any:
        files = BuildFiles(depfile, stamp, outputs, _STARTED)
        if list_outputs and files.wanted:
            raise click.UsageError("--list-outputs writes nothing: leave out --depfile, --stamp and --outputs")
        return function(*arguments, build=BuildOptions(files, list_outputs, list_format), **others)

    options = (
        click.option("--depfile", type=_FILE, help="Write all inputs to this file, for Make and Ninja. Needs --stamp."),
        click.option("--stamp", type=_FILE, help="Touch this file after the run succeeded, and print only changes."),
        click.option("--outputs", type=_FILE, help="Write the list of generated files to this file when it changed."),
        click.option("--list-outputs", is_flag=True, help="Print the files that would be generated and write nothing."),
        click.option(
            "--list-format",
            type=click.Choice(["lines", "cmake"]),
            default="lines",
            show_default=True,
            help="The form of a list of files: one a line, or a list of CMake.",
        ),
    )
    result: Any = wrapped
    for option in reversed(options):
        result = option(result)
    return result  # type: ignore[no-any-return]
