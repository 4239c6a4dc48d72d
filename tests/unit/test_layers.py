"""The house rules that a tool can check: imports go one way, files stay small, and the project speaks of itself alone."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "codegen" / "fl_gen"
# Top to bottom: a layer may import itself and what stands below it.
LAYERS = ("cli", "report", "tasks", "workflow", "output", "render", "resolve", "sdk", "schema")


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)


def layer_of(parts: tuple[str, ...]) -> str:
    return parts[0]


def imported_layers(path: Path) -> set[str]:
    own = path.relative_to(PACKAGE).with_suffix("").parts
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ["fl_gen", *own[: len(own) - node.level]] if node.level else []
            module = node.module.split(".") if node.module else []
            names = [".".join([*base, *module, alias.name]) for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "fl_gen" and len(parts) > 1 and parts[1] in LAYERS:
                found.add(parts[1])
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_down(path: Path) -> None:
    own = path.relative_to(PACKAGE).with_suffix("").parts[0]
    above = LAYERS[: LAYERS.index(own)]
    assert imported_layers(path).isdisjoint(above)


def test_every_folder_is_a_layer() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name not in ("__pycache__", "_data")}
    assert folders <= set(LAYERS)


def test_version_needs_no_heavy_import() -> None:
    program = (
        "import sys\n"
        "from fl_gen.cli.main import main\n"
        "assert main(['--version']) == 0\n"
        "heavy = {'click', 'yaml', 'jinja2', 'clang', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT / "codegen"
    )
    assert result.stderr == ""
    assert result.stdout.startswith("fl-gen ")
