"""Caches of rendering change what a run costs, never what it gives."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from fl_gen.render import formatter as formatter_module
from fl_gen.render.environment import FileRender, environment_for, render_file
from fl_gen.render.formatter import FormatterError, TreeFormatter, format_tree

STYLE = "BasedOnStyle: LLVM\nIndentWidth: 4\n"
FILES = {"a.h": "int  f( int x );\n", "notes.txt": "int  f( int x );\n", "b.cc": "int g(){return 1;}\n"}
FORMATTED = {"a.h": "int f(int x);\n", "notes.txt": "int  f( int x );\n", "b.cc": "int g() { return 1; }\n"}


def compile_counter(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the templates that are compiled from now on."""
    import jinja2

    compiled: list[str] = []
    original = jinja2.Environment.compile

    def counting(self: Any, source: Any, name: Any = None, *rest: Any, **options: Any) -> Any:
        compiled.append(name)
        return original(self, source, name, *rest, **options)

    monkeypatch.setattr(jinja2.Environment, "compile", counting)
    return compiled


def rendered(root: Path, cache: Path | None) -> str:
    environment_for.cache_clear()
    return render_file(environment_for((root,), cache), FileRender("x.txt.j2", "x.txt", {"name": "world"}))


def test_a_template_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_counter(monkeypatch)
    root, cache = tmp_path / "templates", tmp_path / "cache"
    root.mkdir()
    (root / "x.txt.j2").write_text("hello {{ name }}\n", encoding="utf-8")
    assert [rendered(root, cache) for _ in range(3)] == ["hello world\n"] * 3
    assert compiled == ["x.txt.j2"]
    (root / "x.txt.j2").write_text("good morning {{ name }}\n", encoding="utf-8")
    assert rendered(root, cache) == "good morning world\n"
    assert len(compiled) == 2
    assert rendered(root, None) == "good morning world\n"
    assert len(compiled) == 3


@pytest.mark.parametrize("damage", [b"", b"short", b"\0" * 4096, None])
def test_a_damaged_entry_is_no_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None) -> None:
    compiled = compile_counter(monkeypatch)
    root, cache = tmp_path / "templates", tmp_path / "cache"
    root.mkdir()
    (root / "x.txt.j2").write_text("hello {{ name }}\n", encoding="utf-8")
    rendered(root, cache)
    (entry,) = (path for path in cache.rglob("*") if path.is_file())
    entry.write_bytes(entry.read_bytes()[:-1] if damage is None else damage)
    assert rendered(root, cache) == "hello world\n"
    assert len(compiled) == 2


def test_code_that_others_may_have_written_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_counter(monkeypatch)
    root, cache = tmp_path / "templates", tmp_path / "cache"
    root.mkdir()
    (root / "x.txt.j2").write_text("hello {{ name }}\n", encoding="utf-8")
    rendered(root, cache)
    (entry,) = (path for path in cache.rglob("*") if path.is_file())
    entry.parent.chmod(0o777)
    assert rendered(root, cache) == "hello world\n"
    assert len(compiled) == 2


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    root = tmp_path / "templates"
    root.mkdir()
    (root / "x.txt.j2").write_text("hello {{ name }}\n", encoding="utf-8")
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    assert rendered(root, tmp_path / "cache") == "hello world\n"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many files each run of clang-format got."""
    seen: list[int] = []
    original = subprocess.Popen

    def counting(command: list[str], *rest: Any, **options: Any) -> Any:
        seen.append(sum(part.endswith((".h", ".cc")) for part in command))
        return original(command, *rest, **options)

    monkeypatch.setattr(formatter_module.subprocess, "Popen", counting)
    return seen


def test_files_are_formatted_in_one_run_and_then_in_none(tmp_path: Path, runs: list[int]) -> None:
    assert format_tree(FILES, STYLE, tmp_path) == FORMATTED
    assert list(format_tree(FILES, STYLE, tmp_path)) == list(FILES)
    assert runs == [2]
    # Another style is another result.
    assert format_tree(FILES, "BasedOnStyle: GNU\n", tmp_path)["b.cc"] != FORMATTED["b.cc"]
    assert runs == [2, 2]


def test_there_are_two_runs_at_most(runs: list[int]) -> None:
    with TreeFormatter(STYLE, None, enough=3) as formatter:
        for index in range(10):
            formatter.add(f"{index}.cc", f"int f{index}( int x ) ;\n")
        done = formatter.finish()
    assert runs == [3, 7]
    assert done == {f"{index}.cc": f"int f{index}(int x);\n" for index in range(10)}


def test_a_run_that_is_given_up_leaves_nothing_behind(runs: list[int]) -> None:
    with TreeFormatter(STYLE, None, enough=1) as formatter:
        formatter.add("a.cc", "int  a;\n")
        (run,) = formatter._runs
    assert runs == [1]
    assert run._process.poll() is not None
    assert not Path(run._folder.name).exists()


def test_clang_formats_own_words_are_told() -> None:
    with pytest.raises(FormatterError, match="clang-format failed on the generated code: .*unknown key 'NoSuchOption'"):
        format_tree(FILES, "NoSuchOption: 1\n", None)
