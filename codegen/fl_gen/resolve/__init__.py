"""Vendor bindings x SDK x framework -> backend model: what was chosen, and why."""
