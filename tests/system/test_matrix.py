"""Every vendor's backend, generated, compiled without a warning and run: one test for each suite of the generated tests.

The instrumented builds are kept short: they are after memory and order, which few cases show as well as all.
"""

from __future__ import annotations

import fnmatch
import os
import re
from dataclasses import dataclass

import pytest

from .conftest import VARIANTS, built, programs
from .results import Programs, declared_suites


@dataclass(frozen=True)
class Run:
    """What of a variant's programs runs. `programs` is a regex of CTest, `cases` a gtest filter, both "" for all."""

    programs: str = ""
    cases: str = ""
    settings: tuple[tuple[str, str], ...] = ()

    def results(self, variant: str) -> Programs:
        return programs(variant, self.programs, self.cases, self.settings)


# Death tests start the program again each time, which costs seconds under a sanitizer and shows nothing new there.
NO_DEATH = "-*DeathTest.*:*RefusalTest.*:*FailureTest.*"
# A data race shows in the first dtype as well as in the last.
FEW_DTYPES = f"{NO_DEATH}:ElementwiseOpsTest.*:LayoutOpsTest.*:ConvertOpsTest.*:*/8"
ASAN = (
    ("ASAN_OPTIONS", "detect_leaks=1:detect_stack_use_after_return=1"),
    ("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1"),
)
TSAN = (("TSAN_OPTIONS", "halt_on_error=1:second_deadlock_stack=1"),)
RUNS = {
    "mlu": Run(),
    "mlu-asan": Run("^test_(runtime|ops|training|cncl|cncl_process)$", NO_DEATH, ASAN),
    "mlu-tsan": Run("^test_(runtime|ops|training|cncl)$", FEW_DTYPES, TSAN),
    "maca": Run(),
}
if os.environ.get("FL_GEN_TORTURE"):  # an older release: Ascend's oldest runs in CI
    RUNS["mlu-6.0"] = Run("^test_(runtime|ops|training)$")


def _selected(name: str) -> list[str]:
    """The suites of a run: those of its programs, without the ones that its filter takes out as a whole."""
    patterns = RUNS[name].cases.lstrip("-").split(":")
    return [
        suite
        for suite, program in declared_suites(VARIANTS[name].vendor)
        if re.search(RUNS[name].programs, program)
        and not any(fnmatch.fnmatchcase(f"{suite}.", pattern.removesuffix("*")) for pattern in patterns)
    ]


@pytest.mark.parametrize(
    ("name", "suite"),
    [
        pytest.param(name, suite, marks=pytest.mark.xdist_group(name), id=f"{name}-{suite}")
        for name in RUNS
        for suite in _selected(name)
    ],
)
def test_suite(name: str, suite: str) -> None:
    RUNS[name].results(name).check_suite(suite)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in RUNS])
def test_programs_end_well(name: str) -> None:
    """Exit code 0 of each: no test failed, no suite is unknown here, and the simulator found no leak (FL_SIM_LEAKS=fail)."""
    result = RUNS[name].results(name)
    assert result.exits, result.output
    assert {program: end for program, end in result.exits.items() if end != "Passed"} == {}, result.output[-6000:]
    ran = {case.suite for case in result.cases}
    assert ran >= set(_selected(name))


@pytest.mark.skipif(not os.environ.get("FL_GEN_TORTURE"), reason="a minute; CI compiles mlu by clang++ (mlu-asan)")
@pytest.mark.parametrize(
    "name",
    [pytest.param("maca-clang", marks=pytest.mark.xdist_group("maca-clang"))],
)
def test_compiles_without_a_warning(name: str) -> None:
    """The variants of RUNS compile as well, or their tests fail; these do nothing else."""
    assert built(name).programs.is_dir()
