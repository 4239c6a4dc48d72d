"""Asks programs and libraries of this machine for their versions, so that none of them can stop or break the asker."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

TIMEOUT = 4.0  # seconds that a program may take to say its version
_VERSION = re.compile(r"\b([0-9]+(?:\.[0-9]+){1,3})")
_MOST = 1 << 16  # characters of a program's answer that are looked at
# Run in a process of its own: a library that is broken may end the process, and one on a dead disk may never come back.
_LIBCLANG = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
try:
    from fl_gen.sdk import clang
    cindex = clang.load()
    unit = clang.parse("/probe.cc", b"namespace probe { enum class Kind : int { kOne = 1 }; }", [], {})
    native = getattr(cindex.conf.lib, "_name", "")
    fault = "it does not parse C++20" if unit.errors else ""
    print(json.dumps([clang.version(), str(native), fault]))
except Exception as error:
    print(json.dumps(["", "", (str(error) or type(error).__name__).splitlines()[0]]))
"""


@dataclass(frozen=True)
class Answer:
    """What a program said: its path, the first line and the version in it, or why there is no answer."""

    path: str
    line: str = ""
    version: str = ""
    fault: str = ""


def ask(program: str, arguments: Sequence[str] = ("--version",)) -> Answer | None:
    """The version of a program by name or path; None if there is none."""
    path = shutil.which(program)
    return ask_path(path, arguments) if path is not None else None


def ask_path(path: str, arguments: Sequence[str] = ("--version",)) -> Answer:
    """The version of the program at `path`."""
    code, text = _said([path, *arguments], TIMEOUT)
    if code is None:
        return Answer(path, fault=text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else ""
    if code != 0:
        return Answer(path, first, fault=_ended(code))
    found = next((match for line in lines for match in [_VERSION.search(line)] if match), None)
    return Answer(path, first, found.group(1) if found else "")


def _ended(code: int) -> str:
    return f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"


def _said(command: Sequence[str], timeout: float) -> tuple[int | None, str]:
    """Exit code and output of a program, both streams; without a code, why there is none. It is ended after `timeout`
    seconds with all that it started, and once it has said too much."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return None, f"cannot be run: {getattr(error, 'strerror', None) or error}"
    assert process.stdout is not None
    until = time.monotonic() + timeout
    stream = process.stdout
    reading = Waiting(lambda: stream.read(_MOST))
    try:
        output = reading.result(timeout)
        if output is None:
            return None, f"gave no answer within {timeout:g} seconds"
        code = process.wait(max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None, f"did not end within {timeout:g} seconds"
    finally:
        if process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if reading.result(1.0) is not None:  # else something that it started still holds the pipe
            stream.close()
    return code, output.decode("utf-8", "replace")


def ask_all(questions: Mapping[str, Callable[[], T]], timeout: float) -> dict[str, T | None]:
    """The answers of several questions asked at the same time; None for one that did not come back in time."""
    asked = {name: Waiting(question) for name, question in questions.items()}
    return {name: one.result(timeout) for name, one in asked.items()}


class Waiting(Generic[T]):
    """A question in a thread of its own. One that hangs is left behind: the process does not wait for it."""

    def __init__(self, question: Callable[[], T]) -> None:
        self._value: list[T] = []
        self._error: list[Exception] = []
        self._thread = threading.Thread(target=self._run, args=(question,), daemon=True)
        self._thread.start()

    def _run(self, question: Callable[[], T]) -> None:
        try:
            self._value.append(question())
        except Exception as error:
            self._error.append(error)

    def result(self, timeout: float) -> T | None:
        """The answer, None without one. An exception of the question is raised here."""
        self._thread.join(timeout)
        if self._error:
            raise self._error[0]
        return self._value[0] if self._value else None


@dataclass(frozen=True)
class Libclang:
    """libclang as a process of its own finds it: version, library file, or why it does not work."""

    version: str = ""
    library: str = ""
    fault: str = ""


def ask_libclang() -> Libclang:
    """Load libclang and parse a line with it."""
    timeout = 3 * TIMEOUT
    code, text = _said([sys.executable, "-c", _LIBCLANG, json.dumps(sys.path)], timeout)
    if code is None:
        return Libclang(fault=text)
    lines = [line for line in text.splitlines() if line.strip()]
    if code != 0:
        return Libclang(fault=f"the process that loaded it {_ended(code)}")
    try:
        version, library, fault = json.loads(lines[-1])
    except (ValueError, IndexError):
        return Libclang(fault="its answer makes no sense")
    return Libclang(str(version), str(library), str(fault))


def folder_size(folder: str, most: int = 50_000) -> tuple[int, int, bool]:
    """Files below a folder, their bytes, and whether all were counted. Links are not followed."""
    files = size = 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as scan:
                for entry in scan:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                        continue
                    files += 1
                    size += entry.stat(follow_symlinks=False).st_size
                    if files >= most:
                        return files, size, False
        except OSError:
            continue
    return files, size, True
