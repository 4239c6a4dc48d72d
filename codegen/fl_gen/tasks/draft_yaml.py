"""A draft as the text of vendor.yaml, with the doubts and the alternatives as comments."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fl_gen.schema.name import Name
from fl_gen.schema.runtime import Operation, Runtime
from fl_gen.tasks.draft_model import Constant, Draft, GroupDraft, Proposal
from fl_gen.tasks.draft_rank import LEAST

_HEAD = """\
# A draft by `fl-gen vendor new`. Every name in it was found in the SDK's headers; what each means was guessed from its
# name, its signature and the words of the field, so all of it is `certainty: inferred`. A comment before each binding
# says how sure the guess is (0 to 1), whether the compiler accepts it (verified), and what else might be meant. Read it
# against the vendor's documentation, remove `certainty: inferred` from what you have confirmed, and put into `source`
# the document that says so.
"""
_ALTERNATIVES = 3
_LEAST_TOLD = 0.25  # confidence below which an alternative is not worth a word
_COMMENT_WIDTH = 132


@dataclass(frozen=True)
class Parts:
    """What of a draft is written: groups by key, and the candidates of each operation."""

    groups: Mapping[str, GroupDraft]
    candidates: Mapping[str, Sequence[Proposal]]
    left_out: Mapping[str, str]


def parts_of(draft: Draft, runtime: Runtime) -> Parts:
    """The best usable proposal of each operation. A group that lacks a required one is left out, unless the runtime."""
    candidates: dict[str, list[Proposal]] = {}
    groups = dict(draft.groups)
    left_out: dict[str, str] = {}
    for name, operation in runtime.operations.items():
        best = chosen(operation, draft.proposals.get(name, ()))
        if best is not None:
            candidates[name] = [best]
        elif operation.required and operation.group in groups and operation.group != "runtime":
            left_out[operation.group] = name
    for name, needed in draft.needs.items():
        if name in candidates and needed not in candidates:
            del candidates[name]
    for key in left_out:
        del groups[key]
    candidates = {name: found for name, found in candidates.items() if runtime.operations[name].group in groups}
    return Parts(groups, candidates, left_out)


def chosen(operation: Operation, proposals: Sequence[Proposal]) -> Proposal | None:
    """The proposal that is written as a binding: the first without holes that is sure enough and not refused.

    A required operation takes the best there is.
    """
    usable = [one for one in proposals if not one.holes]
    for one in usable:
        if one.confidence >= LEAST and not one.refused:
            return one
    return usable[0] if usable and operation.required else None


def vendor_yaml(draft: Draft, runtime: Runtime, parts: Parts) -> str:
    """The whole file; it ends in a line end."""
    lines = [_HEAD.rstrip("\n"), "schema: 1", f"vendor: {draft.name}", f"title: {title_of(draft)}"]
    lines += [f"autocast_dtype: {_autocast(draft)}", "", *_sdk(draft), "", "groups:"]
    for key, group in parts.groups.items():
        lines += _group(key, group)
    for key, name in parts.left_out.items():
        group = draft.groups[key]
        lines.append(
            f"  # {key} ({', '.join(group.headers)}) is left out: nothing in it is like {name}, which is required"
        )
    if _is_loose(draft, parts, runtime):
        lines += ["", "strict_typedefs: true # several handles are one type to the compiler"]
    lines += ["", "types:"]
    for name, type_ in draft.types.items():
        if runtime.types[name].group in parts.groups:
            spelled = _global(type_.type, parts.groups[runtime.types[name].group])
            lines.append(f"  {name}: [{_text(spelled)}]" + (f" # {type_.at}" if type_.at else ""))
    lines += ["", "statuses:"]
    macros = _macro_names(draft, parts)
    for key, group in parts.groups.items():
        lines += _status(key, group, macros[key])
    constants = _constants(draft, parts, runtime)
    if constants:
        lines += ["", "constants:", *constants]
    lines += ["", "bindings:"]
    area = ""
    for name, operation in runtime.operations.items():
        if operation.group not in parts.groups:
            continue
        if name.partition(".")[0] != area:
            lines += [""] if area else []
            area = name.partition(".")[0]
        lines += _binding(
            operation, draft.proposals.get(name, ()), parts.candidates.get(name, ()), draft.needs.get(name, "")
        )
    return "\n".join(lines) + "\n"


def title_of(draft: Draft) -> str:
    """The vendor's name as a person might write it."""
    return draft.name.replace("_", " ").title() if len(draft.name) > 4 else draft.name.upper()


# -- the SDK and its parts --------------------------------------------------------------------------------------------


def _sdk(draft: Draft) -> list[str]:
    include = list(dict.fromkeys(_relative(folder, draft.roots) for folder in draft.include_dirs))
    library = list(draft.library_dirs) or ["lib"]
    headers = ", ".join(header for group in draft.groups.values() for header in group.headers)
    lines = [
        "sdk:",
        f"  name: {title_of(draft)}",
        f"  environment: [{draft.name.upper()}_HOME] # a variable of your choice that names the root",
        "  roots: []",
        f"  include: [{', '.join(map(_plain, include))}]",
        f"  library: [{', '.join(map(_plain, library))}]"
        + ("" if draft.library_dirs else " # guessed: no library was found"),
    ]
    if draft.version is not None:
        header, names = draft.version
        pairs = ", ".join(f"{part}: {name}" for part, name in zip(("major", "minor", "patch"), names, strict=False))
        lines.append(f"  version: {{header: {_plain(header)}, {pairs}}}")
    else:
        lines.append("  version: null")
    if draft.defines:
        lines.append(f"  defines: [{', '.join(draft.defines)}]")
    lines.append(f"  source: {_text(f'draft from {headers}')}")
    return lines


def _relative(folder: str, roots: Sequence[str]) -> str:
    for root in roots:
        base = os.path.abspath(os.path.expanduser(root))
        if folder == base:
            return "include"  # a root that is itself the include folder is found by its headers
        if folder.startswith(f"{base}/"):
            return folder[len(base) + 1 :]
    return folder


def _group(key: str, group: GroupDraft) -> list[str]:
    name = group_name(group)
    headers = ", ".join(map(_plain, group.headers))
    required = ", required: true" if key == "runtime" else ""
    guess = " # the library's name is guessed" if group.guessed_library else ""
    libraries = ", ".join(map(_plain, group.libraries))
    return [
        f"  {key}: {{name: {name}, title: {name}, headers: [{headers}], libraries: [{libraries}]{required}}}{guess}"
    ]


def group_name(group: GroupDraft) -> str:
    """The vendor's own name of a part, in snake_case: what its functions' names begin with."""
    return group.prefixes[0]


def _macro_names(draft: Draft, parts: Parts) -> dict[str, str]:
    names: dict[str, str] = {}
    for key, group in parts.groups.items():
        own = f"{draft.name}_CHECK" if key == "runtime" else f"{group_name(group)}_CHECK"
        longer = f"{draft.name}_{group_name(group)}_CHECK"
        taken = {*draft.macros, *names.values()}
        names[key] = next((one.upper() for one in (own, longer) if one.upper() not in taken), f"{longer}_{key}".upper())
    return names


def _status(key: str, group: GroupDraft, macro: str) -> list[str]:
    status = group.status
    return [
        f"  {key}:",
        f"    type: [{_text(status.type)}]",
        f"    success: [{_text(status.success)}]",
        f"    not_ready: [{', '.join(map(_text, status.not_ready))}]",
        f"    oom: [{', '.join(map(_text, status.oom))}]",
        f"    text: {_text(status.text)}",
        f"    macro: {macro}",
        f"    source: {_text(f'draft from {status.at or group.headers[0]}')}",
    ]


def _is_loose(draft: Draft, parts: Parts, runtime: Runtime) -> bool:
    handles = ("stream", "event", "comm", "blas_handle", "mem_pool")
    canonical = [
        type_.canonical
        for name, type_ in draft.types.items()
        if name in handles and runtime.types[name].group in parts.groups and type_.canonical != type_.type
    ]
    return len(set(canonical)) < len(canonical)


def _constants(draft: Draft, parts: Parts, runtime: Runtime) -> list[str]:
    lines: list[str] = []
    for kind, values in draft.constants.items():
        if kind in runtime.types and (runtime.types[kind].group not in parts.groups or kind not in draft.types):
            continue
        lines.append(f"  {kind}:")
        for value, one in values.items():
            if one is None and kind == "cast_kind":
                continue
            lines.append(f"    {value}: [{_constant(kind, value, one, values)}]")
    return lines


def _constant(kind: str, value: str, one: Constant | None, values: Mapping[str, Constant | None]) -> str:
    if one is None:
        return ""
    timing = values.get("disable_timing")
    if kind == "event_flags" and value == "interprocess" and timing is not None:
        return f"{one.name} | {timing.name}"  # an event of two processes has no time stamps
    return one.name


def _autocast(draft: Draft) -> str:
    known = [values.get("bfloat16") for kind, values in draft.constants.items() if kind.endswith("_dtype")]
    return "bfloat16" if any(known) or not known else "float16"


# -- bindings ---------------------------------------------------------------------------------------------------------


def _binding(
    operation: Operation, proposals: Sequence[Proposal], candidates: Sequence[Proposal], needed: str
) -> list[str]:
    name = operation.name
    others = [one for one in proposals if one not in candidates and one.confidence >= _LEAST_TOLD][:_ALTERNATIVES]
    following = ", ".join(f"{' + '.join(one.functions)} ({one.confidence:.2f})" for one in others)
    if not candidates:
        said = f"{name}: {_why_not(proposals, needed)}"
        if operation.strategy is not None:
            said += f"; strategy {operation.strategy.name}: {operation.strategy.doc}"
        elif operation.required:
            said += "; it is required: write it before the first run"
        return _wrapped(said)
    lines: list[str] = []
    for one in candidates:
        said = f"{name}: {one.confidence:.2f}, {_verdict(one)}" + (f"; next {following}" if following else "")
        lines += _wrapped("; ".join([said, *one.notes]))
        tail = [*([f"status: {one.status}"] if one.status else []), "certainty: inferred"]
        source = _text(f"draft from {one.at}")
        lines.append(f"  {name}:") if one is candidates[0] else None
        if one.form == "expr":
            lines.append(f"    - {{expr: {_text(one.code)}, {', '.join(tail)}, source: {source}}}")
        else:
            lines.append("    - body: |")
            lines += [f"        {line}".rstrip() for line in one.code.split("\n")]
            lines += [f"      {entry}" for entry in [*tail, f"source: {source}"]]
    return lines


def _verdict(one: Proposal) -> str:
    if one.verified:
        return "verified"
    return f"NOT verified: {one.refused}" if one.refused else "not verified"


def _why_not(proposals: Sequence[Proposal], needed: str) -> str:
    if not proposals:
        return "nothing in the headers is like it"
    one = proposals[0]
    what = f"{' + '.join(one.functions)} ({one.confidence:.2f})"
    if one.holes:
        return f"left out: {what} wants {' and '.join(one.holes)}, which the operation does not give"
    if one.confidence < LEAST:
        return f"nothing in the headers is like it enough; nearest {what}"
    if one.refused:
        return f"left out: {what} is refused: {one.refused}"
    return f"left out: {what} does not go without {needed}"


def _wrapped(text: str) -> list[str]:
    """A comment of two columns' indent, broken at blanks."""
    lines, line = [], "  #"
    for word in " ".join(text.split()).split(" "):
        if len(line) + 1 + len(word) > _COMMENT_WIDTH and line != "  #":
            lines.append(line)
            line = "  #  "
        line += f" {word}"
    return [*lines, line]


def _text(text: str) -> str:
    """A scalar: plain where that is safe, else in double quotes."""
    return text if text and all(c.isalnum() or c == "_" for c in text) and not text[0].isdigit() else json.dumps(text)


def _plain(path: str) -> str:
    return path if all(c.isalnum() or c in "_./+-" for c in path) and path[0] not in "-." else json.dumps(path)


def _global(type_: str, group: GroupDraft) -> str:
    """A type's name, from the global namespace if a generated class named after the group could have the same name."""
    return f"::{type_}" if type_.startswith(Name.of(group_name(group)).pascal) else type_
