"""The alignment report as JSON, and the JSON Schema of it."""

from __future__ import annotations

import json

from fl_gen.tasks.align_values import Alignment
from fl_gen.tasks.codec import json_schema, to_json

SCHEMA_TITLE = "what fl-gen align prints"


def align_json(found: Alignment) -> str:
    """The report as JSON, with a final newline."""
    return json.dumps(to_json(found), indent=1) + "\n"


def align_schema() -> str:
    """The text of schemas/jsonschema/align.json."""
    return json.dumps(json_schema(Alignment, SCHEMA_TITLE), indent=2, ensure_ascii=False) + "\n"
