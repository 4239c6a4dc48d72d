"""The shipped api files and a parser for the headers that are made from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from clang import cindex

from fl_gen.render.simapi import Api, load_api
from fl_gen.render.simheaders import render_headers
from fl_gen.schema.paths import data_dir
from fl_gen.sdk.shims import minimal

HERE = Path(__file__).parent
VENDORS = tuple(sorted(path.parent.name for path in (data_dir() / "schemas" / "vendors").glob("*/api.yaml")))


def api_of(vendor: str) -> Api:
    return load_api(data_dir() / "schemas" / "vendors" / vendor / "api.yaml")


@dataclass(frozen=True)
class Parsed:
    """A translation unit that includes every header of one version."""

    diagnostics: tuple[str, ...]
    functions: dict[str, str]  # name -> "result name(types)"
    enumerators: dict[str, int]
    typedefs: dict[str, str]  # name -> canonical type


def parse(vendor: str, version: str, language: str, code: str = "") -> Parsed:
    """`code` after all headers of `version`, as "c" or "c++"."""
    headers = render_headers(api_of(vendor), version)
    shims = minimal()
    main = "/sim/main.c" if language == "c" else "/sim/main.cc"
    text = "".join(f"#include <{path}>\n" for path in headers) + code + "\n"
    files = [(main, text), *((f"/sim/include/{p}", t) for p, t in headers.items()), *shims.files.items()]
    arguments = ["-x", language, "-std=c11" if language == "c" else "-std=c++20", "-nostdinc", "-I/sim/include"]
    arguments += [f"-isystem{folder}" for folder in shims.dirs]
    arguments += ["-Wall", "-Wextra", "-Wpedantic", "-ferror-limit=0"]
    unit = cindex.Index.create().parse(main, args=arguments, unsaved_files=files)
    functions, enumerators, typedefs = {}, {}, {}
    for cursor in unit.cursor.walk_preorder():
        if cursor.kind == cindex.CursorKind.FUNCTION_DECL:
            types = ", ".join(argument.type.spelling for argument in cursor.get_arguments())
            functions.setdefault(cursor.spelling, f"{cursor.result_type.spelling} {cursor.spelling}({types})")
        elif cursor.kind == cindex.CursorKind.ENUM_CONSTANT_DECL:
            enumerators[cursor.spelling] = cursor.enum_value
        elif cursor.kind == cindex.CursorKind.TYPEDEF_DECL:
            typedefs[cursor.spelling] = cursor.underlying_typedef_type.get_canonical().spelling
    diagnostics = tuple(f"{d.location.file}:{d.location.line}: {d.spelling}" for d in unit.diagnostics)
    return Parsed(diagnostics, functions, enumerators, typedefs)


@pytest.fixture(scope="session", params=VENDORS)
def api(request: pytest.FixtureRequest) -> Api:
    return api_of(request.param)
