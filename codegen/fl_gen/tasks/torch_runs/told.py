"""What is said of an exception in a user's model: where it came from, and its words, in a few lines."""

from __future__ import annotations

import sys

_LINES, _CHARACTERS = 6, 600
_BACKENDS = (
    " This could be because the operator doesn't exist"  # from here on PyTorch lists every backend that it knows
)


def words(error: BaseException) -> str:
    """The type and the text of an exception, cut to what a person reads."""
    if isinstance(error, SystemExit):
        return f"sys.exit({'' if error.code is None else repr(error.code)[:60]})"
    try:
        text = str(error)
    except Exception:
        text = ""  # an exception whose own text fails
    lines = text.partition(_BACKENDS)[0].strip().splitlines()
    short = "\n".join(lines[:_LINES])
    if len(short) > _CHARACTERS or len(lines) > _LINES:
        short = short[:_CHARACTERS] + "..."
    return f"{type(error).__name__}: {short}" if short else type(error).__name__


def place(error: BaseException, path: str) -> str:
    """`file:line` of the last frame of the user's own file; the file alone where none is."""
    line = 0
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}:{line}" if line else path


def syntax(error: SyntaxError, path: str) -> str:
    """What is wrong with a file that is no Python, with the line and a caret where Python tells them."""
    line, column = error.lineno or 1, max(1, error.offset or 1)
    text = f"{path}:{line}:{column}: {error.msg}"
    if error.text:
        shown = error.text.rstrip("\n").replace("\t", " ")
        start = max(0, column - 80)
        text += f"\n{line:5d} | {shown[start : start + 100]}\n{'':5} | {' ' * (column - 1 - start)}^"
    return f"{text}\n  = this is no Python {sys.version_info[0]}.{sys.version_info[1]}: mend that line"
