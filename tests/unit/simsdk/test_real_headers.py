"""What the simulated SDKs of NVIDIA and DCU declare, against the headers that CUDA, NCCL, cuBLAS and HIP really ship.

Those are fetched by tools/real_headers.py; without them the tests are skipped, and fail where CI is set.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from fl_gen.render.simheaders import render_headers
from fl_gen.sdk.headers import read_sdk
from fl_gen.sdk.model import Function, Sdk

from .conftest import api_of

ROOT = Path(__file__).resolve().parents[3]
MEMORY = "/simulated/include"


@dataclass(frozen=True)
class Release:
    """A real release, the vendor and version that simulate it, the headers to read, and how much must be compared."""

    vendor: str
    version: str
    headers: tuple[str, ...]
    functions: int
    enumerators: int
    defines: str = ""


RELEASES = {
    "cuda-11.8": Release("nvidia", "11.8", ("cuda_runtime.h", "nccl.h"), 95, 200),
    "cuda-12.1": Release("nvidia", "12.1", ("cuda_runtime.h", "cublas_v2.h", "nccl.h"), 110, 240),
    "cuda-12.9": Release("nvidia", "12.9", ("cuda_runtime.h", "nccl.h"), 95, 210),
    "cuda-13.5": Release("nvidia", "13.5", ("cuda_runtime.h", "cublas_v2.h", "nccl.h"), 110, 260),
    "hip-5.2": Release("dcu", "25.04.4", ("hip/hip_runtime_api.h",), 40, 90, "#define __HIP_PLATFORM_AMD__ 1\n"),
}


def _tool() -> ModuleType:
    path = ROOT / "tools" / "real_headers.py"
    spec = importlib.util.spec_from_file_location("real_headers", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def _folders(name: str) -> list[Path]:
    """The include folders of a release, or the end of the test."""
    roots = _tool().roots(name)
    if roots is None:
        message = f"needs the headers of {name}: python tools/real_headers.py {name}"
        if os.environ.get("CI"):
            pytest.fail(message, pytrace=False)
        pytest.skip(message)
    found = [folder for root in roots for pattern in ("include", "*/include") for folder in sorted(root.glob(pattern))]
    return [*found, *(folder / "cccl" for folder in found if (folder / "cccl").is_dir())]


@dataclass(frozen=True)
class Pair:
    """The model of a real release, and that of the simulated one."""

    release: Release
    real: Sdk
    simulated: Sdk


@pytest.fixture(scope="module", params=RELEASES)
def pair(request: pytest.FixtureRequest) -> Pair:
    name: str = request.param
    release = RELEASES[name]
    folders = _folders(name)
    wrapper = release.defines + "".join(f"#include <{header}>\n" for header in release.headers)
    real = read_sdk(["all.h"], [*folders, "/wrapper"], memory={"/wrapper/all.h": wrapper})
    headers = render_headers(api_of(release.vendor), release.version)
    memory = {f"{MEMORY}/{path}": text for path, text in headers.items()}
    return Pair(release, real, read_sdk(list(release.headers), [MEMORY], memory=memory))


def forms(function: Function) -> set[tuple[str, ...]]:
    return {function.canonical, *(other.canonical for other in function.overloads)}


def test_every_function_is_real_and_has_the_real_types(pair: Pair) -> None:
    wrong = []
    for name, function in pair.simulated.functions.items():
        real = pair.real.functions.get(name)
        if real is None:
            wrong.append(f"{name}: not in the real headers")
        elif not forms(function) <= forms(real):
            wrong.append(f"{name}: {sorted(forms(function) - forms(real))} is not in {sorted(forms(real))}")
    assert wrong == []
    assert len(pair.simulated.functions) >= pair.release.functions


def test_every_enumerator_has_the_real_number(pair: Pair) -> None:
    real = pair.real.enumerators
    wrong = {
        name: (entry.value, real[name].value if name in real else None)
        for name, entry in pair.simulated.enumerators.items()
        if name not in real or real[name].value != entry.value
    }
    assert wrong == {}
    assert len(pair.simulated.enumerators) >= pair.release.enumerators


def test_enumerators_that_a_release_lacks_are_not_simulated_for_it(pair: Pair) -> None:
    """Of an enum that is written out in full, every real enumerator is there as well."""
    full = {"cudaError", "cudaMemcpyKind", "cudaMemPoolAttr", "cublasComputeType_t", "hipError_t", "hipMemoryType"}
    checked = 0
    for name in full & set(pair.simulated.enums) & set(pair.real.enums):
        expected = {value.name for value in pair.real.enums[name].values}
        assert {value.name for value in pair.simulated.enums[name].values} == expected, name
        checked += 1
    assert checked >= 2


def test_types_are_the_real_ones(pair: Pair) -> None:
    wrong = {
        name: (typedef.canonical, pair.real.typedefs[name].canonical)
        for name, typedef in pair.simulated.typedefs.items()
        if name in pair.real.typedefs and pair.real.typedefs[name].canonical != typedef.canonical
    }
    assert wrong == {}
    handles = [
        name for name in pair.simulated.typedefs if name.endswith(("Stream_t", "Event_t", "MemPool_t", "HostFn_t"))
    ]
    assert [name for name in handles if name not in pair.real.typedefs] == []
    assert len(handles) == 4


def test_members_have_the_real_types_and_order(pair: Pair) -> None:
    checked = 0
    for name, record in pair.simulated.records.items():
        real = pair.real.records.get(name)
        if real is None or not record.fields:
            continue
        order = [(field.name, field.canonical) for field in real.fields]
        mine = [(field.name, field.canonical) for field in record.fields]
        assert [member for member in order if member in mine] == mine, name
        checked += 1
    assert checked >= 2


def test_macros_have_the_real_numbers(pair: Pair) -> None:
    wrong = {}
    compared = 0
    for name, macro in pair.simulated.macros.items():
        if not isinstance(macro.value, int):
            continue
        real = pair.real.macros.get(name)
        compared += 1
        if real is None or real.value != macro.value:
            wrong[name] = (macro.value, real and real.value)
    assert wrong == {}
    assert compared >= 8
