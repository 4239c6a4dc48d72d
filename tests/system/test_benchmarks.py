"""The benchmarks run, and the aim that does not depend on how busy the machine is holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from .building import ROOT, run


def test_benchmarks_run_and_starting_is_quick(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    result = run([sys.executable, ROOT / "benchmarks" / "run.py", "--rounds", "3", "--no-growth", "--out", out])
    assert result.returncode == 0, result.stderr
    told = json.loads(out.read_text(encoding="utf-8"))
    assert told["start"]["ratio"] <= 5, "fl-gen --version imports too much"
    backend = told["backend"]
    assert backend["warm_caches"]["cpu_median"] < backend["empty_caches"]["cpu_median"] / 2, "the caches save little"
    assert "growth" not in told
    for what in ("backend, empty caches", "backend, warm caches", "probe / plain parse"):
        assert what in result.stdout


def test_growth_is_measured_over_more_and_more_ops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import run as benchmark

    monkeypatch.setattr(benchmark, "FACTORS", (1, 2, 4, 16))
    told = benchmark.measure_growth(2, tmp_path)
    assert [row["factor"] for row in told["rows"]] == [1, 2, 4, 16]
    assert told["rows"][-1]["ops"] > 12 * told["rows"][0]["ops"]
    assert isinstance(told["exponent"], float)  # its value is for `make bench` on a quiet machine
