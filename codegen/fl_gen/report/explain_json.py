"""An explanation as JSON, and the JSON Schema of it."""

from __future__ import annotations

import json

from fl_gen.tasks.codec import json_schema, to_json
from fl_gen.tasks.explain_values import Explanation

SCHEMA_TITLE = "what fl-gen explain prints"


def explain_json(explanation: Explanation) -> str:
    """The explanation as JSON, with a final newline."""
    return json.dumps(to_json(explanation), indent=1, ensure_ascii=False) + "\n"


def explain_schema() -> str:
    """The text of schemas/jsonschema/explain.json."""
    return json.dumps(json_schema(Explanation, SCHEMA_TITLE), indent=2, ensure_ascii=False) + "\n"
