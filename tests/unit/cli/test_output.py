"""An output folder in any state: what fl-gen did not write stays, and every refusal names its place and changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from unit.cli.conftest import Run, snapshot

GENERATED = Path("generated") / "mlu"


def _manifest(tree: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    path = tree / GENERATED / "manifest.json"
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))


def _replace(path: Path, make: Callable[[Path], object]) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    make(path)


def _file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine\n")


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(65 << 20)


RECORD = {"sha256": "0" * 64, "template": "t", "nodes": []}
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "manifest empty": (lambda t: _replace(t / GENERATED / "manifest.json", Path.touch), "damaged: Expecting value"),
    "manifest a list": (lambda t: (t / GENERATED / "manifest.json").write_text("[]"), "damaged: not a JSON object"),
    "manifest deep": (lambda t: (t / GENERATED / "manifest.json").write_text("[" * 100_000), "nested too deeply"),
    "manifest not text": (lambda t: (t / GENERATED / "manifest.json").write_bytes(b"\xff\xfe"), "it is not UTF-8"),
    "manifest huge": (lambda t: _large(t / GENERATED / "manifest.json"), "larger than 64 MiB"),
    "manifest a pipe": (lambda t: _replace(t / GENERATED / "manifest.json", os.mkfifo), "is not a regular file"),
    "manifest a folder": (lambda t: _replace(t / GENERATED / "manifest.json", Path.mkdir), "is not a regular file"),
    "files a list": (lambda t: _manifest(t, lambda m: m.update(files=[])), "files is not a map"),
    "no files": (lambda t: _manifest(t, lambda m: m.pop("files")), "the key 'files' is missing"),
    "a record a number": (lambda t: _manifest(t, lambda m: m["files"].update(x=1)), "record of 'x' has the wrong type"),
    "nodes a number": (
        lambda t: _manifest(t, lambda m: m["files"].update(x={**RECORD, "nodes": 1})),
        "record of 'x' has the wrong type",
    ),
    "a path that leads out": (
        lambda t: _manifest(t, lambda m: m["files"].update({"../../x": RECORD})),
        "the path '../../x' leads out of the folder",
    ),
    "an absolute path": (
        lambda t: _manifest(t, lambda m: m["files"].update({"/etc/passwd": RECORD})),
        "the path '/etc/passwd' leads out of the folder",
    ),
    "of another vendor": (
        lambda t: _manifest(t, lambda m: m.update(vendor="maca")),
        "manifest.json:1:1: this is the manifest of 'maca', in the folder of mlu",
    ),
    "of a later fl-gen": (lambda t: _manifest(t, lambda m: m.update(format=2)), "format 2, this fl-gen reads 1"),
    "an edit": (
        lambda t: (t / GENERATED / "CMakeLists.txt").write_text("mine\n"),
        "w/generated/mlu/CMakeLists.txt\n  = move your change to a template, a schema or backends/",
    ),
    "a file a folder": (
        lambda t: _replace(t / GENERATED / "CMakeLists.txt", Path.mkdir),
        "needs a file here and finds a folder",
    ),
    "a file a link": (
        lambda t: _replace(t / GENERATED / "CMakeLists.txt", lambda p: p.symlink_to("/etc/passwd")),
        "needs a file here and finds a symbolic link",
    ),
    "a file a pipe": (
        lambda t: _replace(t / GENERATED / "CMakeLists.txt", os.mkfifo),
        "needs a file here and finds a special file",
    ),
    "a folder a file": (lambda t: _replace(t / GENERATED / "src", _file), "needs a folder here and finds a file"),
    "a folder a link": (
        lambda t: (shutil.move(t / GENERATED / "src", t / "src"), (t / GENERATED / "src").symlink_to("../../src")),
        "needs a folder here and finds a symbolic link",
    ),
    "generated a broken link": (
        lambda t: _replace(t / "generated", lambda p: p.symlink_to("nowhere")),
        "finds a symbolic link",
    ),
    "backends a file": (lambda t: _replace(t / "backends", _file), "a part of this path is a file"),
    "the vendor's backends a file": (
        lambda t: _replace(t / "backends" / "mlu", _file),
        "backends/mlu: fl-gen needs a folder here and finds a file",
    ),
    "kernels a file": (
        lambda t: _replace(t / "backends" / "mlu" / "kernels", _file),
        "kernels: fl-gen needs a folder here and finds a file",
    ),
    "a link to itself": (
        lambda t: _replace(t / "backends" / "mlu", lambda p: p.symlink_to("mlu")),
        "finds a symbolic link",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_changes_nothing(run: Run, tree: Path, case: str) -> None:
    damage, message = REFUSED[case]
    damage(tree)
    # Something else to write too, so that a run which goes on would be seen.
    if (tree / GENERATED / "src").is_dir() and not (tree / GENERATED / "src").is_symlink():
        (tree / GENERATED / "src" / "backend.cc").unlink()
    huge = case == "manifest huge"
    before = {} if huge else snapshot(tree)
    result = run("backend", "mlu", "--sdk", "sim", "-o", "w")
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert "internal error" not in result.err
    assert huge or snapshot(tree) == before


LEFT_ALONE: dict[str, Callable[[Path], object]] = {
    "a foreign file": lambda t: _file(t / GENERATED / "extra" / "mine.txt"),
    "a foreign pipe": lambda t: os.mkfifo(t / GENERATED / "pipe"),
    "a foreign link": lambda t: (t / GENERATED / "link").symlink_to("/nowhere"),
    "a foreign name": lambda t: _file(t / GENERATED / "\udcff"),
    "a recorded path behind a link": lambda t: (
        _file(t / "out" / "keep"),
        (t / GENERATED / "link").symlink_to("../../out"),
        _manifest(t, lambda m: m["files"].update({"link/keep": {**RECORD, "sha256": _sha(b"mine\n")}})),
    ),
    "what lies behind a link in the stage's place": lambda t: (
        _file(t / "out" / "keep"),
        (t / "generated" / ".mlu.fl-gen-stage").symlink_to("../out"),
        (t / "generated" / ".mlu.fl-gen-old").symlink_to("../out"),
        (t / "backends" / ".mlu.fl-gen-stage").symlink_to("../out"),
    ),
}


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_what_is_foreign_stays(run: Run, base: Path, tree: Path, case: str) -> None:
    LEFT_ALONE[case](tree)
    mine = {path: text for path, text in snapshot(tree).items() if path not in snapshot(base)}
    (tree / GENERATED / "CMakeLists.txt").unlink()
    assert run("backend", "mlu", "--sdk", "sim", "-o", "w").code == 0
    after = snapshot(tree)
    assert {path: after[path] for path in mine if "fl-gen" not in path} == {
        path: text for path, text in mine.items() if "fl-gen" not in path
    }
    assert {path: text for path, text in after.items() if path not in mine} == snapshot(base)


LEFTOVERS: dict[str, Callable[[Path], object]] = {
    "stage": lambda t: _file(t / "generated" / ".mlu.fl-gen-stage" / "src" / "x"),
    "stage of backends": lambda t: _file(t / "backends" / ".mlu.fl-gen-stage" / "kernels.yaml"),
    "stage a file": lambda t: _file(t / "generated" / ".mlu.fl-gen-stage"),
    "old tree": lambda t: _file(t / "generated" / ".mlu.fl-gen-old" / "x"),
    "old tree a file": lambda t: _file(t / "generated" / ".mlu.fl-gen-old"),
    "old tree and no new one": lambda t: (t / GENERATED).rename(t / "generated" / ".mlu.fl-gen-old"),
}


@pytest.mark.parametrize("case", LEFTOVERS)
def test_the_next_run_removes_what_a_killed_one_left(run: Run, base: Path, tree: Path, case: str) -> None:
    LEFTOVERS[case](tree)
    assert run("backend", "mlu", "--sdk", "sim", "-o", "w").code == 0
    assert snapshot(tree) == snapshot(base)


def test_a_checkout_with_crlf_is_not_an_edit(run: Run, base: Path, tree: Path) -> None:
    for path in (tree / "generated").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    before = snapshot(tree)
    result = run("backend", "mlu", "--sdk", "sim", "-o", "w")
    assert result.code == 0
    changed = {path for path, text in snapshot(tree).items() if before[path] != text}
    assert changed <= {"generated/mlu/manifest.json"}
