"""JSON Schema (draft 2020-12) of each kind of schema file, for editors, from the declarations that validate them.

It says what can be said without looking at other files; whatever it accepts is still checked by the loader. A file that
extends a base may leave out what the base has, so its schema is the strict one made weaker: keys are not required
wherever maps are merged, and a null may stand for what is to be removed. In a base, in addition, any text may hold a
placeholder.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .errors import FlGenError
from .extend import API_FILE, BASE_HEAD, VENDOR_FILE, own_head
from .spec import Definitions, Record
from .suggest import suggestion
from .weaker import Weaker

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _runtime() -> Record:
    from .runtime import SPEC

    return SPEC


def _vocabulary() -> Record:
    from .vocabulary import SPEC

    return SPEC


def _vendor() -> Record:
    from .vendor_spec import SPEC

    return SPEC


def _interface() -> Record:
    from .framework_spec import SPEC

    return SPEC


def _ops() -> Record:
    from .ops_spec import SPEC

    return SPEC


def _api() -> Record:
    from .api_spec import SPEC

    return SPEC


def _kernels() -> Record:
    from .kernels import SPEC

    return SPEC


def _torch_features() -> Record:
    from .torch import FEATURES_SPEC

    return FEATURES_SPEC


def _torch_ops() -> Record:
    from .torch_rules import SPEC

    return SPEC


def _torch_kernels() -> Record:
    from .torch_kernels import SPEC

    return SPEC


def _project() -> Record:
    from .project_spec import SPEC

    return SPEC


# kind -> (declaration, title, where such files are, relative to a schema folder or a repository)
_KINDS: dict[str, tuple[Callable[[], Record], str, str]] = {
    "runtime": (_runtime, "the portable vocabulary of fl-gen", "runtime.yaml"),
    "vocabulary": (_vocabulary, "the words that SDKs make their names of, for fl-gen", "vocabulary.yaml"),
    "vendor": (_vendor, "a vendor of fl-gen", "vendors/*/vendor.yaml"),
    "api": (_api, "prototypes of a vendor's SDK for fl-gen", "vendors/*/api.yaml"),
    "interface": (_interface, "a framework of fl-gen", "frameworks/*/interface.yaml"),
    "ops": (_ops, "kernels of a framework of fl-gen", "frameworks/infinitrain/ops/*.yaml"),
    "vendor-base": (_vendor, "a base that vendors of fl-gen extend", "bases/*/vendor.yaml"),
    "api-base": (_api, "a base that prototypes of SDKs for fl-gen extend", "bases/*/api.yaml"),
    "kernels": (_kernels, "hand-written kernels of a backend", "backends/*/kernels.yaml"),
    "torch-features": (_torch_features, "what releases of PyTorch differ in, for fl-gen", "frameworks/*/features.yaml"),
    "torch-ops": (_torch_ops, "rules for PyTorch's operators, for fl-gen", "frameworks/torch/ops/*.yaml"),
    "torch-kernels": (_torch_kernels, "hand-written kernels of PyTorch's operators", "backends/torch_*/kernels.yaml"),
    "project": (_project, "what fl-gen generates in a repository", "fl-gen.yaml"),
}
KINDS = tuple(_KINDS)
_BASES = ("vendor-base", "api-base")
_EXTENDING = {"vendor": VENDOR_FILE, "api": API_FILE}


def declaration(kind: str) -> Record:
    """The declaration of a kind. Raises FlGenError for an unknown one."""
    if kind not in _KINDS:
        raise FlGenError(f"there is no kind of schema '{kind}'; {suggestion(kind, KINDS, 'kinds')}")
    return _KINDS[kind][0]()


def pattern(kind: str) -> str:
    """Where files of a kind are, as a glob relative to a schema folder (kernels: to a repository)."""
    return _KINDS[kind][2]


def export(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file, as data."""
    definitions = Definitions()
    root = declaration(kind).json(definitions)
    whole = {"$schema": DIALECT, "title": _KINDS[kind][1]}
    if kind in _BASES:
        head = _properties(Record("a base", dict, BASE_HEAD), definitions)
        weak = Weaker(definitions, placeholders=True)
        reference = weak.root(root, head, BASE_HEAD)
        weak.definitions[_definition(reference)]["properties"].pop("vendor")
        return {**whole, **reference, "$defs": {"parameter": definitions["parameter"], **weak.definitions}}
    if kind not in _EXTENDING:
        return {**whole, **root, "$defs": definitions}
    head = _properties(Record("a file with a base", dict, own_head(_EXTENDING[kind])), definitions)
    strict = definitions[_definition(root)]["properties"]
    weak = Weaker(definitions, placeholders=False)
    kept = {"schema": strict["schema"], **head, "vendor": strict["vendor"]}
    reference = weak.root(root, kept, ("schema", "extends", "vendor"))
    branches = {"if": {"required": ["extends"]}, "then": reference, "else": root}
    return {**whole, **branches, "$defs": {**definitions, **weak.definitions}}


def _properties(record: Record, definitions: Definitions) -> dict[str, Any]:
    """The keys of a record that is a part of another one."""
    name = _definition(record.json(definitions))
    properties: dict[str, Any] = definitions.pop(name)["properties"]
    return properties


def _definition(reference: dict[str, Any]) -> str:
    name: str = reference["$ref"].rpartition("/")[2]
    return name


def export_text(kind: str) -> str:
    """The JSON Schema of a kind of file, as the text of `schemas/jsonschema/<kind>.json`."""
    return json.dumps(export(kind), indent=2, ensure_ascii=False) + "\n"
