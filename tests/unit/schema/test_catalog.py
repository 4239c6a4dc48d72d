"""Finding schema files, and loading everything that a run needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fl_gen.schema import paths
from fl_gen.schema.catalog import Catalog, UnknownSchema
from fl_gen.schema.errors import FlGenError, SchemaError
from unit.schema.samples import OPS, VENDOR


def test_the_shipped_schemas_are_sound() -> None:
    catalog = Catalog()
    assert {"maca", "mlu", "nvidia"} <= set(catalog.vendors())
    assert "infinitrain" in catalog.frameworks()
    for name in catalog.vendors():
        schemas = catalog.load(name)
        assert schemas.vendor.name.snake == name
        assert len(schemas.framework.ops) == 105
        required = {op.name for op in schemas.framework.ops.values() if op.required}
        assert required == {"Cast", "Fill", "NoOpForward", "NoOpBackward"}
        assert catalog.api_path(name) is not None


def test_a_file_is_read_once() -> None:
    catalog = Catalog()
    assert catalog.vendor("mlu") is catalog.vendor("mlu")
    assert catalog.load("mlu").framework is catalog.load("maca").framework


def test_an_unknown_vendor() -> None:
    catalog = Catalog()
    with pytest.raises(UnknownSchema) as caught:
        catalog.vendor("mluu")
    assert caught.value.render().endswith("\n  = did you mean 'mlu'?")
    assert caught.value.exit_code == 2
    for hostile in ("../mlu", "mlu/../mlu", "", "MLU", "mlu\0", "m" * 5000):
        with pytest.raises(UnknownSchema, match="there is no vendor"):
            catalog.vendor(hostile)
    with pytest.raises(UnknownSchema, match="there is no framework"):
        catalog.framework("tensorflow")


def test_a_user_adds_a_vendor_and_ops(tmp_path: Path) -> None:
    (tmp_path / "vendors" / "chip").mkdir(parents=True)
    (tmp_path / "vendors" / "chip" / "vendor.yaml").write_text(VENDOR.replace("memory.alloc_async", "memory.free"))
    ops = tmp_path / "frameworks" / "infinitrain" / "ops"
    ops.mkdir(parents=True)
    (ops / "mine.yaml").write_text(OPS.replace("AddForward", "MyForward"))
    catalog = Catalog([tmp_path])
    assert set(catalog.vendors()) - set(Catalog().vendors()) == {"chip"}
    assert "MyForward" in catalog.framework("infinitrain").ops
    assert ops / "mine.yaml" in catalog.files("chip")
    with pytest.raises(SchemaError, match="the required operation device.set has no binding"):
        catalog.load("chip")


def test_a_user_replaces_a_shipped_file(tmp_path: Path, shipped: Path) -> None:
    target = tmp_path / "vendors" / "mlu"
    target.mkdir(parents=True)
    text = (shipped / "vendors" / "mlu" / "vendor.yaml").read_text().replace("title: Cambricon MLU", "title: Mine")
    (target / "vendor.yaml").write_text(text)
    assert Catalog([tmp_path]).vendor("mlu").title == "Mine"
    assert Catalog().vendor("mlu").title == "Cambricon MLU"


def test_the_problems_of_all_files_come_together(tmp_path: Path, shipped: Path) -> None:
    root = tmp_path / "schemas"
    shutil.copytree(shipped, root)
    for file, old, new in [
        ("runtime.yaml", "group: runtime", "group: rutime"),
        ("vendors/mlu/vendor.yaml", "vendor: mlu", "vendr: mlu"),
        ("frameworks/infinitrain/ops/fill.yaml", "strategy: fallback", "strategy: nothing"),
        ("frameworks/infinitrain/ops/cast.yaml", "arg(dtype)", "arg(type)"),
    ]:
        path = root / file
        path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(SchemaError) as caught:
        Catalog([root], shipped=False).load("mlu")
    assert [Path(problem.location.file).relative_to(root).as_posix() for problem in caught.value.diagnostics] == [
        "frameworks/infinitrain/ops/cast.yaml",
        "frameworks/infinitrain/ops/fill.yaml",
        "runtime.yaml",
        "vendors/mlu/vendor.yaml",
    ]


def test_a_check_covers_the_simulated_sdk(tmp_path: Path, shipped: Path) -> None:
    root = tmp_path / "schemas"
    shutil.copytree(shipped, root)
    assert Catalog([root], shipped=False).check("mlu") == ()
    for file, old, new in [("api.yaml", "library: cnrt\n", "library: crt\n"), ("vendor.yaml", "blas:", "blass:")]:
        path = root / "vendors" / "mlu" / file
        path.write_text(path.read_text().replace(old, new, 1))
    problems = Catalog([root], shipped=False).check("mlu")
    assert [(Path(problem.location.file).name, problem.hint) for problem in problems] == [
        ("vendor.yaml", "did you mean 'blas'?"),
        ("api.yaml", "did you mean 'cnrt'?"),
    ]


def test_a_kernel_of_an_op_that_is_not_there(tmp_path: Path, shipped: Path) -> None:
    target = tmp_path / "vendors" / "maca"
    target.mkdir(parents=True)
    text = (shipped / "vendors" / "maca" / "vendor.yaml").read_text()
    assert "\n  Gemm:\n" in text
    (target / "vendor.yaml").write_text(text.replace("\n  Gemm:\n", "\n  Gem:\n"))
    with pytest.raises(SchemaError) as caught:
        Catalog([tmp_path]).load("maca")
    assert [(problem.message, problem.hint) for problem in caught.value.diagnostics] == [
        ("unknown op 'Gem'", "did you mean 'Gemm'?")
    ]


def test_a_folder_with_another_vendor_in_it(tmp_path: Path) -> None:
    (tmp_path / "vendors" / "clip").mkdir(parents=True)
    (tmp_path / "vendors" / "clip" / "vendor.yaml").write_text(VENDOR)
    with pytest.raises(SchemaError, match="the folder is called clip, the vendor in it chip"):
        Catalog([tmp_path]).vendor("clip")


def test_a_schema_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FlGenError, match="no such schema folder"):
        Catalog([tmp_path / "nowhere"])


def test_paths_as_people_and_outputs_see_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shipped: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert paths.shown(tmp_path / "a" / "b.yaml") == "a/b.yaml"
    assert paths.shown("/etc/x.yaml") == "/etc/x.yaml"
    assert paths.logical(str(shipped / "runtime.yaml")) == "schemas/runtime.yaml"
    assert paths.logical("mine/vendor.yaml") == "mine/vendor.yaml"
    assert paths.logical("/elsewhere/schemas/vendors/x/vendor.yaml") == "schemas/vendors/x/vendor.yaml"
    assert paths.logical("/elsewhere/file.yaml") == "file.yaml"
