"""Names in `fl-gen.yaml` that nothing has: all of them are told at once, at their places, before anything is done."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fl_gen import __version__

from .conftest import Run

COMMANDS = [("regen",), ("check",), ("diff",), ("regen", "--dry-run"), ("regen", "--list-outputs")]


def write(folder: Path, framework: str, vendors: str, more: str = "") -> None:
    head = f"schema: 1\ngenerator: {__version__}\nframework: {framework}\n{more}vendors:\n"
    (folder / "fl-gen.yaml").write_text(head + vendors)


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_vendors_are_told_in_the_file(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    write(tmp_path, "infinitrain", "  mlu: {sdk: sim}\n  mul: {sdk: sim}\n  zzz:\n")
    result = run(*command)
    assert (result.code, result.out) == (2, "")
    known = "ascend, corex, dcu, gcu, maca, mlu, musa, nvidia, xpu"
    assert result.err == (
        "fl-gen.yaml:6:3: there is no vendor 'mul'\n"
        "    6 |   mul: {sdk: sim}\n"
        "      |   ^~~\n"
        "  = did you mean 'mlu'?\n"
        "fl-gen.yaml:7:3: there is no vendor 'zzz'\n"
        "    7 |   zzz:\n"
        "      |   ^~~\n"
        f"  = vendors: {known}\n"
        "2 errors\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["fl-gen.yaml"]


def test_thousands_of_unknown_vendors_take_no_time(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "infinitrain", "".join(f"  v{number}: {{sdk: sim}}\n" for number in range(3000)))
    began = time.process_time()
    assert run("regen").code == 2
    assert time.process_time() - began < 5


def test_an_unknown_framework(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "infinitrian", "  mlu: {sdk: sim}\n")
    assert run("check") == (
        2,
        "",
        "fl-gen.yaml:3:12: there is no framework 'infinitrian'\n"
        "    3 | framework: infinitrian\n"
        "      |            ^~~~~~~~~~~\n"
        "  = did you mean 'infinitrain'?\n",
    )


def test_templates_of_another_framework(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    write(tmp_path, "infinitrain", "  mlu: {sdk: sim}\n", "templates: [own]\n")
    assert run("regen") == (
        2,
        "",
        "fl-gen.yaml:4:13: own holds no folder infinitrain\n"
        "    4 | templates: [own]\n"
        "      |             ^~~\n"
        "  = lay it out as the shipped templates: infinitrain/<path of the generated file>.j2\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mlu@sim", "--framework", "jax"), "there is no framework 'jax'\n  = frameworks: infinitrain, torch\n"),
        (("mlu@sim", "mlu@sim:4.3"), "mlu: is named twice\n  = name each vendor once, with one SDK\n"),
    ],
)
def test_init_writes_no_file_that_regen_refuses(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert run("init", *arguments) == (2, "", message)
    assert not (tmp_path / "fl-gen.yaml").exists()


def test_commands_that_are_printed_can_be_pasted(run: Run, tmp_path: Path) -> None:
    name = "my $(touch x) 'project'.yaml"
    quoted = "'my $(touch x) '\"'\"'project'\"'\"'.yaml'"
    result = run("init", "mlu@sim", "--config", name)
    assert result.out == f"{name}: mlu\nnext  fl-gen regen --config {quoted}    # makes what it names\n"
    (tmp_path / name).write_text((tmp_path / name).read_text().replace(f"generator: {__version__}", "generator: 99"))
    assert f"fl-gen regen --upgrade --config {quoted}" in run("regen", "--config", name).err
