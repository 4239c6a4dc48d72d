"""The C++ of a proposal: the call of a function with what has to stand around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fl_gen.schema.runtime import Operation
from fl_gen.tasks.draft_fit import Fit
from fl_gen.tasks.draft_model import Status, Surface
from fl_gen.tasks.draft_survey import Survey, base_of

_DONE = ("complete", "ready", "success", "recorded complete", "status complete", "status ready")


@dataclass(frozen=True)
class Code:
    """C++ text, whether it is an expression or a body, what it costs in doubt, and what a reader must know."""

    text: str
    form: str
    cost: float = 0.0
    notes: tuple[str, ...] = ()
    status: str | None = None


def explicit(fit: Fit) -> Fit:
    """The same call with every argument that is not of the function's own type converted to it by force."""
    arguments = []
    params = list(fit.function.params)
    for param, argument in zip(params, fit.arguments, strict=True):
        forced = argument.cost > 0 and not argument.before and "(" not in param.type and argument.code != "&state"
        code = f"({re.sub(r'^const (?!.*[*])', '', param.type)})({argument.code})" if forced else argument.code
        arguments.append(replace(argument, code=code))
    return replace(fit, arguments=tuple(arguments))


def write(operation: Operation, fit: Fit, status: Status, others: dict[str, Status], survey: Survey) -> Code | None:
    """The code of a fitted call; None if its result is nothing that the operation could give."""
    surface = survey.surface
    name = surface.aliases.get(fit.function.name, fit.function.name)
    call = f"{name}({', '.join(argument.code for argument in fit.arguments)})"
    before = [argument.before for argument in fit.arguments if argument.before]
    after = [argument.after for argument in fit.arguments if argument.after]
    returns = fit.function.returns
    if operation.result == "value":
        same = _squeezed(fit.function.canonical_returns) == _squeezed(operation.returns or "")
        return Code(call, "expr") if same and not before else None
    if fit.value_at is not None:
        type_ = next(param.type for param in operation.params if param.name == fit.value_at).removesuffix("*").strip()
        lines = [*before, f"*{fit.value_at} = static_cast<{type_}>({call});", *after, f"return {status.success};"]
        return Code("\n".join(lines), "body", 0.2, ("the call gives the value itself, no status",))
    domain = None
    if returns == "void":
        if operation.result == "state" and fit.status_at is None:
            return None
        if fit.status_at is None:
            return Code("\n".join([*before, f"{call};", *after, f"return {status.success};"]), "body", 0.3)
        lines = [*before, f"{status.type} state = {status.success};", f"{call};", *after, "return state;"]
        return Code("\n".join(lines), "body", 0.05)
    if returns != status.type and surface.canonical(returns) != status.canonical:
        domain = next((key for key, other in others.items() if other.type == returns), None)
        if domain is None:
            return None
        status = others[domain]
    cost = 0.15 if domain is not None else 0.0
    if fit.status_at is not None:
        return _state(operation, fit, status, call, before, cost, domain, survey)
    # An expression is put where it is needed with any arguments; only a parameter of a function has an address.
    addressed = any(re.match(r"&|\(.*\)\(?&", argument.code) for argument in fit.arguments)
    if addressed and not before and not after:
        return Code(f"return {call};", "body", cost, status=domain)
    if before or after:
        lines = [*before, f"const {status.type} result = {call};", *after, "return result;"]
        return Code("\n".join(lines), "body", cost, status=domain)
    return Code(call, "expr", cost, status=domain)


def _state(
    operation: Operation,
    fit: Fit,
    status: Status,
    call: str,
    before: Sequence[str],
    cost: float,
    domain: str | None,
    survey: Survey,
) -> Code | None:
    """A query that gives its answer by an out parameter."""
    assert fit.status_at is not None
    base = base_of(fit.function.params[fit.status_at].type)
    if base == status.type:
        lines = [
            *before,
            f"{status.type} state = {status.success};",
            f"const {status.type} result = {call};",
            f"return result == {status.success} ? state : result;",
        ]
        return Code("\n".join(lines), "body", cost, status=domain)
    if not status.not_ready:
        return None
    done = _done(base, survey)
    if done is None:
        return None
    start, test = done
    lines = [
        *before,
        f"{base} state = {start};",
        f"const {status.type} result = {call};",
        f"if (result != {status.success}) {{",
        "    return result;",
        "}",
        f"return {test} ? {status.success} : {status.not_ready[0]};",
    ]
    return Code("\n".join(lines), "body", cost + 0.05, ("which value means done is read from its name",), domain)


def _done(base: str, survey: Survey) -> tuple[str, str] | None:
    """A first value of a state's type and the test that it means done; None if no enumerator says so."""
    surface: Surface = survey.surface
    enum = surface.sdk.enums.get(surface.canonical(base)) or surface.sdk.enums.get(base)
    if enum is None:
        return ("0", "state != 0") if base in ("int", "bool") else None
    best = None
    for one in enum.values:
        words = survey.name_words(one.name)
        if "not" in words or "ready" not in words:
            continue
        score = survey.words.best(words, _DONE)
        if best is None or score > best[0]:
            best = (score, one.name)
    if best is None:
        return None
    other = next((one.name for one in enum.values if one.name != best[1]), best[1])
    return other, f"state == {best[1]}"


def _squeezed(type_: str) -> str:
    return type_.replace(" ", "")
