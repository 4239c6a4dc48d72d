"""The JSON Schemas of reports, by kind: what `fl-gen schema export` prints beside those of the schema files."""

from __future__ import annotations

import importlib

# kind -> (module, function that gives the schema's text)
_KINDS = {
    "align": ("fl_gen.report.align_json", "align_schema"),
    "bench": ("fl_gen.report.bench", "bench_schema"),
    "coverage": ("fl_gen.report.coverage_json", "coverage_schema"),
    "explain": ("fl_gen.report.explain_json", "explain_schema"),
    "sdk-check": ("fl_gen.report.sdk_json", "schema_text"),
    "sdk-diff": ("fl_gen.report.diff_json", "diff_schema"),
    "sdk-dump": ("fl_gen.report.dump_text", "dump_schema"),
    "tree-diff": ("fl_gen.report.tree_diff_json", "tree_diff_schema"),
}
REPORT_KINDS = tuple(_KINDS)


def report_schema_text(kind: str) -> str:
    """The text of `schemas/jsonschema/<kind>.json`. KeyError for an unknown kind."""
    module, function = _KINDS[kind]
    text: str = getattr(importlib.import_module(module), function)()
    return text
