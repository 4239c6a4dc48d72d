"""JSON Schema (draft 2020-12) of each kind of schema file, for editors, from the declarations that validate them.

It says what can be said without looking at other files; whatever it accepts is still checked by the loader.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .errors import FlGenError
from .spec import Definitions, Record
from .suggest import suggestion

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def _runtime() -> Record:
    from .runtime import SPEC

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


# kind -> (declaration, title, where such files are, relative to a schema folder or a repository)
_KINDS: dict[str, tuple[Callable[[], Record], str, str]] = {
    "runtime": (_runtime, "the portable vocabulary of fl-gen", "runtime.yaml"),
    "vendor": (_vendor, "a vendor of fl-gen", "vendors/*/vendor.yaml"),
    "api": (_api, "prototypes of a vendor's SDK for fl-gen", "vendors/*/api.yaml"),
    "interface": (_interface, "a framework of fl-gen", "frameworks/*/interface.yaml"),
    "ops": (_ops, "kernels of a framework of fl-gen", "frameworks/*/ops/*.yaml"),
    "kernels": (_kernels, "hand-written kernels of a backend", "backends/*/kernels.yaml"),
}
KINDS = tuple(_KINDS)


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
    return {"$schema": DIALECT, "title": _KINDS[kind][1], **root, "$defs": definitions}


def export_text(kind: str) -> str:
    """The JSON Schema of a kind of file, as the text of `schemas/jsonschema/<kind>.json`."""
    return json.dumps(export(kind), indent=2, ensure_ascii=False) + "\n"
