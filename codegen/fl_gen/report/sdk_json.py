"""The report of an SDK check as JSON, and the schema that it keeps to."""

from __future__ import annotations

import json

from fl_gen.tasks.codec import from_json, json_schema, to_json
from fl_gen.tasks.sdk_values import CheckReport


def dumped(value: object) -> str:
    """JSON with a final newline; not ASCII only, unless a path holds bytes that are no text."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=2) + "\n"
    return text


def report_json(report: CheckReport) -> str:
    """The report as a document of schemas/jsonschema/sdk-check.json."""
    return dumped(to_json(report))


def read_report(text: str) -> CheckReport:
    """The report that `report_json` wrote. ValueError for anything else."""
    return from_json(CheckReport, json.loads(text))


def schema_text() -> str:
    """The text of schemas/jsonschema/sdk-check.json."""
    return dumped(json_schema(CheckReport, "what fl-gen sdk check --format json says"))
