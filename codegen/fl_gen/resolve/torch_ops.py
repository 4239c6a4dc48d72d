"""Where each of PyTorch's operators comes from on one backend: a function of the wheel's operators and the rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fl_gen.resolve.model import Choice
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.link import dangling
from fl_gen.schema.torch_kernels import TorchKernel
from fl_gen.schema.torch_rules import TAG, Rule, Tolerance, TorchRules, matches
from fl_gen.sdk.torch_ops import TorchOp

Strategy = Literal["native", "library", "runtime", "fallback", "composite"]
SHARD = 100  # operators in one generated file

# The library kernels that templates/torch/csrc/aten can make, and the operation that each stands on.
LIBRARY_OPS: Mapping[str, str] = {
    "aten::mm": "library.gemm",
    "aten::mm.out": "library.gemm",
    "aten::addmm": "library.gemm",
    "aten::addmm.out": "library.gemm",
    "aten::bmm": "library.gemm_strided_batched",
    "aten::bmm.out": "library.gemm_strided_batched",
    "aten::_to_copy": "library.cast",
}

# What the package does by functions of its own, on the host or by other operators, for the boxed fallback cannot, or
# not as well; csrc/aten/package_kernels.h declares them. The value is the operation of the SDK by which the device does
# it instead, if the SDK has it.
HOST_OPS: Mapping[str, str | None] = {
    "aten::convolution_overrideable": None,
    "aten::convolution_backward_overrideable": None,
    "aten::native_dropout": None,
    "aten::native_dropout_backward": None,
    "aten::_thnn_fused_lstm_cell": None,
    "aten::_thnn_fused_lstm_cell_backward_impl": None,
    "aten::_thnn_fused_gru_cell": None,
    "aten::_thnn_fused_gru_cell_backward": None,
    "aten::batch_norm_stats": None,
    "aten::batch_norm_gather_stats": None,
    "aten::batch_norm_gather_stats_with_counts": None,
    "aten::batch_norm_elemt": None,
    "aten::batch_norm_elemt.out": None,
    "aten::batch_norm_backward_reduce": None,
    "aten::batch_norm_backward_elemt": None,
    "aten::zero_": "memory.set_async",
}

# Kernels of CUDA that go through a TensorIterator, and bring a tensor of the host to the device before that.
BRINGING_OPS = ("aten::bernoulli_.Tensor",)


@dataclass(frozen=True)
class ResolvedTorchOp:
    """One operator and what the backend has for it.

    `boxed`: it only reaches the fallback when it is registered by name, for else a composite kernel of PyTorch's own
    would serve it with other rounding than the CPU's. `listed`: it stands among those whether or not something else
    serves it now. `operation` is what the vendor's library does of it, for `library_dtypes`; a hand-written kernel
    comes before it. `compiled` is how it runs if no kernel in Python takes it. `unavailable` says why its library
    kernel is not made.
    """

    op: TorchOp
    strategy: Strategy
    boxed: bool = False
    kernel: TorchKernel | None = None
    operation: str | None = None
    dtypes: tuple[str, ...] = ()
    tolerance: Mapping[str, Tolerance] | None = None
    note: str | None = None
    unavailable: str | None = None
    listed: bool = False
    library_dtypes: tuple[str, ...] = ()
    compiled: Strategy = "fallback"

    @property
    def name(self) -> str:
        return self.op.name

    @property
    def by_hand(self) -> bool:
        """Whether a hand-written kernel in C++ is registered for it, and nothing of the package's."""
        return self.kernel is not None and self.kernel.file is not None

    @property
    def own(self) -> bool:
        """Whether the package has a function for it, by the library or on the host, that a kernel may replace."""
        return self.operation is not None or self.name in HOST_OPS

    @property
    def kind(self) -> str:
        """What statistics call the way in which it runs."""
        return "python" if self.kernel is not None and self.kernel.python is not None else str(self.strategy)


def resolve_torch_ops(
    ops: Sequence[TorchOp],
    rules: Sequence[TorchRules],
    choices: Mapping[str, Choice],
    kernels: Iterable[TorchKernel] = (),
) -> tuple[ResolvedTorchOp, ...]:
    """Every operator, in the order of the wheel. `rules` come most specific first; `kernels` are hand-written.

    Raises SchemaError for names and patterns that mean no operator, and for a library kernel that no template makes.
    """
    by_kernel = {str(kernel.op): kernel for kernel in kernels}
    problems = [*rule_problems(ops, rules, choices), *kernel_problems(ops, by_kernel.values(), rules)]
    if problems:
        raise SchemaError(problems)
    return tuple(_resolve(op, rules, choices, by_kernel.get(op.name)) for op in ops)


def needs_boxed(op: TorchOp) -> bool:
    """Whether the fallback is only reached by a registration under the operator's own name.

    A backend's fallback is asked last: after composite kernels, which compute otherwise than the CPU's own kernel does.
    Views stay with PyTorch, for a view of a copy would be none.
    """
    return op.cpu and op.composite is not None and not op.view


def fallback_shards(ops: Iterable[ResolvedTorchOp], registered: Collection[str] = ()) -> dict[int, tuple[str, ...]]:
    """The operators to register as boxed fallbacks, without those in `registered`, at most a hundred in each list.

    Lists go by the place of an operator among all that could be there, so that one that leaves moves no other; an empty
    one is left out. Names are as the library `aten` registers them, without the namespace.
    """
    shards: dict[int, list[str]] = {}
    for place, one in enumerate(one for one in ops if one.listed):
        if one.boxed and one.op.short not in registered:
            shards.setdefault(place // SHARD, []).append(one.op.short)
    return {number: tuple(names) for number, names in shards.items()}


def device_rules(ops: Iterable[ResolvedTorchOp]) -> dict[str, tuple[str, ...]]:
    """The operators whose tensors need not be on one device, by what CUDA asks of them instead.

    Only those that matter: that the CPU has a kernel of, and that take several tensors. Of these, most want one device.
    Names are without the namespace.
    """
    rules: dict[str, list[str]] = {"iterator": [], "any": []}
    for one in (one.op for one in ops):
        if one.cpu and one.devices != "one" and _takes_several(one):
            rules["any" if one.name in BRINGING_OPS else one.devices].append(one.short)
    return {rule: tuple(names) for rule, names in rules.items()}


def _takes_several(op: TorchOp) -> bool:
    """Whether more than one tensor is given to it. Those that can only be given by name are compared by nobody."""
    types = [argument.type for argument in op.arguments if not argument.by_name and argument.type.startswith("Tensor")]
    return len(types) > 1 or any("[" in type_ for type_ in types)


def _resolve(
    op: TorchOp, rules: Sequence[TorchRules], choices: Mapping[str, Choice], kernel: TorchKernel | None
) -> ResolvedTorchOp:
    said = [rule for file in rules for rule in file.rules(op.name, op.tags)]
    chosen = next((rule for rule in said if rule.strategy is not None), None)
    strategy, boxed, operation, unavailable = _strategy(op, chosen, choices)
    listed = boxed or needs_boxed(op)
    library_dtypes = chosen.dtypes if chosen is not None and operation else ()
    compiled = strategy
    if kernel is not None:
        compiled = strategy if kernel.file is None else "native"
        # One in Python may decline a call, which then goes where it would have gone without it.
        boxed = boxed and kernel.python is not None
        strategy, unavailable = "native", None
    return ResolvedTorchOp(
        op,
        strategy,
        boxed,
        kernel,
        operation,
        kernel.dtypes if kernel is not None else library_dtypes,
        next((rule.tolerance for rule in said if rule.tolerance is not None), None),
        next((rule.note for rule in said if rule.note is not None), None),
        unavailable,
        listed,
        library_dtypes,
        compiled,
    )


def _strategy(
    op: TorchOp, rule: Rule | None, choices: Mapping[str, Choice]
) -> tuple[Strategy, bool, str | None, str | None]:
    """Strategy, whether it is registered as a boxed fallback, the library's operation, and why not that."""
    if op.name in HOST_OPS and (rule is None or rule.strategy != "composite"):
        operation = HOST_OPS[op.name]
        bound = operation is not None and operation in choices and choices[operation].bound
        return "runtime" if bound else "fallback", False, None, None
    own: Strategy = "fallback" if needs_boxed(op) or (op.composite is None and not op.view) else "composite"
    if rule is None:
        return own, needs_boxed(op), None, None
    if rule.strategy == "library":
        operation = str(rule.operation)
        if operation in choices and choices[operation].bound:
            return "library", False, operation, None
        return own, needs_boxed(op), None, f"{operation} has no binding in this SDK"
    if rule.strategy in ("composite", "runtime"):
        return rule.strategy, False, None, None
    # What has no composite kernel reaches the backend's one fallback without a registration.
    return "fallback", op.composite is not None, None, None


def rule_problems(
    ops: Sequence[TorchOp], rules: Iterable[TorchRules], choices: Mapping[str, Choice]
) -> list[Diagnostic]:
    """What is wrong with rules, held against the operators of a wheel."""
    known = {op.name: op for op in ops}
    tags = {tag for op in ops for tag in op.tags}
    problems = []
    for file in rules:
        for name, rule in file.ops.items():
            place = file.ops.location_of(name)
            if name not in known:
                if not rule.optional:
                    problems.append(dangling(place, "operator", name, known))
                continue
            problems += _impossible(known[name], rule, choices)
        for category in file.categories.values():
            for pattern in category.match:
                if any(matches(pattern, op.name, op.tags) for op in ops):
                    continue
                if pattern.startswith(TAG):
                    word = pattern.removeprefix(TAG)
                    problems.append(dangling(pattern.location, "tag", word, tags, len(pattern)))
                else:
                    message = f"no operator of this PyTorch matches '{pattern}'"
                    problems.append(Diagnostic(pattern.location, message, "remove it", length=len(pattern)))
            if category.rule.strategy == "library":
                message = "a category cannot have strategy: library"
                problems.append(Diagnostic(category.rule.location, message, "name the operators one by one"))
    return problems


def _impossible(op: TorchOp, rule: Rule, choices: Mapping[str, Choice]) -> list[Diagnostic]:
    if rule.strategy == "library":
        assert rule.operation is not None
        if rule.operation not in choices:
            return [dangling(rule.operation.location, "operation", rule.operation, choices)]
        if LIBRARY_OPS.get(op.name) != rule.operation:
            known = ", ".join(f"{name} by {operation}" for name, operation in LIBRARY_OPS.items())
            message = f"there is no template for a library kernel of {op.name} by {rule.operation}"
            return [
                Diagnostic(rule.operation.location, message, f"the library kernels are {known}", length=len(op.name))
            ]
    if rule.strategy == "composite" and op.composite is None:
        message = f"PyTorch has no composite kernel of {op.name}"
        return [Diagnostic(rule.location, message, "leave strategy out: it falls back to the CPU")]
    if rule.strategy == "fallback" and op.view:
        message = f"{op.name} makes a view, and a view of a copy would be none"
        return [Diagnostic(rule.location, message, "leave strategy out")]
    return []


def kernel_problems(
    ops: Sequence[TorchOp], kernels: Iterable[TorchKernel], rules: Sequence[TorchRules] = ()
) -> list[Diagnostic]:
    """Hand-written kernels of operators that the wheel does not have, or that no kernel can be written for."""
    known = {op.name: op for op in ops}
    problems = []
    for kernel in kernels:
        op = known.get(kernel.op)
        if op is None:
            problems.append(dangling(kernel.op.location, "operator", kernel.op, known))
            continue
        refused = refusal(op, rules)
        if refused is not None:
            message, hint = refused
            problems.append(
                Diagnostic(kernel.op.location, message, f"remove the entry: {hint}", length=len(op.name), rule="kernel")
            )
    return problems


def refusal(op: TorchOp, rules: Sequence[TorchRules]) -> tuple[str, str] | None:
    """Why no kernel can be written for an operator, and what to do instead; None if one can."""
    said = (rule for file in rules for rule in file.rules(op.name, op.tags))
    rule = next((rule for rule in said if rule.strategy is not None), None)
    if op.composite == "implicit" and not op.cpu:
        return (
            f"{op.name} is decomposed before a backend is asked: a kernel of it would break its gradient",
            "write kernels of the operators that it is made of",
        )
    if rule is not None and rule.strategy == "runtime":
        return f"{op.name} is of the package's runtime: {rule.note}", "write kernels of the operators that compute"
    if op.view:
        return (
            f"{op.name} makes a view of its argument, which shares its memory: there is nothing to compute",
            "PyTorch's own kernel serves every device",
        )
    return None
