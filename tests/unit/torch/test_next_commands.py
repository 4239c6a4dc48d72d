"""The commands that fl-gen proposes for PyTorch packages, and what `kernel new` says of a name with overloads."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_gen.cli.main import main
from fl_gen.sdk.wheel import Wheel

pytestmark = pytest.mark.xdist_group("torch")  # which reads the wheel once


@pytest.fixture
def folder(wheel: Wheel, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(cache))
    monkeypatch.setenv("TORCH_FL_TORCH", str(wheel.package))
    return tmp_path


BACKEND = ("backend", "mlu", "--framework", "torch", "--sdk", "sim", "--no-format")
NEW = ("kernel", "new", "mlu", "--framework", "torch", "--sdk", "sim", "--python")


def test_an_edited_package_is_mended_by_a_command_that_works(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*BACKEND]) == 0
    edited = folder / "generated" / "torch_mlu" / "pyproject.toml"
    edited.write_text(edited.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    capsys.readouterr()
    assert main(["check"]) == 1
    (command,) = (line.strip() for line in capsys.readouterr().out.splitlines() if "fl-gen backend" in line)
    assert command.partition("    #")[0].split() == [
        *("fl-gen", "backend", "mlu", "--sdk", "sim:6.14.1", "--framework", "torch", "--no-format", "--merge")
    ]


def test_a_name_with_overloads_is_told_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NEW, "aten::add"]) == 2
    assert capsys.readouterr().err == (
        "aten::add has overloads, each with a kernel of its own\n"
        "  = name one: aten::add.Scalar, aten::add.Scalar_out, aten::add.Tensor, aten::add.out\n"
    )
    assert not (folder / "backends").exists()


def test_the_kernel_that_is_proposed_is_none_that_is_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proposals = []
    for op in ("aten::relu", "aten::sigmoid"):
        assert main([*BACKEND]) == 0
        lines = capsys.readouterr().out.splitlines()
        proposals += [line.strip() for line in lines if "fl-gen kernel new" in line]
        assert main([*NEW, op]) == 0
        capsys.readouterr()
    assert proposals == [
        "fl-gen kernel new mlu aten::relu --framework torch --sdk sim    # the first kernel of your own",
        "fl-gen kernel new mlu aten::sigmoid --framework torch --sdk sim    # another kernel of your own",
    ]
