"""The collectives that templates make: what depends on the library, and what must never happen.

The expected names are written down here from the vendors' headers, not read from the schemas under test.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.render.environment import FileRender, environment_for, render_file
from fl_gen.render.infinitrain import base_context, tree_files
from fl_gen.render.simapi import load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.resolve.backend import resolve
from fl_gen.resolve.model import Backend
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.paths import data_dir
from fl_gen.sdk.probe import probe

TEMPLATES = data_dir() / "templates" / "infinitrain"
DTYPES = {
    "mlu": {"UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64", "BFLOAT16", "FLOAT16", "FLOAT32"},
    "maca": {"UINT8", "INT8", "UINT32", "INT32", "UINT64", "INT64", "BFLOAT16", "FLOAT16", "FLOAT32", "FLOAT64"},
}
OPTIONAL = (
    "ccl.comm_init_ranks",
    "ccl.comm_rank",
    "ccl.comm_count",
    "ccl.comm_device",
    "ccl.get_async_error",
    "ccl.last_error",
    "ccl.average_op",
    "stream.launch_host_func",
    "memory.alloc_host",
)

BackendOf = Callable[[str], Backend]


@pytest.fixture(scope="module")
def backend_of(tmp_path_factory: pytest.TempPathFactory) -> BackendOf:
    """The backend of a vendor on its simulated SDK, each made once."""
    catalog = Catalog()
    made: dict[str, Backend] = {}

    def make(name: str) -> Backend:
        if name not in made:
            schemas = catalog.load(name)
            api = catalog.api_path(name)
            assert api is not None
            include = tmp_path_factory.mktemp(name)
            for path, text in render_headers(load_api(api)).items():
                (include / path).parent.mkdir(parents=True, exist_ok=True)
                (include / path).write_text(text, encoding="utf-8")
            groups = schemas.vendor.groups
            headers = [header for group in groups.values() for header in group.headers]
            made[name], _ = resolve(
                schemas, groups, None, True, (), lambda items: probe(items, headers, [include]), native=()
            )
        return made[name]

    return make


def render(backend: Backend) -> dict[str, str]:
    """The files of the collectives and of their tests."""
    environment = environment_for((TEMPLATES,))
    context = base_context(backend)
    return {
        file.path: render_file(environment, FileRender(file.template, file.path, {**context, **file.context}))
        for file in tree_files(backend, (TEMPLATES,))
        if "{ccl}" in file.template
    }


def unbind(backend: Backend, *operations: str) -> Backend:
    """The backend on an SDK that cannot do `operations`."""
    choices = {
        name: dataclasses.replace(choice, candidate=None) if name in operations else choice
        for name, choice in backend.choices.items()
    }
    return dataclasses.replace(backend, choices=choices)


@pytest.mark.parametrize("vendor", ["mlu", "maca"])
def test_every_dtype_that_the_library_has_and_no_other(backend_of: BackendOf, vendor: str) -> None:
    files = render(backend_of(vendor))
    text = next(text for path, text in files.items() if path.endswith("_impl.cc"))
    table = text[text.index("DataType(DataType dtype") : text.index("ReduceOp(ReduceOpType")]
    assert set(re.findall(r"case DataType::k(\w+):", table)) == DTYPES[vendor]
    values = re.findall(r"return (\w+);", table)
    assert len(values) == len(set(values)), "two dtypes are sent as one"


def test_average_is_native_where_the_library_has_it(backend_of: BackendOf) -> None:
    maca = render(backend_of("maca"))
    assert "return mcclAvg;" in maca["src/ccl/mccl_impl.cc"]
    assert not [path for path in maca if "_average" in path]
    mlu = render(backend_of("mlu"))
    assert "kAvg:" not in mlu["src/ccl/cncl_impl.cc"]
    assert "cnrtInvokeHostFunc" in mlu["src/ccl/cncl_average.cc"]
    assert backend_of("mlu").choice("ccl.average_op").strategy == "sum_then_scale"


def test_ranks_of_one_thread_join_as_the_library_wants_it(backend_of: BackendOf) -> None:
    mlu = render(backend_of("mlu"))["src/ccl/cncl_impl.cc"]
    assert "cnclInitComms(handles.data(), count, devices.data(), ranks.data(), first.nranks(), const_cast" in mlu
    maca = render(backend_of("maca"))["src/ccl/mccl_impl.cc"]
    assert "mcclCommInitRank(&handles[i], comm.nranks(), *id, comm.rank())" in maca
    assert maca.index("mcclGroupStart()") < maca.index("mcclCommInitRank(&handles[i]") < maca.index("mcclGroupEnd()")


def test_long_messages_are_cut_by_the_workaround_alone(backend_of: BackendOf) -> None:
    assert "INFINI_MCCL_ALLREDUCE_SEGMENT_MB" in render(backend_of("maca"))["src/ccl/mccl_impl.cc"]
    assert "SEGMENT" not in render(backend_of("mlu"))["src/ccl/cncl_impl.cc"]
    without = dataclasses.replace(
        backend_of("maca"), vendor=dataclasses.replace(backend_of("maca").vendor, workarounds=())
    )
    assert "SEGMENT" not in render(without)["src/ccl/mccl_impl.cc"]


@pytest.mark.parametrize("vendor", ["mlu", "maca"])
@pytest.mark.parametrize(
    "operations", [(name,) for name in OPTIONAL] + [OPTIONAL], ids=lambda names: "+".join(names)[:40]
)
def test_every_optional_operation_can_be_missing(
    backend_of: BackendOf, vendor: str, operations: tuple[str, ...]
) -> None:
    backend = unbind(backend_of(vendor), *operations)
    files = render(backend)
    assert ("src/ccl/" + str(backend.vendor.groups["ccl"].name) + "_average.cc" in files) == (
        not backend.choice("ccl.average_op").bound
    )
    for path, text in files.items():
        assert not re.search(r"\bNone\b", text), f"{path}: a missing constant was spelled"


def test_without_a_ccl_no_file_of_it_is_made(backend_of: BackendOf) -> None:
    whole = backend_of("mlu")
    groups = tuple(group for group in whole.sdk.groups if group != "ccl")
    bare = dataclasses.replace(whole, sdk=dataclasses.replace(whole.sdk, groups=groups))
    assert not render(bare)


def test_templates_name_no_vendor() -> None:
    names = re.compile(r"cncl|mccl|cnrt|mlu|maca|cambricon|metax|\bmc[A-Z]", re.IGNORECASE)
    templates: list[Path] = [path for path in TEMPLATES.rglob("*.j2") if "{ccl}" in path.name]
    assert len(templates) >= 11
    for path in templates:
        assert not names.findall(path.read_text(encoding="utf-8")), path.name
