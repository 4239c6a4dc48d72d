"""Which nodes of schema files are not the same in two versions of the files: a structural diff with places."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fl_gen.schema.errors import FlGenError
from fl_gen.schema.nodes import Mapping as MapNode
from fl_gen.schema.nodes import Node, Scalar, Sequence, plain_data

_CUT = 160  # characters of a node's text
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
# Maps of entries with names; the last three are those of the files for PyTorch.
_HOLDERS = ("bindings", "operations", "types", "helpers", "kernels", "statuses", "features", "categories", "ops")


@dataclass(frozen=True)
class NodeChange:
    """A node that was changed, added or removed.

    `file` is relative to the schema folder, `path` the place in it as people say it, `line` that of now (of before for
    a removed one). `subject` is the entry that the node is in: a kernel, an operation, a method.
    """

    file: str
    path: str
    change: str
    line: int
    subject: str
    old: str | None
    new: str | None

    @property
    def title(self) -> str:
        return f"{short_name(self.file)}: {self.path}" if self.path else short_name(self.file)

    @property
    def gone(self) -> frozenset[str]:
        """Words that only the old text has."""
        return _words(self.old) - _words(self.new)

    @property
    def come(self) -> frozenset[str]:
        """Words that only the new text has."""
        return _words(self.new) - _words(self.old)


def short_name(file: str) -> str:
    """A schema file as people say it: `ops/elementwise.yaml`, `interface.yaml`, `vendors/mlu/vendor.yaml`."""
    return re.sub(r"^frameworks/[^/]+/", "", file)


def node_changes(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> tuple[NodeChange, ...]:
    """The changes from the files `old` to `new` (path below the schema folder -> content), in file order.

    A file that only one side has, or that cannot be parsed, is one change.
    """
    found: list[NodeChange] = []
    for file in sorted({*old, *new}):
        before, after = old.get(file), new.get(file)
        if before == after:
            continue
        if before is None or after is None:
            word = "added" if before is None else "removed"
            found.append(NodeChange(file, "", word, 1, "", None, None))
            continue
        trees = [_parsed(data, file) for data in (before, after)]
        if trees[0] is None or trees[1] is None:
            found.append(NodeChange(file, "", "changed", 1, "", None, None))
            continue
        found += _walk(file, (), trees[0], trees[1])
    return tuple(found)


def _parsed(data: bytes, file: str) -> Node | None:
    from fl_gen.schema.yaml_loader import loads

    try:
        return loads(data, file)
    except FlGenError:
        return None


Path = tuple[str, ...]


def _walk(file: str, path: Path, old: Node, new: Node) -> Iterator[NodeChange]:
    if isinstance(old, MapNode) and isinstance(new, MapNode):
        if path and path[-1].startswith("[") and ((_flat(old) and _flat(new)) or set(old.values) != set(new.values)):
            if _plain(old) != _plain(new):  # an item of a few words, or one that has other parts: a whole says more
                yield _change(file, path, "changed", old, new)
            return
        for key in _merged(list(old.values), list(new.values)):
            yield from _pair(file, (*path, key), old.values.get(key), new.values.get(key))
    elif isinstance(old, Sequence) and isinstance(new, Sequence):
        yield from _items(file, path, old, new)
    elif type(old) is not type(new) or _plain(old) != _plain(new):
        yield _change(file, path, "changed", old, new)


def _items(file: str, path: Path, old: Sequence, new: Sequence) -> Iterator[NodeChange]:
    names = [[_name(item) for item in side.items] for side in (old, new)]
    # Entries that are looked up by name; a parameter has one too, and is known by its position.
    named = path[-1:] != ("params",) and all(None not in side and len(set(side)) == len(side) for side in names)
    if named and any(names):
        tables = [
            {str(name): item for name, item in zip(found, side.items, strict=True)}
            for found, side in zip(names, (old, new), strict=True)
        ]
        above = path[:-1] if path == ("ops",) else path
        for name in _merged(list(tables[0]), list(tables[1])):
            yield from _pair(file, (*above, name), tables[0].get(name), tables[1].get(name))
        if list(tables[0]) != list(tables[1]) and set(tables[0]) == set(tables[1]):
            yield _change(file, path, "changed", old, new)  # another order, which generated code follows
        return
    if all(isinstance(item, Scalar) for item in (*old.items, *new.items)):
        if _plain(old) != _plain(new):
            yield _change(file, path, "changed", old, new)
        return
    sides = [[json.dumps(_plain(item), sort_keys=True, default=str) for item in side.items] for side in (old, new)]
    for tag, a, b, c, d in difflib.SequenceMatcher(None, sides[0], sides[1], False).get_opcodes():
        if tag == "equal":
            continue
        common = min(b - a, d - c)
        for offset in range(common):
            yield from _walk(file, (*path, f"[{c + offset}]"), old.items[a + offset], new.items[c + offset])
        for index in range(a + common, b):
            yield _change(file, (*path, f"[{index}]"), "removed", old.items[index], None)
        for index in range(c + common, d):
            yield _change(file, (*path, f"[{index}]"), "added", None, new.items[index])


def _pair(file: str, path: Path, old: Node | None, new: Node | None) -> Iterator[NodeChange]:
    if old is None or new is None:
        yield _change(file, path, "added" if old is None else "removed", old, new)
    else:
        yield from _walk(file, path, old, new)


def _change(file: str, path: Path, word: str, old: Node | None, new: Node | None) -> NodeChange:
    at = new if new is not None else old
    assert at is not None
    return NodeChange(file, _joined(path), word, at.location.line, _subject(path), _text(old), _text(new))


def _subject(path: Path) -> str:
    """`AddForward` of `AddForward.params[1]`, `memory.alloc` of `bindings.memory.alloc[0].expr`."""
    if path[:1] and path[0] in _HOLDERS:
        return path[1] if len(path) > 1 else ""
    if path[:1] == ("classes",) and len(path) > 3 and path[2] == "methods":
        return f"{path[1]}.{path[3]}"
    if path[:1] == ("constants",) and len(path) > 2:
        return f"{path[1]}.{path[2]}"
    return path[0] if path else ""


def _joined(path: Path) -> str:
    text = ""
    for part in path:
        if "::" in part:  # an operator of PyTorch's, whose name has dots of its own
            part = f"[{part}]"
        text += part if part.startswith("[") else f".{part}" if text else part
    return text


def _merged(old: list[str], new: list[str]) -> list[str]:
    """The keys of both, in the order of now."""
    return [*new, *(key for key in old if key not in set(new))]


def _name(item: Node) -> str | None:
    name = item.values.get("name") if isinstance(item, MapNode) else None
    return name.value if isinstance(name, Scalar) else None


def _flat(node: MapNode) -> bool:
    return len(node.values) <= 8 and all(isinstance(value, Scalar) for value in node.values.values())


def _plain(node: Node) -> Any:
    return plain_data(node)


def _text(node: Node | None) -> str | None:
    if node is None:
        return None
    data = _plain(node)
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


def _words(text: str | None) -> frozenset[str]:
    return frozenset(_WORD.findall(text or ""))
