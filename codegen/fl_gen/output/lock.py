"""The lock on an output folder."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from fl_gen.output.disk import PublishError, make_folder, remedy

_LOCK_SECONDS = 60.0


@contextlib.contextmanager
def locked(root: Path, seconds: float = _LOCK_SECONDS) -> Iterator[None]:
    """Hold `root` against other runs. The lock is on the folder itself, so it leaves no file and dies with the process.

    Raises PublishError when another run holds it for longer than `seconds`.
    """
    try:
        make_folder(root)
        handle = os.open(root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0))
    except OSError as error:
        where = error.filename or root
        raise PublishError(f"{where}: cannot be used: {error.strerror or error}. {remedy(error)}") from error
    if sys.platform == "win32":
        yield
        return
    import fcntl

    try:
        deadline = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise PublishError(f"{root}: cannot be locked: {error.strerror}") from error
            if time.monotonic() >= deadline:
                raise PublishError(
                    f"{root}: another fl-gen{_holder(handle)} has held this folder for {seconds:.0f} seconds: "
                    "wait for it, or stop it"
                )
            time.sleep(0.05)
        yield
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    """` (process N)` of the one that holds the lock of the open folder, as far as the system tells."""
    status = os.fstat(handle)
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with contextlib.suppress(OSError), open("/proc/locks", encoding="ascii", errors="replace") as locks:
        for line in locks:
            # 1: FLOCK  ADVISORY  WRITE 4242 fe:01:131 0 EOF; a waiting one has "->" in the second place
            parts = line.split()
            if len(parts) > 5 and parts[1] == "FLOCK" and parts[5] == place and int(parts[4]) > 0:
                return f" (process {parts[4]})"
    return ""
