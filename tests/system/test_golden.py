"""`generated/` and `backends/` of the repository are what the templates and schemas make today."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from fl_gen.output.manifest import RECORD_FOLDER
from fl_gen.workflow.generate import prepare
from fl_gen.workflow.request import Request

from .building import CACHE, ROOT, tool

VENDORS = tuple(sorted(path.parent.name for path in (ROOT / "schemas" / "vendors").glob("*/api.yaml")))
REMEDY = "review the change, then run `make golden` and commit generated/ and backends/"


def _files(folder: Path) -> list[Path]:
    """Every file but what fl-gen keeps for merges, which is in no version control."""
    return [path for path in folder.rglob("*") if path.is_file() and RECORD_FOLDER not in path.parts]


def _difference(old: str, new: str, path: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"{path} (committed)", f"{path} (now)", lineterm=""
    )
    return "\n".join(list(lines)[:60])


@pytest.mark.parametrize("vendor", VENDORS)
def test_committed_trees_equal_a_fresh_render(vendor: str) -> None:
    tool("clang-format")
    prepared = prepare(Request(vendor=vendor, sdk=("sim",), output=ROOT, cache=CACHE))
    problems = []
    folder = ROOT / "generated" / vendor
    on_disk = {path.relative_to(folder).as_posix() for path in _files(folder)}
    for path in sorted(on_disk | set(prepared.files)):
        shown = f"generated/{vendor}/{path}"
        if path not in prepared.files:
            problems.append(f"{shown}: no template makes this file")
        elif path not in on_disk:
            problems.append(f"{shown}: is not committed")
        elif (old := (folder / path).read_text(encoding="utf-8")) != prepared.files[path]:
            problems.append(_difference(old, prepared.files[path], shown))
    # A once-file belongs to people, but of a built-in vendor nobody has changed one.
    for path, text in sorted(prepared.once.items()):
        file = ROOT / "backends" / vendor / path
        old = file.read_text(encoding="utf-8") if file.exists() else ""
        if old != text:
            problems.append(_difference(old, text, f"backends/{vendor}/{path}"))
    if problems:
        pytest.fail("\n".join(problems)[:12000] + f"\n\n{REMEDY}", pytrace=False)


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_manifest_lists_every_file(vendor: str) -> None:
    from fl_gen.output.manifest import MANIFEST_NAME, digest_file, load

    folder = ROOT / "generated" / vendor
    manifest = load(folder)
    assert manifest is not None
    on_disk = {p.relative_to(folder).as_posix(): digest_file(p) for p in _files(folder)}
    del on_disk[MANIFEST_NAME]
    assert {path: record.sha256 for path, record in manifest.files.items()} == on_disk


def _text_files(vendor: str) -> list[Path]:
    folders = (ROOT / "generated" / vendor, ROOT / "backends" / vendor)
    return sorted(path for folder in folders for path in _files(folder))


@pytest.mark.parametrize(
    ("vendor", "others"),
    [
        ("mlu", ("maca", "metax", "mccl")),
        ("maca", ("mlu", "cambricon", "cncl", "cnrt")),
        ("musa", ("maca", "mlu", "nvidia", "cublas", "corex")),
        ("nvidia", ("maca", "mlu", "musa", "corex", "ixccl")),
        ("corex", ("maca", "mlu", "musa", "nvidia", "nvcc")),
        ("dcu", ("maca", "mlu", "musa", "nvidia", "cudart")),
        ("gcu", ("maca", "mlu", "musa", "nvidia", "cublas")),
    ],
)
def test_no_tree_names_another_vendor(vendor: str, others: tuple[str, ...]) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in _text_files(vendor)
        for name in others
        if name in path.read_text(encoding="utf-8").lower() or name in path.name
    ]
    assert found == []


@pytest.mark.parametrize("vendor", VENDORS)
def test_no_tree_holds_a_path_of_this_machine_or_a_date(vendor: str) -> None:
    import re

    traces = re.compile(rf"{re.escape(str(ROOT))}|/home/|/root/|/tmp/|__fl_gen_sim__|\b20[23]\d-[01]\d-[0-3]\d\b")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in _text_files(vendor)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if traces.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("vendor", VENDORS)
def test_text_is_tidy(vendor: str) -> None:
    found = []
    for path in _text_files(vendor):
        text = path.read_bytes().decode("utf-8")
        shown = path.relative_to(ROOT)
        if "\r" in text or not text.endswith("\n") or text.endswith("\n\n"):
            found.append(f"{shown}: line ends")
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                found.append(f"{shown}:{number}: blanks at the end")
            if path.suffix in (".h", ".cc", ".mlu", ".maca") and len(line) > 120:
                found.append(f"{shown}:{number}: {len(line)} columns")
    assert found == []


@pytest.mark.parametrize("vendor", VENDORS)
def test_clang_format_changes_nothing(vendor: str) -> None:
    from .building import succeed

    sources = [path for path in _text_files(vendor) if path.suffix in (".h", ".cc")]
    assert len(sources) > 60
    style = ROOT / "templates" / "infinitrain" / "clang-format.yaml"
    assert "16.0.6" in succeed([tool("clang-format"), "--version"])
    succeed([tool("clang-format"), f"--style=file:{style}", "--dry-run", "-Werror", *sources])
