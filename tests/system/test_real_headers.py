"""The check and generated code against headers that vendors really ship: four releases of CUDA, two of cuBLAS and NCCL, HIP.

`tools/real_headers.py` fetches them; without them the tests are skipped, where CI is set they fail. Nothing is run: what is
proved is that every call that the backend makes exists there, with the types that it is given.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from fl_gen.render.contract import render_contract
from fl_gen.schema.catalog import Catalog
from fl_gen.sdk.find import find_sdk
from fl_gen.sdk.headers import read_sdk
from fl_gen.sdk.model import Sdk
from fl_gen.tasks.sdk_check import check_sdk
from fl_gen.tasks.sdk_values import OperationCheck, SdkCheck
from fl_gen.workflow.request import Request

from .building import BUILD, ROOT, missing, run, tool

CUDA = ("cuda-11.8", "cuda-12.1", "cuda-12.9", "cuda-13.5")
HIP = "hip-5.2"
WITH_CUBLAS = ("cuda-12.1", "cuda-13.5")
# Every release is read by one compiler, HIP by both; in the long campaigns all are read by both.
ALL = (*CUDA, HIP)
VERIFIED = ALL if os.environ.get("FL_GEN_TORTURE") else ("cuda-13.5", HIP)
COMPILED = ALL if os.environ.get("FL_GEN_TORTURE") else ("cuda-11.8", "cuda-12.1", "cuda-12.9", HIP)
# Only these do without a call: there is no such call, or another one does more.
BY_STRATEGY = {"device.init", "stream.synchronize_default", "library.cast", "ccl.comm_init_ranks"}
# What of a tree includes the SDK's headers; kernels that run on the host see the framework alone.
OF_THE_SDK = ("src/runtime/*.cc", "src/common/*.cc", "src/ccl/*.cc", "src/kernels/library/*.cc")


@functools.cache
def fetcher() -> ModuleType:
    """tools/real_headers.py, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("real_headers", ROOT / "tools" / "real_headers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["real_headers"] = module
    spec.loader.exec_module(module)
    return module


def vendor_of(release: str) -> str:
    return "dcu" if release == HIP else "nvidia"


@functools.cache
def roots(release: str) -> tuple[str, ...]:
    """What to give with --sdk for a release."""
    found = fetcher().roots(release)
    if found is None:
        missing(f"the headers of {release}: run tools/real_headers.py")
    return tuple(str(path) for path in found)


def sdk_options(release: str) -> list[str]:
    return [text for root in roots(release) for text in ("--sdk", root)]


@functools.cache
def checked(release: str) -> SdkCheck:
    return check_sdk(Request(vendor=vendor_of(release), sdk=roots(release)))


@functools.cache
def model(release: str) -> Sdk:
    """What the runtime's header of a release of CUDA declares."""
    found = find_sdk(Catalog().vendor("nvidia"), roots(release), {})
    return read_sdk(["cuda_runtime_api.h"], found.include_dirs)


def operation(check: SdkCheck, name: str) -> OperationCheck:
    return next(one for one in check.operations if one.name == name)


def states(check: SdkCheck) -> dict[str, set[str]]:
    """The names of the operations in each state."""
    found: dict[str, set[str]] = {}
    for one in check.operations:
        found.setdefault(one.state, set()).add(one.name)
    return found


@pytest.mark.parametrize("release", CUDA)
def test_every_operation_binds_on_cuda(release: str) -> None:
    check = checked(release)
    assert check.sdk.version == release.removeprefix("cuda-")
    assert check.lost == ()
    found = states(check)
    assert found["strategy"] <= BY_STRATEGY
    absent = {one.name for one in check.operations if one.group == "blas"} if release not in WITH_CUBLAS else set()
    assert found.get("absent", set()) == absent
    assert set(found) <= {"bound", "strategy", "absent"}
    assert {group.key: group.present for group in check.groups} == {
        "runtime": True,
        "blas": release in WITH_CUBLAS,
        "ccl": True,
    }
    assert all(one.chosen is None or one.chosen.certainty == "certain" for one in check.operations)
    # A value that the vendor file gives no name for is left out; a name that it gives is there.
    assert {fact.name for fact in check.facts if fact.rejected and fact.state != "bound"} == set()
    assert {fact.kind for fact in check.facts if fact.state == "bound"} == {"type", "status", "constant"}
    assert all(
        fact.state == "bound" for fact in check.facts if fact.kind == "type" and fact.group in ("runtime", "ccl")
    )


@pytest.mark.parametrize("release", CUDA)
def test_the_runtime_library_is_found_beside_the_headers(release: str) -> None:
    libraries = checked(release).sdk.libraries
    path = libraries["cudart"]
    assert path is not None
    assert Path(path).name.startswith("libcudart.so")
    assert libraries["nccl"] is None


def test_one_folder_with_all_packages(tmp_path: Path) -> None:
    """As `pip install` lays them out: one --sdk for the folder nvidia of site-packages sees every part."""
    nvidia = tmp_path / "site-packages" / "nvidia"
    nvidia.mkdir(parents=True)
    for root in roots("cuda-12.1"):
        for part in Path(root).iterdir():
            (nvidia / part.name).symlink_to(part)
    check = check_sdk(Request(vendor="nvidia", sdk=(str(nvidia),)))
    apart = checked("cuda-12.1")
    assert (check.sdk.version, check.coverage, check.groups) == ("12.1", apart.coverage, apart.groups)
    assert [(one.name, one.state) for one in check.operations] == [(one.name, one.state) for one in apart.operations]
    # The folder above it is too high, and the message says where to point.
    result = run(["fl-gen", "sdk", "check", "nvidia", "--sdk", nvidia.parent])
    assert result.returncode == 2
    assert "cuda_runtime_api.h" in result.stderr


def test_the_header_with_overloads_for_cxx() -> None:
    """CoreX includes cuda_runtime.h, which adds C++ overloads to the C API, and gives a GEMM its compute type as CUDA 10 did:
    NVIDIA's own headers take both. Nobody claims that these are CoreX's headers."""
    folders = [str(part) for root in roots("cuda-12.1") for part in Path(root).iterdir() if (part / "include").is_dir()]
    check = check_sdk(Request(vendor="corex", sdk=tuple(folders)))
    assert check.lost == ()
    assert states(check)["strategy"] <= BY_STRATEGY | {"ccl.last_error"}
    assert states(check)["left_out"] == {"ccl.version"}
    assert all(one.chosen is None or one.chosen.certainty == "inferred" for one in check.operations)


def test_hip_binds_without_its_libraries() -> None:
    check = checked(HIP)
    assert check.sdk.version == "5.2.21153"
    assert [group.key for group in check.groups if group.present] == ["runtime"]
    assert check.lost == ()
    bound = states(check)["bound"]
    assert {"memory.alloc_async", "memory.alloc_host", "memory.pool_peak", "stream.launch_host_func"} <= bound
    assert {one for one in states(check)["absent"] if not one.startswith(("blas.", "library.", "ccl."))} == set()
    assert check.sdk.libraries == {"galaxyhip": None}
    shown = run(["fl-gen", "sdk", "check", "dcu", *sdk_options(HIP)]).stdout
    assert re.search(r"blas +hipBLAS +optional +left out: no hipblas/hipblas.h", shown)
    assert re.search(r"ccl +RCCL +optional +left out: no rccl.h", shown)


def test_hip_needs_its_platform_named(tmp_path: Path) -> None:
    """The data says which macro that is; without it the headers give no verdict."""
    folder = tmp_path / "vendors" / "dcu"
    folder.mkdir(parents=True)
    text = (ROOT / "schemas" / "vendors" / "dcu" / "vendor.yaml").read_text(encoding="utf-8")
    assert "  defines: [__HIP_PLATFORM_AMD__]\n" in text
    (folder / "vendor.yaml").write_text(text.replace("  defines: [__HIP_PLATFORM_AMD__]\n", ""), encoding="utf-8")
    result = run(["fl-gen", "sdk", "check", "dcu", "--schemas", tmp_path, *sdk_options(HIP)])
    assert result.returncode == 2
    assert "Must define exactly one of __HIP_PLATFORM_AMD__ or __HIP_PLATFORM_NVIDIA__" in result.stderr


def test_what_differs_between_the_releases_of_cuda() -> None:
    functions = {release: set(model(release).functions) for release in CUDA}
    properties = [next(n for n in functions[r] if n.startswith("cudaGetDeviceProperties")) for r in CUDA]
    # A macro leads to the second version in 12; 13 drops the first and takes its name.
    assert properties == ["cudaGetDeviceProperties", *["cudaGetDeviceProperties_v2"] * 2, "cudaGetDeviceProperties"]
    assert ["cudaEventElapsedTime_v2" in functions[release] for release in CUDA] == [False, False, True, False]
    assert all("cudaEventElapsedTime" in functions[release] for release in CUDA)
    assert ["cudaInitDevice" in functions[release] for release in CUDA] == [False, True, True, True]
    signatures = [len(model(release).functions["cudaGraphInstantiate"].params) for release in CUDA]
    assert signatures == [5, 3, 3, 3]
    for release in CUDA:
        name, elapsed = (operation(checked(release), one) for one in ("device.name", "event.elapsed_time"))
        assert name.chosen is not None
        assert elapsed.chosen is not None
        used = [use.name for use in name.chosen.declarations if "GetDeviceProperties" in use.name]
        assert used == ["cudaGetDeviceProperties", *(["cudaGetDeviceProperties_v2"] if "-12" in release else [])]
        assert [use.name for use in elapsed.chosen.declarations] == ["cudaEventElapsedTime"]


def test_a_deprecated_call_is_told_and_comes_last(tmp_path: Path) -> None:
    """HIP 5.2 marks hipMallocHost as deprecated; so it is used only where there is nothing else."""
    folder = tmp_path / "vendors" / "dcu"
    folder.mkdir(parents=True)
    data = yaml.safe_load((ROOT / "schemas" / "vendors" / "dcu" / "vendor.yaml").read_text(encoding="utf-8"))
    old = {"expr": "hipMallocHost(ptr, size)", "source": "a test"}

    def offer(candidates: list[dict[str, str]]) -> None:
        data["bindings"]["memory.alloc_host"] = candidates
        (folder / "vendor.yaml").write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")

    offer([old, *data["bindings"]["memory.alloc_host"]])
    request = Request(vendor="dcu", sdk=roots(HIP), schema_dirs=(tmp_path,))
    both = operation(check_sdk(request), "memory.alloc_host")
    assert both.chosen is not None
    assert (both.chosen.index, both.chosen.deprecated) == (1, None)
    offer([old])
    alone = operation(check_sdk(request), "memory.alloc_host")
    assert alone.chosen is not None
    assert alone.chosen.deprecated == "'hipMallocHost' is deprecated: use hipHostMalloc instead"
    shown = run(["fl-gen", "sdk", "check", "dcu", "--schemas", tmp_path, *sdk_options(HIP)]).stdout
    assert "deprecated" in shown


@pytest.mark.parametrize("release", VERIFIED)
def test_generated_code_parses_against_the_headers(release: str, tmp_path: Path) -> None:
    vendor = vendor_of(release)
    result = run(["fl-gen", "backend", vendor, *sdk_options(release), "--verify", "--output", tmp_path])
    assert result.returncode == 0, result.stderr[-4000:]
    assert re.search(r"verified [0-9]{2} C\+\+ files against the SDK", result.stdout)
    written = (tmp_path / "generated" / vendor / "manifest.json").read_text(encoding="utf-8")
    assert str(fetcher().folder()) not in written


@pytest.mark.parametrize("release", COMPILED)
def test_generated_code_compiles_with_gcc(release: str, tmp_path: Path) -> None:
    compiler, vendor = tool("g++"), vendor_of(release)
    catalog = Catalog()
    sdk = find_sdk(catalog.vendor(vendor), roots(release), {})
    result = run(["fl-gen", "backend", vendor, *sdk_options(release), "--output", tmp_path])
    assert result.returncode == 0, result.stderr[-4000:]
    tree = tmp_path / "generated" / vendor
    contract = BUILD / "contract"
    for path, text in render_contract(catalog.framework("infinitrain").interface).items():
        target = contract / path
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-DUSE_NCCL=1"]
    command += [f"-I{folder}" for folder in (contract, tree / "src", tree / "include", tree)]
    command += [text for folder in sdk.include_dirs for text in ("-isystem", folder)]
    units = [unit for pattern in OF_THE_SDK for unit in sorted(tree.glob(pattern))]
    assert len(units) >= (7 if release == HIP else 10)

    def compiled(unit: Path) -> subprocess.CompletedProcess[str]:
        return run([*command, unit])

    with ThreadPoolExecutor(2 if os.cpu_count() != 1 else 1) as pool:
        for unit, outcome in zip(units, pool.map(compiled, units), strict=True):
            assert outcome.returncode == 0, f"{unit.name}\n{outcome.stderr[-4000:]}"
