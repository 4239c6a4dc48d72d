"""Whatever a file holds, the only thing that comes out of a loader is a model or a SchemaError, and soon."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fl_gen.schema.api_spec import load_api_data
from fl_gen.schema.errors import SchemaError
from fl_gen.schema.framework_spec import load_interface
from fl_gen.schema.kernels import load_native_kernels
from fl_gen.schema.nodes import plain_data
from fl_gen.schema.ops_spec import load_ops
from fl_gen.schema.runtime import load_runtime
from fl_gen.schema.vendor_spec import load_vendor
from fl_gen.schema.yaml_loader import loads
from unit.schema.samples import API, API_BASE, API_EXTENDS, KERNELS, OPS, RUNTIME, VENDOR, VENDOR_BASE, VENDOR_EXTENDS

EXAMPLES = 5_000 if os.environ.get("FL_GEN_TORTURE") else 150
LOADERS = [load_runtime, load_vendor, load_interface, load_ops, load_api_data, load_native_kernels]
HOSTILE = st.sampled_from(
    ["\0", "\t", "\ufeff", "\u2028", "\ud800", "*a", "&a ", "!!x ", "<<: ", "- ", "? ", ": ", "|", ">", "{", "}", "[", "]",
     "'", '"', "\\", "#", "%", "---", "...", "\n", "\r", "  ", "\x1b[0m", "__x", "class", "../", "9" * 400, "1e999", ".nan",
     "true", "null", "$stream", "*/", "\u202e", "é", "漢", "\U0001f600", "x" * 300]
)  # fmt: skip


def outcome(function: Callable[..., Any], *arguments: Any) -> None:
    """Runs a loader; a SchemaError must also be able to say what it has to say."""
    try:
        function(*arguments)
    except SchemaError as error:
        text = error.render()
        assert text
        assert all(c == "\n" or c.isprintable() for c in text)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300), st.lists(HOSTILE, max_size=30).map("".join)))
def test_any_bytes_and_any_text(data: bytes | str) -> None:
    outcome(lambda: plain_data(loads(data)))


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([(load_runtime, RUNTIME), (load_vendor, VENDOR), (load_ops, OPS), (load_api_data, API),
                     (load_native_kernels, KERNELS)]),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), HOSTILE), min_size=1, max_size=4),
)  # fmt: skip
def test_a_good_file_with_damage(
    tmp_path: Path, kind: tuple[Callable[..., Any], str], edits: list[tuple[float, int, str]]
) -> None:
    loader, text = kind
    for place, removed, inserted in edits:
        at = int(place * len(text))
        text = text[:at] + inserted + text[at + removed :]
    path = tmp_path / "file.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    outcome(loader, path)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([(load_vendor, VENDOR_BASE, VENDOR_EXTENDS), (load_api_data, API_BASE, API_EXTENDS)]),
    st.booleans(),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 12), HOSTILE | st.sampled_from(["${", "${}", "}", "${runtime}", "${RUNTIME}"])),
        min_size=1,
        max_size=4,
    ),
)  # fmt: skip
def test_a_base_and_what_extends_it_with_damage(
    tmp_path: Path, kind: tuple[Callable[..., Any], str, str], in_base: bool, edits: list[tuple[float, int, str]]
) -> None:
    loader, base, own = kind
    name = "vendor.yaml" if loader is load_vendor else "api.yaml"
    text = base if in_base else own
    for place, removed, inserted in edits:
        at = int(place * len(text))
        text = text[:at] + inserted + text[at + removed :]
    base, own = (text, own) if in_base else (base, text)
    for path, content in ((tmp_path / "bases" / "crt_like" / name, base), (tmp_path / "vendors" / "chip" / name, own)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogatepass"))
    outcome(loader, tmp_path / "vendors" / "chip" / name)


LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just("schema"))
KEYS = st.sampled_from(["schema", "vendor", "types", "operations", "groups", "bindings", "ops", "kernels", "runtime", "params",
                        "stream", "sdk", "statuses", "name", "expr", "headers", "dtypes", "workarounds", "extends", "with", "without"])  # fmt: skip
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=20
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(LOADERS), TREES)
def test_any_shape_of_data(tmp_path: Path, loader: Callable[..., Any], tree: Any) -> None:
    import yaml

    path = tmp_path / "file.yaml"
    path.write_text(yaml.dump(tree, allow_unicode=True), encoding="utf-8", errors="replace")
    outcome(loader, path)


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize(
    "text", ["1", "[]", "{}", "'x'", "[[[[]]]]", "schema: 1", "schema: 1" + "0" * 5000, "schema: .inf"]
)
def test_small_files(loader: Callable[..., Any], text: str, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError):
        loader(path)
