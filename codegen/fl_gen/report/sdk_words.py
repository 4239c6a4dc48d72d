"""What the reports of an SDK check have in common: words for states, sentences, short forms; no layout."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fl_gen.resolve.model import Declaration
from fl_gen.tasks.sdk_values import Chosen, FactCheck, GroupCheck, OperationCheck, SdkCheck, State

STATE_WORDS: dict[State, str] = {
    "bound": "bound",
    "strategy": "strategy",
    "left_out": "left out",
    "lost": "LOST",
    "absent": "absent",
}
_FEW = 6  # more names than this are counted, not listed
_SHORT = 72  # characters of a candidate's code in a table


# What is counted, one and several.
INFERRED = ("rests on an inferred fact", "rest on an inferred fact")
DEPRECATED = ("uses a deprecated call", "use a deprecated call")
LIBRARIES = ("library not found", "libraries not found")


def counted(count: int, what: tuple[str, str]) -> str:
    """A number with the words for it."""
    return f"{count} {what[0] if count == 1 else what[1]}"


def one_line(code: str, limit: int = _SHORT) -> str:
    """C++ on one line, cut to `limit` characters."""
    text = " ".join(code.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def calls(chosen: Chosen) -> tuple[Declaration, ...]:
    """What stands for a choice: the functions and function-like macros that it calls, else the first name it uses."""
    code = chosen.code
    found = tuple(
        use for use in chosen.declarations if use.signature or re.search(rf"\b{re.escape(use.name)}\s*\(", code)
    )
    return found or chosen.declarations[:1]


def marks(operation: OperationCheck) -> list[str]:
    """What a choice has to be watched for: inferred, deprecated."""
    chosen = operation.chosen
    if chosen is None:
        return []
    return ["inferred"] * chosen.inferred + ["deprecated"] * (chosen.deprecated is not None)


def instead(operation: OperationCheck) -> str:
    """What becomes of an operation that no candidate can do."""
    if operation.strategy is not None:
        return f"{operation.strategy.name}: {operation.strategy.doc}"
    if operation.state == "left_out":
        return "the backend goes without it"
    if operation.state == "absent":
        return "its part of the SDK is not here"
    return "nothing can stand in for it: no backend on this SDK"


def group_state(group: GroupCheck) -> str:
    """Found, or left out and why."""
    if group.present:
        return "found"
    return f"left out: no {group.headers[0]}" if group.headers else "left out"


def libraries(check: SdkCheck, group: GroupCheck) -> list[tuple[str, str | None]]:
    """The libraries of a group that is there, each with its file or None. Nothing is known of a double's, unbuilt."""
    if not group.present or not check.sdk.libraries:
        return []
    return [(name, check.sdk.libraries.get(name)) for name in group.libraries]


def fact_lines(check: SdkCheck) -> list[tuple[str, str]]:
    """Types, status codes and constants in a few lines: label and text."""
    lines = []
    facts = [fact for fact in check.facts if fact.state != "absent"]
    types = [fact for fact in facts if fact.kind == "type"]
    lines.append(("types", _counted(types, [fact.name for fact in types])))
    for domain in dict.fromkeys(fact.name.partition(".")[0] for fact in facts if fact.kind == "status"):
        parts = {fact.name.partition(".")[2]: fact for fact in facts if fact.name.startswith(f"{domain}.")}
        words = [
            f"{part.replace('_', ' ')} {' '.join(one.code for one in fact.chosen) or 'none'}"
            for part, fact in parts.items()
            if part != "text"
        ]
        lines.append((f"{domain} status", ", ".join(words)))
    for kind in dict.fromkeys(fact.name.partition(".")[0] for fact in facts if fact.kind == "constant"):
        named = [fact for fact in facts if fact.kind == "constant" and fact.name.startswith(f"{kind}.")]
        lines.append((kind, _counted(named, [fact.name.partition(".")[2] for fact in named])))
    return lines


def _counted(facts: Sequence[FactCheck], names: Sequence[str]) -> str:
    """How many of what the vendor file names exist, those that do not, and those that it has no name for."""
    named = [fact for fact in facts if fact.chosen or fact.rejected]
    here = sum(fact.state == "bound" for fact in named)
    refused, unnamed = [], []
    for name, fact in zip(names, facts, strict=True):
        if fact.rejected and not fact.chosen:
            refused.append(f"{name} ({', '.join(one.code for one in fact.rejected)})")
        elif not fact.chosen:
            unnamed.append(name)
    parts = [f"{here} of {len(named)}"]
    parts += [f"not in this SDK: {', '.join(refused)}"] * bool(refused)
    if len(unnamed) > _FEW:
        parts.append(f"{len(unnamed)} values have no name in the schema")
    elif unnamed:
        parts.append(f"no name in the schema: {', '.join(unnamed)}")
    return "; ".join(parts)


def summary(check: SdkCheck) -> str:
    """The closing sentence."""
    parts = [
        f"{check.coverage.bound} of {check.coverage.total} operations bound ({check.coverage.percent:g} %)",
        f"{len(check.in_state('strategy'))} by strategy",
        f"{len(check.in_state('left_out'))} left out",
    ]
    parts.append(f"{len(check.lost_names)} LOST" if check.lost else "nothing required is lost")
    watched = ((check.inferred, INFERRED), (check.deprecated, DEPRECATED), (check.sdk.libraries_missing, LIBRARIES))
    parts += [counted(len(items), what) for items, what in watched if items]
    return f"{check.target}: {', '.join(parts)}"
