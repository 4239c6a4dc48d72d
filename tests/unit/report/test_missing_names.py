"""What every report says about names that an SDK lacks: codes, types and parts, in the words of each form."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fl_gen.report.html import report_html
from fl_gen.report.markdown import report_markdown
from fl_gen.report.sarif import report_sarif
from fl_gen.report.sdk_text import Look, check_text
from fl_gen.report.sdk_words import summary, warnings
from fl_gen.schema.paths import data_dir
from fl_gen.tasks.sdk_values import SdkCheck
from unit.report.conftest import report_of

Check = Callable[..., SdkCheck]
WIDE = Look(width=400)


@pytest.fixture
def changed(tmp_path: Path, check: Check) -> Callable[..., SdkCheck]:
    """The check of maca's simulated SDK with one text of its vendor file replaced by another."""

    def make(old: str, new: str) -> SdkCheck:
        text = (data_dir() / "schemas" / "vendors" / "maca" / "vendor.yaml").read_text(encoding="utf-8")
        assert text.count(old) == 1
        folder = tmp_path / "vendors" / "maca"
        folder.mkdir(parents=True)
        (folder / "vendor.yaml").write_text(text.replace(old, new), encoding="utf-8")
        return check("maca@sim", tmp_path)

    return make


def results(check: SdkCheck, rule: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(report_sarif(report_of(check)))["runs"][0]["results"]
    return [one for one in found if one["ruleId"] == rule]


def test_a_list_of_codes_of_which_none_exists_is_a_warning(changed: Callable[..., SdkCheck]) -> None:
    check = changed("not_ready: [mcErrorNotReady]", "not_ready: [mcErrorNotRedy]")
    message = (
        "status runtime.not_ready: this SDK has none of mcErrorNotRedy; "
        "clang: use of undeclared identifier 'mcErrorNotRedy'"
    )
    hint = "event.query and stream.query are bound: work that is not done yet will be taken for a failure"
    (warning,) = warnings(check)
    assert (warning.message, warning.severity) == (message, "warning")
    assert warning.hint == f"did you mean mcErrorNotReady?\n{hint}"
    text = check_text(check, WIDE)
    assert f"\n1 name not in this SDK\n{warning.location}: warning: {message}\n" in text
    assert f"  = did you mean mcErrorNotReady?\n  = {hint}\n" in text
    assert "1 name not in this SDK" in text.splitlines()[-1]
    assert check.exit_code == 0
    assert "| warning | status runtime.not\\_ready: this SDK has none of mcErrorNotRedy" in report_markdown(
        report_of(check)
    )
    assert "did you mean mcErrorNotReady?" in report_html(report_of(check))
    (result,) = results(check, "sdk-missing")
    assert result["level"] == "warning"
    assert result["message"]["text"] == f"{message}\n{warning.hint}"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == warning.location.line


def test_a_misspelt_optional_type_is_one_and_an_older_release_is_not(
    changed: Callable[..., SdkCheck], check: Check
) -> None:
    (warning,) = warnings(changed("event: [mcEvent_t]", "event: [mcEvnt_t]"))
    assert warning.message == ("type event: this SDK has none of mcEvnt_t; clang: unknown type name 'mcEvnt_t'")
    assert warning.hint is not None
    assert warning.hint.startswith("did you mean mcEvent_t?")
    for target in ("mlu@sim:4.3", "mlu@sim:6.0", "mlu@sim:6.14", "maca@sim"):
        assert warnings(check(target)) == [], target


def test_a_lost_type_is_one_loss_with_what_follows(changed: Callable[..., SdkCheck]) -> None:
    check = changed("stream: [mcStream_t]", "stream: [mcStrem_t]")
    assert check.exit_code == 1
    assert check.lost_names == ("type stream",)
    assert len(check.lost) == 1
    assert "stream.create" in check.lost_with_others
    assert {one.depends_on for one in check.in_state("lost")} == {"type stream"}
    lost = f"(and with it {len(check.lost_with_others)} operations): no backend on this SDK"
    assert f"\nLOST: type stream {lost}\n" in check_text(check, WIDE)
    assert f"1 LOST (and {len(check.lost_with_others)} with it)" in summary(check)
    assert "did you mean mcStream_t?" in report_markdown(report_of(check)).replace("\\", "")
    assert len(results(check, "sdk-lost")) == 1


def test_a_lost_value_is_named(changed: Callable[..., SdkCheck]) -> None:
    check = changed("h2d: [mcMemcpyHostToDevice]", "h2d: []")
    assert check.exit_code == 1
    assert check.lost_names == ("constant memcpy_kind.h2d",)
    assert [(one.message, one.hint) for one in check.lost] == [
        ("the vendor file names no memcpy_kind.h2d", "add it under constants: memcpy_kind:")
    ]


def test_a_part_that_cannot_be_used_is_left_out_by_name(changed: Callable[..., SdkCheck]) -> None:
    check = changed("expr: mcblasCreate(handle)", "expr: mcblasCreat(handle)")
    assert check.exit_code == 0
    assert check.absent_groups == ("blas",)
    said = "this SDK refuses the binding of blas.create: clang: use of undeclared identifier 'mcblasCreat'"
    text = check_text(check, WIDE)
    assert f"group    blas     mcBLAS        optional  left out: {said}\n" in text
    assert "did you mean mcblasCreate?" in text
    assert "0 left out, without the group blas, nothing required is lost" in summary(check)
    (result,) = results(check, "sdk-group")
    assert result["message"]["text"].startswith(f"mcBLAS cannot be used: left out: {said}\n")
    assert "did you mean mcblasCreate" in report_html(report_of(check))
    assert "did you mean mcblasCreate" in report_markdown(report_of(check))


def test_only_filters_the_closing_lists_too(check: Check) -> None:
    found = check("mlu@sim:6.0")
    lost = check_text(found, Look(only=("lost",)))
    assert "by strategy\n" not in lost
    assert "rest on an inferred fact\n" not in lost
    strategies = check_text(found, Look(only=("strategy",)))
    assert f"\n{len(found.in_state('strategy'))} by strategy\n" in strategies
    assert "rest on an inferred fact\n" not in strategies


def test_an_operation_without_a_binding_is_told_at_the_key_of_all_bindings(check: Check) -> None:
    found = check("maca@sim")
    (result,) = [
        one for one in results(found, "sdk-strategy") if "stream.synchronize_default" in one["message"]["text"]
    ]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region["snippet"]["text"] == "bindings:"
    assert region["startColumn"] == 1
