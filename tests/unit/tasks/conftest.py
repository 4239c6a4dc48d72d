"""Small SDKs written by a test: two header folders that `describe` and `compare` can hold against each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.tasks.dump_values import SdkDump
from fl_gen.tasks.sdk_description import describe
from fl_gen.tasks.sdk_dump import document

Dumped = Callable[..., SdkDump]


@pytest.fixture
def dumped(tmp_path: Path) -> Dumped:
    """The dump of headers given as text: `api.h` is the main one, others by keyword with `__` for the dot."""
    made = 0

    def dump(api: str, **others: str) -> SdkDump:
        nonlocal made
        made += 1
        root = tmp_path / f"sdk{made}"
        root.mkdir()
        for name, text in {"api__h": api, **others}.items():
            (root / name.replace("__", ".")).write_bytes(text.encode())
        return document(describe(("api.h",), (str(root),)), None, None, None, False, ())

    return dump
