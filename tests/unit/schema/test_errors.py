"""How diagnostics look: excerpt, caret, hint; safe to print whatever the file holds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from fl_gen.schema.errors import Diagnostic, FlGenError, Related, SchemaError, printable, quote
from fl_gen.schema.location import Location


def test_the_line_is_read_from_the_file_when_it_is_not_given(write: Callable[..., str]) -> None:
    name = write("one\ntwo: 2\nthree\n")
    diagnostic = Diagnostic(Location(name, 2, 6), "too small", "write 3")
    assert diagnostic.render() == "file.yaml:2:6: too small\n    2 | two: 2\n      |      ^\n  = write 3"


def test_without_the_file_there_is_no_excerpt() -> None:
    assert Diagnostic(Location("gone.yaml", 2, 6), "too small").render() == "gone.yaml:2:6: too small"


def test_wide_characters_do_not_shift_the_caret() -> None:
    text = Diagnostic(Location("f", 1, 8), "here", excerpt="doc: 漢字x", length=1).render()
    assert text.splitlines()[2] == "      | " + " " * 9 + "^"


def test_a_long_line_is_cut_around_the_caret() -> None:
    line = "x" * 500 + "HERE" + "y" * 500
    shown = Diagnostic(Location("f", 1, 501), "here", excerpt=line, length=4).render().splitlines()
    assert len(shown[1]) <= 112
    assert shown[1][shown[2].index("^") :].startswith("HERE")
    assert shown[2].endswith("^~~~")


def test_a_location_behind_the_end_of_the_line() -> None:
    assert Diagnostic(Location("f", 1, 90), "here", excerpt="ab").render().splitlines()[2] == "      |   ^"


def test_related_places_follow_the_hint(write: Callable[..., str]) -> None:
    name = write("a: 1\na: 2\n")
    other = Related(Location(name, 1, 1), "the first one is here")
    text = Diagnostic(Location(name, 2, 1), "twice", "remove one", related=(other,)).render()
    assert text.splitlines() == [
        "file.yaml:2:1: twice",
        "    2 | a: 2",
        "      | ^",
        "  = remove one",
        "file.yaml:1:1: note: the first one is here",
        "    1 | a: 1",
        "      | ^",
    ]


def test_errors_come_in_file_order_once_each() -> None:
    late, early = Diagnostic(Location("f", 9), "late"), Diagnostic(Location("f", 2), "early")
    error = SchemaError([late, early, late])
    assert error.diagnostics == (early, late)
    assert error.render() == "f:2:1: early\nf:9:1: late\n2 errors"
    assert error.exit_code == 2
    assert isinstance(error, FlGenError)


def test_no_error_without_a_diagnostic() -> None:
    with pytest.raises(ValueError, match="at least one"):
        SchemaError([])


def test_nothing_that_drives_a_terminal_gets_out() -> None:
    hostile = "a\x1b]0;owned\x07\u202eb"
    text = Diagnostic(Location("f\x1b[2J", 1), f"unknown {quote(hostile)}", hostile, excerpt=hostile).render()
    assert not set("\x1b\x07\u202e") & set(text)
    assert printable(hostile) == "a\\x1b]0;owned\\x07\\u202eb"
    assert FlGenError(hostile).render() == printable(hostile)


def test_quoted_values_are_short_and_on_one_line() -> None:
    assert quote("a\nb\tc") == "'a\\nb\\tc'"
    assert quote("x" * 1000) == "'" + "x" * 59 + "…'"


def test_colour_only_when_asked_for() -> None:
    diagnostic = Diagnostic(Location("f", 1), "bad", excerpt="line")
    assert "\x1b" not in diagnostic.render()
    assert diagnostic.render(color=True).startswith("\x1b[1mf:1:1:\x1b[0m \x1b[1;31mbad\x1b[0m")


def test_locations_count_from_one() -> None:
    with pytest.raises(ValueError, match="count from 1"):
        Location("f", 0, 1)
    assert Location("f", 2, 1) > Location("f", 1, 9)


def test_importing_the_errors_is_cheap() -> None:
    code = (
        "import sys, fl_gen.schema.errors as e; "
        "print([m for m in ('yaml', 'jinja2', 'clang', 'click', 'difflib', 'rich', 'pathlib') if m in sys.modules])"
    )
    path = [entry for entry in sys.path if entry.endswith("codegen")]
    result = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {path!r}; {code}"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert result.stdout == "[]\n"
