"""`fl-gen coverage`: shares, order, baseline, limits, and files that are no recorded run."""

from __future__ import annotations

import json
import os
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fl_gen.cli.main import main
from fl_gen.report.coverage_html import coverage_html
from fl_gen.report.coverage_json import coverage_json, coverage_schema
from fl_gen.report.coverage_markdown import coverage_markdown
from fl_gen.report.coverage_text import coverage_text
from fl_gen.report.markdown import LIMIT
from fl_gen.tasks.coverage import coverage
from fl_gen.tasks.coverage_read import RecordError

ROOT = Path(__file__).resolve().parents[3]


def op(name: str, strategy: str, calls: int, ns: int = 1000, moved: int = 0) -> dict[str, Any]:
    return {"op": name, "strategy": strategy, "calls": calls, "ns": ns, "h2d_bytes": moved, "d2h_bytes": moved}


def run_file(folder: Path, model: str, *ops: dict[str, Any]) -> Path:
    path = folder / f"{model.replace('/', '_')}.json"
    run = {"schema": 1, "framework": "torch", "vendor": "mlu", "model": model, "ops": list(ops)}
    path.write_text(json.dumps(run), encoding="utf-8")
    return path


@pytest.fixture
def resnet(tmp_path: Path) -> Path:
    return run_file(
        tmp_path,
        "resnet",
        op("aten::mm", "library", 50, 2_000_000_000),
        op("aten::add.Tensor", "fallback", 40, 1_000_000_000, 500),
        op("aten::relu", "fallback", 10, 5_000_000_000, 1000),
    )


def test_shares_are_of_all_recorded_work(resnet: Path) -> None:
    report = coverage([resnet])
    model = report.models[0]
    assert (model.total.calls, model.total.seconds, model.total.bytes) == (100, 8.0, 3000)
    assert (model.covered.calls, model.covered.time, model.covered.bytes) == (50.0, 25.0, 0.0)
    assert [one.op for one in report.candidates] == ["aten::add.Tensor", "aten::relu"]
    add = report.candidates[0]
    assert (add.share.calls, add.share.time, add.reached) == (40.0, 12.5, 90.0)
    assert report.candidates[1].reached == 100.0
    assert report.exit_code == 0


def test_what_the_runtime_does_is_covered_and_no_candidate(tmp_path: Path) -> None:
    run = run_file(tmp_path, "m", op("aten::_copy_from", "runtime", 75, moved=8), op("aten::relu", "fallback", 25))
    report = coverage([run])
    assert [one.op for one in report.candidates] == ["aten::relu"]
    assert report.models[0].covered.calls == 75.0


def test_the_order_follows_the_measure(resnet: Path) -> None:
    assert [one.op for one in coverage([resnet], "time").candidates] == ["aten::relu", "aten::add.Tensor"]
    assert coverage([resnet], "time").candidates[0].reached == pytest.approx(87.5)
    assert [one.op for one in coverage([resnet], "bytes").candidates] == ["aten::relu", "aten::add.Tensor"]


def test_ops_of_several_models_are_summed(tmp_path: Path, resnet: Path) -> None:
    bert = run_file(tmp_path, "bert", op("aten::relu", "fallback", 100), op("aten::gelu", "native", 100))
    report = coverage([resnet, bert])
    assert report.candidates[0].op == "aten::relu"
    assert report.candidates[0].models == ("resnet", "bert")
    assert report.covered.calls == 50.0


def test_a_model_below_the_limit_fails(resnet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(resnet), "--fail-under", "50"]) == 0
    assert main(["coverage", str(resnet), "--fail-under", "50.1"]) == 1
    assert capsys.readouterr().out.endswith("\nresnet: below 50.1 % of calls\n")


def test_the_baseline_names_what_became_worse(tmp_path: Path, resnet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = tmp_path / "baseline.json"
    assert main(["coverage", str(resnet), "--format", "json", "--output", str(baseline)]) == 0
    assert main(["coverage", str(resnet), "--baseline", str(baseline)]) == 0
    run_file(
        tmp_path,
        "resnet",
        op("aten::mm", "fallback", 50),
        op("aten::add.Tensor", "fallback", 40),
        op("aten::relu", "native", 10),
    )
    capsys.readouterr()
    assert main(["coverage", str(resnet), "--baseline", str(baseline)]) == 1
    printed = capsys.readouterr().out
    assert "  resnet: coverage fell: 50.0 % to 10.0 % by calls\n  resnet: new fallback: aten::mm\n" in printed
    assert printed.endswith("\n2 change(s) for the worse against the baseline\n")


def test_a_model_that_is_gone_is_worse(tmp_path: Path, resnet: Path) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text(coverage_json(coverage([resnet])), encoding="utf-8")
    other = run_file(tmp_path, "bert", op("aten::gelu", "native", 1))
    changes = coverage([other], baseline=baseline).changes
    assert [(change.model, change.kind) for change in changes] == [("resnet", "missing model")]


def test_an_infinitrain_run_counts_fallbacks_only(tmp_path: Path) -> None:
    path = tmp_path / "gpt.json"
    kernels = [{"kernel": "LinearForward", "calls": 3, "bytes_to_host": 10, "bytes_to_device": 5, "seconds": 0.25}]
    path.write_text(json.dumps({"backend": "maca", "mode": "warn", "kernels": kernels}), encoding="utf-8")
    report = coverage([path])
    assert report.models[0].covered.calls is None
    assert report.candidates[0].share.calls == 100.0
    assert report.candidates[0].reached is None
    assert report.notes == ("fallbacks only are recorded for gpt: shares are of all fallbacks, coverage is not known",)
    with pytest.raises(RecordError, match="records fallbacks only"):
        coverage([path], fail_under=50)


def test_a_run_without_calls_divides_by_nothing(tmp_path: Path) -> None:
    report = coverage([run_file(tmp_path, "empty")])
    assert report.models[0].covered.calls is None
    assert coverage_text(report, 20).endswith("\nnothing falls back")
    assert coverage_html(report)


def test_text(resnet: Path) -> None:
    assert coverage_text(coverage([resnet]), 1) == (
        "on the device, in percent\n"
        "  model   framework  vendor  ops  fall back   calls    time  bytes\n"
        "  resnet  torch      mlu       3          2  50.0 %  25.0 %  0.0 %\n"
        "\n"
        "what to implement next, by calls\n"
        "  next  op                calls    time   moved  of calls  of time  of bytes  reaches  models\n"
        "  1     aten::add.Tensor     40  1.00 s  1.0 kB    40.0 %   12.5 %    33.3 %   90.0 %  resnet\n"
        "and 1 more: --top 0 lists all\n"
        "\n"
        "50.0 % of calls on the device, 2 op(s) fall back"
    )


def test_json_is_what_its_schema_says(resnet: Path) -> None:
    schema = json.loads(coverage_schema())
    jsonschema.validate(json.loads(coverage_json(coverage([resnet]))), schema)
    assert (ROOT / "schemas/jsonschema/coverage.json").read_text(encoding="utf-8") == coverage_schema()


def test_markdown_is_bounded_and_escapes(tmp_path: Path) -> None:
    ops = [op(f"aten::op_{number}", "fallback", number + 1) for number in range(3000)]
    run = run_file(tmp_path, "m", op("<img onerror=x>|`", "fallback", 99999), *ops)
    text = coverage_markdown(coverage([run]))
    assert len(text) <= LIMIT
    assert "| `` <img onerror=x>\\|` `` |" in text  # a code span, and its bar does not end the cell
    assert "more rows" in text


def test_the_page_loads_nothing_and_escapes(tmp_path: Path) -> None:
    run = run_file(
        tmp_path, "<script>alert(1)</script>", op('aten::"><script>', "fallback", 3), op("aten::mm", "native", 9)
    )
    text = coverage_html(coverage([run]))
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign,assignment]
    parser.feed(text)
    assert tags.count("script") == 1
    assert tags.count("svg") == 2
    assert "http" not in text.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{name}:1:1: Expecting value\n  = a recorded run is JSON; was the program that wrote it stopped?"),
        ('{"schema": 1, "ops": [', "{name}:1:23: Expecting value\n  = a recorded run is JSON; was the program that wrote it stopped?"),
        ("[]", "{name}:1:1: this is no recorded run: it has neither ops nor kernels\n"),
        ('{"schema": 2, "ops": []}', "{name}:1:1: schema '2': this fl-gen reads recorded runs of schema 1\n"),
        ('{"schema": 1, "ops": 3}', "{name}: the run: ops is '3', not a list\n"),
        ('{"schema": 1, "ops": [3]}', "{name}: ops: 0 is '3', not an object\n"),
        ('{"schema": 1, "ops": [{"calls": -1}]}', "{name}: ops[0]: calls is '-1', not a count\n"),
        ('{"schema": 1, "ops": [{"calls": true}]}', "{name}: ops[0]: calls is 'true', not a count\n"),
        ('{"schema": 1, "ops": [{}]}', "{name}: ops[0]: calls is missing, not a count\n"),
        ('{"schema": 1, "ops": [{"calls": NaN}]}', "{name}:1:1: NaN is no number of JSON\n"),
        ('{"backend": "m", "kernels": [{"seconds": 1e999}]}', "{name}: kernels[0]: seconds is 'Infinity', not a number of seconds\n"),
        ('{"schema": 1, "ops": [{"calls": 1000000000000000001}]}', "{name}: ops[0]: calls is '1000000000000000001', not a count\n"),
        ('{"schema": 1, "ops": [{"calls": %s}]}' % ("9" * 5000), "{name}:1:1: a number of 5000 digits\n  = give a recorded run as fl-gen or a backend wrote it\n"),
        ('{"backend": "m", "kernels": [{"seconds": %s}]}' % ("9" * 400), "{name}: kernels[0]: seconds is '99999"),
        ('{"schema": true, "ops": []}', "{name}:1:1: schema 'True': this fl-gen reads recorded runs of schema 1\n"),
        ('{"ops": [], "ops": []}', "{name}:1:1: the key 'ops' stands twice\n"),
        ('{"schema": 1, "ops": [{"op": "o", "strategy": "host", "calls": 1, "ns": 1, "h2d_bytes": 0, "d2h_bytes": 0}]}',
         "{name}: ops[0]: strategy is '\"host\"', not one of native, library, python, runtime, fallback\n"),
        ("[" * 100_000, "{name}:1:1: it is nested too deeply\n  = a recorded run never is: give another file\n"),
        ("\udcff", "{name}:1:1: byte 0 is no text\n  = a recorded run is JSON in UTF-8\n"),
    ],
)  # fmt: skip
def test_what_is_no_recorded_run(tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["coverage", str(path)]) == 2
    assert capsys.readouterr().err.startswith(message.format(name=path))


def test_files_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(tmp_path / "none.json")]) == 2
    assert capsys.readouterr().err == (
        f"{tmp_path}/none.json: No such file or directory\n  = give the file of a recorded run\n"
    )
    assert main(["coverage", str(tmp_path)]) == 2
    assert "Is a directory" in capsys.readouterr().err
    os.mkfifo(tmp_path / "pipe")
    assert main(["coverage", str(tmp_path / "pipe")]) == 2
    assert capsys.readouterr().err == (
        f"{tmp_path}/pipe: this is a named pipe\n  = give a recorded run as a file, or on the standard input as -\n"
    )


def test_a_refused_call_counts_as_a_fallback(tmp_path: Path) -> None:
    refused = {**op("aten::mm", "fallback", 0), "rejected": 5}
    report = coverage([run_file(tmp_path, "strict", refused, op("aten::relu", "native", 5))], fail_under=90)
    assert report.models[0].covered.calls == 50.0
    assert report.candidates[0].op == "aten::mm"
    assert report.failed == ("strict",)


def test_names_cannot_make_lines_or_columns_of_their_own(tmp_path: Path) -> None:
    evil = op("a\n  = b\x1b[31m", "fallback", 1)
    text = coverage_text(coverage([run_file(tmp_path, "m" * 200, evil)]), 0)
    assert "  1     a\\n  = b\\x1b[31m      1  " in text
    assert max(map(len, text.splitlines())) < 250


@pytest.mark.parametrize("value", ["nan", "NaN", "-nan"])
def test_a_limit_that_nothing_is_below(resnet: Path, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(resnet), "--fail-under", value]) == 2
    assert capsys.readouterr().err.endswith(
        f"Error: Invalid value for '--fail-under': '{value}' is no number that anything can be held against\n"
    )


def test_a_report_does_not_take_the_place_of_a_run(resnet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = resnet.read_bytes()
    assert main(["coverage", str(resnet), "--format", "json", "--output", str(resnet)]) == 2
    assert capsys.readouterr().err.endswith(
        f"Error: --output {resnet} is one of the runs: the report would take its place.\n"
    )
    assert resnet.read_bytes() == before


def test_a_baseline_of_endless_numbers(tmp_path: Path, resnet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    baseline = tmp_path / "baseline.json"
    good = coverage_json(coverage([resnet]))
    for number in ("1e999", "9" * 399):
        baseline.write_text(good.replace('"seconds": 8.0', f'"seconds": {number}'), encoding="utf-8")
        assert main(["coverage", str(resnet), "--baseline", str(baseline)]) == 2
        assert capsys.readouterr().err == (
            f"{baseline}: $.models[0].total.seconds: too large a number\n"
            "  = --baseline takes what fl-gen coverage --format json wrote\n"
        )


def test_one_model_twice_and_a_wrong_baseline(tmp_path: Path, resnet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", str(resnet), str(resnet)]) == 2
    assert f"{resnet}: the model 'resnet' is in {resnet} as well\n" in capsys.readouterr().err
    assert main(["coverage", str(resnet), "--baseline", str(resnet)]) == 2
    assert "--baseline takes what fl-gen coverage --format json wrote" in capsys.readouterr().err
