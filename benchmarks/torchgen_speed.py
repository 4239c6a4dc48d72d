#!/usr/bin/env python3
"""fl-gen beside PyTorch's own generator, with as many ops, in one run.

    python benchmarks/torchgen_speed.py --torch-python VENV/bin/python

VENV is a virtual environment with `pip install --no-deps torch==2.13.0` and `pip install pyyaml typing_extensions`.
Both sides are whole processes from schema files to files on the disk, without formatting, taken in turn; fl-gen writes
a backend of one vendor (and of four), `python -m torchgen.gen_backend_stubs` the declarations and registrations of a
backend's ops. Processor time is what is compared: it counts child processes, and a busy machine changes it least.
Beside them stand runs of fl-gen that have caches: one with nothing to do, and one after one op of the schema changed.
Without `--torch-python` the numbers of fl-gen stand alone, and that is said.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "codegen"), str(Path(__file__).resolve().parent)]

VENDORS = ("mlu", "maca", "musa", "dcu")
MOST_RATIO, MOST_RATIO_OF_FOUR, MOST_MEGABYTES = 1.0, 2.5, 300.0
# The ops of PyTorch that a backend can register, one a line. Its generator stops at functions with several out
# arguments that return nothing, so these are left out with their other forms.
_LIST_OPS = """
import os, torchgen
from torchgen.gen import parse_native_yaml
where = os.path.join(os.path.dirname(torchgen.__file__), "packaged/ATen/native")
every = parse_native_yaml(f"{where}/native_functions.yaml", f"{where}/tags.yaml").native_functions
refused = {str(one.func.name.name.base) for one in every if len(one.func.arguments.out) > 1 and not one.func.returns}
for one in every:
    if not one.manual_kernel_registration and str(one.func.name.name.base) not in refused:
        print(one.func.name)
"""


@dataclass
class Runs:
    """Seconds and the largest memory of the runs of one command; of a process with children the largest of them."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    megabytes: float = 0.0

    def run(self, command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command[:4])} failed:\n{said[-3000:]}")
        self.wall.append(time.perf_counter() - start)
        self.cpu.append(usage.ru_utime + usage.ru_stime)
        self.megabytes = max(self.megabytes, usage.ru_maxrss / 1024)

    def told(self) -> str:
        cpu, wall = statistics.median(self.cpu), statistics.median(self.wall)
        return f"{cpu:7.2f} s of processor time, {wall:7.2f} s on the clock, {self.megabytes:4.0f} MB"


def overlay(folder: Path, wanted: int) -> Path:
    """A schema folder with which a backend has exactly `wanted` ops: copies of shipped ones under other names."""
    import yaml
    from run import plain_ops

    from fl_gen.schema.catalog import Catalog

    missing = wanted - len(Catalog().framework("infinitrain").ops)
    plain = plain_ops()
    ops = [
        {**plain[number % len(plain)], "name": f"{plain[number % len(plain)]['name']}Copy{number // len(plain)}"}
        for number in range(max(0, missing))
    ]
    target = folder / "frameworks" / "infinitrain" / "ops"
    target.mkdir(parents=True)
    for start in range(0, len(ops), len(plain)):
        name = f"copy_{start // len(plain)}"
        content = {"schema": 1, "category": name, "ops": ops[start : start + len(plain)]}
        (target / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return folder


def with_one_op_changed(schemas: Path, folder: Path) -> Path:
    """A copy of a schema folder in which one op takes fewer dtypes; the same folder when it has no ops."""
    import shutil

    import yaml

    files = sorted((schemas / "frameworks" / "infinitrain" / "ops").glob("*.yaml"))
    if not files:
        return schemas
    shutil.copytree(schemas, folder)
    path = folder / files[0].relative_to(schemas)
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    content["ops"][0]["dtypes"] = ["float32"]
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return folder


def stubs(python: str, folder: Path, wanted: int) -> tuple[Path, int]:
    """The file that names `wanted` of PyTorch's ops for its generator, and how many it does name."""
    listed = subprocess.run([python, "-c", _LIST_OPS], check=True, capture_output=True, text=True).stdout.split()
    chosen = listed[:wanted]
    path = folder / f"stubs-{wanted}.yaml"
    entries = "".join(f"- {name}\n" for name in chosen)
    path.write_text(f"backend: PrivateUse1\ncpp_namespace: torch_bench\nclass_name: Bench\nsupported:\n{entries}")
    return path, len(chosen)


def measure(wanted: int, rounds: int, torch_python: str | None, scratch: Path) -> bool:
    """Print the numbers for one count of ops; whether all aims are met that could be measured."""
    folder = scratch / str(wanted)
    folder.mkdir()
    source, count = stubs(torch_python, folder, wanted) if torch_python else (folder, wanted)
    schemas = overlay(folder / "schemas", count)
    changed = with_one_op_changed(schemas, folder / "changed")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "codegen"), "FL_GEN_CACHE_DIR": str(folder / "cache")}
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    config = "".join(f"  {vendor}: {{sdk: sim}}\n" for vendor in VENDORS)
    one, again, edited, four, other = Runs(), Runs(), Runs(), Runs(), Runs()
    for index in range(rounds):
        here = folder / f"round-{index}"
        here.mkdir()
        backend = [sys.executable, "-m", "fl_gen", "backend", "mlu", "--sdk", "sim", "--no-format", "-o", "one"]
        command = [*backend, "--schemas", str(schemas)]
        one.run([*command, "--no-cache"], environment, here)
        if torch_python:
            (here / "stubs").mkdir()
            torchgen = [torch_python, "-m", "torchgen.gen_backend_stubs", "-s", str(source), "-o", "stubs"]
            other.run(torchgen, plain, here)
        Runs().run(command, environment, here)  # what fills the caches
        again.run(command, environment, here)
        edited.run([*backend, "--schemas", str(changed)], environment, here)
        (here / "four").mkdir()
        head = f"schema: 1\ngenerator: {_version()}\nframework: infinitrain\nformatter: none\nschemas: [{schemas}]\n"
        (here / "four" / "fl-gen.yaml").write_text(f"{head}vendors:\n{config}")
        four.run([sys.executable, "-m", "fl_gen", "regen", "--no-cache"], environment, here / "four")
    print(f"{count} ops, {rounds} rounds")
    print(f"  fl-gen, one vendor, no caches     {one.told()}")
    print(f"  fl-gen, one vendor, nothing to do {again.told()}")
    print(f"  fl-gen, one vendor, one op changed{edited.told()}")
    print(f"  fl-gen, four vendors, no caches   {four.told()}")
    found = [("memory of one vendor, MB", one.megabytes, MOST_MEGABYTES)]
    found.append(("memory of four vendors, MB", four.megabytes, MOST_MEGABYTES))
    print(f"  four vendors / one vendor           {_ratio(four, one):7.2f}")
    if torch_python:
        print(f"  torchgen.gen_backend_stubs        {other.told()}")
        print(
            f"  four vendors / torchgen, clock      {statistics.median(four.wall) / statistics.median(other.wall):7.2f}"
        )
        found.append(("fl-gen, one vendor / torchgen", _ratio(one, other), MOST_RATIO))
        found.append(("fl-gen, four vendors / torchgen", _ratio(four, other), MOST_RATIO_OF_FOUR))
    else:
        print("  torchgen.gen_backend_stubs        not measured: no --torch-python")
    for what, measured, most in found:
        print(f"  {what:35} {measured:7.2f}   aim {most:6.2f}   {'met' if measured <= most else 'MISSED'}")
    return all(measured <= most for _, measured, most in found)


def _ratio(one: Runs, other: Runs) -> float:
    return statistics.median(one.cpu) / statistics.median(other.cpu)


def _version() -> str:
    from fl_gen import __version__

    return __version__


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--torch-python", help="a Python that has torchgen")
    parser.add_argument("--ops", type=int, nargs="+", default=[300, 2600], help="counts of ops (default: 300 2600)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each command (default: 3)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when an aim is missed")
    options = parser.parse_args()
    good = True
    with tempfile.TemporaryDirectory(prefix="fl-gen-bench-") as folder:
        for wanted in options.ops:
            good = measure(wanted, options.rounds, options.torch_python, Path(folder)) and good
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    return 1 if options.strict and not good else 0


if __name__ == "__main__":
    sys.exit(main())
