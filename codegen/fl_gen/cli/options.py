"""Options that several commands share."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

Function = TypeVar("Function", bound=Callable[..., Any])


class FolderPath(click.Path):
    """A path that is not empty: `--output "$UNSET"` would otherwise quietly mean the current folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty: name a folder", param, ctx)
        return super().convert(value, param, ctx)


class FilePath(FolderPath):
    """A file to write. `-` is the standard output, where the command prints without the option."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("the path is empty: name a file", param, ctx)
        return None if os.fspath(value) == "-" else super().convert(value, param, ctx)


class FiniteRange(click.FloatRange):
    """A number in a range. Click takes `nan` for one that is in each, and nothing is above or below it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no number that anything can be held against", param, ctx)
        return number


def not_empty(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Refuses an empty value among those of an option that may be given several times."""
    if any(not item.strip() for item in value):
        raise click.BadParameter("the value is empty: leave the option out, or give it a value", ctx, param)
    return value


FOLDER = FolderPath()
FILE = FilePath()


def vendor_argument(function: Function) -> Function:
    """The vendor's name."""
    return click.argument("vendor", metavar="VENDOR")(function)


def sdk_options(function: Function) -> Function:
    """Where the SDK is and which schemas describe it."""
    function = click.option(
        "--schemas",
        "schema_dirs",
        multiple=True,
        type=FOLDER,
        help="A folder of schemas of your own, laid over the shipped ones. May be given several times.",
    )(function)
    function = click.option(
        "--no-cache", is_flag=True, help="Neither read nor write fl-gen's caches (FL_GEN_CACHE_DIR moves them)."
    )(function)
    return click.option(
        "--sdk",
        multiple=True,
        callback=not_empty,
        metavar="PATH|sim[:VERSION]",
        help="Root of the SDK, or the simulated one. Default: the vendor's environment variable, then usual places.",
    )(function)


def cache_folder(no_cache: bool) -> Path | None:
    """The cache folder of this user, None when caches are off or there is no place for one."""
    if no_cache:
        return None
    from fl_gen.sdk.identity import default_folder

    return default_folder()


def torch_option(function: Function) -> Function:
    """Which PyTorch is meant, with --framework torch."""
    return click.option(
        "--torch",
        type=FOLDER,
        metavar="PATH",
        help="PyTorch for --framework torch: its package or site-packages. Default: that of this Python.",
    )(function)


def require_torch(framework: str, torch: Path | None) -> None:
    """Raises UsageError for --torch beside another framework."""
    if torch is not None and framework != "torch":
        raise click.UsageError(f"--torch goes with --framework torch, and this is --framework {framework}")


def output_option(function: Function) -> Function:
    """The folder that holds generated/ and backends/."""
    return click.option(
        "-o",
        "--output",
        type=FOLDER,
        default=Path(os.curdir),
        show_default="the current folder",
        help="Folder in which generated/VENDOR and backends/VENDOR are made.",
    )(function)


def policy_options(function: Function) -> Function:
    """What to do with hand edits below generated/, as `policy`: at most one of --keep, --merge and --overwrite."""

    @functools.wraps(function)
    def command(*args: Any, keep: bool, merge: bool, overwrite: bool, **others: Any) -> Any:
        from fl_gen.output.policy import Policy

        chosen = {Policy.KEEP: keep, Policy.MERGE: merge, Policy.OVERWRITE: overwrite}
        names = [policy for policy, given in chosen.items() if given]
        if len(names) > 1:
            raise click.UsageError(f"--{names[0].value} and --{names[1].value} exclude each other: choose one")
        return function(*args, policy=names[0] if names else Policy.REFUSE, **others)

    for name, text in (
        ("--overwrite", "Drop hand edits below generated/."),
        ("--merge", "Bring fl-gen's changes into files that were edited by hand; git's markers where both changed."),
        ("--keep", "Leave files that were edited by hand as they are, and remember that."),
    ):
        command = click.option(name, is_flag=True, help=text)(command)
    return cast(Function, command)


def config_option(function: Function) -> Function:
    """The project's file."""
    return click.option(
        "--config", type=FILE, metavar="FILE", help="The project's file. Default: fl-gen.yaml in the current folder."
    )(function)


def decided_keys() -> set[str]:
    """The keys of fl-gen.yaml about which the command line says something."""
    context = click.get_current_context()
    options = {"template_dirs": "templates", "schema_dirs": "schemas", "no_format": "formatter"}
    given = {name for name in context.params if context.get_parameter_source(name) is not ParameterSource.DEFAULT}
    return {options.get(name, name) for name in given}
