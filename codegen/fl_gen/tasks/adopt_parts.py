"""What a hand-written backend has, method by method and op by op, beside what fl-gen would generate."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from fl_gen.resolve.model import Backend, Choice
from fl_gen.resolve.ops import ResolvedOp
from fl_gen.schema.framework_parts import Class, Method
from fl_gen.schema.location import Location
from fl_gen.tasks.adopt_faults import called_names
from fl_gen.tasks.adopt_values import Body, Facts, Fault, Instead, MethodReport, OpReport, Presence
from fl_gen.tasks.framework_kernels import Abi
from fl_gen.tasks.framework_types import by_value
from fl_gen.tasks.framework_values import Place, Registered, Signature

Locate = Callable[[Place], Location]
Types = Mapping[tuple[str, str], str | None]

_STEPS = 6  # functions of the backend between a method and a call of the SDK
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")


# -- methods ----------------------------------------------------------------------------------------------------------


def methods_of(facts: Sequence[Facts], backend: Backend, types: Types, locate: Locate) -> Iterator[MethodReport]:
    """Every method of the framework's interfaces that a backend may override."""
    bodies: dict[str, Body] = {}
    for one in facts:
        for body in one.bodies:
            if body.usr not in bodies or body.calls:
                bodies[body.usr] = body
    for cls in backend.framework.interface.classes:
        if cls.role == "interface" and cls.methods:
            own = _overriders(facts, f"{cls.namespace}::{cls.name}")
            for method in cls.methods:
                yield _method(cls, method, own, bodies, backend, types, locate)


def _overriders(facts: Sequence[Facts], base: str) -> list[tuple[Signature, str]]:
    found: dict[str, tuple[Signature, str]] = {}
    for one in facts:
        for cls in one.classes:
            if base in cls.bases:
                for signature, usr in cls.methods:
                    found.setdefault(usr, (signature, usr))
    return list(found.values())


def _method(
    cls: Class,
    method: Method,
    own: Sequence[tuple[Signature, str]],
    bodies: Mapping[str, Body],
    backend: Backend,
    types: Types,
    locate: Locate,
) -> MethodReport:
    instead = tuple(_instead(str(name), backend) for name in method.operations if str(name) in backend.choices)
    texts = {name for status in backend.statuses.values() for name in called_names(status.text_expression)}
    named = [(signature, usr) for signature, usr in own if signature.name == method.cpp]
    if not named:
        what = {"none": "it is pure: the class cannot be made", "fatal": "the framework's own ends the program"}
        note = what.get(method.default, "the framework's own does nothing")
        if not own:
            note = f"no class of the backend derives from {cls.name}"
        presence: Presence = "absent" if not own or method.pure or method.default == "fatal" else "inherited"
        return MethodReport(cls.name, method.cpp, presence, None, (), instead, note)
    wanted = [types.get((cls.namespace, param.type)) for param in method.params]
    returns = types.get((cls.namespace, method.returns))
    for signature, usr in named:
        if signature.const == method.const and _same(signature, returns, wanted):
            calls = tuple(name for name in dict.fromkeys(_reached(usr, bodies)) if name not in texts)
            return MethodReport(cls.name, method.cpp, "there", locate(_place(signature, usr, bodies)), calls, instead)
    signature, usr = named[0]
    text = f"{_text(signature)}{' const' if signature.const else ''}"
    mine = f"{method.returns} ({', '.join(param.type for param in method.params)}){' const' if method.const else ''}"
    note = f"it is {text}, the framework's {mine}: it overrides nothing"
    calls = tuple(name for name in dict.fromkeys(_reached(usr, bodies)) if name not in texts)
    return MethodReport(cls.name, method.cpp, "changed", locate(_place(signature, usr, bodies)), calls, instead, note)


def _place(signature: Signature, usr: str, bodies: Mapping[str, Body]) -> Place:
    return bodies[usr].place if usr in bodies else signature.place


def _reached(usr: str, bodies: Mapping[str, Body]) -> Iterator[str]:
    """The SDK functions that a function calls, by itself or by functions of the backend."""
    seen, level = {usr}, [usr]
    for _ in range(_STEPS):
        following: list[str] = []
        for one in level:
            body = bodies.get(one)
            if body is None:
                continue
            yield from (call.name for call in body.calls)
            following += [callee for callee in body.callees if callee not in seen]
            seen.update(body.callees)
        level = following


def _instead(name: str, backend: Backend) -> Instead:
    choice: Choice = backend.choice(name)
    if choice.candidate is not None:
        code = " ".join(choice.candidate.code.value.split())
        return Instead(name, "binding", code)
    if choice.operation.strategy is not None:
        return Instead(name, "strategy", f"{choice.operation.strategy.name}: {choice.operation.strategy.doc}")
    return Instead(name, "nothing", "left out: this SDK has no way to do it")


def overridden_nothing(methods: Sequence[MethodReport]) -> Iterator[Fault]:
    """A fault for each method that has the name of one of the framework's, and does not override it."""
    for one in methods:
        if one.presence == "changed" and one.place is not None:
            yield Fault(
                "overrides-nothing",
                "error",
                one.place,
                f"{one.cls}::{one.method}: {one.note}",
                "the framework calls its own method, which ends the program or does nothing",
                "give it the framework's signature, and write override: the compiler then says when it is wrong",
            )


# -- ops --------------------------------------------------------------------------------------------------------------


def ops_of(facts: Sequence[Facts], backend: Backend, types: Types, abi: Abi, locate: Locate) -> Iterator[OpReport]:
    """Every kernel that the framework's schema or the backend has."""
    registered: dict[str, Registered] = {}
    for one in facts:
        for kernel in one.read.registered:
            registered.setdefault(kernel.kernel, kernel)
    names = {(body.place, body.name) for one in facts for body in one.bodies if body.usr in one.defines}
    for op in backend.ops:
        found = registered.pop(op.name, None)
        if found is None:
            yield OpReport(op.name, "absent", None, op.strategy)
        else:
            yield _op(op, found, names, backend, types, abi, locate)
    for name, kernel in sorted(registered.items()):
        note = "nothing is generated for it: add it to the framework's ops in a schema folder of your own"
        yield OpReport(name, "unknown", locate(kernel.place), "none", note=note)


def _op(
    op: ResolvedOp,
    found: Registered,
    names: set[tuple[Place, str]],
    backend: Backend,
    types: Types,
    abi: Abi,
    locate: Locate,
) -> OpReport:
    function = found.function
    if function is None:
        return OpReport(op.name, "unjudged", locate(found.place), op.strategy, note=found.why_not)
    interface = backend.framework.interface
    namespace = interface.namespace("kernels")
    returns = types.get((namespace, op.op.returns))
    params = [types.get((namespace, param.type)) for param in op.op.params]
    place = locate(function.place)
    if not _same(function, returns, params):
        given = [param.type.canonical for param in function.params]
        same = returns == function.returns.canonical and abi.agree([one or "" for one in params], given)
        return OpReport(
            op.name, "same" if same else "differs", place, op.strategy, note=_where(op, function, params, returns)
        )
    file = os.path.basename(function.place.file)
    note = _obstacle(op, function, file, names, backend)
    return OpReport(op.name, "exact", place, op.strategy, not note, file, note)


def _obstacle(op: ResolvedOp, function: Signature, file: str, names: set[tuple[Place, str]], backend: Backend) -> str:
    """Why a kernel of the right signature cannot become a native one as it is; empty if it can."""
    compiler = backend.vendor.device_compiler
    wanted = f"{backend.framework.interface.namespace('kernels')}::{backend.vendor.name}::{op.name}"
    if op.op.strategy == "host":
        return "a view, which has no device work: fl-gen makes it on the host"
    if (function.place, wanted) not in names:
        return f"it must be the function {wanted}, which other files can refer to"
    if compiler is None:
        return f"fl-gen knows no device compiler of {backend.vendor.title}: add device_compiler to the vendor file"
    if not file.endswith(compiler.suffix):
        return f"its file must be named *{compiler.suffix}: generated builds compile kernels of that suffix"
    if not _PATH.fullmatch(file):
        return "its file cannot be named in kernels.yaml: rename it, with letters, digits, _ . + and - only"
    return ""


def _same(function: Signature, returns: str | None, params: Sequence[str | None]) -> bool:
    given = [param.type.canonical for param in function.params]
    return (
        returns == function.returns.canonical
        and len(params) == len(given)
        and all(
            mine is not None and by_value(mine) == by_value(other) for mine, other in zip(params, given, strict=True)
        )
    )


def _where(op: ResolvedOp, function: Signature, params: Sequence[str | None], returns: str | None) -> str:
    """Where a signature differs from the schema's."""
    parts = []
    if returns != function.returns.canonical:
        parts.append(f"it returns {function.returns}, the schema {op.op.returns}")
    if len(params) != len(function.params):
        parts.append(f"it has {len(function.params)} parameters, the schema {len(params)}")
    for number, (mine, wanted, param) in enumerate(zip(params, op.op.params, function.params, strict=False), 1):
        if mine is None or by_value(mine) != by_value(param.type.canonical):
            parts.append(f"parameter {number} ({wanted.name}) is {param.type}, in the schema {wanted.type}")
    return "; ".join(parts)


def _text(function: Signature) -> str:
    return f"{function.returns} ({', '.join(param.type.text for param in function.params)})"


def listing_of(ops: Sequence[OpReport], vendor: str) -> str:
    """The text of a kernels.yaml with the kernels that can become native."""
    native = [one for one in ops if one.native]
    if not native:
        return "schema: 1\nkernels: []\n"
    lines = [
        f"# Kernels that can be taken over as they are: put their files below backends/{vendor}/kernels, and take the",
        "# registrations out of them, since the generated router registers every kernel.",
        "schema: 1",
        "kernels:",
        *(f"  - {{op: {one.op}, file: {one.file}}}" for one in native),
    ]
    return "\n".join([*lines, ""])
