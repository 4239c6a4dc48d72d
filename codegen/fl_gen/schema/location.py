"""Where something stands in a file that a person wrote."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a file: the path as it is shown to people, line and column from 1, counted in code points.

    `via` is the place that brought the file in (a vendor's `extends`), which a diagnostic here shows as well.
    """

    file: str
    line: int = 1
    column: int = 1
    via: Location | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.line < 1 or self.column < 1:
            raise ValueError(f"lines and columns count from 1, not {self.line}:{self.column}")

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"
