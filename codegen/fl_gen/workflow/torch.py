"""One run for PyTorch: the wheel beside the SDK, then the same way as every framework."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen.render.torch_view import TorchView
from fl_gen.schema.torch import TorchFramework
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


def torch_run(request: Request, framework: TorchFramework) -> TorchRun:
    """Find the wheel, ask it for features and ops. Raises NoTorch and WheelError."""
    from fl_gen.sdk.wheel_probe import probe_features

    wheel = find_wheel(request.torch)
    cache = request.cache / "torch" if request.cache is not None else None
    features = probe_features(framework.features.values(), wheel, cache)
    return TorchRun(wheel, TorchView(wheel.release, features))


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

    run = torch_run(request, backend.framework)
    cache = request.cache / "format" if request.cache is not None else None
    return render_torch(backend, run.view, roots, compiled, formatter, cache), {
        "torch": run.wheel.release,
        "black": PINNED_BLACK if formatter is not None else "none",
    }
