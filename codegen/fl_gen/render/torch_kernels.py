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
_ADAPTER = "at::native::call_fallback_fn"  # which calls a function that takes a stack as if it took arguments
# The package's functions that take a stack; the others have PyTorch's signature.
_BOXED = ("aten::convolution_overrideable", "aten::convolution_backward_overrideable")
# What PyTorch's own code does with the package's help: by the copy, which asks the vendor's library.
OF_PYTORCH: Mapping[str, str] = {"aten::_to_copy": "_to_copy"}
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
    either is empty when no argument has one. `otherwise` is the call of what runs where the kernel does not, by the
    package's header `otherwise_header`, empty for PyTorch's own; `headers` are PyTorch's. `file` is the source below
    backends/torch_<vendor>/kernels, empty for one that is not there. `scalar_types` are empty for a kernel that takes
    every dtype.
    """

    op: str
    short: str
    schema: str
    identifier: str
    headers: list[str]
    function: str
    returns: str
    params: str
    arguments: str
    dtype: str
    device: str
    otherwise: str
    otherwise_header: str
    file: str = ""
    scalar_types: tuple[str, ...] = ()

    @property
    def falls_back(self) -> bool:
        """Whether the call is one of PyTorch's adapter for boxed kernels."""
        return _ADAPTER in self.otherwise


@dataclass(frozen=True)
class PackageKernel:
    """A function of the package for an operator, in the namespace torch_<vendor>::package.

    `boxed`: it takes a stack, as the fallback does, and runs on the host. `by_hand`: a hand-written kernel is
    registered in its place.
    """

    op: str
    short: str
    identifier: str
    returns: str
    params: str
    arguments: str
    boxed: bool
    by_hand: bool


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
    types = tuple(SCALAR_TYPES[dtype] for dtype in kernel.dtypes)
    return _cxx(resolved, kernel.function, str(kernel.file or ""), types)


def package_kernel(resolved: ResolvedTorchOp) -> PackageKernel:
    """The function that the package has for an operator."""
    op = resolved.op
    return PackageKernel(
        op.name,
        op.short,
        op.identifier,
        op.returns,
        _parameters(op),
        _arguments(op),
        op.name in _BOXED,
        resolved.by_hand,
    )


def python_kernel(kernel: TorchKernel) -> PythonKernel:
    """The kernel in Python that an entry of kernels.yaml names."""
    assert kernel.python is not None
    module, _, function = kernel.python.partition(":")
    return PythonKernel(str(kernel.op), module, function, kernel.priority, kernel.dtypes)


def takes_dtypes(op: TorchOp) -> bool:
    """Whether a kernel of `op` can be for some dtypes only: something among its arguments must have one."""
    return bool(_dtype(op))


def _parameters(op: TorchOp) -> str:
    return ", ".join(f"{type_}{'' if type_.endswith('&') else ' '}{name}" for type_, name in op.params)


def _arguments(op: TorchOp) -> str:
    return ", ".join(name for _, name in op.params)


def _otherwise(resolved: ResolvedTorchOp) -> tuple[str, str]:
    """The call that does an operator without a hand-written kernel, and the package's header for it, if any."""
    op = resolved.op
    arguments = _arguments(op)
    header = "aten/package_kernels.h" if resolved.own else "aten/fallback.h"
    if op.name in OF_PYTORCH:
        return f"at::native::{OF_PYTORCH[op.name]}({arguments})", ""
    if resolved.own and op.name not in _BOXED:
        return f"package::{op.identifier}({arguments})", header
    function = f"package::{op.identifier}" if resolved.own else "boxed_fallback"
    return f"{_ADAPTER}<&{function}, at::_ops::{op.identifier}>::call({arguments})", header


def _cxx(resolved: ResolvedTorchOp, function: str, file: str = "", scalar_types: tuple[str, ...] = ()) -> CxxKernel:
    op = resolved.op
    otherwise, otherwise_header = _otherwise(resolved)
    headers = [f"ATen/ops/{op.root}_native.h"] if op.name in OF_PYTORCH else []
    if _ADAPTER in otherwise:
        headers.append(f"ATen/ops/{op.root}_ops.h")
    return CxxKernel(
        op=op.name,
        short=op.short,
        schema=op.schema,
        identifier=op.identifier,
        headers=headers,
        function=function,
        returns=op.returns,
        params=_parameters(op),
        arguments=_arguments(op),
        dtype=_dtype(op),
        device=_device(op),
        otherwise=otherwise,
        otherwise_header=otherwise_header,
        file=file,
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


def scaffold_files(resolved: ResolvedTorchOp, python: bool) -> tuple[FileRender, str]:
    """The skeleton of a kernel of an operator, below backends/torch_<vendor>, and its entry for kernels.yaml."""
    op = resolved.op
    name = kernel_name(op)
    written = re.findall(r"Tensor\(\w+!\) (\w+)", op.schema)  # by `relu_`, and by overloads with `out`
    if python:
        context = {"op": op, "function": name, "signature": _python_signature(op), "returns": _python_returns(op)}
        return (
            FileRender("scaffold/kernel.py.j2", f"kernels/{name}.py", {**context, "written": written}),
            f"{{op: {op.name}, python: {name}:{name}}}",
        )
    first = next((name for type_, name in op.params if type_ in _TENSORS), "")
    context = {"kernel": _cxx(resolved, name), "first": first, "written": written}
    return (
        FileRender("scaffold/kernel.cc.j2", f"kernels/{name}.cc", context),
        f"{{op: {op.name}, file: {name}.cc, function: {name}}}",
    )


def kernel_name(op: TorchOp) -> str:
    """What the file and the function of a kernel are called: C++ keeps names that begin with _ or have two of them."""
    in_place = op.base.endswith("_") and not op.base.startswith("__")
    name = f"{op.base}inplace_{op.overload}" if in_place and op.overload else op.identifier
    name = re.sub("__+", "_", name)
    return f"op{name}" if name.startswith("_") else name


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
