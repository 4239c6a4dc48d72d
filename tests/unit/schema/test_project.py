"""fl-gen.yaml: what is wrong is told at its place; an edit keeps every byte that it is not about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fl_gen.schema.errors import SchemaError
from fl_gen.schema.project_edit import project_text, with_vendor, with_version
from fl_gen.schema.project_spec import read_project
from unit.schema.samples import PROJECT

HEAD = "schema: 1\ngenerator: 0.1.0\nframework: infinitrain\n"


def test_every_value_is_read() -> None:
    project = read_project(PROJECT, "fl-gen.yaml")
    assert (project.generator, project.framework, project.output) == ("0.1.0", "infinitrain", ".")
    assert (project.licence, project.schemas, project.templates) == (
        "LICENCE.header",
        ("schemas",),
        ("templates", "more/templates"),
    )
    assert {name: (one.sdk, one.require) for name, one in project.vendors.items()} == {
        "mlu": (("sim:6.14",), ("ccl",)),
        "maca": (("/opt/maca",), ()),
        "ascend": ((), ()),
    }


def test_what_is_left_out_has_a_default() -> None:
    project = read_project(HEAD + "vendors:\n  mlu:\n", "fl-gen.yaml")
    assert (project.output, project.formatter, project.licence, project.schemas) == (".", "clang-format", None, ())


WRONG = {
    "misspelt key": (
        HEAD + "templats: [t]\nvendors:\n",
        "fl-gen.yaml:4:1: unknown key 'templats' in a project file\n"
        "    4 | templats: [t]\n"
        "      | ^~~~~~~~\n"
        "  = did you mean 'templates'?",
    ),
    "no vendors": (HEAD, "fl-gen.yaml:1:1: a project file needs the key 'vendors'"),
    "formatter": (HEAD + "formatter: clang-formt\nvendors:\n", "fl-gen.yaml:4:12: 'formatter' must be one of"),
    "output above": (
        HEAD + "output: ../x\nvendors:\n",
        "fl-gen.yaml:4:9: 'output' must be a folder, not '../x'\n"
        "    4 | output: ../x\n"
        "      |         ^~~~\n"
        "  = it must stay inside the folder of this file: put the file where generated/ is to be",
    ),
    "output absolute": (HEAD + "output: /x\nvendors:\n", "it must be relative to the folder of this file"),
    "torch elsewhere": (
        HEAD + "torch: .venv\nvendors:\n",
        "fl-gen.yaml:4:8: it goes with framework: torch, and this is framework: infinitrain\n"
        "    4 | torch: .venv\n"
        "      |        ^~~~~\n"
        "  = remove it",
    ),
    "sim with others": (
        HEAD + "vendors:\n  mlu: {sdk: [sim, /opt]}\n",
        "fl-gen.yaml:5:14: 'sim' is a whole SDK and cannot be combined with others",
    ),
    "sim without version": (HEAD + "vendors:\n  mlu: {sdk: 'sim:'}\n", "write sim for the newest simulated SDK"),
    "vendor": (HEAD + "vendors:\n  MLU:\n", "fl-gen.yaml:5:3: a key of 'vendors' must be a vendor name, not 'MLU'"),
    "path traversal in a vendor": (HEAD + "vendors:\n  ../x:\n", "must be a vendor name, not '../x'"),
    "vendor twice": (HEAD + "vendors:\n  mlu:\n  mlu:\n", "fl-gen.yaml:6:3: "),
    "another format": (HEAD.replace("1", "2", 1) + "vendors:\n", "fl-gen.yaml:1:9: 'schema' must be 1, not 2"),
    "a bomb": (HEAD + "a: &a [1]\nvendors: *a\n", "fl-gen.yaml:4:4: "),
    "NUL": (HEAD + "vendors:\n  mlu: {sdk: 'a\0b'}\n", "the character U+0000 is not allowed"),
    "version": (
        HEAD.replace("0.1.0", "new") + "vendors:\n",
        "fl-gen.yaml:2:12: 'generator' must be a version of fl-gen",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_at_its_place(case: str) -> None:
    text, message = WRONG[case]
    with pytest.raises(SchemaError) as caught:
        read_project(text, "fl-gen.yaml")
    assert message in caught.value.render()


def test_all_errors_at_once() -> None:
    with pytest.raises(SchemaError) as caught:
        read_project("schema: 2\ngenerator: x y\nframework: F\nvendors: []\n", "fl-gen.yaml")
    assert caught.value.render().endswith("4 errors")


EDITS = {
    "another value": ("  mlu: {sdk: sim}   # mine\n", "  mlu: {sdk: sim:6.0}   # mine\n"),
    "a list": ("  mlu: {sdk: [/a, /b]}  # mine\n", "  mlu: {sdk: sim:6.0}  # mine\n"),
    "a block": ("  mlu:\n    # why\n    sdk: sim  # mine\n", "  mlu:\n    # why\n    sdk: sim:6.0  # mine\n"),
    "nothing": ("  mlu:   # mine\n", "  mlu: {sdk: sim:6.0}   # mine\n"),
    "an empty map": ("  mlu: {}   # mine\n", "  mlu: {sdk: sim:6.0}   # mine\n"),
    "behind others": (
        "  maca: {sdk: sim}  # one\n  # last\n",
        "  maca: {sdk: sim}  # one\n  mlu: {sdk: sim:6.0}\n  # last\n",
    ),
    "none yet": ("  # name: ...\n", "  # name: ...\n  mlu: {sdk: sim:6.0}\n"),
    "wider": ("      maca:\n", "      maca:\n      mlu: {sdk: sim:6.0}\n"),
}


@pytest.mark.parametrize("end", ["", "formatter: none\n", "# the end\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("case", EDITS)
def test_an_edit_keeps_what_it_is_not_about(case: str, newline: str, end: str) -> None:
    before, after = (f"# ours\n{HEAD}vendors:\n{part}{end}".replace("\n", newline) for part in EDITS[case])
    assert with_vendor(before, "fl-gen.yaml", "mlu", ["sim:6.0"], []) == after
    assert with_vendor(after, "fl-gen.yaml", "mlu", ["sim:6.0"], []) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("vendors: {}", "vendors:\n  mlu: {sdk: sim:6.0}\n"),
        ("vendors: {} # none", "vendors: # none\n  mlu: {sdk: sim:6.0}\n"),
        ("vendors: {maca: {sdk: sim}}\n", "vendors: {maca: {sdk: sim}, mlu: {sdk: sim:6.0}}\n"),
        ("vendors: {maca: }\n", "vendors: {maca: , mlu: {sdk: sim:6.0}}\n"),
        ("vendors:", "vendors:\n  mlu: {sdk: sim:6.0}\n"),
        ("\ufeff", None),
    ],
)
def test_an_edit_of_other_forms(before: str, after: str | None) -> None:
    if after is None:
        text = "\ufeff" + HEAD + "vendors:\n"
        assert with_vendor(text, "f", "mlu", ["sim"], []) == "\ufeff" + HEAD + "vendors:\n  mlu: {sdk: sim}\n"
        return
    assert with_vendor(HEAD + before, "f", "mlu", ["sim:6.0"], []) == HEAD + after


def test_an_edit_that_would_lose_a_comment_is_refused() -> None:
    text = HEAD + "vendors:\n  mlu:\n    sdk:\n      - /a  # why a\n      - /b\n"
    with pytest.raises(SchemaError) as caught:
        with_vendor(text, "fl-gen.yaml", "mlu", ["sim:6.0"], ["ccl"])
    assert caught.value.render() == (
        "fl-gen.yaml:5:3: mlu cannot be recorded in this file as it is written\n"
        "  = write it yourself: mlu: {sdk: sim:6.0, require: [ccl]}"
    )


def test_the_version_alone_is_changed() -> None:
    text = "# x\r\n" + HEAD.replace("0.1.0", '"0.0.9" # old') + "vendors:\n"
    assert with_version(text, "f", "0.2.0") == text.replace('"0.0.9"', "0.2.0")


PATHS = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Cf", "Zl", "Zp", "Co", "Cn")), min_size=1, max_size=30
).filter(lambda text: text == text.strip() and not text.startswith("sim"))


@given(
    st.dictionaries(st.sampled_from(["mlu", "maca", "dcu"]), st.lists(PATHS, min_size=1, max_size=3, unique=True)),
    PATHS,
)
def test_whatever_a_path_holds_is_read_back(vendors: dict[str, list[str]], folder: str) -> None:
    text = project_text(
        generator="0.1.0",
        framework="infinitrain",
        licence=folder,
        schemas=[folder],
        vendors={name: (tuple(sdk), ("ccl",)) for name, sdk in vendors.items()},
    )
    project = read_project(text, "f")
    assert {name: list(one.sdk) for name, one in project.vendors.items()} == vendors
    assert (project.licence, project.schemas) == (folder, (folder,))
    edited = with_vendor(text, "f", "xpu", [folder], [])
    assert list(read_project(edited, "f").vendors["xpu"].sdk) == [folder]
