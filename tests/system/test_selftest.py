"""The generated self-test: it passes on each simulated SDK, and finds faults, crashes, hangs and wrong meanings."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from .building import BUILD, Variant, environment, lock, run, sim_sdk, succeed, tool, tree

VARIANTS = {"mlu": Variant("mlu"), "mlu-6.0": Variant("mlu", version="6.0"), "maca": Variant("maca")}
# Calls of the SDK that do not do what the backend infers, crash, or never return; loaded before the simulated SDK.
IMPOSTOR = """
#include <cncl.h>
#include <cnrt.h>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>
template <typename T> T Real(T, const char *name) { return reinterpret_cast<T>(dlsym(RTLD_NEXT, name)); }
bool Asked(const char *name) { const char *asked = std::getenv("IMPOSTOR"); return asked && std::strstr(asked, name); }
extern "C" {
// The count is what one rank receives.
cnclResult_t cnclAllGather(const void *send, void *receive, size_t count, cnclDataType_t type, cnclComm_t comm,
                           cnrtQueue_t queue) {
    return Real(&cnclAllGather, "cnclAllGather")(send, receive, Asked("gather") ? count / 2 : count, type, comm, queue);
}
// Writing 0 resets nothing.
cnrtRet_t cnrtMemPoolSetAttribute(cnrtMemPool_t pool, cnrtMemPoolAttr_t attribute, void *value) {
    if (Asked("pool") && attribute == cnrtMemPoolAttrUsedMemHigh) { return cnrtSuccess; }
    return Real(&cnrtMemPoolSetAttribute, "cnrtMemPoolSetAttribute")(pool, attribute, value);
}
cnrtRet_t cnrtMemGetInfo(size_t *free, size_t *total) {
    if (Asked("crash")) { std::abort(); }
    return Real(&cnrtMemGetInfo, "cnrtMemGetInfo")(free, total);
}
cnrtRet_t cnrtNotifierElapsedTime(cnrtNotifier_t start, cnrtNotifier_t end, float *time) {
    const cnrtRet_t result = Real(&cnrtNotifierElapsedTime, "cnrtNotifierElapsedTime")(start, end, time);
    if (Asked("microseconds")) { *time *= 1000; }
    return result;
}
cnrtRet_t cnrtMemsetAsync(void *address, int value, size_t size, cnrtQueue_t queue) {
    while (Asked("hang")) { usleep(1000); }
    return Real(&cnrtMemsetAsync, "cnrtMemsetAsync")(address, value, size, queue);
}
}
"""


@functools.cache
def program(name: str) -> Path:
    """The self-test of a variant, built as its CMakeLists.txt says, alone."""
    variant = VARIANTS[name]
    sdk, source = sim_sdk(variant), tree(variant)
    build = BUILD / f"selftest-{variant.key}"
    with lock(f"selftest-{variant.key}"):
        succeed(
            [
                *(tool("cmake"), "-G", "Ninja", "-S", source / "generated" / variant.vendor / "selftest", "-B", build),
                f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
                f"-DCMAKE_CXX_COMPILER={tool(variant.compiler)}",
                f"-DINFINITRAIN_{variant.vendor.upper()}_SDK_ROOT={sdk}",
                *("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS=-O0 -Wall -Wextra -Werror"),
            ]
        )
        succeed([tool("ninja"), "-C", build])
    return build / f"{variant.vendor}_selftest"


def selftest(name: str, *arguments: str, **settings: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, JSON and table of one run."""
    settings = {"FL_SIM_DEVICES": "2", "FL_SIM_LEAKS": "fail", "FL_SIM_QUIET": "1", **settings}
    result = run([program(name), *arguments], env=environment(**settings), timeout=300)
    return result.returncode, json.loads(result.stdout), result.stderr


def failed(told: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["detail"] for check in told["checks"] if check["result"] == "fail"}


@functools.cache
def impostor() -> Path:
    """A library that stands before the simulated SDK of mlu."""
    library = BUILD / "selftest-impostor.so"
    source = library.with_suffix(".cc")
    with lock("selftest-impostor"):
        source.write_text(IMPOSTOR, encoding="utf-8")
        sdk = sim_sdk(VARIANTS["mlu"])
        succeed(
            [tool("g++"), "-std=c++20", "-shared", "-fPIC", "-isystem", sdk / "include", source, "-o", library, "-ldl"]
        )
    return library


def with_impostor(which: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
    return selftest("mlu", *arguments, LD_PRELOAD=str(impostor()), IMPOSTOR=which)


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("devices", ["1", "3"])
def test_it_passes_on_the_simulated_sdk(name: str, devices: str) -> None:
    code, told, table = selftest(name, FL_SIM_DEVICES=devices)
    assert failed(told) == {}
    assert code == 0
    assert told["failed"] == 0
    assert told["passed"] == sum(check["result"] == "pass" for check in told["checks"])
    assert told["vendor"] == VARIANTS[name].vendor
    assert told["sdk"]["simulated"] is True
    skipped = {check["name"]: check["detail"] for check in told["checks"] if check["result"] == "skip"}
    assert ("device.threads" in skipped) == (devices == "1")
    assert ("memory.alloc_async" in skipped) == (name == "mlu-6.0")
    assert all(skipped.values()), "each says why"
    assert f"{told['passed']} passed, 0 failed, {told['skipped']} skipped" in table


@pytest.mark.parametrize("devices", ["1", "2"])
def test_inferred_facts_are_put_to_the_test(devices: str) -> None:
    _, told, _ = selftest("mlu", FL_SIM_DEVICES=devices)
    held = {fact["operation"]: fact["held"] for fact in told["inferred"]}
    # With one rank the count of one rank and that of all are the same, so nothing is shown.
    collectives = True if devices == "2" else "not checked"
    assert held == {
        "memory.pool_reset_peak": True,
        "library.cast": True,
        "ccl.all_gather": collectives,
        "ccl.reduce_scatter": collectives,
    }
    assert "inferred from NCCL" in next(f["fact"] for f in told["inferred"] if f["operation"] == "ccl.all_gather")


@pytest.mark.parametrize(
    ("rule", "check", "words"),
    [
        ("cnrtGetDeviceCount:1", "device.list", "device.count: "),
        ("cnrtQueueCreateWithPriority:3", "stream.priorities", "stream.create_with_priority: "),
        ("cnrtQueueWaitNotifier:1", "stream.wait_event", "stream.wait_event: "),
        ("cnrtNotifierCreateWithFlags:2", "event.flags", "event.create_with_flags: "),
        ("cnrtMemsetAsync:2:oom", "memory.set_async", "memory.set_async: cnrtErrorNoMem"),
        ("cnrtHostMalloc:1", "memory.alloc_host", "memory.alloc_host: "),
        ("cnrtMemPoolGetAttribute:1", "memory.pool_peak", "memory.pool_peak: "),
        ("cnnlSetQueue:2", "library.handle", "blas.set_stream: "),
        ("cnnlCastDataType:1", "library.cast", "library.cast: "),
        ("cnclAllReduce:1", "collectives.all_reduce", "ccl.all_reduce: "),
        ("cnclGroupEnd:1", "collectives.send_recv", "ccl.group_end: "),
    ],
)
def test_a_failing_call_fails_its_check_and_no_other(rule: str, check: str, words: str) -> None:
    code, told, table = selftest("mlu", FL_SIM_FAIL=rule)
    assert code == 1
    assert list(failed(told)) == [check]
    assert words in failed(told)[check]
    assert re.search(rf"^fail  {re.escape(check)} ", table, re.MULTILINE)


def test_a_wrong_meaning_is_told_as_a_fact_that_does_not_hold() -> None:
    code, told, table = with_impostor("gather pool")
    assert code == 1
    held = {fact["operation"]: fact["held"] for fact in told["inferred"]}
    assert held["ccl.all_gather"] is False
    assert held["memory.pool_reset_peak"] is False
    assert held["ccl.reduce_scatter"] is True
    assert set(failed(told)) == {"collectives.all_gather", "memory.pool_peak"}
    assert "WRONG  ccl.all_gather" in table


def test_another_unit_of_time_is_found() -> None:
    _, told, _ = with_impostor("microseconds")
    assert list(failed(told)) == ["event.milliseconds"]


def test_a_crash_ends_one_check_and_not_the_test() -> None:
    code, told, _ = with_impostor("crash")
    assert code == 1
    # Both checks ask for the size of the memory.
    assert set(failed(told)) == {"memory.info", "memory.exhausted"}
    assert "signal 6" in failed(told)["memory.info"]
    assert told["checks"][-1]["name"] == "process.end"
    assert told["checks"][-1]["result"] == "pass"


def test_a_call_that_never_returns_ends_one_check_and_not_the_test() -> None:
    code, told, _ = with_impostor("hang", "--timeout", "5")
    assert code == 1
    assert failed(told) == {"memory.set_async": "timeout: not finished after 5 s"}
    assert any(check["name"] == "collectives.send_recv" and check["result"] == "pass" for check in told["checks"])


def test_the_result_goes_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    result = run([program("maca"), "--out", out], env=environment(FL_SIM_QUIET="1"))
    assert result.stdout == ""
    assert json.loads(out.read_text(encoding="utf-8"))["vendor"] == "maca"


def test_wrong_usage_is_refused(tmp_path: Path) -> None:
    for arguments in (["--out"], ["--timeout", "0"], ["--timeout", "1x"], ["--unknown"]):
        result = run([program("maca"), *arguments], env=environment())
        assert result.returncode == 2
        assert "usage: maca_selftest" in result.stderr
    result = run([program("maca"), "--out", tmp_path / "none" / "x"], env=environment())
    assert result.returncode == 2
    assert "cannot be written" in result.stderr


def test_it_needs_nothing_but_the_sdk() -> None:
    needed = succeed([tool("ldd"), program("mlu")])
    assert "libcnrt.so" in needed
    assert not re.search(r"glog|infini", needed.replace(str(BUILD), ""))
