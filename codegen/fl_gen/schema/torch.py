"""What fl-gen knows about PyTorch beside its wheel: `frameworks/torch/features.yaml` and `ops/*.yaml`.

The interface itself is nowhere in the schemas: the wheel's headers declare it, and its `native_functions.yaml` the ops.
A *feature* is a thing in which releases of PyTorch differ and of which templates ask; the compiler answers, from the
headers at hand.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from keyword import iskeyword
from pathlib import Path

from .errors import Diagnostic, SchemaError
from .frozen import frozen
from .location import Location
from .name import Name
from .paths import shown
from .scalars import DOC, HEADER, WORD, Cxx, Int
from .spec import Field, ListOf, MapOf, Record, validate
from .torch_rules import TorchRules, load_rules
from .values import Table, Text
from .yaml_loader import load

# Device types that PyTorch gives to others: it refuses some of them as names, and finds its own behind the rest.
IN_TREE = frozenset(
    {
        "cpu",
        "cuda",
        "mkldnn",
        "opengl",
        "opencl",
        "ideep",
        "hip",
        "ve",
        "fpga",
        "maia",
        "xla",
        "lazy",
        "vulkan",
        "mps",
        "meta",
        "hpu",
        "ipu",
        "xpu",
        "mtia",
        "privateuseone",
    }
)


@frozen
class Feature:
    """A thing that some releases have. `probe` are declarations at namespace scope that only compile with it."""

    name: str
    headers: tuple[str, ...]
    probe: Text
    doc: str
    location: Location


@frozen
class Features:
    """`features.yaml` as a whole."""

    features: Table[Feature]
    version: int
    location: Location


@frozen
class TorchFramework:
    """PyTorch as fl-gen knows it, before it has seen a wheel. `rules` are in the order in which they count."""

    features: Table[Feature]
    rules: tuple[TorchRules, ...]
    location: Location

    @property
    def name(self) -> str:
        """As fl-gen spells it."""
        return "torch"

    def device(self, vendor: Name) -> Name:
        """What PyTorch's device type is called. Raises SchemaError for a name that PyTorch has given away."""
        said = next(((rule.device, rule.location) for rule in self.rules if rule.device is not None), None)
        device, place = said if said is not None else (vendor, self.location)
        if iskeyword(device.snake):
            hint = f"write another device: NAME into vendors/{vendor.snake}/torch.yaml"
            raise SchemaError(
                [
                    Diagnostic(
                        place, f"torch.{device.snake} cannot be written: {device.snake} is a keyword of Python", hint
                    )
                ]
            )
        if device.snake in IN_TREE:
            hint = f"write device: NAME into vendors/{vendor.snake}/torch.yaml"
            raise SchemaError([Diagnostic(place, f"PyTorch has a device type {device.snake} of its own", hint)])
        return device


_FEATURE = Record(
    "a feature",
    Feature,
    {
        "headers": Field(ListOf(HEADER, at_least=1), "headers of the wheel that the probe needs"),
        "probe": Field(
            Cxx("C++ declarations", lines=True), "C++ at namespace scope that only compiles if the wheel has it"
        ),
        "doc": Field(DOC, "what it is, and since when releases have it as far as known"),
    },
    named="name",
)
FEATURES_SPEC = Record(
    "a features file",
    Features,
    {
        "schema": Field(Int(1, 1), "version of this format", name="version"),
        "features": Field(MapOf(WORD, _FEATURE), "features by name"),
    },
    title="torch_features",
)


def load_features(path: str | os.PathLike[str], name: str | None = None) -> Features:
    """The features of a file. Raises SchemaError with everything that is wrong with it."""
    features: Features = validate(FEATURES_SPEC, load(path, name), "a features file")
    return features


def load_torch(path: str | os.PathLike[str], ops: Sequence[Path]) -> TorchFramework:
    """The framework of a features file and the ops files, of which the first counts where two say something.

    Raises SchemaError with everything that is wrong.
    """
    problems: list[Diagnostic] = []
    features: Features | None = None
    try:
        features = load_features(path, shown(Path(path)))
    except SchemaError as error:
        problems.extend(error.diagnostics)
    rules = []
    for file in ops:
        try:
            rules.append(load_rules(file, shown(file)))
        except SchemaError as error:
            problems.extend(error.diagnostics)
    if problems or features is None:
        raise SchemaError(problems)
    return TorchFramework(features.features, tuple(rules), features.location)
