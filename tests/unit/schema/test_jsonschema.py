"""JSON Schema and loader come from one declaration: both take every shipped file, and both refuse what is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fl_gen.schema.api_spec import load_api_data
from fl_gen.schema.errors import FlGenError, SchemaError
from fl_gen.schema.extend import base_problems
from fl_gen.schema.framework_spec import load_interface
from fl_gen.schema.jsonschema import KINDS, declaration, export, export_text, pattern
from fl_gen.schema.kernels import load_native_kernels
from fl_gen.schema.nodes import plain_data
from fl_gen.schema.ops_spec import load_ops
from fl_gen.schema.paths import data_dir
from fl_gen.schema.project_spec import load_project
from fl_gen.schema.runtime import load_runtime
from fl_gen.schema.spec import raise_problems
from fl_gen.schema.torch import load_features
from fl_gen.schema.torch_kernels import load_torch_kernels
from fl_gen.schema.torch_rules import load_rules
from fl_gen.schema.vendor_spec import load_vendor
from fl_gen.schema.vocabulary import load_vocabulary
from fl_gen.schema.yaml_loader import load, loads
from unit.schema.samples import (
    API,
    API_BASE,
    API_EXTENDS,
    KERNELS,
    OPS,
    PROJECT,
    RUNTIME,
    TORCH_FEATURES,
    TORCH_KERNELS,
    TORCH_OPS,
    VENDOR,
    VENDOR_BASE,
    VENDOR_EXTENDS,
)

LOADERS: dict[str, Callable[..., Any]] = {
    "runtime": load_runtime,
    "vocabulary": load_vocabulary,
    "vendor": load_vendor,
    "api": load_api_data,
    "interface": load_interface,
    "ops": load_ops,
    "vendor-base": lambda path: sound_base(path, "vendor"),
    "api-base": lambda path: sound_base(path, "api"),
    "kernels": load_native_kernels,
    "torch-features": load_features,
    "torch-ops": load_rules,
    "torch-kernels": load_torch_kernels,
    "project": load_project,
}


def sound_base(path: Path, kind: str) -> None:
    """A base by itself, in the folder of its name."""
    raise_problems(base_problems(path, None, declaration(kind)))


SCHEMAS = data_dir() / "schemas"
INTERFACE = (SCHEMAS / "frameworks" / "infinitrain" / "interface.yaml").read_text(encoding="utf-8")
SAMPLES = {"runtime": RUNTIME, "vendor": VENDOR, "ops": OPS, "api": API, "kernels": KERNELS, "interface": INTERFACE}
SAMPLES["vocabulary"] = (SCHEMAS / "vocabulary.yaml").read_text(encoding="utf-8")
SAMPLES["project"] = PROJECT
SAMPLES |= {"torch-features": TORCH_FEATURES, "torch-ops": TORCH_OPS, "torch-kernels": TORCH_KERNELS}
SAMPLES |= {"vendor-base": VENDOR_BASE, "api-base": API_BASE}
SHIPPED = [(kind, path) for kind in KINDS for path in sorted(SCHEMAS.glob(pattern(kind)))]
VALIDATORS = {kind: jsonschema.Draft202012Validator(export(kind)) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_the_export_is_a_json_schema(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(export(kind))
    assert export(kind)["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_export_is_current(kind: str) -> None:
    path = SCHEMAS / "jsonschema" / f"{kind}.json"
    assert path.read_text(encoding="utf-8") == export_text(kind), f"run: fl-gen schema export --out {path.parent}"


@pytest.mark.parametrize(("kind", "path"), SHIPPED, ids=[f"{path.parent.name}/{path.name}" for _, path in SHIPPED])
def test_every_shipped_file_is_taken_by_both(kind: str, path: Path) -> None:
    LOADERS[kind](path)
    VALIDATORS[kind].validate(plain_data(load(path)))
    first = path.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert (path.parent / first.split("=", 1)[1]).resolve() == SCHEMAS / "jsonschema" / f"{kind}.json"


def test_every_key_is_explained() -> None:
    for kind in KINDS:
        for name, definition in export(kind)["$defs"].items():
            for key, schema in definition.get("properties", {}).items():
                assert schema.get("description"), f"{kind}: {name}.{key}"


def mutations(data: Any, change: Callable[[Any], None] | None = None) -> Iterator[tuple[str, Any]]:
    """Copies of a document with one thing wrong, for every place of it that both can judge."""

    def walk(node: Any, trail: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
        def changed(edit: Callable[[Any], None]) -> Any:
            whole = copy.deepcopy(data)
            inner = whole
            for step in trail:
                inner = inner[step]
            edit(inner)
            return whole

        if isinstance(node, dict):
            yield f"{trail}: unknown key", changed(lambda inner: inner.update({"unknown key!": {"x": []}}))
            for key, value in node.items():
                if key in ("cases", "value", "crtOther", "${runtime}Other"):
                    continue  # free data, text that may be a number, an enumerator that may be one
                wrong = 7 if isinstance(value, (list, dict)) else {"x": 1}
                yield f"{(*trail, key)}: wrong type", changed(lambda inner, k=key, w=wrong: inner.update({k: w}))
                yield from walk(value, (*trail, key))
        elif isinstance(node, list):
            for index, value in enumerate(node[:2]):
                yield from walk(value, (*trail, index))

    yield from walk(data, ())


def trimmed(node: Any) -> Any:
    """The data with one entry in each list: every kind of place is there once."""
    if isinstance(node, dict):
        return {key: trimmed(value) for key, value in node.items()}
    return [trimmed(item) for item in node[:1]] if isinstance(node, list) else node


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_wrong_is_refused_by_both(kind: str, tmp_path: Path) -> None:
    data = plain_data(loads(SAMPLES[kind]))
    data = trimmed(data) if kind in ("interface", "vocabulary") else data
    path = tmp_path / "crt_like" / "file.yaml"
    path.parent.mkdir()
    tried = 0
    for what, wrong in mutations(data):
        path.write_text(yaml.dump(wrong, allow_unicode=True, sort_keys=False), encoding="utf-8")
        assert not VALIDATORS[kind].is_valid(wrong), f"JSON Schema takes {what}"
        with pytest.raises(SchemaError):
            LOADERS[kind](path)
        tried += 1
        if tried >= 150:
            break
    assert tried >= 7


def test_an_unknown_kind() -> None:
    with pytest.raises(FlGenError, match="did you mean 'vendor'"):
        export("vender")


@pytest.mark.parametrize("kind", ["vendor", "api"])
def test_what_is_wrong_in_a_file_with_a_base_is_refused_by_both(kind: str, tmp_path: Path) -> None:
    text = {"vendor": VENDOR_EXTENDS, "api": API_EXTENDS}[kind]
    for file, base in (("vendor", VENDOR_BASE), ("api", API_BASE)):
        path = tmp_path / "bases" / "crt_like" / f"{file}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(base)
    path = tmp_path / "vendors" / "chip" / f"{kind}.yaml"
    path.parent.mkdir(parents=True)
    data = plain_data(loads(text))
    path.write_text(text)
    LOADERS[kind](path)
    VALIDATORS[kind].validate(data)
    tried = 0
    for what, wrong in mutations(data):
        path.write_text(yaml.dump(wrong, allow_unicode=True, sort_keys=False), encoding="utf-8")
        with pytest.raises(SchemaError):
            LOADERS[kind](path)
        if "('with'" not in what:  # which parameters there are only the base knows
            assert not VALIDATORS[kind].is_valid(wrong), f"JSON Schema takes {what}"
        tried += 1
    assert tried >= 25
