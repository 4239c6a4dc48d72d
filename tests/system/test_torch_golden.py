"""The committed packages for PyTorch are what templates, schemas and the wheel make today, and read like their kind.

Making them anew needs PyTorch of the release that they are made for; where that is not installed, the tests that need
it are skipped and say so. What can be seen in the files alone is tested everywhere.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from fl_gen.output.manifest import MANIFEST_NAME, RECORD_FOLDER, digest_file, load
from fl_gen.schema.errors import FlGenError
from fl_gen.sdk.wheel import find_wheel
from fl_gen.workflow.generate import prepare
from fl_gen.workflow.request import Request

from .building import CACHE, ROOT, missing, succeed, tool

VENDORS = tuple(sorted(path.parent.name for path in (ROOT / "schemas" / "vendors").glob("*/api.yaml")))
RELEASE = "2.13.0"
REMEDY = "review the change, then run `make golden` and commit generated/ and backends/"
# Words of one vendor that the package of another must not hold; cuda is a word of PyTorch itself.
WORDS = {
    "mlu": ("cambricon", "cnrt", "cncl", "cnnl"),
    "maca": ("metax", "mccl", "mcblas"),
    "musa": ("mublas", "moore", "mccl"),
    "corex": ("ixccl", "iluvatar"),
    "gcu": ("topsrider", "eccl"),
    "xpu": ("kunlun", "bkcl"),
    "ascend": ("hccl", "aclrt"),
    "dcu": ("hygon", "hipblas"),
}


def _files(vendor: str) -> list[Path]:
    folders = (ROOT / "generated" / f"torch_{vendor}", ROOT / "backends" / f"torch_{vendor}")
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sorted(path for path in found if RECORD_FOLDER not in path.parts and "__pycache__" not in path.parts)


def _require_release() -> None:
    try:
        wheel = find_wheel(None)
    except FlGenError as error:
        missing(f"PyTorch {RELEASE}: {error.render().splitlines()[0]}")
    if wheel.release != RELEASE:
        missing(f"PyTorch {RELEASE}; the one found is {wheel.release}")


@pytest.mark.parametrize("vendor", VENDORS)
def test_committed_packages_equal_a_fresh_render(vendor: str) -> None:
    _require_release()
    tool("clang-format")
    prepared = prepare(Request(vendor=vendor, framework="torch", sdk=("sim",), output=ROOT, cache=CACHE))
    folder = ROOT / "generated" / f"torch_{vendor}"
    on_disk = {path.relative_to(folder).as_posix() for path in _files(vendor) if path.is_relative_to(folder)}
    problems = [f"{path}: no template makes this file" for path in sorted(on_disk - set(prepared.files))]
    problems += [f"{path}: is not committed" for path in sorted(set(prepared.files) - on_disk)]
    problems += [
        f"{path}: differs"
        for path in sorted(on_disk & set(prepared.files))
        if (folder / path).read_text(encoding="utf-8") != prepared.files[path]
    ]
    for path, text in prepared.once.items():
        file = ROOT / "backends" / f"torch_{vendor}" / path
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            problems.append(f"backends/torch_{vendor}/{path}: differs")
    if problems:
        pytest.fail("\n".join(problems) + f"\n\n{REMEDY}", pytrace=False)


@pytest.mark.parametrize("vendor", VENDORS)
def test_the_manifest_lists_every_file(vendor: str) -> None:
    folder = ROOT / "generated" / f"torch_{vendor}"
    manifest = load(folder)
    assert manifest is not None
    assert manifest.inputs["torch"] == RELEASE
    on_disk = {p.relative_to(folder).as_posix(): digest_file(p) for p in _files(vendor) if p.is_relative_to(folder)}
    del on_disk[MANIFEST_NAME]
    assert {path: record.sha256 for path, record in manifest.files.items()} == on_disk


@pytest.mark.parametrize("vendor", VENDORS)
def test_files_read_like_their_kind(vendor: str) -> None:
    traces = re.compile(rf"{re.escape(str(ROOT))}|/home/|/root/|__fl_gen_sim__|\b20[23]\d-[01]\d-[0-3]\d\b")
    others = [word for words in WORDS.values() for word in words if word not in WORDS.get(vendor, ())]
    found = []
    for path in _files(vendor):
        text = path.read_bytes().decode("utf-8")
        shown = path.relative_to(ROOT)
        if "\r" in text or not text.endswith("\n") or text.endswith("\n\n"):
            found.append(f"{shown}: line ends")
        for number, line in enumerate(text.splitlines(), 1):
            if line != line.rstrip():
                found.append(f"{shown}:{number}: blanks at the end")
            if traces.search(line):
                found.append(f"{shown}:{number}: {line.strip()[:100]}")
            words = set(re.findall(r"[a-z]+", line.lower()))
            found += [f"{shown}:{number}: names {word}" for word in others if word in words]
        if path.suffix == ".py":
            ast.parse(text, str(shown))
        if path.suffix in (".cc", ".h") and len(text.splitlines()) > 600:  # at 80 columns
            found.append(f"{shown}: {len(text.splitlines())} lines")
    assert found == []


@pytest.mark.parametrize("vendor", ["mlu", "nvidia"])
def test_formatters_change_nothing(vendor: str) -> None:
    from fl_gen.render.python_format import format_python

    sources = [path for path in _files(vendor) if path.suffix in (".h", ".cc")]
    assert len(sources) > 40
    style = ROOT / "templates" / "torch" / "clang-format.yaml"
    succeed([tool("clang-format"), f"--style=file:{style}", "--dry-run", "-Werror", *sources])
    python = {str(path): path.read_text(encoding="utf-8") for path in _files(vendor) if path.suffix == ".py"}
    pytest.importorskip("black", reason="needs black, of the extra torch")
    assert format_python(python, CACHE / "format") == python
