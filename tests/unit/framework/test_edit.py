"""One change of a schema file's text: what is not meant stays byte for byte."""

from __future__ import annotations

import pytest

from fl_gen.tasks.framework_edit import CannotEdit, apply_edit
from fl_gen.tasks.framework_values import Edit

INTERFACE = """\
# head
classes:
  - name: Guard   # the one
    methods:
      # about start
      - name: start
        cpp: Start
        returns: void  # nothing
        params:
          - {name: size, type: size_t}   # bytes
          - {name: stream, type: "Stream *", default: nullptr}
        const: true
        doc: >-
          folded
          text

      - name: stop
        cpp: Stop
        returns: "Stream *"
        params: []
        const: false
        doc: plain
enums:
  - {name: Kind, values: [{name: kA, value: 1, doc: ""}]}
  - name: Other
    values:
      - {name: kX, value: -1, doc: ""}  # last
"""


def edited(text: str, edit: Edit) -> list[str]:
    """The lines that differ, `-` before and `+` after."""
    import difflib

    lines = difflib.ndiff(text.splitlines(), apply_edit(text, edit).splitlines())
    return [line for line in lines if line[0] in "-+"]


def method(number: int, *rest: str | int) -> tuple[str | int, ...]:
    return ("classes", 0, "methods", number, *rest)


SETS = [
    (method(0, "returns"), "int", ["-         returns: void  # nothing", "+         returns: int  # nothing"]),
    (method(1, "returns"), "Event *", ['-         returns: "Stream *"', '+         returns: "Event *"']),
    (method(0, "returns"), "std::string", ["-         returns: void  # nothing", '+         returns: "std::string"  # nothing']),
    (method(0, "const"), False, ["-         const: true", "+         const: false"]),
    (("enums", 1, "values", 0, "value"), -2,
     ['-       - {name: kX, value: -1, doc: ""}  # last', '+       - {name: kX, value: -2, doc: ""}  # last']),
    (("enums", 0, "values", 0, "value"), 7,
     ['-   - {name: Kind, values: [{name: kA, value: 1, doc: ""}]}', '+   - {name: Kind, values: [{name: kA, value: 7, doc: ""}]}']),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "lines"), SETS)
def test_a_value(path: tuple[str | int, ...], value: object, lines: list[str]) -> None:
    assert edited(INTERFACE, Edit("set", "interface.yaml", path, value)) == lines


def params(*entries: tuple[str, str] | tuple[str, str, str]) -> list[dict[str, str]]:
    return [dict(zip(("name", "type", "default"), entry, strict=False)) for entry in entries]


SIZE, STREAM = ("size", "size_t"), ("stream", "Stream *", "nullptr")
LISTS = [
    ([("size", "uint64_t"), STREAM], ["-           - {name: size, type: size_t}   # bytes", "+           - {name: size, type: uint64_t}   # bytes"]),
    ([SIZE, ("stream", "Stream *")],
     ['-           - {name: stream, type: "Stream *", default: nullptr}', '+           - {name: stream, type: "Stream *"}']),
    ([("size", "size_t", "0"), STREAM],
     ["-           - {name: size, type: size_t}   # bytes", "+           - {name: size, type: size_t, default: 0}   # bytes"]),
    ([SIZE, STREAM, ("flags", "uint32_t")], ["+           - {name: flags, type: uint32_t}"]),
    ([SIZE], ['-           - {name: stream, type: "Stream *", default: nullptr}']),
    ([], ["-         params:", "-           - {name: size, type: size_t}   # bytes",
          '-           - {name: stream, type: "Stream *", default: nullptr}', "+         params: []"]),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "lines"), LISTS, ids=["type", "no default", "default", "more", "fewer", "none"])
def test_parameters(entries: list[tuple[str, str]], lines: list[str]) -> None:
    found = edited(INTERFACE, Edit("params", "interface.yaml", method(0, "params"), params(*entries)))
    assert sorted(found) == sorted(lines)


def test_parameters_where_there_were_none() -> None:
    edit = Edit("params", "interface.yaml", method(1, "params"), params(("device", "const Device &")))
    assert edited(INTERFACE, edit) == [
        "-         params: []", "+         params:", '+           - {name: device, type: "const Device &"}',
    ]  # fmt: skip


def test_an_item_between_items() -> None:
    value = {"name": "pause", "cpp": "Pause", "params": params(SIZE), "const": True, "used_by": [], "doc": "wait: so"}
    assert edited(INTERFACE, Edit("insert", "interface.yaml", ("classes", 0, "methods"), value, 0)) == [
        "+       - name: pause", "+         cpp: Pause", "+         params:", "+           - {name: size, type: size_t}",
        "+         const: true", "+         used_by: []", '+         doc: "wait: so"',
    ]  # fmt: skip
    text = apply_edit(INTERFACE, Edit("insert", "interface.yaml", ("classes", 0, "methods"), value, 0))
    assert "          text\n      - name: pause\n" in text


@pytest.mark.parametrize(("after", "before"), [(0, "# last\n"), (-1, "    values:\n")])
def test_an_item_in_the_style_of_its_neighbours(after: int, before: str) -> None:
    value = {"name": "kY", "value": 4, "doc": ""}
    text = apply_edit(INTERFACE, Edit("insert", "interface.yaml", ("enums", 1, "values"), value, after))
    assert before + '      - {name: kY, value: 4, doc: ""}\n' in text


def test_an_item_before_a_comment_of_the_first() -> None:
    text = apply_edit(INTERFACE, Edit("insert", "interface.yaml", ("classes", 0, "methods"), {"name": "zero"}, -1))
    assert "    methods:\n      - name: zero\n      # about start\n      - name: start\n" in text


def test_a_file_without_a_last_line_end_and_with_crlf() -> None:
    text = INTERFACE.rstrip("\n").replace("\n", "\r\n")
    changed = apply_edit(text, Edit("insert", "interface.yaml", ("enums", 1, "values"), {"name": "kY"}, 0))
    assert changed == text + "\r\n      - {name: kY}\r\n"


OPS = """\
schema: 1
category: gelu

ops:
  - name: Gelu
    doc: x
"""


def test_an_op_more() -> None:
    value = {"name": "Silu", "returns": "void", "params": params(SIZE), "dtypes": ["floating"]}
    assert apply_edit(OPS, Edit("op", "ops/gelu.yaml", (), value)) == OPS + (
        "\n"
        "  # to check: written by framework check --update; strategy, cpu, dtypes, output_dtype and roles are guesses\n"
        "  - name: Silu\n"
        "    returns: void\n"
        "    params:\n"
        "      - {name: size, type: size_t}\n"
        "    dtypes: [floating]\n"
    )


def test_the_first_op_of_a_file() -> None:
    text = apply_edit("", Edit("op", "ops/silu.yaml", (), {"name": "Silu"}))
    assert text.endswith("schema: 1\ncategory: silu\n\nops:\n  # to check: written by framework check --update; strategy, "
                         "cpu, dtypes, output_dtype and roles are guesses\n  - name: Silu\n")  # fmt: skip


REFUSED = [
    Edit("set", "interface.yaml", method(0, "doc"), "x"),
    Edit("set", "interface.yaml", method(7, "returns"), "x"),
    Edit("set", "interface.yaml", ("classes",), "x"),
    Edit("insert", "interface.yaml", ("enums", 0, "values"), {"name": "kB"}, 0),
    Edit("insert", "interface.yaml", ("enums", 1, "name"), {"name": "kB"}, 0),
    Edit("params", "interface.yaml", ("enums", 0, "values"), params(SIZE)),
    Edit("op", "ops/a.yaml", (), {"name": "Silu"}),
]


@pytest.mark.parametrize("edit", REFUSED)
def test_a_layout_that_is_not_changed(edit: Edit) -> None:
    with pytest.raises(CannotEdit):
        apply_edit(INTERFACE, edit)
