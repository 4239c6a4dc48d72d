"""Which schema nodes changed, with places; hunks of texts, and which of them are the same."""

from __future__ import annotations

import random

from fl_gen.tasks.tree_diff_hunks import lines_of, parts_of, touches
from fl_gen.tasks.tree_diff_nodes import node_changes

OPS = """schema: 1
ops:
  - name: AddForward
    returns: int
    params:
      - {name: a, type: "const T &"}
      - {name: b, type: "const T &"}
    dtypes: [float32, int64]
  - name: NegForward
    returns: int
    params:
      - {name: input, type: "const T &"}
"""
VENDOR = """schema: 1
bindings:
  memory.alloc:
    - expr: cnrtMalloc({ptr}, {size})
      source: a.h
  memory.free: [{expr: "cnrtFree({ptr})"}]
types: {stream: [cnrtQueue_t]}
"""


def changes(old: str, new: str, file: str = "frameworks/infinitrain/ops/elementwise.yaml") -> list[tuple[object, ...]]:
    found = node_changes({file: old.encode()}, {file: new.encode()})
    return [(one.title, one.change, one.line, one.subject, one.old, one.new) for one in found]


def test_a_parameter_is_named_by_its_place_and_an_op_by_its_name() -> None:
    assert changes(OPS, OPS.replace('b, type: "const T &"', "b, type: T")) == [
        (
            "ops/elementwise.yaml: AddForward.params[1]", "changed", 7, "AddForward",
            '{"name": "b", "type": "const T &"}', '{"name": "b", "type": "T"}',
        )
    ]  # fmt: skip
    assert changes(OPS, OPS.replace("[float32, int64]", "[float32]")) == [
        ("ops/elementwise.yaml: AddForward.dtypes", "changed", 8, "AddForward", '["float32", "int64"]', '["float32"]')
    ]


def test_what_is_added_and_removed_is_one_node() -> None:
    half = OPS[: OPS.index("  - name: NegForward")]
    title = "ops/elementwise.yaml: NegForward"
    assert [one[:4] for one in changes(half, OPS)] == [(title, "added", 9, "NegForward")]
    assert [one[:4] for one in changes(OPS, half)] == [(title, "removed", 9, "NegForward")]
    more = OPS.replace(
        '      - {name: b, type: "const T &"}\n', '      - {name: x, type: T}\n      - {name: b, type: "const T &"}\n'
    )
    assert [one[:3] for one in changes(OPS, more)] == [("ops/elementwise.yaml: AddForward.params[1]", "added", 7)]


def test_bindings_are_known_by_their_operation() -> None:
    file = "vendors/mlu/vendor.yaml"
    assert changes(VENDOR, VENDOR.replace("cnrtMalloc", "cnrtMallocEx"), file) == [
        (
            "vendors/mlu/vendor.yaml: bindings.memory.alloc[0]", "changed", 4, "memory.alloc",
            '{"expr": "cnrtMalloc({ptr}, {size})", "source": "a.h"}',
            '{"expr": "cnrtMallocEx({ptr}, {size})", "source": "a.h"}',
        )
    ]  # fmt: skip


def test_an_item_with_another_part_is_one_change() -> None:
    """A renamed operand gives one change for each case, not one for what went and one for what came."""
    old = {"a.yaml": b"ops:\n  - name: Add\n    cases:\n      - {a: [2], b: [3]}\n      - {a: [4], b: [5]}\n"}
    new = {"a.yaml": old["a.yaml"].replace(b"b: [3]", b"other: [3]").replace(b"[4]", b"[6]")}
    assert [(one.path, one.change, one.old, one.new) for one in node_changes(old, new)] == [
        ("Add.cases[0]", "changed", '{"a": [2], "b": [3]}', '{"a": [2], "other": [3]}'),
        ("Add.cases[1].a", "changed", "[4]", "[6]"),
    ]


def test_comments_quotes_and_line_ends_are_no_change() -> None:
    assert changes(OPS, OPS.replace("returns: int", 'returns: "int"  # still').replace("\n", "\r\n")) == []


def test_another_order_of_ops_is_a_change() -> None:
    at, end = OPS.index("  - name: AddForward"), OPS.index("  - name: NegForward")
    assert [one[:2] for one in changes(OPS, OPS[:at] + OPS[end:] + OPS[at:end])] == [
        ("ops/elementwise.yaml: ops", "changed")
    ]


def test_files_that_come_go_or_break_are_one_change() -> None:
    found = node_changes({"a.yaml": b"a: 1", "b.yaml": b"b: 1"}, {"b.yaml": b"b: [", "c.yaml": b"\xff"})
    assert [(one.title, one.change) for one in found] == [
        ("a.yaml", "removed"),
        ("b.yaml", "changed"),
        ("c.yaml", "added"),
    ]


def rebuilt(old: list[str], new: list[str]) -> list[str]:
    """`new`, made of `old` and the hunks."""
    result, at = [], 0
    for part in parts_of(old, new):
        result += [*old[at : part.old[0]], *part.added]
        assert tuple(old[slice(*part.old)]) == part.removed
        at = part.old[1]
    return result + old[at:]


def test_hunks_make_the_new_text_of_the_old_one_and_show_no_line_twice() -> None:
    generator = random.Random(7)
    for _ in range(300):
        old = [generator.choice("abc ") for _ in range(generator.randrange(30))]
        new = [line for line in old if generator.random() > 0.2]
        for _ in range(generator.randrange(4)):
            new.insert(generator.randrange(len(new) + 1), generator.choice("abcx"))
        shown = [row for part in parts_of(old, new) for row in part.rows]
        for part in parts_of(old, new):  # a blank line between two changes belongs to both sides of one hunk
            assert part.old[1] - part.old[0] == len(part.removed)
        assert rebuilt(old, new) == new
        numbers = [row.old for row in shown if row.old is not None]
        assert numbers == sorted(set(numbers))
        for row in shown:
            assert row.old is None or old[row.old - 1] == row.text
            assert row.new is None or new[row.new - 1] == row.text


def test_lines_and_ranges() -> None:
    assert lines_of("a\r\nb\n") == ["a", "b"]
    assert lines_of("a\nb") == ["a", "b \\ no newline at the end"]
    assert lines_of(None) == lines_of("") == []
    assert touches((1, 3), (2, 4))
    assert not touches((1, 3), (3, 4))
    assert touches((3, 3), (3, 5))
    assert not touches((6, 6), (3, 5))
