"""Declarations read as text, in every branch of a header."""

from __future__ import annotations

import time

import pytest

from fl_gen.sdk.directives import read_conditionals
from fl_gen.sdk.hidden import Written, written


def found(header: str) -> list[tuple[str, str, str]]:
    return [(one.kind, one.name, one.text) for one in written(read_conditionals(header))]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("int f(void);", "f"),
        ("extern API_ATTR int *CALL f(void *p, int (*cb)(int, void *), size_t n DV(0));", "f"),
        ("DEPRECATED(\"use g(); not { this\") extern const struct S *f(int a) __attribute__((deprecated(\"g(x)\")));", "f"),
        ("extern __device__ OLD(f) cudaError_t CALL f(void);", "f"),
        ("__attribute__((visibility(\"default\"))) int f();", "f"),
        ("static inline int f(int a) { return g(a, '{'); }", "f"),
        ("template <typename T, int N = (1 + 2)> inline T f(T *p, T q = {}) { return p[N]; }", "f"),
        ("unsigned int f(int a[3], ...) noexcept(true);", "f"),
        ("struct S f(struct S s) { struct S t = {0}; return t; }", "f"),
        ("std::size_t f(const std::string &s);", "f"),
    ],
)  # fmt: skip
def test_functions(text: str, name: str) -> None:
    functions = [one for one in found(text) if one[0] == "function"]
    assert [one[1] for one in functions] == [name]


def test_the_text_is_the_headers_own_on_one_line() -> None:
    header = "cnrtRet_t cnrtFoo(void  *ptr, /* bytes */ size_t\n    bytes);\n"
    assert found(header) == [("function", "cnrtFoo", "cnrtRet_t cnrtFoo(void *ptr, size_t bytes)")]


@pytest.mark.parametrize(
    "text",
    ["int x = f(1);", "extern int (*callback)(int);", "#define F(x) g(x)", "using std::move;", "static_assert(sizeof(int) == 4);",
     "struct S { int method(int); };", "int table[] = { f(1), g(2) };", "F(x)", "return f(x);", "S &operator=(const S &);"],
)  # fmt: skip
def test_what_declares_no_function(text: str) -> None:
    assert [one for one in found(text) if one[0] == "function"] == []


def test_types_enumerators_and_macros() -> None:
    header = """
typedef struct CNqueue *cnrtQueue_t;
typedef void (*cnrtHostFn_t)(void *data);
typedef enum cnrtKind { cnrtA = 1, cnrtB = (1 << 3), cnrtC = F(1, 2), /* last */ } cnrtKind_t;
struct cnrtProps { char name[8]; struct { int a; } in; };
using Handle = void *;
typedef char Id[128];
#define VERSION 61400
#define CALL(f, ...) REAL(f)
"""
    assert found(header) == [
        ("typedef", "cnrtQueue_t", "typedef struct CNqueue *cnrtQueue_t"),
        ("typedef", "cnrtHostFn_t", "typedef void (*cnrtHostFn_t)(void *data)"),
        ("enum", "cnrtKind", "typedef enum cnrtKind {...}"),
        ("enumerator", "cnrtA", "cnrtA = 1"),
        ("enumerator", "cnrtB", "cnrtB = (1 << 3)"),
        ("enumerator", "cnrtC", "cnrtC = F(1, 2)"),
        ("typedef", "cnrtKind_t", "typedef enum cnrtKind {...} cnrtKind_t"),
        ("record", "cnrtProps", "struct cnrtProps {...}"),
        ("typedef", "Handle", "using Handle = void *"),
        ("typedef", "Id", "typedef char Id[128]"),
        ("macro", "VERSION", "61400"),
        ("function_macro", "CALL", "REAL(f)"),
    ]
    assert written(read_conditionals(header))[-1] == Written("function_macro", "CALL", "REAL(f)", 9, ("f", "..."))


def test_every_branch_is_read_and_braces_of_the_first_one_count() -> None:
    header = """
#ifdef __cplusplus
extern "C" {
#endif
#if A
int f(int);
#else
long f(long);
enum E { X,
# if B
  Y,
# endif
  Z };
#endif
#if 0
} } don't parse this (
int never();
#endif
int g(void);
#ifdef __cplusplus
}
#endif
int h(void);
"""
    names = [name for kind, name, _ in found(header) if kind in ("function", "enumerator")]
    assert names == ["f", "f", "X", "Y", "Z", "g", "h"]


@pytest.mark.parametrize(
    "text", ["}" * 50, "{" * 5000, "(" * 5000, "int f(", "enum {", "template <", "a b " * 20000, "'\"(", "int f(int a"]
)
def test_text_that_is_no_c_is_no_error(text: str) -> None:
    found(text)


@pytest.mark.parametrize(
    "text", ["enum E { A = " + "1 + " * 50_000, "x {} " * 25_000, "f(" * 25_000, "enum { a(" + ", b" * 50_000]
)
def test_much_of_it_takes_no_long_time(text: str) -> None:
    """Quadratic work would take minutes."""
    started = time.process_time()
    found(text)
    assert time.process_time() - started < 5
