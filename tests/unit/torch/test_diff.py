"""`fl-gen diff` of packages for PyTorch: by cause, against a revision and the disk, with another wheel and beside InfiniTrain."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fl_gen.report.tree_diff_html import tree_diff_html
from fl_gen.report.tree_diff_json import tree_diff_json
from fl_gen.report.tree_diff_markdown import tree_diff_markdown
from fl_gen.report.tree_diff_text import TreeLook, tree_diff_text
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.paths import data_dir
from fl_gen.sdk import wheel_probe
from fl_gen.sdk.wheel import Wheel, find_release, find_wheel
from fl_gen.tasks.tree_diff_disk import diff_disk
from fl_gen.tasks.tree_diff_nodes import node_changes
from fl_gen.tasks.tree_diff_scope import Options, scope_of
from unit.cli.conftest import Run, call
from unit.cli.test_diff import change, git

from .conftest import MakeWheel

OPS = "frameworks/torch/ops/torch.yaml"
FEATURES = "frameworks/torch/features.yaml"
MM = "  aten::mm:\n    strategy: library\n    operation: library.gemm\n    dtypes: [float32, float16, bfloat16]\n"
ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.xdist_group("torch")  # which reads the wheel once


def forget() -> None:
    """Each test has templates of its own at the same relative path, and a process reads a template once."""
    from fl_gen.render import environment, incremental

    environment.environment_for.cache_clear()
    incremental._recording.cache_clear()


@pytest.fixture(autouse=True)
def fresh() -> None:
    forget()


@pytest.fixture
def run(wheel: Wheel, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FL_GEN_CACHE_DIR", str(cache))
    monkeypatch.setenv("TORCH_FL_TORCH", str(wheel.package))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    for name in ("NEUWARE_HOME", "MACA_PATH", "FL_GEN_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return call


@pytest.fixture(scope="module", autouse=True)
def known(wheel: Wheel, cache: Path) -> None:
    """Ask the wheel before two processes do, one for each side."""
    wheel_probe.probe_features(Catalog().torch().features.values(), wheel, cache / "torch")


@pytest.fixture
def project(run: Run, tmp_path: Path) -> Path:
    """A repository for maca, which has a library of products, with schemas of its own; committed, nothing generated."""
    for name in (OPS, FEATURES):
        target = tmp_path / "schemas" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((data_dir() / "schemas" / name).read_bytes())
    (tmp_path / "templates" / "torch").mkdir(parents=True)
    (tmp_path / "templates" / "torch" / "notes.txt.j2").write_text("notes on {{ v.snake }}\n")
    made = run(
        "init", "maca@sim", "--framework", "torch", "--no-format", "--schemas", "schemas", "--templates", "templates"
    )
    assert made.code == 0, made.err
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "one")
    return tmp_path


@pytest.fixture
def other_wheel(wheel: Wheel, cache: Path, tmp_path: Path) -> Path:
    """The same PyTorch under the name of another release. Its headers need not be asked again."""
    site = tmp_path / "other"
    (site / "torch").mkdir(parents=True)
    for entry in wheel.package.iterdir():
        if entry.name != "version.py":
            (site / "torch" / entry.name).symlink_to(entry)
    (site / "torchgen").symlink_to(wheel.site / "torchgen")
    (site / "torch" / "version.py").write_text("__version__ = '2.98.0+cpu'\ndebug = False\n")
    features = sorted(Catalog().torch().features.values(), key=lambda one: one.name)
    shims = wheel_probe.cxx_shims()
    answers = [wheel_probe._key(features, one, shims) for one in (wheel, find_wheel(site))]
    wheel_probe.probe_features(features, wheel, cache / "torch")
    known = (cache / "torch" / f"{answers[0]}.json").read_bytes()
    (cache / "torch" / f"{answers[1]}.json").write_bytes(known)
    return site


def told(run: Run, *arguments: str) -> dict[str, Any]:
    result = run("diff", *arguments, "--format", "json")
    assert result.err == ""
    value: dict[str, Any] = json.loads(result.out)
    schema = json.loads((data_dir() / "schemas" / "jsonschema" / "tree-diff.json").read_text(encoding="utf-8"))
    jsonschema.validate(value, schema)
    assert result.code == value["exit_code"]
    return value


def causes(diff: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["title"]: one for one in diff["causes"]}


def effects(cause: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["effect"], one["subject"]) for one in cause["meanings"]]


def test_a_revision_by_cause(project: Path, run: Run) -> None:
    change(project / "schemas" / OPS, MM, MM.replace(", float16, bfloat16", ""))
    change(project / "schemas" / OPS, "rtol: 1.0e-4, atol: 1.0e-4", "rtol: 1.0e-3, atol: 1.0e-4")
    change(project / "schemas" / FEATURES, "One configuration for the", "A configuration for the")
    change(project / "templates" / "torch" / "notes.txt.j2", "notes", "remarks")
    diff = told(run, "--base", "HEAD")
    assert [side["name"] for side in diff["vendors"]] == ["torch_maca"]
    assert [(one["kind"], one["title"]) for one in diff["causes"]] == [
        ("node", "ops/torch.yaml: ops[aten::mm].dtypes"),
        ("node", "ops/torch.yaml: categories.matrix_products.tolerance.float32.rtol"),
        ("template", "notes.txt.j2"),
        ("node", "features.yaml: features.allocator_config.doc"),  # last: it changes no line
    ]
    mm, rtol, notes, doc = diff["causes"]
    (meaning,) = mm["meanings"]
    assert (meaning["effect"], meaning["subject"]) == ("dtypes changed", "aten::mm")
    assert (meaning["old"], meaning["new"]) == ("float32, float16, bfloat16", "float32")
    assert mm["place"].startswith("schemas/frameworks/torch/ops/torch.yaml:")
    assert effects(rtol) == effects(notes) == [("text only", "")]
    assert (doc["folds"], doc["meanings"]) == ([], [])
    # Every hunk has the causes that it is about, and is sure of them.
    seen = set()
    for file in diff["files"]:
        for hunk in file["hunks"]:
            text = " ".join(row["text"] for row in hunk["rows"] if None in (row["old"], row["new"]))
            about = {"Half": 0, '("float32", )': 0, "(0.001, ": 1, "remarks": 2}
            wanted = sorted({number for word, number in about.items() if word in text})
            assert (hunk["causes"], hunk["certainty"]) == (wanted, "exact"), (file["path"], text)
            seen.add(tuple(wanted))
    assert seen == {(0,), (1,), (0, 1), (2,)}


def test_the_disk_a_hand_edit_and_a_kernel(project: Path, run: Run) -> None:
    fresh = told(run)
    assert list(causes(fresh)) == ["nothing is generated in generated/torch_maca yet"]
    assert run("regen").code == 0
    same = run("diff")
    assert (same.code, same.err) == (0, "")
    assert "\nnothing would change: " in same.out
    assert "generated/gone" not in same.out

    edited = project / "generated" / "torch_maca" / "torch_maca" / "plugins.py"
    edited.write_text(edited.read_text() + "# mine\n")
    assert run("kernel", "new", "maca", "aten::relu", "--framework", "torch", "--sdk", "sim", "--python").code == 0
    diff = told(run, "torch_maca")  # as a report calls it, or maca
    found = causes(diff)
    assert {title: one["kind"] for title, one in found.items()} == {
        "generated/torch_maca/torch_maca/plugins.py": "hand-edit",
        "backends/torch_maca/kernels.yaml": "native",
    }
    kernels = found["backends/torch_maca/kernels.yaml"]
    (meaning,) = kernels["meanings"]
    assert (meaning["effect"], meaning["subject"], meaning["new"]) == ("strategy changed", "aten::relu", "python")
    status = {one["path"]: one["status"] for one in diff["files"]}
    assert status["torch_maca/plugins.py"] == "edited"
    assert status["torch_maca/_kernels.py"] == "changed"
    assert {file["vendor"] for file in diff["files"]} == {"torch_maca"}


def test_another_release_of_pytorch_is_a_cause_of_its_own(
    project: Path, run: Run, wheel: Wheel, other_wheel: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("regen").code == 0
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "two")
    monkeypatch.setenv("TORCH_FL_TORCH", str(other_wheel))
    change(project / "templates" / "torch" / "notes.txt.j2", "notes", "remarks")
    forget()
    title = f"PyTorch {wheel.release} -> 2.98.0"

    # The release that made the tree is not here: what changed is known by its kind.
    with monkeypatch.context() as nowhere:
        nowhere.setattr("fl_gen.sdk.wheel._usual", lambda environ: iter(()))
        diff = told(run)
    assert {one["title"]: one["kind"] for one in diff["causes"]} == {"the templates": "template", title: "wheel"}
    (side,) = diff["vendors"]
    assert side["note"] == (
        f"PyTorch {wheel.release}, which made the tree on the disk, is not at hand: causes are known by their kind only"
    )
    assert side["sdk_old"].endswith(f", PyTorch {wheel.release}")
    assert side["sdk_new"].endswith(", PyTorch 2.98.0")

    # It is here as well, if not the first to be found: every hunk has its cause.
    environment = project / "environment"
    (environment / "lib" / "python3.11").mkdir(parents=True)
    (environment / "lib" / "python3.11" / "site-packages").symlink_to(wheel.site)
    monkeypatch.setenv("VIRTUAL_ENV", str(environment))
    assert find_release(None, wheel.release) is not None
    scope = scope_of(Options((), (), (), (), Path(), True, None, cache))
    value = diff_disk(scope)
    diff = json.loads(tree_diff_json(value))
    assert [side["note"] for side in diff["vendors"]] == [None]
    assert [(one["kind"], one["title"]) for one in diff["causes"]] == [("template", "notes.txt.j2"), ("wheel", title)]
    for file in diff["files"]:
        for hunk in file["hunks"]:
            assert (hunk["causes"], hunk["certainty"]) == ([0 if file["path"] == "notes.txt" else 1], "exact")
    assert f"wheel  {title}\n  means  text only: " in tree_diff_text(value, TreeLook())
    assert f"| wheel | `{title}` |" in tree_diff_markdown(value)
    assert f'<span class="pill">wheel</span> {title.replace(">", "&gt;")}' in tree_diff_html(value)


def test_trees_of_both_frameworks(run: Run, tmp_path: Path) -> None:
    """Without a project the manifests say what each tree is for."""
    assert run("backend", "mlu", "--sdk", "sim", "--no-format").code == 0
    assert run("backend", "mlu", "--sdk", "sim", "--no-format", "--framework", "torch").code == 0
    for name in ("mlu", "torch_mlu"):
        file = tmp_path / "generated" / name / "CMakeLists.txt"
        file.write_text(file.read_text() + "# mine\n")
    diff = told(run)
    assert [side["name"] for side in diff["vendors"]] == ["mlu", "torch_mlu"]
    assert [(one["vendor"], one["path"], one["status"]) for one in diff["files"]] == [
        ("mlu", "CMakeLists.txt", "edited"),
        ("torch_mlu", "CMakeLists.txt", "edited"),
    ]


@pytest.mark.parametrize(
    ("there", "named", "trees"),
    [
        (("mlu", "torch_mlu"), ("mlu",), ["mlu"]),
        (("mlu", "torch_mlu"), ("torch_mlu",), ["torch_mlu"]),
        (("torch_mlu",), ("mlu",), ["torch_mlu"]),  # all that the vendor has
        (("torch_mlu",), ("maca",), ["maca"]),
        (("maca", "torch_mlu"), (), ["maca", "torch_mlu"]),
    ],
)
def test_the_trees_that_are_meant(
    tmp_path: Path, there: tuple[str, ...], named: tuple[str, ...], trees: list[str]
) -> None:
    for name in there:
        manifest = json.loads((ROOT / "generated" / name / "manifest.json").read_text(encoding="utf-8"))
        (tmp_path / "generated" / name).mkdir(parents=True)
        (tmp_path / "generated" / name / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    scope = scope_of(Options(named, (), (), (), tmp_path, True, None, None))
    assert [request.tree for request in scope.requests] == trees


def test_without_pytorch_it_says_so(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_FL_TORCH", os.fspath(project / "templates"))
    result = run("diff")
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "TORCH_FL_TORCH templates: there is no PyTorch in it\n"
        "  = name a site-packages folder that holds torch/, or torch/ itself\n"
    )


def test_names_with_dots_are_no_parts_of_each_other() -> None:
    before = b"schema: 1\nops:\n  aten::mm: {note: a}\n  aten::mm.out: {note: a}\n"
    after = b"schema: 1\nops:\n  aten::mm: {note: a}\n  aten::mm.out: {note: b}\ncategories:\n  x: {doc: d, match: [aten::y]}\n"
    found = node_changes({OPS: before}, {OPS: after})
    assert [(one.title, one.change, one.subject) for one in found] == [
        ("ops/torch.yaml: ops[aten::mm.out].note", "changed", "aten::mm.out"),
        ("ops/torch.yaml: categories", "added", ""),
    ]


def test_a_release_is_found_where_it_is(make_wheel: MakeWheel, tmp_path: Path) -> None:
    site = make_wheel(version="2.5.1+cu124")
    assert find_release(site, "2.5.1", {}) == site / "torch"
    assert find_release(None, "2.5.1", {"TORCH_FL_TORCH": str(site / "torch")}) == site / "torch"
    assert find_release(None, "2.5.1", {"TORCH_FL_TORCH": str(tmp_path / "nothing")}) is None
    (site / "torch" / "version.py").write_text("damaged\n")
    assert find_release(site, "2.5.1", {}) is None
