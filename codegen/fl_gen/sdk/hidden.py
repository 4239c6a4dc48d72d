"""What a header declares in every configuration, read from its text; and which lines this configuration skips.

The compiler's tree holds only what the preprocessor let through. This reads declarations as text, lightly: enough to
say that `cnrtFoo` is there, only under another condition. What counts in this configuration is the compiler's alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ctypes import POINTER, Structure, c_uint
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from . import clang
from .clang import Parsed
from .directives import OPENING, OTHER, Conditionals, Line, plain

_TOKEN = re.compile(
    r"""(?P<name>[A-Za-z_]\w*)|(?P<number>\.?\d(?:'?[\w.]|[eEpP][+-])*)|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)+'"""
    r"""|::|->|\.\.\.|\#\#|[^\s\w]""",
    re.VERBOSE | re.DOTALL,
)
_STORAGE_WORDS = """
extern static inline __inline __inline__ __forceinline constexpr const volatile virtual friend explicit typedef
"""
_ATTRIBUTE_WORDS = """
__attribute__ __attribute __declspec __declspec__ alignas _Alignas __asm__ __asm asm decltype noexcept throw requires
__nonnull _Pragma __pragma static_assert _Static_assert sizeof
"""
_STATEMENT_WORDS = "if for while switch return do else case goto sizeof new delete operator"
_STORAGE = frozenset(_STORAGE_WORDS.split())  # stands before a type, and is none
_ATTRIBUTES = frozenset(_ATTRIBUTE_WORDS.split())  # has brackets, and is no function
_STATEMENTS = frozenset(_STATEMENT_WORDS.split())
_MACRO = re.compile(r"\s*(\w+)(\(([^()]*)\))?(.*)", re.DOTALL)
_MOST_TOKENS = 600  # of one statement; more is no declaration


@dataclass(frozen=True)
class Written:
    """One declaration as text. `kind` is function, typedef, enum, record, enumerator, macro or function_macro.

    `params` are those of a function-like macro.
    """

    kind: str
    name: str
    text: str
    line: int
    params: tuple[str, ...] = ()


class _Word(NamedTuple):
    """A token, its physical line, and whether a blank stands before it."""

    text: str
    line: int
    spaced: bool


@dataclass
class _State:
    """Where the reader is: kinds of open braces, the tokens of the statement, and those of the enumerator."""

    braces: list[str] = field(default_factory=list)
    words: list[_Word] = field(default_factory=list)
    item: list[_Word] = field(default_factory=list)
    parens: int = 0  # open in the enumerator

    def copy(self) -> _State:
        return _State(list(self.braces), list(self.words), list(self.item), self.parens)


@dataclass
class _Branch:
    before: _State
    after: _State | None = None
    dead: bool = False  # the branch being read is `#if 0`: its text need not be C++ at all, and is not read


def written(header: Conditionals) -> list[Written]:
    """Every declaration of a header in every branch, in the order of the text."""
    reader = _Reader()
    for line in header.lines:
        reader.line(line)
    return reader.found


class _Reader:
    def __init__(self) -> None:
        self.found: list[Written] = []
        self._state = _State()
        self._branches: list[_Branch] = []
        self._dead = False  # inside `#if 0`

    def line(self, line: Line) -> None:
        if not line.directive:
            if self._dead or not line.text or line.text.isspace():
                return
            number, start, end = line.number, 0, -1
            for match in _TOKEN.finditer(line.text):
                number += line.joints(start, match.start())
                self._token(_Word(match.group(), number, match.start() != end))
                start, end = match.span()
        elif line.directive != "define":
            self._conditional(line)
        elif not self._dead:
            self._macro(line)

    def _conditional(self, line: Line) -> None:
        """Each branch begins where the conditional began; what follows goes on from the first branch that counts."""
        if line.directive in OPENING:
            self._branches.append(_Branch(self._state.copy(), dead=plain(line.text) == "0"))
        elif self._branches and line.directive in (*OTHER, "endif"):
            branch = self._branches[-1]
            if branch.after is None and not branch.dead:
                branch.after = self._state
            if line.directive == "endif":
                self._branches.pop()
                self._state = branch.after or branch.before
            else:
                self._state, branch.dead = branch.before.copy(), False
        self._dead = any(branch.dead for branch in self._branches)

    def _macro(self, line: Line) -> None:
        match = _MACRO.match(line.text)
        if match is None:
            return
        name, call, params, text = match.groups()
        kind = "macro" if call is None else "function_macro"
        names = tuple(part.strip() for part in plain(params).split(",")) if params and params.strip() else ()
        self.found.append(Written(kind, name, plain(text), line.number, names))

    def _token(self, word: _Word) -> None:
        state, text = self._state, word.text
        top = state.braces[-1] if state.braces else ""
        if top in ("body", "value", "record"):
            self._inside(word, top)
        elif top == "enum":
            self._enumerator(word)
        elif text == "{":
            self._open()
        elif text == "}":
            if state.braces:
                state.braces.pop()
            state.words.clear()
        elif text == ";":
            self._declare()
            state.words.clear()
        elif len(state.words) < _MOST_TOKENS:
            state.words.append(word)

    def _inside(self, word: _Word, top: str) -> None:
        """Text that declares nothing at namespace scope: bodies, values, fields."""
        braces = self._state.braces
        if word.text == "{":
            braces.append(top)
        elif word.text == "}":
            braces.pop()
            if braces and braces[-1] == top:
                return
            if top == "body":
                self._state.words.clear()
            else:
                self._state.words.append(word._replace(text="{...}"))

    def _enumerator(self, word: _Word) -> None:
        state, text = self._state, word.text
        if state.parens <= 0 and text in (",", "}"):
            if state.item and _is_name(state.item[0].text):
                self.found.append(Written("enumerator", state.item[0].text, _joined(state.item), state.item[0].line))
            state.item.clear()
            state.parens = 0
            if text == "}":
                state.braces.pop()
                state.words.append(word._replace(text="{...}"))
        elif len(state.item) < _MOST_TOKENS:
            state.parens += (text == "(") - (text == ")")
            state.item.append(word)

    def _open(self) -> None:
        state = self._state
        texts = [word.text for word in state.words]
        outer = [text for text in texts if text != "inline"]
        if outer[:1] == ["namespace"] or (outer[:1] == ["extern"] and len(outer) == 2 and outer[1].startswith('"')):
            state.braces.append("scope")
            state.words.clear()
        elif texts.count("(") > texts.count(")"):
            state.braces.append("value")  # a default argument
        elif len(texts) >= _MOST_TOKENS:
            state.braces.append("body")
        elif (at := _function(state.words)) is not None:
            self._add("function", at)
            state.braces.append("body")
        elif "enum" in texts:
            self._tag("enum", texts)
            state.braces.append("enum")
        elif {"struct", "union", "class"} & set(texts):
            self._tag("record", texts)
            state.braces.append("record")
        else:
            state.braces.append("value" if "=" in texts else "body")  # or a macro that makes a body

    def _tag(self, kind: str, texts: list[str]) -> None:
        """The name between `struct` and its brace or base classes, if there is one."""
        head = texts[: texts.index(":")] if ":" in texts else texts
        words = self._state.words[: len(head)]
        name = words[-1].text
        if _is_name(name) and name not in ("enum", "struct", "union", "class"):
            self.found.append(Written(kind, name, _joined([*words, _Word("{...}", 0, True)]), words[-1].line))

    def _declare(self) -> None:
        words = self._state.words
        if not words:
            return
        first = words[0].text
        if first == "typedef":
            at = _typedef(words)
            if at is not None:
                self._add("typedef", at)
        elif first == "using" and len(words) > 2 and words[2].text == "=":
            self._add("typedef", 1)
        elif first not in ("using", "static_assert", "_Static_assert"):
            at = _function(words)
            if at is not None:
                self._add("function", at)

    def _add(self, kind: str, at: int) -> None:
        words = self._state.words
        self.found.append(Written(kind, words[at].text, _joined(words), words[at].line))


def _function(words: Sequence[_Word]) -> int | None:
    """Index of the name of the function that a statement declares: `name (` with something of a type before it."""
    depth, typed, index = 0, False, 0
    while index < len(words):
        text = words[index].text
        following = words[index + 1].text if index + 1 < len(words) else ""
        if depth == 0 and (text == "=" or text in _STATEMENTS):
            return None
        if text == "template" and following == "<":
            index = _closing(words, index + 1, "<", ">")
        elif text in ("(", "[", "{"):
            depth += 1
        elif text in (")", "]", "}"):
            depth -= 1
        elif depth == 0 and text in _ATTRIBUTES and following == "(":
            index = _closing(words, index + 1, "(", ")")
        elif depth == 0 and _is_name(text) and following == "(":
            end = _closing(words, index + 1, "(", ")")
            if typed and not _begins_declaration(words[end + 1 :]):
                return index
            index = end  # a macro in front, as DEPRECATED("...")
        elif depth == 0 and (text in ("*", "&", ">") or (_is_name(text) and text not in _STORAGE)):
            typed = True
        index += 1
    return None


def _begins_declaration(words: Sequence[_Word]) -> bool:
    """Whether what follows a bracket is `type name (`: then what had the bracket was a macro, not the function."""
    for names, word in enumerate(words):
        if word.text == "(":
            return names > 1
        if word.text in _ATTRIBUTES or not (word.text in ("*", "&") or _is_name(word.text)):
            return False
    return False


def _closing(words: Sequence[_Word], index: int, opening: str, closing: str) -> int:
    """Index of the bracket that closes the one at `index`, the last index if none does."""
    depth = 0
    for at in range(index, len(words)):
        depth += (words[at].text == opening) - (words[at].text == closing)
        if depth == 0:
            return at
    return len(words) - 1


def _typedef(words: Sequence[_Word]) -> int | None:
    """Index of the name that a typedef makes."""
    for index in range(1, len(words) - 2):
        if words[index].text == "(":  # (*name) or (CALL *name), a pointer to a function
            names = [at for at in range(index + 1, _closing(words, index, "(", ")")) if _is_name(words[at].text)]
            if names and any(words[at].text == "*" for at in range(index + 1, names[-1])):
                return names[-1]
            return index - 1 if index > 1 and _is_name(words[index - 1].text) else None
    end = next((index for index, word in enumerate(words) if word.text == "["), len(words))
    return end - 1 if end > 1 and _is_name(words[end - 1].text) else None


def _is_name(text: str) -> bool:
    return text.isidentifier() and text.isascii()


def _joined(words: Sequence[_Word]) -> str:
    """The text of tokens, with one blank where the header has any."""
    return "".join(f" {word.text}" if word.spaced else word.text for word in words).strip()


# -- what the compiler skipped ----------------------------------------------------------------------------------------


@cache
def _skipping() -> Any:
    cindex = clang.load()

    class Ranges(Structure):
        _fields_ = (("count", c_uint), ("ranges", POINTER(cindex.SourceRange)))

    library = cindex.conf.lib
    library.clang_getAllSkippedRanges.restype = POINTER(Ranges)
    library.clang_getAllSkippedRanges.argtypes = [cindex.TranslationUnit]
    library.clang_disposeSourceRangeList.restype = None
    library.clang_disposeSourceRangeList.argtypes = [POINTER(Ranges)]
    return library


def skipped_lines(parsed: Parsed) -> dict[str, list[tuple[int, int]]]:
    """By path, the first and last line of each run that the preprocessor skipped, its directives not counted.

    `parsed` must have been made with `detailed`.
    """
    library = _skipping()
    ranges = library.clang_getAllSkippedRanges(parsed.unit)
    found: dict[str, list[tuple[int, int]]] = {}
    try:
        for one in ranges.contents.ranges[: ranges.contents.count]:
            start, end = one.start, one.end
            if start.file is not None:
                found.setdefault(start.file.name, []).append((start.line + 1, end.line - 1))
    finally:
        library.clang_disposeSourceRangeList(ranges)
    return found


def in_ranges(line: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether a line lies in one of the ranges."""
    return any(first <= line <= last for first, last in ranges)


def spellings(text: str) -> Iterator[str]:
    """The names in a macro's text."""
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "name":
            yield match.group()
