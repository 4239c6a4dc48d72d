"""How what a device computed is compared with what the CPU computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map


@dataclass(frozen=True)
class Difference:
    """One way in which a result on the device is not that of the CPU."""

    kind: str
    text: str


def to_device(value: Any, device: str) -> Any:
    """`value` with every tensor moved to `device`: leaves stay leaves, one tensor met twice stays one, views stay views.

    Tensors with a storage of their own are moved as they are; those that share one are rebuilt on one moved storage, so
    that an operator that looks at overlap sees the same as on the CPU.
    """
    moved: dict[int, torch.Tensor] = {}

    def move(item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            if id(item) not in moved:
                moved[id(item)] = _moved(item, device)
            return moved[id(item)]
        if isinstance(item, torch.device):
            return torch.device(device)
        # A sample that says where a result is to be made means the device under test.
        return device if item == "cpu" and isinstance(item, str) else item

    return tree_map(move, value)


def _moved(tensor: torch.Tensor, device: str) -> torch.Tensor:
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        result = tensor.detach().to(device)
    else:
        result = _with_strides(tensor.detach(), device)
    if tensor.requires_grad:
        result.requires_grad_(True)
    return result


def _with_strides(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """A copy on `device` that has the sizes, strides and conjugate and negative bits of `tensor`."""
    if tensor.is_conj():
        return _with_strides(tensor.conj(), device).conj()
    if tensor.is_neg():
        return torch._neg_view(_with_strides(torch._neg_view(tensor), device))
    if tensor.is_contiguous():
        return tensor.to(device)
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    if tensor.numel() == 0:
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
    flat = torch.as_strided(tensor, (reach,), (1,), tensor.storage_offset()).clone()
    return torch.as_strided(flat.to(device), tensor.shape, tensor.stride())


def host(value: Any) -> Any:
    """`value` with every tensor brought to the CPU."""
    return tree_map(lambda item: item.detach().cpu() if isinstance(item, torch.Tensor) else item, value)


def differences(found: Any, wanted: Any, device: str, *, exact_device: bool = True) -> Iterator[Difference]:
    """What is wrong with `found`, computed on `device`, beside `wanted`, computed on the CPU."""
    found_leaves, found_shape = tree_flatten(found)
    wanted_leaves, wanted_shape = tree_flatten(wanted)
    if len(found_leaves) != len(wanted_leaves):
        yield Difference("structure", f"{found_shape} for {wanted_shape}")
        return
    for index, (left, right) in enumerate(zip(found_leaves, wanted_leaves, strict=True)):
        place = f"result {index}: "
        if not isinstance(right, torch.Tensor):
            if not _same_scalar(left, right):
                yield Difference("value", f"{place}{left!r} for {right!r}")
            continue
        if not isinstance(left, torch.Tensor):
            yield Difference("structure", f"{place}{type(left).__name__} for a tensor")
            continue
        if exact_device and left.device.type != torch.device(device).type:
            yield Difference("device", f"{place}it is on {left.device}")
        if left.layout is torch.strided and right.layout is torch.strided and left.stride() != right.stride():
            yield Difference("strides", f"{place}{left.stride()} for {right.stride()}")
        problem = unequal(left, right)
        if problem:
            yield Difference("value", place + problem)


def unequal(left: torch.Tensor, right: torch.Tensor) -> str:
    """Why two tensors are not equal within PyTorch's tolerance for their dtype; empty if they are."""
    try:
        torch.testing.assert_close(
            _plain(left.detach().cpu()), _plain(right.detach()), equal_nan=True, check_stride=False
        )
    except AssertionError as error:
        return " ".join(str(error).split())[:400]
    return ""


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """`tensor` in a dtype that comparison kernels have."""
    tensor = tensor.resolve_conj().resolve_neg()
    if tensor.dtype is torch.complex32:
        return torch.view_as_real(tensor.contiguous())
    return tensor


def _same_scalar(left: Any, right: Any) -> bool:
    if isinstance(left, torch.device) and isinstance(right, torch.device):
        return True
    if left != left and right != right:  # both not a number
        return True
    return bool(left == right)


def attempt(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What `function` gives, or what it raises."""
    try:
        return function(), None
    except Exception as error:
        return None, error
