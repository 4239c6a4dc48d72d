"""How the arguments of an operation go into a function of the SDK: which to which, and written how.

Every pair of an operation's parameter and a function's parameter has a cost, from 0 (the same type and a name of the
same meaning) to impossible; so has leaving one out, or passing something that the operation does not say. The cheapest
assignment is found exactly (the Hungarian method).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fl_gen.schema.runtime import Operation, Param
from fl_gen.sdk.model import Function, Parameter
from fl_gen.tasks.draft_model import Surface, TypeDraft
from fl_gen.tasks.draft_survey import Survey, base_of

IMPOSSIBLE = 50.0
_INTEGERS = (
    "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int", "long", "unsigned long",
    "long long", "unsigned long long", "bool",
)  # fmt: skip
# What it costs not to pass on an argument: those that many SDKs take from elsewhere cost little.
_MISSED = {
    "device": 0.05,
    "kind": 0.15,
    "flags": 0.05,
    "ranks": 0.05,
    "size": 0.25,
    "id": 0.3,
    "send_buffer": 0.3,
    "recv_buffer": 0.5,
}
_MISSED_ELSE = 0.6
_UNLIKE_NAME = 0.06
_OTHER_NAME = 0.2
_FLAG_NAMES = ("flags", "flag", "reserved", "mode", "options")


@dataclass(frozen=True)
class Argument:
    """How one argument is written. `before` and `after` are statements around the call."""

    code: str
    cost: float
    before: str = ""
    after: str = ""
    hole: str = ""
    alone: bool = False  # one value goes where an array goes


@dataclass(frozen=True)
class Fit:
    """A function with its arguments. `cost` is the sum of what is unlike the operation."""

    function: Function
    arguments: tuple[Argument, ...]
    cost: float
    missed: tuple[str, ...]
    status_at: int | None = None  # the function's parameter that receives a status or state
    value_at: str | None = None  # the operation's out parameter that takes the function's result


class Fitter:
    """Fits functions to operations of one SDK, whose types are known."""

    def __init__(
        self, survey: Survey, types: Mapping[str, TypeDraft], flags: Mapping[str, str], objects: frozenset[str]
    ) -> None:
        """`flags`: what calls of an area of operations are given where they ask for flags; `objects`: types that stand
        for a device and are no ordinal."""
        self._objects = objects
        self._survey = survey
        self._surface: Surface = survey.surface
        self._types = types
        self._flags = flags
        self._names = {
            name: tuple(_plain(one) for one in names) for name, names in survey.vocabulary.parameters.items()
        }

    def spelled(self, text: str) -> str:
        """A type text of runtime.yaml with the SDK's types."""
        return re.sub(
            r"\$([a-z0-9_]+)", lambda m: self._types[m.group(1)].type if m.group(1) in self._types else m.group(0), text
        )

    def fit(self, operation: Operation, function: Function, status: str) -> Fit:
        """The cheapest way to call `function` for `operation`, whose status domain has the type `status`."""
        value_at = self._value_at(operation, function, status)
        wanted = [param for param in operation.params if param.name != value_at]
        status_at = self._status_at(operation, function, status, wanted)
        given = [(at, param) for at, param in enumerate(function.params) if at != status_at]
        size = len(wanted) + len(given)
        table = [[IMPOSSIBLE] * size for _ in range(size)]
        pairs: dict[tuple[int, int], Argument] = {}
        for row, want in enumerate(wanted):
            for column, (_, param) in enumerate(given):
                argument = self._argument(want, param)
                if argument is not None:
                    pairs[row, column] = argument
                    order = 0.001 * abs(row - column)
                    table[row][column] = argument.cost + self._name_cost(want, param, operation) + order
            for column in range(len(given), size):
                table[row][column] = self._missed(want, operation)
        fillers = [self._filler(param, operation, wanted) for _, param in given]
        for row in range(len(wanted), size):
            for column, filler in enumerate(fillers):
                table[row][column] = filler.cost
            for column in range(len(given), size):
                table[row][column] = 0.0
        chosen = assign(table)
        arguments: list[Argument] = []
        cost = sum(table[row][column] for row, column in enumerate(chosen))
        alone = any(
            pairs[row, column].alone
            for row, column in enumerate(chosen)
            if (row, column) in pairs and row < len(wanted)
        )
        by_column = {column: row for row, column in enumerate(chosen)}
        for column, filler in enumerate(fillers):
            row = by_column[column]
            argument = pairs[row, column] if row < len(wanted) and (row, column) in pairs else filler
            if argument is filler and alone and filler.code == "0" and self._counts(given[column][1]):
                argument = Argument("1", filler.cost)
            arguments.append(argument)
        missed = tuple(want.name for row, want in enumerate(wanted) if chosen[row] >= len(given))
        if status_at is not None:
            arguments.insert(status_at, Argument("&state", 0.0))
        return Fit(function, tuple(arguments), cost, missed, status_at, value_at)

    # -- results ------------------------------------------------------------------------------------------------------

    def _value_at(self, operation: Operation, function: Function, status: str) -> str | None:
        """The only out parameter of an operation if the function returns that value instead of a status."""
        result = function.canonical_returns
        if operation.result != "status" or function.returns == status or result not in _INTEGERS or status == result:
            return None
        outs = [param for param in operation.params if param.type in ("int *", "size_t *")]
        pointers = [param for param in function.params if param.canonical.endswith("*")]
        return outs[0].name if len(outs) == 1 and not pointers else None

    def _status_at(self, operation: Operation, function: Function, status: str, wanted: Sequence[Param]) -> int | None:
        """The parameter by which a function gives a status (it returns nothing) or a state (of a query)."""
        for at, param in enumerate(function.params):
            base, pointer = base_of(param.type), param.type.rstrip().endswith("*") and "const" not in param.type
            if not pointer or param.canonical.count("*") != 1:
                continue
            if function.canonical_returns == "void" and base == status:
                return at
            enum = self._surface.canonical(base) in self._surface.sdk.enums or base in self._surface.sdk.enums
            if operation.result == "state" and (base == status or enum or (base in ("int", "bool") and not wanted[1:])):
                return at
        return None

    # -- one argument -------------------------------------------------------------------------------------------------

    def _argument(self, want: Param, param: Parameter) -> Argument | None:
        """How the operation's `want` is written where the function takes `param`; None where it cannot go."""
        text, theirs = _squeeze(self.spelled(want.type)), _squeeze(param.type)
        mine, canonical = _squeeze(self._canonical(self.spelled(want.type))), _squeeze(param.canonical)
        name = want.name
        if want.type in ("int", "int *") and base_of(param.type) in self._objects:
            return None
        portable = "$" in want.type
        if text == theirs or (mine == canonical and (not portable or mine not in ("void*", "int", "void**"))):
            return Argument(name, 0.0)
        if mine == canonical and portable:
            # Handles that are all one type to the compiler: their names tell them apart.
            return None if self._is_other(theirs, want) else Argument(name, 0.1)
        if mine in _INTEGERS_SQUEEZED and canonical in _INTEGERS_SQUEEZED and not portable:
            return Argument(f"static_cast<{param.type}>({name})", 0.03)
        if mine.endswith("*") and canonical == f"const{mine}":
            return Argument(name, 0.02)
        if mine.startswith("const") and canonical == mine[5:]:
            return Argument(f"const_cast<{_tidy(param.canonical)}>({name})", 0.05)
        if mine.endswith("*") and canonical == ("constvoid*" if mine.startswith("const") else "void*"):
            return Argument(name, 0.05)
        if portable and mine.startswith("const") and mine[5:] == f"{canonical}*":
            return Argument(f"*{name}", 0.02)
        if canonical in (f"{mine}*", f"const{mine}*") and not mine.endswith("**") and mine != "void*":
            return Argument(f"&{name}", 0.15 if portable else 0.12, alone=True)
        if (
            mine.endswith("*")
            and canonical.endswith("*")
            and mine[:-1] in _INTEGERS_SQUEEZED - {"char"}
            and canonical[:-1] in _INTEGERS_SQUEEZED
        ):
            type_ = _tidy(param.type.rstrip().removesuffix("*"))
            return Argument(
                f"&{name}_value",
                0.05,
                f"{type_} {name}_value = 0;",
                f"*{name} = static_cast<{_tidy(want.type[:-1])}>({name}_value);",
            )
        if mine == "float*" and canonical in ("double*", "unsignedlong*", "unsignedlonglong*", "long*"):
            type_ = _tidy(param.type.rstrip().removesuffix("*"))
            return Argument(
                f"&{name}_value", 0.1, f"{type_} {name}_value = 0;", f"*{name} = static_cast<float>({name}_value);"
            )
        if mine == "void**" and re.fullmatch(r"[a-z]+\*\*", canonical):
            return Argument(f"reinterpret_cast<{_tidy(param.type)}>({name})", 0.3)
        if mine in ("void*", "constvoid*") and canonical.endswith("*") and not portable:
            if canonical.count("*") > 1 or self._is_handle(param):
                return None
            inner = (
                f"const_cast<void *>({name})"
                if mine.startswith("const") and not canonical.startswith("const")
                else name
            )
            return Argument(f"static_cast<{_tidy(param.type)}>({inner})", 0.25)
        return None

    def _is_other(self, theirs: str, want: Param) -> bool:
        """Whether a type name of the SDK stands for another portable type than the one wanted."""
        base = base_of(theirs)
        return any(one.type == base for name, one in self._types.items() if f"${name}" not in want.type)

    def _is_handle(self, param: Parameter) -> bool:
        base = base_of(param.type)
        return base in self._surface.sdk.typedefs and _squeeze(param.canonical).endswith("*")

    def _name_cost(self, want: Param, param: Parameter, operation: Operation) -> float:
        if not param.name:
            return 0.02
        plain = _plain(param.name)
        if plain in (_plain(want.name), f"{_plain(want.name)}s"):
            return 0.0
        # One value may go where an array of them goes: its name is the plural's.
        if any(plain in self._names.get(name, ()) for name in (want.name, f"{want.name}s")):
            return 0.0
        claimed = any(plain in names for one, names in self._names.items() if one != want.name)
        return _OTHER_NAME if claimed else _UNLIKE_NAME

    def _missed(self, want: Param, operation: Operation) -> float:
        if want.name in operation.name.split("_"):
            return _MISSED_ELSE  # it is what the operation is about, as flags of create_with_flags
        return _MISSED.get(want.name, _MISSED_ELSE if not want.type.endswith("*") else 0.8)

    # -- what the operation does not say ------------------------------------------------------------------------------

    def _filler(self, param: Parameter, operation: Operation, wanted: Sequence[Param]) -> Argument:
        """What is passed where the operation has nothing for it, and what that costs."""
        plain, canonical = _plain(param.name), _squeeze(param.canonical)
        for want in wanted:
            # One thing told twice, as a size that is the room as well: only under a name of that meaning.
            again = self._argument(want, param)
            if (
                again is not None
                and plain in self._names.get(want.name, ())
                and canonical in _INTEGERS_SQUEEZED
                and not again.before
            ):
                return Argument(again.code, 0.1)
        base = base_of(param.type)
        enum = self._surface.sdk.enums.get(self._surface.canonical(base)) or self._surface.sdk.enums.get(base)
        if enum is not None and not canonical.endswith("*"):
            return Argument(
                self._default(base, [one.name for one in enum.values], [one.value for one in enum.values]), 0.12
            )
        if canonical in _INTEGERS_SQUEEZED:
            if plain in _FLAG_NAMES:
                return Argument(self._flags.get(operation.name.partition(".")[0], "0"), 0.08)
            return Argument("0", 0.25)
        if canonical in ("float", "double"):
            return Argument("0", 0.5)
        if any(one.type == base for one in self._types.values()) and not canonical.endswith("**"):
            return Argument("nullptr", 0.7, hole=f"{param.type} {param.name}")
        if canonical == "constchar*":
            return Argument("nullptr", 0.15)
        if "(*)" in canonical:
            return Argument("nullptr", 0.4, hole=f"{param.type} {param.name}")
        if canonical.endswith("*"):
            opaque = self._is_handle(param) or canonical.endswith("**") or not canonical.startswith("const")
            free = canonical.startswith("const") or plain in self._names.get("id", ())
            return Argument(
                "nullptr", 0.25 if free and not opaque else 0.4, hole="" if free else f"{param.type} {param.name}"
            )
        return Argument("{}", 0.9, hole=f"{param.type} {param.name}")

    def _default(self, type_: str, names: Sequence[str], values: Sequence[int]) -> str:
        survey = self._survey
        scored = [
            (survey.words.best(survey.name_words(name), survey.vocabulary.defaults), values[at] == 0, -at, name)
            for at, name in enumerate(names)
        ]
        return max(scored)[3] if scored else f"static_cast<{type_}>(0)"

    def _counts(self, param: Parameter) -> bool:
        return _plain(param.name) in self._names.get("count", ())

    def _canonical(self, text: str) -> str:
        base = base_of(text)
        known = {"size_t": "unsigned long", "uint64_t": "unsigned long"}
        canonical = known.get(base) or self._surface.canonical(base)
        return text.replace(base, canonical, 1) if base else text


def _squeeze(type_: str) -> str:
    text = re.sub(r"\b(?:struct|enum|union|volatile|__restrict|restrict)\b", "", type_)
    text = re.sub(r"\s+const$", "", text.strip())
    if "*" not in text and "[" not in text:
        text = re.sub(r"\bconst\b", "", text)  # of a copy nobody cares
    return re.sub(r"\s+", "", re.sub(r"\[\d*\]", "*", re.sub(r"\*\s*const\b", "*", text)))


_INTEGERS_SQUEEZED = frozenset(name.replace(" ", "") for name in _INTEGERS)


def _tidy(type_: str) -> str:
    return re.sub(r"\s*\bconst$", "", type_.strip())


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def assign(table: Sequence[Sequence[float]]) -> list[int]:
    """The column of each row so that the sum of a square table's costs is least (the Hungarian method, O(n^3))."""
    size = len(table)
    rows, columns = [0.0] * (size + 1), [0.0] * (size + 1)
    match, way = [0] * (size + 1), [0] * (size + 1)
    for row in range(1, size + 1):
        match[0], column = row, 0
        least, used = [float("inf")] * (size + 1), [False] * (size + 1)
        while True:
            used[column] = True
            at, delta, following = match[column], float("inf"), 0
            for other in range(1, size + 1):
                if used[other]:
                    continue
                cost = table[at - 1][other - 1] - rows[at] - columns[other]
                if cost < least[other]:
                    least[other], way[other] = cost, column
                if least[other] < delta:
                    delta, following = least[other], other
            for other in range(size + 1):
                if used[other]:
                    rows[match[other]] += delta
                    columns[other] -= delta
                else:
                    least[other] -= delta
            column = following
            if match[column] == 0:
                break
        while column:
            before = way[column]
            match[column] = match[before]
            column = before
    result = [0] * size
    for column in range(1, size + 1):
        result[match[column] - 1] = column - 1
    return result
