"""Packages for other vendors than mlu, and for the oldest PyTorch: compiled without a warning, linked, and maca's is run.

Each library is compiled as one unit, which costs a third of what its files cost; that each file includes what it needs is
seen where mlu is built. FL_GEN_TORTURE builds the Python extension of all of them, runs every test of maca's package, and
has `--verify` read every file of every vendor's, each by itself.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from fl_gen.workflow.generate import prepare
from fl_gen.workflow.request import Request
from system.building import CACHE, ROOT, missing, succeed, tool

from .packages import Package, failures, quick_package, read_version, torch_python

TORTURE = bool(os.environ.get("FL_GEN_TORTURE"))
# Kernels of the vendor's library, collectives with DDP and FSDP2 on two ranks, streams, memory.
CORE = (
    "test_kernels.py",
    "test_distributed.py::test_collectives_ddp_and_fsdp[2]",
    "test_memory.py",
    "test_streams.py",
)
OLDEST = "2.6.0"
VENDORS = sorted(path.parent.name for path in (ROOT / "schemas/vendors").glob("*/api.yaml"))
# What only PyTorch for one vendor has: a package that uses it would not compile for the others.
FOREIGN = re.compile(r"#include [<\"](?:c10/(?:cuda|hip|xpu)|ATen/(?:cuda|hip|xpu|mps))/")


@pytest.fixture(scope="module")
def maca() -> Package:
    return quick_package("maca")


def _oldest_torch() -> Path:
    """The folder of the oldest PyTorch, which is unpacked and not installed. Skips the test without one."""
    named = os.environ.get("FL_GEN_TORCH_26")
    folder = Path(named) if named else ROOT / "build" / "torch" / OLDEST
    if not named and not (folder / ".complete").is_file():
        missing(f"PyTorch {OLDEST}: tools/setup.sh test unpacks it, or name a folder that holds it in FL_GEN_TORCH_26")
    torch = folder / "torch" if (folder / "torch").is_dir() else folder
    assert read_version(torch) == OLDEST, f"{torch} is not PyTorch {OLDEST}"
    return torch


def _library(package: Package) -> Path:
    return package.path / f"torch_{package.vendor}" / "lib" / f"libtorch_{package.vendor}.so"


def _dynamic_section(library: Path) -> str:
    return succeed([tool("readelf"), "-d", "-W", library])


def _run(package: Package, names: tuple[str, ...], folder: Path) -> str:
    """The output of pytest for these generated tests, which pass."""
    files = [f"{package.tests}/{name}" for name in names]
    result = package.run(
        *("-m", "pytest", "-q", "-rfEs", "-p", "no:cacheprovider", "--rootdir", package.tests, *files),
        cwd=folder,
        timeout=1800,
    )
    assert result.returncode == 0, "\n".join(failures(result.stdout)) + result.stdout[-6000:] + result.stderr[-2000:]
    return result.stdout


def test_core_tests_of_maca_pass(maca: Package, tmp_path: Path) -> None:
    names = tuple(path.name for path in sorted(maca.tests.glob("test_*.py"))) if TORTURE else CORE
    assert " passed" in _run(maca, names, tmp_path)


def test_mcblas_multiplies_matrices_of_maca(maca: Package, tmp_path: Path) -> None:
    """The statistics name the library, for what it has a dtype, and the fallback for the others."""
    code = """
import torch, torch_maca
torch_maca.enable_op_stats()
a = torch.arange(12.0).reshape(3, 4)
for dtype in (torch.float32, torch.float64):
    x = a.to(dtype)
    assert torch.equal((x.to("maca") @ x.to("maca").t()).cpu(), x @ x.t())
print(*sorted((s.op, s.strategy, s.calls) for s in torch_maca.get_op_stats() if s.op == "aten::mm"))
"""
    result = maca.run("-c", code, cwd=tmp_path)
    assert result.stdout.strip() == "('aten::mm', 'fallback', 1) ('aten::mm', 'library', 1)", result.stderr


@pytest.mark.parametrize(("switch", "one"), [("1", True), ("0", False)])
def test_copies_of_maca_go_one_by_one_where_the_workaround_is_on(
    maca: Package, switch: str, one: bool, tmp_path: Path
) -> None:
    """Counted in front of the SDK's own function, in which each copy of four threads takes 2 ms."""
    probe, source = tmp_path / "copies_at_once.so", Path(__file__).with_name("copies_at_once.cc")
    succeed([tool("g++"), "-std=c++20", "-shared", "-fPIC", "-o", probe, source, "-ldl"])
    code = """
import threading, torch, torch_maca
def copy(number):
    host = torch.full((1000,), float(number))
    for _ in range(20):
        assert torch.equal(host.to("maca").cpu(), host)
torch.ones(1, device="maca")
threads = [threading.Thread(target=copy, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    runtime = next(maca.sdk.glob("lib*/libmcruntime.so"))
    variables = {"LD_PRELOAD": f"{probe}:{runtime}", "INFINI_MACA_MULTITHREAD_WORKAROUNDS": switch}
    result = maca.run("-c", code, cwd=tmp_path, **variables)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr, result.stderr
    told = re.findall(r"^copies at once: (\d+)$", result.stderr, re.MULTILINE)
    assert len(told) == 1, result.stderr
    assert (int(told[0]) == 1) == one, told


def test_maca_needs_only_its_own_libraries(maca: Package) -> None:
    needed = set(re.findall(r"\(NEEDED\).*\[lib(.+?)\.so", _dynamic_section(_library(maca))))
    assert {"mcruntime", "mcblas", "mccl", "torch_cpu", "c10"} <= needed
    assert not {name for name in needed if name.startswith(("cn", "cuda", "torch_python"))}


def test_nvidia_compiles_and_links() -> None:
    """Its names are those that PyTorch for CUDA uses itself, and must not meet the headers of the wheel."""
    built = quick_package("nvidia", extension=TORTURE)
    assert {"cudart", "cublas", "nccl"} <= set(
        re.findall(r"\(NEEDED\).*\[lib(.+?)\.so", _dynamic_section(_library(built)))
    )


@pytest.mark.skipif(
    not TORTURE, reason="a minute of a processor for each vendor: for the long campaigns, FL_GEN_TORTURE=1"
)
@pytest.mark.parametrize("vendor", VENDORS)
def test_every_file_of_a_vendors_package_is_verified(vendor: str, tmp_path: Path) -> None:
    """libclang finds everything that each includes, names and calls, in the SDK's headers and in the wheel's."""
    request = Request(
        vendor=vendor,
        sdk=("sim",),
        output=tmp_path,
        cache=CACHE,
        framework="torch",
        torch=torch_python()[1],
        verify=True,
    )
    prepared = prepare(request)
    assert prepared.verified is not None
    assert prepared.verified.units == sum(path.endswith(".cc") for path in prepared.files)
    assert prepared.verified.skipped == ()


@pytest.mark.parametrize("vendor", VENDORS)
def test_no_package_includes_headers_of_one_vendors_pytorch(vendor: str) -> None:
    sources = list((ROOT / "generated" / f"torch_{vendor}" / "csrc").rglob("*.[ch]*"))
    assert len(sources) > 40
    found = [
        f"{path.name}:{number}: {line}"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if FOREIGN.match(line)
    ]
    assert found == []


def test_the_oldest_pytorch_compiles_and_links() -> None:
    """Every symbol is found, in PyTorch's libraries or the SDK's; those that PyTorch's need need not be there."""
    built = quick_package("mlu", torch=_oldest_torch(), extension=TORTURE)
    needed = set(re.findall(r"\(NEEDED\).*\[lib(.+?)\.so", _dynamic_section(_library(built))))
    assert {"torch_cpu", "c10", "cnrt", "cnnl", "cncl"} <= needed
    # In 2.6 there is no c10::DeviceAllocator: that it is absent was seen in the headers, and not in the number.
    source = (built.tree / "csrc" / "runtime" / "device_allocator.cc").read_text(encoding="utf-8")
    assert "c10::DeviceAllocator" not in source
