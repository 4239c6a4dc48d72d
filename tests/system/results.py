"""Runs CTest on a built backend and turns what the GoogleTests wrote into one result for each suite."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from .building import ROOT, Built, environment, lock, run, tool

_DECLARED = re.compile(r"^TEST(?:_[FP])?\((\w+),\s*\w+\)", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One GoogleTest. `suite` is without the name of the instantiation, `messages` of failures or of the skip."""

    suite: str
    name: str
    outcome: str  # passed | failed | skipped
    messages: tuple[str, ...]


@dataclass(frozen=True)
class Programs:
    """What a run of CTest gave: the output and exit of each program, and every case."""

    exits: dict[str, str] = field(default_factory=dict)  # program -> "Passed" or what CTest says
    output: str = ""
    cases: tuple[Case, ...] = ()

    def check_suite(self, suite: str) -> None:
        """Fail with the messages of the suite's cases that failed, or if it did not run."""
        mine = [case for case in self.cases if case.suite == suite]
        if not mine:
            pytest.fail(f"{suite} did not run to its end; the programs: {self.exits or self.output}", pytrace=False)
        wrong = [case for case in mine if case.outcome != "passed"]
        if wrong:
            texts = [f"{case.suite}.{case.name} {case.outcome}\n" + "\n".join(case.messages) for case in wrong]
            pytest.fail("\n\n".join(texts)[:8000], pytrace=False)


def declared_suites(vendor: str) -> list[tuple[str, str]]:
    """(suite, program) of the committed tests of `vendor`, which test_golden.py holds against a fresh render."""
    found = set()
    for path in (ROOT / "generated" / vendor / "tests").glob("test_*.cc"):
        program = "test_ops" if path.stem.startswith("test_ops_") else path.stem
        found.update((suite, program) for suite in _DECLARED.findall(path.read_text(encoding="utf-8")))
    return sorted(found)


def run_ctest(built: Built, name: str, *, programs: str = "", cases: str = "", **settings: str) -> Programs:
    """`ctest -L <vendor>` in the build folder: only `programs` (a regex) and only `cases` (a gtest filter) if given."""
    results = built.build / f"results-{name}"
    with lock(f"run-{built.variant.key}-{name}"):
        shutil.rmtree(results, ignore_errors=True)
        results.mkdir()
        variables = {"GTEST_OUTPUT": f"json:{results}/", "GTEST_COLOR": "no", **settings}
        if cases:
            variables["GTEST_FILTER"] = cases
        command = [tool("ctest"), "--test-dir", built.build, "-L", built.variant.vendor, "--output-on-failure"]
        command += ["--no-tests=error", *(["-R", programs] if programs else [])]
        if "thread" in built.variant.sanitize:
            command = [tool("setarch"), "-R", *command]  # ThreadSanitizer needs the addresses where it expects them
        finished = run(command, env=environment(**variables), timeout=1800)
        exits = dict(re.findall(r"Test +#\d+: (\S+) \.+ *(?:\*+)?(\S.*?) +[\d.]+ sec", finished.stdout))
        return Programs(exits, finished.stdout + finished.stderr, tuple(_cases(results)))


def _cases(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*.json")):
        for suite in json.loads(path.read_text(encoding="utf-8"))["testsuites"]:
            for case in suite["testsuite"]:
                if case.get("status") == "NOTRUN":
                    continue
                failures = tuple(failure["failure"] for failure in case.get("failures", ()))
                skips = tuple(skip["message"] for skip in case.get("skipped", ()))
                outcome = "failed" if failures else "skipped" if case.get("result") == "SKIPPED" else "passed"
                yield Case(suite["name"].rpartition("/")[2], case["name"], outcome, failures or skips)
