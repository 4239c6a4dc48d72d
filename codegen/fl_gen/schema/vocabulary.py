"""The words of the field, `vocabulary.yaml`: what a vendor draft knows of how SDKs name things."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .frozen import frozen
from .location import Location
from .runtime import GROUPS
from .scalars import DOC, OPERATION, WORD, Choice, Int, Positive, Str
from .spec import Field, ListOf, MapOf, Record, validate
from .values import Table
from .yaml_loader import load

_PHRASE = Str("a phrase", "[a-z0-9]+(?: [a-z0-9]+)*", "lower case words with one blank between them")
_PHRASES = ListOf(_PHRASE, at_least=1)
_WORDS = ListOf(Str("a word", "[a-z0-9_]+(?: [a-z0-9]+)*", "lower case"), at_least=0)
_ARGUMENT = Str("an argument's name", "[a-z0-9_]+", "lower case letters, digits and _")
_SPELLED = Str("a piece of a name", "[a-z0-9_]+", "lower case letters and digits")


@frozen
class TypePhrases:
    """How a portable type is named, and operations whose functions take one."""

    phrases: tuple[str, ...]
    used_by: tuple[str, ...]
    shape: str
    location: Location


@frozen
class GroupHints:
    """Words in names of headers and libraries of a group."""

    hints: tuple[str, ...]
    location: Location


@frozen
class StatusPhrases:
    """How a status type, its codes and the function that gives a code's words are named."""

    type: tuple[str, ...]
    success: tuple[str, ...]
    not_ready: tuple[str, ...]
    oom: tuple[str, ...]
    text: tuple[str, ...]
    location: Location


@frozen
class OperationPhrases:
    """How functions of an operation are named; a word of `apart` makes a function one of another operation."""

    phrases: tuple[str, ...]
    apart: tuple[str, ...]
    constant: str | None
    needs: str | None
    location: Location


@frozen
class Recipe:
    """Two calls for one operation: `handle` gets an object for an ordinal, `call` takes it.

    `attributes`: enumerators by the operation's parameter that takes the value (or any word), `value`: what is set.
    """

    handle: str
    call: str
    attributes: Mapping[str, tuple[str, ...]] | None
    value: str | None
    location: Location


@frozen
class Vocabulary:
    """`vocabulary.yaml` as a whole."""

    words: Table[tuple[str, ...]]
    compounds: Table[str]
    weights: Table[float]
    actions: tuple[str, ...]
    groups: Table[GroupHints]
    types: Table[TypePhrases]
    statuses: StatusPhrases
    constants: Table[Table[tuple[str, ...]]]
    parameters: Table[tuple[str, ...]]
    defaults: tuple[str, ...]
    operations: Table[OperationPhrases]
    traditions: Table[tuple[str, ...]]
    recipes: Table[Recipe]
    version: int
    location: Location


_TYPE = Record(
    "the phrases of a type",
    TypePhrases,
    {
        "phrases": Field(_PHRASES, "what its name may be made of, best first"),
        "used_by": Field(ListOf(OPERATION), "operations whose functions take one", ()),
        "shape": Field(
            Choice(("handle", "enum", "bytes", "function")), "what it is; bytes: a struct, not a pointer", "handle"
        ),
    },
)
_GROUP = Record("the hints of a group", GroupHints, {"hints": Field(ListOf(WORD), "words in names of files")})
_STATUS = Record(
    "the phrases of statuses",
    StatusPhrases,
    {
        "type": Field(_PHRASES, "of the type's name"),
        "success": Field(_PHRASES, "of the success code"),
        "not_ready": Field(_PHRASES, "of codes of work that is not done yet"),
        "oom": Field(_PHRASES, "of codes of exhausted memory"),
        "text": Field(_PHRASES, "of the function that gives a code's words"),
    },
)
_OPERATION = Record(
    "the phrases of an operation",
    OperationPhrases,
    {
        "phrases": Field(ListOf(_PHRASE), "of functions that do it, best first", ()),
        "apart": Field(ListOf(_PHRASE), "words that make a function one of another operation", ()),
        "needs": Field(OPERATION, "operation without which this one is not bound", None),
        "constant": Field(Str("a constant", "[a-z_]+ [a-z_]+", "a kind and a value"), "constant that answers it", None),
    },
)
_RECIPE = Record(
    "a recipe",
    Recipe,
    {
        "handle": Field(_PHRASE, "function that gets an object for an ordinal"),
        "call": Field(_PHRASE, "function that takes the object"),
        "attributes": Field(MapOf(WORD, _PHRASES), "enumerators of the attributes that are read or set", None),
        "value": Field(DOC, "C++ text of what is set", None),
    },
)
SPEC = Record(
    "a vocabulary file",
    Vocabulary,
    {
        "schema": Field(Int(1, 1), "version of this format", name="version"),
        "words": Field(MapOf(_PHRASE, _WORDS), "synonyms of a word"),
        "compounds": Field(MapOf(_SPELLED, _PHRASE), "pieces of names that stand for several words"),
        "weights": Field(MapOf(_SPELLED, Positive()), "how much a word tells, up to 1; 1 where nothing is said"),
        "actions": Field(ListOf(_PHRASE), "words of what a function does"),
        "groups": Field(MapOf(Choice(GROUPS), _GROUP), "hints of each group"),
        "types": Field(MapOf(WORD, _TYPE), "phrases of portable types"),
        "statuses": Field(_STATUS, "phrases of statuses"),
        "constants": Field(MapOf(WORD, MapOf(WORD, _PHRASES)), "phrases of portable constants"),
        "parameters": Field(MapOf(WORD, ListOf(_ARGUMENT)), "names of arguments"),
        "defaults": Field(_PHRASES, "words of enumerators that are good arguments, best first"),
        "operations": Field(MapOf(OPERATION, _OPERATION), "phrases of operations"),
        "traditions": Field(MapOf(WORD, ListOf(_SPELLED)), "words of a way of naming, which breaks ties"),
        "recipes": Field(MapOf(OPERATION, _RECIPE), "operations that are done by two calls"),
    },
    title="vocabulary",
)


def load_vocabulary(path: str | os.PathLike[str], name: str | None = None) -> Vocabulary:
    """The vocabulary of a file. Raises SchemaError with everything that is wrong with it."""
    vocabulary: Vocabulary = validate(SPEC, load(path, name), "a vocabulary file")
    return vocabulary
