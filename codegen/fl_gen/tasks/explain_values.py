"""What `fl-gen explain` finds: the origins of the lines of one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

Made = Literal["template", "marker", "yours", "outdated"]
State = Literal["current", "edited", "outdated"]


@dataclass(frozen=True)
class TemplatePlace:
    """A line of a template."""

    file: Annotated[str, "path of the template, relative to the current folder where it is inside it"]
    line: int
    part: Annotated[str, "the macro or block that the line is in, as in `macro run`; empty outside of them"]
    text: Annotated[str, "the line itself, without indentation"]


@dataclass(frozen=True)
class SdkPlace:
    """A declaration of the SDK."""

    name: str
    header: Annotated[str, "as an #include spells it"]
    line: int
    signature: Annotated[str, "of a function, as the header writes it; empty for anything else"]


@dataclass(frozen=True)
class SchemaPlace:
    """A node of a schema file."""

    kind: Annotated[
        str,
        "op, binding, type, constant, status, helper, vendor, interface, operation or native; for PyTorch also "
        "feature, rule, operator (of the wheel) or wheel",
    ]
    path: Annotated[str, "where in its file, as in AddForward.params[1] or bindings.memory.alloc[0]"]
    file: str
    line: int
    column: int
    text: Annotated[str, "the C++ that it holds, if it holds any"]
    declarations: Annotated[tuple[SdkPlace, ...], "what of the SDK it uses"]


@dataclass(frozen=True)
class ExplainedLine:
    """One line. Of a line that is `yours` fl-gen knows only what it would have there itself."""

    number: int
    text: str
    made: Annotated[
        Made,
        "template; marker: fl-gen puts it above every file; yours: a person wrote it; outdated: fl-gen wrote it, and "
        "would not write it now",
    ]
    templates: Annotated[tuple[TemplatePlace, ...], "what made it, and then what called the macro that did"]
    nodes: Annotated[tuple[SchemaPlace, ...], "what it says something of"]
    conditions: Annotated[tuple[SchemaPlace, ...], "what decided that it is there"]
    instead: Annotated[tuple[str, ...], "what fl-gen has in place of a line that is yours or outdated"]


@dataclass(frozen=True)
class Explanation:
    """A generated file, or one that was generated once, and the lines that were asked for."""

    file: Annotated[str, "as it was asked for"]
    path: Annotated[str, "relative to the vendor's folder"]
    vendor: str
    ownership: Annotated[Literal["generated", "once"], "once: it belongs to people since it was made"]
    state: Annotated[
        State,
        "current: as fl-gen makes it; edited: by hand; outdated: as fl-gen made it from other inputs",
    ]
    template: Annotated[str, "path of the template"]
    nodes: Annotated[tuple[str, ...], "the ops that the whole file was made from"]
    sdk: Annotated[str, "the SDK that its bindings were chosen for"]
    count: Annotated[int, "lines of the file"]
    whole: Annotated[bool, "whether all lines were asked for"]
    lines: tuple[ExplainedLine, ...]
