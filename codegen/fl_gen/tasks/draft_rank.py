"""Which functions may do an operation, best first."""

from __future__ import annotations

from collections.abc import Mapping

from fl_gen.schema.runtime import Operation
from fl_gen.sdk.model import Function
from fl_gen.tasks.draft_code import explicit, write
from fl_gen.tasks.draft_constants import Constants
from fl_gen.tasks.draft_fit import Fitter
from fl_gen.tasks.draft_model import Constant, Proposal, Status, TypeDraft
from fl_gen.tasks.draft_recipes import Recipes
from fl_gen.tasks.draft_survey import Survey
from fl_gen.tasks.draft_words import pieces

_LEAST_NAME = 0.34  # likeness of a name below which a function is not looked at
_MOST_FITTED = 14  # functions of an operation whose arguments are fitted
MOST_PROPOSALS = 5
LEAST = 0.55  # confidence below which an operation that can be done without is left out
# What counts how much: the name tells from 0 to 1, and of that goes what the signature has against it.
_SIGNATURE = 0.45
_WORST = 1.6
_KIN = 0.05  # a function of a kindred prefix
_DEPRECATED = 0.12
# A name that is more like another operation, by _AHEAD at least, is probably that one's function.
_AHEAD = 0.12
_PER_AHEAD = 1.5
_CONTESTED = 0.35
_TRADITION = 0.02


class Ranking:
    """Proposals for the operations of one SDK."""

    def __init__(
        self,
        survey: Survey,
        groups: Mapping[str, tuple[str, ...]],
        statuses: Mapping[str, Status],
        types: Mapping[str, TypeDraft],
        constants: Mapping[str, Mapping[str, Constant | None]],
        finder: Constants,
        tradition: str,
    ) -> None:
        self._survey = survey
        self._groups = groups
        self._statuses = statuses
        self._constants = constants
        own_stream = constants.get("stream_flags", {}).get("non_blocking")
        flags = {"stream": own_stream.name} if own_stream is not None else {}
        self._fitter = Fitter(survey, types, flags, survey.objects(groups.get("runtime", ())))
        self._recipes = Recipes(survey, finder, groups, statuses, types)
        self._preferred = frozenset(survey.vocabulary.traditions.get(tradition, ()))

    def proposals(self, operation: Operation) -> tuple[Proposal, ...]:
        """The most probable ways to do an operation, best first; empty if nothing is like it."""
        if operation.group not in self._groups:
            return ()
        phrases = self._survey.vocabulary.operations.get(operation.name)
        if phrases is not None and phrases.constant is not None:
            return self._constant(operation, phrases.constant)
        found = [*self._direct(operation), *self._recipes.proposals(operation)]
        unique: dict[tuple[str, ...], Proposal] = {}
        for one in sorted(found, key=lambda p: (-p.confidence, p.functions)):
            unique.setdefault(one.functions, one)
        return tuple(unique.values())[:MOST_PROPOSALS]

    def _constant(self, operation: Operation, constant: str) -> tuple[Proposal, ...]:
        kind, value = constant.split()
        one = self._constants.get(kind, {}).get(value)
        if one is None:
            return ()
        return (Proposal(operation.name, (one.name,), one.name, "expr", 0.95, str(one.at)),)

    def _direct(self, operation: Operation) -> list[Proposal]:
        status = self._statuses[operation.group]
        others = {key: other for key, other in self._statuses.items() if key != operation.group}
        found: list[Proposal] = []
        for likeness, function, kin in self._like(operation):
            ahead = self._survey.contested(function, operation.name)
            contested = min(_CONTESTED, _PER_AHEAD * ahead) if ahead >= _AHEAD else 0.0
            for one in (function, *function.overloads):
                fit = self._fitter.fit(operation, one, status.type)
                code = write(operation, fit, status, others, self._survey)
                if code is None:
                    continue
                cost = min(fit.cost + code.cost, _WORST)
                confidence = likeness - _SIGNATURE * cost - (_KIN if kin else 0.0)
                confidence -= _DEPRECATED if one.availability == "deprecated" else 0.0
                confidence -= contested
                confidence += _TRADITION if self._preferred & set(pieces(one.name)) else 0.0
                plain = write(operation, explicit(fit), status, others, self._survey)
                notes = [*code.notes]
                if fit.missed:
                    notes.append(f"no argument takes {' and '.join(fit.missed)}")
                if "send_buffer" in fit.missed:
                    notes.append("it works in place: write a body that brings the root's data into recv_buffer first")
                found.append(
                    Proposal(
                        operation=operation.name,
                        functions=(one.name,),
                        code=code.text,
                        form=code.form,
                        confidence=round(max(0.0, min(1.0, confidence)), 3),
                        at=self._place(one),
                        notes=tuple(notes),
                        holes=tuple(argument.hole for argument in fit.arguments if argument.hole),
                        status=code.status,
                        variants=(plain.text,) if plain is not None and plain.text != code.text else (),
                    )
                )
        return found

    def _place(self, function: Function) -> str:
        """Where the name that is called is declared: a macro that renames a function may be in another header."""
        surface = self._survey.surface
        alias = surface.aliases.get(function.name)
        return str(surface.sdk.macros[alias].at if alias is not None else function.at)

    def _like(self, operation: Operation) -> list[tuple[float, Function, bool]]:
        """Functions whose names are like the operation, best first, and whether they are of a kindred prefix."""
        scored: list[tuple[float, Function, bool]] = []
        for at, prefix in enumerate(self._groups[operation.group]):
            for function in self._survey.surface.clusters[prefix].functions:
                likeness = self._survey.likeness(function, operation.name)
                if likeness >= _LEAST_NAME:
                    scored.append((likeness, function, at > 0))
        scored.sort(key=lambda one: (-one[0], one[2], len(one[1].name), one[1].name))
        return scored[:_MOST_FITTED]
