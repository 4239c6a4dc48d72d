"""Which words may become C++ names, by the lexical rules of C++20 ([lex.key], [lex.name])."""

from __future__ import annotations

import functools
import re

# [tab:lex.key] with the alternative tokens of [tab:lex.digraph]. The identifiers with special meaning (final, override,
# import, module) can name things and are not listed.
KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
    do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
    true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    """.split()  # noqa: SIM905
)

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_IDENTIFIER = 128
IDENTIFIER_PATTERN = "[A-Za-z][A-Za-z0-9_]*"  # for JSON Schema; the rules below are stricter

_OPEN = {"(": ")", "[": "]", "{": "}"}


def identifier_problem(word: str) -> str | None:
    """Why a word cannot be a C++ identifier of generated code, or None when it can."""
    if not word:
        return "a C++ name cannot be empty"
    if not _IDENTIFIER.fullmatch(word):
        return "a C++ name is letters, digits and underscores, and does not begin with a digit"
    if word in KEYWORDS:
        return "it is a C++ keyword"
    if "__" in word or (word[0] == "_" and (len(word) == 1 or word[1].isupper())):
        return "C++ reserves names with two underscores, or an underscore and a capital letter"
    if word[0] == "_":
        return "C++ reserves names that begin with an underscore in the global namespace"
    if len(word) > _MAX_IDENTIFIER:
        return f"it is longer than {_MAX_IDENTIFIER} characters"
    return None


def qualified_problem(name: str) -> str | None:
    """Why a text is not a C++ name qualified by namespaces (`a::b::C`), or None when it is."""
    for part in name.split("::"):
        problem = identifier_problem(part)
        if problem:
            return problem
    return None


@functools.lru_cache(maxsize=4096)
def type_problem(text: str) -> str | None:
    """Why a text cannot be a C++ type on one line, or None when nothing speaks against it.

    Only what would let a type break out of its place is looked for; whether it is a type, the compiler says.
    """
    if not re.fullmatch(r"[A-Za-z0-9_:<>,&*\[\]()$. ]+", text):
        return "a C++ type is made of names, ::, <>, *, &, [] and ()"
    return "its brackets do not match" if not _balanced(text) else None


def _balanced(text: str) -> bool:
    stack: list[str] = []
    pairs = {**_OPEN, "<": ">"}
    for character in text:
        if character in pairs:
            stack.append(pairs[character])
        elif character in (")", "]", ">") and (not stack or stack.pop() != character):
            return False
    return not stack
