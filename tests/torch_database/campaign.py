"""Runs a database in child processes, two at a time, and survives the crash of one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
_CRASHES = 20


@dataclass(frozen=True)
class Result:
    """One operator (or module, or optimizer) and dtype: what differs, by kind; nothing if it is equal."""

    name: str
    dtype: str
    samples: int
    problems: Mapping[str, str]

    @property
    def equal(self) -> bool:
        """Strides are a matter of layout, told apart and not counted: the values are those of the CPU."""
        return not [kind for kind in self.problems if not kind.endswith("strides")]


@dataclass(frozen=True)
class Run:
    """A database run on a device: the module that runs it, its arguments, and the environment of the child processes."""

    python: str
    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    timeout: float


def run_parts(run: Run, parts: int) -> list[Result]:
    """The results of every part; parts run side by side."""
    with ThreadPoolExecutor(parts) as pool:
        found = list(pool.map(lambda part: _run_part(run, part, parts), range(parts)))
    return [result for results in found for result in results]


def _run_part(run: Run, part: int, parts: int) -> list[Result]:
    """One part; after a crash the rest of it goes on in a new process."""
    path = run.folder / f"part-{part}.jsonl"
    path.touch()
    crashes: dict[tuple[str, str], str] = {}
    for _ in range(_CRASHES):
        command = [run.python, "-m", run.module, *run.arguments, "--results", str(path)]
        if parts > 1:
            command += ["--part", f"{part}/{parts}"]
        if crashes:
            command += ["--done", str(path)]
        environment = {**run.environment, "PYTHONPATH": f"{TESTS}:{run.environment.get('PYTHONPATH', '')}"}
        try:
            child = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=run.timeout)
            end = f"exit code {child.returncode}: {child.stderr[-600:]}"
            ended = child.returncode == 0
        except subprocess.TimeoutExpired:
            end, ended = f"no end within {run.timeout:.0f} s", False
        if ended:
            break
        begun = _unfinished(path)
        if begun is None or begun in crashes:
            raise AssertionError(f"{' '.join(command)}: {end}")
        crashes[begun] = end
    else:
        raise AssertionError(f"{run.module}: {_CRASHES} crashes, the last in {list(crashes)[-1]}")
    return [*_results(path), *(Result(name, dtype, 0, {"crash": end}) for (name, dtype), end in crashes.items())]


def _records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def _unfinished(path: Path) -> tuple[str, str] | None:
    records = _records(path)
    if records and "begin" in records[-1]:
        return str(records[-1]["begin"]), str(records[-1]["dtype"])
    return None


def _results(path: Path) -> list[Result]:
    return [
        Result(str(r["op"]), str(r["dtype"]), int(str(r.get("samples", 0))), dict(r["problems"]))  # type: ignore[call-overload]
        for r in _records(path)
        if "op" in r
    ]


def report(results: Sequence[Result], known: Mapping[str, str], whole: bool = True) -> list[str]:
    """What is wrong: a difference that is not listed, or one that is listed and gone. Keys are `name dtype` or `name`.

    Only a run of every sample (`whole`) can tell that a listed difference is gone.
    """
    problems = []
    for result in results:
        listed = result.name in known or f"{result.name} {result.dtype}" in known
        if not result.equal and not listed:
            kinds = "; ".join(f"{kind}: {text}" for kind, text in result.problems.items())
            problems.append(f"{result.name} {result.dtype}: {kinds}")
    differing = {key for r in results if not r.equal for key in (r.name, f"{r.name} {r.dtype}")}
    met = {key for r in results for key in (r.name, f"{r.name} {r.dtype}")}
    problems += [
        f"{key}: listed as different, and it is equal now: take it out of the list"
        for key in known
        if whole and key in met and key not in differing
    ]
    return problems


if __name__ == "__main__":
    sys.exit("this module is used by tests")
