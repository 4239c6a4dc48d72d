"""A simulated SDK as files: headers, library sources over the engine, and what builds and finds them.

`render_sim_sdk` is a pure function of an `Api`; `output.simbuild` writes and compiles what it gives. The libraries are
a TEST DOUBLE of the vendor's: same names, types and prototypes, no device behind them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fl_gen.render.environment import FileRender, environment_for, render_file
from fl_gen.render.simapi import Api, ApiError, Domain, Item, Library, Translation, Version
from fl_gen.render.simheaders import BANNER, function_name, render_headers, strip_defaults
from fl_gen.schema.paths import data_dir

TEMPLATES = "simsdk"

# By this file generated build files know a simulated SDK: it has no device compiler.
MARKER_FILE = "share/fl-sim.txt"


def templates_dir() -> Path:
    """The shipped templates of simulated SDKs."""
    return data_dir() / "templates" / TEMPLATES


def package_name(api: Api) -> str:
    """Name of the CMake package of the simulated SDK, `FlSimMlu`."""
    return f"FlSim{api.vendor.capitalize()}"


def render_sim_sdk(api: Api, wanted: str | None = None) -> dict[str, str]:
    """Path below the SDK's root -> text, for the version that `wanted` names ("6.14", None: the newest).

    Raises ApiError for an unknown version and for an api file whose parts do not fit together.
    """
    version = api.find_version(wanted)
    now = api.at(version)
    files = {f"{api.layout['include']}/{path}": text for path, text in render_headers(api, version.version).items()}
    for library in now.libraries:
        files[f"src/{library.name}.cc"] = _render("library.cc.j2", _library(now, version, library))
    common = {
        "api": now,
        "vendor": api.vendor,
        "version": version,
        "layout": api.layout,
        "libraries": now.libraries,
        "package": package_name(api),
        "banner": BANNER.format(what=f"{api.sdk} {version.version}"),
    }
    files["CMakeLists.txt"] = _render("CMakeLists.txt.j2", common)
    config = f"{api.layout['library']}/cmake/{package_name(api)}/{package_name(api)}Config.cmake"
    files[config] = _render("config.cmake.j2", common)
    files[api.layout["version_file"]] = _render("version.txt.j2", common)
    files[MARKER_FILE] = files[api.layout["version_file"]]
    return files


def _render(template: str, context: dict[str, Any]) -> str:
    return render_file(environment_for((templates_dir(),)), FileRender(template, template, context))


def _enumerator_names(api: Api, type_name: str) -> dict[str, int | str]:
    for header in api.headers:
        for item in header.items():
            if item.kind == "enum" and item.text == type_name:
                return {e.name: e.value for e in item.enumerators}
    return {}


def _numbered_names(api: Api) -> dict[str, int | str]:
    """Constants and macros with a number, for a status type that is an int and no enum."""
    values = {i.text: i.value for header in api.headers for i in header.items() if i.kind in ("constant", "macro")}
    return {name: int(value) for name, value in values.items() if re.fullmatch(r"-?[0-9]+", value)}


def _engine(result: str) -> str:
    """`kNotReady` of `not_ready`."""
    return "k" + "".join(part.capitalize() for part in result.split("_"))


def _chosen(
    results: tuple[tuple[str, tuple[str, ...]], ...], known: dict[str, int | str], where: str
) -> Iterator[tuple[str, str]]:
    for result, names in results:
        name = next((name for name in names if name in known), None)
        if name is None:
            raise ApiError(f"{where}: none of {', '.join(names)} exists in this version")
        yield _engine(result), name


def _distinct(names: dict[str, int | str]) -> list[tuple[str, int]]:
    """The enumerators with a plain number, the first one of each number."""
    first: dict[int, str] = {}
    for name, value in names.items():
        if isinstance(value, int):
            first.setdefault(value, name)
    return [(name, value) for value, name in first.items()]


def _domain(api: Api, library: Library) -> tuple[Domain, dict[str, int | str], dict[str, Any]]:
    domain = next((domain for domain in api.domains if domain.name == library.domain), None)
    if domain is None:
        raise ApiError(f"{api.vendor}: library {library.name}: unknown domain {library.domain}")
    known = _enumerator_names(api, domain.type) or _numbered_names(api)
    results = list(_chosen(domain.results, known, f"{api.vendor}: domain {domain.name}"))
    context = {
        "type": domain.type,
        "function": f"To{domain.name.capitalize()}",
        "results": results,
        "fallback": dict(results)[_engine("internal")],
        "names": _distinct(known),
    }
    return domain, known, context


def _translations(api: Api, library: Library) -> Iterator[Translation]:
    for translation in api.translations:
        known = _enumerator_names(api, translation.source)
        if translation.library != library.name or not known:
            continue
        seen: set[int | str] = set()
        cases = []
        for name, value in translation.cases:
            if name in known and known[name] not in seen:
                seen.add(known[name])
                cases.append((name, value))
        yield Translation(translation.name, translation.library, translation.source, translation.target, tuple(cases))


def _statements(sim: str, indent: str) -> str:
    """`sim` as statements: a single expression is returned."""
    text = sim.strip("\n")
    if not text.rstrip().endswith((";", "}")):
        text = f"return {text};"
    return textwrap.indent(text, indent)


def _function(item: Item, known: dict[str, int | str], vendor: str) -> dict[str, Any]:
    name = function_name(item.text)
    if (item.sim is None) == (item.body is None):
        raise ApiError(f"{vendor}: {name}: needs either sim or body")
    return {
        "name": name,
        "declaration": strip_defaults(item.text),
        "nonnull": item.nonnull,
        "results": list(_chosen(item.results, known, f"{vendor}: {name}")),
        "sim": None if item.sim is None else _statements(item.sim, " " * 8),
        "body": None if item.body is None else textwrap.indent(item.body.rstrip("\n") + "\n", " " * 4),
    }


def _library(api: Api, version: Version, library: Library) -> dict[str, Any]:
    domain, known, domain_context = _domain(api, library)
    headers = [header for header in api.headers if header.library == library.name]
    return {
        "banner": BANNER.format(what=f"lib{library.name} of {api.sdk}, {version.libraries[library.name]}"),
        "headers": library.headers,
        "types": library.types,
        "support": library.support,
        "translations": list(_translations(api, library)),
        "domain": domain_context,
        "profile": api.profile,
        "functions": [
            _function(item, known, f"{api.vendor}: {domain.name}")
            for header in headers
            for item in header.items()
            if item.kind == "function" and item.define
        ],
    }
