"""Runs operators of PyTorch's database on a device: forward and gradient of each sample, against the CPU.

    python -m torch_database.ops --device mlu --import torch_mlu --dtypes float32 --part 0/2 --samples 0 --results FILE

One JSON line per operator and dtype goes to FILE; a line with `begin` stands before each, so that a crash is charged to
the operator that caused it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import time
import warnings
from collections.abc import Iterator
from typing import Any, TextIO

import torch

from torch_database.values import Difference, attempt, differences, names_device, to_device

_SEED = 20
# What these give is not defined, so only its form is compared.
_UNDEFINED = ("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided")
# Their positional arguments are indices that PyTorch wants on the CPU whatever the device.
_HOST_INDICES = ("tensor_split",)


def tensors_of(value: Any) -> list[torch.Tensor]:
    """Every tensor in `value`, in order."""
    leaves = torch.utils._pytree.tree_flatten(value)[0]
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def _seed() -> None:
    torch.manual_seed(_SEED)
    random.seed(_SEED)


def _run(op: Any, sample: tuple[Any, Any, Any]) -> Any:
    given, args, kwargs = sample
    _seed()
    return op(given, *args, **kwargs)


def _gradients(result: Any, sample: Any) -> list[torch.Tensor | None]:
    """The gradients of every input that wants one, for cotangents that are the same numbers wherever they are made."""
    outputs = [out for out in tensors_of(result) if out.requires_grad]
    inputs = [tensor for tensor in tensors_of(sample) if tensor.requires_grad]
    unique = list({id(tensor): tensor for tensor in inputs}.values())
    generator = torch.Generator().manual_seed(_SEED)
    cotangents = []
    for out in outputs:
        real = torch.randn(out.shape, generator=generator, dtype=torch.float64)
        cotangents.append(real.to(out.dtype).to(out.device))
    if not outputs or not unique:
        return []
    _seed()
    return list(torch.autograd.grad(outputs, unique, cotangents, allow_unused=True))


def compare_sample(op: Any, sample: Any, device: str, gradient: bool) -> Iterator[Difference]:
    """What differs for one sample. Where the CPU raises, the device has to raise as well."""
    # The CPU takes what was moved as well: a sample may hold a view without a gradient of its own (istft's window).
    given = to_device((sample.input, tuple(sample.args), dict(sample.kwargs)), "cpu")
    stays = given[1] if op.name in _HOST_INDICES else ()
    moved, problem = attempt(lambda: to_device((given[0], () if stays else given[1], given[2]), device))
    if problem is not None:
        yield Difference("moving", f"{type(problem).__name__}: {problem}")
        return
    moved = (moved[0], stays or moved[1], moved[2])
    wanted, cpu_error = attempt(lambda: _run(op, given))
    found, device_error = attempt(lambda: _run(op, moved))
    if cpu_error is not None or device_error is not None:
        if cpu_error is None:
            yield Difference("raises", f"{type(device_error).__name__}: {str(device_error)[:300]}")
        elif device_error is None:
            yield Difference("no error", f"the CPU says {type(cpu_error).__name__}: {str(cpu_error)[:200]}")
        return
    if sample.output_process_fn_grad is not None:
        wanted, found = sample.output_process_fn_grad(wanted), sample.output_process_fn_grad(found)
    # A factory that is not told where to make its result makes it on the CPU, on every device.
    exact = names_device(given) or (bool(tensors_of(given)) and not op.name.startswith(("linspace", "logspace")))
    yield from differences(found, wanted, device, exact_device=exact, values=op.name not in _UNDEFINED)
    if not gradient:
        return
    wanted_grads, cpu_error = attempt(lambda: _gradients(wanted, given))
    found_grads, device_error = attempt(lambda: _gradients(found, moved))
    if cpu_error is None and device_error is not None:
        yield Difference("gradient raises", f"{type(device_error).__name__}: {str(device_error)[:300]}")
    elif cpu_error is not None and device_error is None:
        yield Difference("gradient: no error", f"the CPU says {type(cpu_error).__name__}: {str(cpu_error)[:200]}")
    elif cpu_error is None:
        for difference in differences(found_grads, wanted_grads, device):
            yield Difference("gradient " + difference.kind, difference.text)


def compare(op: Any, dtype: torch.dtype, device: str, samples: int) -> dict[str, Any]:
    """All samples of `op` for `dtype` (the first `samples`, 0: all)."""
    gradient = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    count = 0
    problems: dict[str, str] = {}
    _seed()
    for index, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=gradient)):
        if samples and index >= samples:
            break
        count += 1
        for difference in compare_sample(op, sample, device, gradient):
            problems.setdefault(difference.kind, f"sample {index}: {difference.text}")
    return {"samples": count, "gradient": gradient, "problems": problems}


def cases(dtypes: list[torch.dtype], part: int, parts: int) -> Iterator[tuple[str, Any, torch.dtype]]:
    """Each operator and dtype of one part of the database, in a stable order."""
    from torch.testing._internal.common_methods_invocations import op_db

    for index, op in enumerate(op_db):
        if index % parts != part:
            continue
        for dtype in dtypes:
            if op.supports_dtype(dtype, "cpu"):
                yield op.formatted_name, op, dtype


def write(stream: TextIO, record: dict[str, Any]) -> None:
    stream.write(json.dumps(record) + "\n")
    stream.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", required=True)
    parser.add_argument("--import", dest="module", default="")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--done", default="", help="a file of results; what stands there is not run again")
    parser.add_argument("--results", required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    # The CPU's flash kernel rounds differently from the composite that every other device takes.
    torch.backends.cuda.enable_flash_sdp(False)
    if options.module:
        importlib.import_module(options.module)
    warnings.filterwarnings("ignore")
    part, parts = (int(text) for text in options.part.split("/"))
    dtypes = [getattr(torch, name) for name in options.dtypes.split(",")]
    only = set(options.only.split(",")) if options.only else set()
    done = finished(options.done) if options.done else set()
    with open(options.results, "a", encoding="utf-8") as stream:
        for name, op, dtype in cases(dtypes, part, parts):
            short = str(dtype).removeprefix("torch.")
            if (only and name not in only) or (name, short) in done:
                continue
            write(stream, {"begin": name, "dtype": short})
            start = time.monotonic()
            result, error = attempt(lambda op=op, dtype=dtype: compare(op, dtype, options.device, options.samples))
            if error is not None:
                result = {"samples": 0, "gradient": False, "problems": {"harness": f"{type(error).__name__}: {error}"}}
            write(stream, {"op": name, "dtype": short, "seconds": round(time.monotonic() - start, 2), **result})


def finished(path: str) -> set[tuple[str, str]]:
    """The operators and dtypes that a file of results has begun."""
    found = set()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            if "begin" in record:
                found.add((record["begin"], record["dtype"]))
    return found


if __name__ == "__main__":
    main()
