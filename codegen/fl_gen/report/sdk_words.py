"""What the reports of an SDK check have in common: words for states, sentences, short forms; no layout."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from fl_gen.resolve.model import Declaration
from fl_gen.schema.errors import Diagnostic
from fl_gen.tasks.sdk_values import Chosen, FactCheck, GroupCheck, OperationCheck, SdkCheck, State

STATE_WORDS: dict[State, str] = {
    "bound": "bound",
    "strategy": "strategy",
    "left_out": "left out",
    "lost": "LOST",
    "absent": "absent",
}
# The operations whose answer may be that work is not done yet.
_STATES_ASKED = ("event.query", "stream.query")
_FEW = 6  # more names than this are counted, not listed
_SLIP = 0.9  # likeness from which on a name is another one misspelt
MANY = 12  # inferred facts that are more than this are named or counted, not explained
_SHORT = 72  # characters of a candidate's code in a table


# What is counted, one and several.
INFERRED = ("rests on an inferred fact", "rest on an inferred fact")
DEPRECATED = ("uses a deprecated call", "use a deprecated call")
MISSING = ("name not in this SDK", "names not in this SDK")
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
    if group.unusable:
        return f"left out: {group.unusable[0].message}"
    return f"left out: no {group.headers[0]}" if group.headers else "left out"


def reasons(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """Where each of some things was found out, and the first line of the suggestion."""
    lines = []
    for diagnostic in diagnostics:
        lines.append(f"{diagnostic.location}: {diagnostic.message}")
        if diagnostic.hint:
            lines.append(f"  {diagnostic.hint.splitlines()[0]}")
    return lines


def lost_line(check: SdkCheck) -> str:
    """What is lost by name, and how much is lost with it."""
    others = len(check.lost_with_others)
    more = f" (and with it {counted(others, ('operation', 'operations'))})" if others else ""
    return f"{', '.join(check.lost_names)}{more}"


def warnings(check: SdkCheck) -> list[Diagnostic]:
    """Codes and types that the vendor file names and this SDK does not have, without a word from any operation.

    A type is told when nearly the same name exists: then it is a slip, and else an older release.
    """
    found = []
    bound = {operation.name for operation in check.in_state("bound")}
    for fact in check.missing_facts:
        said = [message for one in fact.rejected for message in one.messages]
        hints = list(dict.fromkeys(message.hint for message in said if message.hint))
        domain, _, part = fact.name.partition(".")
        if fact.kind == "type" and not any(_is_slip(one.code, hints) for one in fact.rejected):
            continue
        text = f"{fact.kind} {fact.name}: this SDK has none of {', '.join(one.code for one in fact.rejected)}"
        text += "".join(f"; {message}" for message in dict.fromkeys(message.message for message in said))
        asked = [name for name in _STATES_ASKED if name in bound]
        if domain == "runtime" and part == "not_ready" and asked:
            are = "is" if len(asked) == 1 else "are"
            hints.append(f"{' and '.join(asked)} {are} bound: work that is not done yet will be taken for a failure")
        place = fact.rejected[-1].messages[0] if fact.rejected[-1].messages else None
        found.append(
            Diagnostic(
                place.location if place is not None else fact.location,
                text,
                "\n".join(hints) or None,
                length=place.length if place is not None else 1,
                rule="sdk-missing",
                severity="warning",
            )
        )
    return found


def _is_slip(name: str, hints: Sequence[str]) -> bool:
    """Whether a suggestion is `name` but for a letter or so."""
    meant = [other for hint in hints for other in re.findall(r"(?:did you mean|or) (\w+)\?", hint)]
    return any(SequenceMatcher(None, name, other).ratio() >= _SLIP for other in meant)


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
    if check.absent_groups:
        parts.append(
            f"without the {'group' if len(check.absent_groups) == 1 else 'groups'} {', '.join(check.absent_groups)}"
        )
    with_it = f" (and {len(check.lost_with_others)} with it)" if check.lost_with_others else ""
    parts.append(f"{len(check.lost_names)} LOST{with_it}" if check.lost else "nothing required is lost")
    missing = warnings(check)
    watched = (
        (missing, MISSING),
        (check.inferred, INFERRED),
        (check.deprecated, DEPRECATED),
        (check.sdk.libraries_missing, LIBRARIES),
    )
    parts += [counted(len(items), what) for items, what in watched if items]
    return f"{check.target}: {', '.join(parts)}"
