"""What the check of an SDK depends on, so that its answer can be kept while none of it changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fl_gen.sdk.shims import OVERRIDE, tiers
from fl_gen.tasks.kept import Inputs

if TYPE_CHECKING:
    from fl_gen.schema.catalog import Catalog
    from fl_gen.schema.vendor import Vendor
    from fl_gen.sdk.items import ProbeReport
    from fl_gen.workflow.request import Request
    from fl_gen.workflow.sdks import FoundSdk


def inputs_of(request: Request, vendor: Vendor, catalog: Catalog, sdk: FoundSdk, report: ProbeReport) -> Inputs:
    """The state of every file, folder and variable that decided about a check."""
    schemas = [str(path) for path in catalog.files(request.vendor) if "frameworks" not in path.parts]
    for root in catalog.folders:
        schemas += [str(path) for path in (root / "bases").glob("*/*.yaml")]
    api = catalog.api_path(request.vendor)
    if api is not None:
        schemas.append(str(api))
    headers = [header.path for header in report.headers_read if os.path.isfile(header.path)]  # not those in memory
    folders = [*_schema_folders(catalog), *_sdk_folders(vendor, sdk, report)]
    # PATH: which compiler's headers are used depends on the compilers on it.
    return Inputs.of([*schemas, *headers], folders, [*vendor.sdk.environment, OVERRIDE, "PATH"])


def _schema_folders(catalog: Catalog) -> Iterator[str]:
    """Where a new file would stand before one that was read."""
    for root in catalog.folders:
        yield str(root)
        for part in ("vendors", "bases"):
            yield str(root / part)
            yield from (str(path) for path in (root / part).glob("*") if path.is_dir())


def _sdk_folders(vendor: Vendor, sdk: FoundSdk, report: ProbeReport) -> Iterator[str]:
    """Where the SDK, its headers, the compiler's headers and the libraries were looked for."""
    for root in (*sdk.roots, *vendor.sdk.roots):
        yield root
        yield from (os.path.join(root, folder) for folder in (*vendor.sdk.include, *vendor.sdk.library))
    names = [name for group in vendor.groups.values() for name in group.headers]
    inner = {os.path.dirname(name) for name in [*names, *(header.name for header in report.headers_read)]} | {""}
    searched = [*sdk.folders, *(folder for one in tiers() for folder in one.dirs)]
    yield from (os.path.join(folder, part) if part else folder for folder in searched for part in inner)
    yield from (os.path.dirname(header.path) for header in report.headers_read)
