"""Finds PyTorch's wheel without importing it: its folder, its version, its headers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import shown

VARIABLE = "TORCH_FL_TORCH"
# It goes into generated files: what is no version of a release stays out.
_VERSION = re.compile(r"^__version__ = '(\d+\.\d+[0-9A-Za-z.+_-]*)'$", re.MULTILINE)


class NoTorch(FlGenError):
    """There is no PyTorch where it was looked for."""


@dataclass(frozen=True)
class Wheel:
    """An unpacked wheel. `package` is the folder `torch` itself; `origin` says how it was found."""

    package: Path
    version: str
    origin: str

    @property
    def site(self) -> Path:
        """The folder that holds `torch` and `torchgen`."""
        return self.package.parent

    @property
    def include_dirs(self) -> tuple[str, ...]:
        """The folders of its headers."""
        include = self.package / "include"
        return (str(include), str(include / "torch" / "csrc" / "api" / "include"))

    @property
    def release(self) -> str:
        """The version without what a build appends to it: 2.13.0+cpu is 2.13.0."""
        return self.version.partition("+")[0]


def find_wheel(given: Path | None, environ: Mapping[str, str] | None = None) -> Wheel:
    """The wheel at `given` (a site-packages folder, or the package in it), else the first of the usual places.

    Raises NoTorch when there is none, or when it has no headers.
    """
    environ = os.environ if environ is None else environ
    if given is not None:
        return _require(given, "named")
    named = environ.get(VARIABLE)
    if named:
        return _require(Path(named), VARIABLE)
    for folder, origin in _usual(environ):
        package = _package(folder)
        if package is not None:
            return _wheel(package, origin)
    raise NoTorch(
        "--framework torch needs PyTorch, and this Python has none\n"
        f"  = pip install torch, or name its folder with --torch or {VARIABLE}"
    )


def find_release(given: Path | None, release: str, environ: Mapping[str, str] | None = None) -> Path | None:
    """The package of a wheel of `release` among all places where one is looked for, be it not the first of them."""
    environ = os.environ if environ is None else environ
    named = environ.get(VARIABLE)
    folders = [*([given] if given is not None else []), *([Path(named)] if named else [])]
    for folder in (*folders, *(place for place, _ in _usual(environ))):
        package = _package(folder)
        try:
            if package is not None and _wheel(package, "").release == release:
                return package
        except NoTorch:
            continue
    return None


def _usual(environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Where PyTorch may be: what this Python imports, then the active virtual environment."""
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("torch")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        yield Path(place), "this Python"
    environment = environ.get("VIRTUAL_ENV")
    if environment:
        for folder in sorted(Path(environment).glob("lib*/python3*/site-packages")):
            yield folder, "VIRTUAL_ENV"


def _require(folder: Path, what: str) -> Wheel:
    package = _package(folder)
    if package is None:
        origin = f"{what} " if what == VARIABLE else ""
        raise NoTorch(
            f"{origin}{shown(folder)}: there is no PyTorch in it\n"
            "  = name a site-packages folder that holds torch/, or torch/ itself"
        )
    return _wheel(package, what)


def _package(folder: Path) -> Path | None:
    """The folder `torch` that `folder` is or holds."""
    return next((one for one in (folder, folder / "torch") if (one / "version.py").is_file()), None)


def _wheel(package: Path, origin: str) -> Wheel:
    found = _VERSION.search((package / "version.py").read_text(encoding="utf-8", errors="replace"))
    if found is None:
        raise NoTorch(
            f"{shown(package / 'version.py')}: it names no version: this is no installed PyTorch\n"
            "  = install PyTorch from its wheel"
        )
    if not (package / "include" / "c10" / "core" / "Allocator.h").is_file():
        raise NoTorch(
            f"{shown(package)}: this PyTorch {found.group(1)} has no headers in include/: nothing can be built "
            "with it\n"
            "  = install PyTorch from its wheel"
        )
    return Wheel(package, found.group(1), origin)
