"""Checks several SDKs: each in a process of its own, so that none waits for, or falls with, another."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from fl_gen import __version__
from fl_gen.schema.errors import Diagnostic, FlGenError, Related, SchemaError, printable
from fl_gen.sdk.items import SdkHeaderError
from fl_gen.tasks.sdk_check import check_sdk, target_name
from fl_gen.tasks.sdk_values import CheckReport, NoVerdict, TargetResult
from fl_gen.workflow.request import Request

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
    """Each target in a fresh interpreter: a forked one would share this process's libclang, its threads and locks."""
    import selectors

    results: dict[int, TargetResult] = {}
    waiting = list(enumerate(requests))
    running: dict[int, _Child] = {}
    progress(0, len(requests), "")
    with selectors.DefaultSelector() as answers:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    number, request = waiting.pop(0)
                    running[number] = child = _Child(request)
                    answers.register(child.answer, selectors.EVENT_READ, number)
                for key, _ in answers.select():
                    number = key.data
                    if running[number].read():
                        continue
                    answers.unregister(key.fileobj)
                    results[number] = running.pop(number).result()
                    progress(len(results), len(requests), results[number].target)
        finally:
            for child in running.values():
                child.process.terminate()
            for child in running.values():
                child.end()
    return [results[number] for number in range(len(requests))]


# What a child runs. The path is that of this process, so that both have the same fl-gen.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from fl_gen.tasks import sdk_targets as t; t.child()"
)


class _Child:
    """A process that checks one target: it reads the request and writes the outcome, pickled."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._parts: list[bytes] = []
        command = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)]
        # Ctrl-C reaches the whole group; the first process alone answers it. A child inherits the mask.
        with interrupts_held():
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.answer = self.process.stdout
        with contextlib.suppress(BrokenPipeError):  # it died at once, and its exit code says so
            self.process.stdin.write(pickle.dumps(request))
            self.process.stdin.close()

    def read(self) -> bool:
        """Take what has come; whether more may come."""
        part = os.read(self.answer.fileno(), 1 << 16)
        self._parts.append(part)
        return bool(part)

    def result(self) -> TargetResult:
        """The outcome, or, of a child that died, that it did."""
        self.end()
        code, target = self.process.returncode, target_name(self._request)
        if code == 0:
            result: TargetResult = pickle.loads(b"".join(self._parts))
            return result
        how = f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        text = (
            f"{target}: the process that checked this SDK {how}: no verdict\n"
            "  = check it alone, as the only target, to see more"
        )
        return TargetResult(target, self._request.vendor, 2, None, NoVerdict(printable(text), ()))

    def end(self) -> None:
        """Wait until the process is gone; one that does not go is killed."""
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.answer.close()
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()


def child() -> None:
    """What a process of `check_targets` does. Whatever else is written goes to the error stream."""
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        request: Request = pickle.load(sys.stdin.buffer)
    except EOFError:
        sys.exit(1)  # who started this one was ended before it could ask
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
    with contextlib.suppress(OSError), os.fdopen(answer, "wb") as stream:  # an error: nobody waits for it any more
        pickle.dump(result, stream)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold SIGINT back, so that a child started meanwhile inherits the mask and leaves the answer to its parent."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
