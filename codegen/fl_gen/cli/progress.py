"""How far a run is, for a person who watches."""

from __future__ import annotations

import os
import shutil
import sys


class ProgressLine:
    """One line on a terminal's error stream, taken away at the end; nothing anywhere else."""

    def __init__(self) -> None:
        stream = sys.stderr
        self._stream = stream if stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb" else None

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def draw(self, text: str) -> None:
        """Draw the line anew, as far as the terminal is wide."""
        if self._stream is None:
            return
        from fl_gen.schema.errors import printable

        room = max(10, shutil.get_terminal_size((80, 24)).columns - 1)
        self._stream.write(f"\r\x1b[K{printable(text).rstrip()[:room]}")
        self._stream.flush()
