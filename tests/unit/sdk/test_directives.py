"""The scan of a header's conditionals: nesting, chains, guards, continuations, comments, line ends."""

from __future__ import annotations

import pytest

from fl_gen.sdk.directives import Condition, read_conditionals


def texts(header: str, line: int) -> list[str]:
    return [one.text for one in read_conditionals(header).at(line)]


def test_a_chain_negates_the_branches_before() -> None:
    header = "#if A >= 2\nx\n#elif defined(B)\ny\n#elif C\nz\n#else\nw\n#endif\nv\n"
    assert texts(header, 2) == ["A >= 2"]
    assert texts(header, 4) == ["!(A >= 2) && defined(B)"]
    assert texts(header, 6) == ["!(A >= 2) && !defined(B) && C"]
    assert texts(header, 8) == ["!(A >= 2) && !defined(B) && !C"]
    assert texts(header, 10) == []


def test_nested_conditions_stand_outermost_first_with_the_lines_of_their_branches() -> None:
    header = "#ifdef A\n# ifndef B\nx\n# else\ny\n# endif\n#endif\n"
    assert read_conditionals(header).at(3) == (Condition("defined(A)", 1), Condition("!defined(B)", 2))
    assert read_conditionals(header).at(5) == (Condition("defined(A)", 1), Condition("defined(B)", 4))


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        ("#ifdef X", "defined(X)"),
        ("#ifndef X // why", "!defined(X)"),
        ("#if defined X", "defined(X)"),
        ("#if !defined ( X )", "!defined(X)"),
        ("#if ((A > 1))", "A > 1"),
        ("#if (A) && (B)", "(A) && (B)"),
        ("  #  if   A   ==   1  ", "A == 1"),
        ("#if A /* one */ && /* two */ B", "A && B"),
        ("#if __has_include(<x.h>)", "__has_include(<x.h>)"),
        ("#if VERSION >= '0'", "VERSION >= '0'"),
    ],
)
def test_how_a_condition_is_spelled(directive: str, text: str) -> None:
    assert texts(f"{directive}\nx\n#endif\n", 2) == [text]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_continuations_and_long_comments_keep_the_lines(end: str) -> None:
    rows = [
        "#if A && \\",
        "    B /* a",
        "comment */ && C",
        "x",
        "#endif",
        "int /* b",
        "c */ f();",
        "#ifdef D",
        "y",
        "#endif",
    ]
    header = end.join(rows) + end
    assert texts(header, 4) == ["A && B && C"]
    assert texts(header, 7) == []
    assert read_conditionals(header).at(9) == (Condition("defined(D)", 8),)


@pytest.mark.parametrize(
    "opening",
    ["#ifndef X_H\n#define X_H", "#if !defined(X_H)\n#define X_H", "#if !defined X_H\n\n/* c */\n  # define X_H 1"],
)
def test_include_guards_are_no_conditions(opening: str) -> None:
    header = f"/* licence */\n{opening}\nint f();\n#ifdef A\nint g();\n#endif\n#endif\n"
    found = read_conditionals(header)
    line = header[: header.index("int f")].count("\n") + 1
    assert found.at(line) == ()
    assert [one.text for one in found.at(line + 2)] == ["defined(A)"]
    assert found.guards == {"X_H"}


def test_a_default_for_a_macro_does_not_hide_behind_its_own_absence() -> None:
    header = "#ifndef API\n#define API extern\n#else\nx\n#endif\n"
    assert texts(header, 2) == []
    assert texts(header, 4) == ["defined(API)"]


def test_what_only_looks_like_a_directive_is_none() -> None:
    header = '/*\n#if A\n*/\nconst char *s = "\\\n#if B";\n// #if C \\\n#if D\nint f();\n'
    assert texts(header, 8) == []
    raw = 'auto s = R"x(\n#if A\n)" )x";\nint f();\n#if B\nint g();\n#endif\n'
    assert texts(raw, 4) == []
    assert texts(raw, 6) == ["B"]


def test_apostrophes_in_errors_and_numbers_open_no_literal() -> None:
    header = "#if A\n#error don't /* do\n#if B\n*/\n#endif\nlong n = 1'000'000; /*\n#if C */\nint f();\n"
    assert texts(header, 8) == []


@pytest.mark.parametrize(
    "header", ["", "#endif\n#else\n#elif A\nx", "#if", "#if A", "#ifdef\nx\n#endif", "\\\n", "/*", "#"]
)
def test_unbalanced_text_is_no_error(header: str) -> None:
    read_conditionals(header).at(1)
    read_conditionals(header).at(99)
