"""Declarations of what a schema file may hold.

A kind of file is declared once, as a tree of the objects below. From that one declaration come the validation of a
located YAML tree (every error at once, with did-you-mean), the typed models, and the JSON Schema for editors.

Scalars are declared in `scalars.py`; here are what a specification is and the collections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from .errors import Diagnostic, SchemaError, quote
from .frozen import frozen
from .location import Location
from .nodes import Mapping, Node, Scalar, Sequence
from .suggest import closest, suggestion
from .values import ModelError, Table, duplicates

MAX_PROBLEMS = 200  # diagnostics of one file; what comes after is not looked at
_MANY_FIELDS = 20  # from here on JSON Schema lists the keys of equal fields without repeating what they hold

Json = dict[str, Any]


class Definitions(dict[str, Json]):
    """The `$defs` of a JSON Schema by name, and the record that each was made from."""

    def __init__(self) -> None:
        super().__init__()
        self.owners: dict[str, Spec] = {}


class Invalid:
    """The value of a node that has been reported."""

    __slots__ = ()


INVALID: Final = Invalid()
REQUIRED: Final = object()  # default of a field that has none


class TooManyProblems(Exception):
    """Enough has been reported about one file."""


class Check:
    """Collects what is wrong while a tree is validated. `key` is the key under which the node is."""

    __slots__ = ("key", "problems")

    def __init__(self) -> None:
        self.problems: list[Diagnostic] = []
        self.key = ""

    def report(
        self,
        node: Node,
        message: str,
        hint: str | None = None,
        rule: str = "wrong-value",
        *,
        at: Location | None = None,
        length: int | None = None,
    ) -> Invalid:
        """Note a problem at a node (or at a place inside it) and go on."""
        if length is None:
            length = node.width if isinstance(node, Scalar) and at is None else 1
        self.problems.append(node.source.diagnostic(at or node.location, message, hint, rule=rule, length=length))
        if len(self.problems) >= MAX_PROBLEMS:
            raise TooManyProblems
        return INVALID


def describe(node: Node) -> str:
    """What a node is, in the words of a message."""
    if isinstance(node, Mapping):
        return "a map"
    if isinstance(node, Sequence):
        return "a list"
    words = {
        "null": "nothing",
        "bool": node.value,
        "int": f"the number {node.value}",
        "float": f"the number {node.value}",
    }
    return words.get(node.kind, f"the text {quote(node.value)}")


class Spec:
    """What may stand in one place of a file."""

    doc: str | None = None

    def check(self, node: Node, check: Check, label: str) -> Any:
        """The value of a node, or INVALID after reporting why not. `label` names the place in messages."""
        raise NotImplementedError

    def json(self, definitions: Definitions) -> Json:
        """JSON Schema (draft 2020-12); records are put into `definitions` and referred to."""
        raise NotImplementedError


@frozen
class Nullable(Spec):
    """Something or an explicit null, which becomes `empty`."""

    item: Spec
    empty: Any = None

    def check(self, node: Node, check: Check, label: str) -> Any:
        if isinstance(node, Scalar) and node.kind == "null":
            return self.empty
        return self.item.check(node, check, label)

    def json(self, definitions: Definitions) -> Json:
        return {"anyOf": [self.item.json(definitions), {"type": "null"}]}


@frozen
class ListOf(Spec):
    """A list; its value is a tuple."""

    item: Spec
    at_least: int = 0
    unique: bool = False
    at_most: int | None = None

    def check(self, node: Node, check: Check, label: str) -> Any:
        if not isinstance(node, Sequence):
            hint = None
            if isinstance(node, Scalar) and node.kind == "str":
                hint = f"for a list of one write [{node.value}]"
            return check.report(node, f"{label} must be a list, not {describe(node)}", hint, "wrong-type")
        if len(node.items) < self.at_least:
            return check.report(node, f"{label} needs at least {_count(self.at_least, 'item')}", rule="wrong-length")
        if self.at_most is not None and len(node.items) > self.at_most:
            return check.report(node, f"{label} takes at most {_count(self.at_most, 'item')}", rule="wrong-length")
        values = [self.item.check(item, check, f"an item of {label}") for item in node.items]
        if self.unique:
            seen: dict[str, Node] = {}
            for item in node.items:
                if isinstance(item, Scalar) and seen.setdefault(item.value, item) is not item:
                    check.report(item, f"{quote(item.value)} stands twice in {label}", "remove one", "duplicate-item")
        return INVALID if INVALID in values else tuple(values)

    def json(self, definitions: Definitions) -> Json:
        schema: Json = {"type": "array", "items": self.item.json(definitions)}
        if self.at_least:
            schema["minItems"] = self.at_least
        if self.at_most is not None:
            schema["maxItems"] = self.at_most
        if self.unique:
            schema["uniqueItems"] = True
        return schema


@frozen
class MapOf(Spec):
    """A map with keys of one kind; its value is a Table."""

    key: Spec
    value: Spec
    at_least: int = 0

    def check(self, node: Node, check: Check, label: str) -> Any:
        if not isinstance(node, Mapping):
            return check.report(node, f"{label} must be a map, not {describe(node)}", rule="wrong-type")
        if len(node.keys) < self.at_least:
            return check.report(node, f"{label} needs at least {_count(self.at_least, 'entry')}", rule="wrong-length")
        items: dict[str, Any] = {}
        bad = False
        for word, key_node in node.keys.items():
            key = self.key.check(key_node, check, f"a key of {label}")
            check.key = word
            value = self.value.check(node.values[word], check, quote(word))
            if key is INVALID or value is INVALID:
                bad = True
            else:
                items[word] = value
        if bad:
            return INVALID
        return Table(items, node.location, {word: key.location for word, key in node.keys.items()})

    def json(self, definitions: Definitions) -> Json:
        names = self.key.json(definitions)
        names.pop("type", None)  # a property name is always a string
        schema: Json = {"type": "object", "additionalProperties": self.value.json(definitions)}
        if names:
            schema["propertyNames"] = names
        if self.at_least:
            schema["minProperties"] = self.at_least
        return schema


@frozen
class Field:
    """One key of a record. A field without `default` is required; `name` is the model's, if it differs from the key."""

    item: Spec
    doc: str
    default: Any = REQUIRED
    name: str | None = None


@frozen
class Record(Spec):
    """A map with known keys, which becomes a model: `build(**values, location=...)`.

    `what` names it in messages ("a binding candidate"), `title` in JSON Schema. Of each group in `exactly_one` one key
    must be there. `named` is the model's field that takes the key under which the record stands in its map. An
    invariant that `build` finds broken (ModelError) is reported at the key that it blames.
    """

    what: str
    build: Callable[..., Any]
    fields: dict[str, Field]
    exactly_one: tuple[tuple[str, ...], ...] = ()
    title: str | None = None
    named: str | None = None

    def check(self, node: Node, check: Check, label: str) -> Any:
        if not isinstance(node, Mapping):
            message = f"{label} must be {self.what} (a map), not {describe(node)}"
            return check.report(node, message, f"keys: {', '.join(self.fields)}", "wrong-type")
        before = len(check.problems)
        given = node.values
        values: dict[str, Any] = {"location": node.location}
        if self.named is not None:
            values[self.named] = check.key
        missing = {}
        for word, entry in self.fields.items():
            child = given.get(word)
            if child is not None:
                check.key = word
                found = entry.item.check(child, check, f"'{word}'")
                if isinstance(found, Table):
                    found.location = node.keys[word].location  # what a map lacks is told at its key
                values[entry.name or word] = found
            elif entry.default is REQUIRED:
                missing[word] = entry
            else:
                values[entry.name or word] = entry.default
        if not given.keys() <= self.fields.keys():
            self._unknown(node, missing, check)
        for word, entry in missing.items():
            check.report(node, f"{self.what} needs the key '{word}'", f"{word}: {entry.doc}", "missing-key")
        for group in self.exactly_one:
            self._one_of(node, group, check)
        if len(check.problems) > before:
            return INVALID
        try:
            return self.build(**values)
        except ModelError as error:
            blamed = given.get(error.key, node) if error.key else node
            return check.report(blamed, error.message, error.hint, "invariant")

    def _unknown(self, node: Mapping, missing: dict[str, Field], check: Check) -> None:
        """Report unknown keys; a missing key that one of them is a misspelling of needs no report of its own."""
        for word, key in node.keys.items():
            if word in self.fields:
                continue
            near = closest(word, missing)
            if near is not None:
                del missing[near]
            hint = suggestion(word, [near] if near else self.fields.keys() - node.values.keys() or self.fields, "keys")
            check.report(key, f"unknown key {quote(word)} in {self.what}", hint, "unknown-key")

    def _one_of(self, node: Mapping, group: tuple[str, ...], check: Check) -> None:
        found = [word for word in node.values if word in group]
        if len(found) == 1:
            return
        names = " or ".join(f"'{word}'" for word in group)
        if found:
            both = " and ".join(f"'{word}'" for word in found)
            check.report(node.keys[found[1]], f"{self.what} takes {names}, not {both}", "keep one", "conflicting-keys")
        else:
            hint = "\n".join(f"{word}: {self.fields[word].doc}" for word in group)
            check.report(node, f"{self.what} needs {names}", hint, "missing-key")

    def json(self, definitions: Definitions) -> Json:
        name = self.title or self.what.split(" ", 1)[-1].replace(" ", "_")
        if definitions.owners.setdefault(name, self) is not self:
            raise AssertionError(f"two records are called {name}; give one another title")
        if name not in definitions:
            definitions[name] = {}  # a record may hold itself
            schema: Json = {"type": "object"}
            items = {id(entry.item): entry.item for entry in self.fields.values()}
            if len(self.fields) > _MANY_FIELDS and len(items) == 1:
                schema["propertyNames"] = {"enum": list(self.fields)}
                schema["additionalProperties"] = items.popitem()[1].json(definitions)
            else:
                properties: Json = {}
                for word, entry in self.fields.items():
                    properties[word] = {**entry.item.json(definitions), "description": entry.doc}
                schema |= {"additionalProperties": False, "properties": properties}
            required = [word for word, entry in self.fields.items() if entry.default is REQUIRED]
            if required:
                schema["required"] = required
            if self.exactly_one:
                schema["allOf"] = [{"oneOf": [{"required": [word]} for word in group]} for group in self.exactly_one]
            definitions[name] = schema
        return {"$ref": f"#/$defs/{name}"}


@frozen
class ByShape(Spec):
    """One specification per shape of node: a scalar, a list or a map."""

    scalar: Spec | None = None
    sequence: Spec | None = None
    mapping: Spec | None = None

    def check(self, node: Node, check: Check, label: str) -> Any:
        chosen = {Scalar: self.scalar, Sequence: self.sequence, Mapping: self.mapping}[type(node)]
        if chosen is None:
            names = (("a single value", self.scalar), ("a list", self.sequence), ("a map", self.mapping))
            wanted = " or ".join(name for name, spec in names if spec)
            return check.report(node, f"{label} must be {wanted}, not {describe(node)}", rule="wrong-type")
        return chosen.check(node, check, label)

    def json(self, definitions: Definitions) -> Json:
        specs = (self.scalar, self.sequence, self.mapping)
        return {"anyOf": [spec.json(definitions) for spec in specs if spec is not None]}


def validate(spec: Spec, root: Node, what: str) -> Any:
    """The model of a whole file. Raises SchemaError with everything that is wrong."""
    check = Check()
    value: Any = INVALID
    with suppress(TooManyProblems):
        value = spec.check(root, check, what)
    if check.problems:
        raise SchemaError(check.problems)
    return value


def raise_problems(problems: Iterable[Diagnostic]) -> None:
    """SchemaError when there is any problem."""
    found = list(problems)
    if found:
        raise SchemaError(found)


def require_unique(words: Iterable[str], what: str, key: str) -> None:
    """ModelError for `key` when a word stands twice."""
    again = duplicates(words)
    if again:
        raise ModelError(f"{what} {', '.join(quote(word) for word in again)} stands twice", key)


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"
