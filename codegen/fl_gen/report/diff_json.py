"""An SDK diff as JSON, and the JSON Schema of it."""

from __future__ import annotations

import json

from fl_gen.tasks.codec import json_schema, to_json
from fl_gen.tasks.diff_values import SdkDiff

SCHEMA_TITLE = "what fl-gen sdk diff prints"


def diff_json(diff: SdkDiff) -> str:
    """The diff as JSON, with a final newline."""
    return json.dumps(to_json(diff), indent=1, ensure_ascii=False) + "\n"


def diff_schema() -> str:
    """The text of schemas/jsonschema/sdk-diff.json."""
    return json.dumps(json_schema(SdkDiff, SCHEMA_TITLE), indent=2, ensure_ascii=False) + "\n"
