"""The demo: generate a backend, build it on the simulated SDK and the small InfiniTrain host, train on it.

Run by `make demo`. Everything is made below build/demo and can be thrown away. Exit code 0: everything held.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {"mlu": "NEUWARE_HOME", "maca": "MACA_PATH"}


class StepFailed(Exception):
    """A step of the demo did not succeed; the text is what to show."""


class Steps:
    """Runs the steps one by one and remembers how long each took."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float, str]] = []

    def run(self, title: str, command: list[str], environment: dict[str, str] | None = None) -> str:
        """Run `command`, return its output. Raises StepFailed with the end of it."""
        print(f"-- {title}", flush=True)
        start = time.monotonic()
        result = subprocess.run(
            command, cwd=ROOT, text=True, capture_output=True, check=False, env={**os.environ, **(environment or {})}
        )
        seconds = time.monotonic() - start
        if result.returncode != 0:
            tail = "\n".join((result.stdout + result.stderr).splitlines()[-40:])
            raise StepFailed(f"{title} failed with exit code {result.returncode}: {' '.join(command)}\n{tail}")
        self.rows.append((title, seconds, ""))
        return result.stdout

    def result(self, text: str) -> None:
        """What the last step showed."""
        title, seconds, _ = self.rows[-1]
        self.rows[-1] = (title, seconds, text)


def program(name: str) -> str:
    """A program of the virtual environment that runs this script, else of the path."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise StepFailed(f"{name} is not installed")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--vendor", choices=sorted(ENVIRONMENT), default="mlu")
    vendor = parser.parse_args().vendor
    work = ROOT / "build" / "demo" / vendor
    try:
        return demo(vendor, work)
    except StepFailed as failure:
        print(failure, file=sys.stderr)
        return 1


def demo(vendor: str, work: Path) -> int:
    """Run every step for `vendor` below `work`."""
    steps = Steps()
    tree, sdk, build = work / "tree", work / "sdk", work / "build"
    command = [program("fl-gen"), "backend", vendor, "--sdk", "sim", "--output", str(tree)]
    summary = steps.run(f"fl-gen backend {vendor} --sdk sim", command)
    print("\n".join(f"   {line}" for line in summary.split("\nnext\n")[0].splitlines()))
    files = [path for path in (tree / "generated" / vendor).rglob("*") if path.is_file()]
    lines = sum(path.read_bytes().count(b"\n") for path in files)
    steps.result(f"{len(files)} files, {lines} lines")

    steps.run(f"fl-gen sim build {vendor}", [program("fl-gen"), "sim", "build", vendor, "--out", str(sdk)])
    steps.result("headers and libraries of the test double")

    steps.run(
        "configure",
        [
            *(program("cmake"), "-S", str(ROOT / "demo"), "-B", str(build), "-G", "Ninja"),
            *(f"-DCMAKE_MAKE_PROGRAM={program('ninja')}", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TEST=OFF"),
            "-DCMAKE_CXX_FLAGS_RELEASE=-O1",  # twice as quick to compile as -O3, and the model is small
            *(f"-DPython3_EXECUTABLE={sys.executable}", f"-DDEMO_BACKEND={vendor}", f"-DDEMO_TREE={tree}"),
        ],
        {ENVIRONMENT[vendor]: str(sdk)},
    )
    steps.result("on the small InfiniTrain host")
    steps.run("compile", [program("cmake"), "--build", str(build), "--target", "train_mlp"])
    steps.result("no warning under -Wall -Wextra -Werror")

    stats = work / "ops.json"
    output = steps.run(
        "train on the device",
        [str(build / "train_mlp")],
        {
            f"INFINI_{vendor.upper()}_FALLBACK_MODE": "silent",
            f"INFINI_{vendor.upper()}_FALLBACK_STATISTICS": str(stats),
        },
    )
    facts: dict[str, object] = {}
    losses: dict[str, list[float]] = {}
    for line in output.splitlines():
        record = json.loads(line)
        if "train" in record:
            losses[record["train"]] = record["loss"]
        else:
            facts.update(record)
    steps.result(f"{facts['device']}, 5 steps, loss falls")

    print()
    print("loss          " + "".join(f"step {index + 1:<7}" for index in range(5)))
    for name, values in losses.items():
        print(f"  {name:<12}" + "".join(f"{value:<12.6f}" for value in values))
    print(f"  fp32 differs from the CPU by {facts['fp32_difference']}, bf16 by {facts['bf16_difference']:.2e}")
    print(f"  all-reduce over two devices: {'right' if facts['all_reduce'] else 'WRONG'}")
    print()
    print(f"{'step':<34}{'seconds':>8}  result")
    for title, seconds, text in steps.rows:
        print(f"{title:<34}{seconds:>8.1f}  {text}")
    print()
    print("next")
    print(f"  read what was made     {os.path.relpath(tree / 'generated' / vendor, Path.cwd())}")
    print(f"  on the real SDK        fl-gen backend {vendor} --sdk /path/to/sdk")
    print(f"  a kernel of your own   fl-gen kernel new {vendor} LinearForward")
    return 0


if __name__ == "__main__":
    sys.exit(main())
