"""Types, helpers, alternatives and deprecation: what is chosen, and with which types things are judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fl_gen.sdk.items import ProbeItem, ProbeReport
from fl_gen.sdk.probe import probe
from fl_gen.sdk.shims import minimal

Item = Callable[..., ProbeItem]
Ask = Callable[..., ProbeReport]
ALLOC = (("void **", "ptr"), ("size_t", "size"), ("$stream", "stream"))


def test_types_come_before_the_operations_that_use_them(item: Item, ask: Ask) -> None:
    report = ask(
        item("alloc", "cnrtMemAllocAsync(ptr, size, stream)", params=ALLOC),
        item("old", "cnrtStream_t", "type", group="type:stream", provides="stream"),
        item("new", "cnrtQueue_t", "type", group="type:stream", provides="stream"),
    )
    assert report.types == {"stream": "cnrtQueue_t"}
    assert report.chosen == {"alloc": "alloc", "type:stream": "new"}
    assert not report.verdicts["old"].ok
    assert report.parses == 2


def test_type_named_in_a_header_but_not_declared_is_not_believed(item: Item, sdk: Path) -> None:
    """The first guess goes by the headers' text; the verdict does not."""
    header = sdk / "cnrt.h"
    header.write_text("/* cnrtStream_t was the name of old */\n" + header.read_text())
    items = [
        item("old", "cnrtStream_t", "type", group="stream", provides="stream"),
        item("new", "cnrtQueue_t", "type", group="stream", provides="stream"),
        item("sync", "cnrtQueueSync(stream)", params=[("$stream", "stream")]),
        item("cast", "cnrtQueueSync(static_cast<$stream>(p))", params=[("void *", "p")]),
    ]
    report = probe(items, ["cnrt.h"], [sdk], minimal())
    assert report.types == {"stream": "cnrtQueue_t"}
    assert report.verdicts["sync"].ok
    assert report.verdicts["cast"].ok


def test_operation_on_a_type_that_the_sdk_lacks(item: Item, ask: Ask) -> None:
    report = ask(
        item("graph", "cnrtGraph_t", "type", provides="graph"),
        item("launch", "cnrtGraphLaunch(graph)", params=[("$graph", "graph")]),
        item("sync", "cnrtSyncDevice()"),
    )
    assert report.types == {}
    assert report.verdicts["launch"].diagnostics[0].message == "this SDK has no type for $graph"
    assert report.verdicts["sync"].ok


def test_offset_behind_a_portable_type_in_code(item: Item, ask: Ask) -> None:
    report = ask(
        item("stream", "cnrtQueue_t", "type", provides="stream"),
        item("é", '$stream q = nullptr;\nconst char *s = "é→"; return cnrtNope(q, s);', "body", line=7),
    )
    location = report.verdicts["é"].diagnostics[0].location
    assert (location.line, location.column) == (8, len('const char *s = "é→"; return ') + 1)


def test_undefined_portable_type_is_told(item: Item, ask: Ask) -> None:
    report = ask(item("x", "f($nothing)", params=[("$stream", "s")]))
    said = [d.message for d in report.verdicts["x"].diagnostics]
    assert said == ["there is no portable type $nothing", "there is no portable type $stream"]


def test_deprecated_ranks_after_the_others(item: Item, sdk: Path) -> None:
    header = sdk / "cnrt.h"
    declaration = "extern cnrtRet_t cnrtSyncDevice(void);"
    replacement = (
        '__attribute__((deprecated("use cnrtSyncDevice2"))) extern cnrtRet_t cnrtSyncDevice(void);\n'
        "extern cnrtRet_t cnrtSyncDevice2(void);"
    )
    assert declaration in header.read_text()
    header.write_text(header.read_text().replace(declaration, replacement))
    first = item("first", "cnrtSyncDevice()", group="sync")
    second = item("second", "cnrtSyncDevice2()", group="sync")
    report = probe([first, second], ["cnrt.h"], [sdk], minimal())
    assert report.verdicts["first"].ok
    assert report.verdicts["first"].deprecated == "'cnrtSyncDevice' is deprecated: use cnrtSyncDevice2"
    assert report.verdicts["second"].deprecated is None
    assert report.chosen["sync"] == "second"
    alone = probe([first], ["cnrt.h"], [sdk], minimal())
    assert alone.chosen["sync"] == "first"
    assert alone.verdicts["first"].deprecated is not None


def test_first_valid_alternative_wins(item: Item, ask: Ask) -> None:
    report = ask(
        item("a", "cnrtMallocAsync(ptr, size, nullptr)", params=ALLOC[:2], group="alloc"),
        item("b", "cnrtMemAllocAsync(ptr, size, nullptr)", params=ALLOC[:2], group="alloc"),
        item("c", "cnrtMalloc(ptr, size)", params=ALLOC[:2], group="alloc"),
    )
    assert report.chosen == {"alloc": "b"}
    assert report.verdicts["c"].ok
    assert report.verdicts["a"].diagnostics[0].hint is None  # another was found: nothing to suggest


HELPER = """\
// Counts devices.
inline cnrtRet_t CountDevices(int *count) {
    unsigned int value = 0;
    const cnrtRet_t result = cnrtGetDeviceCount(&value);
    *count = static_cast<int>(value);
    return result;
}"""


def test_helper_is_checked_and_used(item: Item, ask: Ask) -> None:
    report = ask(
        item("count", "CountDevices(count)", params=[("int *", "count")], helpers=["helper"]),
        item("helper", HELPER, "helper"),
    )
    assert report.verdicts["helper"].ok
    assert report.verdicts["count"].ok


def test_a_helper_must_be_named_by_those_that_use_it(item: Item, ask: Ask) -> None:
    """In the probe it would be there because of another item; in the generated code it may not be."""
    report = ask(
        item("helper", HELPER, "helper"),
        item("named", "CountDevices(count)", params=[("int *", "count")], helpers=["helper"]),
        item("not named", "CountDevices(count)", params=[("int *", "count")]),
        item("param", "CountDevices", returns="int", params=[("int", "CountDevices")]),
    )
    diagnostic = report.verdicts["not named"].diagnostics[0]
    assert diagnostic.message == "CountDevices is of helper helper, which this does not name"
    assert [id_ for id_, verdict in report.verdicts.items() if verdict.ok] == ["helper", "named", "param"]


def test_bad_helper_is_told_at_its_place_and_spoils_its_users(item: Item, ask: Ask) -> None:
    report = ask(
        item("helper", HELPER.replace("cnrtGetDeviceCount(&value)", "cnrtGetDeviceCount(count)"), "helper", line=20),
        item("count", "CountDevices(count)", params=[("int *", "count")], helpers=["helper"]),
        item("other", "cnrtSyncDevice()"),
    )
    helper = report.verdicts["helper"].diagnostics[0]
    assert (helper.location.line, helper.location.column) == (
        23,
        len("    const cnrtRet_t result = cnrtGetDeviceCount(") + 1,
    )
    assert "helper helper is not valid: clang: no matching function" in report.verdicts["count"].diagnostics[0].message
    assert report.verdicts["other"].ok


def test_helper_through_a_helper(item: Item, ask: Ask) -> None:
    report = ask(
        item("inner", "inline int Inner() { return cnrtNothing(); }", "helper"),
        item("outer", "inline int Outer() { return Inner(); }", "helper", helpers=["inner"]),
        item("use", "Outer()", returns="int", helpers=["outer"]),
    )
    assert [id_ for id_, verdict in report.verdicts.items() if verdict.ok] == []


def test_unknown_helper(item: Item, ask: Ask) -> None:
    report = ask(item("use", "cnrtSyncDevice()", helpers=["nowhere"]))
    assert report.verdicts["use"].diagnostics[0].message == "there is no helper nowhere"


def test_one_id_twice_is_a_fault_of_the_caller(item: Item, ask: Ask) -> None:
    with pytest.raises(ValueError, match="one id"):
        ask(item("x", "cnrtSyncDevice()"), item("x", "cnrtSyncDevice()"))


def test_no_items_at_all(ask: Ask) -> None:
    report = ask()
    assert report.verdicts == {}
    assert {header.name for header in report.headers_read if header.sdk} == {"cnrt.h", "cnnl.h", "cncl.h"}
