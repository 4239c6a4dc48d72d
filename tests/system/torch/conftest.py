"""Fixtures of the PyTorch tests."""

from __future__ import annotations

import pytest

from .packages import Package, package


@pytest.fixture(scope="session")
def mlu() -> Package:
    """The package of mlu on the simulated SDK."""
    return package("mlu")
