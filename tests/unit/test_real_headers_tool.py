"""tools/real_headers.py, without a network: what it keeps of a package, and what it says when there is none to have."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "real_headers.py"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, with a folder of its own and no package index."""
    spec = importlib.util.spec_from_file_location("real_headers_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "real_headers_tool", module)
    spec.loader.exec_module(module)
    monkeypatch.setenv("FL_GEN_REAL_HEADERS", str(tmp_path / "kept"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    (tmp_path / "wheels").mkdir()
    return module


def wheel(folder: Path, version: str = "1.0") -> str:
    """A small wheel in the shape of the vendor's; its digest."""
    path = folder / f"some_runtime-{version}-py3-none-manylinux2014_x86_64.whl"
    info = f"some_runtime-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {
            "nvidia/part/include/part.h": "int f();",
            "nvidia/part/include/crt/inner.h": "",
            "nvidia/part/lib/libcudart.so.12": "small",
            "nvidia/part/lib/libbig.so.12": "big",
            "nvidia/__init__.py": "",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: some-runtime\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-manylinux2014_x86_64\n",
            f"{info}/RECORD": "",
        }.items():
            archive.writestr(name, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(module: ModuleType, *arguments: str) -> int:
    """The program's exit code."""
    sys.argv = [str(TOOL), *arguments]
    code: int = module.main()
    return code


def test_headers_are_kept_and_the_package_is_not(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tool.Wheel("some-runtime", "1.0", wheel(tmp_path / "wheels"))
    monkeypatch.setattr(tool, "RELEASES", {"some-1": (package,)})
    monkeypatch.setattr(sys, "argv", [])
    assert tool.roots("some-1") is None
    assert run(tool, "some-1") == 0
    kept = tmp_path / "kept"
    files = {path.relative_to(kept).as_posix() for path in kept.rglob("*") if path.is_file()}
    assert files == {
        "some-runtime-1.0/nvidia/part/include/part.h",
        "some-runtime-1.0/nvidia/part/include/crt/inner.h",
        "some-runtime-1.0/nvidia/part/lib/libcudart.so.12",
    }
    assert tool.roots("some-1") == (kept / "some-runtime-1.0" / "nvidia",)
    # What is there is not fetched again: the index may be gone.
    (next((tmp_path / "wheels").iterdir())).unlink()
    capsys.readouterr()
    assert run(tool) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("there", [False, True], ids=["no such package", "another digest"])
def test_a_package_that_cannot_be_had(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], there: bool
) -> None:
    if there:
        wheel(tmp_path / "wheels")
    package = tool.Wheel("some-runtime", "1.0", "0" * 64)
    monkeypatch.setattr(tool, "RELEASES", {"some-1": (package,)})
    monkeypatch.setattr(sys, "argv", [])
    assert run(tool, "some-1") == 1
    error = capsys.readouterr().err
    assert "some-1 cannot be had: some-runtime 1.0 from the Python index: exit code 1" in error
    assert ("DO NOT MATCH" if there else "No matching distribution") in error
    assert "  = check the network and the package index, then run it again (1 failed)" in error
    assert list((tmp_path / "kept").iterdir()) == []
    assert tool.roots("some-1") is None


def test_an_unknown_release_and_the_list(tmp_path: Path) -> None:
    environment = {**os.environ, "FL_GEN_REAL_HEADERS": str(tmp_path)}
    listed = subprocess.run(
        [sys.executable, TOOL, "--list"], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert [line.split()[0] for line in listed.splitlines()] == [
        "cuda-11.8",
        "cuda-12.1",
        "cuda-12.9",
        "cuda-13.5",
        "hip-5.2",
    ]
    assert "(not fetched)" in listed
    wrong = subprocess.run(
        [sys.executable, TOOL, "cuda-10"], env=environment, capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 2
    assert "unknown release cuda-10; there are cuda-11.8," in wrong.stderr
