"""`--verify` for PyTorch, against a wheel of a few headers: what the compiler refuses is told at its line and template."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fl_gen.render.verify import PrerequisiteError, Sources, VerifyError
from fl_gen.render.verify_torch import verify_torch
from fl_gen.sdk import clang
from fl_gen.sdk.wheel import Wheel, find_wheel

from .conftest import MakeWheel

TENSOR = "#pragma once\n#include <vector>\nnamespace at { struct Tensor { std::vector<int> sizes() const; }; }\n"
SDK = {"/sdk/crt.h": "#pragma once\nint crtInit(unsigned flags);\n"}
BACKEND: Any = SimpleNamespace(vendor=SimpleNamespace(groups={"runtime": SimpleNamespace(headers=("crt.h",))}))
GOOD = {
    "csrc/aten/op.h": "#pragma once\n#include <ATen/core/Tensor.h>\nint op(const at::Tensor &self);\n",
    "csrc/aten/op.cc": (
        '#include "aten/op.h"\n#include <crt.h>\n'
        "int op(const at::Tensor &self) { return crtInit(0) + static_cast<int>(self.sizes().size()); }\n"
    ),
    "torch_crt/__init__.py": "",
}


@pytest.fixture
def small_wheel(make_wheel: MakeWheel) -> Wheel:
    return find_wheel(make_wheel({"ATen/core/Tensor.h": TENSOR}), {})


def check(files: dict[str, str], wheel: Wheel, tmp_path: Path, cache: Path | None = None) -> Any:
    template = tmp_path / "templates" / "torch" / "csrc" / "op.cc.j2"
    template.parent.mkdir(parents=True, exist_ok=True)
    template.write_text(files["csrc/aten/op.cc"])
    sources = Sources(
        dict.fromkeys(files, ("csrc/op.cc.j2", ())), (tmp_path / "templates" / "torch",), tmp_path / "out"
    )
    return verify_torch(files, BACKEND, sources, wheel, ("/sdk",), SDK, cache)


def test_what_compiles_passes(small_wheel: Wheel, tmp_path: Path) -> None:
    verified = check(GOOD, small_wheel, tmp_path)
    assert (verified.units, verified.framework) == (1, "PyTorch 2.13.0+cpu")


@pytest.mark.parametrize(
    ("wrong", "line", "message"),
    [
        ("self.sizes()", "self.size()", "no member named 'size' in 'at::Tensor'"),
        ("crtInit(0)", "crtInit()", "no matching function for call to 'crtInit'"),
        ("crtInit(0)", "crtStart(0)", "use of undeclared identifier 'crtStart'"),
    ],
)
def test_an_error_is_told_at_its_line(wrong: str, line: str, message: str, small_wheel: Wheel, tmp_path: Path) -> None:
    files = {**GOOD, "csrc/aten/op.cc": GOOD["csrc/aten/op.cc"].replace(wrong, line)}
    with pytest.raises(VerifyError) as error:
        check(files, small_wheel, tmp_path)
    text = error.value.render()
    assert "out/csrc/aten/op.cc:3:" in text
    assert f"clang: {message}" in text
    assert "templates/torch/csrc/op.cc.j2:3" in text


def test_headers_of_a_wheel_that_do_not_parse(make_wheel: MakeWheel, tmp_path: Path) -> None:
    broken = find_wheel(make_wheel({"ATen/core/Tensor.h": TENSOR + "namespace at { int broken = ; }\n"}), {})
    with pytest.raises(PrerequisiteError, match=r"Tensor\.h:4:29: expected expression") as error:
        check(GOOD, broken, tmp_path)
    assert "nothing was checked and nothing was written" in error.value.render()


def test_precompiled_headers_are_kept_until_one_changes(
    small_wheel: Wheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    save = clang.save
    monkeypatch.setattr(clang, "save", lambda parsed, path: made.append(path) or save(parsed, path))
    for _ in range(2):
        assert check(GOOD, small_wheel, tmp_path, tmp_path / "cache").units == 1
    assert len(made) == 1
    header = small_wheel.package / "include" / "ATen" / "core" / "Tensor.h"
    header.write_text(TENSOR.replace("sizes", "dimensions"))
    with pytest.raises(VerifyError, match="no member named 'sizes'"):
        check(GOOD, small_wheel, tmp_path, tmp_path / "cache")
    assert len(made) == 2
    (kept,) = (tmp_path / "cache").glob("*.pch")
    kept.write_bytes(b"not a precompiled header")
    header.write_text(TENSOR)
    assert check(GOOD, small_wheel, tmp_path, tmp_path / "cache").units == 1


def test_a_header_without_a_guard_is_left_to_its_unit(make_wheel: MakeWheel, tmp_path: Path) -> None:
    bare = TENSOR.replace("#pragma once\n", "")
    wheel = find_wheel(make_wheel({"ATen/core/Tensor.h": bare}), {})
    assert check(GOOD, wheel, tmp_path).units == 1
