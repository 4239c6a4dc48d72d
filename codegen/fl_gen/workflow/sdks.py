"""Finds the SDK that a request means, installed or simulated."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen.schema.errors import Diagnostic, FlGenError, SchemaError
from fl_gen.workflow.request import Request, is_simulated

if TYPE_CHECKING:
    from fl_gen.schema.catalog import Catalog
    from fl_gen.schema.location import Location
    from fl_gen.schema.vendor import Vendor
    from fl_gen.sdk.find import SdkLocation

_IN_MEMORY = "/__fl_gen_"  # how the paths of files begin that are on no disk
_DEFINES_ROOT, _DEFINES_HEADER = f"{_IN_MEMORY}defines__", "fl_gen_defines.h"


@dataclass(frozen=True)
class FoundSdk:
    """An SDK that is there, installed or simulated, before anything is asked of it.

    `memory` holds the headers of a simulated one by absolute path, and a header with the macros that the SDK's headers
    want defined. `libraries` maps each library to its file or None; it is empty for a simulated SDK whose libraries are
    not built.
    """

    groups: frozenset[str]
    include_dirs: tuple[str, ...]
    memory: dict[str, str]
    version: str | None
    simulated: bool
    title: str
    origin: str
    roots: tuple[str, ...] = ()
    libraries: Mapping[str, str | None] = field(default_factory=dict)

    def has_header(self, name: str) -> bool:
        """Whether one of the include folders holds the header."""
        paths = [os.path.join(folder, name) for folder in self.include_dirs]
        return any(path in self.memory or os.path.isfile(path) for path in paths)

    def headers(self, vendor: Vendor) -> tuple[str, ...]:
        """The headers of the groups that are there, in the order in which they are included."""
        first = (_DEFINES_HEADER,) if vendor.sdk.defines else ()
        return (*first, *(name for key, group in vendor.groups.items() if key in self.groups for name in group.headers))

    @property
    def folders(self) -> tuple[str, ...]:
        """The include folders that are on the disk."""
        return tuple(folder for folder in self.include_dirs if not folder.startswith(_IN_MEMORY))

    @property
    def libraries_missing(self) -> tuple[str, ...]:
        return tuple(name for name, path in self.libraries.items() if path is None)


def find_sdk_of(request: Request, vendor: Vendor, catalog: Catalog) -> FoundSdk:
    """The SDK that a request means. Raises FlGenError when there is none, or when a group that must be there is not;
    SchemaError with the place in fl-gen.yaml, if that says what the SDK is."""
    try:
        return _found(request, vendor, catalog)
    except SchemaError:
        raise
    except FlGenError as error:
        if request.sdk_place is None:
            raise
        raise _in_project(request, request.sdk_place, str(error)) from error


def _in_project(request: Request, place: Location, text: str) -> SchemaError:
    """A message about the option --sdk, as one about the key `sdk` of a project: nobody typed the option."""
    message, _, remedy = text.partition("\n  = ")
    message = message.removeprefix("--sdk ")
    remedy = remedy.replace("point --sdk at", "name").replace(" with --sdk DIR or", " as sdk: DIR, or with")
    remedy = remedy.replace(" with --sdk", "").replace("--sdk ", "sdk: ")
    return SchemaError([Diagnostic(place, f"{request.vendor}: {message}", remedy or None, rule="sdk")])


def _found(request: Request, vendor: Vendor, catalog: Catalog) -> FoundSdk:
    from fl_gen.resolve.backend import required_groups

    simulated = [text for text in request.sdk if is_simulated([text])]
    if simulated and len(request.sdk) > 1:
        raise FlGenError(
            f"--sdk {simulated[0]} is a whole SDK and cannot be combined with another --sdk\n"
            f"  = give --sdk {simulated[0]} alone, or only paths"
        )
    sdk = _simulated(request, vendor, catalog) if is_simulated(request.sdk) else _installed(request, vendor)
    missing = sorted(required_groups(vendor, request.require) - sdk.groups)
    if missing:
        raise _missing_group(vendor, sdk, missing[0])
    return _with_defines(sdk, vendor.sdk.defines)


def _with_defines(sdk: FoundSdk, defines: Sequence[str]) -> FoundSdk:
    """The SDK with one more header, in memory, that defines what its headers want defined."""
    if not defines:
        return sdk
    lines = [" ".join(("#define", name, value or "1")) for name, _, value in (text.partition("=") for text in defines)]
    return replace(
        sdk,
        include_dirs=(*sdk.include_dirs, _DEFINES_ROOT),
        memory={**sdk.memory, f"{_DEFINES_ROOT}/{_DEFINES_HEADER}": "\n".join(lines) + "\n"},
    )


def _simulated(request: Request, vendor: Vendor, catalog: Catalog) -> FoundSdk:
    """The simulated SDK's headers, in memory: nothing has to be built to generate code for it."""
    from fl_gen.render.simapi import load_api
    from fl_gen.render.simheaders import render_headers

    path = catalog.api_path(request.vendor)
    if path is None:
        raise FlGenError(
            f"--sdk {request.sdk[0]}: there is no simulated SDK for {request.vendor}: its folder has no api.yaml\n"
            "  = give the path of a real SDK with --sdk"
        )
    api = load_api(path, catalog.folders)
    wanted = request.sdk[0].partition(":")[2]
    version = api.find_version(wanted)
    root = f"{_IN_MEMORY}sim__/{request.vendor}-{version.version}/include"
    headers = render_headers(api, wanted)
    present = frozenset(
        name for name, group in vendor.groups.items() if all(header in headers for header in group.headers)
    )
    return FoundSdk(
        groups=present,
        include_dirs=(root,),
        memory={f"{root}/{name}": text for name, text in headers.items()},
        version=version.version,
        simulated=True,
        title=f"simulated {vendor.sdk.name} {version.version} (a test double)",
        origin="simulated",
    )


def _installed(request: Request, vendor: Vendor) -> FoundSdk:
    from fl_gen.sdk.find import find_sdk

    found = find_sdk(vendor, [Path(path) for path in request.sdk], os.environ)
    return FoundSdk(
        groups=frozenset(found.groups_present),
        include_dirs=tuple(str(folder) for folder in found.include_dirs),
        memory={},
        version=found.version,
        simulated=any(map(is_test_double, found.roots)),
        title=installed_title(vendor, found),
        origin=found.origin,
        roots=tuple(str(root) for root in found.roots),
        libraries=found.libraries,
    )


def is_test_double(root: Path) -> bool:
    """Whether the SDK at `root` is a simulated one that was built: it carries a mark."""
    from fl_gen.render.simsdk import MARKER_FILE

    return (root / MARKER_FILE).is_file()


def installed_title(vendor: Vendor, found: SdkLocation) -> str:
    """What an SDK on the disk is called in every report; a test double never without that word."""
    name = f"{vendor.sdk.name} {found.version or 'of unknown version'}"
    if any(map(is_test_double, found.roots)):
        name = f"simulated {name} (a test double)"
    return f"{name} at {found.root}"


def _missing_group(vendor: Vendor, sdk: FoundSdk, name: str) -> FlGenError:
    group = vendor.groups[name]
    where = ", ".join(sdk.include_dirs)
    return FlGenError(
        f"{sdk.title}: {group.title} is needed, and its header {group.headers[0]} is not in {where}\n"
        f"  = install {group.title}, or point --sdk at an SDK that has it"
    )
