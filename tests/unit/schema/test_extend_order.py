"""Where the sections of an api file that extends a base come, and folders as parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fl_gen.schema.api_spec import load_api_data
from unit.schema.samples import API_BASE, API_EXTENDS

BASE, OWN = "bases/crt_like/api.yaml", "vendors/chip/api.yaml"
CALLS = """\
      - title: Calls
        source: a header
        certainty: certain
        items:
          - {function: "${runtime}Result_t ${runtime}Stop(void)", sim: "Stop()"}
"""
TYPES = "items:\n          - {function: crtResult_t crtCount(int *count), sim: DeviceCount(count), nonnull: [count]}"


def titles(data: Any) -> list[tuple[str, str]]:
    """The sections of the first header with what their first item declares."""
    return [
        (section["title"], str(next(iter(section["items"][0].values())))) for section in data["headers"][0]["sections"]
    ]


def test_a_section_stands_behind_the_one_of_its_title(write: Callable[..., str]) -> None:
    write(API_BASE + CALLS, BASE)
    assert titles(load_api_data(write(API_EXTENDS, OWN))) == [
        ("Devices", "crtResult_t"),
        ("Devices", "crtResult_t crtCount(int *count)"),
        ("Calls", "crtResult_t crtStop(void)"),
    ]


def test_a_section_of_another_title_comes_last(write: Callable[..., str]) -> None:
    write(API_BASE + CALLS, BASE)
    own = API_EXTENDS.replace("title: Devices", "title: Mine")
    assert [title for title, _ in titles(load_api_data(write(own, OWN)))] == ["Devices", "Calls", "Mine"]


def test_types_that_are_all_dropped_are_replaced_where_they_stood(write: Callable[..., str]) -> None:
    write(API_BASE + CALLS, BASE)
    own = API_EXTENDS.replace("without: [crtOld,", "without: [crtResult_t, crtOld,").replace(
        TYPES, "items: [{enum: crtResult_t, enumerators: {crtSuccess: 7}}]"
    )
    assert own.count("crtSuccess: 7") == 1
    data = load_api_data(write(own, OWN))
    assert titles(data) == [("Devices", "crtResult_t"), ("Calls", "crtResult_t crtStop(void)")]
    assert data["headers"][0]["sections"][0]["items"][0]["enumerators"] == {"crtSuccess": 7}


def test_a_header_that_gets_nothing_loses_its_empty_section(write: Callable[..., str]) -> None:
    write(API_BASE + CALLS, BASE)
    own = API_EXTENDS[: API_EXTENDS.index("headers:")].replace("[crtOld,", "[crtResult_t, crtOld,")
    assert titles(load_api_data(write(own, OWN))) == [("Calls", "crtResult_t crtStop(void)")]


def with_folder(value: str | None, default: str = ', default: ""') -> tuple[str, str]:
    base = API_BASE.replace(
        "  runtime: {doc: prefix of the runtime}\n",
        f"  runtime: {{doc: prefix of the runtime}}\n  folder: {{doc: folder of the headers, folder: true{default}}}\n",
    ).replace("${runtime}.h", "${folder}${runtime}.h")
    own = API_EXTENDS.replace("path: crt.h", f"path: {value or ''}crt.h")
    return base, own if value is None else own.replace("{runtime: crt}", f"{{runtime: crt, folder: {value!r}}}")


@pytest.mark.parametrize(("value", "path"), [(None, "crt.h"), ("crt/", "crt/crt.h"), ("a/b_1/", "a/b_1/crt.h")])
def test_a_folder_stands_before_a_header(write: Callable[..., str], value: str | None, path: str) -> None:
    base, own = with_folder(value)
    write(base, BASE)
    (header,) = load_api_data(write(own, OWN))["headers"]
    assert header["path"] == path


@pytest.mark.parametrize("value", ["crt", "/", "/usr/", "../", "a//", "a b/", "${x}/"])
def test_what_is_no_folder_is_refused(write: Callable[..., str], failure: Callable[..., str], value: str) -> None:
    base, own = with_folder(value)
    write(base, BASE)
    text = failure(load_api_data, write(own.replace(f"path: {value}crt.h", "path: crt.h"), OWN))
    assert text.startswith(f"{OWN}:3:30: the parameter 'folder' must be a folder, not '{value}'\n")
    assert text.endswith("  = names with / behind each, as in: hip/")


def test_a_folder_is_no_choice(write: Callable[..., str], failure: Callable[..., str]) -> None:
    base, own = with_folder(None, ", choices: [a, b]")
    write(base, BASE)
    assert "a folder is neither text nor one of several choices" in failure(load_api_data, write(own, OWN))
