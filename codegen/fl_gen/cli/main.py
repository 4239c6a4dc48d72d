"""The `fl-gen` command: dispatch, the exit codes, and the one place where errors become messages.

`--version` is answered before anything heavy is imported; each command's module is imported when it is run.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

EXIT_DONE = 0
EXIT_FOUND = 1
EXIT_STOPPED = 2
EXIT_INTERRUPTED = 3

# command -> (module, attribute, one line of help). The help is here so that `--help` imports no command.
COMMANDS = {
    "adopt": ("fl_gen.cli.adopt", "adopt", "Read a hand-written backend and hold it against a generated one."),
    "align": ("fl_gen.cli.align", "align", "Hold a PyTorch model on a device against the CPU, layer by layer."),
    "bench": ("fl_gen.cli.bench", "bench", "Measure PyTorch models on a device beside the CPU."),
    "check": ("fl_gen.cli.check", "check", "Say whether the tree is what fl-gen makes now; for CI and pre-commit."),
    "coverage": ("fl_gen.cli.coverage", "coverage", "Say what falls back in recorded runs: what to implement next."),
    "init": ("fl_gen.cli.init", "init", "Write fl-gen.yaml, which says what a repository generates."),
    "regen": ("fl_gen.cli.regen", "regen", "Regenerate all vendors of fl-gen.yaml, or none."),
    "backend": ("fl_gen.cli.backend", "backend", "Generate a vendor's backend from the schemas and its SDK."),
    "diff": ("fl_gen.cli.diff", "diff", "Show what a regenerate would change, and what causes it."),
    "doctor": ("fl_gen.cli.doctor", "doctor", "What is installed and used, and what to do about what is missing."),
    "explain": ("fl_gen.cli.explain", "explain", "Say what made a line of a generated file."),
    "framework": ("fl_gen.cli.framework", "framework", "Hold a framework's schema against its sources."),
    "kernel": ("fl_gen.cli.kernel", "kernel", "Scaffold hand-written kernels."),
    "schema": ("fl_gen.cli.schema", "schema", "Check and export the schemas."),
    "sdk": ("fl_gen.cli.sdk", "sdk", "Find an SDK and hold the bindings against it."),
    "vendor": ("fl_gen.cli.vendor", "vendor", "Draft a vendor file from the headers of an unknown SDK."),
    "sim": ("fl_gen.cli.sim", "sim", "Build a simulated SDK, a test double to run backends on."),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (default: the process's) and return the exit code."""
    args = list(sys.argv[1:] if arguments is None else arguments)
    if args in (["--version"], ["-V"]):
        from fl_gen import __version__

        try:
            print(f"fl-gen {__version__}", flush=True)
        except BrokenPipeError:
            _abandon_output()
        except OSError as error:
            _abandon_output()
            _say(_os_error(error))
            return EXIT_STOPPED
        return EXIT_DONE
    try:
        return _run(args)
    except KeyboardInterrupt:  # while modules were imported, before or after the command itself
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write("fl-gen: interrupted\n")
        return EXIT_INTERRUPTED


def _run(args: list[str]) -> int:
    """The exit code of one command; every exception becomes a message here, or was one already."""
    import click

    from fl_gen.schema.errors import FlGenError

    try:
        result = _group().main(args=args, prog_name="fl-gen", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()  # a full disk or a closed pipe shows here, not while Python shuts down
        return result if isinstance(result, int) else EXIT_DONE
    except FlGenError as error:
        _say(error.render(color=_coloured()))
        return error.exit_code
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _say("fl-gen: interrupted")
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return EXIT_STOPPED
    except (BrokenPipeError, SystemExit):  # click's own answer to a broken pipe is to exit
        _abandon_output()  # whoever read the output has seen enough, as `head` has
        return EXIT_DONE
    except OSError as error:
        if os.environ.get("FL_GEN_TRACEBACK"):
            raise
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EIO, errno.EBADF):
            _abandon_output()
        _say(_os_error(error))
        return EXIT_STOPPED
    except Exception as error:
        if os.environ.get("FL_GEN_TRACEBACK"):
            raise
        _say(_own_fault(error))
        return EXIT_STOPPED


def _say(text: str) -> None:
    """Print `text` on the error stream, if there is one."""
    import click

    with contextlib.suppress(OSError, ValueError):
        click.echo(text, err=True)


def _coloured() -> bool:
    """Whether messages may carry colours: on a terminal that has them, unless NO_COLOR is set."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stderr is not None and sys.stderr.isatty()


def _abandon_output() -> None:
    """Send what is still buffered to nowhere, so that Python does not complain about it at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _os_error(error: OSError) -> str:
    """What the system refused, where, and what to do about it."""
    from fl_gen.schema.errors import printable

    remedies = {
        errno.ENOSPC: "make room on the disk and run again",
        errno.EACCES: "allow it, or name another place",
        errno.EPERM: "allow it, or name another place",
        errno.EROFS: "name a place that can be written",
        errno.ENAMETOOLONG: "name a shorter path",
        errno.ELOOP: "repair the symbolic link that leads back to itself",
        errno.ENOTDIR: "a part of the path is a file: name another place",
    }
    where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "fl-gen"
    remedy = remedies.get(error.errno or 0, "mend that and run again")
    return printable(f"{where}: {error.strerror or error}\n  = {remedy}")


def _own_fault(error: Exception) -> str:
    """An exception that nobody foresaw: a fault of fl-gen, said so in one message with its place."""
    from fl_gen.schema.errors import printable

    place, trace = "", error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if "fl_gen" in code.co_filename:
            place = f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    text = " ".join(str(error).split())[:200]
    return printable(
        f"fl-gen: internal error: {type(error).__name__}: {text} ({place})\n"
        "  = this is a fault of fl-gen: please report it, with what FL_GEN_TRACEBACK=1 prints"
    )


def _print_cmake_dir(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        import click

        from fl_gen.schema.paths import data_dir

        click.echo(data_dir() / "cmake")
        ctx.exit()


def _group() -> click.Group:
    import importlib

    import click

    from fl_gen import __version__

    class LazyGroup(click.Group):
        """Imports a command's module only when that command is run."""

        def list_commands(self, ctx: click.Context) -> list[str]:
            return sorted(COMMANDS)

        def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
            if name not in COMMANDS:
                return None
            module, attribute, _ = COMMANDS[name]
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command

        def resolve_command(
            self, ctx: click.Context, args: list[str]
        ) -> tuple[str | None, click.Command | None, list[str]]:
            if args and args[0] not in COMMANDS and not args[0].startswith("-"):
                import difflib

                close = difflib.get_close_matches(args[0], COMMANDS, n=1)
                hint = f" Did you mean '{close[0]}'?" if close else f" The commands are {', '.join(sorted(COMMANDS))}."
                ctx.fail(f"No such command '{args[0]}'.{hint}")
            return super().resolve_command(ctx, args)

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            with formatter.section("Commands"):
                formatter.write_dl([(name, help_) for name, (_, _, help_) in sorted(COMMANDS.items())])

    @click.group(
        cls=LazyGroup,
        invoke_without_command=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    @click.option(
        "--cmake-dir",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_print_cmake_dir,
        help="Print the folder of FlGen.cmake, for CMAKE_MODULE_PATH.",
    )
    @click.version_option(__version__, "-V", "--version", message="fl-gen %(version)s")
    @click.pass_context
    def group(ctx: click.Context) -> None:
        """Bring up a new AI chip in a training framework: generate its backend from schemas and its SDK's headers."""
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help())

    return group


def entry_point() -> None:
    """What the installed `fl-gen` script calls."""
    # A run lasts a second and keeps nearly all it makes: looking for cycles again and again only costs time.
    gc.disable()
    sys.exit(main())
