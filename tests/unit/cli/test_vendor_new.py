"""`fl-gen vendor new`: what it writes and prints, what it refuses, and that it never touches what is there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fl_gen.output import disk, once
from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.schema.catalog import Catalog
from unit.cli.conftest import Run, snapshot


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The headers of a simulated SDK, without anything that says whose they are."""
    folder = tmp_path_factory.mktemp("sdk")
    path = Catalog().api_path("mlu")
    assert path is not None
    for name, text in render_headers(load_api(path)).items():
        file = folder / "include" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def test_a_draft_can_be_used_at_once(run: Run, sdk: Path, tmp_path: Path) -> None:
    result = run("vendor", "new", "newco", "--sdk", sdk)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert lines[0] == f"schemas/vendors/newco/vendor.yaml: a draft from headers in {sdk}/include"
    assert lines[1] == "  runtime  cnrt*: cnrt.h; library cnrt (guessed); cnrtRet_t, cnrtSuccess is success"
    rows = {line.split()[0]: line.split() for line in lines if "." in line and not line.startswith(" ")}
    assert rows["memory.alloc"] == ["memory.alloc", "*", "cnrtMalloc", "0.97", "yes"]
    assert rows["device.init"] == ["device.init", "strategy", "implicit"]
    assert lines[-3:] == [
        "  read schemas/vendors/newco/vendor.yaml against the vendor's documentation",
        f"  fl-gen sdk check newco --schemas schemas --sdk {sdk}",
        f"  fl-gen backend newco --schemas schemas --sdk {sdk}",
    ]
    folders = ["schemas", "schemas/vendors", "schemas/vendors/newco"]
    assert list(snapshot(tmp_path)) == [*folders, "schemas/vendors/newco/vendor.yaml"]
    checked = run("sdk", "check", "newco", "--schemas", "schemas", "--sdk", sdk)
    assert checked.code == 0, checked.err
    assert "nothing required is lost" in " ".join(checked.out.split())
    assert run("schema", "check", "newco", "--schemas", "schemas").code == 0


def test_nothing_that_is_there_is_touched(run: Run, sdk: Path, tmp_path: Path) -> None:
    folder = tmp_path / "schemas" / "vendors" / "newco"
    folder.mkdir(parents=True)
    (folder / "notes.txt").write_text("mine")
    before = snapshot(tmp_path / "schemas")
    result = run("vendor", "new", "newco", "--sdk", sdk)
    assert result.code == 2
    assert result.err == (
        "schemas/vendors/newco is there already, and a draft never replaces what somebody wrote\n"
        "  = choose another name or --output, or move it away\n"
    )
    assert snapshot(tmp_path / "schemas") == before
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "vendors").mkdir()
    (tmp_path / "link" / "vendors" / "newco").symlink_to("nowhere")
    assert run("vendor", "new", "newco", "--sdk", sdk, "-o", "link").code == 2
    assert os.readlink(tmp_path / "link" / "vendors" / "newco") == "nowhere"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../x", "lower case letters, digits and _, beginning with a letter"),
        ("NewCo", "lower case letters, digits and _, beginning with a letter"),
        ("", "lower case letters, digits and _, beginning with a letter"),
        ("x\ny", "lower case letters, digits and _, beginning with a letter"),
        ("cuda", "the framework keeps"),
        ("con", "compilers, build tools or the framework use that word for something else"),
        ("class", "C++ keyword"),
        ("newco_", "it may not end in an underscore"),
    ],
)
def test_names_that_no_vendor_can_have(run: Run, sdk: Path, tmp_path: Path, name: str, why: str) -> None:
    result = run("vendor", "new", "--sdk", sdk, "--", name)
    assert result.code == 2
    assert result.err.startswith("'"), result.err
    assert "cannot be the name of a vendor\n  = " in result.err
    assert why in result.err
    assert list(tmp_path.iterdir()) == []


def test_sdks_that_cannot_be_drafted(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    broken = tmp_path / "broken" / "include"
    broken.mkdir(parents=True)
    (broken / "x.h").write_text("typedef int (;\n")
    for root, said in (
        (tmp_path / "absent", "cannot be read: No such file or directory"),
        (empty, "there is no header in it"),
        (tmp_path / "broken", "no header in it parses:"),
    ):
        result = run("vendor", "new", "newco", "--sdk", root)
        assert result.code == 2
        assert said in result.err
        assert not (tmp_path / "schemas").exists()
    assert "a draft is made from headers on the disk" in run("vendor", "new", "newco", "--sdk", "sim:6.14").err
    assert "Missing option '--sdk'" in run("vendor", "new", "newco").err
    assert "the value is empty" in run("vendor", "new", "newco", "--sdk", "").err


def test_a_tradition_that_nobody_knows(run: Run, sdk: Path) -> None:
    result = run("vendor", "new", "newco", "--sdk", sdk, "--like", "sycl")
    assert result.code == 2
    assert result.err == "--like 'sycl' is no way of naming that is known\n  = one of cuda, cnrt, acl\n"
    assert run("vendor", "new", "newco", "--sdk", sdk, "--like", "acl").code == 0


def test_a_full_disk_leaves_nothing(run: Run, sdk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    for module in (disk, once):
        monkeypatch.setattr(module, "write_new", full)
    result = run("vendor", "new", "newco", "--sdk", sdk)
    assert result.code == 2
    assert "No space left on device" in result.err
    assert "Make room on the disk and run again." in result.err
    assert not list(tmp_path.rglob("*.yaml"))


def test_odd_paths_are_quoted_in_the_next_commands(run: Run, sdk: Path, tmp_path: Path) -> None:
    odd = tmp_path / "an sdk; with $odd name"
    odd.symlink_to(sdk)
    result = run("vendor", "new", "newco", "--sdk", odd, "-o", "my schemas")
    assert result.code == 0, result.err
    assert f"--schemas 'my schemas' --sdk '{odd}'" in result.out
