"""What counts as a change of an SDK: pairs of small headers, one kind of change each."""

from __future__ import annotations

import pytest

from fl_gen.tasks.diff_sdk import compare
from fl_gen.tasks.diff_values import SdkChange
from unit.tasks.conftest import Dumped

Row = tuple[str, str, str, str | None, str | None]


def changes(
    dumped: Dumped, old: str, new: str, uses: dict[str, tuple[str, ...]] | None = None
) -> tuple[SdkChange, ...]:
    return compare(dumped(old), dumped(new), uses or {})


def rows(found: tuple[SdkChange, ...]) -> list[Row]:
    return [(one.change, one.kind, one.name, one.old, one.new) for one in found]


ENUM = "typedef enum {{ apiSuccess = 0, apiBusy = {} }} apiStatus_t;\n"
BASE = ENUM.format(5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int f(int a);", "int f(int device);"),
        ("int f(int a, const char *p, char **q);", "int f(const int a, const char *const p, char **const q);"),
        ("int f(int a);", "\n\n/* moved down */\nint f(int);"),
        ("#include <stddef.h>\nint f(unsigned long n);", "#include <stddef.h>\nint f(size_t n);"),
        ("typedef int apiRet;\nint f();", "typedef int apiRet;\napiRet f();"),
        ("struct S { int a; }; void f(struct S *s);", "struct S { int a; }; void f(S *s);"),
        ("#define A 16", "#define A 0x10"),
        ("#define A (1 << 4)", "#define A 16"),
        ("#define A f( x )", "#define A  f( x )"),
        ("#define GUARDED 1", "#ifndef API_H\n#define API_H\n#define GUARDED 1\n#endif"),
        ("typedef enum { A = 1 } K; void f(K k);", "typedef enum K_tag { A = 1 } K; void f(K k);"),
        ("typedef struct { int x; } P; void f(P *p);", "typedef struct P_st { int x; } P; void f(P *p);"),
        ("typedef struct old_st *Q; void f(Q q);", "typedef struct new_st *Q; void f(Q q);"),
        ("typedef int A; typedef A B;", "typedef int A; typedef int B;"),
        (
            "typedef enum K_t { A = 1 } K; void f(K k);",
            "typedef enum K_t { A = 1 } K; typedef K K2; void f(K2 k);\n#define K2 K2",
        ),
        ("int f(int); int f(double);", "int f(double); int f(int);"),
        ("#if 1\nint f();\n#endif", "int f();"),
    ],
)
def test_no_change(dumped: Dumped, old: str, new: str) -> None:
    assert [one for one in rows(changes(dumped, old, new)) if one[2] != "K2"] == []


@pytest.mark.parametrize(
    ("old", "new", "row"),
    [
        ("", "int f(int a);", ("appeared", "function", "f", None, "int f(int a)")),
        ("int f(int a);", "", ("vanished", "function", "f", "int f(int a)", None)),
        ("int f(void *p);", "int f(const void *p);", ("changed", "function", "f", "int f(void *p)", "int f(const void *p)")),
        ("int f(int a);", "long f(int a);", ("changed", "function", "f", "int f(int a)", "long f(int a)")),
        ("int f(int a, long b);", "int f(long b, int a);", ("changed", "function", "f", "int f(int a, long b)", "int f(long b, int a)")),
        ("int f(int a);", "int f(int a, ...);", ("changed", "function", "f", "int f(int a)", "int f(int a, ...)")),
        ("int f(int);", "int f(int); int f(double);", ("changed", "function", "f", "int f(int)", "int f(double)")),
        (ENUM.format(5), ENUM.format(6), ("changed", "enumerator", "apiBusy", "5 (apiStatus_t)", "6 (apiStatus_t)")),
        ("enum A { X = 1 }; enum B { Y };", "enum A { Z = 1 }; enum B { Y };", ("vanished", "enumerator", "X", "1 (A)", None)),
        ("enum { X = 1 };", "enum E { X = 1 };", ("changed", "enumerator", "X", "1", "1 (E)")),
        ("#define A 1", "#define A 2", ("changed", "macro", "A", "1", "2")),
        ("#define B 8\n#define A (B * 2)", "#define B 8\n#define A (B * 3)", ("changed", "macro", "A", "(B * 2) = 16", "(B * 3) = 24")),
        ('#define A "x"', '#define A "y"', ("changed", "macro", "A", '"x"', '"y"')),
        ("#define F(x) g(x)", "#define F(x) g(x, 0)", ("changed", "macro", "F", "(x) g(x)", "(x) g(x, 0)")),
        ("typedef int H;", "typedef void *H;", ("changed", "typedef", "H", "int", "void *")),
        ("typedef struct q *H;", "typedef void *H;", ("changed", "typedef", "H", "struct q *", "void *")),
        ("struct S { int a; };", "struct S { int a; int b; };", ("changed", "record", "S", "struct {int a}, 4 bytes", "struct {int a; int b}, 8 bytes")),
        ("struct S { int a; };", "struct S { float a; };", ("changed", "record", "S", "struct {int a}, 4 bytes", "struct {float a}, 4 bytes")),
        ("struct S;", "struct S { int a; };", ("changed", "record", "S", "struct, not completed", "struct {int a}, 4 bytes")),
        ("int f();", "__attribute__((deprecated)) int f();", ("deprecated", "function", "f", "int f()", "int f()")),
        ("enum E { A [[deprecated]] };", "enum E { A };", ("undeprecated", "enumerator", "A", "0 (E)", "0 (E)")),
    ],
)  # fmt: skip
def test_each_kind_of_change(dumped: Dumped, old: str, new: str, row: Row) -> None:
    found = [one for one in rows(changes(dumped, old, new)) if one[2] == row[2]]
    assert found == [row]


def test_another_handle_is_a_change_though_all_are_void_pointers(dumped: Dumped) -> None:
    """As in ACL, where streams, events and contexts all are `void *`."""
    handles = "typedef void *Stream; typedef void *Event;\n"
    (one,) = changes(dumped, f"{handles}int f(Stream s, Event *e);", f"{handles}int f(Stream s, Stream *e);")
    assert (one.change, one.name, one.note) == (
        "changed",
        "f",
        "Stream * where Event * was; both are void * to the compiler",
    )
    renamed = changes(
        dumped, f"{handles}int f(Stream s);", "typedef void *StreamV2; typedef void *Event;\nint f(StreamV2 s);"
    )
    assert "f" not in [one.name for one in renamed]
    plain = changes(dumped, f"{handles}int f(Stream s);", f"{handles}int f(void *s);")
    assert plain == ()


def test_a_typedef_that_changed_is_told_once_and_not_for_each_function(dumped: Dumped) -> None:
    functions = "int f(H h); int g(H *h); int k(int);"
    (one,) = changes(dumped, f"typedef int H; {functions}", f"typedef long H; {functions}")
    assert (one.change, one.kind, one.name, one.note) == ("changed", "typedef", "H", "in the signature of f, g")


def test_a_typedef_that_names_another_of_two_types_is_a_change(dumped: Dumped) -> None:
    types = "struct A { int a; }; struct B { int b; };"
    found = changes(dumped, f"{types} typedef struct A X; void f(X *x);", f"{types} typedef struct B X; void f(X *x);")
    assert [(one.change, one.kind, one.name, one.note) for one in found] == [
        ("changed", "typedef", "X", "in the signature of f")
    ]


def test_a_further_overload_says_that_the_others_are_as_they_were(dumped: Dumped) -> None:
    (one,) = changes(dumped, "int f(int);", "int f(int); int f(double); int f(char);")
    assert (one.change, one.note) == ("changed", "as before, with 2 further overloads")
    assert (one.old, one.new) == ("int f(int)", "int f(double); int f(char)")
    (one,) = changes(dumped, "int f(int); int f(double);", "int f(int); int f(char);")
    assert (one.old, one.new, one.note) == ("int f(double)", "int f(char)", None)


def test_a_declaration_that_another_header_has_now_is_moved(dumped: Dumped) -> None:
    old = dumped("int f();\n")
    new = dumped('#include "core.h"\n', core__h="\nint f();\n")
    (one,) = compare(old, new, {})
    assert (one.change, str(one.old_at.header), str(one.new_at.header)) == ("moved", "api.h", "core.h")  # type: ignore[union-attr]


def test_a_rename_by_macro_is_the_function_to_its_callers(dumped: Dumped) -> None:
    old = "int f(int);"
    same = changes(dumped, old, "#define f f_V2\nint f_V2(int);")
    assert [(one.change, one.name, one.note) for one in same] == [
        ("appeared", "f_V2", None),
        ("moved", "f", "a macro for f_V2"),
    ]
    other = changes(dumped, old, "#define f f_V2\nint f_V2(int, int);", {"f": ("memory.copy",)})
    assert [(one.change, one.name, one.new, one.note) for one in other] == [
        ("changed", "f", "int f_V2(int, int)", "a macro for f_V2"),
        ("appeared", "f_V2", "int f_V2(int, int)", None),
    ]
    wrapped = changes(dumped, old, "#define API(x) x\n#define f API(f_V2)\nint f_V2(int);")
    assert ("moved", "f") in [(one.change, one.name) for one in wrapped]
    call = changes(dumped, old, "int f_V2(int);\n#define f(a) f_V2(a)")
    assert ("moved", "f") in [(one.change, one.name) for one in call]


def test_a_macro_that_only_uses_a_function_is_no_rename(dumped: Dumped) -> None:
    text = "const char *s(int);\n#define CHECK(x) report(x, s(x)) + {}\n"
    assert rows(changes(dumped, text.replace("{}", "1"), text.replace("{}", "2"))) == [
        ("changed", "macro", "CHECK", "(x) report(x, s(x)) + 1", "(x) report(x, s(x)) + 2")
    ]


def test_a_macro_that_became_an_enumerator_is_one_change(dumped: Dumped) -> None:
    (one,) = changes(dumped, "#define A 7", "enum E { A = 7 };")
    assert (one.change, one.kind, one.note) == (
        "moved",
        "enumerator",
        "an enumerator now, a macro before; the same value",
    )
    (one,) = changes(dumped, "enum E { A = 7 };", "#define A 8")
    assert (one.change, one.old, one.new, one.note) == ("changed", "7 (E)", "8", "a macro now, an enumerator before")


def test_what_vanished_behind_a_condition_says_which(dumped: Dumped) -> None:
    hidden = "#define V 2\n#ifdef EXTRA\n# if V < 2 || OLD\nint f(int);\n# endif\n#endif\n"
    (one,) = [one for one in changes(dumped, "#define V 2\nint f(int);", hidden) if one.name == "f"]
    assert one.change == "vanished"
    assert one.note == "it is still there, but only under defined(EXTRA) && (V < 2 || OLD) (api.h:4)"
    (back,) = [one for one in changes(dumped, hidden, "#define V 2\nint f(int);") if one.name == "f"]
    assert (back.change, back.note) == (
        "appeared",
        "it was there, but only under defined(EXTRA) && (V < 2 || OLD) (api.h:4)",
    )


def test_what_changed_inside_a_record_is_told(dumped: Dumped) -> None:
    old = "struct S { int a; int b; int c; int d; };"
    new = "struct S { int b; int a; long c; int e; };"
    (one,) = changes(dumped, old, new)
    assert one.note == "new fields: e; gone fields: d; fields of another type: c (int -> long); fields in another order"
    (many,) = changes(
        dumped, "struct S { int a; };", f"struct S {{ int a; {' '.join(f'int x{n};' for n in range(9))} }};"
    )
    assert many.note == "new fields: x0, x1, x2, x3, x4 and 4 more"
    assert many.new == "struct of 10 fields, 40 bytes"


def test_what_is_used_comes_first_and_the_gravest_before_the_rest(dumped: Dumped) -> None:
    old = "int gone(); int other(); typedef struct P_st { int a; } P; int kept(int);"
    new = "int fresh(); typedef struct P_st { int a; int b; } P; int kept(long);"
    found = changes(dumped, old, new, {"kept": ("a.b",), "P_st": ("c.d",), "gone": ("e.f", "g.h")})
    assert [(one.change, one.name, one.used_by) for one in found] == [
        ("vanished", "gone", ("e.f", "g.h")),
        ("changed", "kept", ("a.b",)),
        ("changed", "P", ("c.d",)),
        ("vanished", "other", ()),
        ("appeared", "fresh", ()),
    ]
