"""Nanoseconds of a kernel call by its different ways, in a generated backend on the simulated SDK."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def measure(work: Path) -> dict[str, Any]:
    """Generate, build below `work` (kept for next time) and run. SystemExit with the output of a tool that fails."""
    tree, sdk, build = work / "tree", work / "sdk", work / "build"
    fl_gen = [sys.executable, "-m", "fl_gen"]
    _run([*fl_gen, "backend", "mlu", "--sdk", "sim", "-o", str(tree), "--overwrite"])
    _run([*fl_gen, "sim", "build", "mlu", "--out", str(sdk)])
    _run(
        [
            *(_program("cmake"), "-S", str(HERE / "native"), "-B", str(build), "-G", "Ninja"),
            *(f"-DCMAKE_MAKE_PROGRAM={_program('ninja')}", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TEST=OFF"),
            *("-DCMAKE_CXX_FLAGS_RELEASE=-O2", f"-DPython3_EXECUTABLE={sys.executable}"),
            *(f"-DBENCH_TREE={tree}", f"-DINFINITRAIN_MLU_SDK_ROOT={sdk}"),
        ]
    )
    _run([_program("cmake"), "--build", str(build), "--target", "overhead"])
    # Without delays: the test double's own time is in every number, but not its random waits.
    settings = {
        "INFINI_MLU_FALLBACK_MODE": "silent",
        "FL_SIM_DELAY_US": "0",
        "FL_SIM_DEVICES": "1",
        "FL_SIM_QUIET": "1",
    }
    told: dict[str, Any] = json.loads(_run([str(build / "overhead")], settings))
    result: dict[str, Any] = {f"{name}_ns": round(value, 1) for name, value in told.items()}
    result["router_share_of_library_call"] = round(told["router_decision"] / told["library_direct"], 4)
    result["fallback_per_copies"] = round(told["fallback"] / told["copies_in_and_out"], 2)
    return result


def _program(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise SystemExit(f"--with-native needs {name}")
    return found


def _run(command: list[str], settings: dict[str, str] | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "codegen"), **(settings or {})}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode != 0:
        raise SystemExit("\n".join((result.stdout + result.stderr).splitlines()[-40:]))
    return result.stdout
