"""A backend model without an SDK: the first candidate of every binding is taken as it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fl_gen.resolve.model import Backend, Choice, SdkInfo, Status
from fl_gen.resolve.ops import resolve_ops
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.framework import Framework
from fl_gen.schema.kernels import NativeKernel

MakeBackend = Callable[..., Backend]


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    return Catalog()


@pytest.fixture(scope="session")
def framework(catalog: Catalog) -> Framework:
    return catalog.framework("infinitrain")


@pytest.fixture(scope="session")
def make_backend(catalog: Catalog) -> MakeBackend:
    def make(
        vendor_name: str,
        framework: Framework | None = None,
        native: tuple[NativeKernel, ...] | None = None,
        unbound: tuple[str, ...] = (),
    ) -> Backend:
        schemas = catalog.load(vendor_name)
        vendor = schemas.vendor
        choices = {
            name: Choice(
                operation,
                None if name in unbound else next(iter(vendor.bindings.get(name, ())), None),
                operation.group if operation.group in vendor.statuses else "runtime",
            )
            for name, operation in schemas.runtime.operations.items()
        }
        statuses = {
            name: Status(name, str(s.type[0]), str(s.success[0]), (), (), str(s.text), s.macro)
            for name, s in vendor.statuses.items()
        }
        constants = {
            kind: {name: str(texts[0]) if texts else None for name, texts in names.items()}
            for kind, names in vendor.constants.items()
        }
        chosen = framework or schemas.framework
        return Backend(
            vendor=vendor,
            framework=chosen,
            sdk=SdkInfo("test", None, True, tuple(vendor.groups), ()),
            types={name: str(texts[0]) for name, texts in vendor.types.items()},
            statuses=statuses,
            constants=constants,
            choices=choices,
            ops=resolve_ops(chosen, vendor, choices, native),
        )

    return make
