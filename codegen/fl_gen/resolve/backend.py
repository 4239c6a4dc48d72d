"""Schemas x SDK -> backend model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from fl_gen.resolve.bindings import Prober, choose
from fl_gen.resolve.model import Backend, Choice, SdkInfo
from fl_gen.resolve.ops import ResolvedOp, resolve_ops
from fl_gen.schema.catalog import TORCH, Schemas
from fl_gen.schema.errors import FlGenError
from fl_gen.schema.kernels import NativeKernel
from fl_gen.schema.suggest import suggestion
from fl_gen.schema.vendor import Vendor
from fl_gen.sdk.items import ProbeReport


class GroupError(FlGenError):
    """A part of the SDK that was asked for is not there."""


def resolve(
    schemas: Schemas,
    groups: Collection[str],
    version: str | None,
    simulated: bool,
    libraries_missing: Sequence[str],
    prober: Prober,
    native: Sequence[NativeKernel] | None = None,
    wanted: Collection[str] = (),
) -> tuple[Backend, ProbeReport]:
    """The backend for `schemas.vendor` on an SDK that has `groups`, and the probe's report.

    `native` are the hand-written kernels that the user's kernels.yaml lists, None while there is none.
    `wanted` are groups that must be usable. Raises SchemaError when the SDK cannot do a required operation.
    """
    vendor = schemas.vendor
    bindings = choose(schemas.runtime, vendor, frozenset(vendor.groups) & frozenset(groups), prober, wanted)
    present = tuple(name for name in vendor.groups if name in bindings.groups)
    info = SdkInfo(
        name=vendor.sdk.name,
        version=version,
        simulated=simulated,
        groups=present,
        missing_groups=tuple(name for name in vendor.groups if name not in present),
        libraries_missing=tuple(libraries_missing),
        resource_headers=bindings.report.resource_headers,
        digest=bindings.report.sdk_digest,
    )
    return (
        Backend(
            vendor=vendor,
            framework=schemas.framework,
            sdk=info,
            types=bindings.types,
            statuses=bindings.statuses,
            constants=bindings.constants,
            choices=bindings.choices,
            ops=_ops(schemas, bindings.choices, native),
            macro_types=frozenset(name for name in bindings.types if _is_macro(bindings.report, f"type:{name}")),
        ),
        bindings.report,
    )


def _ops(
    schemas: Schemas, choices: Mapping[str, Choice], native: Sequence[NativeKernel] | None
) -> tuple[ResolvedOp, ...]:
    """The framework's kernels; those of PyTorch are resolved by resolve/torch_ops.py, from its wheel."""
    if schemas.framework.name == TORCH:
        return ()
    return resolve_ops(schemas.framework, schemas.vendor, choices, native)


def _is_macro(report: ProbeReport, choice: str) -> bool:
    chosen = report.chosen.get(choice)
    return chosen is not None and any(use.macro for use in report.verdicts[chosen].declarations)


def required_groups(vendor: Vendor, wanted: Sequence[str]) -> frozenset[str]:
    """The groups that must be there: the schema's required ones and those `wanted`.

    Raises GroupError for an unknown one.
    """
    for name in wanted:
        if name not in vendor.groups:
            hint = suggestion(name, vendor.groups)
            raise GroupError(
                f"--require {name}: {vendor.name} has no group of that name; it has {', '.join(vendor.groups)}"
                + (f"\n  = {hint}" if hint else "")
            )
    return frozenset(wanted) | {name for name, group in vendor.groups.items() if group.required}
