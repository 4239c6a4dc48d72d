"""`fl-gen sdk check` asked again: the answer is kept while nothing that it depends on changes, and never longer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.schema.paths import data_dir

from .conftest import Run

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache of this test's own."""
    return tmp_path / "cache"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The headers of an mlu SDK on disk."""
    folder = tmp_path / "neuware"
    for name, text in render_headers(load_api(data_dir() / "schemas" / "vendors" / "mlu" / "api.yaml"), "").items():
        path = folder / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "answers").glob("*.json"))


def test_the_second_time_nothing_heavy_is_imported(root: Path, cache: Path, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from fl_gen.cli.main import main\n"
        f"code = main(['sdk', 'check', 'mlu', '--sdk', {str(root)!r}])\n"
        "print('heavy', sorted({'yaml', 'jinja2', 'clang', 'fl_gen.schema.catalog'} & set(sys.modules)), code)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "codegen"), "FL_GEN_CACHE_DIR": str(cache)}
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=tmp_path, check=True
        ).stdout
        for _ in range(2)
    ]
    texts = [output.rpartition("heavy")[0] for output in outputs]
    assert texts[0] == texts[1]
    assert "57 of " in texts[0]
    assert "'yaml'" in outputs[0]
    assert outputs[1].endswith("heavy [] 0\n")


def _header(root: Path, _: Path) -> None:
    path = root / "include" / "cnrt.h"
    path.write_text(path.read_text().replace("cnrtMalloc(", "cnrtMallocs("))


def _shadow(root: Path, _: Path) -> None:
    # The header folder of the SDK stands before the compiler's: this one is read instead.
    (root / "include" / "stdint.h").write_text("#error not this one\n")


def _library(root: Path, _: Path) -> None:
    (root / "lib64").mkdir()
    (root / "lib64" / "libcnrt.so").write_bytes(b"")


def _group(root: Path, _: Path) -> None:
    (root / "include" / "cncl.h").unlink()


def _schema(root: Path, schemas: Path) -> None:
    path = schemas / "vendors" / "mlu" / "vendor.yaml"
    path.write_text(
        path.read_text().replace("title: Cambricon MLU", "title: Cambricon").replace("cnrtMalloc(", "cnrtNo(")
    )


def _vocabulary(root: Path, schemas: Path) -> None:
    text = (data_dir() / "schemas" / "runtime.yaml").read_text()
    (schemas / "runtime.yaml").write_text(text.replace("The number of visible devices.", "How many devices there are."))


@pytest.mark.parametrize("change", [_header, _shadow, _library, _group, _schema])
def test_whatever_changes_is_seen(
    change: Callable[[Path, Path], None], run: Run, root: Path, tmp_path: Path, cache: Path
) -> None:
    schemas = tmp_path / "schemas"
    (schemas / "vendors" / "mlu").mkdir(parents=True)
    (schemas / "vendors" / "mlu" / "vendor.yaml").write_text(
        (data_dir() / "schemas" / "vendors" / "mlu" / "vendor.yaml").read_text()
    )
    arguments = ("sdk", "check", "mlu", "--sdk", root, "--schemas", schemas)
    before = run(*arguments)
    assert run(*arguments) == before
    change(root, schemas)
    after = run(*arguments)
    assert after != before
    assert after == run(*arguments, "--no-cache")


def test_a_new_overlay_is_seen(run: Run, root: Path, tmp_path: Path, cache: Path) -> None:
    schemas = tmp_path / "schemas"
    schemas.mkdir()
    arguments = ("sdk", "check", "mlu", "--sdk", root, "--schemas", schemas)
    before = run(*arguments)
    _vocabulary(root, schemas)
    path = schemas / "runtime.yaml"
    path.write_text(path.read_text().replace("name: implicit", "name: by_itself"))
    assert "by_itself" in run(*arguments).out
    assert "by_itself" not in before.out


def test_a_variable_that_names_another_sdk_is_seen(
    run: Run, root: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEUWARE_HOME", str(root))
    before = run("sdk", "check", "mlu")
    assert before.code == 0
    monkeypatch.setenv("NEUWARE_HOME", str(tmp_path / "gone"))
    after = run("sdk", "check", "mlu")
    assert (after.code, after.out) == (2, "")


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[" * 100000,
        lambda text: text.replace("57 of", "99 of"),
        lambda text: json.dumps({"check": 1, "answer": None}),
        lambda text: "\udcff",
    ],
    ids=["empty", "cut", "deep", "edited", "other", "bytes"],
)
def test_a_damaged_entry_is_made_anew(damage: Callable[[str], str], run: Run, root: Path, cache: Path) -> None:
    arguments = ("sdk", "check", "mlu", "--sdk", root)
    before = run(*arguments)
    (entry,) = entries(cache)
    entry.write_bytes(damage(entry.read_text()).encode("utf-8", "surrogateescape"))
    assert run(*arguments) == before
    assert len(entries(cache)) == 1
    assert json.loads(entry.read_text())["answer"]["code"] == 0


def test_an_entry_that_is_no_file_is_not_read(run: Run, root: Path, cache: Path) -> None:
    arguments = ("sdk", "check", "mlu", "--sdk", root)
    before = run(*arguments)
    for entry in (*entries(cache), *(cache / "probe").glob("*.json")):
        entry.unlink()
        entry.symlink_to("/dev/zero")
    assert run(*arguments) == before


def test_no_cache_keeps_nothing(run: Run, root: Path, cache: Path) -> None:
    run("sdk", "check", "mlu", "--sdk", root, "--no-cache")
    assert entries(cache) == []


def test_a_refusal_is_not_kept(run: Run, tmp_path: Path, cache: Path) -> None:
    assert run("sdk", "check", "mlu", "--sdk", tmp_path / "none").code == 2
    assert entries(cache) == []


def test_processes_share_it(root: Path, cache: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "codegen"), "FL_GEN_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "fl_gen", "sdk", "check", "mlu", "--sdk", str(root)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=tmp_path)
        for _ in range(4)
    ]
    results = {(process.communicate(), process.returncode)[0][0] for process in running}
    assert len(results) == 1
    assert all(process.returncode == 0 for process in running)
    assert len(entries(cache)) == 1
