"""SDKs of odd shapes: data alone makes a backend of each that compiles without a warning and passes its own tests.

Three are made up here (tests/system/shapes.py), one is Kunlunxin's, in two releases. What a shape has that no other one has
stands in the table below; everything else is tried along the way.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from fl_gen.workflow.generate import resolve_request
from fl_gen.workflow.request import Request

from .building import BUILD, CACHE, ROOT
from .shape_building import Shape, build_shape
from .shapes import Odd, write

SHAPES = {
    odd.name: odd
    for odd in (
        # Calls that need Init first, devices as handles, queues that are a macro, 7 to 0 as priorities, time in us, the rank before
        # the number of ranks, an id of 136 bytes behind a pointer type, a broadcast in place, no average, no groups.
        Odd(
            "alder",
            lacks=frozenset(
                {
                    "device.synchronize",
                    "stream.synchronize_default",
                    "ccl.group_start",
                    "ccl.group_end",
                    "ccl.average_op",
                    "ccl.comm_init_all",
                }
            ),
            init=True,
            queue_is_macro=True,
            priorities=(7, 0),
            microseconds=True,
            rank_first=True,
            broadcast_in_place=True,
        ),
        # Statuses by out parameter, no events, no priorities, no copy in stream order, nothing that waits for more than one stream,
        # copies that take no const source.
        Odd(
            "birch",
            lacks=frozenset(
                {
                    "event.create",
                    "event.destroy",
                    "event.record",
                    "event.synchronize",
                    "event.query",
                    "event.elapsed_time",
                    "stream.wait_event",
                    "stream.query",
                    "stream.create_with_priority",
                    "stream.priority_range",
                    "memory.copy_async",
                    "memory.alloc_host",
                    "memory.free_host",
                    "device.synchronize",
                    "device.get",
                    "stream.synchronize_default",
                    "ccl.comm_init_all",
                }
            ),
            status_by_pointer=True,
            copies_take_no_const=True,
        ),
        # Events that cannot be asked, and streams that do not wait for them; no collectives at all.
        Odd(
            "cedar",
            lacks=frozenset(
                {
                    *("event.query", "stream.wait_event", "stream.create_with_priority", "stream.priority_range"),
                    "memory.free_host",
                }
            ),
            ccl=False,
        ),
    )
}
XPU = frozenset(
    {"device.synchronize", "event.query", "event.elapsed_time", "memory.set_async", "memory.info", "stream.query"}
)


@dataclass(frozen=True)
class Case:
    """A backend to build: `vendor` of a shape above or a shipped one; `lacks` is what its SDK does not have."""

    vendor: str
    version: str
    lacks: frozenset[str]
    ccl: str = ""


CASES = {
    **{name: Case(name, "", odd.lacks, f"test_{name}cl" if odd.ccl else "") for name, odd in SHAPES.items()},
    "xpu": Case("xpu", "", XPU, "test_bkcl"),
    "xpu-4": Case("xpu", "4.32", XPU | {"memory.copy_async", "ccl.average_op"}),
}
# Programs that one shape is enough for: ranks in several processes join without groups; the self-test does without events.
MORE = {"alder": ("test_aldercl_process",), "birch": ("selftest",)}
# Enough of the tests of collectives: one number of ranks, what must not hang, and the calls that fail.
FEW = "*/3:*AverageTest.*:*UniqueIdTest.*:*RefusalTest.ARankThat*:*FailureTest.A*:*FailureTest.S*"


@functools.cache
def built(name: str) -> Shape:
    """One of CASES, built with its tests; once in a process."""
    case = CASES[name]
    folders = [write(SHAPES[name], BUILD / "shapes" / "schemas" / name)] if name in SHAPES else []
    return build_shape(
        case.vendor, case.version, folders, [*filter(None, ("test_runtime", case.ccl)), *MORE.get(name, ())]
    )


def _each(*names: str) -> pytest.MarkDecorator:
    params = [pytest.param(name, marks=pytest.mark.xdist_group(f"shape-{name}"), id=name) for name in names]
    return pytest.mark.parametrize("name", params)


@_each(*CASES)
def test_what_is_lacking_has_a_strategy(name: str) -> None:
    assert built(name).strategies().keys() >= CASES[name].lacks


@_each(*CASES)
def test_the_runtime_works(name: str) -> None:
    """Twice, since many strategies are about waiting: as it comes, and with streams that are far behind the host."""
    shape = built(name)
    for settings in ({}, {"FL_SIM_DELAY_US": "400", "FL_SIM_SEED": "7"}):
        shape.check("test_runtime", **settings)


@_each(*(name for name, case in CASES.items() if case.ccl))
def test_collectives_work(name: str) -> None:
    built(name).check(CASES[name].ccl, f"--gtest_filter={FEW}", devices=8)


@pytest.mark.xdist_group("shape-alder")
def test_ranks_of_processes_join_without_groups() -> None:
    built("alder").check("test_aldercl_process", "--gtest_filter=*TwoProcesses*", devices=4)


@pytest.mark.xdist_group("shape-birch")
def test_the_self_test_does_without_what_is_lacking() -> None:
    finished = built("birch").run("selftest", devices=2)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    skipped = {check["name"] for check in json.loads(finished.stdout)["checks"] if check["result"] == "skip"}
    assert skipped >= {"event.pending", "event.milliseconds", "stream.priorities", "collectives.init_all"}


# --- what no run shows ------------------------------------------------------------------------------------------------


def _source(name: str, path: str) -> str:
    return (built(name).generated / path).read_text(encoding="utf-8")


@pytest.mark.xdist_group("shape-alder")
def test_the_odd_names_of_an_sdk_are_used_as_they_are() -> None:
    assert "using SdkStream = ALDER_QUEUE;" in _source("alder", "src/common/common_alder.h")
    guard = _source("alder", "src/runtime/alder_guard_impl.cc")
    assert "return elapsed * 0.001F; // to milliseconds" in guard
    assert "AlderInit()" in _source("alder", "src/runtime/alder_device.cc")
    assert "AlderCommJoin(&handle, rank, nranks, const_cast<AlderIdPtr>(id))" in _source(
        "alder", "src/ccl/aldercl_impl.cc"
    )


@pytest.mark.xdist_group("shape-xpu")
def test_files_of_strategies_stand_in_for_each_other() -> None:
    polls = {"xpu_release_thread.cc": False, "xpu_deferred_release.cc": True}
    for file, needs_a_query in polls.items():
        assert (built("xpu").generated / "src" / "runtime" / file).exists() is not needs_a_query
    assert (built("alder").generated / "src" / "runtime" / "alder_deferred_release.cc").exists()


# --- traps of XRE and BKCL --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "right", "wrong"),
    [
        # Streams and events are both void *.
        ("event.record", "xpu_event_record(event, stream)", "xpu_event_record(stream, event)"),
        ("stream.wait_event", "xpu_stream_wait_event(stream, event)", "xpu_stream_wait_event(event, stream)"),
        ("memory.copy_async", "size, kind, stream)", "size, stream, kind)"),
        ("ccl.comm_abort", "bkcl_comm_abort(comm)", "bkcl_comm_abort(&comm)"),
    ],
)
def test_arguments_that_are_swapped_are_refused(tmp_path: Path, operation: str, right: str, wrong: str) -> None:
    folder = tmp_path / "vendors" / "xpu"
    folder.mkdir(parents=True)
    shipped = ROOT / "schemas" / "vendors" / "xpu"
    text = (shipped / "vendor.yaml").read_text(encoding="utf-8")
    assert text.count(right) == 1
    (folder / "vendor.yaml").write_text(text.replace(right, wrong), encoding="utf-8")
    request = Request(vendor="xpu", sdk=("sim",), schema_dirs=(tmp_path,), cache=CACHE)
    choice = resolve_request(request).backend.choice(operation)
    assert not choice.bound
    (rejection,) = choice.rejected
    line = text[: text.index(right)].count("\n") + 1
    assert rejection.location.line == line
    assert rejection.diagnostics
