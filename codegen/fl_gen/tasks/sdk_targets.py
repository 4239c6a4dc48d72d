"""Checks several SDKs: each in a process of its own, so that none waits for, or falls with, another."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from fl_gen import __version__
from fl_gen.schema.errors import Diagnostic, FlGenError, Related, SchemaError, printable
from fl_gen.sdk.items import SdkHeaderError
from fl_gen.tasks.sdk_check import check_sdk, target_name
from fl_gen.tasks.sdk_values import CheckReport, NoVerdict, TargetResult
from fl_gen.workflow import Request

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

Progress = Callable[[int, int, str], None]  # how many are done, of how many, the one that was done last

_PATIENCE = 2.0  # seconds that a child is given to end before it is killed


class TargetError(FlGenError):
    """A target on the command line that cannot be read."""


def parse_target(text: str, base: Request) -> Request:
    """`VENDOR` or `VENDOR@SDK` as a request; without `@` it has the SDK of `base`.

    An SDK is `sim`, `sim:VERSION`, or a folder; folders that hold one SDK together are joined by commas.
    """
    vendor, at, sdk = text.partition("@")
    if not vendor:
        raise TargetError(f"{text}: a target is VENDOR or VENDOR@SDK, and this one names no vendor")
    if not at:
        return replace(base, vendor=vendor)
    # A folder may have a comma in its name; then it is there.
    roots = [sdk] if os.path.exists(sdk) else sdk.split(",")
    if not all(root.strip() for root in roots):
        raise TargetError(f"{text}: the SDK behind the @ is empty\n  = write {vendor}@FOLDER, {vendor}@sim or {vendor}")
    return replace(base, vendor=vendor, sdk=tuple(roots))


def check_target(request: Request) -> TargetResult:
    """The outcome for one target; what stops the check is part of it. Only a fault of fl-gen itself is raised."""
    target = target_name(request)
    try:
        check = check_sdk(request)
    except FlGenError as error:
        return TargetResult(target, request.vendor, 2, None, NoVerdict(error.render(), _diagnostics(error)))
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else target
        text = printable(f"{where}: {error.strerror or error}\n  = mend that and run again")
        return TargetResult(target, request.vendor, 2, None, NoVerdict(text, ()))
    return TargetResult(target, request.vendor, check.exit_code, check, None)


def check_targets(requests: Sequence[Request], jobs: int, progress: Progress | None = None) -> CheckReport:
    """The outcome of every target, in the order given. At most `jobs` of them are in work at a time.

    One target is checked in this process. KeyboardInterrupt ends the children before it goes on.
    """
    if len(requests) == 1:
        results = [check_target(requests[0])]
    else:
        results = _in_processes(requests, max(1, jobs), progress or (lambda done, total, last: None))
    return CheckReport(
        1, f"fl-gen {__version__}", max((result.exit_code for result in results), default=0), (*results,)
    )


def default_jobs() -> int:
    """The processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def _diagnostics(error: FlGenError) -> tuple[Diagnostic, ...]:
    if isinstance(error, SdkHeaderError):
        return tuple(
            replace(
                diagnostic,
                hint=error.remedy,
                related=tuple(Related(place, "included from here") for place in fault.included_from),
            )
            for fault, diagnostic in zip(error.faults, error.diagnostics, strict=True)
        )
    return error.diagnostics if isinstance(error, SchemaError) else ()


def _in_processes(requests: Sequence[Request], jobs: int, progress: Progress) -> list[TargetResult]:
    # Spawned, never forked: a forked child would share this process's libclang, its threads and locks.
    from multiprocessing import get_context
    from multiprocessing.connection import wait

    context = get_context("spawn")
    results: dict[int, TargetResult] = {}
    waiting = list(enumerate(requests))
    running: dict[Connection, tuple[int, SpawnProcess]] = {}
    progress(0, len(requests), "")
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                number, request = waiting.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(target=_child, args=(request, theirs), daemon=True)
                # Ctrl-C reaches the whole group; this process alone answers it. A child inherits the mask.
                with interrupts_held():
                    running[ours] = (number, process)
                    process.start()
                theirs.close()
            for ready in cast("list[Connection]", wait(list(running))):
                number, process = running.pop(ready)
                results[number] = _received(ready, process, requests[number])
                progress(len(results), len(requests), results[number].target)
    finally:
        _end([process for _, process in running.values()])
    return [results[number] for number in range(len(requests))]


def _received(connection: Connection, process: SpawnProcess, request: Request) -> TargetResult:
    """What a child sent, or, of one that died, that it did."""
    try:
        result: TargetResult = connection.recv()
    except (EOFError, OSError):
        process.join(_PATIENCE)
        code = process.exitcode or 0
        how = f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        text = (
            f"{target_name(request)}: the process that checked this SDK {how}: no verdict\n"
            "  = check it alone, as the only target, to see more"
        )
        return TargetResult(target_name(request), request.vendor, 2, None, NoVerdict(printable(text), ()))
    finally:
        connection.close()
    process.join(_PATIENCE)
    return result


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _child(request: Request, connection: Connection) -> None:
    """What a process does: check one target and send the outcome."""
    try:
        result = check_target(request)
    except Exception as error:
        if os.environ.get("FL_GEN_TRACEBACK"):
            raise
        said = " ".join(str(error).split())[:200]
        text = (
            f"{target_name(request)}: internal error: {type(error).__name__}: {said}\n"
            "  = this is a fault of fl-gen: please report it, with what FL_GEN_TRACEBACK=1 prints"
        )
        result = TargetResult(target_name(request), request.vendor, 2, None, NoVerdict(printable(text), ()))
    with contextlib.suppress(OSError):  # nobody waits for it any more
        connection.send(result)
    connection.close()


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold SIGINT back, so that a child started meanwhile inherits the mask and leaves the answer to its parent."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end(processes: Sequence[SpawnProcess]) -> None:
    """End children that nobody waits for any more."""
    alive = [process for process in processes if process.pid is not None]
    for process in alive:
        process.terminate()
    for process in alive:
        process.join(_PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
