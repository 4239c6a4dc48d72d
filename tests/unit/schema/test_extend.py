"""`extends:` and `with:`: a vendor that takes a base's keys over, and everything that may be wrong with that."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from fl_gen.schema.api_spec import load_api_data
from fl_gen.schema.vendor_spec import load_vendor
from unit.schema.samples import API, API_BASE, API_EXTENDS, VENDOR, VENDOR_BASE, VENDOR_EXTENDS

Write = Callable[..., str]
Failure = Callable[..., str]
BASE, OWN = "bases/crt_like/vendor.yaml", "vendors/chip/vendor.yaml"
API_BASE_FILE, API_OWN = "bases/crt_like/api.yaml", "vendors/chip/api.yaml"


@pytest.fixture
def vendor(write: Write) -> Callable[..., str]:
    """Writes a base and a vendor, each with changes (old text, new text), and gives the vendor's path."""

    def writer(own: tuple[tuple[str, str], ...] = (), base: tuple[tuple[str, str], ...] = ()) -> str:
        write(changed(VENDOR_BASE, base), BASE)
        return write(changed(VENDOR_EXTENDS, own), OWN)

    return writer


@pytest.fixture
def api(write: Write) -> Callable[..., str]:
    """The same for api files."""

    def writer(own: tuple[tuple[str, str], ...] = (), base: tuple[tuple[str, str], ...] = ()) -> str:
        write(changed(API_BASE, base), API_BASE_FILE)
        return write(changed(API_EXTENDS, own), API_OWN)

    return writer


def changed(text: str, changes: tuple[tuple[str, str], ...]) -> str:
    for old, new in changes:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    return text


def lines(text: str) -> list[str]:
    """The located first lines of what the user reads, and the remedies."""
    return [line for line in text.splitlines() if line.startswith("  = ") or ".yaml:" in line]


def without_places(value: Any) -> str:
    import re

    return re.sub(r"Location\([^)]*\)", "", repr(value))


def test_a_vendor_with_a_base_is_the_vendor_that_says_it_all_itself(write: Write, vendor: Callable[..., str]) -> None:
    assert without_places(load_vendor(vendor())) == without_places(load_vendor(write(VENDOR)))


def test_an_api_with_a_base_is_the_api_that_says_it_all_itself(write: Write, api: Callable[..., str]) -> None:
    mine, theirs = load_api_data(api()), load_api_data(write(API))
    # One more section is the only difference: the item that the base does not have.
    first, second = mine["headers"][0]["sections"]
    assert (*first["items"], *second["items"]) == theirs["headers"][0]["sections"][0]["items"]
    assert len(first["items"]) == len(second["items"]) == 1
    assert {**mine, "headers": ()} == {**theirs, "headers": ()}


def test_places_are_where_the_text_was_written(vendor: Callable[..., str]) -> None:
    found = load_vendor(vendor())
    assert str(found.location) == f"{OWN}:1:1"
    assert str(found.title) == "Some Chip"
    (candidate,) = found.bindings["device.count"]
    code = candidate.code
    written = VENDOR_BASE.splitlines()
    for word, place in (
        ("crtResult_t", "${runtime}Result_t"),
        ("= crtCount", "= ${runtime}Count"),
        ("value)", "value)"),
    ):
        at = code.locate(code.value.index(word))
        assert at.file == BASE
        assert written[at.line - 1][at.column - 1 :].startswith(place)
        assert str(at.via) == f"{OWN}:2:10"
    # Every character, also behind two placeholders on one line and at the end.
    line = code.value.splitlines()[1]
    start = code.value.index(line)
    ends = [code.locate(start + index).column for index in range(len(line))]
    assert ends == sorted(ends)
    assert ends[-1] == len(written[code.locate(start).line - 1])
    assert str(found.bindings.location_of("memory.alloc_async")).startswith(f"{OWN}:")


def test_a_problem_in_the_text_of_a_base_names_who_extends_it(vendor: Callable[..., str], failure: Failure) -> None:
    path = vendor(base=(("text: ${runtime}ErrorText(status)", "text: ${runtime}ErrorText(code)"),))
    assert failure(load_vendor, path) == textwrap.dedent("""\
        bases/crt_like/vendor.yaml:24:11: 'text' must use the name status
           24 |     text: ${runtime}ErrorText(code)
              |           ^~~~~~~~~~~~~~~~~~~~~~~~~
          = as in: cnrtGetErrorStr(status)
        vendors/chip/vendor.yaml:2:10: note: the base is extended here
            2 | extends: crt_like
              |          ^""")


def test_null_removes_a_key(vendor: Callable[..., str]) -> None:
    path = vendor(own=(("bindings:\n", "bindings:\n  device.count: null\n"),))
    assert list(load_vendor(path).bindings) == ["memory.alloc_async"]


def test_null_for_a_key_that_is_needed(vendor: Callable[..., str], failure: Failure) -> None:
    path = vendor(own=(("title: Some Chip", "title: Some Chip\nautocast_dtype: null"),))
    assert failure(load_vendor, path) == textwrap.dedent("""\
        vendors/chip/vendor.yaml:1:1: a vendor file needs the key 'autocast_dtype'
            1 | schema: 1
              | ^
          = autocast_dtype: dtype of mixed precision when the user names none
        vendors/chip/vendor.yaml:6:17: note: this null removes it
            6 | autocast_dtype: null
              |                 ^""")
