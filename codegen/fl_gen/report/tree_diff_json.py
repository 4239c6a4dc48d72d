"""A tree diff as JSON, and the JSON Schema of it."""

from __future__ import annotations

import json

from fl_gen.tasks.codec import json_schema, to_json
from fl_gen.tasks.tree_diff_values import TreeDiff

SCHEMA_TITLE = "what fl-gen diff prints"


def tree_diff_json(diff: TreeDiff) -> str:
    """The diff as JSON, with a final newline."""
    # ASCII alone: a file edited by hand may hold what is no character.
    return json.dumps(to_json(diff), indent=1) + "\n"


def tree_diff_schema() -> str:
    """The text of schemas/jsonschema/tree-diff.json."""
    return json.dumps(json_schema(TreeDiff, SCHEMA_TITLE), indent=2, ensure_ascii=False) + "\n"
