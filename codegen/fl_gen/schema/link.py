"""References between models: what one file names must exist in another.

Every function returns all problems instead of raising at the first, so that they can be reported together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from .errors import Diagnostic, Related, quote
from .location import Location
from .name import Name, collisions
from .suggest import suggestion

if TYPE_CHECKING:
    from .runtime import Runtime
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


def _collisions(words: Iterable[str], place: object) -> Iterator[Diagnostic]:
    names = {Name.of(word): word for word in words}
    for first, second in collisions(names):
        one, two = names[first], names[second]
        yield Diagnostic(
            place(two),  # type: ignore[operator]
            f"{quote(two)} and {quote(one)} get one name in generated code",
            "rename one of them",
            length=len(two),
            rule="name-collision",
            related=(Related(place(one), "the other one is here"),),  # type: ignore[operator]
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
    for name in vendor.helpers:
        if name not in used:
            place = vendor.helpers.location_of(name)
            message = f"no candidate uses the helper {quote(name)}"
            problems.append(Diagnostic(place, message, "remove it, or name it in helpers:", length=len(name), rule="unused"))
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
