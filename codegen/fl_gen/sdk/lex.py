"""Reads one candidate on its own, before any compiler sees it next to others.

A candidate that opens a comment, leaves a bracket or a quote open or issues a preprocessor directive could hide or
change the candidates after it. Such text is refused here, so that what reaches the compiler stays inside its own
function. Only helpers, which are printed as they are, may hold comments, and those must end.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from fl_gen.schema.errors import quote

from .items import Finding, Form

MAX_DEPTH = 64  # clang gives up, fatally, at 256 open brackets; no binding needs a tenth of that
MAX_LENGTH = 64 << 10  # characters

_TOKEN = re.compile(
    r"""(?P<space>[ \t\n]+)
      |(?P<raw>(?:u8|[uUL])?R")
      |(?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\[^\n])*")
      |(?P<char>(?:u8|[uUL])?'(?:[^'\\\n]|\\[^\n])+')
      |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
      |(?P<number>\.?[0-9](?:'?[0-9A-Za-z_]|[eEpP][+-]|\.)*)
      |(?P<placeholder>\$[a-z][a-z0-9_]*)
      |(?P<splice>\\\n)
      |(?P<whole_comment>//[^\n\\]*(?=\n|$)|/\*(?:[^*]|\*(?!/))*\*/)
      |(?P<comment>//|/\*)
      |(?P<digraph><%|%>|<:(?!:(?![:>]))|:>|%:)
      |(?P<trigraph>\?\?[=/'()!<>-])
      |(?P<punct>::|->|[-+*/%&|^~!=<>?:;,.(){}\[\]])
      |(?P<bad>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_HARMLESS = ("number", "placeholder")
_CLOSES = {")": "(", "]": "[", "}": "{"}
_REFUSED = {
    "comment": "a comment that does not end here",
    "raw": "a candidate may not hold a raw string literal",
    "digraph": "a candidate may not use digraphs",
    "trigraph": "a candidate may not use trigraphs",
    "splice": "a candidate may not continue a line with a backslash",
}
_REFUSED_NAMES = {
    "extern": "a candidate may not declare what the SDK should declare",
    "_Pragma": "a candidate may not hold a preprocessor directive",
    "__pragma": "a candidate may not hold a preprocessor directive",
    "asm": "a candidate may not hold assembler",
    "__asm": "a candidate may not hold assembler",
    "__asm__": "a candidate may not hold assembler",
}


class Token(NamedTuple):
    """A token: `kind` is name, number, string, char, placeholder or punct; offsets count characters."""

    kind: str
    text: str
    offset: int


@lru_cache(maxsize=2048)
def tokens(code: str) -> tuple[Token, ...]:
    """The tokens of `code` without white space; characters that start no token come out as kind `bad`."""
    found = ((match.lastgroup or "bad", match.group(), match.start()) for match in _TOKEN.finditer(code))
    return tuple(Token(*one) for one in found if one[0] != "space")


def check(code: str, form: Form) -> tuple[Finding, ...]:
    """What makes `code` unfit to be put among others; empty when it is fit."""
    if not code.strip():
        return (_refuse("there is no C++ here", 0),)
    if len(code) > MAX_LENGTH:
        return (_refuse(f"longer than {MAX_LENGTH} characters", 0),)
    open_brackets: list[Token] = []
    for token in tokens(code):
        fault = None if token.kind in _HARMLESS else _fault(token, open_brackets, form, code)
        if fault is not None:
            # What follows an open quote or comment is not C++ any more: one finding says it all.
            return (fault,)
    if open_brackets:
        last = open_brackets[-1]
        return (_refuse(f"'{last.text}' is never closed", last.offset),)
    return ()


def argument(code: str, offset: int, number: int) -> tuple[int, int] | None:
    """Offset and length of argument `number` (from 1) of the call whose function name is at `offset`."""
    depth, current, start, end = 0, 1, None, 0
    for token in tokens(code):
        if token.offset < offset:
            continue
        if depth == 1 and token.text in (",", ")"):
            if current == number and start is not None:
                return start, end - start
            current += 1
        elif depth >= 1 and current == number and start is None:
            start = token.offset
        end = token.offset + len(token.text)
        if token.text in ("(", "[", "{"):
            depth += 1
        elif token.text in _CLOSES:
            depth -= 1
            if depth == 0:
                return None
    return None


def _fault(token: Token, open_brackets: list[Token], form: Form, code: str) -> Finding | None:
    text, kind = token.text, token.kind
    if kind == "whole_comment":
        if form == "helper":
            return None
        return _refuse("a candidate may not hold a comment; put the text under note: or source:", token.offset, 2)
    if kind in _REFUSED:
        return _refuse(_REFUSED[kind], token.offset, len(text.rstrip("\n")))
    if kind == "bad":
        return _refuse(_bad_character(text, code), token.offset)
    if kind in ("string", "char") and not text.isprintable():
        return _refuse("a literal may only hold printable characters", token.offset, len(text))
    if kind == "name" and text in _REFUSED_NAMES:
        return _refuse(_REFUSED_NAMES[text], token.offset, len(text))
    if kind == "name" and text.startswith("fl_probe"):
        return _refuse("names that begin with fl_probe are taken", token.offset, len(text))
    if kind != "punct":
        return None
    if text in ("(", "[", "{"):
        open_brackets.append(token)
        if len(open_brackets) > MAX_DEPTH:
            return _refuse(f"more than {MAX_DEPTH} brackets inside each other", token.offset)
    elif text in _CLOSES:
        if not open_brackets:
            return _refuse(f"'{text}' closes nothing", token.offset)
        opener = open_brackets.pop()
        if opener.text != _CLOSES[text]:
            return _refuse(f"'{text}' does not close the '{opener.text}' before it", token.offset)
    elif not open_brackets and form in ("expr", "type", "constant"):
        what = {"expr": "an expr: is one expression", "type": "a type is one type", "constant": "this is one value"}
        if text == ";":
            hint = "write statements under body:" if form == "expr" else "leave out the ';'"
            return Finding(f"{what[form]}, and ';' ends a statement", token.offset, 1, hint, "sdk-candidate")
        if text == "," and form != "type":
            return _refuse(f"{what[form]}, and this ',' makes two of it", token.offset)
    return None


def _bad_character(text: str, code: str) -> str:
    if text == "#":
        return "a candidate may not hold a preprocessor directive"
    if text in "\"'":
        return f"the literal that {text} begins is never closed" if text in code else f"stray {text}"
    if text == "$":
        return "'$' begins the name of a portable type, such as $stream, and no name follows"
    if text == "\r":
        return "a carriage return ends this line; use LF line ends"
    return f"{quote(text)} is not part of C++ outside a literal"


def _refuse(message: str, offset: int, length: int = 1) -> Finding:
    return Finding(message, offset, max(1, length), None, "sdk-candidate")
