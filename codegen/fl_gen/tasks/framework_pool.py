"""Processes that do one call after another for this one, and may die of it without harm.

Each is a fresh interpreter: a forked one would share this process's libclang, its threads and locks, and one that
`multiprocessing` starts would run the program again that called fl-gen. A call has only so much time: headers can be
such that a compiler does not come to an end.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from queue import SimpleQueue
from typing import IO, Any, TypeVar

from fl_gen.schema.errors import FlGenError
from fl_gen.tasks.framework_values import NoVerdict
from fl_gen.tasks.sdk_targets import interrupts_held

T = TypeVar("T")

PROCESSOR_SECONDS = 60  # of one call: the largest sources of frameworks take about ten
WALL_SECONDS = 600.0  # of one call that waits, as for a pipe that stands where a header should be
_PATIENCE = 2.0  # seconds that a worker is given to end before it is killed
# The path is that of this process, so that both have the same fl-gen.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from fl_gen.tasks import framework_pool as p; p.serve()"
)


class WorkerDied(Exception):
    """A worker ended before it answered. `slow` says that it was stopped because its time was up."""

    def __init__(self, slow: str = "") -> None:
        self._slow = slow
        super().__init__(slow)

    @property
    def what(self) -> str:
        """What happened to libclang, to be followed by `while it read ...`."""
        return f"libclang was stopped after {self._slow}" if self._slow else "libclang died"


class Workers:
    """At most `jobs` processes. Used as a context manager, which ends them, whatever they do."""

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs)
        self._free: SimpleQueue[_Worker] = SimpleQueue()
        self._all: list[_Worker] = []
        self._over = False

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(self._all):
            worker.end()
        self._threads.shutdown(wait=True)

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Call a function of a module in a worker. The future raises WorkerDied if that ends the worker."""
        return self._threads.submit(self._call, function, arguments)

    def completed(self, futures: Iterable[Future[T]]) -> Iterator[Future[T]]:
        """The futures as they are done."""
        return as_completed(futures)

    def _call(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        if self._over:
            raise WorkerDied
        if self._free.empty():
            worker = _Worker()
            self._all.append(worker)
        else:
            worker = self._free.get()
        try:
            good, value = worker.call(function, arguments)
        except WorkerDied:
            worker.end()
            raise
        self._free.put(worker)
        if not good:
            raise value
        result: T = value
        return result


class _Worker:
    def __init__(self) -> None:
        command = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)]
        # Ctrl-C reaches the whole group; the first process alone answers it. A child inherits the mask.
        with interrupts_held():
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to: IO[bytes] = self._process.stdin
        self._from: IO[bytes] = self._process.stdout

    def call(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
        """Whether it went well, and the result or the exception."""
        late = threading.Event()
        timer = threading.Timer(WALL_SECONDS, self._stop, (late,))
        timer.daemon = True
        timer.start()
        try:
            pickle.dump((function, arguments, PROCESSOR_SECONDS), self._to)
            self._to.flush()
            answer: tuple[bool, Any] = pickle.load(self._from)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            raise WorkerDied(self._limit(late.is_set())) from error
        finally:
            timer.cancel()
        return answer

    def _stop(self, late: threading.Event) -> None:
        late.set()
        self._process.kill()

    def _limit(self, late: bool) -> str:
        """Which time was up when the process ended, if that is why."""
        if late:
            return f"{WALL_SECONDS:g} s"
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._process.wait(_PATIENCE) == -getattr(signal, "SIGXCPU", 0) != 0:
                return f"{PROCESSOR_SECONDS} s of processor time"
        return ""

    def end(self) -> None:
        """End the process if it is still there."""
        self._process.terminate()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._to, self._from):
            with contextlib.suppress(OSError, ValueError):  # what was not sent is lost with the process
                stream.close()


def serve() -> None:
    """What a worker runs: calls from the standard input, answers to the standard output, until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    while True:
        try:
            function, arguments, seconds = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        _limit_processor(seconds)
        try:
            answer: tuple[bool, Any] = (True, function(*arguments))
        except NoVerdict as error:
            answer = (False, error)
        except FlGenError as error:  # others hold what cannot travel
            answer = (False, NoVerdict(error.render()))
        except Exception as error:
            if os.environ.get("FL_GEN_TRACEBACK"):
                raise
            said = f"internal error: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
            remedy = "this is a fault of fl-gen: please report it, with what FL_GEN_TRACEBACK=1 prints"
            answer = (False, NoVerdict(f"{said}\n  = {remedy}"))
        pickle.dump(answer, answers)
        answers.flush()


def _limit_processor(seconds: int) -> None:
    """End this process when the call that follows takes more processor time. Where there is no such limit, time on the
    clock is the only one."""
    try:
        import resource
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    wanted = int(used.ru_utime + used.ru_stime) + 1 + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
