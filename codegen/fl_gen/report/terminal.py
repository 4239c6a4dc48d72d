"""What a person reads after a run: what was found, what was chosen, what to do first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fl_gen.output.plan import Action, Plan
from fl_gen.resolve.model import Backend, Rejection
from fl_gen.schema.paths import shown
from fl_gen.workflow import Outcome, Request, Resolved

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
    counts = Counter(entry.action for entry in outcome.plan.entries)
    verbs = ", ".join(f"{counts[action]} {action.value}" for action in Action if counts[action])
    lines = [
        sdk_line(resolved),
        "",
        *groups_table(resolved.backend),
        "",
        *operations_summary(resolved.backend),
        "",
        *ops_summary(resolved.backend),
        "",
        f"files    {shown(request.generated)}: {verbs}",
    ]
    verified = outcome.prepared.verified
    if verified is not None:
        lines.append(f"verified {verified.units} C++ files against the SDK and the framework ({verified.framework})")
        lines += [f"         not checked: {reason}" for reason in verified.skipped]
    if outcome.created:
        lines.append(f"yours    {shown(request.backends)}: created {', '.join(outcome.created)}")
    if outcome.kept:
        lines.append(f"yours    {shown(request.backends)}: left alone {', '.join(outcome.kept)}")
    lines += ["", *next_steps(request, resolved)]
    return "\n".join(lines)


def sdk_line(resolved: Resolved) -> str:
    """Which SDK was checked, by what."""
    how = "answer kept from an earlier run" if resolved.report.cached else resolved.report.libclang
    headers = resolved.report.resource_headers
    return f"SDK      {resolved.sdk_title}\nchecked  by {how}, compiler headers: {headers}"


def groups_table(backend: Backend) -> list[str]:
    """One line per group of the SDK: found, or left out and why."""
    lines = []
    width = max(len(group.title) for group in backend.vendor.groups.values())
    for key, group in backend.vendor.groups.items():
        present = backend.has_group(key)
        state = "found" if present else f"left out: no {group.headers[0]}"
        if any(library in backend.sdk.libraries_missing for library in group.libraries):
            state += f"; library not found: {', '.join(group.libraries)}"
        lines.append(f"group    {key:<8} {group.title:<{width}} {state}")
    return lines


def operations_summary(backend: Backend) -> list[str]:
    """How many operations the SDK does itself, and what each other one became."""
    choices = [choice for choice in backend.choices.values() if backend.has_group(choice.operation.group)]
    bound = [choice for choice in choices if choice.bound]
    lines = [f"methods  {len(bound)} of {len(choices)} operations native in this SDK"]
    for choice in choices:
        if choice.bound:
            continue
        strategy = choice.operation.strategy
        what = f"strategy {strategy.name}: {strategy.doc}" if strategy is not None else "left out"
        lines.append(f"         {choice.operation.name}: {what}")
        lines += [f"           {reason}" for reason in _reasons(choice.rejected)]
    inferred = backend.inferred()
    if inferred:
        names = ", ".join(choice.operation.name for choice in inferred)
        lines.append(f"         {len(inferred)} rest on an inferred fact: {names}")
    deprecated = [choice.operation.name for choice in bound if choice.deprecated]
    if deprecated:
        lines.append(f"         {len(deprecated)} use a deprecated call: {', '.join(deprecated)}")
    return lines


def _reasons(rejected: Iterable[Rejection]) -> list[str]:
    """Why each candidate was refused: the compiler's first word on it, and the first line of the suggestion."""
    reasons = []
    for rejection in rejected:
        for diagnostic in rejection.diagnostics[:1]:
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
    """Commands to go on with."""
    vendor = request.vendor
    layout = resolved.backend.vendor.sdk
    lines = ["next"]
    if resolved.backend.sdk.simulated:
        # Some SDKs do not tell their version; then it is what was asked for, and else the newest, as for --sdk sim.
        asked = [text.partition(":")[2] for text in request.sdk if text.startswith("sim:")]
        version = resolved.backend.sdk.version or next(iter(asked), "")
        build = f"fl-gen sim build {vendor} --out build/sim" + (f" --version {version}" if version else "")
        lines.append(f"  {build}    # the test double, as libraries")
        if layout.environment:
            lines.append(f"  export {layout.environment[0]}=$PWD/build/sim")
    lines.append(f"  cmake -S <InfiniTrain-Backends> -B build -G Ninja -DINFINITRAIN_BACKEND={vendor}")
    lines.append("  cmake --build build")
    slow = _first_kernels(resolved.backend)
    if slow:
        lines.append(f"  fl-gen kernel new {vendor} {slow[0]}    # the first kernel of your own")
    return lines


def plan_text(plan: Plan) -> str:
    """One line per file that a run would touch, and a count."""
    lines = [
        f"{entry.action.value:<9} {shown(plan.folder / entry.path)}"
        for entry in plan.entries
        if entry.action is not Action.IDENTICAL
    ]
    same = len(plan.paths(Action.IDENTICAL))
    lines.append(f"{same} identical, {len(plan.entries) - same} to change; nothing was written")
    return "\n".join(lines)


def sdk_check_text(resolved: Resolved) -> str:
    """One line per operation: the chosen call and where it is declared, or the strategy and why."""
    backend = resolved.backend
    lines = [sdk_line(resolved), "", *groups_table(backend), ""]
    width = max(len(name) for name in backend.choices)
    for name, choice in backend.choices.items():
        if not backend.has_group(choice.operation.group):
            continue
        if choice.candidate is None:
            what = f"-  {choice.strategy or 'left out'}"
        else:
            calls = [f"{use.name} ({use.header}:{use.line})" for use in choice.declarations[:2]]
            what = f"{choice.candidate.form}  {', '.join(calls)}"
            what += "  inferred" if choice.candidate.certainty == "inferred" else ""
            what += "  deprecated" if choice.deprecated else ""
        lines.append(f"{name:<{width}}  {what}")
        lines += [f"{'':<{width}}    {reason}" for reason in _reasons(choice.rejected)]
    return "\n".join(lines)
