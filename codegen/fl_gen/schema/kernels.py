"""`backends/<vendor>/kernels.yaml`: which hand-written kernels there are. People edit it; fl-gen writes it once."""

from __future__ import annotations

import os

from .frozen import frozen
from .location import Location
from .ops import DTYPE_GROUPS, expand_dtypes
from .scalars import RELATIVE_PATH, Choice, Int, Str
from .spec import Field, ListOf, Nullable, Record, require_unique, validate
from .values import Ref
from .vendor import DTYPES
from .yaml_loader import load


@frozen
class NativeKernel:
    """A hand-written kernel of `op` in `file` below backends/<vendor>/kernels; `dtypes` None: whatever the op takes."""

    op: Ref
    file: str
    dtypes: tuple[str, ...] | None
    location: Location


@frozen
class NativeKernels:
    """The whole file."""

    kernels: tuple[NativeKernel, ...]
    version: int
    location: Location

    def __post_init__(self) -> None:
        require_unique((kernel.op for kernel in self.kernels), "the kernel of", "kernels")


def _kernel(op: Ref, file: str, dtypes: tuple[str, ...] | None, location: Location) -> NativeKernel:
    return NativeKernel(op, file, None if dtypes is None else expand_dtypes(dtypes), location)


_OP = Str("the name of a kernel", "[A-Z][A-Za-z0-9]*", "as it is registered: AddForward", located=True)
_DTYPES = ListOf(Choice((*DTYPES, *DTYPE_GROUPS)), at_least=1, unique=True)

_KERNEL = Record(
    "a hand-written kernel",
    _kernel,
    {
        "op": Field(_OP, "the kernel of the framework that it is"),
        "file": Field(RELATIVE_PATH, "its source, below backends/<vendor>/kernels"),
        "dtypes": Field(
            _DTYPES, "dtypes that it takes, or groups: floating, numeric, all; the host serves the others", None
        ),
    },
    title="native_kernel",
)
SPEC = Record(
    "a kernels file",
    NativeKernels,
    {
        "schema": Field(Int(1, 1), "version of this format", name="version"),
        "kernels": Field(Nullable(ListOf(_KERNEL), ()), "one entry for each hand-written kernel"),
    },
    title="kernels",
)


def load_native_kernels(path: str | os.PathLike[str], name: str | None = None) -> NativeKernels:
    """The kernels of a file. Raises SchemaError with everything that is wrong with it, taken by itself."""
    kernels: NativeKernels = validate(SPEC, load(path, name), "a kernels file")
    return kernels
