"""black, for the Python of a generated package, with its results kept by content like those of clang-format."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import metadata
from pathlib import Path

from fl_gen.render.formatter import FormatterError, TreeFormatter, kept

PINNED_BLACK = "26.10.1"
_COLUMNS = 88
_STYLE = f"black {PINNED_BLACK}, {_COLUMNS} columns"


class PackageFormatter(TreeFormatter):
    """Formats Python too, by black, while clang-format has the C++."""

    def __init__(self, style: str, cache: Path | None, enough: int = 0) -> None:
        super().__init__(style, cache, enough)
        self._python_cache = cache
        self._python: dict[str, str] = {}
        self._read = 0

    @property
    def formatted(self) -> int:
        """How many files a formatter read, or clang-format will."""
        return super().formatted + self._read

    def add(self, path: str, text: str) -> None:
        """Take one file. What is neither C++ nor Python stays as it is."""
        super().add(path, text)
        if path.endswith(".py"):
            self._python[path] = text

    def finish(self) -> dict[str, str]:
        """Every file, formatted. Raises FormatterError."""
        self._start_rest()
        python = {
            path: kept(text, _STYLE, self._python_cache, partial(self._by_black, text, path))
            for path, text in self._python.items()
        }
        return {**super().finish(), **python}

    def _by_black(self, text: str, path: str) -> str:
        self._read += 1
        return _black(text, path)


def format_package(files: Mapping[str, str], style: str, cache: Path | None) -> dict[str, str]:
    """`format_tree` of the files of a package: its Python is formatted as well."""
    with PackageFormatter(style, cache) as formatter:
        for path, text in files.items():
            formatter.add(path, text)
        return formatter.finish()


def format_python(files: Mapping[str, str], cache: Path | None) -> dict[str, str]:
    """`files` formatted by black. Raises FormatterError when black is missing, is another version, or refuses one."""
    return {path: kept(text, _STYLE, cache, partial(_black, text, path)) for path, text in files.items()}


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
