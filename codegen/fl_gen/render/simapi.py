"""The prototypes of a vendor's SDK, as `schemas/vendors/<v>/api.yaml` holds them.

The format is explained at the head of those files. This module turns one file into a frozen `Api` and narrows it to one
version; it knows nothing about C text (see `simsdk`). Loading is kept fast: a run against the simulator loads the file
before it can probe anything.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fl_gen.schema.errors import FlGenError

KINDS = ("macro", "constant", "opaque", "typedef", "enum", "record", "function", "cxx")


class ApiError(FlGenError):
    """An api.yaml that cannot be used, or a version that it does not have."""


@dataclass(frozen=True, slots=True)
class Enumerator:
    """One name of an enum; `value` is a number or a C expression."""

    name: str
    value: int | str
    since: str | None = None
    until: str | None = None
    certainty: str = "certain"
    deprecated: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One declaration. `text` is its name, or for typedef, function and cxx the C text."""

    kind: str
    text: str
    since: str | None = None
    until: str | None = None
    certainty: str = "certain"
    source: str = ""
    deprecated: str | None = None
    note: str | None = None
    value: str = ""
    type: str = ""
    unless_defined: bool = False
    tag: str = ""
    enumerators: tuple[Enumerator, ...] = ()
    fields: tuple[str, ...] = ()
    nonnull: tuple[str, ...] = ()
    results: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sim: str | None = None
    body: str | None = None
    define: bool = True


@dataclass(frozen=True, slots=True)
class Section:
    """A run of items under one heading."""

    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """One header file; `path` is relative to the include folder."""

    path: str
    library: str
    guard: str
    includes: tuple[str, ...]
    sections: tuple[Section, ...]
    since: str | None = None
    until: str | None = None

    def items(self) -> Iterator[Item]:
        """All items in file order."""
        for section in self.sections:
            yield from section.items


@dataclass(frozen=True, slots=True)
class Library:
    """One shared library: the domain of its calls and the C++ that they use."""

    name: str
    domain: str
    headers: tuple[str, ...]
    types: str = ""
    support: str = ""
    since: str | None = None
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Domain:
    """A status type and the vendor's names for each engine result, the first one that a version has."""

    name: str
    type: str
    results: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Translation:
    """A function that turns an enumerator into a C++ value of the engine."""

    name: str
    library: str
    source: str
    target: str
    cases: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the SDK and of each library in it."""

    version: str
    libraries: Mapping[str, str]
    certainty: str
    source: str


@dataclass(frozen=True, eq=False)
class Api:
    """A whole api.yaml; compared and hashed by identity. After `at` it holds one version only."""

    vendor: str
    sdk: str
    versions: tuple[Version, ...]
    layout: Mapping[str, str]
    profile: Mapping[str, str | int]
    domains: tuple[Domain, ...]
    translations: tuple[Translation, ...]
    libraries: tuple[Library, ...]
    headers: tuple[Header, ...]

    def find_version(self, wanted: str | None = None) -> Version:
        """The newest version that is `wanted` or starts with it and a dot; the newest of all for None or "".

        Raises ApiError naming the known versions.
        """
        for version in self.versions:
            if not wanted or version.version == wanted or version.version.startswith(wanted + "."):
                return version
        known = ", ".join(version.version for version in self.versions)
        raise ApiError(f"sim:{wanted}: the simulated {self.vendor} SDK has no version {wanted}; it has {known}")

    def at(self, version: Version) -> Api:
        """This Api narrowed to what `version` has."""
        order = {known.version: index for index, known in enumerate(reversed(self.versions))}
        now = order[version.version]

        def has(since: str | None, until: str | None) -> bool:
            return (since is None or order[since] <= now) and (until is None or now <= order[until])

        headers = []
        for header in self.headers:
            if not has(header.since, header.until):
                continue
            sections = []
            for section in header.sections:
                items = tuple(
                    (
                        replace(item, enumerators=tuple(e for e in item.enumerators if has(e.since, e.until)))
                        if item.enumerators
                        else item
                    )
                    for item in section.items
                    if has(item.since, item.until)
                )
                if items:
                    sections.append(replace(section, items=items))
            headers.append(replace(header, sections=tuple(sections)))
        paths = {header.path for header in headers}
        return replace(
            self,
            versions=(version,),
            headers=tuple(headers),
            libraries=tuple(
                replace(library, headers=tuple(path for path in library.headers if path in paths))
                for library in self.libraries
                if has(library.since, library.until)
            ),
        )


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(str(entry) for entry in value or ())


def _results(value: Mapping[str, Sequence[str]] | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((str(name), _strings(names)) for name, names in (value or {}).items())


def _enumerator(name: str, value: Any, certainty: str) -> Enumerator:
    if not isinstance(value, Mapping):
        return Enumerator(name, value, certainty=certainty)
    return Enumerator(
        name,
        value["value"],
        value.get("since"),
        value.get("until"),
        value.get("certainty", certainty),
        value.get("deprecated"),
    )


def _item(data: Mapping[str, Any], section: Mapping[str, Any]) -> Item:
    kind = next((kind for kind in KINDS if kind in data), None)
    if kind is None:
        raise ApiError(f"an item of section '{section['title']}' has none of the keys {', '.join(KINDS)}: {dict(data)}")
    certainty = data.get("certainty", section["certainty"])
    return Item(
        kind=kind,
        text=str(data[kind]),
        since=data.get("since", section.get("since")),
        until=data.get("until", section.get("until")),
        certainty=certainty,
        source=data.get("source", section["source"]),
        deprecated=data.get("deprecated"),
        note=data.get("note"),
        value=str(data.get("value", "")),
        type=data.get("type", ""),
        unless_defined=bool(data.get("unless_defined", False)),
        tag=data.get("tag", ""),
        enumerators=tuple(_enumerator(n, v, certainty) for n, v in (data.get("enumerators") or {}).items()),
        fields=_strings(data.get("fields")),
        nonnull=_strings(data.get("nonnull")),
        results=_results(data.get("results")),
        sim=data.get("sim"),
        body=data.get("body"),
        define=bool(data.get("define", True)),
    )


def parse_api(data: Mapping[str, Any]) -> Api:
    """An Api from the plain mappings and lists of an api.yaml that has passed the schema check."""
    return Api(
        vendor=data["vendor"],
        sdk=data["sdk"],
        versions=tuple(
            Version(v["version"], dict(v["libraries"]), v["certainty"], v["source"]) for v in data["versions"]
        ),
        layout=dict(data["layout"]),
        profile=dict(data["profile"]),
        domains=tuple(Domain(name, d["type"], _results(d["results"])) for name, d in data["domains"].items()),
        translations=tuple(
            Translation(m["name"], m["library"], m["from"], m["to"], tuple(m["cases"].items())) for m in data["maps"]
        ),
        libraries=tuple(
            Library(
                entry["name"],
                entry["domain"],
                _strings(entry["headers"]),
                entry.get("types", ""),
                entry.get("support", ""),
                entry.get("since"),
                entry.get("until"),
            )
            for entry in data["libraries"]
        ),
        headers=tuple(
            Header(
                path=entry["path"],
                library=entry["library"],
                guard=entry["guard"],
                includes=_strings(entry.get("includes")),
                sections=tuple(
                    Section(section["title"], tuple(_item(item, section) for item in section["items"]))
                    for section in entry["sections"]
                ),
                since=entry.get("since"),
                until=entry.get("until"),
            )
            for entry in data["headers"]
        ),
    )


@functools.lru_cache(maxsize=8)
def load_api(path: Path, folders: tuple[Path, ...] | None = None) -> Api:
    """The Api of one file, with its base out of these schema folders if it has one. Raises SchemaError with everything
    that is wrong with it."""
    from fl_gen.schema.api_spec import load_api_data
    from fl_gen.schema.paths import shown

    return parse_api(load_api_data(path, shown(path), folders))
