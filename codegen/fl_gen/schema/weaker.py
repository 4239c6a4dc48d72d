"""JSON Schema of a file that is not whole: one that extends a base, or a base."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]

_HOLE: Json = {"type": "string", "pattern": "\\$\\{"}  # text with a placeholder
_NULL: Json = {"type": "null"}
_BY_KEY = {"sdk_header": ("path",)}  # entries of lists that are merged, by the key that says which


class Weaker:
    """Makes the definitions of a strict schema weaker, as far as they are referred to.

    Where maps are merged no key is required; lists are taken or left as they are, so inside them everything is. In a
    base (`placeholders`) any text may hold a placeholder; in a file that extends one a null may stand for what it
    removes.
    """

    def __init__(self, strict: Mapping[str, Json], placeholders: bool) -> None:
        self.strict = strict
        self.placeholders = placeholders
        self.definitions: dict[str, Json] = {}

    def root(self, reference: Json, kept: Mapping[str, Json], required: Iterable[str]) -> Json:
        """A reference to the weaker definition of a whole file; `kept` are its keys that stay, or come, as they are."""
        weak = self._reference(reference, merged=True)
        definition = self.definitions[_name(weak)]
        definition["properties"] = {**kept, **{k: v for k, v in definition["properties"].items() if k not in kept}}
        definition["required"] = list(required)
        return weak

    def _reference(self, schema: Json, merged: bool) -> Json:
        if not merged and not self.placeholders:
            return schema
        name = ("partial_" if merged else "open_") + _name(schema)
        if name not in self.definitions:
            self.definitions[name] = {}  # a record may hold itself
            self.definitions[name] = self._weak(self.strict[_name(schema)], merged)
        return {**schema, "$ref": f"#/$defs/{name}"}

    def _weak(self, schema: Json, merged: bool) -> Json:
        if "$ref" in schema:
            return self._reference(schema, merged)
        if "anyOf" in schema:
            return {**schema, "anyOf": [self._weak(one, merged) for one in schema["anyOf"]]}
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema, merged)
        if kind == "array":
            items = schema["items"]
            if not self.placeholders and "$ref" in items and _name(items) in _BY_KEY:
                reference = self._reference(items, merged=True)
                self.definitions[_name(reference)]["required"] = list(_BY_KEY[_name(items)])
                return {**schema, "items": reference}
            return {**schema, "items": self._weak(items, merged=False)} if self.placeholders else schema
        return self._text(schema)

    def _object(self, schema: Json, merged: bool) -> Json:
        made = {key: value for key, value in schema.items() if not merged or key not in _WHOLE}
        for word, child in schema.get("properties", {}).items():
            made["properties"] = {**made["properties"], word: self._child(child, merged)}
        if isinstance(schema.get("additionalProperties"), dict):
            made["additionalProperties"] = self._child(schema["additionalProperties"], merged)
        if "propertyNames" in schema:
            made["propertyNames"] = self._text(schema["propertyNames"])
        return made

    def _child(self, schema: Json, merged: bool) -> Json:
        weak = self._weak(schema, merged)
        if not merged or self.placeholders:
            return weak
        described = {key: weak[key] for key in ("description",) if key in weak}
        return {**described, "anyOf": [{k: v for k, v in weak.items() if k not in described}, _NULL]}

    def _text(self, schema: Json) -> Json:
        if not self.placeholders or not ("pattern" in schema or "enum" in schema):
            return schema
        described = {key: schema[key] for key in ("description",) if key in schema}
        return {**described, "anyOf": [{k: v for k, v in schema.items() if k not in described}, _HOLE]}


_WHOLE = ("required", "allOf", "minProperties")  # what only a whole map must satisfy


def _name(reference: Json) -> str:
    name: str = reference["$ref"].rpartition("/")[2]
    return name
