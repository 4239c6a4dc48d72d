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
    """`value` with every tensor moved to `device`, and `device` where a sample says the CPU.

    Leaves stay leaves, one tensor met twice stays one, and what shares a storage still does: an operator that looks at
    overlap, strides or what lies outside of a view sees the same as on the CPU.
    """
    moved: dict[int, torch.Tensor] = {}
    storages: dict[tuple[int, torch.dtype], torch.Tensor] = {}

    def move(item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            if id(item) not in moved:
                moved[id(item)] = _moved(item, device, storages)
            return moved[id(item)]
        if isinstance(item, torch.device):
            return torch.device(device)
        # A sample that says where a result is to be made means the device under test.
        return device if item == "cpu" and isinstance(item, str) else item

    return tree_map(move, value)


def names_device(value: Any) -> bool:
    """Whether a sample says where results are to be made."""
    return any(isinstance(item, torch.device) or item == "cpu" for item in tree_flatten(value)[0] if not _many(item))


def _many(item: Any) -> bool:
    """Whether comparing `item` gives more than a yes or no."""
    return not isinstance(item, (str, torch.device))


def _moved(tensor: torch.Tensor, device: str, storages: dict[tuple[int, torch.dtype], torch.Tensor]) -> torch.Tensor:
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested:
        result = tensor.detach().to(device)
    else:
        result = _on_moved_storage(tensor.detach(), device, storages)
    if tensor.requires_grad:
        result.requires_grad_(True)
    return result


def _on_moved_storage(
    tensor: torch.Tensor, device: str, storages: dict[tuple[int, torch.dtype], torch.Tensor]
) -> torch.Tensor:
    """The view that `tensor` is of its storage, of a copy of that on `device`."""
    if tensor.is_conj():
        return _on_moved_storage(tensor.conj(), device, storages).conj()
    if tensor.is_neg():
        return torch._neg_view(_on_moved_storage(torch._neg_view(tensor), device, storages))
    storage = tensor.untyped_storage()
    if storage.nbytes() == 0 or storage.nbytes() % tensor.itemsize:
        return tensor.to(device)
    key = (storage.data_ptr(), tensor.dtype)
    if key not in storages:
        whole = torch.empty(0, dtype=tensor.dtype).set_(storage)
        storages[key] = torch.as_strided(whole, (storage.nbytes() // tensor.itemsize,), (1,), 0).to(device)
    return torch.as_strided(storages[key], tensor.shape, tensor.stride(), tensor.storage_offset())


def host(value: Any) -> Any:
    """`value` with every tensor brought to the CPU."""
    return tree_map(lambda item: item.detach().cpu() if isinstance(item, torch.Tensor) else item, value)


def differences(
    found: Any, wanted: Any, device: str, *, exact_device: bool = True, values: bool = True
) -> Iterator[Difference]:
    """What is wrong with `found`, computed on `device`, beside `wanted`, computed on the CPU.

    Without `exact_device` a result may be anywhere; without `values` only its form is looked at.
    """
    found_leaves, found_shape = tree_flatten(found)
    wanted_leaves, wanted_shape = tree_flatten(wanted)
    if len(found_leaves) != len(wanted_leaves):
        yield Difference("structure", f"{found_shape} for {wanted_shape}")
        return
    for index, (left, right) in enumerate(zip(found_leaves, wanted_leaves, strict=True)):
        place = f"result {index}: "
        if isinstance(left, torch.Tensor) and not isinstance(right, torch.Tensor):
            yield Difference("structure", f"{place}a tensor for {right!r}")
            continue
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
        problem = unequal(left, right) if values else form(left, right)
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


def form(left: torch.Tensor, right: torch.Tensor) -> str:
    """Why two tensors are not of one form; empty if they are."""
    if left.shape != right.shape or left.dtype != right.dtype or left.layout != right.layout:
        return f"{left.dtype}{tuple(left.shape)} for {right.dtype}{tuple(right.shape)}"
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
