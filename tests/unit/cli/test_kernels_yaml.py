"""`backends/<vendor>/kernels.yaml` as people write it, and `fl-gen kernel new`, which adds to it and changes nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_gen.schema.errors import SchemaError
from fl_gen.schema.kernels import empty_listing, with_entry
from unit.cli.conftest import Run, snapshot

NEW = "{op: B, file: b.mlu}"
FORMS = {
    "empty": (empty_listing(), f"schema: 1\nkernels:\n  - {NEW}\n"),
    "nothing": ("schema: 1\nkernels:", f"schema: 1\nkernels:\n  - {NEW}\n"),
    "null": ("schema: 1\nkernels: ~\n", f"schema: 1\nkernels:\n  - {NEW}\n"),
    "empty with a comment": ("schema: 1\nkernels: [] # c\n", f"schema: 1\nkernels: # c\n  - {NEW}\n"),
    "nothing with a comment": ("schema: 1\nkernels: # c\n", f"schema: 1\nkernels: # c\n  - {NEW}\n"),
    "key behind": ("kernels: []\nschema: 1\n", f"kernels:\n  - {NEW}\nschema: 1\n"),
    "block before a key": (
        "kernels:\n- {op: A, file: a.mlu}\nschema: 1\n",
        f"kernels:\n- {{op: A, file: a.mlu}}\n- {NEW}\nschema: 1\n",
    ),
    "block with comments": (
        "schema: 1\nkernels:\n    - op: A # x\n      file: a.mlu # y\n# tail\n",
        f"schema: 1\nkernels:\n    - op: A # x\n      file: a.mlu # y\n    - {NEW}\n# tail\n",
    ),
    "no final line end": (
        "schema: 1\nkernels:\n  - {op: A, file: a.mlu}",
        f"schema: 1\nkernels:\n  - {{op: A, file: a.mlu}}\n  - {NEW}\n",
    ),
    "CRLF": (
        "schema: 1\r\nkernels:\r\n  - {op: A, file: a.mlu}\r\n",
        f"schema: 1\r\nkernels:\r\n  - {{op: A, file: a.mlu}}\r\n  - {NEW}\r\n",
    ),
    "byte order mark": ("\ufeffschema: 1\nkernels: []\n", f"\ufeffschema: 1\nkernels:\n  - {NEW}\n"),
    "flow": (
        "schema: 1\nkernels: [{op: A, file: a.mlu, dtypes: [float32]}]\n",
        f"schema: 1\nkernels: [{{op: A, file: a.mlu, dtypes: [float32]}}, {NEW}]\n",
    ),
    "flow on several lines": (
        "schema: 1\nkernels: [\n  {op: A, file: a.mlu}, # c\n]\n",
        f"schema: 1\nkernels: [\n  {{op: A, file: a.mlu}}, {NEW}, # c\n]\n",
    ),
    "all flow": (
        "{schema: 1, kernels: [{op: A, file: a.mlu}]}",
        f"{{schema: 1, kernels: [{{op: A, file: a.mlu}}, {NEW}]}}",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_entry_is_added_and_all_else_stays(form: str) -> None:
    before, after = FORMS[form]
    assert with_entry(before, "kernels.yaml", "B", "b.mlu") == after


@pytest.mark.parametrize(
    "text", ["{schema: 1, kernels: []}", "schema: 1\nkernels:\n  - {op: A,\n     file: a.mlu\n    }\n"]
)
def test_a_form_that_is_not_understood_is_left_to_its_writer(text: str) -> None:
    with pytest.raises(SchemaError) as caught:
        with_entry(text, "kernels.yaml", "B", "b.mlu")
    assert "cannot be added to this list as it is written" in caught.value.render()
    assert "= add it yourself: - {op: B, file: b.mlu}" in caught.value.render()


def test_kernel_new_keeps_a_persons_file(run: Run, tree: Path) -> None:
    listing = tree / "backends" / "mlu" / "kernels.yaml"
    listing.write_bytes(b"# mine\r\nkernels: [{op: Fill, file: fill.mlu}] # k\r\nschema: 1\r\n")
    assert run("kernel", "new", "mlu", "AddForward", "-o", tree).code == 0
    assert listing.read_bytes() == (
        b"# mine\r\nkernels: [{op: Fill, file: fill.mlu}, {op: AddForward, file: add_forward.mlu}] # k\r\nschema: 1\r\n"
    )
    assert "AddForward" in (tree / "backends" / "mlu" / "kernels" / "add_forward.mlu").read_text()
    before = snapshot(tree)
    again = run("kernel", "new", "mlu", "AddForward", "-o", tree)
    assert (again.code, "AddForward is in w/backends/mlu/kernels.yaml already" in again.err) == (2, True)
    assert snapshot(tree) == before


def test_kernel_new_does_not_touch_a_file_that_is_there(run: Run, tree: Path) -> None:
    (tree / "backends" / "mlu" / "kernels" / "add_forward.mlu").write_text("mine\n")
    before = snapshot(tree)
    result = run("kernel", "new", "mlu", "AddForward", "-o", tree)
    assert result.code == 2
    assert "add_forward.mlu: there is a file of that name already" in result.err
    assert snapshot(tree) == before


BAD = {
    "folder": (None, "this is a folder, not a schema file"),
    "empty": ("", "the file is empty"),
    "long file": (
        f"schema: 1\nkernels: [{{op: AddForward, file: kernels/{'9' * 129}}}]\n",
        "a part of it is longer than 128 characters",
    ),
    "long path": (
        f"schema: 1\nkernels: [{{op: AddForward, file: {'a/' * 513}b}}]\n",
        "it is longer than 1024 characters",
    ),
    "outside": ("schema: 1\nkernels: [{op: AddForward, file: ../../x}]\n", "it must stay inside its folder: no '..'"),
    "absolute": ("schema: 1\nkernels: [{op: AddForward, file: /etc/passwd}]\n", "it must be relative"),
    "unknown op": ("schema: 1\nkernels: [{op: Nope, file: x.mlu}]\n", "unknown op 'Nope'"),
    "twice": (
        "schema: 1\nkernels: [{op: AddForward, file: x.mlu}, {op: AddForward, file: y.mlu}]\n",
        "the kernel of 'AddForward' stands twice",
    ),
    "no source": (
        "schema: 1\nkernels: [{op: AddForward, file: x.mlu}]\n",
        "there is no file w/backends/mlu/kernels/x.mlu",
    ),
    "a view": ("schema: 1\nkernels: [{op: NoOpForward, file: x.mlu}]\n", "NoOpForward is a view"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_kernels_file(run: Run, tree: Path, case: str) -> None:
    text, message = BAD[case]
    listing = tree / "backends" / "mlu" / "kernels.yaml"
    listing.unlink()
    if text is None:
        listing.mkdir()
    else:
        listing.write_text(text)
    before = snapshot(tree)
    result = run("backend", "mlu", "--sdk", "sim", "-o", tree)
    assert result.code == 2
    assert result.err.startswith("w/backends/mlu/kernels.yaml:")
    assert message in result.err
    assert snapshot(tree) == before
