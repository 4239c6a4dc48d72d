"""One run for PyTorch: the wheel beside the SDK, then the same way as every framework."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen.render.torch_view import TorchView
from fl_gen.resolve.torch_ops import resolve_torch_ops
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.paths import shown
from fl_gen.schema.torch import TorchFramework
from fl_gen.schema.torch_kernels import TorchKernel, load_torch_kernels
from fl_gen.sdk.wheel import Wheel, find_wheel
from fl_gen.workflow.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fl_gen.render.formatter import TreeFormatter
    from fl_gen.render.infinitrain import Rendered
    from fl_gen.resolve.model import Backend


@dataclass(frozen=True)
class TorchRun:
    """The wheel that a run is for and what templates see of it."""

    wheel: Wheel
    view: TorchView


def torch_run(request: Request, backend: Backend) -> TorchRun:
    """Find the wheel, ask it for features and operators, and decide where each comes from.

    Raises NoTorch, WheelError, TorchgenError, and SchemaError for rules and kernels that the wheel has no operator for.
    """
    from fl_gen.sdk.torch_ops import read_ops
    from fl_gen.sdk.wheel_probe import probe_features

    framework: TorchFramework = backend.framework
    wheel = find_wheel(request.torch)
    cache = request.cache / "torch" if request.cache is not None else None
    features = probe_features(framework.features.values(), wheel, cache)
    kernels = listed_kernels(request)
    ops = resolve_torch_ops(read_ops(wheel, cache), framework.rules, backend.choices, kernels)
    return TorchRun(wheel, TorchView(wheel.release, features, ops))


def listed_kernels(request: Request) -> tuple[TorchKernel, ...]:
    """The hand-written kernels of a request. Raises SchemaError for a wrong list and for a source that is missing."""
    listing = request.backends / "kernels.yaml"
    if not os.path.lexists(listing):
        return ()
    kernels = load_torch_kernels(listing, shown(listing)).kernels
    folder = request.backends / "kernels"
    problems = [
        Diagnostic(
            (kernel.file or kernel.python or kernel.op).location,
            f"{kernel.op}: there is no file {shown(folder / kernel.source)}",
            f"write it (fl-gen kernel new {request.vendor} {kernel.op} --framework torch makes a skeleton), "
            "or remove the entry",
            rule="kernel",
        )
        for kernel in kernels
        if not (folder / kernel.source).is_file()
    ]
    if problems:
        raise SchemaError(problems)
    return kernels


def render_request(
    request: Request,
    backend: Backend,
    roots: Sequence[Path],
    compiled: Path | None,
    formatter: TreeFormatter | None,
) -> tuple[Rendered, dict[str, str]]:
    """Render the package of `request`; beside it what the manifest records about PyTorch."""
    from fl_gen.render.python_format import PINNED_BLACK
    from fl_gen.render.torch import render_torch

    run = torch_run(request, backend)
    cache = request.cache / "format" if request.cache is not None else None
    return render_torch(backend, run.view, roots, compiled, formatter, cache), {
        "torch": run.wheel.release,
        "black": PINNED_BLACK if formatter is not None else "none",
    }
