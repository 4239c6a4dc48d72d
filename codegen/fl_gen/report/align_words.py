"""The words and numbers of the alignment reports."""

from __future__ import annotations

from fl_gen.tasks.align_values import Alignment, LayerCheck, OpCheck, TensorCheck


def number(value: float | None) -> str:
    """An error as text; `inf` where it is not finite."""
    return "inf" if value is None else f"{value:.3g}"


def shape(check: TensorCheck) -> str:
    """`float32[2, 3]`, and what the device made of it where that differs."""
    wanted = f"{check.dtype}{list(check.shape)}"
    found = f"{check.found_dtype}{list(check.found_shape)}"
    return wanted if found == wanted else f"{found} for {wanted}"


def errors(check: TensorCheck) -> str:
    """Everything that is to be said of two tensors, on one line."""
    if check.shape != check.found_shape or check.dtype != check.found_dtype:
        return shape(check)
    parts = [f"abs {number(check.max_abs)}", f"rel {number(check.max_rel)}"]
    if check.max_ulp is not None:
        parts.append(f"{check.max_ulp} ulp")
    if check.mismatched:
        parts.append(f"{check.mismatched} of {check.elements} outside")
    for name, (device, cpu) in (("NaN", check.nan), ("Inf", check.inf)):
        if device or cpu:
            parts.append(f"{name} {device} on the device, {cpu} on the CPU")
    return ", ".join(parts)


def worst(check: TensorCheck) -> str:
    """Where and what the worst element is; empty where there is none."""
    if check.worst is None:
        return ""
    return f"at {list(check.worst.index)}: {check.worst.found} for {check.worst.wanted}"


def layer(check: LayerCheck) -> str:
    """The worst result of a layer's outputs."""
    if check.structure:
        return check.structure
    wrong = [result for result in check.results if not result.equal] or list(check.results)
    return "; ".join(errors(result) for result in wrong[:3])


def op(check: OpCheck) -> str:
    """Where an op ran and on what."""
    place = f" in {check.layer}" if check.layer else ""
    call = f"call {check.call} of it" if check.call > 1 else "its first call"
    return f"{check.op}{place}, {check.phase}, {call}, on {', '.join(check.inputs) or 'nothing'}"


def notes(found: Alignment) -> list[str]:
    """What lessens what the report says."""
    lines = [f"not compared: {name}: {why}" for name, why in found.uncompared_ops]
    if found.random_ops:
        lines.insert(0, f"not compared one by one, as they draw random numbers: {', '.join(found.random_ops)}")
    if found.lost_layers:
        first = found.lost_layers[0]
        lines.append(
            f"the CPU itself has NaN or Inf in {len(found.lost_layers)} of {len(found.layers)} layer calls, first in "
            f"{first.layer} ({first.kind}): equal or not, these say little"
        )
    return lines


def verdict(found: Alignment) -> str:
    """One line: the first thing that leaves its tolerance, or that nothing does."""
    if found.aligned:
        bitwise = all(result.max_abs == 0.0 for layer in found.layers for result in layer.results)
        exact = "; every layer is equal bit for bit" if bitwise and found.layers and not found.lost_layers else ""
        exact += f"; {len(found.lost_layers)} of the layer calls hold NaN or Inf" if found.lost_layers else ""
        return f"aligned: {len(found.layers)} layer calls, {found.op_calls} op calls, {found.steps} steps{exact}"
    parts = []
    if found.first_op is not None:
        parts.append(f"first op outside its tolerance: {op(found.first_op)}")
    if found.first_layer is not None:
        parts.append(f"first layer outside its tolerance: {found.first_layer.layer} ({found.first_layer.kind})")
    if found.wrong_gradients or found.missing_gradients:
        parts.append(f"{len(found.wrong_gradients) + len(found.missing_gradients)} gradient(s) differ")
    if found.wrong_state:
        parts.append(f"{len(found.wrong_state)} parameter(s) or buffer(s) differ after {found.steps} step(s)")
    if found.failure:
        parts.append("the device did not come to the end")
    return "; ".join(parts)
