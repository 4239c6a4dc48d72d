"""References between models: what one file names must exist in another.

Every function returns all problems instead of raising at the first, so that they can be reported together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from .errors import Diagnostic, Related, quote
from .location import Location
from .name import Name, collisions
from .suggest import suggestion

if TYPE_CHECKING:
    from .framework import Framework
    from .kernels import NativeKernel
    from .ops import Op
    from .runtime import Runtime
    from .values import Ref
    from .vendor import Vendor

DANGLING = "dangling-reference"


def dangling(location: Location, what: str, word: str, known: Iterable[str], length: int | None = None) -> Diagnostic:
    """The diagnostic for a word that names nothing."""
    words = list(known)
    hint = suggestion(word, words) if words else "there is none"
    return Diagnostic(location, f"unknown {what} {quote(word)}", hint, length=length or len(word), rule=DANGLING)


def runtime_problems(runtime: Runtime) -> list[Diagnostic]:
    """Types that operations name but nobody declares, and operations that get one name in generated code."""
    from .runtime import type_references

    problems = []
    for operation in runtime.operations.values():
        texts = [(param.type, param.location) for param in operation.params]
        if operation.returns:
            texts.append((operation.returns, operation.location))
        for text, location in texts:
            for word in type_references(text):
                if word not in runtime.types:
                    problems.append(dangling(location, "type", word, runtime.types, 1))
    problems += _collisions(runtime.operations, runtime.operations.location_of)
    return problems


def _collisions(words: Iterable[str], place: Callable[[str], Location]) -> Iterator[Diagnostic]:
    names = {Name.of(word): word for word in words}
    for first, second in collisions(names):
        one, two = names[first], names[second]
        yield Diagnostic(
            place(two),
            f"{quote(two)} and {quote(one)} get one name in generated code",
            "rename one of them",
            length=len(two),
            rule="name-collision",
            related=(Related(place(one), "the other one is here"),),
        )


def vendor_problems(vendor: Vendor) -> list[Diagnostic]:
    """What can be said about a vendor alone: helpers and status domains that candidates name but nobody defines."""
    problems = []
    used: set[str] = set()
    for candidates in vendor.bindings.values():
        for candidate in candidates:
            used.update(candidate.helpers)
            for helper in candidate.helpers:
                if helper not in vendor.helpers:
                    problems.append(dangling(helper.location, "helper", helper, vendor.helpers))
            if candidate.status is not None and candidate.status not in vendor.statuses:
                problems.append(dangling(candidate.status.location, "status domain", candidate.status, vendor.statuses))
    for group in vendor.groups.values():
        if group.key not in vendor.statuses and not (group.key == "dnn" and "blas" in vendor.statuses):
            hint = f"add {group.key} to statuses:"
            problems.append(
                Diagnostic(group.location, f"the group {group.key} has no status domain", hint, rule=DANGLING)
            )
    for name in vendor.helpers:
        place = vendor.helpers.location_of(name)
        # A base offers helpers for all of its bindings, and a vendor may have removed the one that used it.
        if name not in used and place.via is None:
            message = f"no candidate uses the helper {quote(name)}"
            problems.append(
                Diagnostic(place, message, "remove it, or name it in helpers:", length=len(name), rule="unused")
            )
    for kernel in vendor.kernels.values():
        if kernel.operation is not None and kernel.operation not in vendor.bindings:
            problems.append(dangling(kernel.operation.location, "binding", kernel.operation, vendor.bindings))
    return problems


def cross_problems(vendor: Vendor, runtime: Runtime) -> list[Diagnostic]:
    """What a vendor says about the portable vocabulary: unknown words, and required operations that it leaves out."""
    problems = []
    for word in vendor.bindings:
        if word not in runtime.operations:
            problems.append(dangling(vendor.bindings.location_of(word), "operation", word, runtime.operations))
        elif runtime.operations[word].group not in vendor.groups:
            group = runtime.operations[word].group
            message = f"{word} belongs to the group {group}, which the vendor does not have"
            place = vendor.bindings.location_of(word)
            problems.append(Diagnostic(place, message, f"add {group} to groups:", length=len(word), rule=DANGLING))
    for word in vendor.types:
        if word not in runtime.types:
            problems.append(dangling(vendor.types.location_of(word), "type", word, runtime.types))
    for operation in runtime.operations.values():
        if operation.required and operation.group in vendor.groups and operation.name not in vendor.bindings:
            message = f"the required operation {operation.name} has no binding"
            hint = f"add it to bindings: {operation.doc}"
            problems.append(Diagnostic(vendor.bindings.location, message, hint, rule="missing-binding"))
    return problems


def framework_problems(framework: Framework) -> list[Diagnostic]:
    """References inside a framework: headers, registries, macros, required kernels; ops that stand twice or collide."""
    face = framework.interface
    headers = [header.path for header in face.headers]
    registries = [registry.name for registry in face.registries]
    macros = [macro.name for macro in face.macros]
    classes = [item.name for item in face.classes]
    wanted: list[tuple[str, Ref | None, list[str]]] = []
    declared: list[Ref] = [face.registration.header]
    declared += [item.header for item in face.enums] + [item.header for item in face.structs]
    declared += [item.header for item in face.classes] + [item.header for item in face.registries]
    declared += [item.header for item in face.macros]
    wanted += [("header", word, headers) for word in declared]
    for one in face.classes:
        wanted += [("registry", one.registry, registries), ("macro", one.macro, macros)]
    wanted += [("class", registry.value, classes) for registry in face.registries]
    wanted += [("macro", face.kernels.macro, macros), ("header", face.kernels.map_header, headers)]
    wanted += [("header", face.kernels.params_header, headers)]
    wanted += [("op", word, list(framework.ops)) for word in face.kernels.required]
    problems = [
        dangling(word.location, what, word, known) for what, word, known in wanted if word and word not in known
    ]
    seen: dict[str, Op] = {}
    for file in framework.files:
        for op in file.ops:
            other = seen.setdefault(op.name, op)
            if other is not op:
                related = (Related(other.location, "the first one is here"),)
                message = f"the op {op.name} is declared twice"
                problems.append(Diagnostic(op.location, message, "remove one", rule="duplicate-key", related=related))
            if op.required and op.name not in face.kernels.required:
                message = f"{op.name} is required here, but not in kernels.required of the interface"
                problems.append(Diagnostic(op.location, message, "make both say the same", rule=DANGLING))
    problems += _collisions(framework.ops, framework.ops.location_of)
    return problems


def interface_problems(framework: Framework, runtime: Runtime) -> list[Diagnostic]:
    """Operations that methods of the interface name but the vocabulary does not have."""
    return [
        dangling(word.location, "operation", word, runtime.operations)
        for item in framework.interface.classes
        for method in item.methods
        for word in method.operations
        if word not in runtime.operations
    ]


def kernel_problems(vendor: Vendor, framework: Framework) -> list[Diagnostic]:
    """Kernels of a vendor for ops that the framework does not have."""
    return [
        dangling(vendor.kernels.location_of(name), "op", name, framework.ops)
        for name in vendor.kernels
        if name not in framework.ops
    ]


def native_kernel_problems(kernels: Iterable[NativeKernel], framework: Framework) -> list[Diagnostic]:
    """Hand-written kernels of ops that the framework does not have, and dtypes that their op does not take."""
    problems = []
    for kernel in kernels:
        op = framework.ops.get(kernel.op)
        if op is None:
            problems.append(dangling(kernel.op.location, "op", kernel.op, framework.ops))
            continue
        extra = [word for word in kernel.dtypes or () if word not in op.dtypes]
        if extra:
            message = f"{kernel.op} is never called with {', '.join(extra)}"
            hint = f"its dtypes are {', '.join(op.dtypes)}"
            problems.append(Diagnostic(kernel.location, message, hint, rule="wrong-value"))
    return problems
