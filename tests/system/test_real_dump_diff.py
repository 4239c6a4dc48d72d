"""`sdk dump` and `sdk diff` on headers that vendors really ship; skipped where tools/real_headers.py was not run."""

from __future__ import annotations

import functools
import json
import re
import subprocess

import jsonschema
import pytest

from fl_gen.report.dump_text import dump_json
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.paths import data_dir
from fl_gen.sdk.find import find_sdk
from fl_gen.tasks.dump_values import SdkDump
from fl_gen.tasks.sdk_diff import diff_sdks
from fl_gen.tasks.sdk_dump import dump_vendor
from fl_gen.workflow.request import Request

from .building import tool
from .test_real_headers import CUDA, HIP, roots, vendor_of

PREFIXES = {"nvidia": "cuda|nccl|cublas", "dcu": "hip|rccl"}


@functools.cache
def dumped(release: str) -> SdkDump:
    return dump_vendor(Request(vendor_of(release), sdk=roots(release)))


@pytest.mark.parametrize("release", [*CUDA, HIP])
def test_every_function_is_there_that_another_preprocessor_leaves(release: str) -> None:
    """Counted in the output of g++ -E: every name of the vendor's before a bracket in a statement that ends or opens."""
    vendor = vendor_of(release)
    schema = Catalog().vendor(vendor)
    found = find_sdk(schema, roots(release), {})
    source = "".join(f"#define {name.replace('=', ' ')}\n" for name in schema.sdk.defines)
    source += "".join(f"#include <{header}>\n" for header in found.headers(schema))
    folders = [part for folder in found.include_dirs for part in ("-isystem", folder)]
    text = subprocess.run(
        [tool("g++"), "-E", "-P", "-x", "c++", "-std=c++20", *folders, "-"],
        input=source, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    counted = set(re.findall(rf"\b((?:{PREFIXES[vendor]})[A-Z]\w*)\s*\([^;{{}}]*\)[^;{{}}()]*[;{{]", text))
    counted -= {one.name for one in dumped(release).typedefs}  # as in a cast
    ours = {one.name for one in dumped(release).functions if re.match(rf"(?:{PREFIXES[vendor]})[A-Z]", one.name)}
    assert len(ours) > 150
    assert counted - ours == set()
    assert ours - counted == set()


@pytest.mark.parametrize("release", ["cuda-12.1", HIP])
def test_the_document_is_valid_and_free_of_paths(release: str) -> None:
    text = dump_json(dumped(release))
    schema = json.loads((data_dir() / "schemas" / "jsonschema" / "sdk-dump.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))
    assert not any(root in text for root in roots(release))


def test_what_cuda_hides_and_renames() -> None:
    dump = dumped("cuda-12.1")
    macros = {one.name: one.stands_for for one in dump.macros}
    assert macros["cudaGetDeviceProperties"] == ("cudaGetDeviceProperties_v2",)
    malloc = next(one for one in dump.functions if one.name == "cudaMalloc")
    assert (malloc.returns.canonical, [one.canonical for one in malloc.params]) == (
        "cudaError",
        ["void **", "unsigned long"],
    )
    assert [one.text for one in malloc.conditions] == ["!defined(__CUDACC_RTC__)"]
    thread = next(one for one in dump.functions if one.name == "cudaThreadExit")
    assert thread.availability == "deprecated"
    hidden = {one.name: one for one in dump.unavailable if one.kind == "function" and one.declared is None}
    assert "defined(__CUDACC__)" in " ".join(one.text for one in hidden["__cudaCDP2EventCreateWithFlags"].conditions)


def test_what_cuda_12_1_means_for_a_backend_on_11_8() -> None:
    def parts(release: str) -> list[str]:
        """Without cuBLAS, which only one of the two has here."""
        return [root for root in roots(release) if "cublas" not in root]

    diff = diff_sdks(Request("nvidia"), parts("cuda-11.8"), parts("cuda-12.1"))
    assert (diff.exit_code, diff.old.version, diff.new.version) == (0, "11.8", "12.1")
    assert diff.bindings == ()
    changes = {one.name: one for one in diff.changes}
    assert {(one.kind, one.change, one.name) for one in diff.used} == {
        ("record", "changed", "cudaDeviceProp"),
        ("function", "appeared", "cudaGetDeviceProperties_v2"),
        ("function", "moved", "cudaGetDeviceProperties"),
    }
    assert changes["cudaGraphInstantiate"].change == "changed"
    assert changes["cudaGraphInstantiate"].new == (
        "cudaError_t cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)"
    )
    assert (changes["cudaGetDeviceProperties"].change, changes["cudaGetDeviceProperties"].note) == (
        "moved",
        "a macro for cudaGetDeviceProperties_v2",
    )
    assert (changes["cudaBindTexture2D"].change, changes["cudaGetKernel"].change) == ("vanished", "appeared")
    assert (changes["CUDART_VERSION"].old, changes["CUDART_VERSION"].new) == ("11080", "12010")
    assert changes["cudaDevAttrMax"].kind == "enumerator"
    assert "ncclSend" not in changes  # the same NCCL on both sides
