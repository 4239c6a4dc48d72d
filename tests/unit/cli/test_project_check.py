"""fl-gen check: what is found, how it is mended, and that it never touches the tree."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fl_gen import __version__
from fl_gen.schema.paths import data_dir
from unit.cli.conftest import Run, snapshot

FILE = "generated/mlu/src/backend.cc"


@pytest.fixture
def here(run: Run, tmp_path: Path, base: Path) -> Path:
    """A copy of the mlu tree with a project, in the current folder."""
    for name in ("generated", "backends"):
        shutil.copytree(base / name, tmp_path / name, symlinks=True)
    (tmp_path / "fl-gen.yaml").write_text(
        f"schema: 1\ngenerator: {__version__}\nframework: infinitrain\nvendors:\n  mlu: {{sdk: sim}}\n"
    )
    return tmp_path


def test_a_tree_as_it_is_made(run: Run, here: Path) -> None:
    result = run("check")
    assert (result.code, result.err) == (0, "")
    assert result.out.endswith(" files as fl-gen makes them\n")
    assert run("check").out.count("\n") == 1


def test_a_checkout_with_other_line_ends_is_equal(run: Run, here: Path) -> None:
    for path in (here / "generated").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert run("check").code == 0
    (here / "fl-gen.yaml").unlink()
    assert run("check").code == 0


def test_all_kinds_of_findings(run: Run, here: Path) -> None:
    edited, missing = here / FILE, here / "generated/mlu/src/kernels/router.cc"
    edited.write_text(edited.read_text().replace("#include <mutex>\n", "#include <mutex>\n#include <vector>\n"))
    missing.unlink()
    (here / "generated/mlu/src/my file.cc").write_text("mine\n")
    (here / "generated/mlu/away").symlink_to("/etc")
    marked = here / "backends/mlu/CMakeLists.txt"
    marked.write_text("a\n<<<<<<< your version\nb\n=======\nc\n>>>>>>> fl-gen\n")
    (here / "generated/old").mkdir()
    shutil.copy(here / "generated/mlu/manifest.json", here / "generated/old/manifest.json")
    before = snapshot(here)
    result = run("check")
    assert (result.code, result.err) == (1, "")
    assert result.out == (
        f"mlu: generated/mlu/src/kernels/router.cc is made by fl-gen, and is not there\n"
        f"mlu: {FILE} was changed by hand\n"
        "mlu: generated/mlu/away is not fl-gen's\n"
        "mlu: generated/mlu/src/my file.cc is not fl-gen's\n"
        "mlu: backends/mlu/CMakeLists.txt:2 holds a conflict marker\n"
        "mlu: backends/mlu/CMakeLists.txt:6 holds a conflict marker\n"
        "old: generated/old was made for a vendor that the project does not name\n"
        "\n"
        f"--- {FILE} (on disk)\n"
        f"+++ {FILE} (fl-gen)\n"
        "@@ -3,7 +3,6 @@\n"
        ' #include "infini_train_mlu/backend.h"\n'
        " \n"
        " #include <mutex>\n"
        "-#include <vector>\n"
        " \n"
        ' #include "infini_train/include/core/privateuse1_backend.h"\n'
        ' #include "infini_train/include/datatype.h"\n'
        "\n"
        "to mend it:\n"
        "  ${EDITOR:-vi} +2 backends/mlu/CMakeLists.txt    # resolve the conflict\n"
        "  ${EDITOR:-vi} +6 backends/mlu/CMakeLists.txt    # resolve the conflict\n"
        "  rm generated/mlu/away    # or move it to backends/\n"
        "  rm 'generated/mlu/src/my file.cc'    # or move it to backends/\n"
        "  fl-gen regen mlu --merge    # keeps both; --keep keeps the edit alone, --overwrite drops it\n"
        "  fl-gen regen --prune\n"
    )
    assert snapshot(here) == before


def test_the_command_that_is_printed_mends_it(run: Run, here: Path) -> None:
    (here / FILE).unlink()
    result = run("check")
    assert result.out.endswith("\nto mend it:\n  fl-gen regen mlu\n")
    assert run("regen", "mlu").code == 0
    assert run("check").code == 0
    (here / FILE).write_text("mine\n" + (here / FILE).read_text())
    assert "regen mlu --merge" in run("check").out
    assert run("regen", "mlu", "--merge").code == 0
    assert (here / FILE).read_text().startswith("mine\n")
    assert run("check").code == 0  # decided, and recorded


def test_markers_in_a_merged_file_fail_until_they_are_gone(run: Run, here: Path) -> None:
    path = here / FILE
    text = path.read_text()
    path.write_text(text.replace("#include <mutex>\n", "<<<<<<< yours\n#include <mutex>\n=======\n>>>>>>> theirs\n"))
    result = run("check")
    assert result.code == 1
    assert f"mlu: {FILE}:5 holds a conflict marker\n" in result.out
    assert "was changed by hand" not in result.out
    path.write_text(text)
    assert run("check").code == 0


def test_a_difference_is_bounded(run: Run, here: Path) -> None:
    (here / FILE).write_text("x\n" * 5000)
    result = run("check")
    assert result.code == 1
    assert result.out.count("\n") < 120
    assert " more lines of this file differ\n" in result.out


def test_control_characters_do_not_reach_the_terminal(run: Run, here: Path) -> None:
    (here / FILE).write_text("\x1b]0;title\x07\n")
    (here / "generated/mlu/\x1b[31mred").write_text("")
    result = run("check")
    assert (result.code, "\x1b" in result.out) == (1, False)


def test_without_a_project_the_manifest_says_what_to_make(run: Run, here: Path) -> None:
    (here / "fl-gen.yaml").unlink()
    assert run("check").code == 0
    (here / FILE).unlink()
    result = run("check")
    assert result.code == 1
    command = result.out.rsplit("\n", 2)[1].strip()
    assert command.startswith("fl-gen backend mlu --sdk sim:")
    assert run(*command.split()[1:]).code == 0
    assert run("check").code == 0
    assert run("check", "-o", "elsewhere") == (
        2,
        "",
        "there is no fl-gen.yaml here, and no tree of fl-gen's in elsewhere/generated\n"
        "  = name the project with --config, or the folder that holds generated/ with --output\n",
    )


def test_a_real_sdk_that_is_not_here_leaves_the_digests(run: Run, here: Path) -> None:
    (here / "fl-gen.yaml").unlink()
    manifest = here / "generated/mlu/manifest.json"
    manifest.write_text(manifest.read_text().replace('"simulated": true', '"simulated": false'))
    result = run("check")
    assert (result.code, result.out.splitlines()) == (
        0,
        [result.out.splitlines()[0]],
    )
    assert "only digests of " in result.out
    assert result.out.endswith(" files were compared: its SDK is not here: give --sdk, or set NEUWARE_HOME\n")
    (here / FILE).write_text("x")
    result = run("check")
    assert (result.code, f"mlu: {FILE} was changed by hand\n" in result.out) == (1, True)
    assert run("check", "--sdk", "sim").code == 1


def test_a_project_without_the_sdk_of_a_vendor_has_a_verdict_on_all(run: Run, here: Path) -> None:
    """As in a CI, where no vendor's SDK is: the others are made again, and of this one the digests are compared."""
    config = here / "fl-gen.yaml"
    config.write_text(config.read_text() + "  maca: {sdk: sim}\n")
    assert run("regen").code == 0
    config.write_text(config.read_text().replace("mlu: {sdk: sim}", "mlu: {sdk: /opt/none}"))
    result = run("check")
    count, others = (
        sum(path.is_file() and ".fl-gen" not in path.parts for path in (here / "generated" / name).rglob("*"))
        for name in ("mlu", "maca")
    )
    said = f"mlu: only digests of {count - 1} files were compared: /opt/none does not exist\n"
    assert result == (0, f"{said}maca: {others} files as fl-gen makes them\n", "")
    (here / FILE).write_text("x")
    result = run("check", "mlu")
    assert (result.code, result.err) == (1, "")
    assert result.out.startswith(f"{said}mlu: {FILE} was changed by hand\n")
    licence = here / "LICENCE"
    licence.write_text("Ours.\n")
    config.write_text(config.read_text().replace("vendors:", "licence: LICENCE\nvendors:"))
    result = run("check", "mlu")
    assert "mlu: generated/mlu was made from others than those of now: licence\n" in result.out
    assert result.out.endswith("  fl-gen regen mlu    # on a machine that has its SDK\n")
    config.write_text(config.read_text().replace("licence: LICENCE\n", ""))
    shutil.rmtree(here / "generated/mlu")  # nothing to compare with: then the SDK is needed
    result = run("check")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "fl-gen.yaml:5:14: mlu: /opt/none does not exist\n"
        "    5 |   mlu: {sdk: /opt/none}\n"
        "      |              ^\n"
        "  = name the folder that holds include/cnrt.h\n"
    )


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "sim:99",
            "fl-gen.yaml:5:14: mlu: sim:99: the simulated mlu SDK has no version 99; it has 6.14.1, 6.0.2, 4.3.0\n"
            "    5 |   mlu: {sdk: sim:99}\n"
            "      |              ^\n",
        ),
        (
            None,
            "fl-gen.yaml:5:3: mlu: no Neuware SDK found: looked for include/cnrt.h in $NEUWARE_HOME (not set), "
            "/usr/local/neuware\n"
            "    5 |   mlu:\n"
            "      |   ^\n"
            "  = name its folder as sdk: DIR, or with NEUWARE_HOME; sdk: sim works without any SDK\n",
        ),
    ],
)
@pytest.mark.parametrize("command", ["regen", "diff"])
def test_a_message_on_an_sdk_names_the_line_of_the_project(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch, command: str, entry: str | None, message: str
) -> None:
    monkeypatch.delenv("NEUWARE_HOME", raising=False)
    config = here / "fl-gen.yaml"
    config.write_text(config.read_text().replace("mlu: {sdk: sim}", f"mlu: {{sdk: {entry}}}" if entry else "mlu:"))
    assert run(command) == (2, "", message)


def test_a_tree_that_nobody_made_is_one_line_and_one_command_mends_all(run: Run, here: Path) -> None:
    config = here / "fl-gen.yaml"
    config.write_text(config.read_text() + "  maca: {sdk: sim}\n")
    (here / FILE).unlink()
    assert run("check").out == (
        f"mlu: {FILE} is made by fl-gen, and is not there\n"
        "maca: generated/maca is not there: nothing is generated yet\n"
        "\n"
        "to mend it:\n"
        "  fl-gen regen mlu maca\n"
    )


def test_what_was_kept_is_said_and_other_inputs_are_words(run: Run, here: Path) -> None:
    (here / FILE).write_text("mine\n" + (here / FILE).read_text())
    assert run("regen", "--keep").code == 0
    assert run("check").out.endswith(" files as fl-gen makes them, 1 of them edited and kept as you decided\n")
    schemas = here / "schemas" / "vendors" / "mlu"
    schemas.mkdir(parents=True)
    text = (data_dir() / "schemas/vendors/mlu/vendor.yaml").read_text()
    (schemas / "vendor.yaml").write_text(f"{text}# a comment\n")
    config = here / "fl-gen.yaml"
    config.write_text(config.read_text().replace("vendors:", "schemas: [schemas]\nvendors:"))
    assert run("check").out == (
        "mlu: generated/mlu/manifest.json is not what fl-gen makes now: it records other inputs (schemas), which make the "
        "same files\n"
        "\n"
        "to mend it:\n"
        "  fl-gen regen mlu\n"
    )
    (schemas / "vendor.yaml").write_text(text)
    record = "generated/mlu/manifest.json"
    assert run("check").out.startswith(
        f"mlu: {record} is not what fl-gen makes now: it records other inputs (overlays), which make the same files\n"
    )
    assert "  M mlu/manifest.json  the record of what made the tree: overlays\n" in run("diff").out


def test_a_manifest_in_which_a_merge_stopped(run: Run, here: Path) -> None:
    """Two branches regenerated. With either side's manifest no edit of the other one is lost."""
    manifest = here / "generated/mlu/manifest.json"
    mine = manifest.read_text()
    lines = mine.splitlines(keepends=True)
    lines[3:4] = ["<<<<<<< HEAD\n", lines[3], "=======\n", '   "nodes": [1],\n', ">>>>>>> other\n"]
    manifest.write_text("".join(lines))
    words = (
        "generated/mlu/manifest.json:4:1: a conflict marker is left in fl-gen's record of what it wrote\n"
        "  = take either side, as git checkout --ours generated/mlu/manifest.json, and run fl-gen again: what differs is "
        "found by the files themselves\n"
    )
    for command in (["check"], ["regen"], ["regen", "--overwrite"], ["diff"], ["explain", FILE]):
        assert run(*command) == (2, "", words)
    theirs = (here / FILE).read_text() + "// decided on the other branch\n"
    (here / FILE).write_text(theirs)
    manifest.write_text(mine)
    assert run("regen").code == 2
    assert run("regen", "--merge").code == 0
    assert (here / FILE).read_text() == theirs
    assert run("check").code == 0


def test_a_damaged_manifest_gives_no_verdict(run: Run, here: Path) -> None:
    (here / "generated/mlu/manifest.json").write_text("{")
    result = run("check")
    assert result.code == 2
    assert "generated/mlu/manifest.json:1:2: the manifest is damaged" in result.err


def test_options_and_project_exclude_each_other(run: Run, here: Path) -> None:
    result = run("check", "--config", "fl-gen.yaml", "--sdk", "sim")
    assert (result.code, "--config names a project, which says all" in result.err) == (2, True)
    result = run("check", "--sdk", "sim")
    assert (result.code, result.err) == (0, "fl-gen.yaml was not read: options said what to compare with\n")
