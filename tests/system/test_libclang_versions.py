"""The same verdicts, choices and bytes with every libclang that fl-gen names: the oldest, the pinned and the newest.

`tools/setup.sh test` puts the others below `build/libclang/`; only the pinned one's messages are golden.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("FL_GEN_LIBCLANGS", ROOT / "build" / "libclang"))
OTHERS = ("16.0.6", "22.1.4.2")
TARGETS = ("mlu@sim", "mlu@sim:6.0", "mlu@sim:4.3", "ascend@sim", "nvidia@sim")


def _fl_gen(libclang: str | None, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`fl-gen ARGUMENTS` with a libclang of that version, None for the installed one."""
    places = [str(ROOT / "codegen")]
    if libclang is not None:
        place = FOLDER / libclang
        if not (place / "clang" / "cindex.py").is_file():
            message = f"libclang {libclang} is not in {FOLDER}: tools/setup.sh test puts it there"
            pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
        places.insert(0, str(place))
    return subprocess.run(
        [sys.executable, "-m", "fl_gen", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        check=False,
    )


def _verdicts(text: str) -> Any:
    """A report without the compiler's name and its words: what it decided."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items() if key not in ("libclang", "messages", "message")}
        return [plain(one) for one in value] if isinstance(value, list) else value

    return plain(json.loads(text))


def _report(libclang: str | None, cwd: Path) -> Any:
    result = _fl_gen(libclang, "sdk", "check", *TARGETS, "--format", "json", "--no-cache", cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def pinned(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return _report(None, tmp_path_factory.mktemp("pinned"))


@pytest.mark.parametrize("version", OTHERS)
def test_the_same_verdicts_and_choices(version: str, pinned: Any, tmp_path: Path) -> None:
    other = _report(version, tmp_path)
    assert f"clang version {version.rsplit('.', 1)[0] if version.count('.') > 2 else version}" in other
    assert _verdicts(other) == _verdicts(pinned)


@pytest.mark.parametrize("version", OTHERS)
def test_the_same_bytes(version: str, tmp_path: Path) -> None:
    trees = []
    for libclang in (None, version):
        folder = tmp_path / str(libclang)
        result = _fl_gen(libclang, "backend", "mlu", "--sdk", "sim", "--no-cache", "-o", str(folder), cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        trees.append({p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()})
    assert trees[0] == trees[1]
