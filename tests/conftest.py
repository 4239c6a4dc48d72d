"""How tests are shared out with `-n`: a file goes to one worker as a whole unless its tests name groups of their own.

Fixtures of a module are then made once. The system tests share their builds between workers and need no such care.
"""

from __future__ import annotations

from pathlib import Path

import pytest

SYSTEM = Path(__file__).parent / "system"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("xdist_group") is None and not item.path.is_relative_to(SYSTEM):
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
