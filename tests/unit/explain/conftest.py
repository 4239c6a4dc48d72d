"""The command in this process, with a tree to explain, and one cache for all of these tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.cli.conftest import base, cache, run, tree

__all__ = ["base", "cache", "run", "tree"]


@pytest.fixture(scope="session", autouse=True)
def shared_cache(cache: Path) -> Iterator[None]:
    """What `default_folder` names while these tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "FL_GEN_CACHE_DIR", str(cache))
        yield
