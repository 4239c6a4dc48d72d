"""`backends/torch_<vendor>/kernels.yaml`: which hand-written kernels of PyTorch's operators there are.

People edit it; fl-gen writes it once. A kernel is C++, compiled into the library, or Python (Triton too), registered
when the package is imported.
"""

from __future__ import annotations

import contextlib
import os
from keyword import iskeyword

from .errors import Diagnostic, SchemaError
from .frozen import frozen
from .kernels import insertions
from .location import Location
from .scalars import IDENTIFIER, RELATIVE_PATH, Choice, Int, Str
from .spec import Field, ListOf, Nullable, Record, require_unique, validate
from .torch_rules import DTYPES, OP_NAME
from .values import ModelError, Ref
from .yaml_loader import load, loads


@frozen
class TorchKernel:
    """A hand-written kernel of `op`. In C++: `function` of the namespace torch_<vendor>::native in `file`, below
    backends/torch_<vendor>/kernels. In Python: `python`, as module:function, of a module in that folder. `dtypes` are
    those that it takes, empty for all; the fallback serves the others."""

    op: Ref
    file: Ref | None
    function: str | None
    python: Ref | None
    dtypes: tuple[str, ...]
    priority: int
    location: Location

    def __post_init__(self) -> None:
        if (self.function is None) != (self.file is None):
            raise ModelError("'file' and 'function' go together", "function" if self.file is None else "file")
        if self.file is not None and not self.file.endswith(".cc"):
            raise ModelError("a kernel in C++ stands in a .cc file", "file")
        for part in (self.python or "").split(":"):
            if iskeyword(part):
                raise ModelError(f"'{part}' is a keyword of Python: nothing can be called so", "python")
        if self.file is not None and self.priority:
            raise ModelError("'priority' goes with python: a kernel in C++ is the only one", "priority")

    @property
    def module(self) -> str:
        """The Python module of the kernel, empty for one in C++."""
        return self.python.partition(":")[0] if self.python is not None else ""

    @property
    def source(self) -> str:
        """Its file, relative to backends/torch_<vendor>/kernels."""
        return str(self.file) if self.file is not None else f"{self.module}.py"


@frozen
class TorchKernels:
    """The whole file."""

    kernels: tuple[TorchKernel, ...]
    version: int
    location: Location

    def __post_init__(self) -> None:
        require_unique((str(kernel.op) for kernel in self.kernels), "the kernel of", "kernels")


_PYTHON = Str(
    "a Python function",
    "[A-Za-z_][A-Za-z0-9_]{0,123}:[A-Za-z_][A-Za-z0-9_]*",
    "module:function, of a module below backends/torch_<vendor>/kernels, whose name has at most 124 characters",
    located=True,
)
_KERNEL = Record(
    "a hand-written kernel",
    TorchKernel,
    {
        "op": Field(OP_NAME, "the operator, as aten::add.Tensor"),
        "file": Field(RELATIVE_PATH.with_location(), "in C++: its source, below backends/torch_<vendor>/kernels", None),
        "function": Field(IDENTIFIER, "in C++: its function, in the namespace torch_<vendor>::native", None),
        "python": Field(_PYTHON, "in Python: module:function, below backends/torch_<vendor>/kernels", None),
        "dtypes": Field(ListOf(Choice(DTYPES), at_least=1, unique=True), "dtypes that it takes; others fall back", ()),
        "priority": Field(Int(-1000, 1000), "in Python: which counts when several offer the operator", 0),
    },
    exactly_one=(("file", "python"),),
    title="torch_kernel",
)
SPEC = Record(
    "a kernels file",
    TorchKernels,
    {
        "schema": Field(Int(1, 1), "version of this format", name="version"),
        "kernels": Field(Nullable(ListOf(_KERNEL), ()), "one entry for each hand-written kernel"),
    },
    title="torch_kernels",
)


def load_torch_kernels(path: str | os.PathLike[str], name: str | None = None) -> TorchKernels:
    """The kernels of a file. Raises SchemaError with everything that is wrong with it, taken by itself."""
    kernels: TorchKernels = validate(SPEC, load(path, name), "a kernels file")
    return kernels


def with_torch_entry(text: str, name: str, entry: str) -> str:
    """The text of a kernels file with `entry`, a map in braces, behind the last; all else stays as it is.

    `name` is the path that messages show. Raises SchemaError when the file is wrong, or so written that the entry would
    not end up in its list.
    """
    node = loads(text, name)
    before: TorchKernels = validate(SPEC, node, "a kernels file")
    for new_text in insertions(text, node, entry):
        with contextlib.suppress(SchemaError):
            after: TorchKernels = validate(SPEC, loads(new_text, name), "a kernels file")
            if _listed(after)[:-1] == _listed(before) and len(after.kernels) == len(before.kernels) + 1:
                return new_text
    message = "the new kernel cannot be added to this list as it is written"
    raise SchemaError([Diagnostic(before.location, message, f"add it yourself: - {entry}")])


def _listed(kernels: TorchKernels) -> list[tuple[str, str]]:
    return [(str(kernel.op), kernel.source) for kernel in kernels.kernels]
