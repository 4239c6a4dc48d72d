"""Placeholders in the text of a base: `${runtime}` for a parameter, `${RUNTIME}` for it in capitals.

They may stand in any key and any value. Every character of the result knows the character of the file that it comes
from, so a compiler error inside replaced C++ text still has its line and column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as Values
from dataclasses import dataclass, field

from .errors import Diagnostic, SchemaError, quote
from .nodes import Mapping, Node, Scalar, Sequence
from .suggest import suggestion
from .yaml_loader import MAX_BYTES

MARK = "${"
# Where text for people may be put in; anywhere else it could become part of code.
PROSE_KEYS = ("source", "note", "doc", "title", "reason", "sdk", "device_name", "deprecated")
_LOWER = re.compile(r"[a-z][a-z0-9_]*")
_UPPER = re.compile(r"[A-Z][A-Z0-9_]*")
_SHOWN = 30  # characters of a broken placeholder that a message repeats


@dataclass
class Replacer:
    """Replaces placeholders by `values`; `prose` are the parameters that hold text for people. Collects `problems` and
    notes which parameters were `used`."""

    values: Values[str, str]
    prose: frozenset[str]
    problems: list[Diagnostic] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    size: int = 0

    def node(self, node: Node, key: str = "") -> Node:
        """The node with every placeholder in it replaced. Raises SchemaError when the result is too large."""
        if isinstance(node, Scalar):
            return self.scalar(node, key)
        if isinstance(node, Sequence):
            items = Sequence(node.source, node.line, node.column)
            items.items = [self.node(item, key) for item in node.items]
            return items
        made = Mapping(node.source, node.line, node.column)
        for word, key_node in node.keys.items():
            new_key = self.scalar(key_node, "")
            first = made.keys.get(new_key.value)
            if first is not None:
                message = f"duplicate key {quote(new_key.value)}, once its placeholders are replaced"
                related = (node.source.related(first.location, "the first one is here"),)
                self._report(key_node, 0, message, "remove or rename one of the two", related=related)
                continue
            made.keys[new_key.value] = new_key
            made.values[new_key.value] = self.node(node.values[word], word)
        return made

    def scalar(self, node: Scalar, key: str) -> Scalar:
        """One scalar, under `key`."""
        text = node.value
        if MARK not in text:
            return node
        parts: list[str] = []
        origin: list[int] = []
        start = 0
        while True:
            at = text.find(MARK, start)
            if at < 0:
                break
            end = text.find("}", at)
            line_end = text.find("\n", at)
            if end < 0 or 0 <= line_end < end:
                self._report(node, at, f"{MARK} without its '}}'", "write ${name}, with the name of a parameter")
                return node
            value = self._value(node, at, text[at + len(MARK) : end], key)
            parts += (text[start:at], value)
            origin.extend(range(start, at))
            origin.extend([at] * len(value))
            start = end + 1
        parts.append(text[start:])
        origin.extend(range(start, len(text) + 1))
        result = "".join(parts)
        self.size += len(result)
        if self.size > MAX_BYTES:
            message = f"with its placeholders replaced the base is larger than {MAX_BYTES >> 20} MiB"
            self._report(node, 0, message, "split it, or use fewer placeholders")
            raise SchemaError(self.problems)
        return node.replaced(result, origin)

    def _value(self, node: Scalar, at: int, word: str, key: str) -> str:
        name = word.lower() if _UPPER.fullmatch(word) else word
        value = self.values.get(name) if _LOWER.fullmatch(name) else None
        if value is None:
            capitals = [known.upper() for known in self.values if known not in self.prose]
            near = suggestion(word, self.values if word.islower() else [*self.values, *capitals])
            if word.strip():
                self._report(node, at, f"{quote(MARK + word[:_SHOWN] + '}')} names no parameter of the base", near)
            else:
                self._report(node, at, "a placeholder without a name", near or "write ${name}")
            return ""
        self.used.add(name)
        if name in self.prose:
            if word != name:
                self._report(node, at, f"the parameter {quote(name)} is text and has no form in capitals")
            elif key not in PROSE_KEYS:
                message = f"the parameter {quote(name)} is text for people and cannot stand here"
                self._report(node, at, message, f"it may stand under {', '.join(PROSE_KEYS)}")
            return value
        return value if word == name else value.upper()

    def _report(self, node: Scalar, at: int, message: str, hint: str | None = None, **more: object) -> None:
        self.problems.append(
            node.source.diagnostic(node.locate(at), message, hint, rule="placeholder", **more)  # type: ignore[arg-type]
        )


def stray(node: Node) -> list[Diagnostic]:
    """A placeholder in a file that is no base, where nothing replaces it: only the first is told."""
    waiting: list[Node] = [node]
    while waiting:
        top = waiting.pop()
        if isinstance(top, Scalar):
            at = top.value.find(MARK)
            if at >= 0:
                message = "placeholders are replaced in a base, not in the file that extends it"
                return [top.source.diagnostic(top.locate(at), message, "write the name out", rule="placeholder")]
        elif isinstance(top, Sequence):
            waiting += reversed(top.items)
        else:
            waiting += [entry for word in reversed(top.keys) for entry in (top.values[word], top.keys[word])]
    return []
