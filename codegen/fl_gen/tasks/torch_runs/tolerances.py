"""Tolerances of operators, from the rules of ops/torch.yaml."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import torch


class Tolerances:
    """`{"ops": {name: {dtype: [rtol, atol]}}, "categories": [[[pattern, ...], {dtype: [rtol, atol]}], ...]}`.

    A pattern is a name with `*`, or `tag:NAME`. An operator's own tolerance comes before those of its categories.
    """

    def __init__(self, rules: dict[str, Any]) -> None:
        self._ops: dict[str, dict[str, list[float]]] = rules.get("ops", {})
        self._categories: list[Any] = rules.get("categories", [])

    def of(self, name: str, tags: Iterable[Any], dtype: torch.dtype) -> tuple[float | None, float | None]:
        """(rtol, atol) of one operator for a dtype; None for what the rules leave to the dtype."""
        short = str(dtype).removeprefix("torch.")
        known = [f"tag:{str(tag).rpartition('.')[2]}" for tag in tags]
        tables = [self._ops.get(name, {})]
        tables += [table for patterns, table in self._categories if any(_fits(p, name, known) for p in patterns)]
        for table in tables:
            if short in table:
                return table[short][0], table[short][1]
        return None, None


def _fits(pattern: str, name: str, tags: list[str]) -> bool:
    return pattern in tags if pattern.startswith("tag:") else fnmatchcase(name, pattern)
