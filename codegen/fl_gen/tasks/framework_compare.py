"""Holds `interface.yaml` against what the headers of a framework declare."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fl_gen.schema.framework import Framework, Interface
from fl_gen.schema.framework_parts import Class, Function, Method, Param
from fl_gen.schema.location import Location
from fl_gen.schema.name import Name
from fl_gen.schema.suggest import suggestion
from fl_gen.tasks.framework_surface import Surface, TreeClass
from fl_gen.tasks.framework_tree import Tree
from fl_gen.tasks.framework_types import FILE, RECOMPILE, Comparison, Locate
from fl_gen.tasks.framework_values import Edit, Finding, Signature

_OVERRIDE = f"the generated override no longer fits and does not compile; {RECOMPILE} after the schema has changed"


def wanted_types(framework: Framework) -> Iterator[tuple[str, str]]:
    """Every type that the schema spells, with the namespace that it is written for."""
    interface = framework.interface
    for cls in interface.classes:
        for method in cls.methods:
            yield cls.namespace, method.returns
            yield from ((cls.namespace, param.type) for param in method.params)
    for struct in interface.structs:
        yield from ((struct.namespace, field.type) for field in struct.fields)
    registration = interface.registration
    yield from ((registration.namespace, field.type) for field in registration.fields)
    for function in registration.functions:
        yield registration.namespace, function.returns
        yield from ((registration.namespace, param.type) for param in function.params)
    root, kernels = interface.namespace("root"), interface.namespace("kernels")
    yield from ((root, enum.underlying) for enum in interface.enums)
    for op in framework.ops.values():
        yield kernels, op.returns
        yield from ((kernels, param.type) for param in op.params)


def compare_interface(interface: Interface, surface: Surface, tree: Tree, locate: Locate) -> list[Finding]:
    """Every disagreement between an interface and the headers of a tree."""
    return list(_Whole(interface, surface, tree, locate).findings())


class _Whole(Comparison):
    """The whole interface."""

    def findings(self) -> Iterator[Finding]:
        interface = self.interface
        for header in interface.headers:
            if header.path not in self.headers:
                yield self.gone("header", header.path, header.location, "generated code includes it")
            else:
                yield from self._provided(header.path, header.provides, header.location)
        for space in interface.namespaces:
            if not any(name.startswith(f"{space.name}::") for name in self.surface.names):
                yield self.gone("namespace", space.name, space.location, "generated code names it")
        for number, enum in enumerate(interface.enums):
            yield from self.enum(enum, ("enums", number))
        for dtype in interface.dtypes:
            size = self.surface.sizes.get(dtype.name)
            if size != dtype.bytes:
                what = f"{dtype.cpp} has {size} bytes" if size is not None else f"there is no type {dtype.cpp}"
                yield Finding(
                    "dtype",
                    "error",
                    f"dtype {dtype.name}",
                    f"{what}; the schema says {dtype.bytes} bytes",
                    "host code reads tensors of this dtype wrongly",
                    None,
                    dtype.location,
                    by_hand="correct cpp and bytes of the dtype",
                )
        for number, struct in enumerate(interface.structs):
            yield from self.struct(struct, ("structs", number))
        for number, cls in enumerate(interface.classes):
            yield from self._class(cls, ("classes", number))
        yield from self._registries()
        yield from self._macros()
        yield from self._registration()

    # -- names ----------------------------------------------------------------------------------------------------

    def _known(self, name: str) -> bool:
        names = self.surface.names
        return name in names or any(known.endswith(f"::{name}") for known in names)

    def _provided(self, header: str, names: Sequence[str], at: Location) -> Iterator[Finding]:
        # Classes, enums and macros that the interface describes are compared there.
        interface = self.interface
        told = {cls.name for cls in interface.classes} | {enum.name for enum in interface.enums}
        told |= {struct.name for struct in interface.structs} | {macro.name for macro in interface.macros}
        told |= {registry.name for registry in interface.registries} | {interface.registration.struct}
        told |= {function.name for function in interface.registration.functions}
        for name in names:
            if name.rpartition("::")[2] not in told and not self._known(name):
                yield self.gone("name", name, at, f"generated code takes it from {header}", header)

    # -- classes --------------------------------------------------------------------------------------------------

    def _class(self, cls: Class, path: tuple[str | int, ...]) -> Iterator[Finding]:
        name = f"{cls.namespace}::{cls.name}"
        there = self.surface.classes.get(name)
        if there is None:
            if self.has_header(str(cls.header)):
                yield self.gone("class", name, cls.location, "generated classes derive from it", str(cls.header))
            return
        waiting = list(enumerate(cls.methods))
        pairs: list[tuple[Signature, int, Method]] = []
        rest: list[Signature] = []
        for method in there.methods:
            same = next((one for one in waiting if self._fits(cls, one[1], method)), None)
            if same is not None:
                waiting.remove(same)
                pairs.append((method, *same))
            else:
                rest.append(method)
        new: list[Signature] = []
        for method in rest:
            same = next((one for one in waiting if one[1].cpp == method.name), None)
            if same is not None:
                waiting.remove(same)
                pairs.append((method, *same))
            else:
                new.append(method)
        for method, number, old in pairs:
            yield from self._method(cls, method, old, (*path, "methods", number))
        numbers = {id(method): number for method, number, _ in pairs}
        for method in new:
            yield self._new_method(cls, there, method, numbers, path)
        for _, old in waiting:
            near = suggestion(old.cpp, [method.name for method in new])
            hint = f"; {near}" if near and near.startswith("did you mean") else ""
            yield self.finding(
                "method-gone",
                "error",
                f"{cls.name}::{old.cpp}",
                there.place,
                old.location,
                f"{cls.name} has no virtual method {old.cpp}{hint}",
                "the generated override of it does not compile",
                by_hand="take the method out of the schema, or rename it",
            )

    def _fits(self, cls: Class, old: Method, new: Signature) -> bool:
        return old.cpp == new.name and not self._differences(cls.namespace, old, new) and old.const == new.const

    def _differences(self, namespace: str, old: Method | Function, new: Signature) -> list[str]:
        """What differs in return type and parameters."""
        found = []
        if not self.same(namespace, old.returns, new.returns.canonical):
            found.append(f"it returns {new.returns}, {old.returns} in the schema")
        if len(old.params) != len(new.params):
            found.append(f"it takes {_count(new.params)}, {_count(old.params)} in the schema")
        for number, (mine, theirs) in enumerate(zip(old.params, new.params, strict=False), 1):
            if not self.same(namespace, mine.type, theirs.type.canonical):
                found.append(f"parameter {number} is {theirs.type}, {mine.type} {mine.name} in the schema")
        return found

    def _method(self, cls: Class, new: Signature, old: Method, path: tuple[str | int, ...]) -> Iterator[Finding]:
        subject = f"{cls.name}::{new.name}"
        found = self._differences(cls.namespace, old, new)
        edits = self._signature_edits(cls.namespace, old, new, path)
        if old.const != new.const:
            found.append("it is const, not in the schema" if new.const else "it is not const, const in the schema")
            edits.append(Edit("set", FILE, (*path, "const"), new.const))
        if found:
            yield self.finding(
                "method-changed",
                "error",
                subject,
                new.place,
                old.location,
                f"{subject} has changed: {'; '.join(found)}",
                _OVERRIDE,
                tuple(edits),
            )
        if old.pure != new.pure:
            change = (
                Edit("set", FILE, (*path, "pure"), new.pure),
                Edit("set", FILE, (*path, "default"), new.body),
            )
            what = "is pure virtual now" if new.pure else "is not pure any more"
            means = "a backend that leaves it out does not compile" if new.pure else "a backend may leave it out"
            yield self.finding(
                "method-pure",
                "error" if new.pure else "warning",
                subject,
                new.place,
                old.location,
                f"{subject} {what}",
                means,
                change,
            )
        if len(old.params) == len(new.params):
            yield from self._defaults(subject, old.params, new, path)

    def _defaults(self, subject: str, old: Sequence[Param], new: Signature, path: Any) -> Iterator[Finding]:
        for number, (mine, theirs) in enumerate(zip(old, new.params, strict=True), 1):
            if "".join((mine.default or "").split()) != "".join((theirs.default or "").split()):
                edits = (Edit("params", FILE, (*path, "params"), _params(new, old)),)
                what = f"defaults to {theirs.default}" if theirs.default else "has no default argument"
                was = f"{mine.default} in the schema" if mine.default else "none in the schema"
                yield self.finding(
                    "default-argument",
                    "warning",
                    subject,
                    theirs.place,
                    mine.location,
                    f"parameter {number} of {subject} {what}, {was}",
                    "callers that leave it out pass that value; an override does not inherit it",
                    edits,
                )

    def _signature_edits(self, namespace: str, old: Method, new: Signature, path: tuple[str | int, ...]) -> list[Edit]:
        edits = []
        if not self.same(namespace, old.returns, new.returns.canonical):
            edits.append(Edit("set", FILE, (*path, "returns"), new.returns.text))
        same = len(old.params) == len(new.params) and all(
            self.same(namespace, mine.type, theirs.type.canonical)
            for mine, theirs in zip(old.params, new.params, strict=True)
        )
        if not same:
            edits.append(Edit("params", FILE, (*path, "params"), _params(new, old.params)))
        return edits

    def _new_method(
        self, cls: Class, there: TreeClass, method: Signature, numbers: dict[int, int], path: tuple[str | int, ...]
    ) -> Finding:
        subject = f"{cls.name}::{method.name}"
        before = there.methods[: there.methods.index(method)]
        after = next((numbers[id(one)] for one in reversed(before) if id(one) in numbers), -1)
        group = cls.methods[after].group if after >= 0 else (cls.methods[0].group if cls.methods else "other")
        value = {
            "name": Name.of(method.name).snake,
            "cpp": method.name,
            "group": group,
            "returns": method.returns.text,
            "params": _params(method, ()),
            "const": method.const,
            "pure": method.pure,
            "default": method.body,
            "used_by": [],
            "operations": [],
            "doc": "written by framework check: say what it means and which operations do its work",
        }
        if method.pure:
            means = "it is pure virtual and no generated backend overrides it: none compiles against this tree"
        elif method.body == "nothing":
            means = "generated backends do not override it: nothing happens when the framework calls it"
        else:
            means = "generated backends do not override it: the base class answers, as a rule with LOG(FATAL)"
        return self.finding(
            "method-new",
            "error" if method.pure else "warning",
            subject,
            method.place,
            cls.location,
            f"the virtual method {subject}({', '.join(p.type.text for p in method.params)}) is new",
            means,
            (Edit("insert", FILE, (*path, "methods"), value, after),),
        )

    # -- macros, functions, registration --------------------------------------------------------------------------

    def _registries(self) -> Iterator[Finding]:
        for registry in self.interface.registries:
            header = str(registry.header)
            if not self.has_header(header):
                continue
            for what, name, known in (
                ("class", registry.name, self.surface.classes),
                ("function", registry.accessor, self.surface.functions),
            ):
                whole = f"{registry.namespace}::{name}"
                if whole not in known:
                    yield self.gone(what, whole, registry.location, "generated code registers through it", header)

    def _macros(self) -> Iterator[Finding]:
        for macro in self.interface.macros:
            there = self.surface.macros.get(macro.name)
            if there is None:
                if self.has_header(str(macro.header)):
                    yield self.gone("macro", macro.name, macro.location, "generated code uses it", str(macro.header))
                continue
            if len(there.args or ()) != len(macro.args) or there.args is None:
                text = "no arguments" if there.args is None else f"({', '.join(there.args)})"
                yield self.finding(
                    "macro-changed",
                    "error",
                    macro.name,
                    there.place,
                    macro.location,
                    f"{macro.name} takes {text}, ({', '.join(one.name for one in macro.args)}) in the schema",
                    "generated registrations do not compile",
                    by_hand="change args of the macro, and the templates that use it",
                )

    def _registration(self) -> Iterator[Finding]:
        registration = self.interface.registration
        if not self.has_header(str(registration.header)):
            return
        name = f"{registration.namespace}::{registration.struct}"
        there = self.surface.classes.get(name)
        if there is None:
            header = str(registration.header)
            yield self.gone("struct", name, registration.location, "a backend fills it to register itself", header)
        else:
            yield from self._registration_fields(there)
        for number, function in enumerate(registration.functions):
            yield from self._function(function, registration.namespace, number)

    def _registration_fields(self, there: TreeClass) -> Iterator[Finding]:
        registration = self.interface.registration
        known = {field.name: (number, field) for number, field in enumerate(registration.fields)}
        for field in there.fields:
            subject = f"{registration.struct}::{field.name}"
            number, old = known.pop(field.name, (-1, None))
            if old is None:
                yield self.finding(
                    "registration-new",
                    "warning",
                    subject,
                    field.place,
                    registration.location,
                    f"the member {field.type} {field.name} is new",
                    "generated backends leave it as it begins",
                    by_hand="add it to registration.fields, and say whether it is required",
                )
            elif not self.same(registration.namespace, old.type, field.type.canonical):
                edit = Edit("set", FILE, ("registration", "fields", number, "type"), field.type.text)
                yield self.finding(
                    "registration-changed",
                    "error",
                    subject,
                    field.place,
                    old.location,
                    f"{subject} is {field.type}, {old.type} in the schema",
                    RECOMPILE,
                    (edit,),
                )
        for _, old in known.values():
            yield self.finding(
                "registration-gone",
                "error",
                f"{registration.struct}::{old.name}",
                there.place,
                old.location,
                f"{registration.struct} has no member {old.name}",
                "the generated registration does not compile",
                by_hand="take it out of the schema and of the templates",
            )

    def _function(self, function: Function, namespace: str, number: int) -> Iterator[Finding]:
        overloads = self.surface.functions.get(f"{namespace}::{function.name}", [])
        if not overloads:
            name, header = f"{namespace}::{function.name}", str(self.interface.registration.header)
            yield self.gone("function", name, function.location, "generated code calls it", header)
            return
        if any(not self._differences(namespace, function, one) for one in overloads):
            return
        found = self._differences(namespace, function, overloads[0])
        path = ("registration", "functions", number)
        edits = [Edit("params", FILE, (*path, "params"), _params(overloads[0], function.params))]
        if not self.same(namespace, function.returns, overloads[0].returns.canonical):
            edits.insert(0, Edit("set", FILE, (*path, "returns"), overloads[0].returns.text))
        yield self.finding(
            "function-changed",
            "error",
            function.name,
            overloads[0].place,
            function.location,
            f"{function.name} has changed: {'; '.join(found)}",
            RECOMPILE,
            tuple(edits),
        )


def _count(params: Sequence[Any]) -> str:
    return f"{len(params)} parameter{'' if len(params) == 1 else 's'}"


def _params(new: Signature, old: Sequence[Param]) -> list[dict[str, str]]:
    """The tree's parameters for a schema file; one without a name keeps the old name at that position, or gets one."""
    taken = {param.name for param in new.params if param.name}
    found = []
    for number, param in enumerate(new.params):
        name = param.name
        if not name:
            name = old[number].name if number < len(old) and old[number].name not in taken else ""
            while not name or name in taken:
                name = f"arg{number}" if not name else f"{name}_"
        taken.add(name)
        entry = {"name": name, "type": param.type.text}
        if param.default is not None:
            entry["default"] = param.default
        found.append(entry)
    return found
