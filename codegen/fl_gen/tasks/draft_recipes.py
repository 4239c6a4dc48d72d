"""Operations that no single call does: an object for an ordinal first, a field of a struct, a number in three parts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fl_gen.schema.runtime import Operation
from fl_gen.schema.vocabulary import Recipe
from fl_gen.sdk.model import Function, RecordField
from fl_gen.tasks.draft_constants import Constants
from fl_gen.tasks.draft_model import Constant, Proposal, Status, TypeDraft
from fl_gen.tasks.draft_survey import Survey, base_of, given
from fl_gen.tasks.draft_words import pieces

_LEAST = 0.7  # likeness of a step's function
_SEVERAL = 0.05  # what a proposal of two calls costs in confidence
_UNCERTAIN = 0.1  # what a convention costs that the header does not tell


class Recipes:
    """Proposals of several statements for one SDK."""

    def __init__(
        self,
        survey: Survey,
        constants: Constants,
        groups: Mapping[str, tuple[str, ...]],
        statuses: Mapping[str, Status],
        types: Mapping[str, TypeDraft],
    ) -> None:
        self._survey = survey
        self._constants = constants
        self._groups = groups
        self._statuses = statuses
        self._types = types

    def proposals(self, operation: Operation) -> list[Proposal]:
        """Every recipe that the SDK has the functions for."""
        found: list[Proposal | None] = []
        recipe = self._survey.vocabulary.recipes.get(operation.name)
        if recipe is not None:
            found.append(self._two_calls(operation, recipe))
        params = [param.type for param in operation.params]
        if params[:2] == ["char *", "size_t"]:
            found += self._text_of_struct(operation)
        if params == ["int *"] * 3:
            found += self._packed(operation)
        return [one for one in found if one is not None]

    # -- an object for an ordinal -------------------------------------------------------------------------------------

    def _two_calls(self, operation: Operation, recipe: Recipe) -> Proposal | None:
        status = self._statuses[operation.group]
        call = self._best(operation.group, recipe.call, lambda f: f.returns == status.type and len(f.params) >= 1)
        if call is None:
            return None
        score, function = call
        taken = base_of(function.params[0].type)
        if function.params[0].canonical.endswith("*") and function.params[0].type.rstrip().endswith("*"):
            return None
        handle = self._best(operation.group, recipe.handle, lambda f: given(f) == taken and f.returns == status.type)
        if handle is None:
            return None
        other_score, getter = handle
        ordinal = "device"
        arguments = ["&handle" if param.type.rstrip().endswith("*") else ordinal for param in getter.params]
        first = [
            f"{taken} handle{{}};",
            f"const {status.type} found = {self._name(getter)}({', '.join(arguments)});",
            f"if (found != {status.success}) {{",
            "    return found;",
            "}",
        ]
        steps = self._steps(function, recipe, status)
        if steps is None:
            return None
        confidence = (score + other_score) / 2 - _SEVERAL
        return Proposal(
            operation.name,
            tuple(dict.fromkeys((getter.name, function.name))),
            "\n".join([*first, *steps]),
            "body",
            round(confidence, 3),
            str(function.at),
        )

    def _steps(self, function: Function, recipe: Recipe, status: Status) -> list[str] | None:
        """The statements behind the first call: one for each attribute, or the one that takes the object."""
        name = self._name(function)
        if recipe.attributes is None:
            return [f"return {name}(handle);"] if len(function.params) == 1 else None
        if len(function.params) != 3 or function.params[2].canonical != "void *":
            return None
        pool = self._constants.pool_of(base_of(function.params[1].type))
        lines: list[str] = [f"uint64_t value = {recipe.value};"] if recipe.value is not None else []
        chosen: list[tuple[str, Constant]] = []
        for key, phrases in recipe.attributes.items():
            one = self._constants.find(pool, phrases)
            if one is None:
                return None
            chosen.append((key, one))
        for at, (key, one) in enumerate(chosen):
            target = "&value" if recipe.value is not None else key
            if at + 1 == len(chosen):
                lines.append(f"return {name}(handle, {one.name}, {target});")
            else:
                result = f"result_{key}"
                lines.append(f"const {status.type} {result} = {name}(handle, {one.name}, {target});")
                lines += [f"if ({result} != {status.success}) {{", f"    return {result};", "}"]
        return lines

    # -- a text in a struct -------------------------------------------------------------------------------------------

    def _text_of_struct(self, operation: Operation) -> list[Proposal]:
        """A function that fills a struct in which an array of characters has the name of what is asked for."""
        status = self._statuses[operation.group]
        found: list[Proposal] = []
        for function in self._functions(operation.group):
            score = self._survey.likeness(function, operation.name)
            if score < _LEAST or function.returns != status.type or len(function.params) != 2:
                continue
            struct = next((base_of(p.type) for p in function.params if p.type.rstrip().endswith("*")), "")
            record = self._survey.surface.sdk.records.get(self._survey.surface.canonical(struct))
            fields = [] if record is None else [one for one in record.fields if _is_text(one)]
            if not fields or not any(param.canonical in ("int", "unsigned int") for param in function.params):
                continue
            field = min(fields, key=lambda one: (len(pieces(one.name)), one.name))
            arguments = ["&properties" if p.type.rstrip().endswith("*") else "device" for p in function.params]
            value = f"properties.{field.name}"
            lines = [
                f"{struct} properties{{}};",
                f"const {status.type} result = {self._name(function)}({', '.join(arguments)});",
                "size_t length = 0;",
                f"if (result == {status.success}) {{",
                f"    for (; length + 1 < size && {value}[length] != '\\0'; ++length) {{",
                f"        name[length] = {value}[length];",
                "    }",
                "}",
                "name[length] = '\\0';",
                "return result;",
            ]
            confidence = round(score - _SEVERAL, 3)
            text = "\n".join(lines)
            found.append(Proposal(operation.name, (function.name,), text, "body", confidence, str(function.at)))
        return found

    # -- a version in one number --------------------------------------------------------------------------------------

    def _packed(self, operation: Operation) -> list[Proposal]:
        """A function with one number for major, minor and patch."""
        status = self._statuses[operation.group]
        found: list[Proposal] = []
        for function in self._functions(operation.group):
            score = self._survey.likeness(function, operation.name)
            types = [param.canonical for param in function.params]
            if score < _LEAST or function.returns != status.type or types not in (["int *"], ["unsigned int *"]):
                continue
            lines = [
                f"{types[0].removesuffix('*').strip()} code = 0;",
                f"const {status.type} result = {self._name(function)}(&code);",
                "*major = static_cast<int>(code / 10000);",
                "*minor = static_cast<int>(code / 100 % 100);",
                "*patch = static_cast<int>(code % 100);",
                "return result;",
            ]
            note = "that the number is major * 10000 + minor * 100 + patch is a convention, not in the header"
            confidence = round(score - _UNCERTAIN, 3)
            text = "\n".join(lines)
            found.append(
                Proposal(operation.name, (function.name,), text, "body", confidence, str(function.at), (note,))
            )
        return found

    # -- helpers ------------------------------------------------------------------------------------------------------

    def _functions(self, group: str) -> list[Function]:
        clusters = self._survey.surface.clusters
        return [function for prefix in self._groups[group] for function in clusters[prefix].functions]

    def _best(self, group: str, phrase: str, fits: object) -> tuple[float, Function] | None:
        assert callable(fits)
        words = self._survey.words
        best: tuple[float, Function] | None = None
        for function in self._functions(group):
            score = words.likeness(self._survey.name_words(function.name), words.phrase(phrase))
            if score >= _LEAST and fits(function) and (best is None or score > best[0]):
                best = (score, function)
        return best

    def _name(self, function: Function) -> str:
        return self._survey.surface.aliases.get(function.name, function.name)


def _is_text(field: RecordField) -> bool:
    return re.fullmatch(r"char\s*\[\d+\]", field.canonical) is not None and "name" in pieces(field.name)
