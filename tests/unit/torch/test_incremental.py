"""A package made with the texts of an earlier run is, byte for byte, the package that is made from nothing.

As for InfiniTrain (`render/test_incremental.py`), with PyTorch's part of the model and the lists of operators, which
depend on what other files register. More changes when FL_GEN_TORTURE is set.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fl_gen.render.environment import FileRender
from fl_gen.render.incremental import KeptTexts
from fl_gen.render.infinitrain import Rendered
from fl_gen.render.python_format import PackageFormatter
from fl_gen.render.torch import FRAMEWORK, registered_in, render_torch
from fl_gen.render.torch_view import TorchView
from fl_gen.render.tree import TreeRender, Work
from fl_gen.resolve.model import Backend
from fl_gen.schema.paths import data_dir
from fl_gen.sdk.wheel import Wheel
from fl_gen.workflow.generate import Prepared, prepare, resolve_request
from fl_gen.workflow.request import Request
from fl_gen.workflow.torch import torch_run
from unit.render.test_incremental import changed, differing, places

SHIPPED = data_dir() / "templates"
TORTURE = bool(os.environ.get("FL_GEN_TORTURE"))
SEED = 20261130
Model = tuple[Backend, TorchView]
pytestmark = pytest.mark.xdist_group("torch")  # which reads the wheel once


@pytest.fixture(scope="module")
def sound(wheel: Wheel, cache: Path) -> Model:
    request = Request("mlu", framework=FRAMEWORK, sdk=("sim",), cache=cache, torch=wheel.package)
    backend = resolve_request(request).backend
    return backend, torch_run(request, backend).view


def made(model: Model, cache: Path, texts: Path | None, *overlays: Path) -> Rendered | str:
    """The package, or what stops it."""
    kept = KeptTexts(texts, ["mlu"], ["none"]) if texts is not None else None
    try:
        return render_torch(*model, (*overlays, SHIPPED), cache / "templates", None, kept)
    except Exception as error:  # a schema file could not say all that a changed model says
        return f"{type(error).__name__}: {error}"


def compare(model: Model, cache: Path, texts: Path, *overlays: Path) -> Rendered | None:
    """Hold both ways to make a package against each other; None when both stop with one message."""
    usual = made(model, cache, None, *overlays)
    quick = made(model, cache, texts, *overlays)
    if isinstance(usual, str) or isinstance(quick, str):
        assert quick == usual
        return None
    assert (quick.generated, quick.once, quick.sources) == (usual.generated, usual.once, usual.sources)
    return quick


def other(one: Rendered, other: Rendered) -> set[str]:
    paths = one.generated.keys() | other.generated.keys()
    return {path for path in paths if one.generated.get(path) != other.generated.get(path)}


# -- the model ----------------------------------------------------------------------------------------------------------


def views(view: TorchView) -> list[tuple[str, TorchView]]:
    """Views in which one thing is another, among them all that templates ask of."""
    number = random.Random(SEED)
    features = sorted(view.features)
    chosen = features if TORTURE else ["device_allocator", *number.sample(features, 1)]
    found = [(name, replace(view, features={**view.features, name: not view.features[name]})) for name in chosen]
    found.append(("version", replace(view, version="2.99.0")))
    found.append(("device", replace(view, device=type(view.device)(("other",)))))
    served = [op.name for op in view.ops if op.operation is not None]
    boxed = [op.name for op in view.ops if op.boxed]
    names = [*served[:1], *number.sample(boxed, 60 if TORTURE else 2), boxed[-1]]
    for name in names:
        ops = [replace(op, boxed=not op.boxed, operation=None) if op.name == name else op for op in view.ops]
        found.append((name, replace(view, ops=ops)))
    found.append(("order", replace(view, ops=[*view.ops[1:], view.ops[0]])))
    return found


def backends(backend: Backend) -> list[tuple[str, Backend]]:
    """Backends in which one value is another."""
    number = random.Random(SEED)
    every = [
        path for path in places(backend) if path[0] in ("vendor", "sdk", "types", "statuses", "constants", "choices")
    ]
    return [(str(path), changed(backend, path)) for path in number.sample(every, 200 if TORTURE else 3)]


def test_any_change_of_the_model_gives_the_package_that_is_made_from_nothing(
    sound: Model, tmp_path: Path, cache: Path
) -> None:
    texts = tmp_path / "texts"
    first = made(sound, cache, texts)
    assert isinstance(first, Rendered)
    assert first.work.rendered == first.work.files == len(first.generated) + len(first.once)
    again = made(sound, cache, texts)
    assert isinstance(again, Rendered)
    assert (again.work.rendered, again.generated, again.once) == (0, first.generated, first.once)
    backend, view = sound
    models = [(name, (backend, one)) for name, one in views(view)]
    models += [(name, (one, view)) for name, one in backends(backend)]
    different = spared = 0
    for name, model in models:
        found = compare(model, cache, texts)
        if found is not None:
            files = other(found, first)
            different += bool(files)
            spared += found.work.files - found.work.rendered
            assert found.work.rendered >= len(files & found.generated.keys()), name
        back = made(sound, cache, texts)
        assert isinstance(back, Rendered)
        assert back.generated == first.generated
    assert different >= 6  # else the changes were such that nothing could show
    assert spared >= different * 40  # else everything was rendered again and nothing compared


def test_one_feature_costs_the_files_that_ask_for_it(sound: Model, tmp_path: Path, cache: Path) -> None:
    texts = tmp_path / "texts"
    first = made(sound, cache, texts)
    backend, view = sound
    flipped = replace(view, features={**view.features, "pickler_helper": not view.features["pickler_helper"]})
    found = made((backend, flipped), cache, texts)
    assert isinstance(first, Rendered)
    assert isinstance(found, Rendered)
    assert other(found, first) == {"csrc/runtime/serialization.cc"}
    assert found.work.rendered == 1


# -- templates ----------------------------------------------------------------------------------------------------------


def overlay(folder: Path, name: str, change: Callable[[str], str]) -> Path:
    """A template folder in which one shipped template is another."""
    target = folder / FRAMEWORK / name
    target.parent.mkdir(parents=True)
    target.write_text(change((SHIPPED / FRAMEWORK / name).read_text(encoding="utf-8")), encoding="utf-8")
    return folder


def test_any_change_of_a_template_gives_the_package_that_is_made_from_nothing(
    sound: Model, tmp_path: Path, cache: Path
) -> None:
    texts = tmp_path / "texts"
    empty = tmp_path / "empty"
    (empty / FRAMEWORK).mkdir(parents=True)
    first = compare(sound, cache, texts, empty)
    assert first is not None
    every = sorted(path.relative_to(SHIPPED / FRAMEWORK).as_posix() for path in (SHIPPED / FRAMEWORK).rglob("*.j2"))
    every = [name for name in every if not name.startswith("scaffold/")]
    shards = next(name for name in every if "{shard}" in name)
    chosen = every if TORTURE else [shards, *random.Random(SEED).sample(every, 3)]
    for number, name in enumerate(chosen):
        found = compare(sound, cache, texts, overlay(tmp_path / str(number), name, lambda text: f"{text}changed\n"))
        assert found is not None, name
        assert len(other(found, first)) <= found.work.rendered <= 30, name
        assert made(sound, cache, texts, empty) is not None


@pytest.mark.parametrize(
    ("text", "registers"),
    [
        ('TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {\n  m.impl("addr", &mine);\n}\n', ["addr"]),
        # clang-format would make this what is read; what was said before it counts, in every run.
        ('TORCH_LIBRARY_IMPL(aten,PrivateUse1,m){ m.impl("addr", &mine); }\n', []),
    ],
    ids=["as it is read", "as it is not read"],
)
def test_what_a_kept_file_registers_is_still_no_fallback(
    sound: Model, tmp_path: Path, cache: Path, text: str, registers: list[str]
) -> None:
    texts = tmp_path / "texts"
    mine = tmp_path / "mine" / FRAMEWORK / "csrc" / "aten" / "mine.cc.j2"
    mine.parent.mkdir(parents=True)
    mine.write_text(text, encoding="utf-8")
    assert registered_in("mine.cc", text) == registers
    first = compare(sound, cache, texts, tmp_path / "mine")
    assert first is not None
    # Now another file is rendered anew, and the lists with it; what mine.cc registers is known from before.
    backend, view = sound
    moved = replace(view, ops=[replace(op, boxed=False) if op.name == "aten::addmm" else op for op in view.ops])
    found = compare((backend, moved), cache, texts, tmp_path / "mine")
    assert found is not None
    assert 0 < found.work.rendered < 30
    lists = "".join(one for path, one in found.generated.items() if "register_fallback_" in path)
    assert ('"addr",' in lists) == (not registers)


def test_two_registrations_stop_a_run_with_kept_texts_too(sound: Model, tmp_path: Path, cache: Path) -> None:
    texts = tmp_path / "texts"
    assert isinstance(made(sound, cache, texts), Rendered)
    mine = tmp_path / "mine" / FRAMEWORK / "csrc" / "aten" / "mine.cc.j2"
    mine.parent.mkdir(parents=True)
    mine.write_text('TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {\n  m.impl("empty_strided", &mine);\n}\n', "utf-8")
    for _ in range(2):
        assert compare(sound, cache, texts, tmp_path / "mine") is None
    assert "registered twice" in str(made(sound, cache, texts, tmp_path / "mine"))


# -- counts -------------------------------------------------------------------------------------------------------------


def rules(folder: Path, text: str) -> Path:
    """A schema folder with rules of the vendor's own."""
    target = folder / "vendors" / "maca" / "torch.yaml"
    target.parent.mkdir(parents=True)
    target.write_text(f"schema: 1\n{text}", encoding="utf-8")
    return folder


def test_one_changed_rule_costs_the_files_that_depend_on_it(wheel: Wheel, cache: Path, tmp_path: Path) -> None:
    """maca has a product of matrices, whose rule is changed."""

    def run(*schemas: Path) -> Prepared:
        request = Request("maca", framework=FRAMEWORK, sdk=("sim",), output=tmp_path / "out", cache=cache,
                          schema_dirs=schemas, torch=wheel.package, formatted=False)  # fmt: skip
        return prepare(request)

    first = run()
    assert first.work.rendered == first.work.files == len(first.files) - 1 + len(first.once)
    narrow = "ops:\n  aten::mm:\n    strategy: library\n    operation: library.gemm\n    dtypes: [float32]\n"
    found = run(rules(tmp_path / "narrow", narrow))
    files = differing(first, found)
    assert "tests/test_kernels.py" in files
    assert 2 <= len(files) <= found.work.rendered <= 8  # with those that read the rule and say the same
    again = run(tmp_path / "narrow")
    assert (again.work.rendered, again.files) == (0, found.files)
    back = run()
    assert back.files == first.files
    note = run(rules(tmp_path / "note", "ops:\n  aten::relu:\n    note: nothing that a file says\n"))
    assert (note.work.rendered, differing(first, note)) == (0, set())


def test_the_formatters_read_what_was_made_and_nothing_twice(tmp_path: Path) -> None:
    style = (SHIPPED / FRAMEWORK / "clang-format.yaml").read_text(encoding="utf-8")
    templates = tmp_path / "trees" / FRAMEWORK
    templates.mkdir(parents=True)
    for name, text in {"a.cc": "int  a;", "b.py": "b  = 1", "c.txt": "c  c"}.items():
        (templates / f"{name}.j2").write_text(f"{text}{{{{ end }}}}\n", encoding="utf-8")

    def run(end: str) -> tuple[dict[str, str], Work]:
        kept = KeptTexts(tmp_path / "texts", ["a"], [style])
        with PackageFormatter(style, tmp_path / "format") as formatter:
            tree = TreeRender((templates,), lambda text, file: text, None, formatter, kept)
            tree.generate(FileRender(f"{name}.j2", name, {"end": end}) for name in ("a.cc", "b.py", "c.txt"))
            texts, _, work = tree.finish()
        return texts, work

    assert run("") == ({"a.cc": "int a;\n", "b.py": "b = 1\n", "c.txt": "c  c\n"}, Work(3, 3, 2))
    assert run("")[1] == Work(3, 0, 0)
    texts, work = run("  # x")
    assert (texts["b.py"], work) == ("b = 1  # x\n", Work(3, 3, 2))
    assert run("")[1] == Work(3, 3, 0)  # their texts are kept by content
