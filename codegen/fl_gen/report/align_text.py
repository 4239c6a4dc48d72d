"""The alignment report for a terminal."""

from __future__ import annotations

from fl_gen.report import align_words as words
from fl_gen.schema.errors import one_line
from fl_gen.tasks.align_values import Alignment, NamedCheck

_LIST = 10  # things of a kind that are listed


def align_text(found: Alignment, everything: bool = False) -> str:
    """The report, without a final newline; `everything` lists all layers and ops."""
    lines = [f"{found.model} on {found.device} against the CPU (PyTorch {found.torch})"]
    if found.first_op is not None:
        lines += ["", "first op outside its tolerance, on inputs that are the same on both sides"]
        lines += [f"  {words.op(found.first_op)}", f"  {words.errors(found.first_op.result)}"]
        lines += [f"  {words.worst(found.first_op.result)}"] if found.first_op.result.worst else []
    if found.first_layer is not None:
        lines += ["", "first layer outside its tolerance"]
        lines += [f"  {found.first_layer.layer} ({found.first_layer.kind})", f"  {words.layer(found.first_layer)}"]
    if found.failure:
        lines += ["", "after that the device stopped", *(f"  {line}" for line in found.failure.splitlines())]
    wrong = list(dict.fromkeys(check.op for check in found.wrong_ops))
    if len(wrong) > 1:
        lines += ["", "all ops with calls outside their tolerance", *_cut([f"  {name}" for name in wrong], everything)]
    lines += _named("gradients that differ after the first backward, in its order", found.wrong_gradients, everything)
    if found.missing_gradients:
        lines += ["", "parameters with a gradient on one side only"]
        lines += _cut([f"  {name}" for name in found.missing_gradients], everything)
    lines += _named(f"state that differs after {found.steps} step(s)", found.wrong_state, everything)
    if found.losses_cpu:
        lines += ["", "loss      CPU            device"]
        for step, (cpu, device) in enumerate(zip(found.losses_cpu, found.losses_device, strict=True), 1):
            lines.append(f"  step {step}  {_loss(cpu):<13}  {_loss(device)}")
    if everything:
        lines += ["", "layers, in the order of their calls"]
        lines += [f"  {layer.layer} ({layer.kind})  {words.layer(layer)}" for layer in found.layers]
        lines += ["", "ops, the worst call of each"]
        lines += [f"  {check.op}  {words.errors(check.result)}" for check in found.ops]
    notes = words.notes(found)
    lines += ["", *notes] if notes else []
    lines += ["", words.verdict(found)]
    return "\n".join(one_line(line) for line in lines)


def _named(title: str, checks: tuple[NamedCheck, ...], everything: bool) -> list[str]:
    if not checks:
        return []
    return ["", title, *_cut([f"  {one.name}  {words.errors(one.result)}" for one in checks], everything)]


def _cut(lines: list[str], everything: bool) -> list[str]:
    if everything or len(lines) <= _LIST:
        return lines
    return [*lines[:_LIST], f"  and {len(lines) - _LIST} more: --all lists them"]


def _loss(value: float | None) -> str:
    return "not finite" if value is None else f"{value:.9g}"
