"""The Markdown of an SDK check: tables that hold together whatever is in them, and a length that has an end."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fl_gen.report.markdown import LIMIT, block, code, escaped, report_markdown
from fl_gen.tasks.sdk_values import CheckReport, SdkCheck
from unit.report.conftest import HOSTILE, hostile, report_of, stopped

Check = Callable[..., SdkCheck]


def cells(row: str) -> list[str]:
    """The cells of a row as a renderer cuts them: at bars without a backslash."""
    return re.split(r"(?<!\\)\|", row)[1:-1]


def tables(text: str) -> list[list[str]]:
    """The tables of a page, as rows."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("|"):
            if not found or found[-1][-1] == "":
                found.append([])
            found[-1].append(line)
        elif found:
            found[-1].append("")
    return [[row for row in rows if row] for rows in found]


@pytest.mark.parametrize("target", ["mlu@sim:6.14", "mlu@sim:6.0", "mlu@sim:4.3", "maca@sim"])
def test_tables_hold_together(check: Check, target: str) -> None:
    found = check(target)
    text = report_markdown(report_of(found))
    for rows in tables(text):
        assert len({len(cells(row)) for row in rows}) == 1, rows[0]
    total = tables(text)[0]
    assert cells(total[2])[0].strip() == f"`{target}`"
    assert f"{found.coverage.bound} of {found.coverage.total} ({found.coverage.percent:g} %)" in total[2]
    last = tables(text)[-1]
    names = [cells(row)[0].strip(" `") for row in last[2:]]
    assert names == [one.name for one in found.operations if one.state != "absent"]


def test_what_is_lost_comes_first(check: Check, lossy: Path) -> None:
    text = report_markdown(report_of(check("mlu@sim:6.14", lossy)))
    assert "| **2 lost** |" in text
    lost, strategies, watch, folded = (
        text.index(one) for one in ("**Lost: ", "**Strategies**", "**To watch**", "<details>")
    )
    assert lost < strategies < watch < folded
    assert "use of undeclared identifier 'cnrtGetDeviceCoun'" in text[lost:strategies]
    assert "| `ccl.comm_abort` | left out |" in text[watch:folded]


def test_hostile_text_stays_in_its_cell(check: Check) -> None:
    text = report_markdown(report_of(hostile(check("mlu@sim:6.0"))))
    for rows in tables(text):
        assert len({len(cells(row)) for row in rows}) == 1, rows[0]
    outside = re.sub(r"(`+)[^`].*?[^`]?\1(?!`)", "", text)
    assert "<script" not in outside
    assert not re.search(r"(?<![\\`])\*star", outside)
    assert "@user" not in outside
    assert "#12" not in outside
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_each_special_character() -> None:
    assert escaped("a|b") == "a\\|b"
    assert escaped("`*_[]~\\") == "\\`\\*\\_\\[\\]\\~\\\\"
    assert escaped("<b> & @x #1") == "&lt;b&gt; &amp; &#64;x &#35;1"
    assert escaped("a\n  b\r\n\tc") == "a b c"
    assert escaped("x" * 300).endswith("x…")
    assert len(escaped("x" * 300)) == 240
    assert code("a | b") == "`a \\| b`"
    assert code("``x`") == "``` ``x` ```"
    assert code("") == "` `"
    assert block("a\n```\nb", 100) == "````text\na\n```\nb\n````"
    assert block("x" * 50, 10) == "```text\nxxxxxxxxxx…\n```"


@pytest.mark.parametrize("count", [1, 3, 12, 400])
def test_the_length_has_an_end(check: Check, count: int) -> None:
    long = replace(hostile(check("mlu@sim:4.3")), target="mlu@" + "x" * 500)
    report = report_of(*[long] * count)
    text = report_markdown(report)
    assert len(text) <= LIMIT
    assert len(text.encode()) < 2 * LIMIT
    for rows in tables(text):
        assert len({len(cells(row)) for row in rows}) == 1
    assert text.count("<details>") == text.count("</details>")
    if count >= 12:
        assert "the forms json and html hold all of them" in text


def test_the_last_target_is_shown_as_well(check: Check) -> None:
    text = report_markdown(report_of(*[check("mlu@sim:4.3")] * 11, replace(check("maca@sim"), target="the last")))
    assert "#### `the last`" in text
    assert "memory.pool\\_peak" not in text[text.index("#### `the last`") :]
    assert "`memory.pool_peak`" in text[text.index("#### `the last`") :]


def test_no_verdict() -> None:
    text = report_markdown(stopped(f"gone {HOSTILE}\n  = look elsewhere"))
    assert "| **no verdict** |" in text
    assert "  = look elsewhere\n```" in text
    assert "\x1b" not in text
    huge = stopped("x\n" * 100_000)
    assert len(report_markdown(huge)) <= LIMIT
    assert len(report_markdown(CheckReport(1, "fl-gen 1", 2, huge.results * 50))) <= LIMIT
