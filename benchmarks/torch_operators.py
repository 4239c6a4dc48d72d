"""Microseconds of a call of an operator on a device, by its different ways, beside PyTorch's own CPU operator.

    python benchmarks/torch_operators.py torch_mlu mlu

in a Python that has PyTorch and the generated package. One run, one thread: only the ratios are worth keeping. On a
simulated SDK every wait of the host for a stream costs two changes of threads, which is most of a fallback.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

CALLS = 200
ROUNDS = 7
SIZE = 1000  # elements: small, so that the call is measured and not the work


def microseconds(call: Callable[[], Any], wait: Callable[[], None]) -> float:
    """The median over rounds of the time of one call."""
    times = []
    for _ in range(ROUNDS):
        wait()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        wait()
        times.append((time.perf_counter() - start) / CALLS)
    return statistics.median(times) * 1e6


def measure(package: Any, device: str) -> dict[str, float]:
    """Times in microseconds and their ratios. `package` is the imported module of the backend."""
    torch.set_num_threads(1)
    wait = getattr(torch, device).synchronize
    host = {"x": torch.ones(SIZE), "y": torch.ones(SIZE)}
    there = {name: tensor.to(device) for name, tensor in host.items()}
    out = torch.empty(SIZE, device=device)

    def copies() -> None:
        a, b = there["x"].cpu(), there["y"].cpu()
        (a + b).to(device)

    found = {
        "cpu_add": microseconds(lambda: host["x"] + host["y"], lambda: None),
        "fallback_add": microseconds(lambda: there["x"] + there["y"], wait),
        "fallback_add_out": microseconds(lambda: torch.add(there["x"], there["y"], out=out), wait),
        "copies_and_add_by_hand": microseconds(copies, wait),
        "cpu_zero": microseconds(host["x"].zero_, lambda: None),
        "native_zero": microseconds(there["x"].zero_, wait),
        "cpu_empty": microseconds(lambda: torch.empty(SIZE), lambda: None),
        "native_empty": microseconds(lambda: torch.empty(SIZE, device=device), wait),
        "cpu_view": microseconds(lambda: host["x"].view(10, -1), lambda: None),
        "native_view": microseconds(lambda: there["x"].view(10, -1), wait),
    }
    package.enable_op_stats(True)
    found["fallback_add_counted"] = microseconds(lambda: there["x"] + there["y"], wait)
    package.enable_op_stats(False)
    ratios = {
        "fallback_per_cpu": found["fallback_add"] / found["cpu_add"],
        "fallback_per_copies_by_hand": found["fallback_add"] / found["copies_and_add_by_hand"],
        "native_zero_per_cpu": found["native_zero"] / found["cpu_zero"],
        "native_empty_per_cpu": found["native_empty"] / found["cpu_empty"],
        "native_view_per_cpu": found["native_view"] / found["cpu_view"],
        "counted_per_uncounted": found["fallback_add_counted"] / found["fallback_add"],
    }
    return {
        **{f"{name}_us": round(value, 2) for name, value in found.items()},
        **{name: round(value, 2) for name, value in ratios.items()},
    }


def main() -> None:
    if len(sys.argv) != 3:
        raise SystemExit("usage: torch_operators.py PACKAGE DEVICE")
    print(json.dumps(measure(importlib.import_module(sys.argv[1]), sys.argv[2]), indent=2))


if __name__ == "__main__":
    main()
