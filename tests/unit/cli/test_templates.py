"""Template overlays: text to be filled, not programs. What goes wrong in one is reported at its line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from fl_gen.render.environment import FileRender, TemplateError, environment_for, render_file
from unit.cli.conftest import Run, snapshot

BAD: dict[str, tuple[str | bytes, str]] = {
    "syntax": ("a\n{% if %}", "x.txt.j2:2: Expected an expression"),
    "unknown name": ("a\n{{ nope }}", "x.txt.j2:2: 'nope' is undefined while rendering node"),
    "unknown filter": ("a\n{{ v | nope }}", "x.txt.j2:2: No filter named 'nope'"),
    "arithmetic": ("a\n{{ 1 // 0 }}", "x.txt.j2:2: integer division or modulo by zero (ZeroDivisionError)"),
    "types": ("a\n{{ 1 + 'a' }}", "x.txt.j2:2: unsupported operand"),
    "a filter's own error": ("a\n{{ 5 | comment }}", "x.txt.j2:2: 'int' object has no attribute 'strip'"),
    "a missing include": ("a\n{% include 'nope.j2' %}", "x.txt.j2:2: template not found: 'nope.j2'"),
    "an absolute include": ("{% include '/etc/passwd' %}", "template not found"),
    "an include that leads out": ("{% include '" + "../" * 40 + "etc/passwd' %}", "leads out of the template folder"),
    "itself": ("{% include 'x.txt.j2' %}", "includes or calls itself without end"),
    "recursion": ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "includes or calls itself without end"),
    "Python's inside": ("{{ v.__class__.__mro__ }}", "access to attribute '__class__'"),
    "a way to os": ("{{ cycler.__init__.__globals__.os.getcwd() }}", "is unsafe"),
    "changing the model": ("{% do nodes.append(1) %}{{ nodes.append(1) }}", "x.txt.j2"),
    "memory": ("{{ 'a' * 10000000000 }}", "'*' makes more than"),
    "powers": ("{{ 10 ** 10 ** 10 }}", "templates have no '**'"),
    "a long range": ("{% for i in range(10000000000) %}{% endfor %}", "Range too big"),
    "not UTF-8": (b"\xff", "is not UTF-8"),
    "NUL": ("a\0", "makes the character U+0000"),
    "half a character": ('{{ "\\ud800" }}', "makes the character U+D800"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_template(tmp_path: Path, case: str) -> None:
    text, message = BAD[case]
    (tmp_path / "x.txt.j2").write_bytes(text if isinstance(text, bytes) else text.encode())
    context = {"v": SimpleNamespace(snake="mlu"), "nodes": [0]}
    with pytest.raises(TemplateError) as caught:
        render_file(environment_for((tmp_path,)), FileRender("x.txt.j2", "x.txt", context, ("node",)))
    assert message in str(caught.value)
    assert context["nodes"] == [0]


NAMES: dict[str, tuple[Callable[[Path], object], str]] = {
    "line end": (lambda t: (t / "a\nb.txt.j2").touch(), "this template makes no usable file name"),
    "backslash": (lambda t: (t / "a\\b.txt.j2").touch(), "this template makes no usable file name"),
    "not UTF-8": (lambda t: (t / "\udcff.txt.j2").touch(), "this template makes no usable file name"),
    "unknown placeholder": (lambda t: (t / "{vender}.txt.j2").touch(), "this template makes no usable file name"),
    "nothing": (lambda t: (t / ".j2").touch(), "this template makes no usable file name"),
    "the manifest": (lambda t: (t / "manifest.json.j2").touch(), "which is fl-gen's own manifest"),
    "two of one case": (lambda t: (t / "cmakelists.txt.j2").touch(), "which is 'CMakeLists.txt' of CMakeLists.txt.j2"),
    "two of one path": (
        lambda t: (t / "{vendor}_x.j2", t / "mlu_x.j2", _touch(t, "{vendor}_x.j2", "mlu_x.j2")),
        "makes",
    ),
    "file and folder": (lambda t: ((t / "y").mkdir(), _touch(t, "y.j2", "y/z.j2")), "y.j2 a file of its folder"),
    "a link that leads out": (
        lambda t: (t / "x.txt.j2").symlink_to("/etc/passwd"),
        "the link leads out of the template",
    ),
}


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


@pytest.mark.parametrize("case", NAMES)
def test_a_bad_template_name(run: Run, tmp_path: Path, case: str) -> None:
    make, message = NAMES[case]
    overlay = tmp_path / "t" / "infinitrain"
    overlay.mkdir(parents=True)
    make(overlay)
    result = run("backend", "mlu", "--sdk", "sim", "--templates", "t", "-o", "w")
    assert (result.code, message in result.err) == (2, True), result.err
    assert not (tmp_path / "w").exists()


def test_the_sandbox_makes_the_same_bytes(run: Run, tmp_path: Path, base: Path) -> None:
    """With an overlay all templates run in the sandbox; one that adds nothing changes no file but the manifest's digest."""
    (tmp_path / "t" / "infinitrain").mkdir(parents=True)
    os.mkfifo(tmp_path / "t" / "infinitrain" / "pipe.txt.j2")  # not a file, so not a template
    assert run("backend", "mlu", "--sdk", "sim", "--templates", "t", "-o", "w").code == 0
    assert snapshot(tmp_path / "w") == snapshot(base)
