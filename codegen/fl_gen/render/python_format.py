"""black, for the Python of a generated package, with its results kept by content like those of clang-format."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import metadata
from pathlib import Path

from fl_gen.render.formatter import FormatterError, kept

PINNED_BLACK = "26.10.1"
_COLUMNS = 88


def format_python(files: Mapping[str, str], cache: Path | None) -> dict[str, str]:
    """`files` formatted by black. Raises FormatterError when black is missing, is another version, or refuses one."""
    style = f"black {PINNED_BLACK}, {_COLUMNS} columns"
    return {path: kept(text, style, cache, partial(_black, text, path)) for path, text in files.items()}


def _black(text: str, path: str) -> str:
    try:
        from black import Mode, format_str
        from black.mode import TargetVersion
        from black.parsing import InvalidInput
    except ImportError as error:
        raise FormatterError(
            f"black {PINNED_BLACK} is not installed: pip install black=={PINNED_BLACK}, or run with --no-format"
        ) from error
    version = metadata.version("black")
    if version != PINNED_BLACK:
        raise FormatterError(
            f"black {version} formats otherwise than black {PINNED_BLACK}: pip install "
            f"black=={PINNED_BLACK}, or run with --no-format"
        )
    mode = Mode(target_versions={TargetVersion.PY310}, line_length=_COLUMNS)
    try:
        return format_str(text, mode=mode)
    except InvalidInput as error:
        raise FormatterError(f"{path}: black cannot read the generated code: {error}") from error
