"""Candidates read alone: whatever could reach beyond its own function is refused."""

from __future__ import annotations

import pytest

from fl_gen.sdk import lex
from fl_gen.sdk.items import Form

REFUSED: list[tuple[str, str, Form, str, int]] = [
    ("closes the function", "f(); } void g() {", "body", "'}' closes nothing", 5),
    ("opens and never closes", "if (x) { f();", "body", "'{' is never closed", 7),
    ("wrong order", "f([)]", "expr", "')' does not close the '[' before it", 3),
    ("parenthesis left open", "f(x", "expr", "'(' is never closed", 1),
    ("line comment", "f(x) // tail", "expr", "comment", 5),
    ("block comment", "f(/* x */ y)", "expr", "comment", 2),
    ("comment left open", "f(); /* swallow", "body", "comment", 5),
    ("directive", "f();\n#define g h\n", "body", "preprocessor directive", 5),
    ("line directive", '#line 1 "other.h"\nf();', "body", "preprocessor directive", 0),
    ("directive by operator", '_Pragma("clang diagnostic ignored \\"-Wconversion\\"") f();', "body", "preprocessor", 0),
    ("string left open", 'f("abc', "expr", "literal", 2),
    ("string over a line", 'f("abc\ndef")', "expr", "literal", 2),
    ("character left open", "f('a", "expr", "literal", 2),
    ("raw string", 'f(R"(x)")', "expr", "raw string", 2),
    ("raw string with prefix", 'f(u8R"x(y)x")', "expr", "raw string", 2),
    ("line continued", "f(\\\nx)", "expr", "backslash", 2),
    ("digraph for a brace", "f(); %> void g() <%", "body", "digraphs", 5),
    ("digraph for a directive", "%:define x y", "body", "digraphs", 0),
    ("trigraph", "f(); ??> void g() ??<", "body", "trigraphs", 5),
    ("two statements", "f(); g()", "expr", "one expression", 3),
    ("two expressions", "f(), g()", "expr", "makes two of it", 3),
    ("two types", "int; using y = int", "type", "one type", 3),
    ("two values", "a, b", "constant", "makes two of it", 1),
    ("assembler", 'asm("hlt")', "expr", "assembler", 0),
    ("own declaration", "extern int g(); return g();", "body", "should declare", 0),
    ("our names", "fl_probe_3(x)", "expr", "taken", 0),
    ("nothing", " \n", "expr", "no C++", 0),
    ("not C++", "f(“x”)", "expr", "not part of C++", 2),
    ("escape outside a literal", "f\\u0041()", "expr", "not part of C++", 1),
    ("null", "f(\0)", "expr", "not part of C++", 2),
    ("carriage return", "f(x)\r\n", "expr", "LF line ends", 4),
    ("hidden direction in a literal", 'f("\u202e")', "expr", "printable", 2),
    ("dollar alone", "f($ x)", "expr", "portable type", 2),
    ("too deep", "(" * 65 + ")" * 65, "expr", "inside each other", 64),
]


@pytest.mark.parametrize(("code", "form", "says", "offset"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_refused(code: str, form: Form, says: str, offset: int) -> None:
    findings = lex.check(code, form)
    assert len(findings) == 1
    assert says in findings[0].message
    assert findings[0].offset == offset


@pytest.mark.parametrize(
    ("code", "form"),
    [
        ("cnrtMemcpy(dst, const_cast<void *>(src), size, kind)", "expr"),
        ("f(\"quoted \\\" } // # text\", '{', '\\'', u8\"x\", L'y')", "expr"),
        ("a ? b : c", "expr"),
        ("f(1'000'000, 0x1Fu, 1.5e-3f, .5)", "expr"),
        ("x < y::z && a[b] % c", "expr"),
        ("f(array<::foo, 3>{})", "expr"),
        ("unsigned int v = 0;\nreturn f(&v) == 0 ? g(v) : h({1, 2});", "body"),
        ("const $stream *", "type"),
        ("[](int a, int b) { return a + b; }(1, 2)", "expr"),
        ("struct A {\n  // why\n  int x; /* } */\n};", "helper"),
    ],
)
def test_accepted(code: str, form: Form) -> None:
    assert lex.check(code, form) == ()


def test_helper_comment_must_end() -> None:
    assert lex.check("int f() { return 1; } /* open", "helper")
    assert lex.check("int f() { return 1; } // continued \\\n", "helper")


def test_argument_is_found_by_number() -> None:
    code = "cnrtMemcpy(dst, f(a, b), (c), {d, e})"
    texts = [lex.argument(code, 0, number) for number in range(1, 6)]
    found = [code[at[0] : at[0] + at[1]] if at else None for at in texts]
    assert found == ["dst", "f(a, b)", "(c)", "{d, e}", None]


def test_long_text_is_refused_quickly() -> None:
    assert "longer than" in lex.check("x" * (lex.MAX_LENGTH + 1), "expr")[0].message
    assert lex.check("'" * 60_000, "expr")  # no backtracking
