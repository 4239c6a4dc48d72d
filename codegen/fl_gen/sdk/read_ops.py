"""The program that reads PyTorch's operators with torchgen, in a process of its own: `python read_ops.py SITE`.

It prints one JSON document: a list of operators, in the order of `native_functions.yaml`. torchgen is the parser that
PyTorch itself is generated with, so nothing is guessed about the format of that file; torch is never imported.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any


def main(site: str) -> int:
    """Print the operators of the PyTorch below `site`, a site-packages folder."""
    del sys.path[0]  # this file's own folder holds modules of common names
    # What torchgen needs is that of the running Python; torchgen is that of `site`, whatever else is installed.
    import yaml  # noqa: F401

    with contextlib.suppress(ImportError):
        import typing_extensions  # noqa: F401
    sys.path.insert(0, site)
    # What a module of that folder prints when it is imported is no part of the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    import os

    import torchgen
    from torchgen.api.types import DispatcherSignature
    from torchgen.context import native_function_manager
    from torchgen.gen import parse_native_yaml
    from torchgen.model import DispatchKey

    folder = os.path.join(os.path.dirname(torchgen.__file__), "packaged", "ATen", "native")
    path = os.path.join(folder, "native_functions.yaml")
    parsed = parse_native_yaml(path, os.path.join(folder, "tags.yaml"))
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    on_cpu, on_cuda = (parsed.backend_indices[key] for key in (DispatchKey.CPU, DispatchKey.CUDA))
    by_name = {function.func.name: function for function in parsed.native_functions}
    found: list[dict[str, Any]] = []
    for function in parsed.native_functions:
        delegate = by_name[function.structured_delegate] if function.structured_delegate is not None else None
        group = [function] if delegate is None else [function, delegate]
        kernel = any(index.has_kernel(one) for index in (on_cpu, on_cuda) for one in group)
        with native_function_manager(function):
            signature = DispatcherSignature.from_schema(function.func, symint=False)
            returns = signature.returns_type().cpp_type()
            params = [[binding.type, binding.name] for binding in signature.arguments()]
        found.append(
            {
                "name": f"aten::{function.func.name}",
                "schema": f"aten::{function.func}",
                "cpu": any(on_cpu.has_kernel(one) for one in group),
                "composite": _composite(function, delegate is not None),
                "structured": function.part_of_structured_group,
                "view": bool(function.is_view_op),
                "kind": function.func.kind().name,
                "tags": sorted(function.tags),
                "returns": returns,
                "params": params,
                "arguments": [
                    [one.name, str(one.type), one.default, one in function.func.arguments.flat_kwarg_only]
                    for one in function.func.arguments.flat_all
                ],
                "root": function.root_name,
                "devices": _devices(function, group[-1], lines) if kernel else "any",
            }
        )
    json.dump(found, answer)
    return 0


def _composite(function: Any, delegated: bool) -> str | None:
    """Which kernel of PyTorch's own serves the operator on every device, before a fallback is asked."""
    if function.has_composite_implicit_autograd_kernel:
        return "implicit"
    if function.has_composite_explicit_autograd_kernel:
        return "explicit"
    if function.has_composite_explicit_autograd_non_functional_kernel or delegated:
        return "non_functional"
    return None


def _devices(function: Any, structured: Any, lines: list[str]) -> str:
    """What CUDA asks of the devices of an operator's tensors.

    `device_check` says whether they are compared before the kernel is called. Where they are not, a kernel that goes
    through a TensorIterator compares them itself; which do so is told by the class of structured ones and by a tag, and
    of the others by nothing but a comment in the file.
    """
    if function.device_check.name != "NoCheck":
        return "one"
    if structured.structured_inherits or "pointwise" in function.tags:
        return "iterator"
    for line in lines[function.loc.line :]:  # from the second line of its entry on
        if line.startswith("- func"):
            break
        key, _, comment = line.partition("#")
        if key.strip().startswith("device_check:"):
            return "iterator" if "TensorIterator" in comment else "any"
    return "any"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
