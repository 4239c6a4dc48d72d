"""The SDK's constants for the portable ones, and the macros of its version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fl_gen.schema.vendor import CONSTANTS
from fl_gen.tasks.draft_model import Constant, TypeDraft
from fl_gen.tasks.draft_survey import Survey
from fl_gen.tasks.draft_words import pieces

_EXTRA = 3.0  # weight of further words from which on a constant is about something else


class Constants:
    """Finds constants by words in their order: host to device is not device to host."""

    def __init__(self, survey: Survey, types: Mapping[str, TypeDraft], groups: Mapping[str, tuple[str, ...]]) -> None:
        self._survey = survey
        self._types = types
        self._groups = groups

    def all(self) -> dict[str, dict[str, Constant | None]]:
        """Each kind of portable constant whose type the SDK has, value by value."""
        found: dict[str, dict[str, Constant | None]] = {}
        for kind, values in CONSTANTS.items():
            if kind == "cast_kind":
                casts = self._casts()
                if casts:
                    found[kind] = dict(casts)
                continue
            phrases = self._phrases(kind)
            pool = self._pool(kind)
            if phrases and pool:
                chosen = {value: self.find(pool, phrases.get(value, ())) for value in values if value in phrases}
                if any(chosen.values()):
                    found[kind] = chosen
        return found

    def find(self, pool: Iterable[Constant], phrases: Sequence[str]) -> Constant | None:
        """The constant whose name holds the words of a phrase in their order, and as little else as possible."""
        best: tuple[float, int, Constant] | None = None
        for at, phrase in enumerate(phrases):
            wanted = self._sequence(phrase.split())
            for order, one in enumerate(pool):
                words = self._sequence(pieces(one.name)[1:])
                extra = self._extra(words, wanted)
                if extra is not None and extra < _EXTRA:
                    key = (extra + 0.3 * at, order)
                    if best is None or key < best[:2]:
                        best = (*key, one)
        return best[2] if best is not None else None

    def pool_of(self, type_: str) -> list[Constant]:
        """The enumerators of an enum type of the SDK."""
        surface = self._survey.surface
        enum = surface.sdk.enums.get(surface.canonical(type_)) or surface.sdk.enums.get(type_)
        if enum is None:
            return []
        return [surface.constants[one.name] for one in enum.values if one.name in surface.constants]

    def _sequence(self, parts: Sequence[str]) -> tuple[str, ...]:
        return self._survey.words.sequence([piece for part in parts for piece in pieces(part)])

    def _extra(self, words: Sequence[str], wanted: Sequence[str]) -> float | None:
        """The weight of the words that a phrase lacks; None if the phrase is not in them, or a number is left over."""
        rest: list[str] = []
        at = 0
        for word in words:
            if at < len(wanted) and word == wanted[at]:
                at += 1
            else:
                rest.append(word)
        if at < len(wanted) or any(word.isdecimal() for word in rest):
            return None
        return sum(self._survey.words.weight(word) for word in rest)

    def _phrases(self, kind: str) -> Mapping[str, tuple[str, ...]]:
        table = self._survey.vocabulary.constants
        found = table.get("dtype" if kind.endswith("_dtype") else kind)
        return found if found is not None else {}

    def _pool(self, kind: str) -> list[Constant]:
        if kind in self._survey.runtime.types:
            return self.pool_of(self._types[kind].type) if kind in self._types else []
        roots = self._groups.get("runtime", ())
        return [
            one
            for one in self._survey.surface.constants.values()
            if pieces(one.name)[:1] and pieces(one.name)[0] in roots
        ]

    def _casts(self) -> dict[str, Constant]:
        """Enumerators that name two dtypes with `to` between them."""
        if "cast_kind" not in self._types:
            return {}
        dtypes = self._phrases("blas_dtype")
        by_words = {self._sequence(phrase.split()): name for name, phrases in dtypes.items() for phrase in phrases}
        found: dict[str, Constant] = {}
        for one in self.pool_of(self._types["cast_kind"].type):
            words = [word for word in self._sequence(pieces(one.name)[1:]) if word != "cast"]
            if "to" in words:
                at = words.index("to")
                source, target = by_words.get(tuple(words[:at])), by_words.get(tuple(words[at + 1 :]))
                if source and target and source != target:
                    found.setdefault(f"{source}_to_{target}", one)
        return {name: found[name] for name in CONSTANTS["cast_kind"] if name in found}

    def version(self) -> tuple[str, tuple[str, ...]] | None:
        """The header and the integer macros of the runtime's version, major first; None without any."""
        roots = self._groups.get("runtime", ())
        macros = self._survey.surface.sdk.macros
        by_part: dict[str, str] = {}
        for name, macro in macros.items():
            parts = pieces(name)
            if macro.value is None or "version" not in parts or not any(parts[0].startswith(root) for root in roots):
                continue
            for part in ("major", "minor", "patch"):
                if part in parts and len(parts) <= 4:
                    by_part.setdefault(part, name)
            if len(parts) == 2:
                by_part.setdefault("whole", name)
        names = [by_part[part] for part in ("major", "minor", "patch") if part in by_part]
        if "major" not in by_part:
            names = [by_part["whole"]] if "whole" in by_part else []
        return (macros[names[0]].at.header, tuple(names)) if names else None
