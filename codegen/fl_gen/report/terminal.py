"""What a person reads after a run: what was found, what was chosen, what to do first."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable

from fl_gen.output.plan import Action, Plan
from fl_gen.report import sdk_words as words
from fl_gen.report.work_text import work_text
from fl_gen.resolve.model import Backend
from fl_gen.schema.paths import shown
from fl_gen.tasks.sdk_check import check_of
from fl_gen.tasks.sdk_values import Rejected, SdkCheck
from fl_gen.workflow.generate import Outcome, Resolved
from fl_gen.workflow.request import Request, is_simulated

# What a new backend gains most from, in the order of calls in a small GPT's training steps.
FIRST_KERNELS = (
    "AccumulateGrad",
    "AddForward",
    "LinearForward",
    "LinearBackwardInput",
    "LinearBackwardWeight",
    "MatmulForward",
    "Cast",
    "LayerNormForward",
    "SoftmaxForward",
)


def backend_summary(request: Request, outcome: Outcome) -> str:
    """The closing text of `fl-gen backend`."""
    resolved = outcome.prepared.resolved
    check = check_of(request, resolved)
    counts = Counter(entry.action for entry in outcome.plan.entries)
    verbs = ", ".join(f"{counts[action]} {action.value}" for action in Action if counts[action])
    lines = [
        sdk_line(resolved),
        "",
        *groups_table(check),
        "",
        *operations_summary(check),
        "",
        *_ops_lines(outcome),
        "",
        f"files    {shown(request.generated)}: {verbs}{work_text(outcome.prepared.work)}",
    ]
    for path, count in outcome.plan.conflicts.items():
        places = f"{count} conflict{'' if count == 1 else 's'}"
        lines.append(f"         {shown(request.generated / path)}: {places} to resolve")
    verified = outcome.prepared.verified
    if verified is not None:
        lines.append(f"verified {verified.units} C++ files against the SDK and the framework ({verified.framework})")
        lines += [f"         not checked: {reason}" for reason in verified.skipped]
    if outcome.created:
        lines.append(f"yours    {shown(request.backends)}: created {', '.join(outcome.created)}")
    if outcome.kept:
        lines.append(f"yours    {shown(request.backends)}: left alone {', '.join(outcome.kept)}")
    lines += ["", *_steps(request, outcome)]
    return "\n".join(lines)


def _ops_lines(outcome: Outcome) -> list[str]:
    """Where the framework's kernels come from."""
    if outcome.prepared.torch is None:
        return ops_summary(outcome.prepared.resolved.backend)
    from fl_gen.report.torch_text import torch_summary

    return torch_summary(outcome.prepared.torch)


def _steps(request: Request, outcome: Outcome) -> list[str]:
    """How to go on."""
    if outcome.prepared.torch is None:
        return next_steps(request, outcome.prepared.resolved)
    from fl_gen.report.torch_text import torch_steps

    return torch_steps(request, outcome.prepared.resolved, outcome.prepared.torch)


def sdk_line(resolved: Resolved) -> str:
    """Which SDK was checked, by what."""
    how = "answer kept from an earlier run" if resolved.report.cached else resolved.report.libclang
    headers = resolved.report.resource_headers
    return f"SDK      {resolved.sdk.title}\nchecked  by {how}, compiler headers: {headers}"


def groups_table(check: SdkCheck) -> list[str]:
    """One line per group of the SDK: found, or left out and why."""
    lines = []
    width = max(len(group.title) for group in check.groups)
    for group in check.groups:
        missing = [name for name, path in words.libraries(check, group) if path is None]
        state = words.group_state(group) + (f"; library not found: {', '.join(missing)}" if missing else "")
        lines.append(f"group    {group.key:<8} {group.title:<{width}} {state}")
        lines += [f"         {reason}" for reason in words.reasons(group.unusable)]
    return lines


def operations_summary(check: SdkCheck) -> list[str]:
    """How many operations the SDK does itself, and what each other one became."""
    coverage = check.coverage
    count = f"{coverage.bound} of {coverage.total} operations native in this SDK ({coverage.percent:g} %)"
    lines = [f"methods  {count}; fl-gen sdk check lists them"]
    for operation in check.in_state("strategy", "left_out"):
        word = "strategy " if operation.state == "strategy" else "left out: "
        lines.append(f"         {operation.name}: {word}{words.instead(operation)}")
        lines += [f"           {reason}" for reason in _reasons(operation.rejected)]
    for warning in words.warnings(check):
        lines.append(f"         {warning.location}: warning: {warning.message}")
        lines += [f"           {line.strip()}" for line in (warning.hint or "").split("\n") if line.strip()]
    inferred = [operation.name for operation in check.inferred]
    if inferred:
        many = len(inferred) > words.MANY
        names = f"fl-gen sdk check {check.target} --only inferred" if many else ", ".join(inferred)
        lines.append(f"         {words.counted(len(inferred), words.INFERRED)}: {names}")
    deprecated = ", ".join(operation.name for operation in check.deprecated)
    if deprecated:
        lines.append(f"         {len(check.deprecated)} use a deprecated call: {deprecated}")
    return lines


def _reasons(rejected: Iterable[Rejected]) -> list[str]:
    """Why each candidate was refused: the compiler's first word on it, and the first line of the suggestion."""
    reasons = []
    for one in rejected:
        for diagnostic in one.messages[:1]:
            reasons.append(f"{diagnostic.location}: {diagnostic.message}")
            if diagnostic.hint:
                reasons.append(f"  {diagnostic.hint.splitlines()[0]}")
    return reasons


def ops_summary(backend: Backend) -> list[str]:
    """Kernels per strategy, and which to write first."""
    counts = Counter(str(op.strategy) for op in backend.ops)
    listed = ", ".join(f"{counts[name]} {name}" for name in ("native", "library", "host", "fallback") if counts[name])
    lines = [f"kernels  {len(backend.ops)}: {listed}"]
    for strategy in ("native", "library"):
        names = [op.name for op in backend.ops if str(op.strategy) == strategy]
        if names:
            lines.append(f"         {strategy}: {', '.join(names)}")
    first = _first_kernels(backend)[:5]
    if first:
        lines.append(f"         implement first: {', '.join(first)}")
    return lines


def _first_kernels(backend: Backend) -> list[str]:
    """The kernels that still run on the host, those that a training step calls most first."""
    slow = {op.name for op in backend.ops if str(op.strategy) == "fallback"}
    return [name for name in FIRST_KERNELS if name in slow]


def next_steps(request: Request, resolved: Resolved) -> list[str]:
    """Commands to go on with, each as it has to be typed for this request."""
    vendor = request.vendor
    lines = ["next", *sdk_steps(request, resolved)]
    folders = " ".join(shlex.quote(shown(folder.parent)) for folder in (request.generated, request.backends))
    lines.append(f"  cp -r {folders} <InfiniTrain-Backends>/")
    lines.append(f"  cmake -S <InfiniTrain-Backends> -B build -G Ninja -DINFINITRAIN_BACKEND={vendor}")
    lines.append("  cmake --build build")
    slow = _first_kernels(resolved.backend)
    if slow:
        lines.append(
            f"  fl-gen kernel new {vendor} {slow[0]}{request_options(request)}    # the first kernel of your own"
        )
    return lines


def sdk_steps(request: Request, resolved: Resolved) -> list[str]:
    """The commands that make the SDK of a request known to a build."""
    vendor = request.vendor
    layout = resolved.backend.vendor.sdk
    lines = []
    variable = layout.environment[0] if layout.environment else None
    if is_simulated(request.sdk):
        # Some SDKs do not tell their version; then it is what was asked for, and else the newest, as for --sdk sim.
        asked = request.sdk[0].partition(":")[2]
        version = resolved.backend.sdk.version or asked
        build = f"fl-gen sim build {vendor} --out build/sim" + (f" --version {version}" if version else "")
        lines.append(f"  {build}{schema_options(request)}    # the test double, as libraries")
        if variable is not None:
            lines.append(f"  export {variable}=$PWD/build/sim")
    elif variable is not None and not os.environ.get(variable) and len(request.sdk) == 1:
        lines.append(f"  export {variable}={shlex.quote(os.path.abspath(request.sdk[0]))}")
    return lines


def request_options(request: Request) -> str:
    """The options that name the SDK and the schemas of a request, each with a blank before it."""
    sdk = "".join(f" --sdk {shlex.quote(root)}" for root in request.sdk)
    torch = f" --torch {shlex.quote(str(request.torch))}" if request.torch is not None else ""
    return sdk + torch + schema_options(request)


def schema_options(request: Request) -> str:
    """The options that name the schemas of a request."""
    return "".join(f" --schemas {shlex.quote(str(folder))}" for folder in request.schema_dirs)


def plan_text(plan: Plan) -> str:
    """One line per file that a run would touch, and a count."""
    lines = [
        f"{entry.action.value:<9} {shown(plan.folder / entry.path)}"
        for entry in plan.entries
        if entry.action is not Action.IDENTICAL
    ]
    same = len(plan.paths(Action.IDENTICAL))
    kept = len(plan.paths(Action.KEPT))
    change = len(plan.entries) - same - kept
    lines.append(f"{plan.folder.name}: {same} identical, {change} to change; nothing was written")
    return "\n".join(lines)
