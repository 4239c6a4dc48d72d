"""Names of an SDK as words of the field, and how alike two sets of words are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from fl_gen.schema.vocabulary import Vocabulary

_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_LATER = 0.03  # what a later phrase of a list costs
_NUMBER = 0.2  # weight of a number that no phrase expects, as of _v2
_CONTRADICTS = 0.6  # what is left of a likeness when the name does something that the phrase does not
_LONGEST = 3  # pieces that a compound may be made of, as h2d


@lru_cache(maxsize=65536)
def pieces(name: str) -> tuple[str, ...]:
    """The pieces of a name in lower case: cnrtMallocAsync -> cnrt, malloc, async."""
    return tuple(piece.lower() for piece in _PIECE.findall(name))


class Words:
    """Canonical words by the vocabulary. Names of one SDK begin with one of few `prefixes`, which tell nothing."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._compounds = {spelled: tuple(phrase.split()) for spelled, phrase in vocabulary.compounds.items()}
        self._synonyms: dict[tuple[str, ...], tuple[str, ...]] = {}
        for word, synonyms in vocabulary.words.items():
            for synonym in synonyms:
                self._synonyms[tuple(synonym.split())] = tuple(word.split())
        self._known = {word for words in self._synonyms.values() for word in words} | set(vocabulary.weights)
        self._weights = dict(vocabulary.weights)
        self._actions = frozenset(vocabulary.actions)
        self._phrases: dict[str, Counter[str]] = {}
        self._names: dict[tuple[str, ...], Counter[str]] = {}

    def sequence(self, parts: Sequence[str]) -> tuple[str, ...]:
        """The canonical words of the pieces of a name, in their order."""
        return tuple(self._canonical(tuple(parts)))

    def phrase(self, phrase: str) -> Counter[str]:
        """The words of a phrase of the vocabulary."""
        found = self._phrases.get(phrase)
        if found is None:
            parts = tuple(piece for word in phrase.split() for piece in pieces(word))
            found = self._phrases[phrase] = self.words(parts)
        return found

    def words(self, parts: Sequence[str]) -> Counter[str]:
        """The canonical words of the pieces of a name."""
        key = tuple(parts)
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = Counter(self._canonical(key))
        return found

    def _canonical(self, parts: tuple[str, ...]) -> list[str]:
        spread: list[str] = []
        at = 0
        while at < len(parts):
            for length in range(min(_LONGEST, len(parts) - at), 0, -1):
                joined = "".join(parts[at : at + length])
                if joined in self._compounds:
                    spread += self._compounds[joined]
                    at += length
                    break
            else:
                spread.append(parts[at])
                at += 1
        words: list[str] = []
        at = 0
        while at < len(spread):
            pair = tuple(spread[at : at + 2])
            if len(pair) == 2 and pair in self._synonyms:
                words += self._synonyms[pair]
                at += 2
                continue
            words += self._one(spread[at])
            at += 1
        return words

    def _one(self, word: str) -> tuple[str, ...]:
        if (word,) in self._synonyms:
            return self._synonyms[(word,)]
        if (
            word.endswith("s")
            and word not in self._known
            and (word[:-1] in self._known or (word[:-1],) in self._synonyms)
        ):
            return self._one(word[:-1])
        return (word,)

    def weight(self, word: str) -> float:
        if word in self._weights:
            return self._weights[word]
        return _NUMBER if word.isdecimal() else 1.0

    def likeness(self, words: Counter[str], phrase: Counter[str]) -> float:
        """From 0 to 1: twice the weight that both share over the weight of both (Dice's coefficient)."""
        shared = sum(self.weight(word) * min(count, phrase[word]) for word, count in words.items() if word in phrase)
        if not shared:
            return 0.0
        wanted = sum(self.weight(word) * count for word, count in phrase.items())
        rest = sum(self.weight(word) * max(0, count - phrase[word]) for word, count in words.items())
        return 2 * shared / (wanted + shared + rest)

    def likeness_of_call(self, words: Counter[str], phrase: Counter[str]) -> float:
        """The likeness of a function's name, which a word of another action spoils."""
        if words.keys().isdisjoint(phrase):  # nearly always: an SDK has thousands of functions
            return 0.0
        other = any(word in self._actions and word not in phrase for word in words)
        return self.likeness(words, phrase) * (_CONTRADICTS if other else 1.0)

    def best_call(self, words: Counter[str], phrases: Iterable[str]) -> float:
        """As `best`, for the name of a function."""
        return max(
            (self.likeness_of_call(words, self.phrase(one)) * (1 - _LATER * at) for at, one in enumerate(phrases)),
            default=0.0,
        )

    def best(self, words: Counter[str], phrases: Iterable[str]) -> float:
        """The best likeness to one of several phrases; a later one counts a little less."""
        return max(
            (self.likeness(words, self.phrase(one)) * (1 - _LATER * at) for at, one in enumerate(phrases)),
            default=0.0,
        )
