"""An SDK dump as JSON or YAML."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from fl_gen.tasks.codec import json_schema, to_json
from fl_gen.tasks.dump_values import SdkDump

SCHEMA_TITLE = "what fl-gen sdk dump prints"
_PLACE = re.compile(r":[0-9]+: ")


def dump_json(dump: SdkDump) -> str:
    """The dump as JSON, with a final newline."""
    return json.dumps(to_json(dump), indent=1, ensure_ascii=False) + "\n"


def dump_yaml(dump: SdkDump) -> str:
    """The dump as YAML 1.1 that holds the same values as the JSON."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    text: str = yaml.dump(to_json(dump), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def dump_schema() -> str:
    """The text of schemas/jsonschema/sdk-dump.json."""
    return json.dumps(json_schema(SdkDump, SCHEMA_TITLE), indent=2, ensure_ascii=False) + "\n"


def dump_summary(dump: SdkDump) -> str:
    """How much there is, in one line."""
    counts = (
        (len(dump.functions), "functions"),
        (len(dump.enums) + len(dump.anonymous_enums), "enums"),
        (len(dump.typedefs), "typedefs"),
        (len(dump.records), "records"),
        (len(dump.macros) + len(dump.function_macros), "macros"),
        (len(dump.unavailable), "declarations of other configurations"),
    )
    return ", ".join(f"{count} {name}" for count, name in counts)


def dump_left_out(dump: SdkDump) -> str | None:
    """That headers were left out, and the most frequent reason; None when all that were found are in the dump."""
    if not dump.skipped:
        return None
    # A reason in clang's words begins with its place.
    reasons = Counter("they do not parse" if _PLACE.search(one.reason) else one.reason for one in dump.skipped)
    reason, count = reasons.most_common(1)[0]
    several = f"{len(dump.skipped)} headers or folders were" if len(dump.skipped) > 1 else "1 header or folder was"
    return (
        f"{several} left out ({count}: {reason}); skipped in the dump tells why\n"
        "  = name what is wanted with --header HEADER"
    )
