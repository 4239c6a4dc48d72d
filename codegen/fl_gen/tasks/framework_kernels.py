"""Holds the ops of a framework against the kernels that its sources register, and call sites against kernels."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fl_gen.schema.framework import Framework
from fl_gen.schema.ops import Op
from fl_gen.tasks.framework_types import Locate, by_value
from fl_gen.tasks.framework_values import (
    CallSite,
    Edit,
    Finding,
    Needed,
    Place,
    Registered,
    Signature,
    UnitRead,
)

UNDEFINED = "silent undefined behaviour: the dispatcher calls through a cast pointer, and no compiler or check sees it"
_TENSOR = "std::shared_ptr<Tensor>"
# The device types that have no accelerator: a kernel there is what a fallback computes with.
_HOST = "kCPU"


@dataclass(frozen=True)
class Abi:
    """How parameters travel: `trivial` has the canonical class types that go in registers or as they are."""

    trivial: Mapping[str, bool]

    def passing(self, canonical: str) -> tuple[str, str]:
        """A parameter's type as the caller's machine code sees it: by value, or as the address of an object."""
        if canonical.endswith("&"):
            return "address", bare(canonical)
        value = by_value(canonical)
        return ("value" if value.endswith("*") or self.trivial.get(value, True) else "address"), value

    def agree(self, one: Sequence[str], other: Sequence[str]) -> bool:
        """Whether two lists of canonical parameter types are the same to the machine."""
        return [self.passing(type_) for type_ in one] == [self.passing(type_) for type_ in other]


def bare(canonical: str) -> str:
    """A canonical type without reference and outer const."""
    return by_value(canonical.rstrip("& ").strip())


def class_types(units: Iterable[UnitRead]) -> list[str]:
    """The canonical types that arguments and parameters have, of which it matters whether they are trivial."""
    found: dict[str, None] = {}
    for unit in units:
        for call in unit.calls:
            found.update((bare(argument.type.canonical), None) for argument in call.arguments)
        for one in unit.registered:
            if one.function is not None:
                found.update((bare(param.type.canonical), None) for param in one.function.params)
    return [type_ for type_ in found if not type_.endswith("*")]


class KernelComparison:
    """Ops, registrations and calls; `types` are the canonical types of the schema by (namespace, text)."""

    def __init__(
        self,
        framework: Framework,
        units: Sequence[UnitRead],
        types: Mapping[tuple[str, str], str | None],
        abi: Abi,
        locate: Locate,
        root: Path,
    ) -> None:
        self._framework = framework
        self._units = units
        self._types = types
        self._abi = abi
        self._locate = locate
        self._root = root
        self._namespace = framework.interface.namespace("kernels")
        self._kernels: dict[str, list[Registered]] = {}
        for unit in units:
            for one in unit.registered:
                self._kernels.setdefault(one.kernel, []).append(one)
        for registered in self._kernels.values():
            registered.sort(key=lambda one: (one.device != _HOST, one.device or "", one.place.file, one.place.line))
        self._called: dict[str, list[CallSite]] = {}
        for unit in units:
            for call in unit.calls:
                for name in call.kernels:
                    self._called.setdefault(name, []).append(call)

    def findings(self) -> Iterator[Finding]:
        """Every disagreement, kernel by kernel, then call by call."""
        for name in sorted(self._kernels):
            yield from self._kernel(name, self._kernels[name])
        for op in self._framework.ops.values():
            if op.name not in self._kernels:
                yield self._unregistered(op)
        for unit in self._units:
            for call in unit.calls:
                for name in call.kernels:
                    yield from self._call(name, call)

    def by_name(self) -> tuple[Needed, ...]:
        """Kernels that sources of other kernels call by name: they must be there for those to work."""
        found = {
            name: tuple(self._locate(call.place) for call in calls if call.in_kernel)
            for name, calls in sorted(self._called.items())
        }
        return tuple(Needed(name, callers) for name, callers in found.items() if callers)

    # -- registered kernels ---------------------------------------------------------------------------------------

    def _kernel(self, name: str, registered: Sequence[Registered]) -> Iterator[Finding]:
        op = self._framework.ops.get(name)
        schema = op.location if op is not None else None
        first: dict[str | None, Registered] = {}
        for one in registered:
            before = first.setdefault(one.device, one)
            if before is not one and one.device is not None:
                yield Finding(
                    "kernel-twice",
                    "error",
                    name,
                    f"{name} is registered for {one.device} a second time, first at {self._locate(before.place)}",
                    "registering a key twice ends the program at its start",
                    self._locate(one.place),
                    schema,
                    by_hand="a fault of the framework: remove one",
                )
        if op is not None and op.cpu == "framework" and not {_HOST, None} & first.keys():
            yield Finding(
                "kernel-no-host",
                "error",
                name,
                f"{name} is registered for {' and '.join(sorted(map(str, first)))} only, not for {_HOST}",
                "the fallback of every generated backend computes with it, and ends the program",
                self._locate(registered[0].place),
                schema,
                by_hand=f"write cpu: generated for it, with its host code, or register a kernel for {_HOST}",
            )
        known = [one for one in registered if one.function is not None]
        if not known:
            return
        function = known[0].function
        assert function is not None
        for other in known[1:]:
            assert other.function is not None
            if not self._agree(function, other.function):
                yield Finding(
                    "kernel-devices",
                    "error",
                    name,
                    f"{name} is {_text(other.function)} for {other.device}, {_text(function)} for {known[0].device}",
                    f"one call serves both: for one of them it is {UNDEFINED}",
                    self._locate(other.function.place),
                    schema,
                    by_hand="a fault of the framework: give both one signature",
                )
        if op is None:
            yield self._new(name, registered, function)
        else:
            yield from self._changed(op, function)

    def _agree(self, one: Signature, other: Signature) -> bool:
        return one.returns.canonical == other.returns.canonical and self._abi.agree(
            [param.type.canonical for param in one.params], [param.type.canonical for param in other.params]
        )

    def _changed(self, op: Op, function: Signature) -> Iterator[Finding]:
        returns = self._types.get((self._namespace, op.returns))
        params = [self._types.get((self._namespace, param.type)) for param in op.params]
        given = [param.type.canonical for param in function.params]
        exact = returns == function.returns.canonical and len(params) == len(given)
        exact = exact and all(
            mine is not None and by_value(mine) == by_value(theirs) for mine, theirs in zip(params, given, strict=True)
        )
        if exact:
            return
        same = returns == function.returns.canonical and self._abi.agree([one or "" for one in params], given)
        path = ("ops", self._index(op))
        file = f"ops/{os.path.basename(op.location.file)}"
        edits = [Edit("params", file, (*path, "params"), _params(op, function))]
        if returns != function.returns.canonical:
            edits.insert(0, Edit("set", file, (*path, "returns"), function.returns.text))
        written = f"{op.returns} ({', '.join(param.type for param in op.params)})"
        yield Finding(
            "kernel-text" if same else "kernel-changed",
            "warning" if same else "error",
            op.name,
            f"{op.name} is {_text(function)}, {written} in the schema",
            "the same to the dispatcher; the text differs"
            if same
            else f"generated kernels have the old signature: {UNDEFINED}",
            self._locate(function.place),
            op.location,
            tuple(edits),
        )

    def _index(self, op: Op) -> int:
        for file in self._framework.files:
            if op in file.ops:
                return file.ops.index(op)
        raise KeyError(op.name)

    def _new(self, name: str, registered: Sequence[Registered], function: Signature) -> Finding:
        devices = sorted({one.device or "a device" for one in registered})
        calls = len(self._called.get(name, ()))
        file = f"ops/{self._category(registered)}.yaml"
        means = "no generated backend has it"
        means += f", and {_times(calls, 'call')} of it in the tree would end the program" if calls else ""
        if _HOST not in devices:
            hand = f"{_HOST} has no such kernel for a fallback to compute with: add the op with cpu: generated "
            hand += "and write its host code, or leave it to native kernels"
            edits: tuple[Edit, ...] = ()
        else:
            hand = ""
            edits = (Edit("op", file, (), self._entry(name, function, self._source(registered))),)
        files = self._framework.files
        beside = next((one.location for one in files if os.path.basename(one.location.file) == file[4:]), None)
        return Finding(
            "kernel-new",
            "error" if calls else "warning",
            name,
            f"{name}, {_text(function)}, is registered for {' and '.join(devices)} and not in the schema",
            means,
            self._locate(registered[0].place),
            beside,
            edits,
            hand,
        )

    def _category(self, registered: Sequence[Registered]) -> str:
        """The category of a new kernel: its source's name, as categories are spelled."""
        word = re.sub(r"[^a-z0-9_]", "_", Path(self._source(registered)).stem.lower())
        return word if word[:1].isalpha() else f"ops_{word}"

    def _source(self, registered: Sequence[Registered]) -> str:
        place = registered[0].function.place if registered[0].function is not None else registered[0].place
        return os.path.relpath(place.file, self._root)

    def _entry(self, name: str, function: Signature, source: str) -> dict[str, Any]:
        """An op for a kernel that the framework's CPU has: guesses are marked where the file is written."""
        void = function.returns.canonical == "void"
        params = []
        for number, param in enumerate(function.params):
            entry = {"name": param.name or f"arg{number}", "type": param.type.text}
            if void and _TENSOR in param.type.text:
                entry["role"] = "inout"
            params.append(entry)
        tensor = next((param for param in params if _TENSOR in param["type"]), None)
        rule = "in_place" if void else f"same({tensor['name']})" if tensor is not None else "float32"
        return {
            "name": name,
            "doc": f"Written by framework check from {source}; say what it computes.",
            "returns": function.returns.text,
            "params": params,
            "strategy": "fallback",
            "cpu": "framework",
            "dtypes": ["floating"],
            "output_dtype": rule,
            "source": source,
        }

    def _unregistered(self, op: Op) -> Finding:
        calls = len(self._called.get(op.name, ()))
        means = "generated backends register it without need: harmless"
        if calls:
            means = f"{_times(calls, 'call')} in the tree: it works on generated backends alone"
        return Finding(
            "kernel-unregistered",
            "warning",
            op.name,
            f"nothing in the tree registers {op.name}",
            means,
            None,
            op.location,
            by_hand="remove the op once no framework has it",
        )

    # -- calls ----------------------------------------------------------------------------------------------------

    def _call(self, name: str, call: CallSite) -> Iterator[Finding]:
        if call.why_not:
            return
        op = self._framework.ops.get(name)
        schema = op.location if op is not None else None
        target = self._target(name, op)
        if target is None:
            if name not in self._kernels and op is None:
                yield Finding(
                    "call-unknown",
                    "error",
                    name,
                    f"{name} is called by name, and nothing registers it",
                    "the program ends at this call on every device",
                    self._locate(call.place),
                    None,
                    by_hand="register the kernel in the framework, or add the op to the schema",
                )
            return
        returns, types, words = target
        faults, place = self._faults(call, returns, types)
        if not faults:
            return
        passed = ", ".join(argument.type.text for argument in call.arguments)
        yield Finding(
            "call-mismatch",
            "error",
            name,
            f"this call passes ({passed}) to {name}, which is {words}: {'; '.join(faults)}",
            UNDEFINED,
            self._locate(place),
            schema,
            by_hand="a fault of the framework: make the call fit the kernel. Generated backends have the "
            "kernel's signature and are called wrongly as well",
        )

    def _target(self, name: str, op: Op | None) -> tuple[str | None, list[str | None], str] | None:
        """Return type, parameter types and text of the function that a call reaches."""
        for one in self._kernels.get(name, ()):
            if one.function is not None:
                types: list[str | None] = [param.type.canonical for param in one.function.params]
                return one.function.returns.canonical, types, _text(one.function)
        if op is None or name in self._kernels:
            return None
        known = [self._types.get((self._namespace, param.type)) for param in op.params]
        text = f"{op.returns} ({', '.join(param.type for param in op.params)})"
        return self._types.get((self._namespace, op.returns)), known, text

    def _faults(self, call: CallSite, returns: str | None, types: Sequence[str | None]) -> tuple[list[str], Place]:
        """What is wrong with a call, and the place of the first argument that is; the call's own otherwise."""
        faults, place = [], call.place
        if len(call.arguments) != len(types):
            faults.append(f"{_times(len(call.arguments), 'argument')} for {_times(len(types), 'parameter')}")
        for number, (argument, wanted) in enumerate(zip(call.arguments, types, strict=False), 1):
            if wanted is None or self._abi.passing(argument.type.canonical) == self._abi.passing(wanted):
                continue
            if not any("argument" in fault for fault in faults):
                place = argument.place
            faults.append(f"argument {number} is {argument.type}, the parameter {wanted}")
        if returns is not None and returns != call.returns.canonical:
            faults.append(f"the result is taken as {call.returns}, it is {returns}")
        return faults, place


def _text(function: Signature) -> str:
    return f"{function.returns} ({', '.join(param.type.text for param in function.params)})"


def _times(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _params(op: Op, function: Signature) -> list[dict[str, str]]:
    """The parameters of the function; what the schema says beside the type stays with a parameter of that name."""
    found = []
    for number, param in enumerate(function.params):
        old = next((one for one in op.params if one.name == param.name), None)
        if old is None and number < len(op.params) and len(op.params) == len(function.params):
            old = op.params[number]
        name = param.name or (old.name if old is not None else f"arg{number}")
        found.append({"name": old.name if old is not None else name, "type": param.type.text})
    return found
