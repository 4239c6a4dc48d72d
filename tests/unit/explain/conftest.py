"""The command in this process, with a tree to explain."""

from unit.cli.conftest import base, cache, run, tree

__all__ = ["base", "cache", "run", "tree"]
