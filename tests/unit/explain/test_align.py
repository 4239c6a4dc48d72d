"""Positions across a formatter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fl_gen.render.align import align


def mapped(before: str, after: str) -> str:
    """`after` with a dot for each visible character that nothing in `before` corresponds to."""
    places = align(before, after)
    for place, letter in zip(places, after, strict=True):
        assert place is None or before[place] == letter
    return "".join(
        " " if not c.strip() else "." if place is None else c for place, c in zip(places, after, strict=True)
    )


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ("int  f( int x );", "int f(int x);", 0),
        ("f(a,b);", "f(a,\n  b);", 0),
        ("// a b c\n", "// a\n// b c\n", 4),
        ('s = "a b";', 's = "a "\n    "b";', 4),
        ("if (a) b();", "if (a) {\n    b();\n}", 2),
        ("", "x", 1),
        ("x", "", 0),
    ],
)
def test_what_a_formatter_does(before: str, after: str, lost: int) -> None:
    # `/` and `"` have no partner: a formatter makes new ones.
    assert mapped(before, after).count(".") == lost


def test_sorted_includes_keep_their_places() -> None:
    before = '#include "b.h"\n#include "a.h"\n\nint x;\n'
    after = '#include "a.h"\n#include "b.h"\n\nint x;\n'
    places = align(before, after)
    assert places[after.index("a.h")] == before.index("a.h")
    assert places[after.index("b.h")] == before.index("b.h")
    assert places[after.index("int")] == before.index("int")


def test_one_include_twice() -> None:
    before = "#include <a>\nint x;\n#include <a>\n"
    places = align(before, before)
    assert [places[i] for i, c in enumerate(before) if c == "#"] == [0, 20]


@given(st.text('ab(){};/ "\n#', max_size=60), st.randoms())
def test_blanks_alone_lose_nothing(text: str, random: object) -> None:
    after = "".join(letter + random.choice(["", " ", "\n"]) for letter in text)  # type: ignore[attr-defined]
    for place, letter in zip(align(text, after), after, strict=True):
        assert letter in ' \n/"' or (place is not None and text[place] == letter)
