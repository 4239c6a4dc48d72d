"""A vendor, `vendors/<name>/vendor.yaml`: where its SDK is and how it does each operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from .frozen import frozen
from .location import Location
from .name import Name
from .runtime import Result
from .spec import require_unique
from .values import ModelError, Ref, Table
from .values import Text as Text

DTYPES = (
    "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64",
    "bfloat16", "float16", "float32", "float64",
)  # fmt: skip
# The portable enumerations and their values. A vendor lists candidates for each value that its SDK has.
CONSTANTS: dict[str, tuple[str, ...]] = {
    "memcpy_kind": ("h2d", "d2h", "d2d", "p2p", "h2h"),
    "event_flags": ("default", "disable_timing", "blocking_sync", "interprocess"),
    "stream_flags": ("default", "non_blocking"),
    "ccl_dtype": DTYPES,
    "ccl_op": ("sum", "prod", "min", "max", "avg"),
    "blas_dtype": DTYPES,
    "gemm_transpose": ("none", "transpose"),
    "cast_kind": tuple(f"{source}_to_{target}" for source in DTYPES for target in DTYPES if source != target),
}
# The values of a kind without which nothing that takes the kind can be used: a required operation is lost then, any
# other is not bound. Every other value may be missing: what needs it is refused when it is asked for.
NEEDED_VALUES: dict[str, tuple[str, ...]] = {
    "memcpy_kind": ("h2d", "d2h", "d2d"),
    "gemm_transpose": ("none", "transpose"),
}
# The types and operations without which an optional group of an SDK is of no use and is left out.
GROUP_NEEDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "blas": (("blas_handle",), ("blas.create", "blas.set_stream")),
}
# What a workaround may do; the last two take arguments.
EFFECTS = ("sync_allocation", "serialize_copies", "retain_pool", "segment_all_reduce", "uniform_groups")
SET_ENV, SET_ENV_FOR_ARGUMENT = "set_env", "set_env_for_argument"

Form = Literal["expr", "body"]
Certainty = Literal["certain", "inferred"]


@frozen
class VersionMacros:
    """The integer macros of a header that give the SDK's version: one for each part, or `number` for all of them, whose
    parts are found by dividing by each of `divisors` (12090 by 1000 and 10: 12.9)."""

    header: str
    major: str | None
    minor: str | None
    patch: str | None
    number: str | None
    divisors: tuple[int, ...]
    location: Location

    def __post_init__(self) -> None:
        if self.number is None:
            if self.divisors:
                raise ModelError("'divisors' go with 'number'", "divisors", "remove the key")
            return
        if self.minor is not None or self.patch is not None:
            raise ModelError("one number holds all parts", "minor" if self.minor else "patch", "remove the key")
        if not self.divisors:
            raise ModelError("'number' needs 'divisors'", "number", "as in: divisors: [1000, 10]")
        if list(self.divisors) != sorted(set(self.divisors), reverse=True):
            raise ModelError("each divisor must be smaller than the one before", "divisors")


@frozen
class SdkLayout:
    """Where an SDK is looked for and how its folders are named; `include` and `library` are relative to a root.

    `defines` are macros, NAME or NAME=VALUE, that its headers want defined before they are included."""

    name: str
    environment: tuple[str, ...]
    roots: tuple[str, ...]
    include: tuple[str, ...]
    library: tuple[str, ...]
    version: VersionMacros | None
    defines: tuple[str, ...]
    visible_devices: str | None
    source: str
    location: Location


@frozen
class Group:
    """A part of an SDK: `key` is runtime, blas, dnn or ccl, `name` the vendor's own (cnrt).

    `optional_headers` are included behind `headers` where the SDK at hand has them.
    """

    key: str
    name: Name
    title: str
    headers: tuple[str, ...]
    optional_headers: tuple[str, ...]
    libraries: tuple[str, ...]
    required: bool
    location: Location

    def __post_init__(self) -> None:
        if self.key == "runtime" and not self.required:
            raise ModelError("the runtime group cannot be optional", "required", "remove the key")


@frozen
class StatusDomain:
    """What calls of one part of an SDK return. `success`: the first that exists counts; `not_ready` and `oom`: all that
    exist. `text` is an expression over `status` that gives const char *; `macro` the name of the generated check."""

    key: str
    type: tuple[Text, ...]
    success: tuple[Text, ...]
    not_ready: tuple[Text, ...]
    oom: tuple[Text, ...]
    text: Text
    macro: str
    source: str
    location: Location

    def __post_init__(self) -> None:
        if "status" not in self.text.value:
            raise ModelError("'text' must use the name status", "text", "as in: cnrtGetErrorStr(status)")
        if self.macro != self.macro.upper():
            raise ModelError("a macro is written in capitals", "macro", f"write {self.macro.upper()}")


@frozen
class Candidate:
    """One way to do an operation.

    `status` (None: the domain of the operation's group) and `result` (None: the operation's) say how the value is read,
    `scale` multiplies the out parameter `ms`, `certainty` is about meaning, units and order, which no compiler checks.
    """

    code: Text
    form: Form
    helpers: tuple[Ref, ...]
    status: Ref | None
    result: Result | None
    scale: float | None
    certainty: Certainty
    source: str
    note: str | None
    location: Location

    def __post_init__(self) -> None:
        if self.form == "expr" and self.code.value.rstrip().endswith(";"):
            raise ModelError(
                "an expr is one expression and has no ';'", "expr", "remove the ';', or use body: with return"
            )


@frozen
class Helper:
    """C++ at namespace scope that candidates may use."""

    name: str
    code: Text
    doc: str
    source: str
    location: Location


@frozen
class DeviceCompiler:
    """The vendor's compiler of device code; `path` is relative to the SDK's root."""

    name: str
    path: str
    suffix: str
    language: str | None
    flags: tuple[str, ...]
    arch_flag: str | None
    arch_default: str | None
    source: str
    location: Location


@frozen
class Effect:
    """What a workaround does. `variables` are set before the first call of the SDK (set_env), and with `argument` only
    when the process has that command line argument with a number above `above` (set_env_for_argument)."""

    name: str
    location: Location
    variables: Mapping[str, str] | None = None
    argument: str | None = None
    above: int | None = None


@frozen
class Workaround:
    """A deviation that an SDK needs: `environment` switches it (or gives its number), `default` is its state."""

    name: str
    reason: str
    environment: str
    default: bool | int
    maximum: int | None
    effects: tuple[Effect, ...]
    source: str
    location: Location

    def __post_init__(self) -> None:
        require_unique((effect.name for effect in self.effects), "the effect", "effects")
        if self.maximum is not None:
            if isinstance(self.default, bool):
                raise ModelError("'maximum' needs a number as default", "maximum")
            if self.default > self.maximum:
                raise ModelError(f"the default is above the maximum {self.maximum}", "default")

    def effect(self, name: str) -> Effect | None:
        """The effect of that name, if the workaround has it."""
        return next((effect for effect in self.effects if effect.name == name), None)


@frozen
class VendorKernel:
    """An op whose kernel does not come from the framework's default strategy."""

    op: Ref
    strategy: Literal["native", "library"]
    operation: Ref | None
    file: str | None
    dtypes: tuple[str, ...] | None
    note: str | None
    source: str
    location: Location

    def __post_init__(self) -> None:
        needed, other = ("operation", "file") if self.strategy == "library" else ("file", "operation")
        if getattr(self, needed) is None:
            raise ModelError(f"strategy: {self.strategy} needs '{needed}'", "strategy")
        if getattr(self, other) is not None:
            raise ModelError(f"'{other}' does not go with strategy: {self.strategy}", other, "remove it")


@frozen
class Vendor:
    """`vendor.yaml` as a whole. Every map keeps the order of the file and the place of each key.

    `strict_typedefs`: the SDK's handles are all one `void *`, or its codes one `int`, to the compiler, so the check
    compares the names of typedefs as well.
    """

    name: Name
    title: str
    autocast_dtype: str
    sdk: SdkLayout
    groups: Table[Group]
    types: Table[tuple[Text, ...]]
    statuses: Table[StatusDomain]
    constants: Table[Table[tuple[Text, ...]]]
    bindings: Table[tuple[Candidate, ...]]
    helpers: Table[Helper]
    device_compiler: DeviceCompiler | None
    workarounds: tuple[Workaround, ...]
    kernels: Table[VendorKernel]
    strict_typedefs: bool
    version: int
    location: Location

    def __post_init__(self) -> None:
        if "runtime" not in self.groups:
            raise ModelError("every vendor has a runtime group", "groups")
        if "runtime" not in self.statuses:
            raise ModelError("every vendor has a runtime status domain", "statuses")
        require_unique((item.name for item in self.workarounds), "the workaround", "workarounds")
        require_unique((item.environment for item in self.workarounds), "the switch", "workarounds")
        require_unique((str(group.name) for group in self.groups.values()), "the group name", "groups")
        require_unique((domain.macro for domain in self.statuses.values()), "the macro", "statuses")

    def fitted(self, has_header: Callable[[str], bool]) -> Vendor:
        """The vendor for one SDK: optional headers that it has are headers of their groups, the others are gone."""
        if not any(group.optional_headers for group in self.groups.values()):
            return self
        groups = {
            key: replace(
                group, headers=(*group.headers, *filter(has_header, group.optional_headers)), optional_headers=()
            )
            for key, group in self.groups.items()
        }
        places = {key: self.groups.location_of(key) for key in groups}
        return replace(self, groups=Table(groups, self.groups.location, places))

    def workaround(self, name: str) -> Workaround | None:
        """The workaround of that name, if the vendor has it."""
        return next((item for item in self.workarounds if item.name == name), None)

    def effect(self, name: str) -> Workaround | None:
        """The first workaround with that effect, if any."""
        return next((item for item in self.workarounds if item.effect(name) is not None), None)
