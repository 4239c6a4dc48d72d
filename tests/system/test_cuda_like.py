"""Backends of CUDA-shaped vendors: MUSA and GCU run their own tests on their simulated SDKs, all of them compile clean."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fl_gen.output.policy import Policy
from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.schema.catalog import Catalog
from fl_gen.workflow.generate import generate
from fl_gen.workflow.request import Request

from .building import BUILD, CACHE, ROOT, lock, missing, succeed, tool
from .shape_building import FLAGS, FRAMEWORK, HOST, Shape, build_shape, host

RUN = {"musa": "mccl", "gcu": "eccl"}
COMPILE = ("nvidia", "corex", "dcu")


@pytest.fixture(scope="module", params=RUN)
def shape(request: pytest.FixtureRequest) -> Shape:
    vendor: str = request.param
    return build_shape(vendor, programs=("test_runtime", f"test_{RUN[vendor]}"))


def test_the_runtime_passes_its_own_tests(shape: Shape) -> None:
    shape.check("test_runtime")


def test_the_collectives_pass_their_own_tests(shape: Shape) -> None:
    # Without optimisation the longest tensors take half of the time; two and three ranks have them as well.
    shape.check(f"test_{RUN[shape.vendor]}", "--gtest_filter=-*LongTensors/8", devices=8)


def test_a_group_of_several_kinds_needs_the_workaround() -> None:
    """Without it the simulated ECCL refuses what the generated test asks for, as its header says."""
    gcu = build_shape("gcu", programs=("test_runtime", "test_eccl"))
    only = "--gtest_filter=*OneThreadMakesTheCallsOfAllRanks*"
    assert "1 test" in gcu.check("test_eccl", only, devices=8)
    refused = gcu.run("test_eccl", only, devices=8, INFINI_ECCL_UNIFORM_GROUPS="0")
    assert refused.returncode != 0
    assert "ecclInvalidUsage" in refused.stderr


def test_what_musa_and_gcu_lack_is_done_by_strategies(shape: Shape) -> None:
    strategies = shape.strategies()
    assert strategies["memory.pool_peak"] == "tracked"
    if shape.vendor == "musa":
        assert strategies["memory.alloc_async"] == "sync"
        assert "stream.create_with_priority" not in strategies
    else:
        assert strategies["stream.create_with_priority"] == "plain_stream"
        assert "memory.alloc_async" not in strategies
        assert not shape.backend.has_group("blas")


def compile_only(vendor: str, sdk: tuple[str, ...], includes: Sequence[Path]) -> None:
    """Compile the sources of a fresh tree that call the SDK: all but the kernels of the host."""
    compiler, tree = tool("g++"), BUILD / "shapes" / "compiled" / ("sim" if sdk == ("sim",) else "real") / vendor
    host(compiler)
    with lock(f"compiled-{tree.parent.name}-{vendor}"):
        outcome = generate(Request(vendor=vendor, sdk=sdk, output=tree, cache=CACHE), Policy.OVERWRITE)
    backend = outcome.prepared.resolved.backend
    generated = tree / "generated" / vendor
    flags = [*FLAGS.split(), "-fsyntax-only", "-include", str(HOST / "shapes.h"), f"-I{FRAMEWORK}"]
    flags += [f"-I{HOST / 'contract'}", f"-I{generated / 'src'}", f"-I{generated / 'include'}"]
    flags += [part for folder in includes for part in ("-isystem", str(folder))]
    if backend.has_group("ccl"):
        flags.append(f"-DUSE_{backend.vendor.groups['ccl'].name.upper}")
    sources = sorted(path for path in (generated / "src").rglob("*.cc") if "kernels" not in path.parts)
    library = generated / "src" / "kernels" / "library"
    sources += sorted(library.glob("*.cc"))
    assert len(sources) > 8
    assert (library / "gemm.cc" in sources) == backend.has_group("blas")
    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda source: succeed([compiler, *flags, source]), sources):
            pass


@pytest.mark.parametrize("vendor", COMPILE)
def test_generated_code_compiles_against_the_simulated_headers(vendor: str, tmp_path: Path) -> None:
    path = Catalog().api_path(vendor)
    assert path is not None
    for name, text in render_headers(load_api(path)).items():
        target = tmp_path / "include" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    compile_only(vendor, ("sim",), [tmp_path / "include"])


def test_generated_code_compiles_against_real_headers() -> None:
    """CUDA 13, the only release whose packages put all headers into one folder each."""
    spec = importlib.util.spec_from_file_location("real_headers", ROOT / "tools" / "real_headers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    roots = module.roots("cuda-13.5")
    if roots is None:
        missing("the headers of CUDA 13.5: python tools/real_headers.py cuda-13.5")
    folders = [folder for root in roots for folder in sorted(root.glob("*/include"))]
    folders += [folder / "cccl" for folder in folders if (folder / "cccl").is_dir()]
    compile_only("nvidia", tuple(os.fspath(root) for root in roots), folders)
