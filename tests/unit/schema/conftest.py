"""Shared by the tests of `fl_gen.schema`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fl_gen.schema.errors import SchemaError
from fl_gen.schema.paths import data_dir


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Writes a file into a fresh current folder and gives its name as a user would type it."""
    monkeypatch.chdir(tmp_path)

    def writer(text: str | bytes, name: str = "file.yaml") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8", newline="")
        return name

    return writer


@pytest.fixture
def failure() -> Callable[..., str]:
    """Calls a function that must raise SchemaError and gives what the user would read."""

    def caller(function: Callable[..., Any], *arguments: Any) -> str:
        with pytest.raises(SchemaError) as caught:
            function(*arguments)
        return caught.value.render()

    return caller


@pytest.fixture
def shipped() -> Path:
    """The folder of the shipped schemas."""
    return data_dir() / "schemas"
