"""Values to JSON and back, and the JSON Schema of both, from the annotations of frozen classes.

A class becomes an object with every field, a tuple an array, a map an object. `Annotated[T, "text"]` gives a field its
description in the schema. What is read back is checked: a wrong type is a ValueError that names the place.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
Json = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: dict[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def to_json(value: Any) -> Any:
    """The value as what `json.dumps` takes."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    return str(value) if isinstance(value, str) else value


def from_json(cls: type[T], data: Any, where: str = "$") -> T:
    """The value of class `cls` that `to_json` made `data` of. ValueError, with the place, for anything else."""
    return cast(T, _read(cls, data, where))


def json_schema(cls: type, title: str) -> Json:
    """The JSON Schema (draft 2020-12) of what `to_json` makes of values of `cls`."""
    definitions: Json = {}
    root = _schema(cls, definitions)
    return {"$schema": DIALECT, "title": title, **root, "$defs": dict(sorted(definitions.items()))}


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _read(wanted: Any, data: Any, where: str) -> Any:
    if get_origin(wanted) is Annotated:
        wanted = get_args(wanted)[0]
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        if data is None and type(None) in arguments:
            return None
        return _read(next(one for one in arguments if one is not type(None)), data, where)
    if origin is Literal:
        if data not in arguments:
            raise ValueError(f"{where}: not one of {', '.join(map(str, arguments))}")
        return data
    if origin is tuple:
        if not isinstance(data, list):
            raise ValueError(f"{where}: not an array")
        return tuple(_read(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(data))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            raise ValueError(f"{where}: not an object")
        return {key: _read(arguments[1], item, f"{where}.{key}") for key, item in data.items()}
    if is_dataclass(wanted):
        hints = _hints(cast(type, wanted))
        if not isinstance(data, dict) or set(data) != set(hints):
            raise ValueError(f"{where}: not an object with {', '.join(hints)}")
        return cast(Any, wanted)(**{name: _read(hint, data[name], f"{where}.{name}") for name, hint in hints.items()})
    # bool is an int to Python, and not to JSON; JSON writes 2.0 as it likes.
    if wanted is float and isinstance(data, int | float) and not isinstance(data, bool):
        return _finite(data, where)
    if not isinstance(data, wanted) or (wanted is int and isinstance(data, bool)):
        raise ValueError(f"{where}: not {_PLAIN[wanted]}")
    return data


def _finite(number: int | float, where: str) -> float:
    try:
        value = float(number)
    except OverflowError:  # a whole number of hundreds of digits
        value = math.inf
    if not math.isfinite(value):
        raise ValueError(f"{where}: too large a number")
    return value


def _schema(wanted: Any, definitions: Json) -> Json:
    if get_origin(wanted) is Annotated:
        inner, text = get_args(wanted)[:2]
        return {**_schema(inner, definitions), "description": text}
    origin, arguments = get_origin(wanted), get_args(wanted)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(one, definitions) for one in arguments]}
    if wanted is type(None):
        return {"type": "null"}
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if is_dataclass(wanted):
        name = cast(type, wanted).__name__
        if name not in definitions:
            definitions[name] = {}  # so that a class that holds itself ends
            hints = _hints(cast(type, wanted))
            definitions[name] = {
                "type": "object",
                "description": " ".join((wanted.__doc__ or "").split()),
                "properties": {key: _schema(hint, definitions) for key, hint in hints.items()},
                "required": list(hints),
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}
    return {"type": _PLAIN[wanted]}
