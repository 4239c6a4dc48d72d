"""Fixtures of the system tests, and how they are shared out between the workers of a run with -n."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from .building import Built, Variant, backend_build
from .results import Programs, run_ctest

# What the tests are about; the name stands in the ids of the tests. `cases` is a gtest filter, "" for all.
VARIANTS = {
    "mlu": Variant("mlu"),
    "mlu-asan": Variant("mlu", "clang++-16", "address,undefined"),
    "mlu-tsan": Variant("mlu", "g++", "thread"),
    "mlu-6.0": Variant("mlu", version="6.0"),
    "maca": Variant("maca"),
    "maca-clang": Variant("maca", "clang++-16"),
}


# InfiniTrain's own suites take as long to compile as everything else, so once for each vendor is enough.
_WITH_SUITES_OF_THE_FRAMEWORK = ("mlu", "maca")


@functools.cache
def built(name: str) -> Built:
    """One of VARIANTS, built; once in a process, and once in a run."""
    all_programs = name in _WITH_SUITES_OF_THE_FRAMEWORK
    return backend_build(VARIANTS[name], "fl_test_programs" if all_programs else "fl_generated_programs")


@functools.cache
def programs(name: str, only: str = "", cases: str = "", settings: tuple[tuple[str, str], ...] = ()) -> Programs:
    """The results of the test programs of one of VARIANTS, which run once in a process."""
    return run_ctest(built(name), "ctest", programs=only, cases=cases, **dict(settings))


@pytest.fixture(scope="session")
def build_of() -> Callable[[str], Built]:
    return built


@pytest.fixture(scope="session")
def mlu() -> Built:
    """The mlu backend with g++, without sanitizers."""
    return built("mlu")
