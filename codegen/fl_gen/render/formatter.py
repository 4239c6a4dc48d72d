"""clang-format, pinned, over a whole tree in one call, with its results kept by content."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Mapping
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
    done: dict[str, str] = dict(files)
    pending: dict[str, str] = {}
    for path, text in files.items():
        if not path.endswith(FORMATTED_SUFFIXES):
            continue
        key = _key(text, style)
        hit = _read(cache, key)
        if hit is None:
            pending[path] = text
        else:
            done[path] = hit
    if not pending:
        return done
    for path, formatted in _run(pending, style).items():
        done[path] = formatted
        _write(cache, _key(pending[path], style), formatted)
    return done


def _run(files: Mapping[str, str], style: str) -> dict[str, str]:
    try:
        return _run_in(tempfile.gettempdir(), files, style)
    except OSError as error:
        raise FormatterError(
            f"{error.filename or tempfile.gettempdir()}: cannot be written: {error.strerror or error}\n"
            "  = make room there, set TMPDIR to another folder, or run with --no-format"
        ) from error


def _run_in(parent: str, files: Mapping[str, str], style: str) -> dict[str, str]:
    binary = _binary()
    with tempfile.TemporaryDirectory(prefix="fl-gen-", dir=parent) as folder:
        root = Path(folder)
        (root / ".clang-format").write_text(style, encoding="utf-8", newline="\n")
        names = {}
        for index, (path, text) in enumerate(files.items()):
            names[path] = root / f"{index}{Path(path).suffix}"
            names[path].write_text(text, encoding="utf-8", newline="\n")
        try:
            result = subprocess.run(
                [str(binary), "-i", "--style=file", *(str(name) for name in names.values())],
                capture_output=True,
                text=True,
                check=False,
                cwd=root,
            )
        except OSError as error:
            raise FormatterError(f"{binary}: cannot be run: {error.strerror}") from error
        if result.returncode != 0:
            lines = list(dict.fromkeys(result.stderr.replace(f"{root}{os.sep}", "").strip().splitlines()))
            raise FormatterError("clang-format failed on the generated code:\n  " + "\n  ".join(lines[:5]))
        return {path: name.read_text(encoding="utf-8") for path, name in names.items()}


def _binary() -> Path:
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
