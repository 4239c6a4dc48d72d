"""The files below src/kernels, and the once-files that hand-written kernels begin with: pure functions of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fl_gen.render.environment import FileRender
from fl_gen.render.op_view import BESPOKE, OpView, declare
from fl_gen.resolve.model import Backend
from fl_gen.resolve.ops import ResolvedOp, shipped_native
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.ops import DTYPE_GROUPS

_ROOT = "src/kernels"
# Always made, whatever the ops are.
_FIXED = (
    "kernels.h", "op_table.h", "op_table.cc", "router.h", "router.cc", "register_kernels.cc",
    "fallback/support.h", "fallback/support.cc",
    "host/convert.h", "host/convert.cc", "host/host_kernels.h", "host/shape.h", "host/shape.cc",
)  # fmt: skip
# Host kernels by the file that defines them; a file is made if an op needs one of them.
HOST_KERNELS: Mapping[str, tuple[str, ...]] = {
    "convert": ("Cast", "Fill"),
    "data_movement": (
        "ConcatForward", "ConcatBackward", "StackForward", "StackBackward", "SplitForward", "SplitBackward",
        "SliceForward", "SliceBackward", "TransposeForward", "TransposeBackward", "RepeatInterleaveForward",
        "TrilForward", "TrilBackward", "TriuForward", "TriuBackward", "GatherForward",
    ),
    "integer_elementwise": (
        "EqualsForward", "LtForward", "LeForward", "GtForward", "GeForward", "LtScalarForward", "LeScalarForward",
        "GtScalarForward", "GeScalarForward", "AndForward", "OrForward", "SubForward", "AddScalarForward",
        "AddScalarBackward",
    ),
    "mask": ("MaskForward", "MaskBackward"),
    "reduction": (
        "MeanForward", "MeanBackward", "SumForward", "SumBackward", "MaxForward", "MaxBackward", "MinForward",
        "MinBackward",
    ),
    "repeat_interleave": ("RepeatInterleaveBackward",),
    "topk": ("TopKForward", "TopKBackward"),
    "vocab_parallel_cross_entropy": ("VocabParallelCrossEntropyBackward",),
}  # fmt: skip
# What a library kernel asks before it is called.
_TAKES = {
    "Cast": "bool TakesCast(const std::shared_ptr<Tensor> &input, DataType dtype)",
    "Gemm": "bool TakesGemm(const Device &device, const GemmParams &p)",
}


def kernel_files(backend: Backend) -> list[FileRender]:
    """Every file of src/kernels. Raises SchemaError for an op that needs a host kernel which no template has."""
    views = _views(backend)
    _require_host_kernels(views)
    context = _context(backend, views)
    nodes = tuple(f"ops:{view.name}" for view in views)
    files = [_file(path, context, nodes) for path in _FIXED]
    if any(view.strategy == "host" for view in views):
        files.append(_file("no_op.cc", context, _nodes(views, "NoOpForward", "NoOpBackward")))
    names = {view.name for view in views}
    for file, kernels in HOST_KERNELS.items():
        if file != "convert" and names.intersection(kernels):
            files.append(_file(f"host/{file}.cc", context, _nodes(views, *kernels)))
    for category, ops in BESPOKE.items():
        if names.issuperset(ops):
            files.append(_file(f"fallback/{category}.cc", context, _nodes(views, *ops)))
            if category == "gemm":
                files.append(_file("host/gemm.cc", context, _nodes(views, *ops)))
    for category, of in _by_category(views).items():
        wrappers = [view for view in of if view.wrapped]
        if wrappers:
            name = f"{category}_ops" if category in BESPOKE else category
            of_category = {**context, "wrappers": wrappers}
            nodes_of = tuple(f"ops:{view.name}" for view in wrappers)
            files.append(
                FileRender(f"{_ROOT}/fallback/category.cc.j2", f"{_ROOT}/fallback/{name}.cc", of_category, nodes_of)
            )
    libraries = [view for view in views if view.library]
    if libraries:
        files.append(_file("library/library.h", context, _nodes(views, *(view.name for view in libraries))))
    for view in libraries:
        of_library = {**context, **_library_context(backend, view)}
        files.append(_file(f"library/{view.name.lower()}.cc", of_library, _nodes(views, view.name)))
    return files


def native_files(backend: Backend) -> list[FileRender]:
    """The once-files below backends/<vendor>: kernels.yaml and the hand-written kernels that come with the vendor."""
    vendor = backend.vendor.name.snake
    shipped = shipped_native(backend.vendor)
    files = [FileRender("native/kernels.yaml.j2", "kernels.yaml", {"native": shipped}, ("vendor:kernels",))]
    for kernel in shipped:
        template = f"native/{vendor}/{kernel.file}.j2"
        files.append(
            FileRender(template, f"kernels/{kernel.file}", {"op": _view(backend, kernel.op)}, (f"ops:{kernel.op}",))
        )
    return files


def scaffold_file(backend: Backend, op: str) -> FileRender:
    """The skeleton of a hand-written kernel of `op`: what `fl-gen kernel new` writes, rendered with the base context.

    Raises KeyError if the framework has no such op, ValueError if it is a view, which has no device work.
    """
    view = _view(backend, op)
    if view.strategy == "host":
        raise ValueError(f"{op} is a view: it has no device work to write a kernel for")
    compiler = backend.vendor.device_compiler
    suffix = compiler.suffix if compiler is not None else ".cc"
    file = f"{view.resolved.op.canonical.snake}{suffix}"
    return FileRender("scaffold/kernel.j2", f"kernels/{file}", {"op": view, "file": file}, (f"ops:{op}",))


_shared: tuple[object, dict[str, OpView]] = (None, {})


def _views(backend: Backend) -> tuple[OpView, ...]:
    """A view of each op. Vendors of one run share those of ops for which they have nothing of their own."""
    global _shared
    enumerators = _enumerators(backend)
    if _shared[0] is not backend.framework:
        _shared = (backend.framework, {})
    known = _shared[1]
    views = []
    for op in backend.ops:
        view = known.get(op.name)
        if view is None or view.resolved.op is not op.op or not (_bare(op) and _bare(view.resolved)):
            view = OpView(op, enumerators)
            if _bare(op):
                known[op.name] = view
        views.append(view)
    return tuple(views)


def _bare(op: ResolvedOp) -> bool:
    return op.native is None and op.library is None and op.unavailable is None


def _view(backend: Backend, name: str) -> OpView:
    for op in backend.ops:
        if op.name == name:
            return OpView(op, _enumerators(backend))
    raise KeyError(name)


def _enumerators(backend: Backend) -> dict[str, str]:
    """The framework's enumerator of each dtype. Raises SchemaError when a dtype that kernels may have is not there."""
    interface = backend.framework.interface
    found = {dtype.name: dtype.enumerator for dtype in interface.dtypes}
    missing = [name for name in DTYPE_GROUPS["all"] if name not in found]
    if missing:
        message = f"kernels may have the dtype {missing[0]}, and the interface does not have it"
        raise SchemaError([Diagnostic(interface.location, message, f"add {missing[0]} to dtypes", rule="dangling")])
    return found


def _file(path: str, context: Mapping[str, Any], nodes: tuple[str, ...]) -> FileRender:
    return FileRender(f"{_ROOT}/{path}.j2", f"{_ROOT}/{path}", context, nodes)


def _by_category(views: Iterable[OpView]) -> dict[str, list[OpView]]:
    found: dict[str, list[OpView]] = {}
    for view in views:
        found.setdefault(view.category, []).append(view)
    return found


def _nodes(views: tuple[OpView, ...], *names: str) -> tuple[str, ...]:
    return tuple(f"ops:{view.name}" for view in views if view.name in names)


def _context(backend: Backend, views: tuple[OpView, ...]) -> dict[str, Any]:
    enumerators = _enumerators(backend)
    categories = [{"name": category, "ops": of} for category, of in _by_category(views).items()]
    return {
        "ops": views,
        "categories": categories,
        "routed": [view for view in views if view.routed],
        "libraries": [view for view in views if view.library],
        "takes": _TAKES,
        "groups": {group: [enumerators[name] for name in names] for group, names in DTYPE_GROUPS.items()},
        "dtypes": backend.framework.interface.dtypes,
        "device_type": backend.framework.interface.device_type,
        "has_optional": any("std::optional<" in view.declaration for view in views),
        "has_views": any(view.strategy == "host" for view in views),
    }


def _library_context(backend: Backend, view: OpView) -> dict[str, Any]:
    enumerators = _enumerators(backend)
    assert view.resolved.library is not None
    served = view.resolved.library.dtypes or tuple(enumerators)
    types = backend.constants.get("blas_dtype", {})
    context: dict[str, Any] = {
        "library_dtypes": [
            {"enumerator": enumerators[name], "constant": constant}
            for name, constant in types.items()
            if constant is not None and name in served
        ]
    }
    pairs = backend.constants.get("cast_kind", {})
    known = {name for name, constant in types.items() if constant is not None}
    context["cast_pairs"] = [
        {"source": enumerators[source], "target": enumerators[target], "constant": constant}
        for name, constant in pairs.items()
        for source, _, target in [name.partition("_to_")]
        if constant is not None and source in known and target in known
    ]
    return context


def _require_host_kernels(views: tuple[OpView, ...]) -> None:
    known = {name for names in HOST_KERNELS.values() for name in names}
    problems = [
        Diagnostic(
            view.resolved.op.location,
            f"{view.name} asks for a generated host kernel, and fl-gen has none of that name",
            "write `cpu: framework` without `exact_dtypes`, so that the framework's CPU kernel computes it",
            rule="host-kernel",
        )
        for view in views
        if view.host_kernel is not None and view.name not in known
    ]
    if problems:
        raise SchemaError(problems)


__all__ = ["HOST_KERNELS", "ResolvedOp", "declare", "kernel_files", "native_files", "scaffold_file"]
