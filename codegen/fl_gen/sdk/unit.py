"""Writes a probe translation unit and knows which byte of it came from which character of which item."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .clang import WARNINGS
from .items import ProbeItem

MAIN_FILE = "/__fl_gen_probe__/probe.cc"
NAMESPACE = "fl_probe"

# Generated code includes <cstdint>; an SDK's headers need not, and no header is worth reading for these names.
# One that a header has as a macro is there.
_WORDS = "".join(
    f"#ifndef {name}\nusing {name} = __{macro}_TYPE__;\n#endif\n"
    for name, macro in (("size_t", "SIZE"), *((f"{n}_t", n.upper()) for n in ("int32", "uint32", "int64", "uint64")))
)
# Headers that switch a warning off for themselves, and forget to switch it on again, switch it off for what follows.
_PRAGMAS = "".join(f'#pragma clang diagnostic {level} "-W{name}"\n' for level, name in WARNINGS)
_PLACEHOLDER = re.compile(r"\$([a-z][a-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of bytes that is the code's text from character `source` on, or what stands for a `$name` there."""

    start: int
    end: int
    source: int
    replaced: bool
    text: str


@dataclass(frozen=True)
class Span:
    """Where an item stands in the unit, in bytes: the whole declaration, its opening brace (or begin), and its code."""

    item: ProbeItem
    start: int
    end: int
    brace: int
    code_start: int
    code_end: int
    segments: tuple[Segment, ...]

    def offset(self, byte: int) -> int:
        """The character offset in the item's code of a byte of the unit; what surrounds the code maps to its ends."""
        if byte <= self.code_start:
            return 0
        if byte >= self.code_end:
            return len(self.item.code)
        for segment in self.segments:
            if segment.start <= byte < segment.end:
                if segment.replaced:
                    return segment.source
                skipped = segment.text.encode()[: byte - segment.start]
                return segment.source + len(skipped.decode(errors="ignore"))
        return len(self.item.code)

    def byte(self, offset: int) -> int:
        """The byte of the unit that shows the character at `offset` of the code."""
        for segment in self.segments:
            width = len(segment.text) if not segment.replaced else 1
            if segment.source <= offset < segment.source + width:
                inner = 0 if segment.replaced else len(segment.text[: offset - segment.source].encode())
                return segment.start + inner
        return self.code_end


@dataclass
class Unit:
    """A translation unit under construction. `spans` are in the order of the text."""

    text: bytes = b""
    spans: list[Span] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    includes: dict[int, str] = field(default_factory=dict)  # byte offset of an #include line -> header

    def find(self, byte: int) -> Span | None:
        """The span that holds a byte of the unit."""
        if len(self._starts) != len(self.spans):
            self._starts = [span.start for span in self.spans]
        at = bisect_right(self._starts, byte) - 1
        if at >= 0 and byte < self.spans[at].end:
            return self.spans[at]
        return None

    def include_at(self, byte: int) -> str | None:
        """The header of the #include line that holds a byte."""
        for start, header in self.includes.items():
            if start <= byte <= start + len(header.encode()) + len("#include <>"):
                return header
        return None


def placeholders(item: ProbeItem) -> set[str]:
    """The portable types that an item mentions."""
    texts = [item.code, item.returns, *(type_ for type_, _ in item.params)]
    return {name for text in texts if "$" in text for name in _PLACEHOLDER.findall(text)}


def spell(text: str, types: Mapping[str, str]) -> str:
    """A type text with each `$name` replaced by the SDK's type."""
    if "$" not in text:
        return text
    return _PLACEHOLDER.sub(lambda match: types[match.group(1)], text)


def build(headers: Sequence[str], items: Iterable[ProbeItem], types: Mapping[str, str]) -> Unit:
    """The unit that includes `headers` and holds each item in a declaration of its own.

    Types come first and helpers next, whatever their order in `items`, because the others use them.
    """
    unit = Unit()
    parts: list[bytes] = []
    size = 0
    for header in headers:
        if not header or any(c in header for c in '<>"\n\r\\'):
            raise ValueError(f"not a header name: {header!r}")
        unit.includes[size] = header
        parts.append(f"#include <{header}>\n".encode())
        size += len(parts[-1])
    words = f"{_WORDS}template <typename fl_probe_t> using fl_probe_same = fl_probe_t;\n"
    parts.append(f"{_PRAGMAS}namespace {NAMESPACE} {{\n{words}".encode())
    size += len(parts[-1])
    for number, item in enumerate(sorted(items, key=_order)):
        before, after = _frame(item, number, types)
        code_start = size + len(before.encode())
        segments = _segments(item.code, code_start, types)
        code_end = segments[-1].end if segments else code_start
        text = f"{before}{''.join([segment.text for segment in segments])}{after}\n".encode()
        brace = size + max(0, before.find("{\n"))
        unit.spans.append(Span(item, size, size + len(text) - 1, brace, code_start, code_end, segments))
        parts.append(text)
        size += len(text)
    parts.append(b"}\n")
    unit.text = b"".join(parts)
    return unit


def _order(item: ProbeItem) -> int:
    return 0 if item.form == "type" else 1 if item.form == "helper" else 2


def _frame(item: ProbeItem, number: int, types: Mapping[str, str]) -> tuple[str, str]:
    if item.form == "type":
        return f"using fl_probe_{number} = ", ";"
    if item.form == "helper":
        return "", ""
    returns = _argument(spell(item.returns, types), "")
    params = ", ".join(_argument(spell(type_, types), name) for type_, name in item.params)
    head = f"{returns} fl_probe_{number}({params}) {{\n"
    if item.form == "body":
        return head, "\n}"
    if item.form == "constant":
        return head + "return {(", ")};\n}"
    if item.returns.strip() == "void":
        return head, ";\n}"
    return head + "return (", ");\n}"


def _argument(type_: str, name: str) -> str:
    # A function pointer or an array cannot be written as `type name`; an alias makes every type fit that form.
    spelled = f"fl_probe_same<{type_}>" if "(" in type_ or "[" in type_ else type_
    return f"{spelled} {name}".rstrip()


def _segments(code: str, start: int, types: Mapping[str, str]) -> tuple[Segment, ...]:
    if "$" not in code:
        return (Segment(start, start + len(code.encode()), 0, False, code),)
    segments: list[Segment] = []
    done = 0

    def add(source: int, text: str, replaced: bool) -> None:
        nonlocal start
        if text:
            size = len(text.encode())
            segments.append(Segment(start, start + size, source, replaced, text))
            start += size

    for match in _PLACEHOLDER.finditer(code):
        add(done, code[done : match.start()], False)
        add(match.start(), types[match.group(1)], True)
        done = match.end()
    add(done, code[done:], False)
    return tuple(segments)
