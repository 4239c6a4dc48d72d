"""`fl-gen sdk diff` on the simulated SDKs and on SDKs that were tampered with: fates of bindings, files, exit codes."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.report.diff_json import diff_json, diff_schema
from fl_gen.report.diff_markdown import diff_markdown
from fl_gen.report.diff_text import DiffLook, diff_text
from fl_gen.report.diff_words import headline, summary
from fl_gen.report.markdown import LIMIT
from fl_gen.schema.paths import data_dir
from fl_gen.tasks.codec import from_json
from fl_gen.tasks.diff_values import SdkDiff
from fl_gen.tasks.sdk_diff import DiffError, diff_sdks
from fl_gen.workflow.request import Request

SCHEMA = data_dir() / "schemas" / "jsonschema" / "sdk-diff.json"
API = data_dir() / "schemas" / "vendors" / "mlu" / "api.yaml"

Tampered = Callable[..., Path]


@pytest.fixture(scope="module")
def request_(tmp_path_factory: pytest.TempPathFactory) -> Request:
    folder = tmp_path_factory.mktemp("diff")
    return Request("mlu", output=folder / "out", cache=folder / "cache")


@pytest.fixture(scope="module")
def upgrade(request_: Request) -> SdkDiff:
    return diff_sdks(request_, ["sim:6.0"], ["sim:6.14"], patch=True)


@pytest.fixture(scope="module")
def downgrade(request_: Request) -> SdkDiff:
    return diff_sdks(request_, ["sim:6.0"], ["sim:4.3"])


@pytest.fixture
def tampered(tmp_path: Path) -> Tampered:
    """A folder with the headers of the newest simulated SDK in which texts were replaced; each must occur."""
    made = 0

    def make(*replacements: tuple[str, str], without: tuple[str, ...] = ()) -> Path:
        nonlocal made
        made += 1
        root = tmp_path / f"neuware{made}"
        used = set()
        for name, text in render_headers(load_api(API)).items():
            if name in without:
                continue
            for old, new in replacements:
                if old in text:
                    used.add(old)
                text = text.replace(old, new)
            path = root / "include" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert used == {old for old, _ in replacements}
        return root

    return make


def fates(diff: SdkDiff) -> set[tuple[str, str]]:
    return {(one.fate, one.name) for one in diff.bindings}


def test_an_upgrade_gains_calls_and_switches_candidates(upgrade: SdkDiff) -> None:
    assert upgrade.exit_code == 0
    assert upgrade.old.version is not None
    assert upgrade.old.version.startswith("6.0")
    assert ("gained", "memory.alloc_async") in fates(upgrade)
    assert ("switched", "memory.copy_async") in fates(upgrade)
    assert not upgrade.fates("lost")
    gained = next(one for one in upgrade.bindings if one.name == "memory.alloc_async")
    assert (gained.old.strategy, gained.new.code) == ("sync", ("cnrtMemAllocAsync(ptr, size, stream)",))
    assert [one.message for one in gained.reasons] == ["clang: use of undeclared identifier 'cnrtMemAllocAsync'"]
    switched = next(one for one in upgrade.bindings if one.name == "memory.copy_async")
    assert switched.old.candidate != switched.new.candidate
    assert switched.reasons[0].location.file.endswith("vendor.yaml")


def test_what_the_backend_uses_is_marked(upgrade: SdkDiff) -> None:
    used = {one.name: one for one in upgrade.used}
    assert used["cnrtMemAllocAsync"].used_by == ("memory.alloc_async",)
    assert (used["cnrtDeviceProp_t"].kind, used["cnrtDeviceProp_t"].change) == ("record", "changed")
    first_unused = next(number for number, one in enumerate(upgrade.changes) if not one.used_by)
    assert all(not one.used_by for one in upgrade.changes[first_unused:])
    rest = {(one.change, one.name) for one in upgrade.changes if not one.used_by}
    assert {("changed", "CNRT_MINOR_VERSION"), ("appeared", "cnrtMemPoolCreate"), ("changed", "cnrtAttrMaxNum")} <= rest


def test_the_patch_makes_the_files_of_the_new_sdk(upgrade: SdkDiff, request_: Request, tmp_path: Path) -> None:
    from dataclasses import replace

    from fl_gen.render.formatter import format_tree
    from fl_gen.workflow.generate import prepare

    style = (data_dir() / "templates" / "infinitrain" / "clang-format.yaml").read_text(encoding="utf-8")
    before, after = (prepare(replace(request_, sdk=(sdk,), formatted=False)).files for sdk in ("sim:6.0", "sim:6.14"))
    differing = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert differing - {"manifest.json"} == {one.path for one in upgrade.files}
    assert upgrade.files_same + len(upgrade.files) == len(before) - 1
    old, new = (
        format_tree({one.path: files[one.path] for one in upgrade.files if one.path in files}, style, request_.cache)
        for files in (before, after)
    )
    for path, text in old.items():
        place = tmp_path / "generated" / "mlu" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    assert upgrade.patch is not None
    done = subprocess.run(
        ["patch", "-p1", "--batch"], cwd=tmp_path, input=upgrade.patch, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
    written = {
        path.relative_to(tmp_path / "generated" / "mlu").as_posix() for path in tmp_path.rglob("*") if path.is_file()
    }
    assert written == set(new)
    assert all(
        (tmp_path / "generated" / "mlu" / path).read_text(encoding="utf-8") == text for path, text in new.items()
    )


def test_counts_of_lines_are_those_of_the_texts() -> None:
    from fl_gen.tasks.diff_files import compare_files, unified

    old = {"same": "x\n", "gone": "1\n2\n", "kept": "a\nb\nc\n"}
    new = {"same": "x\n", "made": "1\n", "kept": "a\nB\nB\nc"}
    assert [(one.path, one.change, one.added, one.removed) for one in compare_files(old, new)] == [
        ("gone", "vanished", 0, 2),
        ("kept", "changed", 2, 1),
        ("made", "appeared", 1, 0),
    ]
    patch = unified(old, new, "generated/x")
    assert patch.splitlines()[:5] == ["--- a/generated/x/gone", "+++ /dev/null", "@@ -1,2 +0,0 @@", "-1", "-2"]
    assert "\\ No newline at end of file" in patch
    assert "same" not in patch


def test_a_downgrade_loses_calls_and_says_what_stands_in(downgrade: SdkDiff) -> None:
    assert downgrade.exit_code == 1
    assert not downgrade.new.lost
    lost = {one.name: one for one in downgrade.fates("lost")}
    assert (lost["device.get"].new.state, lost["device.get"].new.strategy) == ("strategy", "remembered")
    assert [one.message for one in lost["device.get"].reasons] == [
        "clang: use of undeclared identifier 'cnrtGetDevice'"
    ]
    assert (lost["ccl.all_reduce"].new.state, lost["ccl.all_reduce"].missing_header) == ("absent", "cncl.h")
    assert ("vanished", "src/ccl/cncl_impl.cc") in {(one.change, one.path) for one in downgrade.files}
    assert headline(downgrade)[0].startswith(
        "The new SDK has no blas: cnnl.h is not there, and with it go 4 operations, "
    )


def test_an_sdk_to_itself_is_nothing(request_: Request) -> None:
    from dataclasses import replace

    diff = diff_sdks(replace(request_, vendor="maca"), ["sim"], ["sim"])
    assert (diff.exit_code, diff.bindings, diff.changes, diff.files) == (0, (), (), ())
    assert headline(diff) == [
        "Nothing changes for this backend.",
        f"All {diff.files_same} generated files stay as they are.",
    ]
    assert diff.files_same > 50


def test_a_required_binding_that_is_lost_is_a_result_and_no_error(request_: Request, tampered: Tampered) -> None:
    new = tampered(("cnrtMalloc(", "cnrtMallocOther("))
    diff = diff_sdks(request_, ["sim"], [str(new)])
    assert diff.exit_code == 1
    (lost,) = diff.fates("lost")
    assert (lost.name, lost.required, lost.new.state) == ("memory.alloc", True, "lost")
    assert diff.files_problem is not None
    assert diff.files_problem.startswith(
        "new SDK: there is no backend on it: memory.alloc is required, and this SDK refuses"
    )
    assert headline(diff)[:2] == [
        "There is no backend on the new SDK: 1 thing that no backend can do without is not there.",
        "1 operation is lost: memory.alloc.",
    ]
    assert ("vanished", "cnrtMalloc") in {(one.change, one.name) for one in diff.used}
    back = diff_sdks(request_, [str(new)], ["sim"])
    assert back.exit_code == 0
    assert fates(back) == {("gained", "memory.alloc")}
    assert "There is no backend on the old SDK" in headline(back)[0]


def test_a_lost_optional_part_and_a_lost_constant_are_losses(request_: Request, tampered: Tampered) -> None:
    new = tampered(("cnclBfloat16", "cnclBrainFloat"), without=("cnnl.h",))
    diff = diff_sdks(request_, ["sim"], [str(new)])
    lost = {one.name: one for one in diff.fates("lost")}
    assert diff.exit_code == 1
    assert (lost["ccl_dtype.bfloat16"].kind, lost["ccl_dtype.bfloat16"].missing_header) == ("constant", None)
    assert lost["blas.create"].missing_header == "cnnl.h"
    text = diff_text(diff, DiffLook())
    assert "  lost         all of blas\n" in text
    assert "blas.set_stream (" not in text


def test_a_deprecation_of_a_call_in_use(request_: Request, tampered: Tampered) -> None:
    call = "cnrtRet_t cnrtMemcpyAsync_V3("
    new = tampered((call, f'__attribute__((deprecated("use _V4"))) {call}'))
    diff = diff_sdks(request_, ["sim"], [str(new)])
    assert diff.exit_code == 0
    assert ("deprecated", "cnrtMemcpyAsync_V3") in {(one.change, one.name) for one in diff.used}
    # The one before it in the vendor file is refused by these headers, or the next one is taken instead.
    assert {one.fate for one in diff.bindings if one.name == "memory.copy_async"} <= {"deprecated", "switched"}
    assert "memory.copy_async" in {one.name for one in diff.bindings}


def test_no_verdict_says_which_side_and_both_when_it_is_both(request_: Request, tampered: Tampered) -> None:
    broken = tampered(("#define CNRT_MAJOR_VERSION", "struct {\n#define CNRT_MAJOR_VERSION"))
    with pytest.raises(DiffError) as one:
        diff_sdks(request_, ["sim"], [str(broken)])
    first, second = str(one.value).splitlines()[:2]
    assert first == f"no verdict on the new SDK (--to {broken}):"
    assert second.startswith(f"{broken}/include/cnrt.h:")
    assert "no verdict on the old SDK" not in str(one.value)
    with pytest.raises(DiffError) as both:
        diff_sdks(request_, [str(broken)], [str(broken)])
    assert [line for line in str(both.value).splitlines() if line.startswith("no verdict")] == [
        f"no verdict on the old SDK (--from {broken}):",
        f"no verdict on the new SDK (--to {broken}):",
    ]
    assert " or with --sdk" not in str(both.value)
    with pytest.raises(DiffError) as gone:
        diff_sdks(request_, ["/nowhere"], ["/else where"])
    assert "no verdict on the old SDK (--from /nowhere):\n--from /nowhere does not exist\n" in str(gone.value)
    assert "no verdict on the new SDK (--to '/else where'):\n--to /else where does not exist\n" in str(gone.value)
    with pytest.raises(DiffError) as other:
        diff_sdks(request_, ["sim"], ["/usr"])
    assert str(other.value).endswith("\n  = name the folder that holds include/cnrt.h with --to")


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os._exit(3)", "the process that looked at this SDK ended with exit code 3\n"),
        ("import os; os.kill(os.getpid(), 9)", "the process that looked at this SDK was ended by signal 9\n"),
        (
            "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from fl_gen.tasks import sdk_diff as t; "
            "t._seen = None; t.child()",
            "internal error: TypeError: 'NoneType' object is not callable\n  = this is a fault of fl-gen",
        ),
    ],
)
def test_a_second_process_that_dies_is_no_verdict_on_its_side(
    request_: Request, monkeypatch: pytest.MonkeyPatch, program: str, words: str
) -> None:
    from fl_gen.tasks import sdk_diff

    monkeypatch.setattr(sdk_diff, "_PROGRAM", program)
    monkeypatch.delenv("FL_GEN_TRACEBACK", raising=False)
    with pytest.raises(DiffError) as error:
        diff_sdks(request_, ["sim:6.0"], ["sim:4.3"])
    assert str(error.value).startswith(f"no verdict on the old SDK (--from sim:6.0):\n{words}")


def test_json_is_valid_and_its_schema_is_the_published_one(upgrade: SdkDiff, downgrade: SdkDiff) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert SCHEMA.read_text(encoding="utf-8") == diff_schema()
    for diff in (upgrade, downgrade):
        data = json.loads(diff_json(diff))
        jsonschema.validate(data, schema)
        assert from_json(SdkDiff, data) == diff


@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_keeps_to_the_width_and_begins_with_the_meaning(upgrade: SdkDiff, width: int) -> None:
    from dataclasses import replace

    text = diff_text(replace(upgrade, patch=None), DiffLook(width=width))
    lines = text.splitlines()
    assert "\x1b" not in text
    unbroken = ("next  ", "  changed    +")  # to be copied, and file names
    wide = [line for line in lines if len(line) > max(width, 36) and not line.startswith(unbroken)]
    assert [line for line in wide if len(line.split()) > 3] == []
    if width == 120:
        assert lines[0] == "Cambricon MLU: 6.0.2 -> 6.14.1"
        assert lines[4] == "Nothing that this backend uses is lost."
        assert lines[-1].startswith("mlu: ") or lines[-2].startswith("mlu: ")
    painted = diff_text(replace(upgrade, patch=None), DiffLook(width=width, color=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == text


def test_markdown_fits_a_comment_and_holds_no_html(upgrade: SdkDiff, downgrade: SdkDiff) -> None:
    from dataclasses import replace

    for diff in (
        upgrade,
        downgrade,
        replace(downgrade, patch="+x\n" * 100_000),
        replace(downgrade, patch="+" + "y" * 99_999),
    ):
        text = diff_markdown(diff)
        assert len(text) <= LIMIT
        outside = re.sub(r"(`+).*?\1", "", text, flags=re.DOTALL)
        assert "<" not in outside
        assert text.splitlines()[0].startswith("### ")
        assert text.count("````") % 2 == 0
    assert "- Nothing that this backend uses is lost." in diff_markdown(upgrade)
    assert "- **The new SDK has no blas" in diff_markdown(downgrade)
    assert "more lines of the patch" in diff_markdown(replace(upgrade, patch="+x\n" * 100_000))


def test_a_name_that_drives_a_terminal_or_a_table_is_shown_as_text(upgrade: SdkDiff) -> None:
    from dataclasses import replace

    evil = replace(upgrade.changes[0], name="a|b`c\x1b[2J", new="x | y\n\x07", used_by=("op",))
    diff = replace(upgrade, changes=(evil,), patch=None)
    assert "\x1b[2J" not in diff_text(diff, DiffLook())
    row = next(line for line in diff_markdown(diff).splitlines() if "\\x1b" in line and line.startswith("|"))
    assert row.replace("\\|", "").count("|") == 6


def test_the_summary_counts(upgrade: SdkDiff) -> None:
    text = summary(upgrade)
    assert text.startswith("mlu: ")
    assert "nothing lost" in text
    assert f"{len(upgrade.files)} of {len(upgrade.files) + upgrade.files_same} generated files change" in text
