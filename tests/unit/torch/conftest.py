"""Wheels for the tests: the real one of this machine, if there is one, and small ones made of a few files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.schema.errors import FlGenError
from fl_gen.sdk.torch_ops import TorchOp
from fl_gen.sdk.wheel import Wheel, find_wheel

MakeWheel = Callable[..., Path]
MakeOp = Callable[..., TorchOp]


@pytest.fixture(scope="session")
def wheel() -> Wheel:
    """The PyTorch of this Python, or the one that TORCH_FL_TORCH names."""
    try:
        return find_wheel(None)
    except FlGenError as error:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have PyTorch: {error}", pytrace=False)
        pytest.skip(f"needs PyTorch: {error}")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache folder, so that the wheel is read once; tests that share it are of one group."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def make_wheel(tmp_path: Path) -> MakeWheel:
    """A site-packages folder with a PyTorch of a few headers."""

    def make(headers: dict[str, str] | None = None, version: str = "2.13.0+cpu") -> Path:
        site = tmp_path / "site"
        include = site / "torch" / "include"
        for name, text in {"c10/core/Allocator.h": "namespace c10 {}\n", **(headers or {})}.items():
            (include / name).parent.mkdir(parents=True, exist_ok=True)
            (include / name).write_text(text)
        (site / "torch" / "version.py").write_text(f"__version__ = '{version}'\ndebug = False\n")
        return site

    return make


@pytest.fixture(scope="session")
def make_op() -> MakeOp:
    """An operator that differs from relu in what is given."""

    def make(name: str, **changes: object) -> TorchOp:
        values: dict[str, object] = {
            "name": name,
            "schema": f"{name}(Tensor self) -> Tensor",
            "cpu": True,
            "composite": None,
            "structured": False,
            "view": False,
            "kind": "functional",
            "tags": (),
            "returns": "at::Tensor",
            "params": (("const at::Tensor &", "self"),),
            "arguments": (),
            "root": name.removeprefix("aten::").partition(".")[0],
            "devices": "any",
        }
        return TorchOp(**{**values, **changes})  # type: ignore[arg-type]

    return make
