"""A simulated SDK that lies on the disk like any other says that it is a test double wherever its name appears."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.render.simsdk import MARKER_FILE
from fl_gen.schema.catalog import Catalog
from unit.cli.conftest import Result

Run = Callable[..., Result]


@pytest.fixture
def double(tmp_path: Path) -> Path:
    """The headers of mlu's simulated SDK on the disk, with the mark that `sim build` leaves."""
    catalog = Catalog(())
    path = catalog.api_path("mlu")
    assert path is not None
    root = tmp_path / "neuware"
    for name, text in render_headers(load_api(path, catalog.folders), "6.14").items():
        file = root / "include" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (root / MARKER_FILE).parent.mkdir(parents=True)
    (root / MARKER_FILE).write_text("fl-gen\n", encoding="utf-8")
    return root


def test_every_report_says_so(run: Run, double: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEUWARE_HOME", str(double))
    monkeypatch.setenv("COLUMNS", "400")
    name = f"simulated Neuware 6.14.1 (a test double) at {double}"
    assert f"SDK           {name}, found by NEUWARE_HOME\n" in run("sdk", "check", "mlu").out
    assert f"SDK           {name}\n" in run("sdk", "check", "mlu", "--sdk", double).out
    assert name in run("sdk", "check", "mlu", "--format", "html").out
    assert "simulated Neuware 6.14.1 (a test double) at " in run("sdk", "check", "mlu", "--format", "markdown").out
    assert f"SDK      {name}\n" in run("backend", "mlu", "--no-format").out
    assert f"{name} (NEUWARE_HOME); has runtime, blas, ccl" in run("doctor").out
    diff = " ".join(run("sdk", "diff", "mlu", "--from", "sim:6.0", "--to", double).out.split())
    assert f"from simulated Neuware 6.0.2 (a test double) to {name} " in diff


def test_a_real_one_does_not(run: Run, double: Path) -> None:
    (double / MARKER_FILE).unlink()
    out = run("sdk", "check", "mlu", "--sdk", double).out
    assert f"SDK Neuware 6.14.1 at {double} " in " ".join(out.split())  # a long path goes into a line of its own
    assert "test double" not in out
