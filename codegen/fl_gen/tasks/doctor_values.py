"""What `fl-gen doctor` finds, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from fl_gen.schema.errors import FlGenError
from fl_gen.tasks.doctor_tools import Answer

State = Literal["ok", "note", "warning", "missing"]


@dataclass(frozen=True)
class Item:
    """One thing that was looked at. `missing`: fl-gen needs it; `warning`: something else may; `note`: only told."""

    name: str
    state: State
    text: str
    remedy: str = ""
    details: Mapping[str, str | None] = field(default_factory=dict)


def told(error: FlGenError) -> tuple[str, str]:
    """What is wrong, on one line, and the remedy: a list has no room for an excerpt, or for more than one fault."""
    lines = error.render().split("\n")
    remedies = [line.removeprefix("  = ") for line in lines[1:] if line.startswith("  = ")]
    return lines[0], remedies[0] if remedies else ""


@dataclass(frozen=True)
class Section:
    """What belongs together."""

    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Diagnosis:
    """Everything that was looked at."""

    sections: tuple[Section, ...]

    @property
    def healthy(self) -> bool:
        """Nothing that fl-gen needs is missing."""
        return not any(item.state == "missing" for section in self.sections for item in section.items)


def answered(name: str, answer: Answer, purpose: str) -> Item:
    """What a program said about itself; `purpose` is what it would serve."""
    details = {"path": answer.path, "version": answer.version or None}
    if answer.fault:
        text = f"{answer.path} {answer.fault}"
        return Item(name, "warning", text, f"repair or remove it; it serves {purpose}", details)
    line = answer.line or "unknown version"
    if answer.version and answer.version not in line:
        line += f" {answer.version}"
    return Item(name, "ok", f"{line}, {answer.path}", "", details)
