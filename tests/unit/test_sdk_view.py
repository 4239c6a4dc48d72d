"""What templates see of an SDK: bindings spelled so that they fit, and what an SDK is taken to have."""

from __future__ import annotations

import dataclasses
import functools

import pytest

from fl_gen.render.infinitrain import base_context, tree_files
from fl_gen.render.sdk_view import SdkView, operand
from fl_gen.resolve.model import Backend
from fl_gen.schema.paths import data_dir
from fl_gen.workflow.generate import resolve_request
from fl_gen.workflow.request import Request


@functools.cache
def backend(vendor: str) -> Backend:
    return resolve_request(Request(vendor=vendor, sdk=("sim",))).backend


def without(vendor: str, *operations: str) -> Backend:
    """The backend of an SDK that has all of `vendor`'s operations but these."""
    full = backend(vendor)
    lost = {name: dataclasses.replace(full.choice(name), candidate=None) for name in operations}
    return dataclasses.replace(full, choices={**full.choices, **lost})


def paths(made: Backend) -> set[str]:
    return {file.path for file in tree_files(made, (data_dir() / "templates" / "infinitrain",))}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("f(a, g(b))", "f(a, g(b))"),
        ("::ns::f(a)", "::ns::f(a)"),
        ("kValue", "kValue"),
        ("12", "12"),
        ("(f(a))", "(f(a))"),
        ("f(')')", "f(')')"),
        ('f(")") ', 'f(")") '),
        ("a ? b : c", "(a ? b : c)"),
        ("f(a), g(b)", "(f(a), g(b))"),
        ("f(a)(b)", "(f(a)(b))"),
        ("(a) + (b)", "((a) + (b))"),
        ("a | b", "(a | b)"),
        ("-a", "(-a)"),
        ("f(a)->b", "(f(a)->b)"),
    ],
)
def test_an_expression_may_stand_beside_any_operator(expression: str, expected: str) -> None:
    assert operand(expression) == expected


def test_a_text_of_several_operators_is_put_in_parentheses() -> None:
    text = SdkView(backend("xpu")).status("ccl").text("code")
    assert text.startswith("(code == BKCL_INVALID_ARGUMENT ? ")
    assert text.endswith(' : "unknown error")')


@pytest.mark.parametrize("lost", ["event.create", "event.destroy", "event.record", "event.synchronize"])
def test_without_one_of_four_an_sdk_has_no_events(lost: str) -> None:
    sdk = SdkView(without("maca", lost))
    assert not sdk.events
    for operation in (
        "event.create",
        "event.query",
        "event.elapsed_time",
        "event.create_with_flags",
        "stream.wait_event",
    ):
        assert not sdk.has(operation), operation
    assert sdk.has("stream.query")


def test_an_event_that_cannot_be_asked_is_one_all_the_same() -> None:
    sdk = SdkView(without("maca", "event.query", "event.elapsed_time", "stream.wait_event"))
    assert sdk.events
    assert sdk.has("event.record")


@pytest.mark.parametrize("lost", ["ccl.group_start", "ccl.group_end"])
def test_half_a_group_is_none(lost: str) -> None:
    assert SdkView(backend("maca")).ccl_groups
    assert not SdkView(without("maca", lost)).ccl_groups


def test_the_file_that_asks_events_and_the_one_that_waits_for_them() -> None:
    asks, waits = "src/runtime/maca_deferred_release.cc", "src/runtime/maca_release_thread.cc"
    assert paths(backend("maca")) & {asks, waits} == {asks}
    assert paths(without("maca", "event.query")) & {asks, waits} == {waits}
    # A query is of no use without events to ask.
    assert paths(without("maca", "event.create")) & {asks, waits} == {waits}


def test_the_function_that_a_message_begins_with() -> None:
    maca = SdkView(backend("maca"))
    assert maca.called("ccl.all_reduce") == "mcclAllReduce"
    assert maca.called("ccl.version") == ""  # statements
    assert maca.called("ccl.average_op") == ""  # a value
    assert SdkView(without("maca", "ccl.comm_init_all")).called("ccl.comm_init_all") == ""


def test_parameters_that_a_binding_has_no_place_for() -> None:
    assert SdkView(backend("maca")).uses("stream.wait_event", "flags")
    assert not SdkView(backend("xpu")).uses("stream.wait_event", "flags")
    (name,) = [a for a in SdkView(backend("xpu")).adapters("runtime") if a.operation == "device.name"]
    assert name.signature == "int DeviceName(char *name, size_t size, int device)"
    unused = dataclasses.replace(name, body="return 0;")
    assert unused.signature == "int DeviceName(char *, size_t, int)"


def test_types_whose_spelling_cannot_stand_behind_const_get_a_name() -> None:
    full = backend("maca")
    assert SdkView(full).aliases(False) == SdkView(full).aliases(True) == {}
    types = {**full.types, "stream": "struct queue *", "comm": "COMM"}
    odd = SdkView(dataclasses.replace(full, types=types, macro_types=frozenset({"comm"})))
    assert odd.aliases(False) == {"SdkStream": "struct queue *"}
    assert odd.aliases(True) == {"SdkComm": "COMM"}
    assert odd.type("stream") == "SdkStream"
    assert odd.spell("const $comm *") == "const SdkComm *"


def test_constants_of_a_kind_that_the_vendor_does_not_name() -> None:
    assert SdkView(backend("xpu")).constants("event_flags") == {}


def test_what_templates_see_is_this_view() -> None:
    assert isinstance(base_context(backend("maca"))["sdk"], SdkView)
