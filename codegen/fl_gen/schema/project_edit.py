"""Writes `fl-gen.yaml`: a new one with comments, and edits of one that people wrote, which keep all else as it is."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

from .errors import Diagnostic, SchemaError
from .kernels import after_line, last_character
from .nodes import Mapping, Node, Scalar
from .project import Project
from .project_spec import SPEC, WHAT, read_project
from .spec import validate
from .yaml_loader import loads

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_.+/:-]*(?<!:)")
_COLUMN = 28  # where comments begin

Vendors = dict[str, tuple[tuple[str, ...], tuple[str, ...]]]  # name -> (sdk, require)


def project_text(
    *,
    generator: str,
    framework: str,
    output: str = ".",
    formatter: str = "clang-format",
    licence: str | None = None,
    torch: str | None = None,
    schemas: Sequence[str] = (),
    templates: Sequence[str] = (),
    vendors: Vendors | None = None,
) -> str:
    """The text of a new file."""

    def line(text: str, comment: str) -> str:
        return f"{text:<{_COLUMN - 1}} # {comment}"

    wheel, which = framework == "torch", "PyTorch's package or its site-packages; without it the one that Python finds"
    lines = [
        "# What fl-gen generates in this repository: `fl-gen regen` makes it, `fl-gen check` compares it.",
        "# Paths are relative to this file. For editors: fl-gen schema export project",
        "schema: 1",
        line(f"generator: {generator}", "the fl-gen that makes the tree; another version stops and says so"),
        f"framework: {framework}",
        *([line(f"torch: {_word(torch)}" if torch is not None else "# torch: FOLDER", which)] if wheel else []),
        line(f"output: {_word(output)}", "the folder that holds generated/ and backends/"),
        line(f"formatter: {formatter}", "clang-format or none"),
        line(
            f"licence: {_word(licence)}" if licence is not None else "# licence: LICENCE.header",
            "a text that is put as a comment at the top of every generated file",
        ),
        line(f"schemas: {_list(schemas)}", "folders of schemas that lie over fl-gen's own, first wins"),
        line(f"templates: {_list(templates)}", "folders of templates that lie over fl-gen's own, first wins"),
        "vendors:",
        "  # name: {sdk: sim, sim:VERSION, a folder, or a list of folders; require: [blas, ccl]}",
        "  # Without sdk the vendor's environment variable says where its SDK is.",
    ]
    lines += [f"  {name}: {_entry(sdk, require)}" for name, (sdk, require) in (vendors or {}).items()]
    return "\n".join(lines) + "\n"


def with_vendor(text: str, name: str, vendor: str, sdk: Sequence[str], require: Sequence[str]) -> str:
    """The text of a file with the vendor so described; all else stays as it is, byte for byte.

    `name` is the path that messages show. Raises SchemaError when the file is wrong, or so written that the edit would
    change more than the vendor.
    """
    before = read_project(text, name)
    wanted = {**_vendors(before), vendor: (tuple(sdk), tuple(require))}
    if _vendors(before) == wanted:
        return text
    root = loads(text, name)
    assert isinstance(root, Mapping)  # the file was validated
    entry = _entry(sdk, require)
    for new in _edits(text, root, vendor, entry, sdk):
        with contextlib.suppress(SchemaError):
            after: Project = validate(SPEC, loads(new, name), WHAT)
            if _vendors(after) == wanted and _comments(new) >= _comments(text):
                return new
    place = before.vendors.location_of(vendor)
    hint = f"write it yourself: {vendor}: {entry}"
    raise SchemaError([Diagnostic(place, f"{vendor} cannot be recorded in this file as it is written", hint)])


def with_version(text: str, name: str, version: str) -> str:
    """The text of a file with another version of fl-gen in it."""
    root = loads(text, name)
    assert isinstance(root, Mapping)
    value = root.values["generator"]
    assert isinstance(value, Scalar)
    body, bom = text.removeprefix("\ufeff"), "\ufeff" if text.startswith("\ufeff") else ""
    return f"{bom}{body[: value.index]}{version}{body[value.end :]}"


def _vendors(project: Project) -> Vendors:
    return {name: (tuple(map(str, one.sdk)), tuple(map(str, one.require))) for name, one in project.vendors.items()}


def _comments(text: str) -> int:
    """How many lines hold what may be a comment: an edit that loses one is not taken."""
    return sum("#" in line for line in text.splitlines())


def _edits(text: str, root: Mapping, vendor: str, entry: str, sdk: Sequence[str]) -> Iterator[str]:
    """The text with each edit that may be right, the smallest first. The caller reads each, and compares."""
    bom = "\ufeff" if text.startswith("\ufeff") else ""
    body = text[len(bom) :]
    vendors = root.values["vendors"]
    if isinstance(vendors, Mapping) and vendor in vendors.values:
        yield from (bom + new for new in _replaced(body, vendors.keys[vendor], vendors.values[vendor], entry, sdk))
    else:
        yield from (bom + new for new in _inserted(body, root.keys["vendors"], vendors, f"{vendor}: {entry}"))


def _replaced(body: str, key: Scalar, value: Node, entry: str, sdk: Sequence[str]) -> Iterator[str]:
    if isinstance(value, Mapping):
        old = value.values.get("sdk")
        if isinstance(old, Scalar) and len(sdk) == 1:
            yield f"{body[: old.index]}{_word(sdk[0])}{body[old.end :]}"
    end = last_character(value)
    if end <= key.end:  # nothing, or an empty map
        found = re.compile(r"[ \t]*:(?:[ \t]*(?:\{[ \t]*\}|null|~))?").match(body, key.end)
        end = found.end() if found is not None else key.end
    yield f"{body[: key.end]}: {entry}{body[end:]}"
    while (close := re.compile(r"\s*,?\s*[}\]]").match(body, end)) is not None:
        end = close.end()
        yield f"{body[: key.end]}: {entry}{body[end:]}"


def _inserted(body: str, key: Scalar, vendors: Node, item: str) -> Iterator[str]:
    newline = "\r\n" if "\r\n" in body else "\n"
    if isinstance(vendors, Mapping) and vendors.values:
        first = next(iter(vendors.keys.values()))
        last = next(reversed(vendors.values))
        end = max(last_character(vendors.values[last]), vendors.keys[last].end)
        if body.split("\n")[vendors.line][vendors.column : vendors.column + 1] == "{":
            while (close := re.compile(r"\s*[}\]]").match(body, end)) is not None:
                yield f"{body[:end]}, {item}{body[end:]}"
                end = close.end()
            return
        head, line_end, tail = after_line(body, end)
        yield f"{head}{line_end or newline}{' ' * first.column}{item}{newline}{tail}"
        return
    # None yet: `vendors:`, `vendors: {}`, `vendors: null`; all become the head of a block, below their comments.
    head, line_end, tail = after_line(body, key.end)
    line = re.sub(r"^([^#{}~]*:)(?:[ \t]*(?:\{[ \t]*\}|null|~))?", r"\1", head[key.index :])
    below = re.compile(r"(?:[ \t]+#[^\n]*(?:\n|$))*").match(tail)
    comments = below.group() if below is not None else ""
    if comments and not comments.endswith("\n"):
        comments += newline
    rest = tail[below.end() if below is not None else 0 :]
    yield f"{head[: key.index]}{line}{line_end or newline}{comments}  {item}{newline}{rest}"


def _entry(sdk: Sequence[str], require: Sequence[str]) -> str:
    parts = []
    if sdk:
        parts.append(f"sdk: {_word(sdk[0]) if len(sdk) == 1 else _list(sdk)}")
    if require:
        parts.append(f"require: {_list(require)}")
    return "{" + ", ".join(parts) + "}"


def _list(words: Sequence[str]) -> str:
    return "[" + ", ".join(map(_word, words)) + "]"


def _word(text: str) -> str:
    """A text as YAML: plain when it cannot be read in another way."""
    if _PLAIN.fullmatch(text) and text.lower() not in ("null", "true", "false", "yes", "no", "on", "off"):
        return text
    return "'" + text.replace("'", "''") + "'"
