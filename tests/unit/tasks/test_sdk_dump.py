"""`fl-gen sdk dump`: what is there, what is hidden, and that the document is the same everywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from fl_gen.report.dump_text import dump_json, dump_schema, dump_yaml
from fl_gen.schema.paths import data_dir
from fl_gen.tasks.codec import from_json, to_json
from fl_gen.tasks.dump_values import Place, SdkDump, When
from fl_gen.tasks.sdk_dump import dump_folder, dump_vendor
from fl_gen.workflow.request import Request
from unit.tasks.conftest import Dumped

SCHEMA = data_dir() / "schemas" / "jsonschema" / "sdk-dump.json"

API = """#ifndef API_H
#define API_H
#include "types.h"
#define API_VERSION 61400
#define API_MAJOR (API_VERSION / 10000)
#define API_NAME "api"
#define apiProps apiProps_V3
#define apiOld(p) apiProps_V3(p)
#define APIHELPER(x) x
#undef APIHELPER
#ifdef __cplusplus
extern "C" {
#endif
apiStatus_t apiProps_V3(struct apiProp *prop);
#if API_VERSION >= 60000
__attribute__((deprecated("use apiSet2"))) apiStatus_t apiSet(int device); // deprecated
# if API_VERSION >= 70000
apiStatus_t apiFuture(void *ptr,
                      size_t bytes);
# elif defined(API_EXTRA)
apiStatus_t apiExtra(void);
# else
apiStatus_t apiPresent(void);
# endif
#else
apiStatus_t apiSet(unsigned device);
#endif
int apiPrintf(const char *format, ...);
enum { apiAnonymous = 7 };
typedef enum apiKind { apiH2D = 0, apiD2H = 1,
#if API_VERSION >= 70000
  apiP2P = 2,
#endif
} apiKind_t;
#ifdef __cplusplus
}
template <typename T> T apiMax(T a, T b);
int apiOver(int);
int apiOver(double);
#endif
#endif
"""
TYPES = """#pragma once
#include <stddef.h>
typedef enum { apiSuccess = 0, apiBusy = 5 } apiStatus_t;
typedef struct apiQueue *apiQueue_t;
struct apiProp { char name[16]; union { int a; float b; } value; apiQueue_t queue; };
"""


def by_name(entries: tuple[Any, ...]) -> dict[str, Any]:
    return {one.name: one for one in entries}


@pytest.fixture
def dump(dumped: Dumped) -> SdkDump:
    return dumped(API, types__h=TYPES)


def test_functions_have_spelled_and_canonical_types(dump: SdkDump) -> None:
    functions = by_name(dump.functions)
    assert sorted(functions) == ["apiMax", "apiOver", "apiPresent", "apiPrintf", "apiProps_V3", "apiSet"]
    one = functions["apiProps_V3"]
    assert one.signature == "apiStatus_t apiProps_V3(struct apiProp *prop)"
    assert (one.params[0].name, one.params[0].type, one.params[0].canonical) == (
        "prop",
        "struct apiProp *",
        "apiProp *",
    )
    assert one.at == Place("api.h", 14)
    assert one.conditions == ()
    assert functions["apiPrintf"].variadic
    assert functions["apiMax"].template
    assert functions["apiMax"].conditions == (When("defined(__cplusplus)", 35),)
    assert [item.canonical for other in functions["apiOver"].overloads for item in other.params] == ["double"]


def test_deprecation_and_the_conditions_that_hold(dump: SdkDump) -> None:
    functions = by_name(dump.functions)
    assert functions["apiSet"].availability == "deprecated"
    assert functions["apiSet"].conditions == (When("API_VERSION >= 60000", 15),)
    assert functions["apiPresent"].conditions == (
        When("API_VERSION >= 60000", 15),
        When("!(API_VERSION >= 70000) && !defined(API_EXTRA)", 22),
    )


def test_what_another_configuration_would_declare_is_unavailable(dump: SdkDump) -> None:
    hidden = {(one.kind, one.name): one for one in dump.unavailable}
    assert sorted(hidden) == [
        ("enumerator", "apiP2P"),
        ("function", "apiExtra"),
        ("function", "apiFuture"),
        ("function", "apiSet"),
    ]
    future = hidden["function", "apiFuture"]
    assert future.text == "apiStatus_t apiFuture(void *ptr, size_t bytes)"
    assert [one.text for one in future.conditions] == ["API_VERSION >= 60000", "API_VERSION >= 70000"]
    assert future.declared is None
    other = hidden["function", "apiSet"]
    assert [one.text for one in other.conditions] == ["!(API_VERSION >= 60000)"]
    assert other.declared == Place("api.h", 16)


def test_enums_records_typedefs_and_macros(dump: SdkDump) -> None:
    enums = by_name(dump.enums)
    assert [(one.name, one.value) for one in enums["apiStatus_t"].values] == [("apiSuccess", 0), ("apiBusy", 5)]
    assert [one.name for one in enums["apiKind"].values] == ["apiH2D", "apiD2H"]
    assert [one.name for one in dump.anonymous_enums[0].values] == ["apiAnonymous"]
    record = by_name(dump.records)["apiProp"]
    assert record.size == 32
    assert [one.name for one in record.fields] == ["name", "value", "queue"]
    assert record.fields[1].canonical == "apiProp::(unnamed at types.h:5:33)"
    assert record.fields[2].canonical == "apiQueue *"
    assert by_name(dump.records)["apiQueue"].size is None
    assert by_name(dump.typedefs)["apiQueue_t"].canonical == "apiQueue *"
    macros = by_name(dump.macros)
    assert sorted(macros) == ["API_MAJOR", "API_NAME", "API_VERSION", "apiProps"]
    assert (macros["API_MAJOR"].value, macros["API_MAJOR"].text) == (6, "(API_VERSION / 10000)")
    assert (macros["API_NAME"].value, macros["API_NAME"].text) == (None, '"api"')


def test_macros_that_stand_for_functions_say_so(dump: SdkDump) -> None:
    assert by_name(dump.macros)["apiProps"].stands_for == ("apiProps_V3",)
    assert [(one.name, one.params, one.stands_for) for one in dump.function_macros] == [
        ("apiOld", ("p",), ("apiProps_V3",))
    ]


def test_a_header_that_is_only_included_under_a_condition_carries_it(dumped: Dumped) -> None:
    found = dumped(
        '#ifndef NO_EXTRA\n#include "extra.h"\n#endif\n#if 0\n#include "both.h"\n#endif\n#include "both.h"\n',
        extra__h='#pragma once\nint extra();\n#ifdef X\n#include "both.h"\n#endif\n',
        both__h="int both();\n",
    )
    functions = by_name(found.functions)
    assert functions["extra"].conditions == (When("!defined(NO_EXTRA)", 1),)
    assert functions["both"].conditions == ()
    assert by_name(found.headers)["extra.h"].conditions == (When("!defined(NO_EXTRA)", 1),)


def test_line_ends_and_bytes_that_are_no_text(dumped: Dumped, tmp_path: Path) -> None:
    plain = dumped(API, types__h=TYPES)
    windows = dumped(API.replace("\n", "\r\n"), types__h=TYPES.replace("\n", "\r\n"))
    strip = {"headers"}
    first, second = (
        {key: value for key, value in to_json(one).items() if key not in strip} for one in (plain, windows)
    )
    assert first == second
    (tmp_path / "latin.h").write_bytes(
        b"/* caf\xe9 */\n#if VERSION >= 2 // \xff\nint hidden();\n#endif\nint shown();\n"
    )
    found = dump_folder([str(tmp_path)], ["latin.h"])
    assert [one.name for one in found.functions] == ["shown"]
    assert [(one.name, one.conditions[0].text) for one in found.unavailable] == [("hidden", "VERSION >= 2")]


def test_the_document_is_valid_and_the_published_schema_is_its_own(dump: SdkDump) -> None:
    data = json.loads(dump_json(dump))
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(data, schema)
    jsonschema.validate(json.loads(dump_json(dump_vendor(Request("mlu", sdk=("sim",))))), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "surprise": 1}, schema)
    assert SCHEMA.read_text(encoding="utf-8") == dump_schema()
    assert from_json(SdkDump, data) == dump


def test_yaml_holds_the_same_values_as_json(dump: SdkDump) -> None:
    text = dump_yaml(dump)
    assert yaml.safe_load(text) == json.loads(dump_json(dump))
    assert "&id" not in text


def test_the_document_does_not_know_where_the_sdk_is(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "another place"):
        folder = tmp_path / name / "include"
        folder.mkdir(parents=True)
        (folder / "api.h").write_text(API)
        (folder / "types.h").write_text(TYPES)
        texts.append(dump_json(dump_folder([str(tmp_path / name)], ["api.h"])))
    assert texts[0] == texts[1]
    assert str(tmp_path) not in texts[0]


def test_the_bytes_do_not_depend_on_hash_seed_or_folder(tmp_path: Path) -> None:
    texts = set()
    for seed in ("0", "1"):
        folder = tmp_path / seed
        folder.mkdir()
        command = [sys.executable, "-m", "fl_gen", "sdk", "dump", "maca", "--sdk", "sim"]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(data_dir() / "codegen")}
        done = subprocess.run(command, capture_output=True, check=True, cwd=folder, env=environment)
        texts.add(done.stdout)
    assert len(texts) == 1


def test_every_function_of_a_simulated_sdk_is_there() -> None:
    """Counted by another way: the preprocessor's output, searched for names before a bracket."""
    from fl_gen.render.simapi import load_api
    from fl_gen.render.simheaders import render_headers

    path = data_dir() / "schemas" / "vendors" / "mlu" / "api.yaml"
    for version in ("4.3", "6.14"):
        texts = render_headers(load_api(path), version).values()
        code = re.sub(r"/\*.*?\*/", "", "\n".join(texts), flags=re.DOTALL)
        code = re.sub(r"^[ \t]*#(?:.*\\\n)*.*", "", code, flags=re.MULTILINE)
        declared = set(re.findall(r"^[\w\s*]*?\b(cn\w+)\s*\([^;{}]*\);", code, re.MULTILINE))
        found = dump_vendor(Request("mlu", sdk=(f"sim:{version}",)))
        # What is declared below `#define X X_V3` is X_V3 to the compiler.
        assert {one.name for one in found.functions} == declared - {one.name for one in found.macros if one.stands_for}
        assert found.sdk.simulated
        assert found.sdk.version is not None
        assert found.sdk.version.startswith(version)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a preprocessor to count with")
def test_functions_under_conditions_agree_with_another_preprocessor(tmp_path: Path) -> None:
    (tmp_path / "api.h").write_text(API)
    (tmp_path / "types.h").write_text(TYPES)
    result = subprocess.run(
        ["g++", "-E", "-P", "-x", "c++", str(tmp_path / "api.h")], capture_output=True, text=True, check=True
    )
    counted = set(re.findall(r"\b(api\w+)\([^;{}]*\);", result.stdout))
    assert {one.name for one in dump_folder([str(tmp_path)], ["api.h"]).functions} == counted
