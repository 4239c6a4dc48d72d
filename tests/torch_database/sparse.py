"""Runs the operators of PyTorch's database that take sparse tensors on a device, in every layout, against the CPU.

    python -m torch_database.sparse --device mlu --import torch_mlu --results FILE

As `ops`, with the layout in the place of the dtype, which is float32.
"""

from __future__ import annotations

import argparse
import importlib
import time
import unittest
import warnings
from collections.abc import Iterator
from typing import Any

import torch

from torch_database.ops import compare_sample, finished, write
from torch_database.values import attempt

_LAYOUTS = {
    name: getattr(torch, name) for name in ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
}


def samples_of(op: Any, layout: torch.layout) -> list[Any]:
    """The samples that the database has for the layout, else what its dense matrices become with two thirds of zeros."""
    try:
        return list(op.sample_inputs_sparse(layout, "cpu", torch.float32, requires_grad=op.supports_autograd))
    except NotImplementedError:
        return list(_sparse_matrices(op, layout))
    except unittest.SkipTest:
        return []


def _sparse_matrices(op: Any, layout: torch.layout) -> Iterator[Any]:
    blocks = {"blocksize": (1, 1)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
    for sample in op.sample_inputs("cpu", torch.float32, requires_grad=False):
        if sample.input.dim() == 2 and sample.input.numel():
            kept = torch.arange(sample.input.numel()).reshape(sample.input.shape) % 3 == 0
            sample.input = (sample.input * kept).to_sparse(layout=layout, **blocks)
            sample.input.requires_grad_(op.supports_autograd)
            yield sample


def cases(part: int, parts: int) -> Iterator[tuple[str, Any, str]]:
    """Each operator and layout of one part of the database, in a stable order."""
    from torch.testing._internal.common_methods_invocations import op_db

    for index, op in enumerate(op_db):
        if index % parts == part:
            for layout in _LAYOUTS:
                if op.supports_sparse if layout == "sparse_coo" else getattr(op, f"supports_{layout}"):
                    yield op.formatted_name, op, layout


def compare(op: Any, layout: str, device: str) -> dict[str, Any]:
    """All samples of `op` in the layout."""
    samples = samples_of(op, _LAYOUTS[layout])
    problems: dict[str, str] = {}
    for index, sample in enumerate(samples):
        for difference in compare_sample(op, sample, device, op.supports_autograd):
            problems.setdefault(difference.kind, f"sample {index}: {difference.text}")
    return {"samples": len(samples), "gradient": op.supports_autograd, "problems": problems}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", required=True)
    parser.add_argument("--import", dest="module", default="")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--done", default="", help="a file of results; what stands there is not run again")
    parser.add_argument("--results", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.module:
        importlib.import_module(options.module)
    warnings.filterwarnings("ignore")
    part, parts = (int(text) for text in options.part.split("/"))
    done = finished(options.done) if options.done else set()
    with open(options.results, "a", encoding="utf-8") as stream:
        for name, op, layout in cases(part, parts):
            if (name, layout) in done:
                continue
            write(stream, {"begin": name, "dtype": layout})
            start = time.monotonic()
            result, error = attempt(lambda op=op, layout=layout: compare(op, layout, options.device))
            if error is not None:
                result = {"samples": 0, "gradient": False, "problems": {"harness": f"{type(error).__name__}: {error}"}}
            write(stream, {"op": name, "dtype": layout, "seconds": round(time.monotonic() - start, 2), **result})


if __name__ == "__main__":
    main()
