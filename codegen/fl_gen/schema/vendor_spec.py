"""The declaration of `vendor.yaml`, and its loader."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from .extend import VENDOR_FILE, Extended, load_extended
from .link import vendor_problems
from .location import Location
from .runtime import GROUPS, RESULTS
from .scalars import (
    ABSOLUTE_PATH,
    DOC,
    ENVIRONMENT,
    FILE_NAME,
    HEADER,
    IDENTIFIER,
    IDENTIFIER_REF,
    LIBRARY,
    NAME,
    OPERATION_REF,
    RELATIVE_PATH,
    SUFFIX,
    TITLE,
    VENDOR,
    WORD,
    Bool,
    Choice,
    Cxx,
    Int,
    Positive,
    Str,
    Switch,
)
from .spec import (
    ByShape,
    Field,
    ListOf,
    MapOf,
    Nullable,
    Record,
    raise_problems,
)
from .values import Table, Text
from .vendor import (
    CONSTANTS,
    DTYPES,
    EFFECTS,
    SET_ENV,
    SET_ENV_FOR_ARGUMENT,
    Candidate,
    DeviceCompiler,
    Effect,
    Group,
    Helper,
    SdkLayout,
    StatusDomain,
    Vendor,
    VendorKernel,
    VersionMacros,
    Workaround,
)

_SOURCE = Field(DOC, "where this is known from")
_NOTE = Field(DOC, "what is surprising about it", None)
_CXX_CANDIDATES = ListOf(Cxx("a C++ expression"))
_SOME_CXX_CANDIDATES = ListOf(Cxx("a C++ expression"), at_least=1)
_CXX_OR_NONE = Nullable(_CXX_CANDIDATES, ())
_FLAG = Str("a compiler flag", "-[A-Za-z0-9_=+./:,-]*", "begins with - and holds no blanks or shell characters")
_MACRO = IDENTIFIER
# Such macros are often names that C++ keeps for the implementation.
_DEFINE = Str("a macro to define", "[A-Za-z_][A-Za-z0-9_]*(?:=[A-Za-z0-9_]+)?", "as in: __HIP_PLATFORM_AMD__ or NAME=1")
_EMPTY: Table[object] = Table({}, Location("<none>"))  # a map that the file does not have

_VERSION = Record(
    "the version's macros",
    VersionMacros,
    {
        "header": Field(HEADER, "the header that defines them"),
        "major": Field(_MACRO, "integer macro of the major version", None),
        "minor": Field(_MACRO, "integer macro of the minor version", None),
        "patch": Field(_MACRO, "integer macro of the patch version", None),
        "number": Field(_MACRO, "one integer macro that holds all parts", None),
        "divisors": Field(ListOf(Int(1), at_least=1), "what gives each part of the number, as 1000 and 10", ()),
    },
    exactly_one=(("major", "number"),),
)
_SDK = Record(
    "an SDK's layout",
    SdkLayout,
    {
        "name": Field(TITLE, "what the vendor calls it"),
        "environment": Field(
            ListOf(ENVIRONMENT, unique=True), "variables that name a root, in the order they are tried"
        ),
        "roots": Field(ListOf(ABSOLUTE_PATH, unique=True), "folders that are tried after them"),
        "include": Field(ListOf(RELATIVE_PATH, at_least=1), "header folders, relative to a root"),
        "library": Field(ListOf(RELATIVE_PATH, at_least=1), "library folders, relative to a root"),
        "version": Field(Nullable(_VERSION), "where the version is read from, or null", None),
        "defines": Field(
            ListOf(_DEFINE, unique=True),
            "macros, NAME or NAME=VALUE, that its headers want before they are included",
            (),
        ),
        "visible_devices": Field(ENVIRONMENT, "variable that limits the devices of a process", None),
        "source": _SOURCE,
    },
)
_GROUP = Record(
    "a group",
    Group,
    {
        "name": Field(NAME, "the vendor's own name of the library, in snake_case"),
        "title": Field(TITLE, "the name as people write it"),
        "headers": Field(ListOf(HEADER, at_least=1), "headers to include; without the first one the group is absent"),
        "optional_headers": Field(ListOf(HEADER), "headers that are included as well where the SDK has them", ()),
        "libraries": Field(ListOf(LIBRARY), "libraries to link, without lib and suffix"),
        "required": Field(Bool(), "true: there is no backend without it", False),
    },
    named="key",
)
_STATUS = Record(
    "a status domain",
    StatusDomain,
    {
        "type": Field(_SOME_CXX_CANDIDATES, "candidates for the type that calls return"),
        "success": Field(_SOME_CXX_CANDIDATES, "candidates for the success code; the first that exists"),
        "not_ready": Field(_CXX_CANDIDATES, "codes of work that is not done yet; all that exist"),
        "oom": Field(_CXX_CANDIDATES, "codes of exhausted memory; all that exist"),
        "text": Field(Cxx("a C++ expression"), "expression over `status` that gives const char *"),
        "macro": Field(_MACRO, "name of the generated check macro"),
        "source": _SOURCE,
    },
    named="key",
)


def _candidate(*, expr: Text | None, body: Text | None, **rest: object) -> Candidate:
    code = expr if expr is not None else body
    assert code is not None  # the record takes exactly one of the two
    return Candidate(code=code, form="expr" if expr is not None else "body", **rest)  # type: ignore[arg-type]


_CANDIDATE = Record(
    "a binding candidate",
    _candidate,
    {
        "expr": Field(Cxx("a C++ expression", lines=True), "one C++ expression over the operation's parameters", None),
        "body": Field(Cxx("C++ statements", lines=True), "statements over the parameters that return the result", None),
        "helpers": Field(ListOf(IDENTIFIER_REF, unique=True), "entries of `helpers` that it uses", ()),
        "status": Field(
            Choice(GROUPS, located=True), "status domain of its result, if not the operation's group", None
        ),
        "result": Field(Choice(RESULTS), "how its value is read, if not as the operation says", None),
        "scale": Field(Positive(), "factor for the out parameter `ms`", None),
        "certainty": Field(
            Choice(("certain", "inferred")), "of meaning, units and order, which no compiler checks", "certain"
        ),
        "source": _SOURCE,
        "note": _NOTE,
    },
    exactly_one=(("expr", "body"),),
)
_HELPER = Record(
    "a helper",
    Helper,
    {
        "code": Field(Cxx("C++ at namespace scope", lines=True), "C++ at namespace scope"),
        "doc": Field(DOC, "what it does"),
        "source": _SOURCE,
    },
    named="name",
)
_COMPILER = Record(
    "a device compiler",
    DeviceCompiler,
    {
        "name": Field(FILE_NAME, "what it is called"),
        "path": Field(RELATIVE_PATH, "the program, relative to the SDK's root"),
        "suffix": Field(SUFFIX, "suffix of its source files"),
        "language": Field(WORD, "argument of -x, when it needs one", None),
        "flags": Field(ListOf(_FLAG), "flags for every file"),
        "arch_flag": Field(_FLAG, "flag that the architecture is appended to", None),
        "arch_default": Field(FILE_NAME, "architecture when none is given", None),
        "source": _SOURCE,
    },
)

_VARIABLES = MapOf(ENVIRONMENT, Str("a value", "[A-Za-z0-9_.,:/+=-]*", "no blanks or shell characters"), at_least=1)
_ARGUMENT = Str("a name of a command line argument", "[a-z][a-z0-9_-]*", "without its dashes")
_FOR_ARGUMENT = Record(
    "the condition of set_env_for_argument",
    lambda location, **values: values,
    {
        "argument": Field(_ARGUMENT, "command line argument of the process, without dashes"),
        "above": Field(Int(0), "the variables are set when its number is greater"),
        "set": Field(_VARIABLES, "the variables", name="variables"),
    },
    title="for_argument",
)


def _effect_with_arguments(
    location: Location, set_env: Table[str] | None, set_env_for_argument: dict[str, object] | None
) -> Effect:
    if set_env is not None:
        return Effect(SET_ENV, location, variables=set_env)
    return Effect(SET_ENV_FOR_ARGUMENT, location, **(set_env_for_argument or {}))  # type: ignore[arg-type]


_EFFECT = ByShape(
    scalar=Choice(EFFECTS, build=lambda word: Effect(str(word), word.location)),
    mapping=Record(
        "an effect with arguments",
        _effect_with_arguments,
        {
            SET_ENV: Field(_VARIABLES, "environment variables to set before the first call of the SDK", None),
            SET_ENV_FOR_ARGUMENT: Field(_FOR_ARGUMENT, "the same, depending on a command line argument", None),
        },
        exactly_one=((SET_ENV, SET_ENV_FOR_ARGUMENT),),
    ),
)

_WORKAROUND = Record(
    "a workaround",
    Workaround,
    {
        "name": Field(WORD, "what it is called"),
        "reason": Field(DOC, "why it is needed"),
        "environment": Field(ENVIRONMENT, "variable that switches it, or holds its number"),
        "default": Field(Switch(), "its state, or its number, when the variable is not set"),
        "maximum": Field(Int(1), "largest number that the variable may hold", None),
        "effects": Field(ListOf(_EFFECT, at_least=1), "what it does"),
        "source": _SOURCE,
    },
)
_KERNEL = Record(
    "a kernel",
    VendorKernel,
    {
        "strategy": Field(
            Choice(("native", "library")), "native: hand-written; library: a call of the vendor's library"
        ),
        "operation": Field(OPERATION_REF, "operation that does it (library)", None),
        "file": Field(FILE_NAME, "source file under backends/<vendor>/kernels (native)", None),
        "dtypes": Field(
            ListOf(Choice(DTYPES), at_least=1, unique=True), "dtypes that it takes; others fall back", None
        ),
        "note": _NOTE,
        "source": _SOURCE,
    },
    title="vendor_kernel",
    named="op",
)


def _constants() -> Record:
    """One key per portable enumeration, each with one key per value."""
    fields = {}
    for name, words in CONSTANTS.items():
        values = {
            word: Field(_CXX_OR_NONE, f"candidates for {word}; none: the SDK has no such thing", ()) for word in words
        }
        record = Record(f"the constants of {name}", _table, values, title=f"constants_{name}")
        fields[name] = Field(record, f"candidates for each value of {name}", None)
    return Record("the constants", _table, fields)


def _table(location: Location, **values: object) -> Table[object]:
    return Table({word: value for word, value in values.items() if value is not None}, location)


SPEC = Record(
    "a vendor file",
    Vendor,
    {
        "schema": Field(Int(1, 1), "version of this format", name="version"),
        "vendor": Field(VENDOR, "canonical name; becomes the name of the provider", name="name"),
        "title": Field(TITLE, "the name as people write it"),
        "autocast_dtype": Field(Choice(("bfloat16", "float16")), "dtype of mixed precision when the user names none"),
        "sdk": Field(_SDK, "where the SDK is and how it is laid out"),
        "groups": Field(
            Record("the groups", _table, {name: Field(_GROUP, f"the SDK's {name} part", None) for name in GROUPS}),
            "the parts of the SDK",
        ),
        "strict_typedefs": Field(
            Bool(), "true: handles are all void *, or codes int, so typedefs are told apart by name", False
        ),
        "types": Field(
            MapOf(WORD, _SOME_CXX_CANDIDATES), "candidates for each portable type; the first that parses wins"
        ),
        "statuses": Field(
            Record(
                "the statuses",
                _table,
                {name: Field(_STATUS, f"what calls of the {name} part return", None) for name in GROUPS},
            ),
            "status domains",
        ),
        "constants": Field(_constants(), "candidates for the values of portable enumerations", _EMPTY),
        "bindings": Field(
            MapOf(OPERATION_REF, ListOf(_CANDIDATE, at_least=1)), "candidates for each operation, best first"
        ),
        "helpers": Field(MapOf(IDENTIFIER, _HELPER), "C++ that candidates share", _EMPTY),
        "device_compiler": Field(Nullable(_COMPILER), "compiler of device code", None),
        "workarounds": Field(ListOf(_WORKAROUND), "deviations that the SDK needs", ()),
        "kernels": Field(MapOf(IDENTIFIER, _KERNEL), "ops whose kernel is not the framework's default", _EMPTY),
    },
    title="vendor",
)


def load_vendor(path: str | os.PathLike[str], name: str | None = None, folders: Iterable[Path] | None = None) -> Vendor:
    """The vendor of a file, with its base out of `folders` if it has one. Raises SchemaError with everything that is
    wrong with it, taken by itself."""
    return make_vendor(load_extended(path, name, VENDOR_FILE, folders))


def make_vendor(extended: Extended) -> Vendor:
    """The vendor of a file that was read together with its base."""
    vendor: Vendor = extended.validated(SPEC, "a vendor file")
    raise_problems(vendor_problems(vendor))
    return vendor
