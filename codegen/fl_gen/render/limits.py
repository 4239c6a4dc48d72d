"""What a template of a person's overlay may use up: processor time, memory and output.

The sandbox keeps a template from Python's inside, not from a loop in a loop or a string of ten gigabytes. Time is that
of the processor, so that a busy machine changes no outcome; both limits are lifted when the template is done.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

SECONDS = 4.0  # of processor time for one file; the slowest shipped template takes a hundredth
MEBIBYTES = 512  # that one file may need beyond what the process has
CHARACTERS = 16 << 20  # of one file


class TooSlow(BaseException):
    """A template took too long. No handler of an expression's errors may swallow it."""


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raises TooSlow or MemoryError when the block uses too much, as far as the system and the thread allow."""
    with _memory(), _time():
        yield


@contextlib.contextmanager
def _time() -> Iterator[None]:
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    running = True

    def stop(_: int, __: FrameType | None) -> None:
        if running:  # a signal that came with the end is late
            raise TooSlow

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, SECONDS)  # again, should a finalizer swallow the first
    try:
        yield
    finally:
        running = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextlib.contextmanager
def _memory() -> Iterator[None]:
    size = _address_space()
    if size is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = size + (MEBIBYTES << 20)
    if soft != resource.RLIM_INFINITY and soft <= wanted:
        yield  # the user's own limit is narrower
        return
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int | None:
    """The bytes of addresses that this process has now; None where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as status:
            import resource

            return int(status.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return None
