"""Whether the value of an argument in a test case is one that a generated test can make."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import quote

_INT64 = 1 << 63
_INT32 = 1 << 31
_FLOAT32 = 3.4028234e38
_SHAPE = "a list of sizes: [2, 3]"
_KEYS = (
    "shape",
    "low",
    "high",
    "integers",
    "binary",
    "below",
    "permutation_of",
    "softmax_of",
    "dim",
    "max_of",
    "min_of",
)


def case_problem(types: Mapping[str, str], arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with a case, or None. `types` is the bare C++ type of each parameter; `arguments` has all."""
    for name, type_ in types.items():
        wrong = _problem(type_, arguments[name], types)
        if wrong is not None:
            return f"the case's {quote(name)} must be {wrong}"
    return None


def _problem(type_: str, value: Any, types: Mapping[str, str]) -> str | None:
    if type_ == "std::shared_ptr<Tensor>":
        return _tensor_problem(value, types)
    if "std::shared_ptr<Tensor>" in type_:
        return None if _is_list_of_shapes(value) else "a list of the tensors' shapes: [[2, 3], [2, 4]]"
    if type_ in ("float", "double"):
        most = _FLOAT32 if type_ == "float" else math.inf
        return None if _is_number(value) and abs(value) <= most else f"a number that a {type_} can hold"
    if type_ == "bool":
        return None if isinstance(value, bool) else "true or false"
    if type_ in ("int", "int64_t"):
        most_ = _INT32 if type_ == "int" else _INT64
        return None if _is_int(value) and -most_ < value < most_ else f"a whole number that an {type_} can hold"
    if type_ == "std::vector<int64_t>":
        return None if _is_numbers(value) else "a list of whole numbers"
    if type_ == "std::vector<std::vector<int64_t>>":
        good = isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_numbers, value))
        return None if good else "a list of lists of whole numbers"
    return None  # a type of the framework, DataType or Scalar: the tests' renderer tells when it cannot make one


def _tensor_problem(value: Any, types: Mapping[str, str]) -> str | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        return None if _is_shape(value) else f"{_SHAPE}, or a map with shape"
    unknown = [key for key in value if key not in _KEYS]
    if unknown:
        return f"made of {', '.join(_KEYS)}, not of {quote(str(unknown[0]))}"
    for key in ("max_of", "min_of"):
        if key in value:
            tensor = types.get(value[key]) if isinstance(value[key], str) else None
            good = tensor == "std::shared_ptr<Tensor>" and _is_int(value.get("dim"))
            return None if good else f"made with {key}: another tensor argument, and dim: a whole number"
    if "softmax_of" in value:
        good = _is_shape(value["softmax_of"]) and _is_int(value.get("dim"))
        return None if good else f"made with softmax_of: {_SHAPE}, and dim: a whole number"
    if not _is_shape(value.get("shape")):
        return f"a map with shape: {_SHAPE}"
    for key in ("below", "permutation_of"):
        if key in value and not (_is_int(value[key]) and 0 < value[key] < _INT64):
            return f"made with {key}: a whole number above 0"
    for key in ("integers", "binary"):
        if key in value and not isinstance(value[key], bool):
            return f"made with {key}: true"
    for key in ("low", "high"):
        if key in value and not _is_number(value[key]):
            return f"made with {key}: a number"
    return None


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return (_is_int(value) and abs(value) < _INT64) or (isinstance(value, float) and math.isfinite(value))


def _is_numbers(value: Any) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    return all(_is_int(one) and abs(one) < _INT64 for one in value)


def _is_shape(value: Any) -> bool:
    return _is_numbers(value) and all(one >= 0 for one in value)


def _is_list_of_shapes(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_shape, value))
