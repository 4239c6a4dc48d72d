"""A small source tree of the framework: the contract's headers, a kernel for every op, and a few calls.

Faults are seeded into copies of its texts, so every test knows the place that must be reported.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from fl_gen.cli.main import main
from fl_gen.render.contract import render_contract
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.framework import Framework
from fl_gen.sdk.shims import tiers

KERNELS = "infini_train/src/kernels/cpu/kernels.cc"
CALLS = "infini_train/src/autograd/calls.cc"
_HEAD = """#include <memory>
#include <tuple>
#include <vector>

#include "infini_train/include/dispatcher.h"
#include "infini_train/include/scalar.h"
#include "infini_train/include/tensor.h"
#include "infini_train/src/kernels/common/gemm.h"

"""
_CALLS = """#include <memory>

#include "infini_train/include/dispatcher.h"
#include "infini_train/include/tensor.h"

namespace infini_train {
std::shared_ptr<Tensor> Calls(const std::shared_ptr<Tensor> &x, float scalar) {
    const auto device = x->GetDevice().type();
    auto kernel = Dispatcher::Instance().GetKernel({device, "AccumulateGrad"});
    kernel.Call<void>(x, 1.0f, x);
    const auto y = Dispatcher::Instance().Call<std::shared_ptr<Tensor>>({device, "ExpBackward"}, x, x);
    return Dispatcher::Instance().Call<std::shared_ptr<Tensor>>({device, "PowForward"}, y, scalar, true);
}
} // namespace infini_train
"""


class Result(NamedTuple):
    """Exit code and the two streams of one run."""

    code: int
    out: str
    err: str


def call(*arguments: str | Path) -> Result:
    """One run of `fl-gen`; an exception that gets out of `main` fails the test."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return Result(code, out.getvalue(), err.getvalue())


@cache
def infinitrain() -> Framework:
    return Catalog().framework("infinitrain")


@cache
def texts() -> Mapping[str, str]:
    """The files of the sound tree by path."""
    declared, registered = [], []
    for op in infinitrain().ops.values():
        declared.append(f"{op.returns} {op.name}({', '.join(f'{param.type} {param.name}' for param in op.params)});")
        registered.append(f"REGISTER_CPU_KERNEL({op.name})")
    macro = (
        "#define REGISTER_CPU_KERNEL(name) \\\n    REGISTER_KERNEL(Device::DeviceType::kCPU, name, kernels::cpu::name)"
    )
    lines = [
        "namespace infini_train::kernels::cpu {",
        *declared,
        "}",
        "namespace infini_train {",
        macro,
        *registered,
        "}",
    ]
    kernels = _HEAD + "\n".join(lines) + "\n"
    return {**render_contract(infinitrain().interface), KERNELS: kernels, CALLS: _CALLS}


@dataclass
class Files:
    """Texts of a tree that are changed before they are written."""

    files: dict[str, str]

    def change(self, path: str, old: str, new: str) -> None:
        """Replace the one place where `old` stands."""
        assert self.files[path].count(old) == 1, (path, old, self.files[path].count(old))
        self.files[path] = self.files[path].replace(old, new)

    def at(self, path: str, needle: str, inside: str = "") -> str:
        """`path:line:column` of `inside` in the one place where `needle` stands."""
        text = self.files[path]
        assert text.count(needle) == 1, (path, needle, text.count(needle))
        index = text.index(needle) + (needle.index(inside) if inside else 0)
        line = text.count("\n", 0, index) + 1
        return f"{path}:{line}:{index - text.rfind(chr(10), 0, index)}"

    def write(self, folder: Path) -> None:
        for path, text in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")


@pytest.fixture
def files() -> Files:
    """The sound tree, to be changed."""
    return Files(dict(texts()))


def readable() -> bool:
    """Whether this machine has what reading the framework needs."""
    folders = [folder for shims in tiers() for folder in shims.dirs]
    return any((Path(folder) / "glog" / "logging.h").is_file() for folder in folders) and any(
        (Path(folder) / "eigen3" / "Eigen" / "Dense").is_file() for folder in folders
    )


needs_headers = pytest.mark.skipif(not readable(), reason="needs the headers of glog and Eigen")
