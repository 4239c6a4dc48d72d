"""The generated tests notice faults: each of mutations.py is seeded, and the test that it names must fail.

A compile error is no detection, and the same test must pass without the fault.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .building import Built
from .mutating import Mutation, check_caught
from .mutations import MUTATIONS


def test_there_are_enough_and_their_names_differ() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS) >= 20


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_fault_is_caught(mutation: Mutation, mlu: Built, tmp_path: Path) -> None:
    check_caught(mlu, mutation, tmp_path)
