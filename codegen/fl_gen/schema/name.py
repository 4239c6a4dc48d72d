"""One canonical name per thing, and every casing derived from it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SNAKE = re.compile(r"[a-z][a-z0-9]*(?:[_.][a-z0-9]+)*")
_PASCAL = re.compile(r"[A-Z][A-Za-z0-9]*")
# A run of capitals is a word of its own up to the capital that begins the next word: NLLLoss -> NLL, Loss.
_PASCAL_WORD = re.compile(r"[A-Z]+(?![a-z])(?:[0-9][a-z0-9]*)?|[A-Z][a-z0-9]*")


@dataclass(frozen=True, slots=True)
class Name:
    """A name as words. A word is lower case, except where its capitals cannot be derived (`NLL` of `NLLLoss`)."""

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.words or not all(re.fullmatch(r"[A-Za-z0-9]+", word) for word in self.words):
            raise ValueError(f"not the words of a name: {self.words!r}")
        if not self.words[0][0].isalpha():
            raise ValueError(f"a name begins with a letter: {self.words!r}")

    @classmethod
    def of(cls, text: str) -> Name:
        """From `snake_case`, `dotted.snake_case` or `PascalCase`. Raises ValueError for anything else."""
        if _SNAKE.fullmatch(text):
            return cls(tuple(re.split(r"[_.]", text)))
        if _PASCAL.fullmatch(text):
            return cls(tuple(_plain(word) for word in _PASCAL_WORD.findall(text)))
        raise ValueError(f"a name is snake_case or PascalCase: {text!r}")

    @property
    def snake(self) -> str:
        """`memory_alloc_async`"""
        return "_".join(self.words).lower()

    @property
    def upper(self) -> str:
        """`MEMORY_ALLOC_ASYNC`"""
        return self.snake.upper()

    @property
    def pascal(self) -> str:
        """`MemoryAllocAsync`; a name made from PascalCase comes back letter by letter."""
        return "".join(word[0].upper() + word[1:] for word in self.words)

    @property
    def camel(self) -> str:
        """`memoryAllocAsync`"""
        return self.words[0].lower() + "".join(word[0].upper() + word[1:] for word in self.words[1:])

    @property
    def concat(self) -> str:
        """`memoryallocasync`"""
        return "".join(self.words).lower()

    def __str__(self) -> str:
        return self.snake


def _plain(word: str) -> str:
    return word.lower() if word[1:] == word[1:].lower() else word


def collisions(names: Iterable[Name]) -> list[tuple[Name, Name]]:
    """Pairs of different names that become the same word in some casing, such as `top_k` and `topk` in `concat`.

    Pascal case loses where words end (`a_1`, `a1`), snake case loses capitals; `concat` loses both, so it decides.
    """
    first: dict[str, Name] = {}
    pairs: list[tuple[Name, Name]] = []
    for name in names:
        other = first.setdefault(name.concat, name)
        if other != name:
            pairs.append((other, name))
    return pairs
