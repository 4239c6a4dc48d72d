"""How far two tensors are apart: absolute, relative and in units in the last place, with what is not finite counted."""

from __future__ import annotations

import math
from typing import Any

import torch

# (rtol, atol) by dtype, as torch.testing.assert_close has them.
TOLERANCES = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
_BITS = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}
_KEPT_INDEX = 8  # dimensions of a place that are told


def compare(found: torch.Tensor, wanted: torch.Tensor, rtol: float | None, atol: float | None) -> dict[str, Any]:
    """What is to be said of `found` beside `wanted`; tolerances that are None are those of the dtype of `wanted`."""
    result: dict[str, Any] = {
        "shape": list(wanted.shape),
        "dtype": str(wanted.dtype).removeprefix("torch."),
        "found_shape": list(found.shape),
        "found_dtype": str(found.dtype).removeprefix("torch."),
        "max_abs": 0.0,
        "max_rel": 0.0,
        "max_ulp": None,
        "mismatched": 0,
        "elements": wanted.numel(),
        "nan": [0, 0],
        "inf": [0, 0],
        "worst": None,
        "equal": True,
    }
    if found.shape != wanted.shape or found.dtype != wanted.dtype or found.layout != wanted.layout:
        result["equal"] = False
        result["mismatched"] = wanted.numel()
        return result
    if wanted.layout is not torch.strided or wanted.is_quantized:
        found, wanted = found.to_dense(), wanted.to_dense()
    found, wanted = (
        found.detach().cpu().resolve_conj().resolve_neg(),
        wanted.detach().cpu().resolve_conj().resolve_neg(),
    )
    if wanted.numel() == 0:
        return result
    base = TOLERANCES.get(wanted.dtype, (0.0, 0.0))
    limits = (base[0] if rtol is None else rtol, base[1] if atol is None else atol)
    result["max_ulp"] = _ulp(found, wanted)
    if wanted.dtype is torch.complex32:
        found, wanted = found.to(torch.complex64), wanted.to(torch.complex64)
    wide = torch.complex128 if wanted.is_complex() else torch.float64
    left, right = found.to(wide), wanted.to(wide)
    result["nan"] = [int(left.isnan().sum()), int(right.isnan().sum())]
    result["inf"] = [int(left.isinf().sum()), int(right.isinf().sum())]
    same = (left == right) | (left.isnan() & right.isnan())
    error = torch.where(same, torch.zeros((), dtype=torch.float64), (left - right).abs())
    size = right.abs()
    wrong = ~same & ~(error <= limits[1] + limits[0] * size)  # an error that is not a number is wrong as well
    ratio = torch.where(error == 0, error, error / size)
    result["max_abs"] = finite(_worst(error))
    result["max_rel"] = finite(_worst(ratio))
    result["mismatched"] = int(wrong.sum())
    result["equal"] = result["mismatched"] == 0
    place = int(torch.where(wrong, _known(error) + 1, torch.where(error.isnan(), 0.0, error)).argmax())
    index = [int(part) for part in torch.unravel_index(torch.tensor(place), wanted.shape)][:_KEPT_INDEX]
    values = [str(found.flatten()[place].item()), str(wanted.flatten()[place].item())]
    result["worst"] = {"index": index, "found": values[0], "wanted": values[1]}
    return result


def _ulp(found: torch.Tensor, wanted: torch.Tensor) -> int | None:
    """The largest distance in representable numbers of the dtype; None where that means nothing."""
    integer = _BITS.get(wanted.dtype)
    if integer is None:
        return None
    finite = found.isfinite() & wanted.isfinite()
    if not bool(finite.any()):
        return None
    left, right = (_ordered(tensor[finite].contiguous(), integer) for tensor in (found, wanted))
    # Two float64 of opposite signs can be further apart than an int64 holds.
    distance = (left.to(torch.float64) - right.to(torch.float64)).abs()
    exact = (left - right).abs()
    return int(torch.where(distance < 2.0**62, exact.to(torch.float64), distance).max())


def _ordered(tensor: torch.Tensor, integer: torch.dtype) -> torch.Tensor:
    """The bits of floating-point numbers as integers in the order of the numbers; both zeros are 0."""
    bits = tensor.view(integer).to(torch.int64)
    lowest = -(2 ** (torch.iinfo(integer).bits - 1))
    return torch.where(bits < 0, lowest - bits, bits)


def _known(error: torch.Tensor) -> torch.Tensor:
    """`error` with infinity for what is not a number."""
    return torch.where(error.isnan(), math.inf, error)


def _worst(error: torch.Tensor) -> float:
    return float(_known(error).max())


def finite(value: float) -> float | None:
    """`value`, or None for what JSON has no number for."""
    return value if math.isfinite(value) else None
