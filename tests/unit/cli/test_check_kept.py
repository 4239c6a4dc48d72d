"""`fl-gen check` asked again: the answer is kept while neither the trees nor what they are made from change."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen import __version__
from fl_gen.tasks import tree_check

from .conftest import Run, snapshot

ROOT = Path(__file__).resolve().parents[3]
PROJECT = (
    f"schema: 1\ngenerator: {__version__}\nframework: infinitrain\nformatter: none\nlicence: L\nschemas: [s]\n"
    "vendors:\n  mlu: {sdk: sim}\n"
)
FINE = "mlu: {} files as fl-gen makes them\n"


@pytest.fixture
def made(run: Run, tmp_path: Path) -> str:
    """A project whose trees are made and were checked once; the answer."""
    (tmp_path / "s").mkdir()
    (tmp_path / "L").write_text("Copyright Acme\n")
    (tmp_path / "fl-gen.yaml").write_text(PROJECT)
    assert run("regen").code == 0
    (tmp_path / "backends" / "mlu" / "notes.txt").write_text("mine\n")
    result = run("check")
    count = len([p for p in (tmp_path / "generated").rglob("*") if p.is_file() and ".fl-gen" not in p.parts])
    assert result == (0, FINE.format(count), "")
    return result.out


def renders(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts how often trees are made to compare with."""
    counts: list[int] = []
    whole = tree_check.render_many

    def counted(requests: object, jobs: int = 1) -> object:
        counts.append(1)
        return whole(requests, jobs)  # type: ignore[arg-type]

    monkeypatch.setattr(tree_check, "render_many", counted)
    return counts


def test_the_second_time_nothing_is_made_or_imported(made: str, cache: Path, tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from fl_gen.cli.main import main\n"
        "code = main(['check'])\n"
        "print('heavy', sorted({'yaml', 'jinja2', 'clang', 'fl_gen.schema.catalog'} & set(sys.modules)), code)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "codegen"), "FL_GEN_CACHE_DIR": str(cache)}
    before = snapshot(tmp_path)
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=tmp_path, check=True
        ).stdout
        for _ in range(2)
    ]
    assert outputs[0].rpartition("heavy")[0] == made
    assert outputs[1] == f"{made}heavy [] 0\n"
    assert snapshot(tmp_path) == before


def _append(path: str, text: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        with open(root / path, "a", encoding="utf-8") as file:
            file.write(text)

    return change


def _write(path: str, text: str = "x\n") -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    return change


def _link(root: Path) -> None:
    path = root / "generated/mlu/src/backend.cc"
    path.rename(root / "elsewhere.cc")
    path.symlink_to(root / "elsewhere.cc")


def _folder_link(root: Path) -> None:
    (root / "generated/mlu/src").rename(root / "elsewhere")
    (root / "generated/mlu/src").symlink_to(root / "elsewhere")


CHANGES: dict[str, tuple[Callable[[Path], None], int, str]] = {
    "edited": (_append("generated/mlu/src/backend.cc", "// mine\n"), 1, "was changed by hand"),
    "missing": (lambda root: (root / "generated/mlu/CMakeLists.txt").unlink(), 1, "is not there"),
    "extra": (_write("generated/mlu/new/deep.txt"), 1, "is not fl-gen's"),
    "empty extra": (_write("generated/mlu/src/.hidden", ""), 1, "is not fl-gen's"),
    "link": (_link, 2, "finds a symbolic link"),
    "folder link": (_folder_link, 2, "finds a symbolic link"),
    "marker": (_append("backends/mlu/notes.txt", "<<<<<<< your version\n"), 1, "holds a conflict marker"),
    "marker in a new file": (_write("backends/mlu/a/b.txt", "<<<<<<< your version\n"), 1, "holds a conflict marker"),
    "orphan": (
        lambda root: (root / "generated/dcu").mkdir() or _write("generated/dcu/manifest.json", "{}")(root),  # type: ignore[func-returns-value]
        1,
        "for a vendor that the project does not name",
    ),
    "licence": (_append("L", "and more\n"), 1, "is not what fl-gen makes now"),
    "schema": (_write("s/vendors/mlu/vendor.yaml", "schema: 1\n"), 2, "s/vendors/mlu/vendor.yaml:1:1"),
    "project": (_append("fl-gen.yaml", "  nope: {sdk: sim}\n"), 2, "there is no vendor 'nope'"),
    "project gone": (lambda root: (root / "fl-gen.yaml").unlink(), 0, "only digests"),
    "journal": (_write("generated/.fl-gen-journal"), 2, "a run was stopped"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_is_seen(run: Run, tmp_path: Path, made: str, change: str) -> None:
    function, code, said = CHANGES[change]
    function(tmp_path)
    result = run("check")
    assert result.code == code, result
    assert said in result.out + result.err
    assert result == run("check", "--no-cache")


def test_what_was_found_is_not_kept(run: Run, tmp_path: Path, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "generated" / "mlu" / "extra.txt").write_text("")
    counts = renders(monkeypatch)
    assert run("check") == run("check")
    assert len(counts) == 2
    (tmp_path / "generated" / "mlu" / "extra.txt").unlink()
    assert run("check").out == made
    assert len(counts) == 2  # all is as it was when the answer was given


def test_a_change_while_it_is_checked_makes_the_answer_void(
    run: Run, tmp_path: Path, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows which state was compared."""
    path = tmp_path / "generated" / "mlu" / "src" / "backend.cc"
    good = path.read_text()
    path.write_text(good + "// mine\n")
    whole = tree_check.render_many

    def mend_meanwhile(requests: object, jobs: int = 1) -> object:
        path.write_text(good)
        return whole(requests, jobs)  # type: ignore[arg-type]

    monkeypatch.setattr(tree_check, "render_many", mend_meanwhile)
    assert run("check").code == 0
    monkeypatch.setattr(tree_check, "render_many", whole)
    path.write_text(good + "// mine\n")
    assert run("check").code == 1
