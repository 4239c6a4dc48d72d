"""Declarations of single values: text, names, choices, numbers, C++ text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from . import cxx
from .errors import quote
from .frozen import frozen
from .name import Name
from .nodes import Node, Scalar, parse_float
from .spec import INVALID, Check, Definitions, Json, Spec, describe
from .suggest import suggestion
from .values import Ref, Text

# Most systems take 255 bytes for a file and 4,096 for a path, of which the user's own folders need some.
_MAX_FILE_NAME = 128
_MAX_PATH = 1024
_MAX_TEXT = 1 << 16  # characters of one C++ text; a whole header does not belong in a schema


# What ends a comment too early or continues it; comments are wrapped, so each blank may become a line end.
_ENDS_COMMENT = re.compile(r"\*/|\\(?:\s|$)")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _text_of(node: Node, check: Check, label: str, what: str) -> str | None:
    """The text of a scalar, which may look like a number but not like null, true or false."""
    if isinstance(node, Scalar):
        kind = node.kind
        if kind == "str" or kind == "int" or kind == "float":
            return node.value
        if kind == "bool":
            check.report(
                node, f"{label} must be {what}, not {node.value}", f'as text write "{node.value}"', "wrong-type"
            )
            return None
    check.report(node, f"{label} must be {what}, not {describe(node)}", rule="wrong-type")
    return None


@frozen
class Str(Spec):
    """Text on one line. `pattern` must match all of it; `what` and `hint` explain it to people.

    `refine` may refuse (ValueError with the reason) or change the text.
    """

    what: str = "text"
    pattern: str | None = None
    hint: str | None = None
    refine: Callable[[str], Any] | None = None
    located: bool = False  # the value is a Ref, which knows its place
    blank: bool = False  # the empty text is allowed

    def with_location(self) -> Str:
        """The same text as a Ref."""
        return replace(self, located=True)

    def check(self, node: Node, check: Check, label: str) -> Any:
        value = _text_of(node, check, label, self.what)
        if value is None:
            return INVALID
        if not self.blank and not value.strip():
            return check.report(node, f"{label} must be {self.what}, not empty", self.hint)
        if "\n" in value:
            return check.report(node, f"{label} must be {self.what} on one line", self.hint)
        if self.pattern is not None and not _compiled(self.pattern).fullmatch(value):
            return check.report(node, f"{label} must be {self.what}, not {quote(value)}", self.hint)
        if self.refine is not None:
            try:
                refined = self.refine(value)
            except ValueError as error:
                return check.report(node, f"{label} must be {self.what}, not {quote(value)}", str(error) or self.hint)
            return Ref(refined, node.location) if self.located else refined
        return Ref(value, node.location) if self.located else value

    def json(self, definitions: Definitions) -> Json:
        schema: Json = {"type": "string"} if self.blank else {"type": "string", "minLength": 1}
        if self.pattern is not None:
            schema["pattern"] = f"^(?:{self.pattern})$"
        if self.pattern is None or _compiled(self.pattern).fullmatch("6.14"):
            schema["type"] = ["string", "number"]
        return schema


@frozen
class Doc(Spec):
    """A sentence or more for people; runs of blanks and line ends become one space, so it fits any comment."""

    optional: bool = False  # the empty text is allowed

    def check(self, node: Node, check: Check, label: str) -> Any:
        value = _text_of(node, check, label, "text")
        if value is None:
            return INVALID
        text = " ".join(value.split())
        if not text and not self.optional:
            return check.report(node, f"{label} must be text, not empty")
        if _ENDS_COMMENT.search(text):
            message = (
                f"{label} becomes a C++ comment and may not hold '*/', or a backslash at the end or before a blank"
            )
            return check.report(node, message)
        return text

    def json(self, definitions: Definitions) -> Json:
        return {"type": ["string", "number"], "minLength": 0 if self.optional else 1}


@frozen
class Choice(Spec):
    """One word of a closed set."""

    options: tuple[str, ...]
    located: bool = False
    build: Callable[[Ref], Any] | None = None  # makes the value from the located word

    def check(self, node: Node, check: Check, label: str) -> Any:
        if isinstance(node, Scalar) and node.value in self.options and node.kind == "str":
            if self.build is not None:
                return self.build(Ref(node.value, node.location))
            return Ref(node.value, node.location) if self.located else node.value
        wanted = f"one of {', '.join(self.options)}" if len(self.options) > 1 else f"'{self.options[0]}'"
        hint = suggestion(node.value, self.options) if isinstance(node, Scalar) else None
        if hint and not hint.startswith("did"):
            hint = None  # the message already lists all of them
        rule = "wrong-value" if isinstance(node, Scalar) else "wrong-type"
        return check.report(node, f"{label} must be {wanted}, not {describe(node)}", hint, rule)

    def json(self, definitions: Definitions) -> Json:
        return {"type": "string", "enum": list(self.options)}


@frozen
class Bool(Spec):
    """true or false; the other words of YAML 1.1 are refused, not guessed."""

    def check(self, node: Node, check: Check, label: str) -> Any:
        if isinstance(node, Scalar) and node.kind == "bool":
            return node.value.lower() == "true"
        hint = None
        if isinstance(node, Scalar) and node.value.lower() in ("yes", "on", "y", "1", "true"):
            hint = "write true"
        elif isinstance(node, Scalar) and node.value.lower() in ("no", "off", "n", "0", "false"):
            hint = "write false"
        return check.report(node, f"{label} must be true or false, not {describe(node)}", hint, "wrong-type")

    def json(self, definitions: Definitions) -> Json:
        return {"type": "boolean"}


@frozen
class Switch(Spec):
    """true or false, or a whole number that is not negative."""

    def check(self, node: Node, check: Check, label: str) -> Any:
        if isinstance(node, Scalar) and node.kind == "int":
            return Int(0).check(node, check, label)
        return Bool().check(node, check, label)

    def json(self, definitions: Definitions) -> Json:
        return {"anyOf": [Bool().json(definitions), Int(0).json(definitions)]}


@frozen
class Int(Spec):
    """A whole number in decimal."""

    minimum: int | None = None
    maximum: int | None = None

    def check(self, node: Node, check: Check, label: str) -> Any:
        if not isinstance(node, Scalar) or node.kind != "int" or len(node.value) > 20:
            hint = "write it in decimal, without quotes, underscores or leading zeros"
            return check.report(node, f"{label} must be a whole number, not {describe(node)}", hint, "wrong-type")
        value = int(node.value)
        low, high = self.minimum, self.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            limits = ((f"at least {low}", low), (f"at most {high}", high))
            bounds = str(low) if low == high else " and ".join(text for text, bound in limits if bound is not None)
            return check.report(node, f"{label} must be {bounds}, not {value}")
        return value

    def json(self, definitions: Definitions) -> Json:
        schema: Json = {"type": "integer"}
        if self.minimum is not None:
            schema["minimum"] = self.minimum
        if self.maximum is not None:
            schema["maximum"] = self.maximum
        return schema


@frozen
class Positive(Spec):
    """A finite number above zero; its value is a float."""

    def check(self, node: Node, check: Check, label: str) -> Any:
        if not isinstance(node, Scalar) or node.kind not in ("int", "float"):
            return check.report(node, f"{label} must be a number, not {describe(node)}", rule="wrong-type")
        value = parse_float(node.value)
        if not 0 < value < float("inf"):
            return check.report(node, f"{label} must be a number above zero, not {node.value}")
        return value

    def json(self, definitions: Definitions) -> Json:
        return {"type": "number", "exclusiveMinimum": 0}


@frozen
class Cxx(Spec):
    """C++ text of one line or more, kept exactly, with the place of its first character. The compiler judges it."""

    what: str = "C++ text"
    lines: bool = False  # several lines are allowed
    plain: bool = False  # the value is a str without a place

    def check(self, node: Node, check: Check, label: str) -> Any:
        value = _text_of(node, check, label, self.what)
        if value is None or not isinstance(node, Scalar):
            return INVALID
        text = value.rstrip("\n")
        if not text.strip():
            return check.report(node, f"{label} must be {self.what}, not empty")
        if not self.lines and "\n" in text:
            return check.report(node, f"{label} must be {self.what} on one line")
        if len(text) > _MAX_TEXT:
            return check.report(node, f"{label} is longer than {_MAX_TEXT} characters")
        return value if self.plain else Text(text, node.text_location, node)

    def json(self, definitions: Definitions) -> Json:
        return {"type": ["string", "number"], "minLength": 1}


def _identifier(value: str) -> str:
    problem = cxx.identifier_problem(value)
    if problem:
        raise ValueError(problem)
    return value


def _qualified(value: str) -> str:
    problem = cxx.qualified_problem(value)
    if problem:
        raise ValueError(problem)
    return value


def _type(value: str) -> str:
    problem = cxx.type_problem(value)
    if problem:
        raise ValueError(problem)
    return value


def _relative(value: str) -> str:
    if value.startswith("/") or (len(value) > 1 and value[1] == ":"):
        raise ValueError("it must be relative")
    if ".." in value.split("/"):
        raise ValueError("it must stay inside its folder: no '..'")
    parts = value.rstrip("/").split("/")
    if any(part in ("", ".") for part in parts):
        raise ValueError("write it without './' and '//'")
    if max(map(len, parts)) > _MAX_FILE_NAME:
        raise ValueError(f"a part of it is longer than {_MAX_FILE_NAME} characters")
    if len(value) > _MAX_PATH:
        raise ValueError(f"it is longer than {_MAX_PATH} characters")
    return value


VENDOR_PATTERN = "[a-z][a-z0-9_]*"
RESERVED_VENDORS = ("cpu", "cuda", "privateuse1")
# Words that would hide something where generated code uses the vendor's name: as a namespace beside the framework's,
# as a macro that compilers predefine, as a CMake target, as a file that Windows keeps for a device.
_TAKEN_VENDORS = frozenset(
    """
    std core kernels infini_train nn utils autograd common optimizers glog google testing sdk main
    linux unix i386 arm vax sun
    all clean install test help package
    con prn aux nul com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9
    """.split()  # noqa: SIM905
)


def _vendor(value: str) -> Name:
    if value in RESERVED_VENDORS:
        raise ValueError(f"the framework keeps {', '.join(RESERVED_VENDORS)} for itself")
    if value in _TAKEN_VENDORS:
        raise ValueError("compilers, build tools or the framework use that word for something else")
    problem = cxx.identifier_problem(value)
    if problem or value.endswith("_"):
        raise ValueError(problem or "it may not end in an underscore")
    return Name.of(value)


_PATH = "[A-Za-z0-9_.+/-]+"
PATH_HINT = "letters, digits, _ . + - and / only"

WORD = Str("a snake_case word", "[a-z][a-z0-9]*(?:_[a-z0-9]+)*", "lower case letters and digits with _ between words")
WORD_REF = WORD.with_location()
OPERATION = Str(
    "an operation name",
    "[a-z][a-z0-9]*(?:_[a-z0-9]+)*(?:\\.[a-z][a-z0-9]*(?:_[a-z0-9]+)*)+",
    "an area and a verb, as in memory.alloc_async",
)
OPERATION_REF = OPERATION.with_location()
NAME = Str("a snake_case name", "[a-z][a-z0-9]*(?:_[a-z0-9]+)*", WORD.hint, refine=Name.of)
VENDOR = Str(
    "a vendor name", VENDOR_PATTERN, "lower case letters, digits and _, beginning with a letter", refine=_vendor
)
IDENTIFIER = Str(
    "a C++ name", cxx.IDENTIFIER_PATTERN, "letters, digits and _, beginning with a letter", refine=_identifier
)
IDENTIFIER_REF = IDENTIFIER.with_location()
QUALIFIED = Str("a C++ name", "[A-Za-z0-9_:]+", "names with :: between them", refine=_qualified)
CXX_TYPE = Str("a C++ type", None, None, refine=_type)
HEADER = Str("a header name", _PATH, PATH_HINT, refine=_relative)
RELATIVE_PATH = Str("a relative path", _PATH, PATH_HINT, refine=_relative)
ABSOLUTE_PATH = Str("an absolute path", "/[^\\\\\"'$`;*?]*", "begin with / and use no shell characters")
LIBRARY = Str("a library name", "[A-Za-z0-9_][A-Za-z0-9_.+-]*", "the name without lib and suffix, as after -l")
ENVIRONMENT = Str("the name of an environment variable", "[A-Za-z_][A-Za-z0-9_]*", "letters, digits and _")
SUFFIX = Str("a file name suffix", "\\.[a-z0-9_]+", "a dot and lower case letters, as .mlu")
FILE_NAME = Str(
    "a file name", "[A-Za-z0-9_][A-Za-z0-9_.+-]*", "letters, digits, _ . + - and no folder", refine=_relative
)
# Printed inside comments and strings of C++, CMake and shell scripts.
TITLE = Str(
    "a name as people write it",
    "[^\"'\\\\$`;@#{}\\[\\]<>*|%]{1,80}",
    "at most 80 characters, without quotes, backslashes and $ ` ; @ # { } [ ] < > * | %",
)
DOC = Doc()
REMARK = Doc(optional=True)
