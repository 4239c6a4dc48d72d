"""The header files of a simulated SDK: declarations of an `Api` as C and C++ text.

A pure function of the Api: the probe parses the result as in-memory files, `fl-gen sim build` writes it. Plain string
work without a template engine: it must not cost more than the parse of what it makes.
"""

from __future__ import annotations

import functools
import re

from fl_gen.render.simapi import Api, Header, Item, Version

BANNER = "SIMULATED SDK (a test double, not the vendor's): {what}, written by fl-gen from api.yaml; do not edit."

_DEFAULT = re.compile(r"\s*=\s*[^,)]+")
_PLACEHOLDER = re.compile(r"\{(\w+)\.(major|minor|patch)\}")


def strip_defaults(declaration: str) -> str:
    """`int f(int a)` of `int f(int a = 1)`."""
    return _DEFAULT.sub("", declaration)


def function_name(declaration: str) -> str:
    """`f` of `int *f(int)`."""
    match = re.search(r"(\w+)\s*\(", declaration)
    if match is None:
        raise ValueError(f"not a function declaration: {declaration}")
    return match.group(1)


def numbers(version: Version, library: str) -> dict[str, str]:
    """Major, minor and patch of `library` in `version`."""
    parts = [*version.libraries[library].split("."), "0", "0"][:3]
    return dict(zip(("major", "minor", "patch"), parts, strict=True))


def render_headers(api: Api, wanted: str | None = None) -> dict[str, str]:
    """Header path (relative to the include folder) -> text, for the version that `wanted` names (see find_version)."""
    return dict(_headers(api, api.find_version(wanted).version))


@functools.lru_cache(maxsize=8)
def _headers(api: Api, version: str) -> tuple[tuple[str, str], ...]:
    chosen = api.find_version(version)
    narrowed = api.at(chosen)
    return tuple((header.path, _header(narrowed, chosen, header)) for header in narrowed.headers)


def _header(api: Api, version: Version, header: Header) -> str:
    what = f"{header.path} of {api.sdk}, {header.library} {version.libraries[header.library]}"
    lines = [f"/* {BANNER.format(what=what)} */", f"#ifndef {header.guard}", f"#define {header.guard}", ""]
    lines += [f"#include <{include}>" for include in header.includes]
    if header.includes:
        lines.append("")
    plain = [item for item in header.items() if item.kind != "cxx"]
    if plain:
        lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    for section in header.sections:
        items = [item for item in section.items if item.kind != "cxx"]
        if not items:
            continue
        lines.append(f"/* {section.title} */")
        for item in items:
            lines += _declaration(item, version)
        lines.append("")
    if plain:
        lines += ["#ifdef __cplusplus", "}", "#endif", ""]
    cxx = [item for item in header.items() if item.kind == "cxx"]
    if cxx:
        lines.append("#ifdef __cplusplus")
        for item in cxx:
            lines += _notes(item)
            lines += item.text.rstrip("\n").split("\n")
        lines += ["#endif", ""]
    lines.append(f"#endif /* {header.guard} */")
    return "\n".join(lines) + "\n"


def _notes(item: Item) -> list[str]:
    notes = []
    if item.deprecated:
        notes.append(f"/* Deprecated: {item.deprecated}. */")
    if item.note and item.kind != "macro":
        notes.append(f"/* {item.note}. */")
    return notes


def _declaration(item: Item, version: Version) -> list[str]:
    text = item.text
    if item.kind == "macro":
        return _macro(item, version)
    if item.kind == "constant":
        return [*_notes(item), f"static const {item.type or 'int'} {item.text} = {item.value};"]
    if item.kind == "opaque":
        return [f"struct {text};"]
    if item.kind == "typedef":
        return [*_notes(item), f"typedef {text};"]
    if item.kind == "enum":
        tag = f"{item.tag} " if item.tag else ""
        rows = [
            f"    {e.name} = {e.value}," + (f" /* Deprecated: {e.deprecated}. */" if e.deprecated else "")
            for e in item.enumerators
        ]
        return [*_notes(item), f"typedef enum {tag}{{", *rows, f"}} {text};"]
    if item.kind == "record":
        fields = [f"    {field};" for field in item.fields]
        if not text:
            return [*_notes(item), f"struct {item.tag} {{", *fields, "};"]
        tag = f"{item.tag} " if item.tag else ""
        return [*_notes(item), f"typedef struct {tag}{{", *fields, f"}} {text};"]
    return [*_notes(item), *_function(text)]


def _function(text: str) -> list[str]:
    if "=" not in text:
        return [f"{text};"]
    return ["#ifdef __cplusplus", f"{text};", "#else", f"{strip_defaults(text)};", "#endif"]


def _macro(item: Item, version: Version) -> list[str]:
    value = _PLACEHOLDER.sub(lambda match: numbers(version, match.group(1))[match.group(2)], item.value)
    body = value.rstrip("\n").split("\n")
    if len(body) == 1:
        lines = [f"#define {item.text} {body[0]}".rstrip()]
    else:
        lines = [f"#define {item.text} \\", *(f"    {line} \\" for line in body[:-1]), f"    {body[-1]}"]
    if item.unless_defined:
        name = item.text.split("(")[0]
        lines = [f"#ifndef {name}", *lines, "#endif"]
    return lines
