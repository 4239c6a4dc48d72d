"""`pip install .` into a clean environment, used from another folder, without the checkout."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .building import ROOT, environment, lock, missing, run, succeed
from .command import fl_gen, snapshot

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packaging")]


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean environment with the wheel of this checkout and nothing else that was asked for."""
    folder = tmp_path_factory.mktemp("package")
    with lock("packaging"):
        succeed([sys.executable, "-m", "venv", folder / "venv"])
        python = folder / "venv" / "bin" / "python"
        result = run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ROOT], timeout=600)
    if result.returncode != 0:
        if "No matching distribution" in result.stderr or "connection" in result.stderr.lower():
            missing("a package index")
        pytest.fail(result.stderr[-3000:], pytrace=False)
    return folder / "venv"


def _clean_environment(venv: Path) -> dict[str, str]:
    """Nothing that leads back to the checkout."""
    env = environment(PATH=f"{venv / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        env.pop(name, None)
    return env


@pytest.mark.parametrize("vendor", ["mlu", "maca"])
def test_an_installed_fl_gen_makes_the_same_bytes(venv: Path, vendor: str, tmp_path: Path) -> None:
    env = _clean_environment(venv)
    result = run([venv / "bin" / "fl-gen", "backend", vendor, "--sdk", "sim"], cwd=tmp_path, env=env)
    assert result.returncode == 0, result.stderr
    assert str(ROOT) not in result.stdout
    expected = tmp_path / "of-the-checkout"
    made = snapshot(tmp_path)
    assert fl_gen("backend", vendor, "--sdk", "sim", "-o", expected, cwd=ROOT).returncode == 0
    assert made == snapshot(expected)


def test_the_package_holds_what_it_needs_and_nothing_of_the_tests(venv: Path, tmp_path: Path) -> None:
    env = _clean_environment(venv)
    where = "import fl_gen, pathlib; print(pathlib.Path(fl_gen.__file__).parent)"
    package = Path(succeed([venv / "bin" / "python", "-c", where], cwd=tmp_path, env=env).strip())
    assert package.is_relative_to(venv)
    data = package / "_data"
    for path in (
        "schemas/runtime.yaml",
        "templates/infinitrain/CMakeLists.txt.j2",
        "simulator/include/fl_sim/engine.h",
        "cmake/FlGen.cmake",
    ):
        assert (data / path).is_file(), path
    assert (package / "py.typed").is_file()
    shipped = succeed([venv / "bin" / "python", "-m", "pip", "show", "--files", "fl-gen"], cwd=tmp_path, env=env)
    assert "tests/hosts" not in shipped
    metadata = "import importlib.metadata as m; print(m.metadata('fl-gen')['License-Expression'])"
    assert succeed([venv / "bin" / "python", "-c", metadata], cwd=tmp_path, env=env).strip() == "Apache-2.0"


def test_the_installed_package_builds_the_simulated_sdk(venv: Path, tmp_path: Path) -> None:
    env = _clean_environment(venv)
    result = run([venv / "bin" / "fl-gen", "sim", "build", "mlu", "--out", "sdk"], cwd=tmp_path, env=env, timeout=600)
    assert result.returncode == 0, result.stderr
    assert sorted(path.name for path in (tmp_path / "sdk" / "lib64").glob("*.so")) == [
        "libcncl.so",
        "libcnnl.so",
        "libcnrt.so",
    ]


def test_version_costs_at_most_five_times_an_empty_python(venv: Path, tmp_path: Path) -> None:
    env = _clean_environment(venv)

    def seconds(command: list[str | Path]) -> float:
        start = time.perf_counter()
        subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True)
        return time.perf_counter() - start

    def measure() -> float:
        # One after the other, so that both meet the same load.
        pairs = [
            (seconds([venv / "bin" / "fl-gen", "--version"]), seconds([venv / "bin" / "python", "-c", "pass"]))
            for _ in range(9)
        ]
        return statistics.median(version / empty for version, empty in pairs)

    ratios = [measure()]
    while ratios[-1] > 5 and len(ratios) < 3:
        ratios.append(measure())
    assert min(ratios) <= 5, (
        f"fl-gen --version takes {', '.join(f'{ratio:.1f}' for ratio in ratios)} times python -c pass"
    )


def test_the_source_archive_is_complete(venv: Path, tmp_path: Path) -> None:
    """A wheel built from the sdist is the wheel built from the checkout, and the sdist by itself makes the same bytes."""
    env = _clean_environment(venv)
    python = venv / "bin" / "python"
    result = run([python, "-m", "pip", "install", "--quiet", "hatchling>=1.26"], env=env, timeout=600)
    if result.returncode != 0:
        missing("a package index")
    succeed([python, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path / "dist"], cwd=ROOT, env=env)
    archive = next((tmp_path / "dist").glob("fl_gen-*.tar.gz"))
    succeed(["tar", "-xzf", archive, "-C", tmp_path])
    unpacked = next(path for path in tmp_path.iterdir() if path.name.startswith("fl_gen-"))
    succeed([python, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "from-sdist"], cwd=unpacked, env=env)
    succeed([python, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "from-checkout"], cwd=ROOT, env=env)
    names = [
        succeed([python, "-m", "zipfile", "-l", next((tmp_path / folder).glob("*.whl"))])
        for folder in ("from-sdist", "from-checkout")
    ]
    listed = [sorted(line.split()[0] for line in text.splitlines()[1:]) for text in names]
    assert listed[0] == listed[1]
    unpacked_run = {**env, "PYTHONPATH": str(unpacked / "codegen")}
    command = [sys.executable, "-m", "fl_gen", "backend", "mlu", "--sdk", "sim", "-o"]
    succeed([*command, tmp_path / "of-the-sdist"], cwd=tmp_path, env=unpacked_run)
    assert fl_gen("backend", "mlu", "--sdk", "sim", "-o", tmp_path / "of-the-checkout", cwd=ROOT).returncode == 0
    assert snapshot(tmp_path / "of-the-sdist") == snapshot(tmp_path / "of-the-checkout")
