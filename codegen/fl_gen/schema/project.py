"""`fl-gen.yaml`: what a repository generates. Values only; `project_spec` reads the file."""

from __future__ import annotations

from .frozen import frozen
from .location import Location
from .values import ModelError, Ref, Table

CONFIG_NAME = "fl-gen.yaml"
FORMATTERS = ("clang-format", "none")


@frozen
class ProjectVendor:
    """One vendor: `sdk` are folders, or the one text `sim` or `sim:VERSION`; none means the vendor's own places."""

    sdk: tuple[Ref, ...]
    require: tuple[Ref, ...]
    location: Location

    def __post_init__(self) -> None:
        simulated = [text for text in self.sdk if is_simulated(text)]
        if simulated and len(self.sdk) > 1:
            raise ModelError(
                f"'{simulated[0]}' is a whole SDK and cannot be combined with others",
                "sdk",
                f"write sdk: {simulated[0]}",
            )


@frozen
class Project:
    """The whole file. Every path is as it is written: relative to the folder of the file, or absolute.

    `generator` is the version of fl-gen that made the tree, `torch` the folder of PyTorch's wheel.
    """

    generator: Ref
    framework: Ref
    output: Ref
    formatter: Ref
    licence: Ref | None
    torch: Ref | None
    schemas: tuple[Ref, ...]
    templates: tuple[Ref, ...]
    vendors: Table[ProjectVendor]
    version: int
    location: Location

    def __post_init__(self) -> None:
        if self.torch is not None and self.framework != "torch":
            raise ModelError(
                f"it goes with framework: torch, and this is framework: {self.framework}", "torch", "remove it"
            )


def is_simulated(sdk: str) -> bool:
    """Whether the text names the simulated SDK and not a folder."""
    return sdk == "sim" or sdk.startswith("sim:")
