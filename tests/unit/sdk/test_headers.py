"""The SDK model: what headers declare, each thing once, with canonical types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fl_gen.sdk import clang, tree
from fl_gen.sdk.headers import Reader, macro_value, read_sdk
from fl_gen.sdk.items import SdkHeaderError
from fl_gen.sdk.model import Sdk
from fl_gen.sdk.shims import minimal

EXTRA = """\
#ifdef __cplusplus
extern "C" {
#endif
enum { EXTRA_A = 3, EXTRA_B };
typedef enum ExtraTag { EXTRA_C = 1 } ExtraAlias_t;
enum ExtraTag;
typedef struct { int x; struct { int y; } inner; union { int a; float b; }; } ExtraRecord_t;
typedef void (*ExtraCallback_t)(void *user, int status);
struct ExtraOpaque;
int extraPrint(const char *format, ...);
int extraOld(void) __attribute__((deprecated("use extraNew")));
int extraGone(void) __attribute__((unavailable));
int extraCall(ExtraCallback_t fn, void (*raw)(int), const int list[4]);
#define EXTRA_FLAG (1u << 3)
#define EXTRA_BIG 0x8000000000000000ULL
#define EXTRA_NEGATIVE (-7)
#define EXTRA_FROM_ENUM EXTRA_B
#define EXTRA_TEXT "text"
#define EXTRA_FLOAT 1.5
#define EXTRA_CAST ((void *)0)
#define EXTRA_EMPTY
#define EXTRA_BRACE {
#define EXTRA_CALL(x) (x)
#define EXTRA_SIZE sizeof(ExtraTag)
#define EXTRA_LATE EXTRA_LATER
#define EXTRA_LATER 11
#ifdef __cplusplus
}
namespace extra { inline int inside(int v) { return v; } template <typename T> T any(T v) { return v; } }
#endif
"""


@pytest.fixture
def model(sdk: Path) -> Sdk:
    (sdk / "extra.h").write_text(EXTRA)
    return read_sdk(["cnrt.h", "extra.h", "mcr/mc_runtime.h"], [sdk], minimal())


def test_functions(model: Sdk) -> None:
    function = model.functions["cnrtMemcpyAsync"]
    assert function.signature == (
        "cnrtRet_t cnrtMemcpyAsync(void *dst, void *src, size_t bytes, cnrtQueue_t queue, cnrtMemTransDir_t dir)"
    )
    assert function.canonical == (
        "cnrtRet_t", "void *", "void *", "unsigned long", "CNqueue_st *", "cnrtMemTransDir_t",
    )  # fmt: skip
    assert str(function.at).startswith("cnrt.h:")
    assert function.availability == "available"
    assert model.functions["extraPrint"].variadic
    assert model.functions["extraPrint"].signature == "int extraPrint(const char *format, ...)"
    assert model.functions["extraOld"].availability == "deprecated"
    assert model.functions["extraGone"].availability == "unavailable"
    assert model.functions["inside"].canonical == ("int", "int")
    assert model.functions["any"].template
    assert "raw" in model.functions["extraCall"].signature
    assert not any(name.startswith("__") or name in ("memcpy", "malloc") for name in model.functions)


def test_overloads_are_one_function(model: Sdk) -> None:
    malloc = model.functions["mcMalloc"]
    assert not malloc.template
    assert [other.template for other in malloc.overloads] == [True]


def test_enums_once_and_anonymous_ones_known_as_such(model: Sdk) -> None:
    """A typedef'd enum is met twice in a walk; an anonymous enum's spelling is a sentence with a place in it."""
    direction = model.enums["cnrtMemTransDir_t"]
    assert [(v.name, v.value) for v in direction.values][:3] == [
        ("cnrtMemcpyHostToDev", 0),
        ("cnrtMemcpyDevToDev", 1),
        ("cnrtMemcpyDevToHost", 2),
    ]
    assert len(direction.values) == 6
    assert model.enums["ExtraTag"].values[0].name == "EXTRA_C"
    assert model.typedefs["ExtraAlias_t"].canonical == "ExtraTag"
    assert [[v.name for v in enum.values] for enum in model.anonymous_enums] == [["EXTRA_A", "EXTRA_B"]]
    assert all(" " not in name for name in model.enums)
    assert model.enumerators["EXTRA_B"].value == 4
    assert len(model.enumerators) == len({(v.name, v.at) for v in model.enumerators.values()})


def test_records_and_typedefs(model: Sdk) -> None:
    prop = model.records["cnrtDeviceProp_t"]
    assert (prop.kind, prop.size) == ("struct", 272)
    assert (prop.fields[0].name, prop.fields[0].canonical) == ("name", "char[256]")
    assert model.records["ExtraOpaque"].size is None
    assert model.typedefs["cnrtQueue_t"].canonical == "CNqueue_st *"
    assert model.typedefs["ExtraCallback_t"].canonical == "void (*)(void *, int)"


def test_macros_have_values_where_they_are_integers(model: Sdk) -> None:
    values = {name: macro.value for name, macro in model.macros.items() if name.startswith(("EXTRA", "CNRT_VER"))}
    assert values == {
        "CNRT_VERSION": 61401,
        "EXTRA_FLAG": 8,
        "EXTRA_BIG": 1 << 63,
        "EXTRA_NEGATIVE": -7,
        "EXTRA_FROM_ENUM": 4,
        "EXTRA_TEXT": None,
        "EXTRA_FLOAT": None,
        "EXTRA_CAST": None,
        "EXTRA_EMPTY": None,
        "EXTRA_BRACE": None,
        "EXTRA_SIZE": 4,
        "EXTRA_LATE": 11,
        "EXTRA_LATER": 11,
    }
    assert model.macros["cnrtGetDeviceProperties"].text == "cnrtGetDeviceProperties_V3"


def test_macro_value_alone(sdk: Path) -> None:
    assert macro_value("CNRT_VERSION", ["cnrt.h"], [sdk]) == 61401
    assert macro_value("CNRT_NOWHERE", ["cnrt.h"], [sdk]) is None
    assert macro_value("CNRT_VERSION", ["absent.h"], [sdk]) is None


def test_broken_header_is_no_model(sdk: Path) -> None:
    (sdk / "cnrt.h").write_text("typedef foo bar;\n")
    with pytest.raises(SdkHeaderError, match="unknown type name 'foo'"):
        read_sdk(["cnrt.h"], [sdk], minimal())


def test_unknown_cursor_kinds_do_not_raise(sdk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer libclang has kinds that the Python package does not know: asking for the kind itself raises there."""
    cindex: Any = clang.load()
    cursor_kind, type_kind = cindex.Cursor.kind.fget, cindex.Type.kind.fget
    unknown_cursors = {tree.LINKAGE, tree.NAMESPACE_KIND, tree.CALL, tree.COMPOUND, tree.UNEXPOSED_EXPRESSION}
    met = []

    def cursor(self: Any) -> Any:
        if self._kind_id in unknown_cursors:
            met.append(self)
            raise ValueError(f"Unknown template argument kind {self._kind_id}")
        return cursor_kind(self)

    def type_(self: Any) -> Any:
        if self._kind_id in (0, 119):  # invalid, elaborated
            met.append(self)
            raise ValueError(f"Unknown type kind {self._kind_id}")
        return type_kind(self)

    monkeypatch.setattr(cindex.Cursor, "kind", property(cursor))
    monkeypatch.setattr(cindex.Type, "kind", property(type_))
    assert "cnrtMalloc" in read_sdk(["cnrt.h"], [sdk], minimal()).functions
    from fl_gen.schema.location import Location
    from fl_gen.sdk.items import ProbeItem
    from fl_gen.sdk.probe import probe

    item = ProbeItem(
        "x", "aclError", (("aclrtStream", "s"),), "aclrtFree(s)", "expr", (), Location("v"), lambda _: Location("v"),
        strict_typedefs=True,
    )  # fmt: skip
    assert not probe([item], ["acl/acl_rt.h"], [sdk], minimal()).verdicts["x"].ok
    assert met == []


def test_a_declaration_of_an_unknown_kind_is_passed_over() -> None:
    class Strange:
        _kind_id = 9999
        spelling = "strange"

    assert tree.kind(Strange()) == 9999
    reader = Reader(lambda _: "x.h")
    for cursor in tree.declarations([Strange()]):
        reader.take(cursor)
    assert reader.functions == {}
