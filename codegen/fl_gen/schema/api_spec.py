"""The declaration of `api.yaml`: the prototypes of a vendor's SDK and what each call does on the simulated SDK.

The value of a file is plain data, maps and lists with the file's own keys; `fl_gen.render.simapi` makes its model of
it. What the keys mean is explained at the head of the shipped files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .errors import Diagnostic
from .extend import API_FILE, load_extended
from .frozen import frozen
from .link import dangling
from .location import Location
from .nodes import Mapping, Node, Scalar
from .scalars import (
    CXX_TYPE,
    DOC,
    ENVIRONMENT,
    HEADER,
    IDENTIFIER,
    LIBRARY,
    QUALIFIED,
    RELATIVE_PATH,
    VENDOR_PATTERN,
    WORD,
    Bool,
    Choice,
    Cxx,
    Int,
    Str,
)
from .spec import ByShape, Check, Definitions, Field, Json, ListOf, MapOf, Record, Spec, raise_problems
from .suggest import suggestion
from .values import Ref, Table

KINDS = ("macro", "constant", "opaque", "typedef", "enum", "record", "function", "cxx")
# What the engine of the simulated SDK may answer; a domain gives the vendor's code for each.
RESULTS = (
    "success", "not_ready", "out_of_memory", "invalid_value", "invalid_handle", "invalid_device", "no_device",
    "invalid_address", "invalid_direction", "not_supported", "illegal_state", "invalid_usage", "timeout",
    "remote_error", "internal",
)  # fmt: skip

_VERSION = Str("a version", "[0-9]+(?:\\.[0-9]+)*", "numbers with dots between them")
_VERSION_REF = _VERSION.with_location()
# SDK headers use names that C++ reserves (guards, struct tags), so these are checked for their letters only.
_C_NAME = Str("a C name", "[A-Za-z_][A-Za-z0-9_]*", "letters, digits and _")
_C_NAME_REF = _C_NAME.with_location()
_MACRO = Str(
    "a macro's name", "[A-Za-z_][A-Za-z0-9_]*(?:\\([A-Za-z0-9_, .]*\\))?", "a name, with its parameters if any"
)
_LIBRARY_REF = LIBRARY.with_location()
_CODE = Cxx("C or C++ text", lines=True, plain=True)
_CERTAINTY = Choice(("certain", "inferred"))


def _data(location: Location, **values: Any) -> Table[Any]:
    """The record as the file has it: keys that are not there are left out."""
    return Table({key: value for key, value in values.items() if value is not None}, location)


def _record(what: str, fields: dict[str, Field], title: str) -> Record:
    return Record(what, _data, fields, title=title)


def _since() -> dict[str, Field]:
    return {
        "since": Field(_VERSION_REF, "first version that has it", None),
        "until": Field(_VERSION_REF, "last version that has it", None),
    }


_INTEGER = re.compile(r"[-+]?(?:0x[0-9A-Fa-f]{1,16}|0|[1-9][0-9]{0,18})")


@frozen
class _Number(Spec):
    """An enumerator's number (an int, hexadecimal too), or a C expression (its text)."""

    def check(self, node: Node, check: Check, label: str) -> Any:
        if isinstance(node, Scalar) and not node.style and _INTEGER.fullmatch(node.value):
            return int(node.value, 0)
        return _CODE.check(node, check, label)

    def json(self, definitions: Definitions) -> Json:
        return _CODE.json(definitions)


_RESULTS = MapOf(Choice(RESULTS), ListOf(_C_NAME, at_least=1))
_ENUMERATOR = ByShape(
    scalar=_Number(),
    mapping=_record(
        "an enumerator",
        {
            "value": Field(_Number(), "its number, or a C expression"),
            **_since(),
            "certainty": Field(_CERTAINTY, "certain: read in a vendor header", None),
            "source": Field(DOC, "where it is known from", None),
            "deprecated": Field(DOC, "what the header says about that", None),
            "note": Field(DOC, "one line", None),
        },
        "enumerator",
    ),
)
_COMMON = {
    **_since(),
    "certainty": Field(_CERTAINTY, "certain: read in a vendor header; inferred: a conclusion", None),
    "source": Field(DOC, "where it is known from", None),
    "deprecated": Field(DOC, "what the header says about that", None),
    "note": Field(DOC, "one line", None),
}
_OWN: dict[str, dict[str, Field]] = {
    "macro": {
        "macro": Field(_MACRO, "its name, with its parameters if any"),
        "value": Field(_CODE, "what it expands to"),
        "unless_defined": Field(Bool(), "true: between #ifndef and #endif", None),
    },
    "constant": {
        "constant": Field(_C_NAME, "its name"),
        "type": Field(CXX_TYPE, "its type; int, if nothing is said", None),
        "value": Field(_Number(), "its number, or a C expression"),
    },
    "opaque": {"opaque": Field(_C_NAME, "a struct that is only declared")},
    "typedef": {"typedef": Field(_CODE, "the text after `typedef`")},
    "enum": {
        "enum": Field(_C_NAME, "the name of the typedef"),
        "tag": Field(_C_NAME, "the name of the enum", None),
        "enumerators": Field(MapOf(_C_NAME, _ENUMERATOR, at_least=1), "name -> number, or a map with value"),
    },
    "record": {
        "record": Field(Str("a C name or nothing", "|[A-Za-z_][A-Za-z0-9_]*", blank=True), "the name of the typedef"),
        "tag": Field(_C_NAME, "the name of the struct", None),
        "fields": Field(ListOf(_CODE), "its members"),
    },
    "function": {
        "function": Field(_CODE, "its C prototype"),
        "sim": Field(_CODE, "what it does: C++ that gives a Result of the engine", None),
        "body": Field(_CODE, "the whole C++ body of a function that does not return a status", None),
        "nonnull": Field(ListOf(_C_NAME, unique=True), "parameters that are refused when null", None),
        "results": Field(_RESULTS, "codes that differ from the domain's", None),
        "define": Field(Bool(), "false: declared only", None),
    },
    "cxx": {"cxx": Field(_CODE, "declarations for C++ alone")},
}
_ITEMS = {
    kind: _record(f"a {kind} item" if kind[0] not in "aeo" else f"an {kind} item", {**own, **_COMMON}, f"{kind}_item")
    for kind, own in _OWN.items()
}


@frozen
class _Item(Spec):
    """One declaration: which of the keys of KINDS it has says what it is."""

    def check(self, node: Node, check: Check, label: str) -> Any:
        if isinstance(node, Mapping):
            for kind in node.values:
                if kind in _ITEMS:
                    return _ITEMS[kind].check(node, check, label)
            first = next(iter(node.values), "")
            hint = suggestion(first, KINDS) or f"an item is named by one of {', '.join(KINDS)}"
            return check.report(node, f"{label} has none of the keys {', '.join(KINDS)}", hint, "missing-key")
        return _ITEMS["function"].check(node, check, label)

    def json(self, definitions: Definitions) -> Json:
        return {"anyOf": [item.json(definitions) for item in _ITEMS.values()]}


_SECTION = _record(
    "a section",
    {
        "title": Field(DOC, "its heading"),
        "source": Field(DOC, "where its items are known from"),
        "certainty": Field(_CERTAINTY, "of its items, unless they say otherwise"),
        **_since(),
        "items": Field(ListOf(_Item(), at_least=1), "its declarations"),
    },
    "section",
)
_HEADER = _record(
    "a header",
    {
        "path": Field(HEADER, "below layout.include"),
        "library": Field(_LIBRARY_REF, "the library that its functions are in"),
        "guard": Field(_C_NAME, "the macro of its include guard"),
        "includes": Field(ListOf(HEADER), "headers that it includes", None),
        **_since(),
        "sections": Field(ListOf(_SECTION), "its content"),
    },
    "sdk_header",
)
_LIBRARY = _record(
    "a library",
    {
        "name": Field(LIBRARY, "without lib and suffix"),
        "domain": Field(WORD.with_location(), "the status domain of its calls"),
        "headers": Field(ListOf(HEADER.with_location(), at_least=1), "headers that its source includes"),
        **_since(),
        "types": Field(_CODE, "C++ before the maps", None),
        "support": Field(_CODE, "C++ after the maps", None),
    },
    "library",
)
_MAP = _record(
    "a map",
    {
        "name": Field(IDENTIFIER, "the function's name"),
        "library": Field(_LIBRARY_REF, "the library whose calls use it"),
        "from": Field(CXX_TYPE, "the vendor's enum"),
        "to": Field(CXX_TYPE, "the C++ type of the value"),
        "cases": Field(MapOf(_C_NAME, _CODE, at_least=1), "enumerator -> C++ value"),
    },
    "map",
)
_DOMAIN = _record(
    "a domain",
    {
        "type": Field(QUALIFIED, "the status type"),
        "source": Field(DOC, "where the codes are known from"),
        "results": Field(_RESULTS, "engine result -> ordered names; the first that the version has is returned"),
    },
    "domain",
)
SPEC = Record(
    "an api file",
    _data,
    {
        "schema": Field(Int(1, 1), "version of this format"),
        "vendor": Field(Str("a vendor name", VENDOR_PATTERN), "canonical name of the vendor"),
        "sdk": Field(DOC, "what the vendor calls the SDK"),
        "versions": Field(
            ListOf(
                _record(
                    "a version",
                    {
                        "version": Field(_VERSION, "of the SDK"),
                        "libraries": Field(MapOf(LIBRARY, _VERSION), "version of each library in it"),
                        "certainty": Field(_CERTAINTY, "whether that was read or concluded"),
                        "source": Field(DOC, "where it is known from"),
                    },
                    "version",
                ),
                at_least=1,
            ),
            "versions of the SDK, newest first",
        ),
        "layout": Field(
            _record(
                "a layout",
                {
                    "include": Field(RELATIVE_PATH, "folder of the headers"),
                    "library": Field(RELATIVE_PATH, "folder of the libraries"),
                    "version_file": Field(RELATIVE_PATH, "file that holds the version"),
                },
                "layout",
            ),
            "folders of the SDK below its root",
        ),
        "profile": Field(
            _record(
                "a profile",
                {
                    "vendor": Field(WORD, "short name in messages"),
                    "device_name": Field(DOC, "product name of a device"),
                    "visible_devices": Field(ENVIRONMENT, "variable that lists the visible devices"),
                    "least_priority": Field(Int(), "lowest stream priority"),
                    "greatest_priority": Field(Int(), "highest stream priority"),
                    "default_priority": Field(Int(), "priority of a stream made without one"),
                },
                "profile",
            ),
            "what the engine is told",
        ),
        "domains": Field(MapOf(WORD, _DOMAIN, at_least=1), "status domains"),
        "maps": Field(ListOf(_MAP), "translation functions"),
        "libraries": Field(ListOf(_LIBRARY, at_least=1), "shared libraries"),
        "headers": Field(ListOf(_HEADER, at_least=1), "header files"),
    },
    title="api",
)


def load_api_data(
    path: str | os.PathLike[str], name: str | None = None, folders: Iterable[Path] | None = None
) -> Table[Any]:
    """The checked data of a file, with its base out of `folders` if it has one. Raises SchemaError with everything that
    is wrong with it."""
    data: Table[Any] = load_extended(path, name, API_FILE, folders).validated(SPEC, "an api file")
    raise_problems(api_problems(data))
    return data


def api_problems(data: Table[Any]) -> list[Diagnostic]:
    """Versions, libraries, domains and headers that are named but not defined, and versions in the wrong order."""
    order = {version["version"]: place for place, version in enumerate(data["versions"])}
    libraries = [library["name"] for library in data["libraries"]]
    headers = [header["path"] for header in data["headers"]]
    problems = []
    for entry in _dated(data):
        given: list[Ref] = [entry[key] for key in ("since", "until") if key in entry]
        known = [word for word in given if word in order]
        problems += [dangling(word.location, "version", word, order) for word in given if word not in order]
        if len(known) == 2 and order[known[0]] < order[known[1]]:
            message = f"it goes (until: {known[1]}) before it comes (since: {known[0]})"
            problems.append(Diagnostic(known[1].location, message, rule="wrong-value", length=len(known[1])))
    named: list[tuple[str, Ref, list[str]]] = []
    for library in data["libraries"]:
        named.append(("domain", library["domain"], list(data["domains"])))
        named += [("header", header, headers) for header in library["headers"]]
    named += [("library", entry["library"], libraries) for entry in (*data["headers"], *data["maps"])]
    problems += [dangling(word.location, what, word, known) for what, word, known in named if word not in known]
    return [*problems, *_without_version(data, order)]


def _without_version(data: Table[Any], order: dict[str, int]) -> Iterator[Diagnostic]:
    """Versions of the SDK that do not say which version of a library they hold, though they have it or its headers.

    A library that no entry of `libraries` has is told elsewhere, once.
    """
    known = {str(library["name"]) for library in data["libraries"]}
    for version in data["versions"]:
        place = order[version["version"]]  # the newest is 0
        needed = {
            str(entry["library"] if "library" in entry else entry["name"])
            for entry in (*data["headers"], *data["libraries"])
            if order.get(entry.get("since"), place) >= place >= order.get(entry.get("until"), place)
        }
        for name in sorted((needed & known) - {str(key) for key in version["libraries"]}):
            message = f"version {version['version']} does not say which version of {name} it holds"
            yield Diagnostic(version["libraries"].location, message, f"add {name}: <version>", rule="missing-key")


def _dated(data: Table[Any]) -> Iterator[Table[Any]]:
    """Everything that may have `since` and `until`."""
    yield from data["libraries"]
    for header in data["headers"]:
        yield header
        for section in header["sections"]:
            yield section
            for item in section["items"]:
                yield item
                yield from (value for value in item.get("enumerators", {}).values() if isinstance(value, Table))
