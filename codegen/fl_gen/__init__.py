"""fl-gen: a complete accelerator backend from three kinds of YAML and the vendor's real headers."""

__version__ = "0.1.0"
