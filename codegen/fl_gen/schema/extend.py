"""Bases: `extends:` and `with:` of vendor.yaml and api.yaml.

SDKs that copy one another's shape share a base, `bases/<name>/vendor.yaml` and `api.yaml`: any keys of such a file,
with placeholders for the parameters that it declares. A file that extends it gives their values and what is different.
The two are merged as located nodes before anything is validated: maps key by key, while scalars and lists replace, and
a null removes a key. What comes out is an ordinary file; nothing else knows that it had a base, except that locations
in a base's text lead to the `extends` line (`Location.via`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from .errors import Diagnostic, SchemaError, quote
from .extend_api import append_headers, drop_items
from .frozen import frozen
from .location import Location
from .nodes import Mapping, Node, Scalar
from .paths import data_dir, is_there, shown
from .placeholders import Replacer, stray
from .scalars import DOC, VENDOR_PATTERN, WORD, Bool, Doc, Int, Str
from .spec import Field, ListOf, MapOf, Record, Spec, raise_problems, validate
from .suggest import closest, suggestion
from .values import ModelError, Ref, Table
from .yaml_loader import load

VENDOR_FILE, API_FILE = "vendor.yaml", "api.yaml"
MAX_WORD = 64  # characters of a parameter that becomes part of names
MAX_PROSE = 400  # characters of a parameter that is text for people
_WORD = re.compile(r"[A-Za-z0-9_]+")
_FOLDER = re.compile(r"(?:[A-Za-z0-9_]+/)*")
_BASE_KEYS = ("schema", "base", "doc", "parameters")
# Maps whose keys are what the base offers: a null for a key that it does not have is a mistake.
_OFFERS = ("bindings", "types", "helpers", "kernels", "groups", "statuses", "domains")

# It becomes part of a path, so it is short.
_BASE_NAME = Str(
    "the name of a base", "[a-z][a-z0-9_]{0,63}", "a folder below bases/: lower case letters, digits and _, at most 64"
)
_ITEM_NAME = Str("a C name or a header", "[A-Za-z_][A-Za-z0-9_./+-]*", "the name of what is dropped").with_location()
_VALUE = Str("text", blank=True).with_location()


@frozen
class Parameter:
    """What a file that extends a base must say (or may, with a `default`). `text` marks prose, everything else becomes
    part of names. With `choices` it is one of them; a `folder` stands before the name of a header, and may be empty."""

    name: str
    doc: str
    default: Ref | None
    choices: tuple[str, ...]
    text: bool
    folder: bool
    location: Location

    def __post_init__(self) -> None:
        if self.text and self.choices:
            raise ModelError("a parameter with choices is no free text", "text", "remove one of the two")
        if self.folder and (self.text or self.choices):
            raise ModelError("a folder is neither text nor one of several choices", "folder", "remove one of the two")
        if self.default is not None:
            problem = self.problem(self.default)
            if problem:
                raise ModelError(f"'default' {problem[0]}", "default", problem[1])

    def problem(self, value: str) -> tuple[str, str | None] | None:
        """Why a value cannot be taken, and the remedy; None when it can."""
        if self.choices:
            if value in self.choices:
                return None
            return f"must be one of {', '.join(self.choices)}, not {quote(value)}", suggestion(value, self.choices)
        limit = MAX_PROSE if self.text else MAX_WORD
        if len(value) > limit:
            return f"is longer than {limit} characters", "make it shorter"
        if self.text:
            bad = next((part for part in ("*/", "\\", "${", '"') if part in value), None)
            if bad or not value.strip():
                return f"may not hold {quote(bad)}" if bad else "is empty", "write plain text"
            return None
        if self.folder:
            if _FOLDER.fullmatch(value):
                return None
            return f"must be a folder, not {quote(value)}", "names with / behind each, as in: hip/"
        if not _WORD.fullmatch(value):
            return f"must be part of a C++ name, not {quote(value)}", "letters, digits and _ only, as in: cuda"
        return None

    def sample(self) -> str:
        """A value to try a base with that nobody has given one."""
        if self.default is not None:
            return str(self.default)
        return self.choices[0] if self.choices else "some text" if self.text else self.name


PARAMETER = Record(
    "a parameter",
    Parameter,
    {
        "doc": Field(DOC, "what it is"),
        "default": Field(_VALUE, "its value when none is given", None),
        "choices": Field(ListOf(Str("a word", _WORD.pattern), at_least=1, unique=True), "the values that it takes", ()),
        "text": Field(Bool(), "true: text for people, which may stand in no name", False),
        "folder": Field(Bool(), "true: the folder before a header's name, with its /; it may be empty", False),
    },
    named="name",
)
BASE_HEAD = {
    "schema": Field(Int(1, 1), "version of this format"),
    "base": Field(_BASE_NAME.with_location(), "name of the base, as its folder"),
    "doc": Field(Doc(), "what kind of SDK it is for"),
    "parameters": Field(MapOf(WORD, PARAMETER), "what a file that extends it gives in `with`"),
}
OWN_HEAD = {
    "extends": Field(_BASE_NAME.with_location(), "base that this file completes"),
    "with": Field(MapOf(WORD, _VALUE), "values of the base's parameters", None),
    "without": Field(ListOf(_ITEM_NAME, unique=True), "items, enumerators and headers of the base to drop", ()),
}


def _values(location: Location, **values: Any) -> dict[str, Any]:
    return values


@frozen
class Base:
    """One file of a base: its parameters, and the nodes that it gives."""

    name: Ref
    parameters: Table[Parameter]
    body: Mapping


@frozen
class Extended:
    """A file with its base put under it. `base` is the base's file, if it has one; `removed` are the nulls that took a
    key away: the map, the key, and the null."""

    root: Node
    base: Path | None = None
    removed: tuple[tuple[Location, str, Scalar], ...] = ()

    def validated(self, spec: Spec, what: str) -> Any:
        """The model. Raises SchemaError; a key that is missing because of a null is told with it."""
        try:
            return validate(spec, self.root, what)
        except SchemaError as error:
            raise SchemaError(map(self._explained, error.diagnostics)) from None

    def _explained(self, problem: Diagnostic) -> Diagnostic:
        if problem.rule != "missing-key":
            return problem
        for location, key, node in self.removed:
            if location == problem.location and f"'{key}'" in problem.message:
                return replace(problem, related=(node.source.related(node.location, "this null removes it"),))
        return problem


def load_extended(
    path: str | os.PathLike[str], name: str | None, file: str, folders: Iterable[Path] | None = None
) -> Extended:
    """A vendor.yaml or api.yaml (`file` says which) together with its base, which is looked for in `folders` (default:
    the schema folder that the file is in, and the shipped one). Raises SchemaError."""
    root = load(path, name)
    if not isinstance(root, Mapping):
        return Extended(root)
    if "extends" not in root.values:
        lost = [root.keys[word] for word in own_head(file) if word in root.keys]
        raise_problems(
            node.source.diagnostic(
                node.location,
                f"'{node.value}' needs 'extends'",
                "add extends: and the name of a base, or remove this key",
                rule="missing-key",
                length=len(node.value),
            )
            for node in lost
        )
        return Extended(root)
    head = _head(root, file)
    extends: Ref = head["extends"]
    found = _find(extends, file, tuple(folders) if folders is not None else _own_folders(Path(path)))
    base = load_base(found, shown(found), extends.location)
    given: Table[Ref] = head.get("with") or Table({}, root.location)
    values, problems = _arguments(base, given, extends)
    own = _without(root, own_head(file))
    raise_problems([*problems, *stray(own)])
    body = _filled(base, values)
    removed: list[tuple[Location, str, Scalar]] = []
    if file == API_FILE:
        problems = drop_items(body, head["without"], extends)
        append_headers(body, own)
    raise_problems([*problems, *_aimless_nulls(body, own, extends)])
    return Extended(_merged(body, own, removed), found, tuple(removed))


def load_base(path: Path, name: str | None = None, via: Location | None = None) -> Base:
    """A base's file, with its head checked. `via` is the place that extends it. Raises SchemaError."""
    root = load(path, name, via)
    if not isinstance(root, Mapping):
        raise SchemaError([root.source.diagnostic(root.location, "a base must be a map of keys", rule="wrong-type")])
    for word, message, hint in (
        ("extends", "a base cannot extend another base: there is one level only", "write out what it would take over"),
        ("vendor", "a base is no vendor", "remove the key; vendors name the base in extends:"),
    ):
        if word in root.keys:
            node = root.keys[word]
            at = node.location
            raise SchemaError([root.source.diagnostic(at, message, hint, rule="base", length=len(word))])
    head = validate(Record("a base", _values, BASE_HEAD), _only(root, _BASE_KEYS), "a base")
    if head["base"] != path.parent.name:
        message = f"the folder is called {path.parent.name}, the base in it {head['base']}"
        place = head["base"].location
        raise SchemaError([Diagnostic(place, message, f"write base: {path.parent.name}, or rename the folder")])
    return Base(head["base"], head["parameters"], _without(root, _BASE_KEYS))


def base_problems(path: Path, name: str | None, spec: Spec) -> list[Diagnostic]:
    """What can be said about a base's file that nobody extends: its head, its placeholders, unknown keys and values of
    a wrong type. Keys may be missing wherever the file that extends it can add them."""
    try:
        base = load_base(path, name)
        body = _filled(base, {word: parameter.sample() for word, parameter in base.parameters.items()})
    except SchemaError as error:
        return list(error.diagnostics)
    mergeable: set[Location] = set()
    waiting: list[Node] = [body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Mapping):
            mergeable.add(node.location)
            waiting += node.values.values()
    try:
        validate(spec, body, "a base")
    except SchemaError as error:
        return [
            problem
            for problem in error.diagnostics
            if problem.rule != "missing-key" or problem.location not in mergeable
        ]
    return []


def own_head(file: str) -> dict[str, Field]:
    """The keys by which a file of that kind extends a base."""
    return {word: entry for word, entry in OWN_HEAD.items() if word != "without" or file == API_FILE}


def _head(root: Mapping, file: str) -> dict[str, Any]:
    fields = own_head(file)
    head: dict[str, Any] = validate(Record("a file with a base", _values, fields), _only(root, fields), "the file")
    return head


def _own_folders(path: Path) -> tuple[Path, ...]:
    shipped = data_dir() / "schemas"
    parents = Path(os.path.abspath(path)).parents
    return (parents[2], shipped) if len(parents) > 2 and parents[1].name == "vendors" else (shipped,)


def base_names(folders: Iterable[Path], file: str) -> tuple[str, ...]:
    """The bases that have the file, sorted."""
    found = {path.parent.name for folder in folders for path in (folder / "bases").glob(f"*/{file}")}
    return tuple(sorted(name for name in found if re.fullmatch(VENDOR_PATTERN, name)))


def _find(name: Ref, file: str, folders: tuple[Path, ...]) -> Path:
    for folder in folders:
        path = folder / "bases" / name / file
        if is_there(path):
            return path
    known = base_names(folders, file)
    other = API_FILE if file == VENDOR_FILE else VENDOR_FILE
    if name in base_names(folders, other):
        message, hint = f"the base {quote(name)} has no {file}", f"write bases/{name}/{file}"
    else:
        message, hint = f"unknown base {quote(name)}", suggestion(name, known, "bases") or "there is none"
    raise SchemaError([Diagnostic(name.location, message, hint, rule="dangling-reference", length=len(name))])


def _arguments(base: Base, given: Table[Ref], extends: Ref) -> tuple[dict[str, str], list[Diagnostic]]:
    """The value of every parameter, and what is wrong with what was given."""
    problems = []
    for word in given:
        if word not in base.parameters:
            hint = suggestion(word, base.parameters, "parameters") or "it has none"
            message = f"the base {base.name} has no parameter {quote(word)}"
            place = given.location_of(word)
            problems.append(Diagnostic(place, message, hint, rule="unknown-key", length=len(word)))
    values = {}
    for word, parameter in base.parameters.items():
        value = given.get(word, parameter.default)
        if value is None:
            place = given.location if given else extends.location
            message = f"the base {base.name} needs the parameter {quote(word)}"
            problems.append(Diagnostic(place, message, f"in with: {word}: {parameter.doc}", rule="missing-key"))
            continue
        wrong = parameter.problem(value)
        if wrong:
            message = f"the parameter {quote(word)} {wrong[0]}"
            problems.append(Diagnostic(value.location, message, wrong[1], rule="wrong-value", length=len(value) or 1))
        values[word] = str(value)
    return values, problems


def _filled(base: Base, values: dict[str, str]) -> Mapping:
    """The base's nodes with their placeholders replaced."""
    prose = frozenset(word for word, parameter in base.parameters.items() if parameter.text)
    replacer = Replacer(values, prose)
    body = replacer.node(base.body)
    for word, parameter in base.parameters.items():
        if word not in replacer.used and not replacer.problems:
            place = base.parameters.location_of(word)
            message = f"no placeholder uses the parameter {quote(word)}"
            replacer.problems.append(Diagnostic(place, message, "remove it", rule="unused", length=len(parameter.name)))
    raise_problems(replacer.problems)
    assert isinstance(body, Mapping)
    return body


def _aimless_nulls(base: Mapping, own: Mapping, name: str) -> list[Diagnostic]:
    """Nulls that should remove something which the base does not have."""
    problems = []
    for group in _OFFERS:
        offered, wanted = base.values.get(group), own.values.get(group)
        if not isinstance(offered, Mapping) or not isinstance(wanted, Mapping):
            continue
        for word, node in wanted.values.items():
            if isinstance(node, Scalar) and node.kind == "null" and word not in offered.values:
                message = f"null removes nothing: the base {name} has no {quote(word)} in {group}"
                near = closest(word, offered.values)
                key = wanted.keys[word]
                hint = f"did you mean '{near}'?" if near else "remove the key"
                problems.append(
                    key.source.diagnostic(key.location, message, hint, rule="dangling-reference", length=len(word))
                )
    return problems


def _only(root: Mapping, words: Iterable[str]) -> Mapping:
    """The map with these keys alone."""
    made = Mapping(root.source, root.line, root.column)
    for word in words:
        if word in root.keys:
            made.keys[word], made.values[word] = root.keys[word], root.values[word]
    return made


def _without(root: Mapping, words: Iterable[str]) -> Mapping:
    """The map without these keys."""
    taken = set(words)
    return _only(root, [word for word in root.keys if word not in taken])


def _merged(base: Mapping, own: Mapping, removed: list[tuple[Location, str, Scalar]]) -> Mapping:
    """The two maps as one, which stands where `own` does; base keys first."""
    made = Mapping(own.source, own.line, own.column)
    for word, key in base.keys.items():
        mine, theirs = own.values.get(word), base.values[word]
        if mine is None:
            made.keys[word], made.values[word] = key, theirs
        elif isinstance(mine, Scalar) and mine.kind == "null":
            removed.append((made.location, word, mine))
        else:
            made.keys[word] = own.keys[word]
            both = isinstance(mine, Mapping) and isinstance(theirs, Mapping)
            made.values[word] = _merged(theirs, mine, removed) if both else mine  # type: ignore[arg-type]
    for word, key in own.keys.items():
        if word not in base.keys:
            made.keys[word], made.values[word] = key, own.values[word]
    return made
