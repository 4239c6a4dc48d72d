"""A character of a scalar's value leads back to the character of the file that it came from."""

from __future__ import annotations

import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fl_gen.schema.errors import SchemaError
from fl_gen.schema.nodes import Mapping, Scalar
from fl_gen.schema.values import Text
from fl_gen.schema.yaml_loader import loads


def scalar(text: str) -> Scalar:
    root = loads(text)
    assert isinstance(root, Mapping)
    node = root.values["a"]
    assert isinstance(node, Scalar)
    return node


def character_at(text: str, node: Scalar, offset: int) -> str:
    location = node.locate(offset)
    return text.replace("\r\n", "\n").split("\n")[location.line - 1][location.column - 1 :][:1]


CASES = {
    "plain": "a: foo(bar)\n",
    "plain over lines": "a: foo\n   bar\n\n   baz\n",
    "single quotes": "a: 'it''s (x)'\n",
    "double quotes": 'a: "x \\t\\x41\\u00e4 \\\\ y"\n',
    "double quotes over lines": 'a: "one\n   two\n\n   three \\\n   four"\n',
    "literal": "a: |\n  int x = 0;\n\n    return f(x);\n",
    "literal with tabs and wide text": "a: |\n  // 漢字 ä\n  \tx();\n",
    "literal, indented by hand": "a: |2\n    deeper\n  less\n",
    "literal, kept": "a: |+\n  x\n\n\n",
    "literal, stripped": "a: |-\n  x\n\n",
    "literal, empty first lines": "a: |\n\n\n  x\n",
    "folded": "a: >\n  one\n  two\n\n  three\n    four\n  five\n",
    "crlf": "a: |\r\n  one\r\n  two\r\n",
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES.keys())
def test_every_visible_character_is_found(text: str) -> None:
    node = scalar(text)
    assert node.value
    for offset, character in enumerate(node.value):
        found = character_at(text, node, offset)
        if character in "\n ":
            assert found in ("", " ", "\\")  # a line end, a blank, or the end of a folded line
        elif character in "\tAä\\" and "\\" in text:
            assert found == "\\"  # an escape is found at its backslash
        else:
            assert found == character


def test_the_place_in_a_body() -> None:
    node = scalar("b: 1\na: |\n    unsigned value = 0;\n    return f(&value);\n")
    location = node.locate(node.value.index("f(&"))
    assert (location.line, location.column) == (4, 12)
    assert (node.text_location.line, node.text_location.column) == (3, 5)


def test_offsets_outside_the_value_give_its_nearer_end() -> None:
    node = scalar("a: 'xyz'\n")
    assert node.locate(-5).column == 5
    assert node.locate(3).column == 8
    assert node.locate(1_000).column == 8


def test_text_made_without_a_file_locates_too() -> None:
    node = scalar("a: |\n  one\n  two\n")
    assert Text(node.value, node.text_location, node).locate(4) == node.locate(4)
    made = Text("one\ntwo", node.text_location)
    assert str(made.locate(1)) == "<text>:2:4"
    assert str(made.locate(5)) == "<text>:3:2"


STYLES = st.sampled_from(["{}", "'{}'", '"{}"', "|\n{}", ">\n{}", "|+\n{}", ">-\n{}", "|2\n{}"])
WORDS = st.text(alphabet="ab \n'\"\\:#-\té漢", max_size=40)


@settings(max_examples=20_000 if os.environ.get("FL_GEN_TORTURE") else 300, deadline=None)
@given(STYLES, WORDS, st.integers(2, 4))
@example(">\n{}", "a\n b\n\nc", 2)
def test_any_presentation_is_walked_in_step_with_the_parser(style: str, words: str, indent: int) -> None:
    pad = " " * indent
    body = "\n".join(pad + line for line in words.split("\n")) if "\n" in style else words.replace("\n", "\n" + pad)
    text = "a: " + style.format(body) + "\nb: 1\n"
    try:
        root = loads(text)
    except SchemaError:
        return
    node = root.values["a"] if isinstance(root, Mapping) else root
    if not isinstance(node, Scalar):
        return
    places = [(node.locate(offset).line, node.locate(offset).column) for offset in range(len(node.value))]
    assert places == sorted(places)
    assert len(set(places)) == len(places)
    for offset, character in enumerate(node.value):
        if character in "ab:#-é漢":
            assert character_at(text, node, offset) in (character, "\\")
