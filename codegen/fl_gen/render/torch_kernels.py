"""Hand-written kernels of PyTorch's operators as templates see them, and the skeleton of a new one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fl_gen.render.environment import FileRender
from fl_gen.resolve.torch_ops import ResolvedTorchOp
from fl_gen.schema.torch_kernels import TorchKernel
from fl_gen.sdk.torch_ops import Argument, TorchOp

# Portable dtypes as C++ and Python spell them.
SCALAR_TYPES: Mapping[str, str] = {
    "float32": "Float",
    "float64": "Double",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "uint8": "Byte",
    "bool": "Bool",
}
_TENSORS = ("const at::Tensor &", "at::Tensor &")
_LISTS = ("at::TensorList", "const at::ITensorListRef &")
_ANNOTATIONS: Mapping[str, str] = {
    "Tensor": "torch.Tensor",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "ScalarType": "torch.dtype",
    "Layout": "torch.layout",
    "Device": "torch.device",
    "MemoryFormat": "torch.memory_format",
    "Generator": "torch.Generator",
    "Scalar": "complex",
}
_DEFAULTS: Mapping[str, str] = {
    "None": "None",
    "True": "True",
    "False": "False",
    "Mean": "1",  # at::Reduction
    "contiguous_format": "torch.contiguous_format",
    "long": "torch.int64",
}


@dataclass(frozen=True)
class CxxKernel:
    """A kernel in C++. `params` and `arguments` are spelled for a declaration and a call; `schema` is the operator's.

    `dtype` is the expression for the dtype that decides whether the kernel takes a call, `device` that for its device;
    either is empty when no argument has one. `scalar_types` are empty for a kernel that takes every dtype.
    """

    op: str
    short: str
    schema: str
    identifier: str
    header: str
    function: str
    returns: str
    params: str
    arguments: str
    dtype: str
    device: str
    scalar_types: tuple[str, ...] = ()


@dataclass(frozen=True)
class PythonKernel:
    """A kernel in Python: `function` of `module`, which is below the package's folder `kernels`."""

    op: str
    module: str
    function: str
    priority: int
    dtypes: tuple[str, ...]


def cxx_kernel(resolved: ResolvedTorchOp) -> CxxKernel:
    """The kernel in C++ of an operator that has one."""
    kernel = resolved.kernel
    assert kernel is not None
    assert kernel.function is not None
    return _cxx(resolved.op, kernel.function, tuple(SCALAR_TYPES[dtype] for dtype in kernel.dtypes))


def python_kernel(kernel: TorchKernel) -> PythonKernel:
    """The kernel in Python that an entry of kernels.yaml names."""
    assert kernel.python is not None
    module, _, function = kernel.python.partition(":")
    return PythonKernel(str(kernel.op), module, function, kernel.priority, kernel.dtypes)


def takes_dtypes(op: TorchOp) -> bool:
    """Whether a kernel of `op` can be for some dtypes only: something among its arguments must have one."""
    return bool(_dtype(op))


def _cxx(op: TorchOp, function: str, scalar_types: tuple[str, ...] = ()) -> CxxKernel:
    return CxxKernel(
        op=op.name,
        short=op.short,
        schema=op.schema,
        identifier=op.identifier,
        header=f"ATen/ops/{op.root}_ops.h",
        function=function,
        returns=op.returns,
        params=", ".join(f"{type_}{'' if type_.endswith('&') else ' '}{name}" for type_, name in op.params),
        arguments=", ".join(name for _, name in op.params),
        dtype=_dtype(op),
        device=_device(op),
        scalar_types=scalar_types,
    )


def _dtype(op: TorchOp) -> str:
    """The dtype that a call is about: that of its first tensor, or of the first in its list, or the one asked for."""
    for type_, name in op.params:
        if type_ in _TENSORS:
            return f"{name}.scalar_type()"
        if type_ == "at::TensorList":
            return f"({name}.empty() ? at::kFloat : {name}.front().scalar_type())"
        if type_ == "const at::ITensorListRef &":
            return f"({name}.size() == 0 ? at::kFloat : {name}.front().scalar_type())"
        if type_ == "::std::optional<at::ScalarType>":
            return f"{name}.value_or(at::get_default_dtype_as_scalartype())"
        if type_ == "at::ScalarType":
            return name
    return ""


def _device(op: TorchOp) -> str:
    """The optional device that a call is for: that of its first tensor or list, or the one asked for."""
    for type_, name in op.params:
        if type_ in (*_TENSORS, *_LISTS):
            return f"at::device_of({name})"
        if type_ == "::std::optional<at::Device>":
            return name
    return ""


# --- the skeleton of a new kernel ------------------------------------------------------------------------------------


def scaffold_files(op: TorchOp, python: bool) -> tuple[FileRender, str]:
    """The skeleton of a kernel of `op`, below backends/torch_<vendor>, and its entry for kernels.yaml."""
    name = op.identifier if not op.identifier.startswith("_") else f"op{op.identifier}"
    if python:
        context = {"op": op, "function": name, "signature": _python_signature(op), "returns": _python_returns(op)}
        return (
            FileRender("scaffold/kernel.py.j2", f"kernels/{name}.py", context),
            f"{{op: {op.name}, python: {name}:{name}}}",
        )
    return (
        FileRender("scaffold/kernel.cc.j2", f"kernels/{name}.cc", {"kernel": _cxx(op, name)}),
        f"{{op: {op.name}, file: {name}.cc, function: {name}}}",
    )


def _python_signature(op: TorchOp) -> str:
    parts: list[str] = []
    for one in op.arguments:
        if one.by_name and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(one))
    return ", ".join(parts)


def _parameter(one: Argument) -> str:
    name = one.name if one.name != "from" else "from_"
    annotation = _annotation(one.type)
    if one.default is None:
        return f"{name}: {annotation}"
    return f"{name}: {annotation} = {_default(one)}"


def _annotation(type_: str) -> str:
    """The Python type of a schema's type: Tensor(a!)?[] is a list of optional tensors."""
    text = re.sub(r"\([^)]*\)", "", type_)
    if text.endswith("?"):
        return f"{_annotation(text[:-1])} | None"
    array = re.fullmatch(r"(.+)\[\d*\]", text)
    if array is not None:
        return f"list[{_annotation(array.group(1))}]"
    return _ANNOTATIONS.get(text, "object")


def _default(one: Argument) -> str:
    """The default of a schema as Python has it. A list is a tuple, for what is shared must not change."""
    text = one.default or "None"
    if text in _DEFAULTS:
        return _DEFAULTS[text]
    if text.startswith("["):
        inner = text.strip("[]").strip()
        return f"({inner},)" if inner else "()"
    if "[" in one.type and re.fullmatch(r"-?\d+", text):
        return f"({text},)"
    return text if re.fullmatch(r"-?[\d.]+(?:e-?\d+)?", text) else f"{text.strip(chr(39) + chr(34))!r}"


def _python_returns(op: TorchOp) -> str:
    """The return annotation, as far as tensors go."""
    returned = op.schema.rpartition("->")[2].strip()
    if returned == "()":
        return "None"
    inner = returned.strip("()") if returned.startswith("(") else returned
    parts = [_annotation(part.split(" ")[0]) for part in re.split(r",\s*", inner)]
    return parts[0] if len(parts) == 1 else f"tuple[{', '.join(parts)}]"
