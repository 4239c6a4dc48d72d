"""Finds schema files, shipped and the user's, and loads each once.

A user's schema folder has the layout of the shipped one (`runtime.yaml`, `vendors/<name>/vendor.yaml`,
`bases/<name>/vendor.yaml`, `frameworks/<name>/interface.yaml`, `frameworks/<name>/ops/*.yaml`). Of files with one
relative path the first folder's counts, and the shipped folder is the last; so a user's folder may add a vendor, a base
or an ops file, or replace one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from .errors import Diagnostic, FlGenError, SchemaError, quote
from .extend import API_FILE, VENDOR_FILE, base_names, base_problems, load_extended
from .framework import Framework, make_framework
from .framework_spec import load_interface
from .frozen import frozen
from .link import (
    cross_problems,
    framework_problems,
    interface_problems,
    kernel_problems,
)
from .ops import OpsFile
from .ops_spec import load_ops
from .paths import data_dir, is_there, shown
from .runtime import Runtime, load_runtime
from .suggest import suggestion
from .vendor import Vendor
from .vendor_spec import SPEC as VENDOR_SPEC
from .vendor_spec import make_vendor

if TYPE_CHECKING:
    from .torch import TorchFramework

T = TypeVar("T")
TORCH = "torch"
FEATURES_FILE = "features.yaml"  # the main file of PyTorch, whose interface its wheel declares

_NAME = re.compile(r"[a-z][a-z0-9_]{0,142}")  # of a folder; a longer one is no path on some file systems


class UnknownSchema(FlGenError):
    """There is no vendor or framework of that name."""


@frozen
class Schemas:
    """Everything that a run needs to know before it looks at an SDK, with its references checked."""

    runtime: Runtime
    vendor: Vendor
    framework: Any  # a Framework, or a TorchFramework


class Catalog:
    """The schema files of some folders. Parsed files are kept for the life of the object."""

    def __init__(self, schema_dirs: Iterable[str | os.PathLike[str]] = (), shipped: bool = True) -> None:
        self.folders: tuple[Path, ...] = tuple(Path(folder) for folder in schema_dirs)
        if shipped:
            self.folders += (data_dir() / "schemas",)
        for folder in self.folders:
            if not folder.is_dir():
                raise FlGenError(f"{shown(folder)}: no such schema folder")
        self._loaded: dict[Path, Any] = {}
        self._bases: dict[Path, Path | None] = {}  # the base's file of each vendor file that was read
        self._frameworks: dict[str, Framework] = {}

    def vendors(self) -> tuple[str, ...]:
        """The names of all vendors, sorted."""
        return self._names("vendors", "vendor.yaml")

    def bases(self) -> tuple[str, ...]:
        """The names of all bases that vendors may extend, sorted."""
        return tuple(sorted({*base_names(self.folders, VENDOR_FILE), *base_names(self.folders, API_FILE)}))

    def frameworks(self) -> tuple[str, ...]:
        """The names of all frameworks, sorted."""
        return tuple(sorted({*self._names("frameworks", "interface.yaml"), *self._names("frameworks", FEATURES_FILE)}))

    def runtime(self) -> Runtime:
        """The portable vocabulary."""
        return self._load(self.path("runtime.yaml", "runtime vocabulary", "runtime"), load_runtime)

    def vendor(self, name: str) -> Vendor:
        """A vendor by name, checked by itself."""
        path = self.path(f"vendors/{name}/vendor.yaml", "vendor", name, self.vendors())
        vendor = self._load(path, self._load_vendor)
        if vendor.name.snake != name:
            message = f"the folder is called {name}, the vendor in it {vendor.name}"
            raise SchemaError([Diagnostic(vendor.location, message, f"write vendor: {name}, or rename the folder")])
        return vendor

    def api_path(self, vendor: str) -> Path | None:
        """The prototypes for the simulated SDK of a vendor, or None when it has none."""
        try:
            return self.path(f"vendors/{vendor}/api.yaml", "simulator data of", vendor)
        except UnknownSchema:
            return None

    def framework(self, name: str) -> Framework:
        """A framework by name: its interface and all its ops, checked against each other."""
        if name == TORCH:
            raise UnknownSchema(
                "torch has no interface.yaml: what it asks of a backend is in the headers of its wheel\n"
                "  = fl-gen backend VENDOR --framework torch --verify holds generated code against them"
            )
        if name not in self._frameworks:
            path = self.path(f"frameworks/{name}/interface.yaml", "framework", name, self.frameworks())
            problems: list[Diagnostic] = []
            interface = self._try(path, load_interface, problems)
            files = [self._try(file, load_ops, problems) for file in self._ops_files(name)]
            if problems or interface is None:
                raise SchemaError(problems)
            framework = make_framework(interface, [file for file in files if isinstance(file, OpsFile)])
            found = framework_problems(framework)
            if found:
                raise SchemaError(found)
            self._frameworks[name] = framework
        return self._frameworks[name]

    def load(self, vendor: str, framework: str = "infinitrain") -> Schemas:
        """All that a run needs. Raises one SchemaError with the problems of every file and of their links."""
        problems: list[Diagnostic] = []

        def attempt(get: Callable[[], T]) -> T | None:
            try:
                return get()
            except SchemaError as error:
                problems.extend(error.diagnostics)
                return None

        found_runtime = attempt(self.runtime)
        found_vendor = attempt(lambda: self.vendor(vendor))
        if framework == TORCH:
            return self._load_torch(vendor, found_runtime, found_vendor, problems)
        found_framework = attempt(lambda: self.framework(framework))
        if found_runtime is not None and found_vendor is not None:
            problems += cross_problems(found_vendor, found_runtime)
        if found_runtime is not None and found_framework is not None:
            problems += interface_problems(found_framework, found_runtime)
        if found_vendor is not None and found_framework is not None:
            problems += kernel_problems(found_vendor, found_framework)
        if problems or found_runtime is None or found_vendor is None or found_framework is None:
            raise SchemaError(problems)
        return Schemas(found_runtime, found_vendor, found_framework)

    def torch(self, vendor: str = "") -> TorchFramework:
        """What there is to know about PyTorch beside the wheel itself, with the rules of a vendor before the others."""
        from .torch import load_torch

        path = self.path(f"frameworks/{TORCH}/{FEATURES_FILE}", "framework", TORCH, self.frameworks())
        return load_torch(path, [*self._torch_rules(vendor), *self._ops_files(TORCH)])

    def _torch_rules(self, vendor: str) -> list[Path]:
        """The vendor's own rules for PyTorch's operators, if it has some."""
        paths = [folder / "vendors" / vendor / "torch.yaml" for folder in self.folders] if vendor else []
        return [path for path in paths if is_there(path)][:1]

    def _load_torch(
        self, name: str, runtime: Runtime | None, vendor: Vendor | None, problems: list[Diagnostic]
    ) -> Schemas:
        if runtime is not None and vendor is not None:
            problems = [*problems, *cross_problems(vendor, runtime)]
        try:
            framework = self.torch(name)
        except SchemaError as error:
            raise SchemaError([*problems, *error.diagnostics]) from error
        if problems or runtime is None or vendor is None:
            raise SchemaError(problems)
        return Schemas(runtime, vendor, framework)

    def check(self, vendor: str, framework: str = "infinitrain") -> tuple[Diagnostic, ...]:
        """All problems of everything that the schemas say about a vendor, its simulated SDK included."""
        from .api_spec import load_api_data  # a run with a real SDK does not need it

        problems: list[Diagnostic] = []
        try:
            self.load(vendor, framework)
        except SchemaError as error:
            problems.extend(error.diagnostics)
        path = self.api_path(vendor)
        data = (
            self._try(path, lambda file, name: load_api_data(file, name, self.folders), problems)
            if path is not None
            else None
        )
        if data is not None and data["vendor"] != vendor:
            message = f"the folder is called {vendor}, the vendor in it {data['vendor']}"
            problems.append(Diagnostic(data.location, message, f"write vendor: {vendor}, or rename the folder"))
        return tuple(problems)

    def check_base(self, name: str) -> tuple[Diagnostic, ...]:
        """All problems of a base that can be seen without a vendor that extends it."""
        from .api_spec import SPEC as API_SPEC

        problems: list[Diagnostic] = []
        for file, spec in ((VENDOR_FILE, VENDOR_SPEC), (API_FILE, API_SPEC)):
            if name in base_names(self.folders, file):
                path = self.path(f"bases/{name}/{file}", "base", name)
                problems += base_problems(path, shown(path), spec)
        return tuple(problems)

    def files(self, vendor: str, framework: str = "infinitrain") -> tuple[Path, ...]:
        """The schema files that `load` reads, in a fixed order; for digests and dependency lists."""
        paths = [self.path("runtime.yaml", "runtime vocabulary", "runtime")]
        own = self.path(f"vendors/{vendor}/vendor.yaml", "vendor", vendor, self.vendors())
        self._load(own, self._load_vendor)
        base = self._bases[own]
        paths += [own] if base is None else [own, base]
        main = FEATURES_FILE if framework == TORCH else "interface.yaml"
        paths.append(self.path(f"frameworks/{framework}/{main}", "framework", framework, self.frameworks()))
        own_rules = self._torch_rules(vendor) if framework == TORCH else []
        return (*paths, *own_rules, *self._ops_files(framework))

    def path(self, relative: str, what: str, name: str, known: Iterable[str] = ()) -> Path:
        """The file of the first folder that has it. Raises UnknownSchema, with the nearest known name."""
        if _NAME.fullmatch(name):
            for folder in self.folders:
                path = folder / relative
                if is_there(path):
                    return path
        hint = suggestion(name, known)
        places = ", ".join(shown(folder) for folder in self.folders)
        raise UnknownSchema(f"there is no {what} {quote(name)} in {places}" + (f"\n  = {hint}" if hint else ""))

    def _names(self, kind: str, file: str) -> tuple[str, ...]:
        names = set()
        for folder in self.folders:
            for path in (folder / kind).glob(f"*/{file}"):
                if _NAME.fullmatch(path.parent.name):
                    names.add(path.parent.name)
        return tuple(sorted(names))

    def _ops_files(self, framework: str) -> list[Path]:
        found: dict[str, Path] = {}
        for folder in self.folders:
            for path in (folder / "frameworks" / framework / "ops").glob("*.yaml"):
                found.setdefault(path.name, path)
        return [found[name] for name in sorted(found)]

    def _load_vendor(self, path: Path, name: str) -> Vendor:
        extended = load_extended(path, name, VENDOR_FILE, self.folders)
        self._bases[path] = extended.base
        return make_vendor(extended)

    def _load(self, path: Path, loader: Callable[[Path, str], T]) -> T:
        if path not in self._loaded:
            self._loaded[path] = loader(path, shown(path))
        result: T = self._loaded[path]
        return result

    def _try(self, path: Path, loader: Callable[[Path, str], T], problems: list[Diagnostic]) -> T | None:
        try:
            return self._load(path, loader)
        except SchemaError as error:
            problems.extend(error.diagnostics)
            return None
