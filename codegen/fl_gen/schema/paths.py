"""Where the shipped schemas, templates and simulator sources are, in a checkout and in an installed wheel."""

from __future__ import annotations

import os
import shlex
from functools import lru_cache
from pathlib import Path

from .errors import FlGenError

_PACKAGE = Path(__file__).resolve().parents[1]
_instead: list[Path] = []


@lru_cache(maxsize=1)
def data_dir() -> Path:
    """The folder that holds `schemas/`, `templates/` and `simulator/`.

    In a wheel that is `fl_gen/_data`, in a checkout its root. Raises FlGenError when neither is there.
    """
    for folder in (*_instead, _PACKAGE / "_data", _PACKAGE.parents[1]):
        if (folder / "schemas" / "runtime.yaml").is_file():
            return folder
    raise FlGenError(f"fl-gen is not installed completely: no schemas beside {_PACKAGE}; install it again")


def use_data_dir(folder: Path | None) -> None:
    """Make `folder` the shipped data for the rest of this process, fl-gen's own again with None.

    For processes that render what another revision of the data makes.
    """
    _instead[:] = [] if folder is None else [folder]
    data_dir.cache_clear()


def shown(path: str | os.PathLike[str]) -> str:
    """A path as people want to read it: relative when it is inside the current folder, else as it is."""
    text = os.fspath(path)
    try:
        here = os.getcwd()
    except OSError:  # the current folder was removed
        return text
    whole = os.path.normpath(os.path.join(here, text))
    prefix = here.rstrip(os.sep) + os.sep
    return whole[len(prefix) :] if whole.startswith(prefix) else text


def shell_word(path: str) -> str:
    """`path` as one word of a shell, for commands that are printed: also a name that no terminal can show."""
    if path.isprintable():
        return shlex.quote(path)
    plain = {ord(c) for c in map(chr, range(32, 127))} - {ord("'"), ord("\\")}
    return "$'" + "".join(chr(b) if b in plain else f"\\x{b:02x}" for b in os.fsencode(path)) + "'"


def logical(file: str) -> str:
    """The name of a schema or template file that is the same on every machine, for what is written into outputs.

    A shipped file is named from the shipped root (`schemas/runtime.yaml`), a user's file from the current folder, a
    file elsewhere by its last parts from `schemas`, `vendors`, `bases` or `frameworks` on, or by its name alone.
    """
    path = Path(os.path.abspath(file))
    for root in (data_dir(), Path.cwd()):
        try:
            return path.relative_to(root).as_posix()
        except ValueError:
            continue
    for index, part in enumerate(path.parts):
        if part in ("schemas", "vendors", "bases", "frameworks"):
            return "/".join(path.parts[index:])
    return path.name


def is_there(path: Path) -> bool:
    """Whether something has that name, be it a folder or a link to nothing: who reads it says what is wrong with it.

    Raises OSError when that cannot be known.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
