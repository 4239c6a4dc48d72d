"""The report of an SDK check for people: whole reports by their text, and what every one of them must keep to."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fl_gen.report.sdk_text import Look, check_text, report_text
from fl_gen.tasks.sdk_values import CheckReport, Coverage, SdkCheck
from unit.report.conftest import HOSTILE, hostile, report_of, stopped

GOLDEN = Path(__file__).parent / "golden"
UPDATE = "FL_GEN_UPDATE_GOLDEN=1 python -m pytest tests/unit/report"
Check = Callable[..., SdkCheck]


def machineless(check: SdkCheck) -> SdkCheck:
    """The check without what differs from machine to machine, and without the digest of simulated headers."""
    sdk = replace(check.sdk, libclang="clang version X", compiler_headers="those of this machine", digest="0" * 64)
    return replace(check, sdk=sdk)


@pytest.mark.parametrize(
    ("target", "look", "name"),
    [
        ("mlu@sim:6.14", Look(), "mlu-6.14"),
        ("mlu@sim:6.0", Look(), "mlu-6.0"),
        ("mlu@sim:4.3", Look(), "mlu-4.3"),
        ("maca@sim", Look(), "maca"),
        ("mlu@sim:4.3", Look(width=48), "mlu-4.3-narrow"),
        ("mlu@sim:6.0", Look(verbose=True, only=("strategy", "inferred")), "mlu-6.0-verbose"),
    ],
)
def test_the_whole_report(check: Check, target: str, look: Look, name: str) -> None:
    text = check_text(machineless(check(target)), look) + "\n"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("FL_GEN_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"if the change is meant: {UPDATE}"


@pytest.mark.parametrize("width", [40, 48, 75, 76, 100, 160])
def test_no_line_is_wider_than_the_terminal_but_for_words_to_copy(check: Check, width: int) -> None:
    for line in check_text(check("mlu@sim:4.3"), Look(width=width)).splitlines():
        words = line.split()
        assert len(line) <= width or max(map(len, words)) > width - 18 or len(words) <= 1, line


def test_what_is_lost_comes_first_at_the_end(check: Check, lossy: Path) -> None:
    found = check("mlu@sim:6.14", lossy)
    lines = check_text(found, Look()).splitlines()
    at = lines.index("LOST: device.count, status blas.success: no backend on this SDK")
    place = next(one for one in found.lost if one.message.startswith("device.count"))
    assert lines[at + 1].endswith(
        "this SDK does not have the success code (tried CNNL_STATUS_SUCCES): "
        "clang: use of undeclared identifier 'CNNL_STATUS_SUCCES'"
    )
    assert lines[at + 5 : at + 9] == [
        f"{place.location}: device.count is required, and this SDK refuses its binding: "
        "clang: use of undeclared identifier 'cnrtGetDeviceCoun'",
        f"{place.location.line:5d} |         const cnrtRet_t result = cnrtGetDeviceCoun(&value);",
        lines[at + 7],
        "  = did you mean cnrtGetDeviceCount?  cnrtRet_t cnrtGetDeviceCount(unsigned int *pCount)  (cnrt.h:365)",
    ]
    assert lines[at + 7].startswith("      |                                  ^")
    assert at < next(n for n, line in enumerate(lines) if line.endswith("by strategy"))
    assert "2 LOST" in " ".join(lines[-2:])
    assert "1 left out" in " ".join(lines[-2:])
    # Where there is no room for a line of YAML, there is none.
    narrow = check_text(found, Look(width=60))
    assert "const cnrtRet_t result" not in narrow.partition("LOST: ")[2]


def test_only_some_operations(check: Check, lossy: Path) -> None:
    found = check("mlu@sim:6.14", lossy)

    def shown(*kinds: str) -> set[str]:
        text = check_text(found, Look(only=kinds)).partition("\n\n")[2]
        return set(re.findall(r"^  ([a-z]+\.[a-z_]+)(?: \*)?  ", text, re.MULTILINE))

    assert shown("lost") == {"device.count"}
    assert shown("left-out") == {"ccl.comm_abort"}
    assert shown("strategy") == {one.name for one in found.in_state("strategy")}
    assert shown("inferred") == {one.name for one in found.inferred} != set()
    assert shown("lost", "left-out") == {"device.count", "ccl.comm_abort"}
    assert shown("required") == {one.name for one in found.operations if one.required}
    assert shown() == {one.name for one in found.operations}


def test_colour_is_only_added(check: Check, lossy: Path) -> None:
    found = check("mlu@sim:6.14", lossy)
    coloured = check_text(found, Look(color=True))
    assert "\x1b[1;31mLOST\x1b[0m" in coloured
    assert "\x1b[32mbound\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == check_text(found, Look())


def test_nothing_hostile_reaches_the_terminal(check: Check) -> None:
    text = check_text(hostile(check("mlu@sim:6.0")), Look(verbose=True))
    assert "\\x1b[31m" in text
    assert all(character == "\n" or character.isprintable() for character in text)


def test_libraries_and_roots_of_a_real_sdk(check: Check) -> None:
    found = check("mlu@sim:6.14")
    libraries = {"cnrt": "/sdk/lib64/libcnrt.so", "cnnl": None, "cncl": "/sdk/lib64/libcncl.so.1"}
    real = replace(
        found, sdk=replace(found.sdk, simulated=False, roots=("/sdk", "/more"), libraries=libraries, origin="NEUWARE_HOME")
    )  # fmt: skip
    text = check_text(real, Look())
    assert "         library cnrt: /sdk/lib64/libcnrt.so\n" in text
    assert "         library cnnl: NOT FOUND\n" in text
    assert "roots         /sdk, /more\n" in text
    assert "a test double), found by NEUWARE_HOME\n" in text
    assert "\n1 library not found\n  cnnl\n" in text
    assert "1 library not found" in text.splitlines()[-1]
    assert "test double is not built" not in text


def test_a_deprecated_choice(check: Check) -> None:
    found = check("maca@sim")
    first = next(one for one in found.operations if one.chosen is not None)
    assert first.chosen is not None
    old = replace(first, chosen=replace(first.chosen, deprecated="use the other"))
    text = check_text(replace(found, operations=(old, *found.operations[1:])), Look())
    assert "[deprecated]" in text
    assert f"\n1 uses a deprecated call\n  {first.name} (use the other)\n" in text


def test_several_targets_end_with_a_line_each(check: Check, lossy: Path) -> None:
    good, bad, none = report_of(check("maca@sim")), report_of(check("mlu@sim:6.14", lossy)), stopped("gone\n  = look")
    report = CheckReport(1, "fl-gen 1", 2, (*good.results, *bad.results, *none.results))
    text = report_text(report, Look(width=160))
    assert re.findall(r"^=== (.*) ===$", text, re.MULTILINE) == ["maca@sim", "mlu@sim:6.14", "mlu@x"]
    assert "=== mlu@x ===\nno verdict\ngone\n  = look\n" in text
    assert [line.partition(": ")[0] for line in text.splitlines()[-3:]] == ["maca@sim", "mlu@sim:6.14", "mlu@x"]
    assert text.endswith("mlu@x: NO VERDICT: gone\n")


def test_coverage_is_cut_never_rounded_up(check: Check) -> None:
    one = check("maca@sim").operations[0]
    assert one.state == "bound"
    lost = replace(one, state="lost")
    assert Coverage.of([one] * 1999 + [lost]) == Coverage(1999, 2000, 99.9)
    assert Coverage.of([one] * 3) == Coverage(3, 3, 100.0)
    assert Coverage.of([lost]) == Coverage(0, 1, 0.0)
    assert Coverage.of([]) == Coverage(0, 0, 100.0)


def test_the_hostile_text_is_hostile() -> None:
    assert {"<", "|", "`", "\x1b", "\u202e"} <= set(HOSTILE)


def test_many_inferred_facts_are_named_not_explained(check: Check) -> None:
    found = check("musa@sim")
    assert len(found.inferred) > 12
    text = check_text(found, Look())
    at = text.index(f"\n{len(found.inferred)} rest on an inferred fact (--verbose says from where)\n")
    listed = " ".join(text[at:].partition("\n\n")[0].split())
    assert ", ".join(one.name for one in found.inferred) in listed
    assert "(--verbose" not in check_text(found, Look(verbose=True))


def test_other_candidates_that_hold_are_told(check: Check) -> None:
    found = check("mlu@sim:6.14")
    spare = next(one for one in found.operations if one.also_fit and one.chosen is not None)
    assert spare.chosen is not None
    numbers = ", ".join(str(number + 1) for number in spare.also_fit)
    text = " ".join(check_text(found, Look(verbose=True)).split())
    assert f"candidate {spare.chosen.index + 1}; of the others, {numbers} would hold as well" in text
