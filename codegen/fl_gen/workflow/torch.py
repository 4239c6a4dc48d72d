"""One run for PyTorch: the wheel beside the SDK, then the same way as every framework."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen.render.torch_view import TorchView
from fl_gen.resolve.torch_ops import resolve_torch_ops
from fl_gen.schema.errors import Diagnostic, FlGenError, SchemaError
from fl_gen.schema.paths import shown
from fl_gen.schema.torch import TorchFramework
from fl_gen.schema.torch_kernels import TorchKernel, load_torch_kernels
from fl_gen.sdk.wheel import VARIABLE, NoTorch, Wheel, find_wheel
from fl_gen.workflow.request import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fl_gen.render.formatter import TreeFormatter
    from fl_gen.render.incremental import KeptTexts
    from fl_gen.render.infinitrain import Rendered
    from fl_gen.resolve.model import Backend

# Where a wheel is looked for depends on these.
VARIABLES = (VARIABLE, "VIRTUAL_ENV", "PYTHONPATH")


@dataclass(frozen=True)
class TorchRun:
    """The wheel that a run is for, what templates see of it, and the headers that it was asked about."""

    wheel: Wheel
    view: TorchView
    headers: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the wheel that decided about the tree, except for headers that others include."""
        native = self.wheel.site / "torchgen" / "packaged" / "ATen" / "native"
        headers = [Path(folder, name) for folder in self.wheel.include_dirs for name in self.headers]
        named = [self.wheel.package / "version.py", native / "native_functions.yaml", native / "tags.yaml", *headers]
        return tuple(str(path) for path in named if path.is_file())


def wheel_inputs(request: Request, release: str | None = None) -> dict[str, str]:
    """What a manifest records beside schemas and templates, for PyTorch `release` if it is given. Raises NoTorch."""
    from fl_gen.render.python_format import PINNED_BLACK

    release = find_wheel(request.torch).release if release is None else release
    return {"torch": release, "black": PINNED_BLACK if request.formatted else "none"}


def torch_run(request: Request, backend: Backend) -> TorchRun:
    """Find the wheel, ask it for features and operators, and decide where each comes from.

    Raises NoTorch, WheelError, TorchgenError, and SchemaError for rules and kernels that the wheel has no operator for.
    """
    from fl_gen.sdk.torch_ops import read_ops
    from fl_gen.sdk.wheel_probe import probe_features

    framework: TorchFramework = backend.framework
    device = framework.device(backend.vendor.name)
    wheel = find_wheel(request.torch)
    _require_free(device.snake, backend, wheel)
    cache = request.cache / "torch" if request.cache is not None else None
    features = probe_features(framework.features.values(), wheel, cache)
    kernels = listed_kernels(request)
    ops = resolve_torch_ops(read_ops(wheel, cache), framework.rules, backend.choices, kernels)
    headers = sorted({header for feature in framework.features.values() for header in feature.headers})
    return TorchRun(wheel, TorchView(wheel.release, device, features, ops), tuple(headers))


def _require_free(device: str, backend: Backend, wheel: Wheel) -> None:
    """Raises FlGenError for a device type whose module `torch.<device>` PyTorch has already, for another purpose."""
    if any((wheel.package / name).exists() for name in (device, f"{device}.py")):
        raise FlGenError(
            f"PyTorch {wheel.version} has a module torch.{device} of its own: no device type can be called {device}\n"
            f"  = write device: NAME into vendors/{backend.vendor.name.snake}/torch.yaml of a folder for --schemas"
        )


def other_wheel(request: Request, release: str) -> str | None:
    """Why the PyTorch at hand cannot make the tree that was made for `release` again; None if it can."""
    lost = no_wheel(request, release)
    if lost is not None:
        return lost
    given = request.torch
    wheel = find_wheel(given)
    if wheel.release != release:
        place = f"{VARIABLE} or this Python" if given is None else shown(given)
        return f"it is made for PyTorch {release}, and {place} has {wheel.release}"
    return None


def no_wheel(request: Request, release: str) -> str | None:
    """That there is no PyTorch to make a tree for `release` again; None if there is one, of whatever release."""
    try:
        find_wheel(request.torch)
    except NoTorch:
        place = f"here: set {VARIABLE}" if request.torch is None else f"in {shown(request.torch)}"
        return f"it is made for PyTorch {release}, which is not {place}"
    return None


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
    kept: KeptTexts | None,
) -> tuple[Rendered, TorchRun]:
    """Render the package of `request`."""
    from fl_gen.render.torch import render_torch

    run = torch_run(request, backend)
    return render_torch(backend, run.view, roots, compiled, formatter, kept), run
