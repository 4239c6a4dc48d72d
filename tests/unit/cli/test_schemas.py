"""Schema overlays whose text would end up in C++, CMake or a shell: what could break out is refused at its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fl_gen.schema.paths import data_dir
from unit.cli.conftest import Run

SHIPPED = data_dir() / "schemas" / "vendors" / "maca" / "vendor.yaml"
# field -> how its line is found
FIELDS = {
    "title": r"^title: .*$",
    "SDK name": r"^  name: .*$",
}
BREAKS_OUT = [
    'a"b',
    "a\\",
    "${HOME}",
    "$(id)",
    "a`id`",
    "a;b",
    "*/ int x; /*",
    "a] ]==]",
    "@HOME@",
    "<b>",
    "%d",
    "x" * 81,
]


def _overlay(folder: Path, text: str, name: str = "acme") -> None:
    path = folder / "s" / "vendors" / name / "vendor.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(re.sub(r"^vendor: .*$", f"vendor: {name}", text, count=1, flags=re.MULTILINE))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", BREAKS_OUT, ids=range(len(BREAKS_OUT)))
def test_a_name_that_would_break_out(run: Run, tmp_path: Path, field: str, value: str) -> None:
    key = FIELDS[field].split(":")[0].lstrip("^")
    text, count = re.subn(FIELDS[field], lambda _: f"{key}: {_quoted(value)}", SHIPPED.read_text(), count=1, flags=re.M)
    assert count == 1
    _overlay(tmp_path, text)
    result = run("schema", "check", "acme", "--schemas", "s")
    assert result.code == 2
    assert re.match(
        r"s/vendors/acme/vendor\.yaml:\d+:\d+: '(title|name)' must be a name as people write it", result.err
    )
    assert "= at most 80 characters, without quotes" in result.err


def test_names_of_people_are_free(run: Run, tmp_path: Path) -> None:
    text = re.sub(FIELDS["title"], "title: Ünïted Chips (v2), 天 & Co. +1/x", SHIPPED.read_text(), count=1, flags=re.M)
    _overlay(tmp_path, text)
    assert run("schema", "check", "acme", "--schemas", "s").err == ""


@pytest.mark.parametrize("value", ["ends in \\", "a */ b", "a \\ b", "a \\\n    b"])
def test_a_remark_that_ends_its_comment(run: Run, tmp_path: Path, value: str) -> None:
    text = re.sub(r"^  source: .*$", lambda _: f"  source: {_quoted(value)}", SHIPPED.read_text(), count=1, flags=re.M)
    _overlay(tmp_path, text)
    result = run("schema", "check", "acme", "--schemas", "s")
    assert (result.code, "becomes a C++ comment and may not hold '*/'" in result.err) == (2, True), result.err


@pytest.mark.parametrize(
    "name", ["cpu", "class", "std", "core", "kernels", "linux", "con", "all", "a__b", "a_", "x" * 129]
)
def test_a_vendor_name_that_is_taken(run: Run, tmp_path: Path, name: str) -> None:
    _overlay(tmp_path, SHIPPED.read_text(), name)
    result = run("backend", name, "--sdk", "sim", "--schemas", "s", "-o", "w")
    assert (result.code, "'vendor' must be a vendor name" in result.err) == (2, True), result.err
    assert not (tmp_path / "w").exists()


def test_a_library_that_is_a_linker_option(run: Run, tmp_path: Path) -> None:
    text, count = re.subn(r"libraries: \[", "libraries: [-Wl", SHIPPED.read_text(), count=1)
    assert count == 1
    _overlay(tmp_path, text)
    result = run("schema", "check", "acme", "--schemas", "s")
    assert (result.code, "must be a library name" in result.err) == (2, True), result.err


BASE = """\
schema: 1
base: %s
doc: a base
parameters: {runtime: {doc: prefix}}
types: {stream: ["${runtime}Stream_t"]}
bindings: {device.set: [{expr: "${%s}Set(device)", source: s}]}
"""


def test_bases_are_checked_with_everything_else(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "s" / "bases" / "mine"
    folder.mkdir(parents=True)
    (folder / "vendor.yaml").write_text(BASE % ("mine", "runtime"))
    assert run("schema", "check", "--schemas", "s").code == 0
    (folder / "vendor.yaml").write_text(BASE % ("mine", "runtme"))
    result = run("schema", "check", "--schemas", "s")
    assert result.code == 2
    assert result.err == (
        "s/bases/mine/vendor.yaml:6:33: '${runtme}' names no parameter of the base\n"
        '    6 | bindings: {device.set: [{expr: "${runtme}Set(device)", source: s}]}\n'
        "      |                                 ^\n"
        "  = did you mean 'runtime'?\n"
    )
    # A vendor that does not extend it is none of its business.
    assert run("schema", "check", "mlu", "--schemas", "s").code == 0


def test_the_kinds_of_bases_are_exported(run: Run, tmp_path: Path) -> None:
    assert run("schema", "export", "--out", "j").code == 0
    names = {path.name for path in (tmp_path / "j").iterdir()}
    assert {"vendor-base.json", "api-base.json", "vendor.json", "api.json"} <= names
    assert "vendor-base" in run("schema", "export").err
