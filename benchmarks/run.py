#!/usr/bin/env python3
"""Measures fl-gen against its aims and writes benchmarks/results/latest.json.

Every number that is compared with another is measured in the same run, turn by turn, so that a busy machine slows both.
`python benchmarks/run.py --help` lists the options; benchmarks/README.md says what each measurement means.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "codegen"), str(Path(__file__).resolve().parent)]

RESULTS = Path(__file__).resolve().parent / "results" / "latest.json"
FACTORS = (1, 4, 16, 64)


class Sample:
    """Seconds of several runs of one thing: on the wall clock, and of processor time with that of child processes."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []

    @contextlib.contextmanager
    def measure(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), _cpu()
        yield
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(_cpu() - cpu)

    def summary(self) -> dict[str, float]:
        return {
            "wall_median": round(statistics.median(self.wall), 4),
            "wall_least": round(min(self.wall), 4),
            "cpu_median": round(statistics.median(self.cpu), 4),
            "cpu_least": round(min(self.cpu), 4),
            "runs": len(self.wall),
        }


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def in_turn(rounds: int, **tasks: Callable[[], object]) -> dict[str, Sample]:
    """Each task `rounds` times, one after the other in each round."""
    samples = {name: Sample() for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            with samples[name].measure():
                task()
    return samples


def fl_gen(*arguments: str, cache: Path | None = None) -> None:
    """Run the command as a user does; its script if there is one."""
    script = Path(sys.executable).with_name("fl-gen")
    command = [str(script)] if script.exists() else [sys.executable, "-m", "fl_gen"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "codegen")}
    if cache is not None:
        environment["FL_GEN_CACHE_DIR"] = str(cache)
    subprocess.run([*command, *arguments], check=True, env=environment, stdout=subprocess.DEVNULL)


def measure_start(rounds: int) -> dict[str, Any]:
    """`fl-gen --version` beside a Python that does nothing."""
    samples = in_turn(
        rounds,
        python=lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
        version=lambda: fl_gen("--version"),
    )
    told: dict[str, Any] = {name: sample.summary() for name, sample in samples.items()}
    told["ratio"] = round(told["version"]["wall_median"] / told["python"]["wall_median"], 2)
    return told


def measure_backend(rounds: int, scratch: Path) -> dict[str, Any]:
    """`fl-gen backend mlu --sdk sim` as a process: caches and output empty, then caches full and output there."""
    cold, warm = Sample(), Sample()
    for index in range(rounds):
        folder = scratch / f"backend-{index}"
        arguments = ("backend", "mlu", "--sdk", "sim", "-o", str(folder / "out"))
        with cold.measure():
            fl_gen(*arguments, cache=folder / "cache")
        for _ in range(2):
            with warm.measure():
                fl_gen(*arguments, cache=folder / "cache")
        shutil.rmtree(folder)
    return {"empty_caches": cold.summary(), "warm_caches": warm.summary()}


def measure_probe(rounds: int) -> dict[str, Any]:
    """The check of all bindings beside a parse of the same headers, both inside this process and without a cache."""
    from fl_gen.sdk import clang
    from fl_gen.sdk import probe as module
    from fl_gen.sdk.shims import tiers
    from fl_gen.sdk.unit import MAIN_FILE, build
    from fl_gen.workflow.generate import resolve_request
    from fl_gen.workflow.request import Request

    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    original = module.probe

    def recording(*arguments: Any, **options: Any) -> Any:
        calls.append((arguments, options))
        return original(*arguments, **options)

    module.probe = recording
    try:
        resolve_request(Request("mlu", sdk=("sim",)))
    finally:
        module.probe = original
    (items, headers, folders), options = calls[0]
    shims = tiers()[0]
    text = build(headers, [], {}).text
    arguments = [part for folder in (*folders, *shims.dirs) for part in ("-isystem", str(folder))]
    files = {**shims.files, **options["memory"]}

    def parse() -> None:
        if clang.parse(MAIN_FILE, text, arguments, files).errors:
            raise SystemExit("the simulated SDK's headers do not parse")

    samples = in_turn(
        rounds,
        parse=parse,
        probe=lambda: original(items, headers, folders, **{**options, "cache": None}),
    )
    told: dict[str, Any] = {name: sample.summary() for name, sample in samples.items()}
    told["candidates"] = len(items)
    told["ratio"] = round(told["probe"]["cpu_median"] / told["parse"]["cpu_median"], 2)
    return told


def plain_ops() -> list[dict[str, Any]]:
    """The ops that need no generated kernel on the host, so that there can be more of them under other names."""
    import yaml

    plain = []
    for path in sorted((ROOT / "schemas" / "frameworks" / "infinitrain" / "ops").glob("*.yaml")):
        for op in yaml.safe_load(path.read_text(encoding="utf-8"))["ops"]:
            if op["strategy"] == "fallback" and op.get("cpu") == "framework" and not op.get("exact_dtypes"):
                plain.append({key: value for key, value in op.items() if key not in ("cases", "required")})
    return plain


def more_ops(folder: Path, plain: Sequence[dict[str, Any]], copies: int) -> Path:
    """A schema folder that adds `copies` of each op."""
    import yaml

    ops_folder = folder / "frameworks" / "infinitrain" / "ops"
    ops_folder.mkdir(parents=True)
    for copy in range(copies):
        ops = [{**op, "name": f"{op['name']}Copy{copy}"} for op in plain]
        content = {"schema": 1, "category": f"copy_{copy}", "ops": ops}
        (ops_folder / f"copy_{copy}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return folder


def measure_growth(rounds: int, scratch: Path) -> dict[str, Any]:
    """Schemas to text, without formatting, with ever more ops; the templates are compiled beforehand."""
    from fl_gen.render.infinitrain import render_infinitrain
    from fl_gen.schema.paths import data_dir
    from fl_gen.workflow.generate import resolve_request
    from fl_gen.workflow.request import Request

    base = len(resolve_request(Request("mlu", sdk=("sim",), cache=scratch / "growth-cache")).backend.ops)
    plain = plain_ops()
    rows = []
    for factor in FACTORS:
        overlay = more_ops(scratch / f"growth-{factor}", plain, round((factor - 1) * base / len(plain)))
        request = Request("mlu", sdk=("sim",), schema_dirs=(overlay,), cache=scratch / "growth-cache")

        def task(request: Request = request) -> int:
            backend = resolve_request(request).backend
            render_infinitrain(backend, (data_dir() / "templates",))
            return len(backend.ops)

        ops = task()
        sample = in_turn(rounds, run=task)["run"]
        rows.append({"factor": factor, "ops": ops, **sample.summary()})
    return {"rows": rows, "exponent": round(_exponent(rows), 3)}


def _exponent(rows: Sequence[dict[str, Any]]) -> float:
    """The power of the number of added ops by which the added time grows from 16x to 64x; 1 is linear."""
    first, third, last = rows[0], rows[-2], rows[-1]
    # Noise may eat a small difference whole; a millisecond keeps the logarithm defined.
    less, more = (max(row["cpu_least"] - first["cpu_least"], 0.001) for row in (third, last))
    return math.log(more / less) / math.log((last["ops"] - first["ops"]) / (third["ops"] - first["ops"]))


def aims(result: dict[str, Any]) -> list[tuple[str, float, float]]:
    """(what, measured, at most)."""
    found = [
        ("fl-gen --version / python -c pass", result["start"]["ratio"], 5.0),
        ("backend, empty caches, seconds", result["backend"]["empty_caches"]["wall_median"], 1.0),
        ("backend, warm caches, seconds", result["backend"]["warm_caches"]["wall_median"], 0.35),
        ("probe / plain parse, processor time", result["probe"]["ratio"], 2.0),
    ]
    if "growth" in result:
        found.append(("growth exponent from 16x to 64x the ops", result["growth"]["exponent"], 1.15))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=7, help="runs of each measurement (default: 7)")
    parser.add_argument("--with-native", action="store_true", help="also build a backend and measure calls of kernels")
    parser.add_argument("--no-growth", action="store_true", help="leave out the growth with the number of ops")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when an aim is missed")
    parser.add_argument("--out", type=Path, default=RESULTS, help="file for the result")
    options = parser.parse_args()
    result: dict[str, Any] = {
        "machine": {"processors": os.cpu_count(), "load": round(os.getloadavg()[0], 1), "system": platform.machine()},
        "python": platform.python_version(),
    }
    with tempfile.TemporaryDirectory(prefix="fl-gen-bench-") as folder:
        scratch = Path(folder)
        result["start"] = measure_start(2 * options.rounds)
        result["backend"] = measure_backend(options.rounds, scratch)
        result["probe"] = measure_probe(options.rounds)
        if not options.no_growth:
            result["growth"] = measure_growth(2, scratch)
    if options.with_native:
        import native_calls

        result["native"] = native_calls.measure(ROOT / "build" / "bench")
    missed = 0
    for what, measured, most in aims(result):
        good = measured <= most
        missed += not good
        print(f"{what:45} {measured:8.3f}   aim {most:5.2f}   {'met' if good else 'MISSED'}")
    if "growth" in result:
        for row in result["growth"]["rows"]:
            print(f"  {row['factor']:3d}x  {row['ops']:5d} ops  {row['cpu_least']:7.3f} s")
    for name, value in result.get("native", {}).items():
        print(f"{name:45} {value:>10}")
    print(f"load of the machine: {result['machine']['load']} on {result['machine']['processors']} processors")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
