"""`backends/<vendor>/kernels.yaml`: which hand-written kernels there are. People edit it; fl-gen writes it once."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator

from .errors import Diagnostic, SchemaError
from .frozen import frozen
from .location import Location
from .nodes import Mapping, Node, Scalar, Sequence
from .ops import DTYPE_GROUPS, expand_dtypes
from .scalars import RELATIVE_PATH, Choice, Int, Str
from .spec import Field, ListOf, Nullable, Record, require_unique, validate
from .values import Ref
from .vendor import DTYPES
from .yaml_loader import load, loads


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


def empty_listing() -> str:
    """A kernels file that lists nothing."""
    return "schema: 1\nkernels: []\n"


def with_entry(text: str, name: str, op: str, file: str) -> str:
    """The text of a kernels file with one more entry behind the last; all else stays as it is, byte for byte.

    `name` is the path that messages show. Block lists, lists in brackets, comments and either line end are understood.
    Raises SchemaError when the file is wrong, or so written that the entry would not end up in its list.
    """
    node = loads(text, name)
    before: NativeKernels = validate(SPEC, node, "a kernels file")
    entry = f"{{op: {op}, file: {file}}}"
    for new_text in insertions(text, node, entry):
        with contextlib.suppress(SchemaError):
            after = validate(SPEC, loads(new_text, name), "a kernels file")
            if _listed(after) == [*_listed(before), (op, file)]:
                return new_text
    hint = f"add it yourself: - {entry}"
    raise SchemaError(
        [Diagnostic(before.location, "the new kernel cannot be added to this list as it is written", hint)]
    )


def _listed(kernels: NativeKernels) -> list[tuple[str, str]]:
    return [(str(kernel.op), kernel.file) for kernel in kernels.kernels]


def insertions(text: str, root: Node, entry: str) -> Iterator[str]:
    """`text` with `entry` at each place where the end of its list may be. The caller reads each, and compares."""
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    body = text[len(bom) :]
    newline = "\r\n" if "\r\n" in body else "\n"
    assert isinstance(root, Mapping)  # the file was validated
    key, value = root.keys["kernels"], root.values["kernels"]
    if isinstance(value, Sequence) and value.items:
        last = value.items[-1]
        end = last_character(last)
        first = body.split("\n")[value.line]
        if first[value.column : value.column + 1] == "[":
            while (close := re.compile(r"\s*[}\]]").match(body, end)) is not None:
                end = close.end()
                yield f"{bom}{body[:end]}, {entry}{body[end:]}"
            return
        head, line_end, tail = after_line(body, end)
        yield f"{bom}{head}{line_end or newline}{' ' * value.column}- {entry}{newline}{tail}"
        return
    # An empty list is written `kernels: []` or `kernels:`; both become the head of a block list.
    head, line_end, tail = after_line(body, key.end)
    line = head[key.index :]
    head = head[: key.index] + re.sub(r"^([^#\[\]~]*:)(?:[ \t]*(?:\[[ \t]*\]|null|~))?", r"\1", line)
    yield f"{bom}{head}{line_end or newline}  - {entry}{newline}{tail}"


def last_character(node: Node) -> int:
    """The offset behind the last scalar of a node."""
    if isinstance(node, Scalar):
        return node.end
    children = node.items if isinstance(node, Sequence) else list(node.values.values())
    return max((last_character(child) for child in children), default=0)


def after_line(text: str, offset: int) -> tuple[str, str, str]:
    """The text up to the end of the line of `offset`, that line's end, and the rest."""
    match = re.compile(r"\r\n?|\n").search(text, offset)
    return (text, "", "") if match is None else (text[: match.start()], match.group(), text[match.end() :])
