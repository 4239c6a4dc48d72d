"""What the YAML loader takes, what it refuses, and the exact words in which it does."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fl_gen.schema import yaml_loader
from fl_gen.schema.errors import SchemaError
from fl_gen.schema.nodes import Mapping, Scalar, Sequence, plain_data
from fl_gen.schema.yaml_loader import MAX_BYTES, MAX_DEPTH, load, loads

Failure = Callable[..., str]

# input -> everything that the user reads
MESSAGES = {
    "duplicate key": (
        "sdk:\n  name: A\n  roots: []\n  name: B\n",
        """\
        f.yaml:4:3: duplicate key 'name'
            4 |   name: B
              |   ^~~~
          = remove or rename one of the two
        f.yaml:2:3: note: the first one is here
            2 |   name: A
              |   ^""",
    ),
    "alias and anchor": (
        "a: &big [1, 2]\nb: *big\n",
        """\
        f.yaml:1:4: anchors are not supported (&big)
            1 | a: &big [1, 2]
              |    ^
          = write the value out
        f.yaml:2:4: aliases are not supported (*big)
            2 | b: *big
              |    ^
          = write the value out
        2 errors""",
    ),
    "tag": (
        "a: !!python/object:os.system x\n",
        """\
        f.yaml:1:4: tags are not supported (tag:yaml.org,2002:python/object:os.system)
            1 | a: !!python/object:os.system x
              |    ^
          = remove the tag""",
    ),
    "merge key": (
        "a:\n  <<: {b: 1}\n",
        """\
        f.yaml:2:3: merge keys (<<) are not supported
            2 |   <<: {b: 1}
              |   ^
          = write the keys out""",
    ),
    "second document": (
        "a: 1\n---\nb: 2\n",
        """\
        f.yaml:2:1: a second document begins here
            2 | ---
              | ^~~
          = keep one document in a file""",
    ),
    "directive": (
        "%YAML 1.1\n---\na: 1\n",
        """\
        f.yaml:1:1: directives (%) are not supported
            1 | %YAML 1.1
              | ^
          = remove the line that begins with %""",
    ),
    "number as key": (
        "6.14: x\n",
        """\
        f.yaml:1:1: a key must be text, not '6.14'
            1 | 6.14: x
              | ^
          = write a plain word, or put the key in quotes""",
    ),
    "list as key": (
        "? [a, b]\n: 1\n",
        """\
        f.yaml:1:3: a key must be text
            1 | ? [a, b]
              |   ^
          = write a plain word, or put the key in quotes""",
    ),
    "tab": (
        "a:\n\tb: 1\n",
        """\
        f.yaml:2:1: not valid YAML: a tab where only spaces may indent
            2 |  b: 1
              | ^
          = indent with spaces""",
    ),
    "colon in plain text": (
        "doc: note: this is text\n",
        """\
        f.yaml:1:10: not valid YAML: mapping values are not allowed in this context
            1 | doc: note: this is text
              |          ^
          = put text that holds ': ' in quotes, or correct the indentation""",
    ),
    "open quote": (
        "a: 'x\n",
        """\
        f.yaml:2:1: not valid YAML: while scanning a quoted scalar: found unexpected end of stream
            2 |
              | ^
          = close the quote, bracket or brace that is still open""",
    ),
    "empty": (
        "# nothing but a comment\n",
        """\
        f.yaml:1:1: the file is empty
            1 | # nothing but a comment
              | ^
          = it must hold a map of keys""",
    ),
    "NUL": (
        "a: x\0y\n",
        """\
        f.yaml:1:5: the character U+0000 is not allowed in a schema file
            1 | a: x\\x00y
              |     ^~~~
          = remove it; in C++ text write it as an escape""",
    ),
    "terminal escape": (
        "a: \x1b[31mred\n",
        """\
        f.yaml:1:4: the character U+001B is not allowed in a schema file
            1 | a: \\x1b[31mred
              |    ^~~~
          = remove it; in C++ text write it as an escape""",
    ),
    "bidirectional override": (
        "expr: a \u202e b\n",
        """\
        f.yaml:1:9: the character U+202E is not allowed in a schema file
            1 | expr: a \\u202e b
              |         ^~~~~~
          = remove it; in C++ text write it as an escape""",
    ),
    "escaped control character": (
        'a: "x\\ty\\0z"\n',
        """\
        f.yaml:1:9: the character U+0000 is not allowed in a schema file
            1 | a: "x\\ty\\0z"
              |         ^
          = in C++ text double the backslash""",
    ),
    "invalid UTF-8": (
        b"a: 1\nb: \xe4\n",
        """\
        f.yaml:2:4: the byte 0xe4 is not UTF-8
            2 | b:
              |    ^
          = save the file as UTF-8""",
    ),
    "UTF-16": (
        "a: 1".encode("utf-16"),
        """\
        f.yaml:1:1: the file is not UTF-8 but UTF-16
            1 |
              | ^
          = save it as UTF-8""",
    ),
}


@pytest.mark.parametrize(("text", "expected"), MESSAGES.values(), ids=MESSAGES.keys())
def test_refusal(text: str | bytes, expected: str, failure: Failure) -> None:
    assert failure(loads, text, "f.yaml") == textwrap.dedent(expected)


def test_every_problem_is_reported_at_once(failure: Failure) -> None:
    text = failure(loads, "a: 1\na: 2\nb: &x 1\nc: *x\n7: q\n", "f.yaml")
    assert [line for line in text.splitlines() if line.startswith("f.yaml") and "note" not in line] == [
        "f.yaml:2:1: duplicate key 'a'",
        "f.yaml:3:4: anchors are not supported (&x)",
        "f.yaml:4:4: aliases are not supported (*x)",
        "f.yaml:5:1: a key must be text, not '7'",
    ]


def test_words_that_yaml_1_1_turns_into_other_things_stay_text() -> None:
    data = plain_data(loads("[yes, no, on, off, y, 0755, 1_000, 1:30, 2001-01-01, 0x10, 1e3x, =]"))
    assert data == ["yes", "no", "on", "off", "y", "0755", "1_000", "1:30", "2001-01-01", "0x10", "1e3x", "="]


def test_core_values() -> None:
    data = plain_data(loads("[true, False, null, ~, 12, -3, 1.5, 1e3, .inf, 'true', \"1\", '']"))
    assert data == [True, False, None, None, 12, -3, 1.5, 1000.0, float("inf"), "true", "1", ""]


def test_byte_order_mark_and_crlf_are_accepted() -> None:
    root = loads(b"\xef\xbb\xbfa: 1\r\nb:\r\n  - x\r\n")
    assert plain_data(root) == {"a": 1, "b": ["x"]}
    assert isinstance(root, Mapping)
    items = root.values["b"]
    assert isinstance(items, Sequence)
    assert str(items.items[0].location) == "<text>:3:5"


def test_every_node_knows_where_it_stands() -> None:
    root = loads("a: 1\nb: [x, 'y']\nc:\n  d: |\n    text\n", "f.yaml")
    assert isinstance(root, Mapping)
    assert [str(key.location) for key in root.keys.values()] == ["f.yaml:1:1", "f.yaml:2:1", "f.yaml:3:1"]
    inner = root.values["c"]
    assert isinstance(inner, Mapping)
    block = inner.values["d"]
    assert isinstance(block, Scalar)
    assert (str(block.location), str(block.text_location)) == ("f.yaml:4:6", "f.yaml:5:5")


def test_depth_is_bounded(failure: Failure) -> None:
    assert plain_data(loads("[" * MAX_DEPTH + "]" * MAX_DEPTH))
    deep = "\n".join(" " * level + "a:" for level in range(MAX_DEPTH + 1)) + " 1"
    assert failure(loads, deep, "f.yaml").splitlines()[0] == "f.yaml:65:65: nested more than 64 levels deep"
    assert "nested more than 64 levels deep" in failure(loads, "[" * 1_000_000, "f.yaml").splitlines()[0]


def test_a_laughing_billion_is_refused_quickly(failure: Failure) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    start = time.perf_counter()
    text = failure(loads, "\n".join(levels), "f.yaml")
    assert time.perf_counter() - start < 1
    assert text.splitlines()[0] == "f.yaml:1:5: anchors are not supported (&a0)"


def test_the_number_of_values_is_bounded(failure: Failure, monkeypatch: pytest.MonkeyPatch) -> None:
    assert yaml_loader.MAX_NODES == 250_000
    monkeypatch.setattr(yaml_loader, "MAX_NODES", 1_000)
    text = failure(loads, "[" + "x," * 300_000 + "]", "f.yaml")
    assert text.splitlines()[0] == "f.yaml:1:1996: more than 1000 values in one file"


def test_the_number_of_problems_is_bounded(failure: Failure) -> None:
    text = failure(loads, "\n".join(f"- *a{n}" for n in range(10_000)))
    assert text.endswith(f"\n{yaml_loader.MAX_PROBLEMS} errors")


def test_a_huge_scalar_is_refused(write: Callable[..., str], failure: Failure) -> None:
    name = write("a: '" + "x" * 10_000_000 + "'\n")
    assert failure(load, name) == (
        "file.yaml:1:1: the file is larger than 4 MiB\n    1 |\n      | ^\n  = split it into several files"
    )
    assert loads("a: " + "x" * (MAX_BYTES - 100))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda path: None, "x.yaml:1:1: no such file"),
        (lambda path: path.mkdir(), "x.yaml:1:1: this is a folder, not a schema file"),
        (os.mkfifo, "x.yaml:1:1: this is not a regular file"),
        (lambda path: path.symlink_to(path), "x.yaml:1:1: cannot be read: Too many levels of symbolic links"),
    ],
    ids=["missing", "folder", "pipe", "loop"],
)
def test_what_is_not_a_file(
    make: Callable[[Path], object], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Failure
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "x.yaml")
    assert failure(load, "x.yaml").splitlines()[0] == expected


def test_a_path_that_no_system_takes(failure: Failure) -> None:
    assert failure(load, "x\0y.yaml").splitlines()[0] == "x\\x00y.yaml:1:1: cannot be read: not a usable path"


def test_without_libyaml_the_result_is_the_same(monkeypatch: pytest.MonkeyPatch, shipped: Path) -> None:
    path = shipped / "frameworks" / "infinitrain" / "ops" / "fill.yaml"
    fast = load(path)
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    slow = load(path)
    assert plain_data(slow) == plain_data(fast)
    assert isinstance(slow, Mapping)
    assert isinstance(fast, Mapping)
    assert [key.location for key in slow.keys.values()] == [key.location for key in fast.keys.values()]
    with pytest.raises(SchemaError, match="duplicate key 'a'"):
        loads("a: 1\na: 2")
    with pytest.raises(SchemaError, match="not valid YAML"):
        loads("a: [1")
