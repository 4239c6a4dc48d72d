"""What stops `fl-gen backend`: the exact message, exit code 2, nothing written, and never a traceback."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.schema.paths import data_dir

from .building import ROOT, environment, tool
from .command import fl_gen, snapshot

NOBODY = 65534


@pytest.fixture
def neuware(tmp_path: Path) -> Path:
    """The headers of an SDK on disk, as a vendor installs them."""
    root = tmp_path / "neuware"
    headers = render_headers(load_api(data_dir() / "schemas" / "vendors" / "mlu" / "api.yaml"), "")
    for name, text in headers.items():
        path = root / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def refused(result: subprocess.CompletedProcess[str], expected: str) -> None:
    """Exit code 2 and exactly `expected` on the error stream."""
    assert "Traceback" not in result.stderr
    assert result.stderr.rstrip("\n") == expected
    assert result.stdout == ""
    assert result.returncode == 2


def stops(tmp_path: Path, expected: str, *arguments: str | Path, **variables: str) -> None:
    """`fl-gen backend ARGUMENTS -o OUT` says `expected`, and OUT is as before."""
    before = snapshot(tmp_path)
    refused(fl_gen("backend", *arguments, "-o", "out", cwd=tmp_path, **variables), expected)
    assert snapshot(tmp_path) == before


# --- the SDK ----------------------------------------------------------------------------------------------------------


def test_a_wrong_path(tmp_path: Path) -> None:
    stops(
        tmp_path,
        "--sdk /no/such/sdk does not exist\n  = name the folder that holds include/cnrt.h",
        *("mlu", "--sdk", "/no/such/sdk"),
    )


def test_a_header_with_an_error(tmp_path: Path, neuware: Path) -> None:
    header = neuware / "include" / "cnrt.h"
    lines = header.read_text(encoding="utf-8").splitlines()
    lines.insert(39, "int broken(;")
    header.write_text("\n".join(lines) + "\n", encoding="utf-8")
    stops(
        tmp_path,
        f"{header}:40:1: no verdict on this SDK: clang: expected identifier\n"
        "   40 | int broken(;\n"
        "      | ^\n"
        "  = repair or complete the SDK's headers, or name another SDK with --sdk; nothing was checked",
        *("mlu", "--sdk", neuware),
    )


def test_a_required_header_that_is_not_there(tmp_path: Path, neuware: Path) -> None:
    (neuware / "include" / "cnrt.h").unlink()
    stops(
        tmp_path,
        f"--sdk {neuware} is no Neuware SDK: cnrt.h (CNRT) is not in {neuware}/include, {neuware}\n"
        "  = name the folder that holds include/cnrt.h with --sdk or NEUWARE_HOME",
        *("mlu", "--sdk", neuware),
    )


def test_a_group_that_is_asked_for(tmp_path: Path, neuware: Path) -> None:
    (neuware / "include" / "cncl.h").unlink()
    stops(
        tmp_path,
        f"Neuware 6.14.1 at {neuware}: CNCL is needed, and its header cncl.h is not in {neuware}/include\n"
        "  = install CNCL, or point --sdk at an SDK that has it",
        *("mlu", "--sdk", neuware, "--require", "ccl"),
    )


def test_a_group_that_is_missing_is_left_out_with_its_files(tmp_path: Path, neuware: Path) -> None:
    (neuware / "include" / "cncl.h").unlink()
    result = fl_gen("backend", "mlu", "--sdk", neuware, "-o", "out", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "group    ccl      CNCL left out: no cncl.h" in result.stdout
    generated = tmp_path / "out" / "generated" / "mlu"
    assert not (generated / "src" / "ccl").exists()
    assert not [path for path in generated.rglob("*") if "cncl" in path.name]
    left = [
        path.relative_to(generated).as_posix()
        for path in generated.rglob("*")
        if path.is_file() and "cncl" in path.read_text(encoding="utf-8").lower()
    ]
    assert left == []


def test_no_sdk_at_all(tmp_path: Path) -> None:
    if Path("/usr/local/neuware/include/cnrt.h").exists():
        pytest.skip("this machine has a Neuware SDK")
    stops(
        tmp_path,
        "no Neuware SDK found: looked for include/cnrt.h in $NEUWARE_HOME (not set), /usr/local/neuware\n"
        "  = name its folder with --sdk DIR or NEUWARE_HOME; --sdk sim works without any SDK",
        "mlu",
    )


def test_a_simulated_release_that_is_not_known(tmp_path: Path) -> None:
    stops(
        tmp_path,
        "sim:9: the simulated mlu SDK has no version 9; it has 6.14.1, 6.0.2, 4.3.0",
        *("mlu", "--sdk", "sim:9"),
    )


# --- schemas ----------------------------------------------------------------------------------------------------------


def test_an_unknown_vendor(tmp_path: Path) -> None:
    shipped = ROOT / "schemas"
    stops(tmp_path, f"there is no vendor 'mly' in {shipped}\n  = did you mean 'mlu'?", *("mly", "--sdk", "sim"))


def test_an_alias_bomb(tmp_path: Path) -> None:
    path = tmp_path / "bad" / "vendors" / "mlu" / "vendor.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("a: &a [x,x]\nb: *a\n", encoding="utf-8")
    stops(
        tmp_path,
        "bad/vendors/mlu/vendor.yaml:1:4: anchors are not supported (&a)\n"
        "    1 | a: &a [x,x]\n      |    ^\n  = write the value out\n"
        "bad/vendors/mlu/vendor.yaml:2:4: aliases are not supported (*a)\n"
        "    2 | b: *a\n      |    ^\n  = write the value out\n"
        "2 errors",
        *("mlu", "--sdk", "sim", "--schemas", "bad"),
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x01\x02",
        b"\xff\xfe\x00",
        b"[" * 5000,
        b"- 1\n- 2\n",
        b"schema: 1\nvendor: !!python/object/apply:os.system [id]\n",
        b"schema: 1\nschema: 2\n",
        b"vendor: ../../etc\n",
        b'schema: 1\nvendor: "{{ 1/0 }}"\n',
        "schema: 1\nvendor: mlu\ntitle: \u202ex\n".encode(),
    ],
    ids=["empty", "binary", "utf16", "deep", "list", "object", "duplicate", "path", "template", "bidi"],
)
def test_hostile_schemas(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad" / "vendors" / "mlu" / "vendor.yaml"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    before = snapshot(tmp_path)
    result = fl_gen("backend", "mlu", "--sdk", "sim", "--schemas", "bad", "-o", "out", cwd=tmp_path)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("bad/vendors/mlu/vendor.yaml:")
    assert "\u202e" not in result.stderr
    assert snapshot(tmp_path) == before


# --- the output -------------------------------------------------------------------------------------------------------


def test_a_linked_folder_of_the_vendor(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "out" / "generated").mkdir(parents=True)
    (tmp_path / "out" / "generated" / "mlu").symlink_to(elsewhere)
    stops(
        tmp_path,
        "out/generated/mlu: fl-gen needs a folder here and finds a symbolic link: move it away",
        *("mlu", "--sdk", "sim"),
    )


def test_a_linked_file(tmp_path: Path) -> None:
    assert fl_gen("backend", "mlu", "--sdk", "sim", "-o", "out", cwd=tmp_path).returncode == 0
    victim = tmp_path / "victim"
    victim.write_text("mine")
    link = tmp_path / "out" / "generated" / "mlu" / "CMakeLists.txt"
    link.unlink()
    link.symlink_to(victim)
    stops(
        tmp_path,
        "out/generated/mlu/CMakeLists.txt: fl-gen needs a file here and finds a symbolic link: move it away",
        *("mlu", "--sdk", "sim"),
    )
    assert victim.read_text() == "mine"


def test_a_linked_output_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    assert fl_gen("backend", "mlu", "--sdk", "sim", "-o", "out", cwd=tmp_path).returncode == 0
    assert (tmp_path / "real" / "generated" / "mlu" / "manifest.json").is_file()
    assert (tmp_path / "out").is_symlink()


@pytest.mark.parametrize(
    ("path", "what"), [("out", "out"), ("out/generated", "out/generated")], ids=["output", "generated"]
)
def test_a_file_where_a_folder_is_needed(tmp_path: Path, path: str, what: str) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("mine")
    stops(tmp_path, f"{what}: fl-gen needs a folder here and finds a file: move it away", *("mlu", "--sdk", "sim"))


def _as_nobody(tmp_path: Path) -> Path:
    """A folder that nobody can reach, and the checks that this can be tried at all."""
    if os.geteuid() != 0:
        return tmp_path
    tool("setpriv")
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
    imports = [*user, sys.executable, "-c", "import click, yaml, jinja2, clang.cindex"]
    probe = subprocess.run(imports, env=environment(), capture_output=True, check=False)
    readable = subprocess.run([*user, "test", "-r", ROOT / "schemas"], check=False)
    if probe.returncode != 0 or readable.returncode != 0:
        pytest.skip("an unprivileged user cannot read this checkout or its Python")
    for parent in (tmp_path, *tmp_path.parents):
        if str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    return tmp_path


def test_a_folder_without_write_permission(tmp_path: Path) -> None:
    folder = _as_nobody(tmp_path)
    out = folder / "out"
    out.mkdir()
    out.chmod(0o555)
    user = NOBODY if os.geteuid() == 0 else None
    result = fl_gen(
        "backend", "mlu", "--sdk", "sim", "--no-cache", "-o", out, cwd=Path("/"), user=user, HOME="/nonexistent"
    )
    out.chmod(0o755)
    assert "Traceback" not in result.stderr
    assert result.returncode == 2
    assert result.stderr == (
        f"{out}/backends: cannot be written: Permission denied. "
        "Make the folder writable, or choose another with --output.\n"
    )
    assert list(out.iterdir()) == []


def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        result = fl_gen("backend", "mlu", "--sdk", "sim", "-o", disk, cwd=tmp_path)
        assert "Traceback" not in result.stderr
        assert result.returncode == 2
        assert "cannot be written: No space left on device" in result.stderr
        assert "Make room on the disk and run again." in result.stderr
        assert not (disk / "generated" / "mlu").exists()
        assert not [path for path in disk.rglob("*") if path.is_file()]
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_a_disk_that_fills_up_under_an_update(tmp_path: Path) -> None:
    """The old tree, a hand edit and a foreign file in it stay as they are; with room the same run succeeds."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", disk]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"a file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        assert fl_gen("backend", "mlu", "--sdk", "sim:6.0", "-o", disk, cwd=tmp_path).returncode == 0
        edited = disk / "generated" / "mlu" / "src" / "backend.cc"
        edited.write_text(edited.read_text(encoding="utf-8") + "// mine\n", encoding="utf-8")
        (disk / "generated" / "mlu" / "foreign").write_text("mine")
        with (disk / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(b"x" * 4096)
        before = snapshot(disk)
        result = fl_gen("backend", "mlu", "--sdk", "sim", "-o", disk, "--merge", cwd=tmp_path)
        assert (result.returncode, "No space left on device" in result.stderr) == (2, True)
        assert "Traceback" not in result.stderr
        assert snapshot(disk) == before
        (disk / "ballast").unlink()
        assert fl_gen("backend", "mlu", "--sdk", "sim", "-o", disk, "--merge", cwd=tmp_path).returncode == 0
        assert edited.read_text(encoding="utf-8").endswith("// mine\n")
        assert (disk / "generated" / "mlu" / "foreign").read_text() == "mine"
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def test_two_runs_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fl_gen", "backend", "mlu", "--sdk", "sim", "-o", "out"]
    env = environment(PYTHONPATH=str(ROOT / "codegen"))
    runs = [
        subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [process.communicate(timeout=120) for process in runs]
    assert [process.returncode for process in runs] == [0, 0, 0], outputs
    alone = tmp_path / "alone"
    assert fl_gen("backend", "mlu", "--sdk", "sim", "-o", alone, cwd=tmp_path).returncode == 0
    assert snapshot(tmp_path / "out") == snapshot(alone)


@pytest.mark.parametrize("seconds", [0.3, 0.6, 0.9, 1.2])
def test_a_run_that_is_killed_leaves_the_old_tree_or_the_new_one(tmp_path: Path, seconds: float) -> None:
    assert fl_gen("backend", "mlu", "--sdk", "sim:6.0", "-o", "out", cwd=tmp_path).returncode == 0
    old = snapshot(tmp_path / "out" / "generated" / "mlu")
    shutil.copytree(tmp_path / "out", tmp_path / "new")
    assert fl_gen("backend", "mlu", "--sdk", "sim", "-o", "new", cwd=tmp_path).returncode == 0
    new = snapshot(tmp_path / "new" / "generated" / "mlu")
    command = [sys.executable, "-m", "fl_gen", "backend", "mlu", "--sdk", "sim", "-o", "out"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment(PYTHONPATH=str(ROOT / "codegen")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert snapshot(tmp_path / "out" / "generated" / "mlu") in (old, new)
    assert fl_gen("backend", "mlu", "--sdk", "sim", "-o", "out", cwd=tmp_path).returncode == 0
    assert snapshot(tmp_path / "out") == snapshot(tmp_path / "new")


def test_a_hand_edit_is_never_lost(tmp_path: Path) -> None:
    assert fl_gen("backend", "mlu", "--sdk", "sim", "-o", "out", cwd=tmp_path).returncode == 0
    edited = tmp_path / "out" / "generated" / "mlu" / "src" / "backend.cc"
    with edited.open("a", encoding="utf-8") as file:
        file.write("// mine\n")
    before = snapshot(tmp_path)
    # The same inputs make the same text, so the edit is the only difference; another SDK would replace it.
    result = fl_gen("backend", "mlu", "--sdk", "sim:6.0", "-o", "out", cwd=tmp_path)
    assert result.returncode == 2
    said = "1 file under out/generated/mlu was changed by hand, and this run would lose that:\n"
    assert f"{said}  out/generated/mlu/src/backend.cc\n" in result.stderr
    assert snapshot(tmp_path) == before
    assert fl_gen("backend", "mlu", "--sdk", "sim:6.0", "-o", "out", "--overwrite", cwd=tmp_path).returncode == 0
    assert "// mine" not in edited.read_text(encoding="utf-8")
