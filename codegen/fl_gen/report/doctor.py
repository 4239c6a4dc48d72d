"""What `fl-gen doctor` prints."""

from __future__ import annotations

import json
from collections import Counter

from fl_gen.schema.errors import printable
from fl_gen.tasks.doctor_values import Diagnosis

_MARKS = {"ok": "ok", "note": "--", "warning": "!!", "missing": "XX"}


def doctor_text(diagnosis: Diagnosis) -> str:
    """A line for each thing that was looked at, a remedy below what needs one, and a closing line."""
    width = max((len(item.name) for section in diagnosis.sections for item in section.items), default=0)
    lines: list[str] = []
    for section in diagnosis.sections:
        lines += ["", section.title] if lines else [section.title]
        for item in section.items:
            lines.append(f"  {_MARKS[item.state]}  {item.name:<{width}}  {printable(item.text)}")
            if item.remedy:
                lines.append(f"      {'':<{width}}  = {printable(item.remedy)}")
    counts = Counter(item.state for section in diagnosis.sections for item in section.items)
    if diagnosis.healthy:
        last = "all that fl-gen needs is there"
    else:
        last = f"missing, and needed by fl-gen (XX): {counts['missing']}"
    if counts["warning"]:
        last += f"; {counts['warning']} to look at (!!)"
    return "\n".join([*lines, "", last]) + "\n"


def doctor_json(diagnosis: Diagnosis) -> str:
    """The same for machines."""
    value = {
        "version": 1,
        "healthy": diagnosis.healthy,
        "sections": [
            {
                "title": section.title,
                "items": [
                    {
                        "name": item.name,
                        "state": item.state,
                        "text": item.text,
                        "remedy": item.remedy or None,
                        "details": dict(item.details),
                    }
                    for item in section.items
                ],
            }
            for section in diagnosis.sections
        ],
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
