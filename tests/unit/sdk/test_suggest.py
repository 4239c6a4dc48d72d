"""Did-you-mean over an SDK's names, by words and signature."""

from __future__ import annotations

from pathlib import Path

import pytest

from fl_gen.sdk.headers import read_sdk
from fl_gen.sdk.shims import minimal
from fl_gen.sdk.suggest import Suggester, parts

STREAM = "cnrtQueue_t"


@pytest.fixture(scope="module")
def suggester() -> Suggester:
    folder = Path(__file__).parent / "headers"
    return Suggester(read_sdk(["cnrt.h", "cnnl.h", "cncl.h"], [folder], minimal()))


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("cnrtMallocAsync", ["void **", "size_t", STREAM], "cnrtMemAllocAsync"),
        ("cnrtFreeAsync", ["void *", STREAM], "cnrtMemFreeAsync"),
        ("cnrtMallocHost", ["void **", "size_t"], "cnrtHostMalloc"),
        ("cnrtHostFree", ["void *"], "cnrtFreeHost"),
        ("cnrtStreamCreate", ["cnrtQueue_t *"], "cnrtQueueCreate"),
        ("cnrtStreamSynchronize", [STREAM], "cnrtQueueSync"),
        ("cnrtEventRecord", ["cnrtNotifier_t", STREAM], "cnrtPlaceNotifier"),
        ("cnrtDeviceSynchronize", [], "cnrtSyncDevice"),
        ("cnrtGetDeviceCnt", ["unsigned int *"], "cnrtGetDeviceCount"),
        ("cnrtNotifierElapsedTime", ["cnrtNotifier_t", "cnrtNotifier_t", "float *"], "cnrtNotifierDuration"),
        ("cudaMemcpyAsync", [None, None, None, None, None], "cnrtMemcpyAsync"),
        ("cnnlSetStream", ["cnnlHandle_t", STREAM], "cnnlSetQueue"),
        ("cnclAllreduce", [None] * 7, "cnclAllReduce"),
        ("cnrtMallocs", ["void **", "size_t"], "cnrtMalloc"),
        ("cnrtMallocate", ["void **", "size_t"], "cnrtMalloc"),
    ],
)
def test_functions(suggester: Suggester, name: str, arguments: list[str | None], expected: str) -> None:
    assert suggester.functions(name, arguments)[0].name == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cnrtMemcpyKind_t", "cnrtMemTransDir_t"),
        ("cnrtStream_t", "cnrtQueue_t"),
        ("cnrtEvent_t", "cnrtNotifier_t"),
        ("cnrtError_t", "cnrtRet_t"),
        ("cnnlHandle", "cnnlHandle_t"),
        ("cnclRedOp_t", "cnclReduceOp_t"),
    ],
)
def test_types(suggester: Suggester, name: str, expected: str) -> None:
    assert suggester.types(name)[0] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cnrtMemcpyHostToDevice", "cnrtMemcpyHostToDev"),
        ("CNRT_NOTIFIER_DISABLE_TIMING", "CNRT_NOTIFIER_DISABLE_TIMING_SW"),
        ("CNNL_STATUS_SUCESS", "CNNL_STATUS_SUCCESS"),
    ],
)
def test_constants(suggester: Suggester, name: str, expected: str) -> None:
    assert suggester.constants(name)[0] == expected


@pytest.mark.parametrize("name", ["foo", "printf", "x", "zebraQuaggaOkapi", "cnrt", "_", "cnrtGraphLaunch"])
def test_nothing_is_better_than_nonsense(suggester: Suggester, name: str) -> None:
    assert suggester.functions(name, []) == []
    assert suggester.constants(name) == []


def test_words() -> None:
    assert parts("cnrtMallocAsync") == ("cnrt", "mem", "alloc", "async")
    assert parts("cnrtMemTransDir_t") == ("cnrt", "mem", "copy", "dir")
    assert parts("CNRT_RET_ERR_NOMEM") == ("cnrt", "status", "err", "nomem")
    assert parts("cnrtGetDeviceProperties_V3") == ("cnrt", "get", "dev", "prop", "v", "3")
