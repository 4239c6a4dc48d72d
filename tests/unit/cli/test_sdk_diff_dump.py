"""`fl-gen sdk diff` and `fl-gen sdk dump` as commands: exit codes, forms, files, and what is said when it goes wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from .conftest import Run

HEADER = "int toyMalloc(void **ptr, unsigned long size);\n#if TOY_VERSION >= 2\nint toyNew(void);\n#endif\n"


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """An SDK that no schema describes."""
    folder = tmp_path / "toy" / "include"
    folder.mkdir(parents=True)
    (folder / "toy.h").write_text(HEADER)
    return tmp_path / "toy"


def test_dump_of_a_vendor_and_of_an_unknown_sdk(run: Run, toy: Path) -> None:
    known = run("sdk", "dump", "mlu", "--sdk", "sim:6.0")
    assert (known.code, known.err) == (0, "")
    assert json.loads(known.out)["sdk"]["groups"] == ["runtime", "blas", "ccl"]
    for arguments in (["--header", "toy.h"], []):
        unknown = run("sdk", "dump", "--sdk", toy, *arguments)
        assert (unknown.code, unknown.err) == (0, "")
        dump = json.loads(unknown.out)
        assert [one["name"] for one in dump["functions"]] == ["toyMalloc"]
        assert [one["name"] for one in dump["unavailable"]] == ["toyNew"]
        assert str(toy) not in unknown.out


def test_dump_of_some_headers_of_a_vendor_into_a_file(run: Run, tmp_path: Path) -> None:
    result = run("sdk", "dump", "mlu", "--sdk", "sim", "--header", "cnrt.h", "--format", "yaml", "-o", "made/dump.yaml")
    assert (result.code, result.err) == (0, "")
    dump = yaml.safe_load((tmp_path / "made" / "dump.yaml").read_text())
    assert [one["name"] for one in dump["headers"]] == ["cnrt.h"]
    assert result.out.splitlines()[0].startswith(f"{len(dump['functions'])} functions, ")
    assert result.out.splitlines()[1] == "written to made/dump.yaml"


def test_dump_says_that_headers_were_left_out(run: Run, toy: Path, tmp_path: Path) -> None:
    said = (
        "2 headers or folders were left out (2: they do not parse); skipped in the dump tells why\n"
        "  = name what is wanted with --header HEADER\n"
    )
    for name in ("broken", "worse"):
        (toy / "include" / f"{name}.h").write_text("int (;\n")
    printed = run("sdk", "dump", "--sdk", toy)
    written = run("sdk", "dump", "--sdk", toy, "-o", "toy.json")
    assert (printed.code, printed.err, written.code, written.err) == (0, said, 0, said)
    assert (tmp_path / "toy.json").read_text() == printed.out
    assert [one["name"] for one in json.loads(printed.out)["skipped"]] == ["broken.h", "worse.h"]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_dump_of_headers_with_bytes_that_are_no_utf8(run: Run, toy: Path, form: str) -> None:
    text = b'#define TOY_NAME "\xff"\n#define TOY_CALL(x) "\xe9" x\n/* \xe9 */\n'
    (toy / "include" / "toy.h").write_bytes(text + HEADER.encode())
    result = run("sdk", "dump", "--sdk", toy, "--format", form)
    assert (result.code, result.err) == (0, "")
    dump = yaml.safe_load(result.out)
    assert [one["name"] for one in (*dump["macros"], *dump["function_macros"])] == ["TOY_NAME", "TOY_CALL"]
    assert [one["name"] for one in dump["functions"]] == ["toyMalloc"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Error: Name a VENDOR, or the folder of an SDK with --sdk.\n"),
        (["--sdk", "sim"], "Error: --sdk sim needs a VENDOR: there is one simulated SDK for each.\n"),
        (["mlx", "--sdk", "sim"], "did you mean 'mlu'?"),
        (["mlu", "--sdk", "gone"], "--sdk gone does not exist\n"),
        (["--sdk", "gone", "--header", "x.h"], "--sdk gone does not exist\n  = name the folder that holds x.h\n"),
        (["--sdk", "toy/include/toy.h", "--header", "x.h"], "--sdk toy/include/toy.h is a file, not a folder\n"),
        (["--sdk", "toy", "--header", "Toy.h"], "/toy\n  = did you mean toy.h?\n"),
        (["--sdk", "toy", "--header", "a>b"], "--header 'a>b' cannot stand in an #include\n"),
        (["mlu", "--sdk", "sim", "--header", "cnrt.hh"], "\n  = did you mean cnrt.h?\n"),
        (["mlu", "--sdk", "sim:9"], "has no version 9"),
        (["mlu", "--sdk", ""], "the value is empty"),
    ],
)
def test_dump_says_what_is_wrong(run: Run, toy: Path, arguments: list[str], words: str) -> None:
    result = run("sdk", "dump", *arguments)
    assert (result.code, result.out) == (2, "")
    assert words in result.err


def test_dump_of_headers_that_do_not_parse_is_no_dump(run: Run, toy: Path) -> None:
    (toy / "include" / "toy.h").write_text(f"{HEADER}struct {{\n")
    result = run("sdk", "dump", "--sdk", toy, "--header", "toy.h")
    assert (result.code, result.out) == (2, "")
    assert "toy.h:" in result.err
    assert "no verdict on this SDK: clang: " in result.err


def test_diff_exits_by_what_is_lost_in_every_form(run: Run, tmp_path: Path) -> None:
    up, down = ("--from", "sim:6.0", "--to", "sim:6.14"), ("--from", "sim:6.0", "--to", "sim:4.3")
    text = run("sdk", "diff", "mlu", *up)
    assert (text.code, text.err) == (0, "")
    assert text.out.splitlines()[4] == "Nothing that this backend uses is lost."
    data = run("sdk", "diff", "mlu", *down, "--format", "json")
    assert (data.code, data.err) == (1, "")
    assert json.loads(data.out)["exit_code"] == 1
    page = run("sdk", "diff", "mlu", *down, "--format", "markdown", "-o", "made/diff.md")
    assert page.code == 1
    assert page.out.splitlines()[1] == "written to made/diff.md"
    assert " LOST, " in page.out
    assert (tmp_path / "made" / "diff.md").read_text().startswith("### SDK upgrade of Cambricon MLU\n")
    assert not (tmp_path / "generated").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mlu", "--to", "sim"], "Missing option '--from'"),
        (["mlu", "--from", "sim", "--to", "sim", "--all", "--format", "json"], "--all goes with --format text: json "),
        (["mlx", "--from", "sim", "--to", "sim"], "there is no vendor 'mlx' in "),
        (["mlu", "--from", "sim", "--to", "toy"], "no verdict on the new SDK (--to toy):\n--to "),
        (
            ["mlu", "--from", "gone", "--to", "sim"],
            "no verdict on the old SDK (--from gone):\n--from gone does not exist\n",
        ),
        (["mlu", "--from", "sim", "--from", "sim", "--to", "sim"], "--from sim is the same place twice\n"),
        (
            ["mlu", "--from", "sim", "--to", "toy", "--to", "toy/../toy"],
            "--to toy and toy/../toy is the same place twice\n  = give each root of an SDK once; the other SDK goes to --from\n",
        ),
        (
            ["mlu", "--from", "sim", "--to", "sim:6.0", "--to", "toy"],
            "--to sim:6.0 is a whole SDK and cannot be combined with another --to\n  = give --to sim:6.0 alone, or only paths\n",
        ),
        (["mlu", "--from", "sim", "--to", "sim:9"], "no verdict on the new SDK (--to sim:9):\n"),
    ],
)
def test_diff_says_what_is_wrong_and_on_which_side(run: Run, toy: Path, arguments: list[str], words: str) -> None:
    result = run("sdk", "diff", *arguments)
    assert (result.code, result.out) == (2, "")
    assert words in result.err
    assert result.err.count("there is no vendor") <= 1
    assert "--sdk" not in result.err.replace("--sdk sim works without any SDK", "")


def test_the_lists_of_the_text_are_cut_unless_all_is_asked_for(run: Run) -> None:
    short = run("sdk", "diff", "mlu", "--from", "sim:6.0", "--to", "sim:6.14")
    long = run("sdk", "diff", "mlu", "--from", "sim:6.0", "--to", "sim:6.14", "--all")
    assert "more enumerators: " in short.out
    assert " more enumerators: " not in long.out
    assert "new      cnrtRet_t cnrtMemPoolCreate(" in long.out
    assert "new      cnrtRet_t cnrtMemPoolCreate(" not in short.out
