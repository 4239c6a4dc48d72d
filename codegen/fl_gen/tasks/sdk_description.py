"""All that an SDK's headers declare, with what only another configuration would declare.

The compiler's tree is the authority on what there is; the conditions around it, and what this configuration leaves out,
come from a scan of the SDK's own headers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fl_gen.sdk.directives import Condition, Conditionals, read_conditionals
from fl_gen.sdk.hidden import Written, in_ranges, skipped_lines, spellings, written
from fl_gen.sdk.items import HeaderRead
from fl_gen.sdk.model import Declared, Macro, Sdk

Conditions = tuple[Condition, ...]


@dataclass(frozen=True)
class FunctionMacro:
    """A function-like macro; `stands_for` are the SDK's functions that its text names."""

    name: str
    params: tuple[str, ...]
    text: str
    stands_for: tuple[str, ...]
    at: Declared


@dataclass(frozen=True)
class Hidden:
    """A declaration that this configuration skips: `conditions` are those around it, `text` as the header has it.

    `declared` is where this configuration declares the same name, None if it does not.
    """

    kind: str
    name: str
    text: str
    at: Declared
    conditions: Conditions
    declared: Declared | None


@dataclass(frozen=True)
class Description:
    """An SDK as its headers have it. `guards` are names of include guards, which are macros that say nothing."""

    sdk: Sdk
    include_dirs: tuple[str, ...]
    headers: Mapping[str, Conditionals]
    inherited: Mapping[str, Conditions]
    function_macros: Mapping[str, FunctionMacro]
    renames: Mapping[str, tuple[str, ...]]
    hidden: tuple[Hidden, ...]
    guards: frozenset[str]

    def conditions(self, at: Declared) -> Conditions:
        """What must hold for what stands there, the outermost first: of the header as a whole, then of the line."""
        header = self.headers.get(at.header)
        return (*self.inherited.get(at.header, ()), *(header.at(at.line) if header is not None else ()))


def describe(
    headers: Sequence[str], include_dirs: Sequence[str], memory: Mapping[str, str] | None = None
) -> Description:
    """What `headers` declare in all their configurations. SdkHeaderError if they do not parse in this one."""
    from fl_gen.sdk.headers import read_sdk

    files = dict(memory or {})
    sdk = read_sdk(headers, include_dirs, memory=files)
    own = [header for header in sdk.headers if header.sdk]
    scans = {header.name: read_conditionals(_text(header, files)) for header in own}
    skipped = _skipped(headers, include_dirs, files, sdk)
    by_path = {header.path: header.name for header in own}
    ranges = {by_path[path]: found for path, found in skipped.items() if path in by_path}
    inherited = _inherited(headers, scans, ranges)
    texts = [(name, one) for name, scan in scans.items() for one in written(scan)]
    visible = [(name, one) for name, one in texts if not in_ranges(one.line, ranges.get(name, ()))]
    gone = _undefined(scans, ranges)
    spelled = {(name, one.line, one.name): one.text for name, one in visible if one.kind == "macro"}
    macros = {
        name: replace(macro, text=spelled.get((macro.at.header, macro.at.line, name), macro.text))
        for name, macro in sdk.macros.items()
        if name not in gone.get(macro.at.header, frozenset())
    }
    functional = _function_macros(visible, gone, sdk)
    renames = {
        name: targets for name, macro in macros.items() if (targets := _stands_for(macro, sdk)) and macro.value is None
    }
    sdk = replace(sdk, macros=macros)
    places = _places(sdk, functional)
    hidden = []
    for name, one in texts:
        at = Declared(name, one.line)
        if in_ranges(one.line, ranges.get(name, ())) and places.get(one.name) != at:
            conditions = (*inherited.get(name, ()), *scans[name].at(one.line))
            if not conditions:
                continue  # the second time through a header that guards itself
            hidden.append(Hidden(one.kind, one.name, _shown(one), at, conditions, places.get(one.name)))
    return Description(
        sdk=sdk,
        include_dirs=tuple(include_dirs),
        headers=scans,
        inherited=inherited,
        function_macros=functional,
        renames=renames,
        hidden=tuple(dict.fromkeys(hidden)),
        guards=frozenset(guard for scan in scans.values() for guard in scan.guards),
    )


def _text(header: HeaderRead, memory: Mapping[str, str]) -> str:
    if header.path in memory:
        return memory[header.path]
    try:
        return Path(header.path).read_bytes().decode("utf-8", errors="replace")
    except OSError:  # it was there a moment ago, and the compiler read it
        return ""


def _skipped(
    headers: Sequence[str], include_dirs: Sequence[str], memory: Mapping[str, str], sdk: Sdk
) -> dict[str, list[tuple[int, int]]]:
    """The lines that the preprocessor skipped, by path, with the compiler headers with which the SDK was read."""
    from fl_gen.sdk import clang
    from fl_gen.sdk.shims import tiers
    from fl_gen.sdk.unit import MAIN_FILE, build

    shims = next(one for one in tiers() if str(one) == sdk.resource_headers)
    arguments = [part for folder in (*include_dirs, *shims.dirs) for part in ("-isystem", folder)]
    text = build(headers, [], {}).text
    return skipped_lines(clang.parse(MAIN_FILE, text, arguments, {**shims.files, **memory}, detailed=True))


def _inherited(
    main: Sequence[str], scans: Mapping[str, Conditionals], ranges: Mapping[str, Sequence[tuple[int, int]]]
) -> dict[str, Conditions]:
    """The conditions of headers that are only ever included under one: those of the first #include that counted."""
    included: dict[str, list[tuple[str, Conditions]]] = {}
    for includer, scan in scans.items():
        for line in scan.lines:
            if line.directive != "include" or in_ranges(line.number, ranges.get(includer, ())):
                continue
            spelled = line.text.strip().strip('<>"')
            beside = os.path.normpath(os.path.join(os.path.dirname(includer), spelled))
            name = beside if beside in scans else spelled
            if name in scans and name != includer:
                included.setdefault(name, []).append((includer, line.conditions))
    found: dict[str, Conditions] = {}

    def of(name: str, open_: frozenset[str]) -> Conditions:
        if name in main or name in open_:
            return ()
        if name not in found:
            ways = [(*of(includer, open_ | {name}), *own) for includer, own in included.get(name, ())]
            found[name] = ways[0] if ways and all(ways) else ()
        return found[name]

    return {name: conditions for name in scans if (conditions := of(name, frozenset()))}


def _undefined(
    scans: Mapping[str, Conditionals], ranges: Mapping[str, Sequence[tuple[int, int]]]
) -> dict[str, frozenset[str]]:
    """By header, the macros whose last word there is #undef: helpers of the header that its users never see."""
    found = {}
    for name, scan in scans.items():
        state: dict[str, bool] = {}
        for line in scan.lines:
            if line.directive in ("define", "undef") and not in_ranges(line.number, ranges.get(name, ())):
                word = next(iter(spellings(line.text)), "")
                state[word] = line.directive == "undef"
        found[name] = frozenset(word for word, undefined in state.items() if undefined)
    return found


def _function_macros(
    visible: Iterable[tuple[str, Written]], gone: Mapping[str, frozenset[str]], sdk: Sdk
) -> dict[str, FunctionMacro]:
    found: dict[str, FunctionMacro] = {}
    for name, one in visible:
        if one.kind == "function_macro" and one.name not in gone.get(name, frozenset()):
            targets = tuple(dict.fromkeys(word for word in spellings(one.text) if word in sdk.functions))
            found[one.name] = FunctionMacro(one.name, one.params, one.text, targets, Declared(name, one.line))
    return found


def _stands_for(macro: Macro, sdk: Sdk) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for word in spellings(macro.text) if word in sdk.functions))


def _places(sdk: Sdk, functional: Mapping[str, FunctionMacro]) -> dict[str, Declared]:
    """Where this configuration declares each name."""
    found: dict[str, Declared] = {}
    for table in (sdk.functions, sdk.enumerators, sdk.enums, sdk.records, sdk.typedefs, sdk.macros, functional):
        for name, one in table.items():
            found.setdefault(name, one.at)
    return found


def _shown(one: Written) -> str:
    if one.kind == "function_macro":
        return f"#define {one.name}({', '.join(one.params)}) {one.text}".rstrip()
    return f"#define {one.name} {one.text}".rstrip() if one.kind == "macro" else one.text
