"""`fl-gen sdk dump`: an SDK's headers as a document that is the same wherever the SDK is installed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fl_gen import __version__
from fl_gen.schema.catalog import Catalog
from fl_gen.schema.errors import quote
from fl_gen.schema.suggest import closest
from fl_gen.sdk.directives import Condition
from fl_gen.sdk.items import SdkError
from fl_gen.sdk.model import Declared, Enum, Function
from fl_gen.tasks.dump_values import (
    Availability,
    DumpSubject,
    EnumEntry,
    EnumeratorEntry,
    FieldEntry,
    FunctionEntry,
    FunctionMacroEntry,
    HeaderEntry,
    MacroEntry,
    Param,
    Place,
    RecordEntry,
    SdkDump,
    SkippedEntry,
    TypedefEntry,
    TypeUse,
    UnavailableEntry,
    When,
)
from fl_gen.tasks.sdk_description import Description, describe
from fl_gen.workflow.request import Request
from fl_gen.workflow.sdks import find_sdk_of

# What clang writes for a type without a name, in the spellings of its releases.
_NAMELESS = re.compile(r"\((?:anonymous|unnamed)(?: (?:struct|union|enum|class))? at ([^()]*?):(\d+):(\d+)\)")


def dump_vendor(request: Request, headers: Sequence[str] = ()) -> SdkDump:
    """The headers of the groups of a vendor's SDK that are there, or `headers` of it instead."""
    catalog = Catalog(request.schema_dirs)
    vendor = catalog.vendor(request.vendor)
    sdk = find_sdk_of(request, vendor, catalog)
    vendor = vendor.fitted(sdk.has_header)
    _require_headers(headers, sdk.include_dirs, sdk.memory)
    names = headers or sdk.headers(vendor)
    description = describe(tuple(dict.fromkeys(names)), sdk.include_dirs, sdk.memory)
    groups = tuple(key for key in vendor.groups if key in sdk.groups)
    return document(description, request.vendor, vendor.sdk.name, sdk.version, sdk.simulated, groups)


def dump_folder(roots: Sequence[str], headers: Sequence[str] = ()) -> SdkDump:
    """The headers of an SDK that no schema describes: `headers`, or those that are found below `roots`."""
    names = tuple(dict.fromkeys(headers))
    if names:
        return document(describe(names, _include_dirs(roots, names)), None, None, None, False, ())
    from fl_gen.sdk.discover import discover, nothing_found

    found = discover([Path(root) for root in roots])
    if not found.headers:
        raise nothing_found(roots, found)
    skipped = tuple(SkippedEntry(one.name, one.reason) for one in found.skipped)
    return document(describe(found.headers, found.include_dirs, found.memory), None, None, None, False, (), skipped)


def _include_dirs(roots: Sequence[str], headers: Sequence[str]) -> tuple[str, ...]:
    """The include folders of `roots`, or the roots themselves. SdkError for a root or a header that is not there."""
    folders: list[str] = []
    for root in roots:
        path = os.path.abspath(os.path.expanduser(root))
        if not os.path.isdir(path):
            what = "is a file, not a folder" if os.path.exists(path) else "does not exist"
            raise SdkError(f"--sdk {root} {what}", f"name the folder that holds {headers[0]}")
        folders += [folder for folder in (os.path.join(path, "include"), path) if os.path.isdir(folder)]
    _require_headers(headers, folders, {})
    return tuple(dict.fromkeys(folders))


def _require_headers(headers: Sequence[str], folders: Sequence[str], memory: Mapping[str, str]) -> None:
    """SdkError for a header that cannot be included, or is in none of the folders, with the nearest one that is."""
    for header in headers:
        if any(character in header for character in '<>"\n\r\\') or not header.strip():
            raise SdkError(f"--header {quote(header)} cannot stand in an #include", "name it as an #include spells it")
        paths = [os.path.join(folder, header) for folder in folders]
        if any(path in memory or os.path.isfile(path) for path in paths):
            continue
        beside = {name for folder in folders for name in _listed(folder, os.path.dirname(header), memory)}
        near = closest(header, beside)
        remedy = f"did you mean {near}?" if near else "name it as an #include spells it, and its folder with --sdk"
        raise SdkError(f"--header {header} is not in {', '.join(dict.fromkeys(folders))}", remedy)


def _listed(folder: str, inner: str, memory: Mapping[str, str]) -> list[str]:
    """The headers in a folder below an include folder, as an #include spells them."""
    prefix = f"{folder.rstrip('/')}/"
    found = [path[len(prefix) :] for path in memory if path.startswith(prefix)]
    try:
        return found + [os.path.join(inner, name) for name in os.listdir(os.path.join(folder, inner))]
    except OSError:
        return found


def document(
    description: Description,
    vendor: str | None,
    name: str | None,
    version: str | None,
    simulated: bool,
    groups: tuple[str, ...],
    skipped: Sequence[SkippedEntry] = (),
) -> SdkDump:
    """A description as the document to print: sorted by name, without any absolute path."""
    from fl_gen.sdk import clang

    sdk = description.sdk
    write = _Writer(description)
    own = sorted((header for header in sdk.headers if header.sdk), key=lambda header: header.name)
    return SdkDump(
        format=1,
        generator=f"fl-gen {__version__}",
        sdk=DumpSubject(
            vendor=vendor,
            name=name,
            version=version,
            simulated=simulated,
            groups=groups,
            libclang=clang.version(),
            compiler_headers=sdk.resource_headers.partition(" (")[0],
        ),
        headers=tuple(HeaderEntry(one.name, one.digest, _when(description.inherited.get(one.name, ()))) for one in own),
        skipped=tuple(sorted(skipped, key=lambda one: one.name)),
        functions=tuple(write.function(one) for _, one in sorted(sdk.functions.items())),
        enums=tuple(write.enum(one) for _, one in sorted(sdk.enums.items())),
        anonymous_enums=tuple(write.enum(one) for one in sorted(sdk.anonymous_enums, key=_order)),
        typedefs=tuple(
            TypedefEntry(
                one.name, write.type(one.type), write.type(one.canonical), _state(one.availability), *write.at(one.at)
            )
            for _, one in sorted(sdk.typedefs.items())
        ),
        records=tuple(
            RecordEntry(
                write.type(one.name),
                one.kind,  # type: ignore[arg-type]
                one.size,
                tuple(FieldEntry(item.name, write.type(item.type), write.type(item.canonical)) for item in one.fields),
                *write.at(one.at),
            )
            for _, one in sorted(sdk.records.items())
        ),
        macros=tuple(
            MacroEntry(one.name, one.text, one.value, description.renames.get(one.name, ()), *write.at(one.at))
            for _, one in sorted(sdk.macros.items())
            if one.name not in description.guards
        ),
        function_macros=tuple(
            FunctionMacroEntry(one.name, one.params, one.text, one.stands_for, *write.at(one.at))
            for _, one in sorted(description.function_macros.items())
        ),
        unavailable=tuple(
            UnavailableEntry(
                one.kind,  # type: ignore[arg-type]
                one.name,
                one.text,
                _place(one.at),
                _when(one.conditions),
                _place(one.declared) if one.declared is not None else None,
            )
            for one in sorted(description.hidden, key=lambda one: (one.name, one.at.header, one.at.line))
        ),
    )


class _Writer:
    """Turns the model's values into entries: conditions looked up, paths in types made relative."""

    def __init__(self, description: Description) -> None:
        self._description = description
        self._roots = sorted((folder.rstrip("/") + "/" for folder in description.include_dirs), key=len, reverse=True)

    def at(self, at: Declared) -> tuple[Place, tuple[When, ...]]:
        return _place(at), _when(self._description.conditions(at))

    def type(self, text: str) -> str:
        if " at " not in text:
            return text
        return _NAMELESS.sub(lambda match: f"(unnamed at {self._relative(match[1])}:{match[2]}:{match[3]})", text)

    def _relative(self, path: str) -> str:
        root = next((root for root in self._roots if path.startswith(root)), "")
        return path[len(root) :] if root else path.rsplit("/", 1)[-1]

    def function(self, one: Function) -> FunctionEntry:
        return FunctionEntry(
            one.name,
            self.type(one.signature),
            TypeUse(self.type(one.returns), self.type(one.canonical_returns)),
            tuple(Param(item.name, self.type(item.type), self.type(item.canonical)) for item in one.params),
            one.variadic,
            one.template,
            _state(one.availability),
            *self.at(one.at),
            tuple(self.function(other) for other in one.overloads),
        )

    def enum(self, one: Enum) -> EnumEntry:
        values = tuple(
            EnumeratorEntry(item.name, item.value, _state(item.availability), *self.at(item.at)) for item in one.values
        )
        return EnumEntry(one.name, one.underlying, values, *self.at(one.at))


def _order(one: Enum) -> tuple[str, int]:
    return one.at.header, one.at.line


def _place(at: Declared) -> Place:
    return Place(at.header, at.line)


def _when(conditions: Iterable[Condition]) -> tuple[When, ...]:
    return tuple(When(one.text, one.line) for one in conditions)


def _state(text: str) -> Availability:
    return "deprecated" if text == "deprecated" else "available" if text == "available" else "unavailable"
