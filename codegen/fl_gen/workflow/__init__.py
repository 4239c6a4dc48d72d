"""From a request to a backend.

`request` is what was asked for, `sdks` finds the SDK that it means, `generate` makes a tree of it, `scaffold` the
skeleton of a kernel.
"""
