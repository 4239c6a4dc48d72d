"""`fl-gen bench --baseline` on machines that others use as well: what rounds tell, and what nobody can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fl_gen.cli.main import main
from fl_gen.report.bench import bench_json, bench_text
from fl_gen.schema.paths import shown
from fl_gen.tasks import bench as module
from fl_gen.tasks.bench import BenchOptions, _compared, bench
from fl_gen.tasks.bench_values import BenchReport, Measured, Timing


def timing(device: str, seconds: float) -> Timing:
    return Timing(device, seconds, seconds, 0.01, 30, 8, "images", None, 5000)


def report(*rounds: float) -> BenchReport:
    middle = sorted(rounds)[len(rounds) // 2] if rounds else 1.0
    return BenchReport(
        "mlu", "2.13.0", 1, (Measured("gpt", "train", timing("mlu", middle), timing("cpu", 1.0), rounds),), (), ()
    )


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        ((8.9, 9.0, 9.1), (8.8, 9.1, 9.3), 0),
        ((8.9, 9.0, 9.1), (11.0, 11.2, 11.1), 1),  # 1.23 times, and rounds are 4 % apart
        ((8.0, 9.0, 10.0), (11.0, 11.2, 11.1), 0),  # the same, and rounds are 24 % apart
        ((8.9, 9.0, 9.1), (9.0, 11.1, 12.0), 0),
        ((8.9, 9.0, 9.1), (46.0, 46.8, 47.0), 1),
        ((8.9, 9.0, 9.1), (9.0, 46.8, 60.0), 1),  # 5.2 times, and rounds are 1.1 times apart
        ((8.9, 9.0, 9.1), (2.0, 18.0, 21.0), 2),  # twice, and rounds are as much apart: nobody can tell
    ],
)
def test_a_regression_is_more_than_rounds_are_apart(
    before: tuple[float, ...], now: tuple[float, ...], code: int
) -> None:
    found = _compared(report(*now), report(*before), 0.1)
    assert found.exit_code == code
    assert ("REGRESSED" in bench_text(found), "not judged" in bench_text(found)) == (code == 1, code == 2)


def test_the_words_for_what_is_not_judged() -> None:
    text = bench_text(_compared(report(2.0, 18.0, 21.0), report(8.9, 9.0, 9.1), 0.1))
    assert text.splitlines()[-1] == (
        "  gpt train: time beside the CPU 2.00 of it, up to 2.08 is noise: "
        "not judged; measure again on a machine with less to do"
    )


def test_too_few_rounds_are_refused_before_anything_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(bench_json(report(8.9, 9.0, 9.1)), encoding="utf-8")
    assert main(["bench", "gpt", "--device", "mlu", "--rounds", "1", "--baseline", str(baseline)]) == 2
    assert capsys.readouterr().err == (
        "--rounds 1 with --baseline: fewer than 3 rounds do not tell the noise, "
        "and a difference says nothing without it\n"
        "  = use --rounds 3 or more\n"
    )


@pytest.mark.parametrize(
    ("rounds", "message"),
    [
        (
            (8.97,),
            "{path}: 'gpt' was measured in 1 round(s): fewer than 3 do not tell the noise, and a difference says "
            "nothing without it\n  = measure the baseline again with --rounds 3 or more\n",
        ),
        (
            (8.97, 46.78, 9.1),
            "{path}: the rounds of 'gpt' lie from 8.97 to 46.8: nothing can be held against that\n"
            "  = measure the baseline again on a machine with less to do, or with more --repeat\n",
        ),
    ],
)
def test_a_baseline_that_says_too_little(
    tmp_path: Path, rounds: tuple[float, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(bench_json(report(*rounds)), encoding="utf-8")
    assert main(["bench", "gpt", "--device", "mlu", "--baseline", str(baseline)]) == 2
    assert capsys.readouterr().err == message.format(path=shown(baseline))


def test_a_round_is_the_device_beside_the_cpu_of_that_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # The machine is five times slower in the second round: the device is, and the CPU beside it.
    speeds = iter([1.0, 1.0, 5.0, 5.0, 1.0, 1.0])

    def run(python: str, program: str, task: dict[str, Any], seconds: float) -> dict[str, Any]:
        slow = next(speeds) * (9.0 if task["device"] == "mlu" else 1.0)
        told = {"items": 8, "unit": "images", "device_bytes": None, "host_bytes": 1, "torch": "2.13.0"}
        return {**told, "seconds": [slow, slow * 1.01, slow * 0.99]}

    monkeypatch.setattr(module, "run_program", run)
    (one,) = bench(BenchOptions("mlu", ("gpt",), python="python3")).models
    assert one.rounds == pytest.approx((9.0, 9.0, 9.0))
    assert one.spread == pytest.approx(0.0)
