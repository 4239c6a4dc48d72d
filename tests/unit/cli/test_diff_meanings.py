"""`fl-gen diff`: changes that leave every signature as it was, and are more than text all the same."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from fl_gen.schema.paths import data_dir

from .conftest import Run
from .test_diff import OPS, fresh, git, project

__all__ = ["fresh", "project"]  # fixtures

VENDOR = "vendors/mlu/vendor.yaml"


def edit_op(project: Path, name: str, *edits: tuple[str, str]) -> None:
    """Replace each pattern, all of it, in the entry of an op."""
    path = project / "schemas" / OPS
    head, entry, tail = re.split(rf"(?<=\n)(  - name: {name}\n.*?\n)(?=\n|\Z)", path.read_text("utf-8"), flags=re.S)
    for pattern, new in edits:
        entry, count = re.subn(pattern, new, entry)
        assert count
    path.write_text(head + entry + tail, "utf-8")


def meanings(run: Run) -> dict[str, list[tuple[Any, ...]]]:
    result = run("diff", "--base", "HEAD", "--format", "json")
    assert (result.code, result.err) == (1, "")
    return {
        one["title"]: [(m["effect"], m["subject"], m["old"], m["new"]) for m in one["meanings"]]
        for one in json.loads(result.out)["causes"]
    }


def test_what_no_signature_shows(project: Path, run: Run) -> None:
    vendor = project / "schemas" / VENDOR
    vendor.parent.mkdir(parents=True)
    text = (data_dir() / "schemas" / VENDOR).read_text("utf-8")
    vendor.write_text(text, "utf-8")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "two")
    vendor.write_text(text.replace("success: [CNNL_STATUS_SUCCESS]", "success: [CNNL_STATUS_ALLOC_FAILED]"), "utf-8")
    edit_op(project, "AddForward", (r"promote\(a, b\)", "same(a)"))
    edit_op(
        project, "SubForward", (r"\{name: a, ", "{name: z, "), (r"\{name: b, ", "{name: a, "), ("name: z", "name: b")
    )
    edit_op(
        project,
        "DivForward",
        (r"\{name: a, ", "{name: left, "),
        (r"promote\(a,", "promote(left,"),
        (r"\{a: ", "{left: "),
    )
    found = meanings(run)
    reordered = [("parameters reordered", "SubForward", "SubForward(a, b)", "SubForward(b, a)")]
    assert found["ops/elementwise.yaml: SubForward.params[0]"] == reordered
    assert found["ops/elementwise.yaml: SubForward.params[1]"] == reordered
    assert found["ops/elementwise.yaml: AddForward.output_dtype"] == [
        ("dtypes changed", "AddForward", "result promote(a, b)", "result same(a)")
    ]
    assert found["vendors/mlu/vendor.yaml: statuses.blas.success"] == [
        ("constant changed", "blas.success", "CNNL_STATUS_SUCCESS", "CNNL_STATUS_ALLOC_FAILED")
    ]
    # Another name for a parameter is no more than that.
    renamed = {one for title, many in found.items() if ": DivForward." in title for one in many}
    assert renamed == {("text only", "", None, None)}


def test_another_order_of_other_types_is_another_signature(project: Path, run: Run) -> None:
    edit_op(project, "GtScalarForward", (r"(?m)^(      - \{name: a,.*\n)(      - \{name: scalar,.*\n)", r"\2\1"))
    effects = {one[0] for many in meanings(run).values() for one in many}
    assert effects == {"signature changed"}
