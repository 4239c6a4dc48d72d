"""A tree made with the texts of an earlier run is, byte for byte, the tree that is made from nothing.

Single values of the model and single templates are changed, one after the other, over one and the same folder of kept
texts. All of them when FL_GEN_TORTURE is set, else some of each kind.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from fl_gen.render.incremental import KeptTexts
from fl_gen.render.infinitrain import FRAMEWORK, Rendered, render_infinitrain
from fl_gen.resolve.model import Backend
from fl_gen.schema.paths import data_dir
from fl_gen.schema.values import Ref, Table
from fl_gen.schema.values import Text as SchemaText
from fl_gen.workflow.generate import Prepared, prepare, resolve_request
from fl_gen.workflow.request import Request

SHIPPED = data_dir() / "templates"
OPS = data_dir() / "schemas" / "frameworks" / FRAMEWORK / "ops"
TORTURE = bool(os.environ.get("FL_GEN_TORTURE"))
SEED = 20261129


@lru_cache(maxsize=1)
def sound() -> Backend:
    return resolve_request(Request("mlu", sdk=("sim",))).backend


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


def made(backend: Backend, compiled: Path, texts: Path | None, *overlays: Path) -> Rendered | str:
    """The tree, or what stops it."""
    kept = KeptTexts(texts, ["mlu"], ["none"]) if texts is not None else None
    try:
        return render_infinitrain(backend, (*overlays, SHIPPED), compiled, None, kept)
    except Exception as error:  # a schema file could not say all that a changed model says
        return f"{type(error).__name__}: {error}"


def compare(backend: Backend, compiled: Path, texts: Path, *overlays: Path) -> Rendered | None:
    """Hold both ways to make a tree against each other; None when both stop with one message."""
    usual = made(backend, compiled, None, *overlays)
    quick = made(backend, compiled, texts, *overlays)
    if isinstance(usual, str) or isinstance(quick, str):
        assert quick == usual
        return None
    assert (quick.generated, quick.once, quick.sources) == (usual.generated, usual.once, usual.sources)
    return quick


# -- the model ----------------------------------------------------------------------------------------------------------


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all single values in a model."""
    if isinstance(value, (str, bool, int, float)):
        yield path
    elif isinstance(value, SchemaText):
        yield (*path, "value")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, (tuple, list)):
        if len(value) > 1:
            yield (*path, None)  # the list itself, of which one item is taken away
        for index, item in enumerate(value):
            yield from places(item, (*path, index))
    elif is_dataclass(value):
        for item in fields(value):
            yield from places(getattr(value, item.name), (*path, item.name))


def changed(value: Any, path: tuple[Any, ...]) -> Any:
    """`value` with another single value at `path`."""
    if not path:
        if isinstance(value, bool):
            return not value
        if isinstance(value, Ref):
            return Ref(f"{value}X", value.location)
        return f"{value}X" if isinstance(value, str) else value + 1
    key, rest = path[0], path[1:]
    if isinstance(value, Table):
        items = {name: changed(item, rest) if name == key else item for name, item in value.items()}
        return Table(items, value.location, {name: value.location_of(name) for name in items})
    if isinstance(value, dict):
        return {name: changed(item, rest) if name == key else item for name, item in value.items()}
    if key is None:
        return value[1:]
    if isinstance(value, (tuple, list)):
        return type(value)(changed(item, rest) if index == key else item for index, item in enumerate(value))
    return replace(value, **{key: changed(getattr(value, key), rest)})


def chosen_places() -> list[tuple[Any, ...]]:
    """Some places of every part of the model; places in source files are few among them."""
    groups: dict[str, list[tuple[Any, ...]]] = {}
    for path in places(sound()):
        kind = "location" if "location" in path else ".".join(str(part) for part in path[:2] if isinstance(part, str))
        groups.setdefault(kind, []).append(path)
    number = random.Random(SEED)
    kinds = sorted(groups) if TORTURE else number.sample(sorted(groups), 30)
    each = 60 if TORTURE else 1
    found = [path for kind in kinds for path in number.sample(groups[kind], min(each, len(groups[kind])))]
    ops = [path for path in groups["ops"] if path[2:3] == ("op",)]
    return [*found, groups["location"][0], *number.sample(ops, 800 if TORTURE else 14)]


def test_any_change_of_the_model_gives_the_tree_that_is_made_from_nothing(tmp_path: Path, compiled: Path) -> None:
    texts = tmp_path / "texts"
    first = made(sound(), compiled, texts)
    assert isinstance(first, Rendered)
    assert first.work.rendered == first.work.files == len(first.generated) + len(first.once)
    other = spared = 0
    for path in chosen_places():
        try:
            backend = changed(sound(), path)
        except ValueError:
            continue  # the model itself refuses it
        found = compare(backend, compiled, texts)
        again = made(sound(), compiled, texts)
        assert isinstance(again, Rendered)
        assert again.generated == first.generated
        if found is not None:
            differing = {name for name in found.generated.keys() | first.generated.keys()
                         if found.generated.get(name) != first.generated.get(name)}  # fmt: skip
            other += bool(differing)
            spared += found.work.files - found.work.rendered
            assert found.work.rendered >= len(differing & found.generated.keys())
            if "location" in path:
                assert found.work.rendered == 0
    assert other >= 10  # else the changes were such that nothing could show
    assert spared >= other * 60  # else everything was rendered again and nothing compared


# -- templates ----------------------------------------------------------------------------------------------------------


def chosen_templates() -> list[str]:
    every = sorted(path.relative_to(SHIPPED).as_posix() for path in (SHIPPED / FRAMEWORK).rglob("*.j2"))
    shared = [name for name in every if "_macros/" in name]
    assert shared
    return every if TORTURE else [*shared, *random.Random(SEED).sample(every, 7)]


def test_any_change_of_a_template_gives_the_tree_that_is_made_from_nothing(tmp_path: Path, compiled: Path) -> None:
    texts = tmp_path / "texts"
    empty = tmp_path / "empty"
    (empty / FRAMEWORK).mkdir(parents=True)
    first = compare(sound(), compiled, texts, empty)
    assert first is not None
    users = 0
    for number, name in enumerate(chosen_templates()):
        overlay = tmp_path / str(number)
        target = overlay / name
        target.parent.mkdir(parents=True)
        text = (SHIPPED / name).read_text(encoding="utf-8")
        # A macro is changed inside, so that the text of who calls it is another.
        marked = text.replace("{% endmacro %}", "changed {% endmacro %}") if "_macros/" in name else f"{text}changed\n"
        target.write_text(marked, encoding="utf-8")
        found = compare(sound(), compiled, texts, overlay)
        assert found is not None
        old = {**first.generated, **{f"once/{path}": text for path, text in first.once.items()}}
        new = {**found.generated, **{f"once/{path}": text for path, text in found.once.items()}}
        differing = [path for path, text in new.items() if old.get(path) != text]
        assert found.work.rendered >= len(differing)
        assert found.work.rendered <= 12, name
        users += len(differing)
        assert made(sound(), compiled, texts, empty) is not None
    assert users >= 8


# -- counts -------------------------------------------------------------------------------------------------------------


def edited(folder: Path, name: str, **changes: Any) -> Path:
    """A schema folder in which one op is another."""
    target = folder / "frameworks" / FRAMEWORK / "ops"
    if not target.exists():
        shutil.copytree(OPS, target)
    for path in sorted(OPS.glob("*.yaml")):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if any(op["name"] == name for op in content["ops"]):
            content["ops"] = [{**op, **changes} if op["name"] == name else op for op in content["ops"]]
            (target / path.name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
            return folder
    raise KeyError(name)


Run = Callable[..., Prepared]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Prepares the tree with schema folders over the shipped ones; always with one cache."""
    folder = tmp_path_factory.mktemp("runs")

    def run(*schemas: Path) -> Prepared:
        cache, output = folder / "cache", folder / "out"
        return prepare(Request("mlu", sdk=("sim",), output=output, cache=cache, schema_dirs=schemas))

    return run


@pytest.fixture(scope="module")
def first(run: Run) -> Prepared:
    """The tree of the shipped schemas, made from nothing."""
    return run()


def differing(one: Prepared, other: Prepared) -> set[str]:
    """The files that are not the same, but for the manifest, which no template makes."""
    paths = one.files.keys() | other.files.keys()
    return {path for path in paths if one.files.get(path) != other.files.get(path)} - {"manifest.json"}


def test_the_first_run_makes_everything(first: Prepared) -> None:
    assert first.work.rendered == first.work.files == len(first.files) - 1 + len(first.once)
    assert first.work.formatted == sum(path.endswith((".h", ".cc")) for path in first.files)
    assert not first.work.incremental


ELEMENTWISE = "tests/test_ops_elementwise.cc"
OTHER_NAME = {
    "params": [
        {"name": "a", "type": "const std::shared_ptr<Tensor> &"},
        {"name": "more", "type": "const std::shared_ptr<Tensor> &"},
    ],
    "output_dtype": "promote(a, more)",
    "cases": [{"a": [2, 3], "more": [2, 3]}],
}


@pytest.mark.parametrize(
    ("changes", "files", "read"),
    [
        ({"doc": "Another sentence.", "source": "another book"}, set(), 0),
        ({"cases": [{"a": [2, 3], "b": [2, 3]}]}, {ELEMENTWISE}, 0),
        # A test looks for ops that refuse a dtype.
        ({"dtypes": ["float32", "bfloat16"]}, {ELEMENTWISE, "src/kernels/op_table.cc"}, 1),
        (OTHER_NAME, {ELEMENTWISE, "src/kernels/fallback/elementwise.cc", "src/kernels/kernels.h"}, 1),
    ],
    ids=["what no file says", "a test case", "a dtype", "a parameter"],
)
def test_one_changed_op_costs_the_files_that_depend_on_it(
    tmp_path: Path, run: Run, first: Prepared, changes: dict[str, Any], files: set[str], read: int
) -> None:
    """`read` files read what changed, and say the same."""
    schemas = edited(tmp_path, "AddForward", **changes)
    found = run(schemas)
    assert differing(first, found) == files
    assert (found.work.rendered, found.work.formatted) == (len(files) + read, len(files))
    again = run(schemas)
    assert (again.work.rendered, again.work.formatted, again.files) == (0, 0, found.files)
    back = run()
    assert (back.work.rendered, back.work.formatted, back.files) == (len(files) + read, 0, first.files)


def test_one_more_op_costs_the_files_that_list_ops(tmp_path: Path, run: Run, first: Prepared) -> None:
    target = tmp_path / "frameworks" / FRAMEWORK / "ops"
    target.mkdir(parents=True)
    op = {
        "name": "Frobnicate",
        "doc": "Nothing known.",
        "returns": "std::shared_ptr<Tensor>",
        "params": [{"name": "a", "type": "const std::shared_ptr<Tensor> &"}],
        "strategy": "fallback",
        "cpu": "framework",
        "dtypes": ["float32"],
        "output_dtype": "same(a)",
        "source": "nowhere",
    }
    (target / "more.yaml").write_text(yaml.safe_dump({"schema": 1, "category": "more", "ops": [op]}), encoding="utf-8")
    found = run(tmp_path)
    files = differing(first, found)
    assert "src/kernels/fallback/more.cc" in files
    assert found.work.formatted == sum(path.endswith((".h", ".cc")) for path in files)
    assert found.work.rendered == len(files) + 3  # three look through all ops for some that they know
    assert run(tmp_path).work.rendered == 0
    assert run().files == first.files


def test_without_a_cache_everything_is_made(tmp_path: Path) -> None:
    request = Request("mlu", sdk=("sim",), output=tmp_path / "out", formatted=False)
    for _ in range(2):
        work = prepare(request).work
        assert work.rendered == work.files
        assert not work.incremental
