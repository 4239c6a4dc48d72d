"""What the user asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fl_gen.schema.location import Location


@dataclass(frozen=True)
class Request:
    """What the user asked for.

    `sdk` are paths, or the one word `sim` or `sim:VERSION`; empty means the vendor's environment variables and default
    places. `output` is the folder that holds `generated/` and `backends/`. `require` names groups of the SDK that must
    be there. `cache` None turns fl-gen's caches off. `licence` is text that stands as a comment at the top of every
    generated file, as `render.licence.read_licence` gives it. `torch` is the folder of the PyTorch wheel, for that
    framework alone; None means the one that Python finds. `sdk_place` is where a project's file says what the SDK is,
    for messages about it; it makes no request another one.
    """

    vendor: str
    framework: str = "infinitrain"
    sdk: tuple[str, ...] = ()
    output: Path = field(default_factory=Path)
    require: tuple[str, ...] = ()
    schema_dirs: tuple[Path, ...] = ()
    template_dirs: tuple[Path, ...] = ()
    cache: Path | None = None
    formatted: bool = True
    verify: bool = False
    licence: str | None = None
    torch: Path | None = None
    sdk_place: Location | None = field(default=None, compare=False)

    @property
    def tree(self) -> str:
        """What the vendor's folders below generated/ and backends/ are called."""
        return tree_of(self.vendor, self.framework)

    @property
    def generated(self) -> Path:
        return self.output / "generated" / self.tree

    @property
    def backends(self) -> Path:
        return self.output / "backends" / self.tree


def tree_of(vendor: str, framework: str) -> str:
    """What the folders of a vendor for a framework are called below generated/ and backends/."""
    return vendor if framework == "infinitrain" else f"{framework}_{vendor}"


def is_simulated(sdk: Sequence[str]) -> bool:
    """Whether `--sdk` asks for the simulated SDK."""
    return len(sdk) == 1 and (sdk[0] == "sim" or sdk[0].startswith("sim:"))
