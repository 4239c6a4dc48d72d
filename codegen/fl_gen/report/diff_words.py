"""What the reports of an SDK diff have in common: sentences and short forms; no layout."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fl_gen.report.sdk_words import one_line
from fl_gen.tasks.diff_values import BindingChange, BindingFate, BindingSide, Change, ItemKind, SdkChange, SdkDiff

_FEW = 4  # names that a sentence lists
PLURALS: dict[ItemKind, str] = {
    "function": "functions",
    "enumerator": "enumerators",
    "macro": "macros",
    "record": "records",
    "typedef": "typedefs",
}
CHANGES: tuple[Change, ...] = ("vanished", "changed", "deprecated", "undeprecated", "appeared", "moved")


@dataclass(frozen=True)
class WholeGroup:
    """A part of the SDK that only one of the two has, with all the bindings that came or went with it."""

    group: str
    header: str
    bindings: tuple[BindingChange, ...]


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def listed(names: Sequence[str], few: int = _FEW) -> str:
    """The names, or the first of them and how many more there are."""
    names = list(dict.fromkeys(names))
    return ", ".join(names) if len(names) <= few + 1 else f"{', '.join(names[:few])} and {len(names) - few} more"


def whole_groups(diff: SdkDiff, fate: BindingFate) -> tuple[WholeGroup, ...]:
    """The groups that the new SDK lacks (lost) or the old one (gained), each with what is bound in it."""
    found: dict[tuple[str, str], list[BindingChange]] = {}
    for one in diff.fates(fate):
        if one.missing_header is not None:
            found.setdefault((one.group, one.missing_header), []).append(one)
    return tuple(WholeGroup(group, header, tuple(ones)) for (group, header), ones in found.items())


def singly(diff: SdkDiff, fate: BindingFate) -> tuple[BindingChange, ...]:
    """What is lost or gained though its part of the SDK is there in both."""
    return tuple(one for one in diff.fates(fate) if one.missing_header is None)


def headline(diff: SdkDiff) -> list[str]:
    """What the upgrade means, in sentences, the gravest first."""
    sentences = []
    lost = diff.fates("lost")
    if diff.new.lost:
        what = count(
            len(diff.new.lost), "thing that no backend can do without is", "things that no backend can do without are"
        )
        sentences.append(f"There is no backend on the new SDK: {what} not there.")
    if diff.old.lost:
        sentences.append("There is no backend on the old SDK: what is compared is the rest of its bindings.")
    for group in whole_groups(diff, "lost"):
        sentences.append(
            f"The new SDK has no {group.group}: {group.header} is not there, and with it go {_kinds(group.bindings)}."
        )
    single = singly(diff, "lost")
    if single:
        sentences.append(f"{_kinds(single)} {'is' if len(single) == 1 else 'are'} lost: {_names(single)}.")
    if not lost:
        sentences.append(
            "Nothing that this backend uses is lost." if differs(diff) else "Nothing changes for this backend."
        )
    for group in whole_groups(diff, "gained"):
        sentences.append(f"The old SDK had no {group.group} ({group.header}); with it come {_kinds(group.bindings)}.")
    parts = []
    for fate, words in (
        ("switched", "done by another candidate now"),
        ("deprecated", "done by what is deprecated now"),
        ("gained", "there now and not before"),
        ("undeprecated", "no longer done by what is deprecated"),
    ):
        found = singly(diff, fate)  # type: ignore[arg-type]
        if found:
            parts.append(f"{_kinds(found)} {'is' if len(found) == 1 else 'are'} {words}")
    if parts:
        sentences.append(f"{'; '.join(parts)}.")
    changed = [one for one in diff.used if one.change == "changed"]
    if changed:
        sentences.append(
            f"The SDK changed {count(len(changed), 'declaration')} that this backend uses: "
            f"{listed([one.name for one in changed])}."
        )
    sentences.append(files_sentence(diff))
    return sentences


def differs(diff: SdkDiff) -> bool:
    """Whether anything at all is another on the new SDK."""
    return bool(diff.bindings or diff.changes or diff.files)


def files_sentence(diff: SdkDiff) -> str:
    """How many generated files change."""
    if diff.files_problem is not None:
        return f"Generated files cannot be compared: {diff.files_problem}."
    total = len(diff.files) + diff.files_same
    if not diff.files:
        return f"All {total} generated files stay as they are."
    added, removed = sum(one.added for one in diff.files), sum(one.removed for one in diff.files)
    verb = "changes" if len(diff.files) == 1 else "change"
    return f"{len(diff.files)} of {total} generated files {verb} (+{added} -{removed} lines)."


def sdk_sentence(diff: SdkDiff) -> str:
    """How much the SDK itself changed."""
    parts = []
    for change in CHANGES:
        ones = [one for one in diff.changes if one.change == change]
        used = sum(bool(one.used_by) for one in ones)
        if ones:
            parts.append(f"{len(ones)} {change}" + (f" ({used} used here)" if used else ""))
    return f"declarations of the SDK: {', '.join(parts)}" if parts else "the two SDKs declare the same"


def summary(diff: SdkDiff) -> str:
    """The closing line."""
    lost = diff.fates("lost")
    parts = [
        f"{diff.old.bound} of {diff.old.total} -> {diff.new.bound} of {diff.new.total} operations bound",
        f"{len(lost)} LOST" if lost else "nothing lost",
        f"{len(diff.fates('gained'))} gained",
        f"{len(diff.fates('switched'))} switched",
        f"{len(diff.fates('deprecated'))} deprecated",
        f"{len(diff.changes)} differences of the SDK",
    ]
    if diff.files_problem is None:
        parts.append(f"{len(diff.files)} of {len(diff.files) + diff.files_same} generated files change")
    return f"{diff.vendor}: {', '.join(parts)}"


def became(side: BindingSide) -> str:
    """What a binding is on one SDK, in a line."""
    if side.code:
        return one_line(" ".join(side.code) if len(side.code) > 1 else side.code[0])
    if side.strategy is not None:
        return f"strategy {side.strategy}: {side.strategy_doc}"
    return {
        "lost": "nothing: there is no backend without it",
        "absent": "nothing: its part of the SDK is not there",
    }.get(side.state, "nothing: the backend goes without it")


def rest(diff: SdkDiff) -> tuple[SdkChange, ...]:
    """The changes of what this backend does not use."""
    return tuple(one for one in diff.changes if not one.used_by)


def next_command(diff: SdkDiff) -> str | None:
    """The command that makes the backend for the new SDK, None if that changes nothing or is not possible."""
    if not diff.files or diff.new.lost:
        return None
    sdk = " ".join(f"--sdk {_quoted(one)}" for one in diff.new.given)
    return f"fl-gen backend {diff.vendor} {sdk}"


def _quoted(text: str) -> str:
    import shlex

    return shlex.quote(text)


def _kinds(ones: Iterable[BindingChange]) -> str:
    """`2 operations and 1 constant`."""
    found: dict[str, int] = {}
    for one in ones:
        found[one.kind] = found.get(one.kind, 0) + 1
    words = {"operation": "operation", "type": "type", "status": "status fact", "constant": "constant"}
    parts = [count(number, words[kind]) for kind, number in found.items()]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _names(ones: Iterable[BindingChange]) -> str:
    return listed([one.name for one in ones])
