"""What a generated PyTorch package costs: memory from its caching allocator, and calls of operators, as ratios.

    python benchmarks/torch_overhead.py BUILD [--package torch_mlu --device mlu]

BUILD is the build folder of the package, configured with -DTORCH_MLU_TESTS=ON. With --package the operators are
measured too (see torch_operators.py), in a Python that has PyTorch and the package. Everything is measured in one run:
on a busy machine both sides of a ratio suffer.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any


def allocator(build: Path) -> dict[str, Any]:
    """The allocator's times and ratios. SystemExit with the output of the program if it fails."""
    program = build / "tests" / "allocator_benchmark"
    if not program.exists():
        raise SystemExit(f"{program} is not there: configure the package with -DTORCH_<VENDOR>_TESTS=ON and build it")
    # A simulated SDK's random delays are not what is measured.
    settings = {"FL_SIM_DELAY_US": "0", "FL_SIM_QUIET": "1"}
    result = subprocess.run([str(program)], capture_output=True, text=True, check=False, env={**os.environ, **settings})
    if result.returncode != 0:
        raise SystemExit(result.stdout + result.stderr)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def operators(package: str, device: str) -> dict[str, Any]:
    """The operators' times and ratios, in this process."""
    from torch_operators import measure

    return dict(measure(importlib.import_module(package), device))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="build folder of the package")
    parser.add_argument("--package", help="module of the package: measures operators too")
    parser.add_argument("--device", help="what PyTorch calls its devices; default: the package without torch_")
    arguments = parser.parse_args()
    report: dict[str, Any] = {"load": round(os.getloadavg()[0], 2), "allocator": allocator(arguments.build)}
    if arguments.package is not None:
        device = arguments.device or arguments.package.removeprefix("torch_")
        report["operators"] = operators(arguments.package, device)
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
