"""Overlays by path and by block, and licence headers: what they do, and that a misspelt one is never silent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fl_gen.render import incremental
from fl_gen.render.environment import environment_for
from fl_gen.render.licence import licence_lines, with_licence
from fl_gen.schema.paths import data_dir
from unit.cli.conftest import Run

TEMPLATES = data_dir() / "templates" / "infinitrain"
SCHEMAS = data_dir() / "schemas"


def overlay(tmp_path: Path, path: str, text: str | bytes) -> Path:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def records(tmp_path: Path) -> list[dict[str, Any]]:
    manifest = json.loads((tmp_path / "w/generated/mlu/manifest.json").read_text())
    return [{key: one[key] for key in ("kind", "path")} for one in manifest.get("overlays", [])]


def generate(run: Run, *options: str) -> Any:
    environment_for.cache_clear()  # a run has a process, and so environments, of its own
    incremental._recording.cache_clear()
    return run("backend", "mlu", "--sdk", "sim", "--no-format", "-o", "w", *options)


def test_one_block_of_a_template(run: Run, tmp_path: Path) -> None:
    text = '{% extends "shipped/src/backend.cc.j2" %}\n{% block includes %}\n{{ super() }}\n#include "mine.h"\n{% endblock %}\n'
    overlay(tmp_path, "t/infinitrain/src/backend.cc.j2", text)
    assert generate(run, "--templates", "t").code == 0
    made = (tmp_path / "w/generated/mlu/src/backend.cc").read_text()
    assert '#include "infini_train/include/datatype.h"\n' in made
    assert '#include "mine.h"\n' in made
    assert "RegisterPrivateUse1Backend" in made
    assert records(tmp_path) == [{"kind": "block", "path": "infinitrain/src/backend.cc.j2#includes"}]


def test_a_method_of_the_guard(run: Run, tmp_path: Path) -> None:
    name = "src/runtime/{vendor}_guard_impl.cc.j2"
    text = (
        f'{{% extends "shipped/{name}" %}}\n{{% block event_elapsed_time %}}\n'
        "float {{ v.pascal }}GuardImpl::EventElapsedTime(Event *, Event *) const { return 1.0F; }\n{% endblock %}\n"
    )
    overlay(tmp_path, f"t/infinitrain/{name}", text)
    assert generate(run, "--templates", "t").code == 0
    made = (tmp_path / "w/generated/mlu/src/runtime/mlu_guard_impl.cc").read_text()
    assert made.count("::EventElapsedTime(") == 1
    assert "{ return 1.0F; }" in made


def test_a_template_a_file_of_its_own_and_a_schema(run: Run, tmp_path: Path) -> None:
    overlay(tmp_path, "t/infinitrain/src/backend.cc.j2", (TEMPLATES / "src/backend.cc.j2").read_bytes() + b"// more\n")
    overlay(tmp_path, "t/infinitrain/src/backends.cc.j2", "{# new file #}\n// own\n")
    overlay(tmp_path, "s/vendors/mlu/vendor.yaml", (SCHEMAS / "vendors/mlu/vendor.yaml").read_bytes())
    overlay(tmp_path, "s/vendors/xpu/vendor.yaml", (SCHEMAS / "vendors/xpu/vendor.yaml").read_bytes())
    assert generate(run, "--templates", "t", "--schemas", "s").code == 0
    assert (tmp_path / "w/generated/mlu/src/backends.cc").is_file()
    assert records(tmp_path) == [
        {"kind": "schema", "path": "vendors/mlu/vendor.yaml"},
        {"kind": "template", "path": "infinitrain/src/backend.cc.j2"},
        {"kind": "template", "path": "infinitrain/src/backends.cc.j2"},
    ]


def test_the_first_of_two_folders_counts(run: Run, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        text = f'{{% extends "shipped/src/backend.cc.j2" %}}{{% block includes %}}// {folder}\n{{% endblock %}}'
        overlay(tmp_path, f"{folder}/infinitrain/src/backend.cc.j2", text)
    assert generate(run, "--templates", "one", "--templates", "two").code == 0
    made = (tmp_path / "w/generated/mlu/src/backend.cc").read_text()
    assert ("// one\n" in made, "// two\n" in made) == (True, False)


EXTENDS = '{% extends "shipped/src/backend.cc.j2" %}\n'
MISSES: dict[str, tuple[str, str, str]] = {
    "block": (
        "t/infinitrain/src/backend.cc.j2",
        EXTENDS + "{% block include %}x{% endblock %}\n",
        "t/infinitrain/src/backend.cc.j2:2: this lies over nothing: shipped/src/backend.cc.j2 has no block 'include'\n"
        "  = did you mean 'includes'?\n",
    ),
    "no block": (
        "t/infinitrain/src/backend.cc.j2",
        EXTENDS,
        "t/infinitrain/src/backend.cc.j2:1: this lies over nothing: it replaces no block of shipped/src/backend.cc.j2\n"
        "  = blocks: includes, registration\n",
    ),
    "text outside": (
        "t/infinitrain/src/backend.cc.j2",
        EXTENDS + "// lost\n{% block includes %}x{% endblock %}\n",
        "text outside of blocks is not used in a template that extends another\n",
    ),
    "parent": (
        "t/infinitrain/src/backend.cc.j2",
        '{% extends "shipped/src/backend.cc" %}\n{% block includes %}x{% endblock %}\n',
        "t/infinitrain/src/backend.cc.j2:1: there is no template 'shipped/src/backend.cc'\n"
        "  = did you mean 'shipped/src/backend.cc.j2'?\n",
    ),
    "path": (
        "t/infinitrain/src/bakend.cc.j2",
        "x\n",
        "t/infinitrain/src/bakend.cc.j2: this lies over nothing: no shipped template is 'src/bakend.cc.j2'\n"
        "  = did you mean 'src/backend.cc.j2'? If it is to make a file of its own, begin it with {# new file #}\n",
    ),
    "folder": ("t/infinitrain/source/backend.cc.j2", "x\n", "= did you mean 'src/backend.cc.j2'?"),
    "suffix": (
        "t/infinitrain/src/backend.cc",
        "x\n",
        "t/infinitrain/src/backend.cc: this lies over nothing: a template ends in .j2\n  = rename it to backend.cc.j2\n",
    ),
    "schema suffix": (
        "s/vendors/mlu/vendor.yml",
        "x\n",
        "s/vendors/mlu/vendor.yml: this lies over nothing\n  = did you mean 'vendor.yaml'?\n",
    ),
    "schema folder": (
        "s/vendor/mlu/vendor.yaml",
        "x\n",
        "s/vendor: this lies over nothing\n  = did you mean 'vendors'?\n",
    ),
    "vendor folder": (
        "s/vendors/mul/vendor.yaml",
        "schema: 1\nvendor: mlu\n",
        "s/vendors/mul/vendor.yaml:2:9: the folder is called mul, the vendor in it mlu: it lies over nothing\n"
        "    2 | vendor: mlu\n      |         ^~~\n"
        "  = rename the folder to mlu, or write vendor: mul\n",
    ),
    "api of nobody": ("s/vendors/mul/api.yaml", "x\n", "= did you mean vendors/mlu?\n"),
    "ops": ("s/frameworks/infinitrain/ops/mine.yml", "x\n", "= rename it to mine.yaml\n"),
    "a way out": (
        "t/infinitrain/src/backend.cc.j2",
        '{% extends "shipped/../../../etc/passwd" %}{% block a %}{% endblock %}',
        "there is no template 'shipped/../../../etc/passwd'",
    ),
}


@pytest.mark.parametrize("case", MISSES)
def test_what_lies_over_nothing_is_refused(run: Run, tmp_path: Path, case: str) -> None:
    path, text, message = MISSES[case]
    overlay(tmp_path, path, text)
    (tmp_path / "t" / "infinitrain").mkdir(parents=True, exist_ok=True)
    (tmp_path / "s").mkdir(exist_ok=True)
    result = generate(run, "--templates", "t", "--schemas", "s")
    assert (result.code, message in result.err) == (2, True), result.err
    assert not (tmp_path / "w").exists()


def test_the_licence_stands_first_and_then_the_marker(run: Run, tmp_path: Path) -> None:
    overlay(tmp_path, "L", b"\xef\xbb\xbf\r\nCopyright Acme */ /* \\ x\r\n\r\nSPDX-License-Identifier: MIT  \r\n\r\n")
    assert generate(run, "--licence", "L").code == 0
    tree = tmp_path / "w/generated/mlu"
    for path, sign in (("src/backend.cc", "//"), ("CMakeLists.txt", "#"), ("cmake/mlu_sdk.cmake", "#")):
        start = f"{sign} Copyright Acme */ /* \\ x\n{sign}\n{sign} SPDX-License-Identifier: MIT\n\n{sign} Generated by fl-gen"
        assert (tree / path).read_text().startswith(start)
    script = (tree / "scripts/run_models_and_profile.bash").read_text()
    assert script.startswith("#!/usr/bin/env bash\n# Copyright Acme")
    json.loads((tree / "scripts/test_config_mlu.json").read_text())
    without = run("backend", "mlu", "--sdk", "sim", "--no-format", "-o", "v")
    assert without.code == 0
    for path in (tmp_path / "v/generated/mlu").rglob("*"):
        name = path.relative_to(tmp_path / "v/generated/mlu").as_posix()
        if path.is_file() and name not in ("manifest.json", ".fl-gen/written.json"):
            text = path.read_text()
            assert (tree / name).read_text() == with_licence(
                name, text, "Copyright Acme */ /* \\ x\n\nSPDX-License-Identifier: MIT"
            )
    assert [licence_lines(name, "a\nb") for name in ("x.cc", "x.json")] == [3, 0]


def test_files_that_are_made_once_get_the_licence_then_and_never_later(run: Run, tmp_path: Path) -> None:
    overlay(tmp_path, "L", "Copyright Acme\nSPDX-License-Identifier: MIT\n")
    overlay(tmp_path, "M", "Copyright Other\n")
    assert run("backend", "mlu", "--sdk", "sim", "--no-format", "-o", "v").code == 0
    assert generate(run, "--licence", "L").code == 0
    without, own = tmp_path / "v/backends/mlu", tmp_path / "w/backends/mlu"
    made = sorted(path.relative_to(own).as_posix() for path in own.rglob("*") if path.is_file())
    assert made == ["CMakeLists.txt", "cmake/pre_project.cmake", "kernels.yaml", "kernels/fill.mlu"]
    for name in made:
        sign = "//" if name.endswith(".mlu") else "#"
        head = f"{sign} Copyright Acme\n{sign} SPDX-License-Identifier: MIT\n\n"
        assert (own / name).read_text() == head + (without / name).read_text()
    before = {name: (own / name).read_bytes() for name in made}
    assert generate(run, "--licence", "M").code == 0
    assert {name: (own / name).read_bytes() for name in made} == before
    (own / "cmake/pre_project.cmake").unlink()
    assert generate(run, "--licence", "M").code == 0
    assert (own / "cmake/pre_project.cmake").read_text().startswith("# Copyright Other\n\n")
    result = run("explain", own / "kernels/fill.mlu", "--format", "json", "--licence", "L")
    assert result.code == 0, result.err
    value = json.loads(result.out)
    assert (value["state"], [line["made"] for line in value["lines"][:4]]) == ("current", ["marker"] * 3 + ["template"])


BAD_LICENCES = {
    "backslash": (b"a\nb \\ \n", "L:2:3: a comment that ends in a backslash would swallow the next line\n"),
    "not UTF-8": (
        b"a\nb\xff",
        "L:2:2: the byte 0xff is not UTF-8\n    2 | b\n      |  ^\n  = save the file as UTF-8\n",
    ),
    "UTF-16": ("Copyright".encode("utf-16"), "L:1:1: the byte 0xff is not UTF-8\n"),
    "NUL": (b"a\0b", "L:1:2: the character U+0000 is not allowed in a licence header\n"),
    "hidden text": ("a\u202eb".encode(), "L:1:2: the character U+202E is not allowed in a licence header\n"),
    "10 MB": (b"x" * (10 << 20), "L: the licence is larger than 64 KiB, and it stands in every generated file\n"),
    "empty": (b" \n\n", "L:1:1: the licence file is empty\n"),
    "an encoding": (
        b"# -*- coding: latin-1 -*-\n",
        "L:1:7: Python would take this for the encoding of its source files\n",
    ),
}


@pytest.mark.parametrize("case", BAD_LICENCES)
def test_a_licence_that_can_be_no_comment(run: Run, tmp_path: Path, case: str) -> None:
    data, message = BAD_LICENCES[case]
    overlay(tmp_path, "L", data)
    result = generate(run, "--licence", "L")
    assert (result.code, result.err.startswith(message)) == (2, True), result.err
    assert not (tmp_path / "w").exists()


def test_a_licence_that_is_no_file(run: Run, tmp_path: Path) -> None:
    for name in (".", "/dev/zero"):
        result = generate(run, "--licence", name)
        assert (result.code, "a licence must be a regular file\n" in result.err) == (2, True), result.err
