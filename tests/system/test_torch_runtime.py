"""The runtime of a generated PyTorch package: streams, events and allocators, alone and under sanitizers, with faults.

The program under test is generated with the package (csrc/tests); the expected values are bytes that it wrote itself.
What it can see is proved by faults: each is seeded into the generated code and must be caught.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from .building import Variant, environment, run
from .torch_runtime import LACKS, Fault, Program, fault_ids, mutant, program

pytestmark = pytest.mark.slow

TORTURE = bool(os.environ.get("FL_GEN_TORTURE"))
IN_CI = 2  # faults; each is a build of its own

PLAIN = Variant("mlu")
# The deliberate missing wait is a race, and ThreadSanitizer does not follow a fork of a process with threads.
THREAD_TESTS = (
    "streams_and_events",
    "own_stream_reuses",
    "recorded_streams_delay_reuse",
    "users_are_all_waited_for",
    "empty_cache_waits_for_streams",
    "blocks_split_and_merge",
    "pinned_memory_waits_for_streams",
    "pinned_memory_is_given_back",
    "pinned_memory_runs_out",
    "random_operations",
)

FAULTS = (
    Fault(
        "event-wait-dropped",
        "runtime/device_cache.cc",
        "} else if (!events.front().first.query()) {",
        "} else if (false) {",
        "recorded_streams_delay_reuse",
    ),
    Fault(
        "reuse-without-recording",
        "runtime/device_cache.cc",
        "if (block->users.empty()) {",
        "if (true) {",
        "random_operations",
    ),
    Fault(
        "stream-of-a-block-ignored",
        "runtime/device_cache.cc",
        "if (found == pool.free.end() || (*found)->stream != stream) {",
        "if (found == pool.free.end()) {",
        "random_operations",
    ),
    Fault(
        "one-event-for-all-streams",
        "runtime/device_cache.cc",
        "if (--block->pending == 0) {",
        "if (--block->pending <= 1) {",
        "users_are_all_waited_for",
    ),
    Fault(
        "segment-freed-in-use",
        "runtime/device_cache.cc",
        "if (passed.insert(block->stream).second) {",
        "if (false) {",
        "empty_cache_waits_for_streams",
    ),
    Fault(
        "stream-does-not-wait-for-event",
        "runtime/event.cc",
        "MLU_CHECK(cnrtQueueWaitNotifier(handle_, stream.handle(), 0));",
        "static_cast<void>(stream);",
        "missing_waits_are_seen",
    ),
    Fault(
        "pinned-memory-reused-at-once",
        "runtime/host_allocator.cc",
        "return event.query();",
        "return event.recorded();",
        "pinned_memory_waits_for_streams",
    ),
    Fault(
        "pinned-memory-never-freed",
        "runtime/host_allocator.cc",
        "MLU_CHECK(cnrtFreeHost(address));",
        "static_cast<void>(address);",
        "pinned_memory_is_given_back",
    ),
    Fault(
        "neighbours-not-merged",
        "runtime/device_cache.cc",
        "if (block->next != nullptr && block->next->is_free()) {",
        "if (false) {",
        "blocks_split_and_merge",
    ),
    Fault(
        "used-in-a-forked-child",
        "runtime/device.cc",
        "pthread_atfork(nullptr, nullptr, [] { forked.store(true); });",
        "pthread_atfork(nullptr, nullptr, [] {});",
        "children_are_refused",
    ),
)


@pytest.fixture(scope="module")
def plain() -> Program:
    return program(PLAIN)


def _run(path: Path, *arguments: str, prefix: tuple[str, ...] = (), **values: str) -> subprocess.CompletedProcess[str]:
    """Run a test program; what leaks at its end is a failure."""
    settings = {"FL_SIM_DELAY_US": "50", "FL_SIM_LEAKS": "fail", **values}
    inherited = {name: value for name, value in environment(**settings).items() if not name.startswith("TORCH_FL_")}
    given: Mapping[str, str] = {**inherited, **{k: v for k, v in values.items() if k.startswith("TORCH_FL_")}}
    return run([*prefix, path, *arguments], env=given, timeout=600)


def _check(result: subprocess.CompletedProcess[str]) -> None:
    output = result.stdout + result.stderr
    assert result.returncode == 0, output[-4000:]
    assert " 0 failed" in result.stdout
    assert "fl-sim: fault" not in output
    assert "0 objects leaked" in output or "leak report" not in output


def test_ten_thousand_operations_on_eight_threads(plain: Program) -> None:
    result = _run(plain.path, "--operations=10000", "--threads=8")
    _check(result)
    assert "random_operations" in result.stdout


@pytest.mark.parametrize("seed", [2, 3])
def test_other_seeds_and_delays(plain: Program, seed: int) -> None:
    _check(_run(plain.path, f"--seed={seed}", "--operations=2000", "random_operations", FL_SIM_SEED=str(seed)))


@pytest.mark.skipif(not TORTURE, reason="two minutes: FL_GEN_TORTURE=1 runs it; CI runs ThreadSanitizer")
def test_nothing_goes_wrong_in_memory() -> None:
    built = program(Variant("mlu", "g++", "address,undefined"))
    _check(_run(built.path, "--operations=2000"))


def test_threads_do_not_race() -> None:
    built = program(Variant("mlu", "g++", "thread"))
    operations = 10_000 if TORTURE else 2000
    result = _run(built.path, f"--operations={operations}", *THREAD_TESTS, prefix=("setarch", platform.machine(), "-R"))
    _check(result)
    assert "ThreadSanitizer" not in result.stderr


@pytest.mark.parametrize("lacks", sorted(LACKS) if TORTURE else ())
def test_an_sdk_that_lacks_much_is_served_by_other_means(lacks: str) -> None:
    _check(_run(program(PLAIN, lacks).path, "--operations=1000"))


@pytest.mark.parametrize("fault", fault_ids(FAULTS if TORTURE else FAULTS[:IN_CI]))
def test_seeded_faults_are_caught(plain: Program, fault: Fault) -> None:
    path = mutant(plain, fault)
    assert _run(plain.path, fault.test, "--operations=4000").returncode == 0, "the intact program fails"
    for seed in ("1", "2", "3"):  # delays are random
        try:
            result = _run(path, fault.test, "--operations=4000", FL_SIM_SEED=seed)
        except subprocess.TimeoutExpired:
            return
        if result.returncode != 0:
            return
    pytest.fail(f"{fault.name}: {fault.test} passes with the fault")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("TORCH_FL_STREAM_NUM", "none", "TORCH_FL_STREAM_NUM=none is not a whole number from 1 to 1024"),
        ("TORCH_FL_STREAM_NUM", "0", "TORCH_FL_STREAM_NUM=0 is not a whole number from 1 to 1024"),
        ("TORCH_FL_STREAM_NUM", "-1", "TORCH_FL_STREAM_NUM=-1 is not a whole number from 1 to 1024"),
        ("TORCH_FL_MEM_POOL_SIZE", "1T", "TORCH_FL_MEM_POOL_SIZE=1T is not a size: use a number of bytes"),
        ("TORCH_FL_MEM_POOL_SIZE", "99999999999999999999", "is not a size"),
        ("TORCH_FL_FALLBACK_MODE", "loud", "TORCH_FL_FALLBACK_MODE=loud is no mode: use silent, warn or strict"),
        ("TORCH_FL_FALLBACK_DEVICE", "gpu!", "TORCH_FL_FALLBACK_DEVICE=gpu! is no device"),
        ("TORCH_FL_OP_FUSION", "1", "TORCH_FL_OP_FUSION is not supported by torch_mlu"),
        ("TORCH_FL_GRAPH_MODE", "on", "TORCH_FL_GRAPH_MODE is not supported by torch_mlu"),
        ("TORCH_FL_GRAPH_MODE", "x", "TORCH_FL_GRAPH_MODE=x is no switch: use 0 or 1"),
    ],
)
def test_bad_options_are_one_clear_error(plain: Program, name: str, value: str, message: str) -> None:
    result = _run(plain.path, "own_stream_reuses", **{name: value})
    assert result.returncode == 1
    assert message in result.stdout
    assert result.stdout.count(name) == 1


def test_the_number_of_streams_is_that_of_the_option(plain: Program) -> None:
    _check(_run(plain.path, "streams_and_events", TORCH_FL_STREAM_NUM="3"))
    _check(_run(plain.path, "streams_and_events", TORCH_FL_STREAM_NUM="", TORCH_FL_OP_FUSION="0"))


def test_the_size_of_the_pool_is_a_limit(plain: Program) -> None:
    result = _run(plain.path, "blocks_split_and_merge", TORCH_FL_MEM_POOL_SIZE="8M")
    assert result.returncode == 1
    assert "It may reserve 8.00 MiB (TORCH_FL_MEM_POOL_SIZE, set_per_process_memory_fraction)" in result.stdout
    _check(_run(plain.path, "blocks_split_and_merge", TORCH_FL_MEM_POOL_SIZE="20971520"))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("cnrtMalloc:1:internal", "cnrtMalloc failed: "),
        ("cnrtQueueCreateWithPriority:1:internal", "cnrtQueueCreateWithPriority"),
        ("cnrtPlaceNotifier:1:internal", "cnrtPlaceNotifier"),
    ],
)
def test_errors_of_the_sdk_name_the_call(plain: Program, rule: str, message: str) -> None:
    result = _run(plain.path, "recorded_streams_delay_reuse", FL_SIM_FAIL=rule)
    output = result.stdout + result.stderr
    assert message in output, output
    assert "mlu:0" in output, output
    assert result.returncode in (0, 1, 86)  # a warning, an error, or a block that had to be given up: never a crash


def test_a_failed_allocation_is_tried_again(plain: Program) -> None:
    _check(_run(plain.path, "own_stream_reuses", FL_SIM_FAIL="cnrtMalloc:1:oom"))
    _check(_run(plain.path, "pinned_memory_is_given_back", FL_SIM_FAIL="cnrtHostMalloc:1:oom"))


def _live_at_exit(folder: Path, program: Program, test: str) -> dict[str, tuple[int, int]]:
    """The kinds of objects that the simulated SDK still has after `test`: (leaked, meant to live as long as the process)."""
    report = folder / f"{test}.json"
    _check(_run(program.path, test, FL_SIM_LEAK_REPORT=str(report)))
    kinds = json.loads(report.read_text(encoding="utf-8"))["kinds"]
    return {kind["kind"]: (kind["leaked"], kind["process_lifetime"]) for kind in kinds}


def test_pinned_memory_goes_back_to_the_sdk(plain: Program, tmp_path: Path) -> None:
    """What is cached at the end of the process is no leak; after the cache was emptied there is nothing."""
    cached = _live_at_exit(tmp_path, plain, "pinned_memory_waits_for_streams")
    assert cached["pinned host memory"] == (0, 1)
    emptied = _live_at_exit(tmp_path, plain, "pinned_memory_is_given_back")
    assert "device memory" in emptied
    assert "pinned host memory" not in emptied


def test_pinned_memory_that_cannot_be_freed_is_a_warning(plain: Program) -> None:
    result = _run(plain.path, "pinned_memory_is_given_back", FL_SIM_FAIL="cnrtFreeHost:1:internal", FL_SIM_LEAKS="off")
    assert result.returncode == 0, result.stdout
    assert "pinned memory of mlu cannot be freed: cnrtFreeHost(address) failed: " in result.stderr
