"""clang-format, pinned, over a whole tree in two calls at most, with its results kept by content."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from fl_gen.schema.errors import FlGenError

FORMATTED_SUFFIXES = (".h", ".cc")
PINNED_VERSION = "16.0.6"


class FormatterError(FlGenError):
    """clang-format is missing, is another version, or failed."""


def format_tree(files: Mapping[str, str], style: str, cache: Path | None) -> dict[str, str]:
    """`files` with every C++ source formatted by clang-format 16.0.6 in `style` (the text of a .clang-format file).

    `cache` is a folder of earlier results keyed by content; None formats everything anew. Raises FormatterError.
    """
    with TreeFormatter(style, cache) as formatter:
        for path, text in files.items():
            formatter.add(path, text)
        return formatter.finish()


class TreeFormatter:
    """Formats files as they come, in at most two runs of clang-format.

    The first run begins when `enough` files have come, and works while the caller makes the others; the second takes
    the rest. Must be used as a context manager, which ends what still runs.
    """

    def __init__(self, style: str, cache: Path | None, enough: int = 0) -> None:
        self._style = style
        self._cache = cache
        self._enough = enough
        self._done: dict[str, str] = {}
        self._pending: dict[str, str] = {}
        self._runs: list[_Run] = []

    def __enter__(self) -> TreeFormatter:
        return self

    def __exit__(self, *_: object) -> None:
        for run in self._runs:
            run.close()

    @property
    def formatted(self) -> int:
        """How many files clang-format read, or will."""
        return sum(len(run.files) for run in self._runs) + len(self._pending)

    def add(self, path: str, text: str) -> None:
        """Take one file. What is not C++ stays as it is."""
        self._done[path] = text  # keeps the order of the files
        if not path.endswith(FORMATTED_SUFFIXES):
            return
        hit = _read(self._cache, _key(text, self._style))
        if hit is not None:
            self._done[path] = hit
            return
        self._pending[path] = text
        if self._enough and len(self._pending) >= self._enough and not self._runs:
            self._start()

    def finish(self) -> dict[str, str]:
        """Every file, formatted. Raises FormatterError."""
        self._start_rest()
        for run in self._runs:
            for path, formatted in run.result().items():
                self._done[path] = formatted
                _write(self._cache, _key(run.files[path], self._style), formatted)
        return dict(self._done)

    def _start_rest(self) -> None:
        if self._pending:
            self._start()

    def _start(self) -> None:
        self._runs.append(_Run(self._pending, self._style))
        self._pending = {}


class _Run:
    """One process of clang-format over copies of `files` in a temporary folder."""

    def __init__(self, files: Mapping[str, str], style: str) -> None:
        program = binary()
        self.files = dict(files)
        self._folder = tempfile.TemporaryDirectory(prefix="fl-gen-")
        root = Path(self._folder.name)
        (root / ".clang-format").write_text(style, encoding="utf-8", newline="\n")
        self._names = {path: root / f"{index}{Path(path).suffix}" for index, path in enumerate(files)}
        for path, name in self._names.items():
            name.write_text(files[path], encoding="utf-8", newline="\n")
        self._errors = root / "errors"
        try:
            with self._errors.open("wb") as errors:
                self._process = subprocess.Popen(
                    [str(program), "-i", "--style=file", *(name.name for name in self._names.values())],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    cwd=root,
                )
        except OSError as error:
            self._folder.cleanup()
            raise FormatterError(f"{program}: cannot be run: {error.strerror}") from error

    def result(self) -> dict[str, str]:
        """The formatted files. Raises FormatterError."""
        if self._process.wait() != 0:
            words = self._errors.read_text(encoding="utf-8", errors="replace").strip()
            raise FormatterError(f"clang-format failed on the generated code: {words}")
        return {path: name.read_text(encoding="utf-8") for path, name in self._names.items()}

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()


def kept(text: str, style: str, cache: Path | None, make: Callable[[], str]) -> str:
    """What `make` makes of `text` by the formatter that `style` names, from the cache if it is there."""
    key = _key(text, style)
    hit = _read(cache, key)
    if hit is None:
        hit = make()
        _write(cache, key, hit)
    return hit


def binary() -> Path:
    """The clang-format of the pinned package, without its Python start script."""
    try:
        import clang_format
    except ImportError as error:
        raise FormatterError(
            f"clang-format {PINNED_VERSION} is not installed: pip install clang-format=={PINNED_VERSION}, "
            "or run with --no-format"
        ) from error
    folder = Path(clang_format.__file__).parent / "data" / "bin"
    return folder / ("clang-format.exe" if os.name == "nt" else "clang-format")


def _key(text: str, style: str) -> str:
    return hashlib.sha256(f"{PINNED_VERSION}\0{style}\0{text}".encode()).hexdigest()


def _read(cache: Path | None, key: str) -> str | None:
    if cache is None:
        return None
    try:
        text = (cache / key[:2] / key).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    # The first line is the digest of the rest: a truncated entry is no entry.
    checksum, _, body = text.partition("\n")
    return body if hashlib.sha256(body.encode()).hexdigest() == checksum else None


def _write(cache: Path | None, key: str, text: str) -> None:
    if cache is None:
        return
    path = cache / key[:2] / key
    temporary = path.with_name(f"{key}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(hashlib.sha256(text.encode()).hexdigest() + "\n" + text, encoding="utf-8", newline="\n")
        os.replace(temporary, path)
    except OSError:
        # A cache that cannot be written costs time, never the run.
        return
