"""The coverage report as JSON, which is also what `--baseline` reads, and the JSON Schema of it."""

from __future__ import annotations

import json

from fl_gen.tasks.codec import json_schema, to_json
from fl_gen.tasks.coverage_values import Coverage

SCHEMA_TITLE = "what fl-gen coverage prints"


def coverage_json(report: Coverage) -> str:
    """The report as JSON, with a final newline."""
    return json.dumps(to_json(report), indent=1) + "\n"


def coverage_schema() -> str:
    """The text of schemas/jsonschema/coverage.json."""
    return json.dumps(json_schema(Coverage, SCHEMA_TITLE), indent=2, ensure_ascii=False) + "\n"
