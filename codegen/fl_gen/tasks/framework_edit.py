"""The smallest change of a schema file's text: one edit on located YAML nodes.

Comments, quotes and layout stay: a change replaces the characters of one value, or adds lines in the style of their
neighbours. A layout that none of this module's ways fits is refused, with what a person has to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as AnyMapping
from collections.abc import Sequence as AnySequence
from pathlib import Path
from typing import Any

from fl_gen.schema.nodes import Mapping, Node, Scalar, Sequence
from fl_gen.schema.yaml_loader import loads
from fl_gen.tasks.framework_values import Edit

_MARK = "# to check: written by framework check --update; strategy, cpu, dtypes, output_dtype and roles are guesses"
# What YAML would read in another way, and what these files quote for clearness: pointers, templates, qualified names.
_NEEDS_QUOTES = re.compile(r"^[-?:,\[\]{}#&*!|>'\"%@`]|: |:$| #|[\[\]{},*&<>]|::|^\s|\s$|^$")
_WORDS = ("null", "true", "false", "~")


class CannotEdit(Exception):
    """A place in a file whose layout this module does not change; the message says what to do by hand."""


def apply_edit(text: str, edit: Edit) -> str:
    """A file's text with one change. CannotEdit when its layout is none that is written mechanically."""
    if edit.action == "op":
        return _with_op(text, edit)
    node = _node(text, edit.path[:-1] if edit.action == "params" else edit.path)
    if edit.action == "set":
        if not isinstance(node, Scalar) or node.style in ("|", ">"):
            raise CannotEdit(f"write {edit.value} for {'.'.join(map(str, edit.path))}")
        return text[: node.index] + _inline(edit.value) + text[node.end :]
    if edit.action == "insert":
        if not isinstance(node, Sequence):
            raise CannotEdit(f"add {edit.value} to {'.'.join(map(str, edit.path))}")
        return _with_item(text, node, edit)
    if not isinstance(node, Mapping):
        raise CannotEdit(f"write the parameters {edit.value}")
    return _with_params(text, node, edit)


def _node(text: str, path: AnySequence[str | int]) -> Node:
    node = loads(text)
    for step in path:
        if isinstance(node, Mapping) and isinstance(step, str) and step in node.values:
            node = node.values[step]
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
        else:
            raise CannotEdit(f"find {'.'.join(map(str, path))}, which is written in another way")
    return node


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _end_of_line(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _last_line(node: Node) -> int:
    """The last line of a node, from 0. For an empty collection in brackets, its first."""
    if isinstance(node, Scalar):
        written = node.source.text[node.index : node.end].rstrip()  # a block's end is behind its empty lines
        return node.source.locate(node.index + max(0, len(written) - 1)).line - 1
    inner = list(node.values.values()) if isinstance(node, Mapping) else node.items
    return max([node.line, *(_last_line(one) for one in inner)])


def _starts_with_bracket(text: str, node: Node) -> bool:
    line = _lines(text)[node.line] if node.line < len(_lines(text)) else ""
    return line[node.column : node.column + 1] in ("{", "[")


def _with_item(text: str, node: Sequence, edit: Edit) -> str:
    lines = _lines(text)
    if not node.items or _starts_with_bracket(text, node) or edit.after >= len(node.items):
        raise CannotEdit(f"add {_flow(edit.value)} to {'.'.join(map(str, edit.path))}")
    sample = node.items[max(0, edit.after)]
    dash = lines[sample.line].rfind("-", 0, sample.column)
    blank = lines[sample.line][:dash]
    if dash < 0 or blank.strip():
        raise CannotEdit(f"add {_flow(edit.value)} to {'.'.join(map(str, edit.path))}")
    gap = lines[sample.line][dash + 1 : sample.column]
    at = _last_line(sample) + 1 if edit.after >= 0 else _comment_start(lines, sample.line)
    end = _end_of_line(text)
    if _starts_with_bracket(text, sample):
        added = [f"{blank}-{gap}{_flow(edit.value)}"]
    else:
        added = [f"{blank}-{gap}{line}" if number == 0 else f"{blank} {' ' * len(gap)}{line}" if line else ""
                 for number, line in enumerate(_block(edit.value))]  # fmt: skip
    return _inserted(lines, at, added, end)


def _comment_start(lines: AnySequence[str], line: int) -> int:
    while line > 0 and lines[line - 1].lstrip().startswith("#"):
        line -= 1
    return line


def _inserted(lines: list[str], at: int, added: AnySequence[str], end: str) -> str:
    if at > 0 and at <= len(lines) and not lines[at - 1].endswith("\n"):
        lines[at - 1] += end
    return "".join([*lines[:at], *(line + end for line in added), *lines[at:]])


def _with_params(text: str, owner: Mapping, edit: Edit) -> str:
    """The list of parameters made what it must be, line by line: lines that fit stay as they are."""
    key = str(edit.path[-1])
    node = owner.values.get(key)
    lines = _lines(text)
    end = _end_of_line(text)
    if not isinstance(node, Sequence):
        raise CannotEdit(f"write the parameters {edit.value}")
    if not node.items:
        head = owner.keys[key]
        blank = " " * (head.column + 2)
        line = lines[node.line]
        if not re.fullmatch(r"\s*\[\s*\]\s*", line[node.column :]) or not edit.value:
            raise CannotEdit(f"write the parameters {edit.value}")
        lines[node.line] = line[: node.column].rstrip() + end
        return _inserted(lines, node.line + 1, [f"{blank}- {_flow(one)}" for one in edit.value], end)
    firsts = [item.line for item in node.items]
    single = all(_last_line(item) == item.line and _starts_with_bracket(text, item) for item in node.items)
    if _starts_with_bracket(text, node) or not single or firsts != sorted(set(firsts)):
        raise CannotEdit(f"write the parameters {edit.value}")
    if not edit.value:
        head = owner.keys[key]
        lines[head.line] = lines[head.line][: head.column] + f"{key}: []" + end
        return "".join(line for number, line in enumerate(lines) if number not in firsts)
    blank = lines[firsts[0]][: node.items[0].column]
    made: dict[int, str] = {}
    for number, value in enumerate(edit.value):
        if number < len(firsts):
            made[firsts[number]] = _param_line(lines[firsts[number]], node.items[number], value)
    made |= dict.fromkeys(firsts[len(edit.value) :], "")
    extra = [f"{blank}{_flow(value)}{end}" for value in edit.value[len(firsts) :]]
    out = []
    for number, line in enumerate(lines):
        out.append(made.get(number, line))
        if number == firsts[-1]:
            if extra and not out[-1].endswith("\n"):
                out[-1] += end
            out += extra
    return "".join(out)


def _param_line(line: str, item: Node, value: AnyMapping[str, str]) -> str:
    """One parameter's line with what differs replaced, from its end so that columns stay true."""
    assert isinstance(item, Mapping)
    changes: list[tuple[int, int, str]] = []
    for key, word in value.items():
        there = item.values.get(key)
        if there is None:
            close = line.rindex("}")
            changes.append((close, close, f", {key}: {_inline(word)}"))
        elif isinstance(there, Scalar) and there.value != word:
            start = there.column
            changes.append((start, start + (there.end - there.index), _inline(word)))
    if "default" in item.values and "default" not in value:
        gone = item.values["default"]
        assert isinstance(gone, Scalar)
        start = line.rindex(",", 0, item.keys["default"].column)
        changes.append((start, gone.column + (gone.end - gone.index), ""))
    for start, stop, word in sorted(changes, reverse=True):
        line = line[:start] + word + line[stop:]
    return line


def _with_op(text: str, edit: Edit) -> str:
    end = _end_of_line(text)
    added = [f"  {_MARK}", *(f"  - {line}" if n == 0 else f"    {line}" for n, line in enumerate(_block(edit.value)))]
    if text:
        node = _node(text, ("ops",))
        if not isinstance(node, Sequence) or not node.items or _starts_with_bracket(text, node):
            raise CannotEdit(f"add the op {edit.value['name']}")
        lines = _lines(text)
        dash = lines[node.items[-1].line].rfind("-", 0, node.items[-1].column)
        added = [" " * (dash - 2) + line if dash > 2 else line[2 - dash :] for line in added]
        return _inserted(lines, _last_line(node) + 1, ["", *added], end)
    category = Path(edit.file).stem
    head = [
        "# yaml-language-server: $schema=../../../jsonschema/ops.json",
        "# The format is explained in README.md of the shipped ops.",
        "schema: 1",
        f"category: {category}",
        "",
        "ops:",
    ]
    return "".join(f"{line}\n" for line in [*head, *added])


# -- YAML text ----------------------------------------------------------------------------------------------------


def _inline(value: Any) -> str:
    """A scalar as people write it in these files: plain where that is the same, else in double quotes."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    text = str(value)
    if re.fullmatch(r"-?[0-9]+", text) or not (text.lower() in _WORDS or _NEEDS_QUOTES.search(text)):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _flow(value: AnyMapping[str, Any]) -> str:
    parts = []
    for key, one in value.items():
        if isinstance(one, list):
            inner = ", ".join(_flow(item) if isinstance(item, dict) else _inline(item) for item in one)
            parts.append(f"{key}: [{inner}]")
        else:
            parts.append(f"{key}: {_inline(one)}")
    return "{" + ", ".join(parts) + "}"


def _block(value: AnyMapping[str, Any]) -> list[str]:
    """A map as lines in block style, lists of maps one map a line."""
    lines = []
    for key, one in value.items():
        if isinstance(one, list) and one and isinstance(one[0], dict):
            lines.append(f"{key}:")
            lines += [f"  - {_flow(item)}" for item in one]
        elif isinstance(one, list):
            lines.append(f"{key}: [{', '.join(_inline(item) for item in one)}]")
        else:
            lines.append(f"{key}: {_inline(one)}")
    return lines
