"""What a template sees as `torch`: the PyTorch at hand, and what is generated for its ops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class TorchView:
    """The PyTorch that the tree is made for.

    `version` is its release, without what a build appends. `features` says of each feature of features.yaml whether the
    headers have it. `fallback_shards` are the ops that need a registration of their own to reach the fallback, in
    lists of at most a hundred.
    """

    version: str
    features: Mapping[str, bool]
    fallback_shards: Sequence[Sequence[str]] = ()

    def has(self, feature: str) -> bool:
        """Whether the headers have a feature. LookupError for one that features.yaml lacks: a template's fault."""
        if feature not in self.features:
            raise LookupError(f"unknown feature {feature!r}: list it in schemas/frameworks/torch/features.yaml")
        return self.features[feature]

    @property
    def version_info(self) -> tuple[int, ...]:
        """The release as numbers: (2, 13, 0)."""
        return tuple(int(part) for part in self.version.split(".")[:3] if part.isdigit())
