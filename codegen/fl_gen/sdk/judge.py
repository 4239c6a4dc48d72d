"""The probe's rounds: parse, attribute what clang says, choose, and parse the chosen ones alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from . import clang, lex
from .attribute import Round, attribute
from .faults import HeaderTrouble, header_error
from .items import Finding, Outcome, ProbeItem
from .names import Names
from .reads import headers_read
from .shims import Shims
from .special import refuse_special_files
from .suggest import add_suggestions
from .unit import MAIN_FILE, build, placeholders
from .uses import uses_of


def judge(
    items: Sequence[ProbeItem],
    headers: Sequence[str],
    folders: Sequence[str],
    memory: Mapping[str, str],
    shims: Sequence[Shims],
) -> Outcome:
    """Try each set of compiler headers until the SDK's headers parse; SdkHeaderError if none makes them."""
    refuse_special_files(folders)
    troubles: list[HeaderTrouble] = []
    for one in shims:
        try:
            return _Judge(items, headers, folders, memory, one).outcome()
        except HeaderTrouble as trouble:
            troubles.append(trouble)
    raise header_error(troubles, folders)


@dataclass
class _Judge:
    items: Sequence[ProbeItem]
    headers: Sequence[str]
    folders: Sequence[str]
    memory: Mapping[str, str]
    shims: Shims
    findings: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    deprecated: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    parses: int = 0
    by_id: dict[str, ProbeItem] = field(default_factory=dict)
    headers_checked: bool = False

    def outcome(self) -> Outcome:
        self.by_id = {item.id: item for item in self.items}
        self._lex()
        last = self._first_rounds()
        chosen, last = self._confirm(last)
        last = last or self._parse([])
        read = headers_read(last.parsed, self.headers, self.folders, self.memory, self.shims)
        own = {header.path: header.name for header in read if header.sdk}
        names = Names(last.tree, own.get)
        uses = uses_of((span.item for span in last.unit.spans), names, read, self.folders, self.memory)
        findings = add_suggestions(self.items, self.findings, chosen, self.types, names)
        return Outcome(
            findings={item.id: findings.get(item.id, ()) for item in self.items},
            deprecated=self.deprecated,
            uses=uses,
            chosen=chosen,
            types=dict(self.types),
            headers=read,
            libclang=clang.version(),
            resource_headers=str(self.shims),
            parses=self.parses,
        )

    # -- before any parse ---------------------------------------------------------------------------------------------

    def _lex(self) -> None:
        provided = {item.provides for item in self.items if item.form == "type" and item.provides}
        for item in self.items:
            found = list(lex.check(item.code, item.form))
            for name in sorted(placeholders(item) - provided):
                offset = max(0, item.code.find(f"${name}"))
                found.append(Finding(f"there is no portable type ${name}", offset, len(name) + 1))
            for helper in item.helpers:
                if helper not in self.by_id or self.by_id[helper].form != "helper":
                    found.append(Finding(f"there is no helper {_short(helper)}", 0, rule="sdk-candidate"))
            if item.form == "type" and placeholders(item):
                found.append(Finding("a type may not be made of portable types", 0, rule="sdk-candidate"))
            if found:
                self.findings[item.id] = tuple(found)

    # -- rounds -------------------------------------------------------------------------------------------------------

    def _first_rounds(self) -> Round | None:
        """Judge every item, each with the types that turn out to be the chosen ones; the last round parsed."""
        self.types = self._guess_types()
        waiting = [item for item in self.items if item.id not in self.findings]
        last = None
        while waiting:
            last = self._judge_together(waiting)
            guessed, self.types = self.types, self._choose_types()
            changed = {name for name in {*guessed, *self.types} if guessed.get(name) != self.types.get(name)}
            waiting = []
            if changed:
                # These were judged with a type that is not the SDK's: what was said about them does not count.
                again = [item for item in self.items if self._needs(item) & changed]
                for item in again:
                    if not lex.check(item.code, item.form):
                        self.findings.pop(item.id, None)
                waiting = [item for item in self.items if item.id not in self.findings]
        self._spread()
        return last

    def _needs(self, item: ProbeItem) -> set[str]:
        names = placeholders(item)
        for helper in self._helpers([item]):
            names |= placeholders(helper)
        return names

    def _helpers(self, items: Iterable[ProbeItem]) -> list[ProbeItem]:
        """The helpers that items use, and those that helpers use."""
        found: dict[str, ProbeItem] = {}
        waiting = [name for item in items for name in item.helpers]
        while waiting:
            name = waiting.pop()
            helper = self.by_id.get(name)
            if helper is not None and name not in found:
                found[name] = helper
                waiting += helper.helpers
        return list(found.values())

    def _judge_together(self, items: Sequence[ProbeItem]) -> Round:
        """Judge items in one unit; those that this cannot decide are parsed alone."""
        items = self._typed(items)
        result = self._parse(items)
        while result.fatal:
            # After a fatal error clang reports nothing more: what came later has not been looked at.
            self._record(result, result.fatal)
            items = [item for item in items if item.id not in result.fatal]
            result = self._parse(items)
        self._check_helpers(result, items)
        if result.broken:
            self._check_headers()
        doubtful = [item for item in items if item.id not in result.sound] if result.broken else []
        self._record(result, {item.id for item in items} - {item.id for item in doubtful})
        for item in doubtful:
            self._judge_alone(item)
        return result

    def _check_headers(self) -> None:
        """Raise HeaderTrouble if the headers without any item leave something open, which the end of the unit shows."""
        if self.headers_checked:
            return
        alone = self._parse([])
        if alone.stray:
            raise HeaderTrouble(alone.stray, alone.unit, alone.parsed)
        if not alone.tree.framed:
            text = (
                "the headers change C++ itself (a keyword is defined as a macro), so nothing behind them can be judged"
            )
            message = clang.Message(clang.ERROR, text, clang.Place(MAIN_FILE, 1, 1, 0), "", 1, ())
            raise HeaderTrouble([message], alone.unit, alone.parsed)
        self.headers_checked = True

    def _check_helpers(self, result: Round, items: Sequence[ProbeItem]) -> None:
        """All helpers stand in one unit with all items: an item must name those that it uses, or they are left out."""
        owners = result.tree.helper_names()
        if not owners:
            return
        for item in items:
            named = {helper.id for helper in self._helpers([item])} | {item.id}
            own = {name for _, name in item.params}
            for token in lex.tokens(item.code):
                owner = owners.get(token.text) if token.kind == "name" and token.text not in own else None
                if owner is not None and owner not in named:
                    text = f"{token.text} is of helper {_short(owner)}, which this does not name"
                    finding = Finding(text, token.offset, len(token.text), "add it under helpers:", "sdk-candidate")
                    self.findings.setdefault(item.id, (finding,))

    def _typed(self, items: Sequence[ProbeItem]) -> list[ProbeItem]:
        """The items whose portable types the SDK has; the others get a finding."""
        kept = []
        for item in items:
            missing = sorted(placeholders(item) - set(self.types))
            if missing:
                text = f"this SDK has no type for ${missing[0]}"
                self.findings[item.id] = (Finding(text, max(0, item.code.find(f"${missing[0]}"))),)
            else:
                kept.append(item)
        return kept

    def _judge_alone(self, item: ProbeItem) -> None:
        with_helpers = [h for h in self._helpers([item]) if h.id not in self.findings]
        result = self._parse([*with_helpers, item])
        found = list(result.findings.get(item.id, ()))
        if not found and (item.id not in result.sound or result.stray):
            said = f": clang: {result.stray[0].text}" if result.stray else ""
            found = [Finding(f"this does not stay inside its own function{said}", 0, rule="sdk-candidate")]
        if found:
            self.findings[item.id] = tuple(found)
        elif item.id in result.deprecated:
            self.deprecated[item.id] = result.deprecated[item.id]

    def _record(self, result: Round, ids: Iterable[str]) -> None:
        for id_ in ids:
            found = result.findings.get(id_, ())
            if found:
                self.findings[id_] = tuple(found)
            elif id_ in result.deprecated:
                self.deprecated[id_] = result.deprecated[id_]

    def _spread(self) -> None:
        """An item is no better than its helpers."""
        for item in self.items:
            if item.id in self.findings:
                continue
            for helper in self._helpers([item]):
                if helper.id in self.findings:
                    said = self.findings[helper.id][0].message
                    self.findings[item.id] = (Finding(f"its helper {_short(helper.id)} is not valid: {said}", 0),)
                    break

    # -- choosing -----------------------------------------------------------------------------------------------------

    def _choose(self) -> dict[str, str | None]:
        """By group: the first valid alternative that is not deprecated, else the first valid one."""
        best: dict[str, tuple[int, str] | None] = {}
        for item in self.items:
            best.setdefault(item.choice, None)
            if item.id in self.findings:
                continue
            rank = 1 if item.id in self.deprecated else 0
            held = best[item.choice]
            if held is None or rank < held[0]:
                best[item.choice] = (rank, item.id)
        return {group: held[1] if held else None for group, held in best.items()}

    def _choose_types(self) -> dict[str, str]:
        chosen = self._choose()
        types: dict[str, str] = {}
        for item in self.items:
            if item.form == "type" and item.provides and chosen.get(item.choice) == item.id:
                types.setdefault(item.provides, item.code.strip())
        return types

    def _guess_types(self) -> dict[str, str]:
        """The types that the SDK probably has, so that one parse is nearly always enough: those its headers mention."""
        rivals: dict[str, list[ProbeItem]] = {}
        for item in self.items:
            if item.form == "type" and item.provides and item.id not in self.findings:
                rivals.setdefault(item.provides, []).append(item)
        types: dict[str, str] = {}
        words: set[str] | None = None
        for name, items in rivals.items():
            best = items[0]
            if len(items) > 1:
                if words is None:
                    words = set(re.findall(r"[A-Za-z_]\w*", "\n".join(map(self._header_text, self.headers))))
                for item in reversed(items):
                    spelled = [token.text for token in lex.tokens(item.code) if token.kind == "name"]
                    best = item if spelled and spelled[-1] in words else best
            types[name] = best.code.strip()
        return types

    def _header_text(self, header: str) -> str:
        for folder in self.folders:
            path = os.path.join(folder, header)
            if path in self.memory:
                return self.memory[path]
            try:
                with open(path, encoding="utf-8", errors="replace") as stream:
                    return stream.read()
            except OSError:
                continue
        return ""

    def _confirm(self, last: Round | None) -> tuple[dict[str, str | None], Round | None]:
        """Parse the chosen set alone until it gives no error anywhere, dropping what does not hold."""
        while True:
            chosen = self._choose()
            ids = {id_ for id_ in chosen.values() if id_ is not None}
            picked = [self.by_id[id_] for id_ in ids]
            ids |= {helper.id for helper in self._helpers(picked)}
            items = [item for item in self.items if item.id in ids]
            if last is not None and last.clean and ids <= last.sound:
                return chosen, last
            last = self._parse(items)
            if last.clean:
                return chosen, last
            self._check_headers()
            doubtful = [item for item in items if item.id in last.findings or item.id not in last.sound] or items
            before = set(self.findings)
            for item in doubtful:
                self._judge_alone(item)
            if set(self.findings) == before:
                # Each is fine alone and not together: what clang says of the set is then the truth about them.
                self._record(last, set(last.findings))
            if set(self.findings) == before:
                for item in doubtful:
                    self.findings[item.id] = (Finding("this does not compile together with the other bindings", 0),)
            self._spread()

    def _parse(self, items: Sequence[ProbeItem]) -> Round:
        unit = build(self.headers, items, self.types)
        arguments = [part for folder in (*self.folders, *self.shims.dirs) for part in ("-isystem", folder)]
        parsed = clang.parse(MAIN_FILE, unit.text, arguments, {**self.shims.files, **self.memory})
        self.parses += 1
        return attribute(unit, parsed)


def _short(id_: str) -> str:
    """The name that people know: ids may carry a kind before it, as in `helper:flat_tensor`."""
    return id_.rpartition(":")[2]
