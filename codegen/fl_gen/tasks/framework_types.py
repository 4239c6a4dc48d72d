"""Holds the enumerations and structs of `interface.yaml` against what the headers of a framework declare."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fl_gen.schema.framework import Interface
from fl_gen.schema.framework_parts import Enum, Struct
from fl_gen.schema.location import Location
from fl_gen.schema.suggest import suggestion
from fl_gen.tasks.framework_surface import Surface, TreeEnum
from fl_gen.tasks.framework_tree import Tree
from fl_gen.tasks.framework_values import Edit, Finding, Level, Place

FILE = "interface.yaml"
RECOMPILE = "backends must be generated and compiled anew"
Locate = Callable[[Place], Location]


def by_value(canonical: str) -> str:
    """A canonical parameter type without its outer const, which no caller sees."""
    if canonical.endswith("*const"):
        return canonical[: -len("const")]
    return canonical if canonical.endswith(("*", "&")) else canonical.removeprefix("const ")


class Comparison:
    """What every comparison uses, and the comparison of types that have values or members."""

    def __init__(self, interface: Interface, surface: Surface, tree: Tree, locate: Locate) -> None:
        self.interface = interface
        self.surface = surface
        self.root = tree.root
        self.headers = set(tree.headers)
        self.locate = locate

    def has_header(self, header: str) -> bool:
        return header in self.headers  # a header that is gone has been told; what it declared is not told again

    def gone(self, what: str, name: str, at: Location, why: str, header: str | None = None) -> Finding:
        """The finding for something that the tree, or that `header` of it, does not have."""
        near = suggestion(name, [known for known in self.surface.names if known.count("::") == name.count("::")])
        hint = f"; {near}" if near and near.startswith("did you mean") else ""
        return Finding(
            f"{what}-gone",
            "error",
            f"{what} {name}",
            f"the tree has no {what} {name}{hint}",
            f"{why}: backends do not compile against this tree",
            self.locate(Place(str(self.root / header), 1, 1)) if header is not None else None,
            at,
            by_hand="find what took its place, and change the schema and the templates that use it",
        )

    def same(self, namespace: str, text: str, canonical: str) -> bool:
        wanted = self.surface.types.get((namespace, text))
        return wanted is not None and by_value(wanted) == by_value(canonical)

    def finding(
        self,
        kind: str,
        level: Level,
        subject: str,
        place: Place,
        schema: Location,
        message: str,
        meaning: str,
        edits: tuple[Edit, ...] = (),
        by_hand: str = "",
    ) -> Finding:
        return Finding(kind, level, subject, message, meaning, self.locate(place), schema, edits, by_hand)

    # -- enums and structs ----------------------------------------------------------------------------------------

    def enum(self, enum: Enum, path: tuple[str | int, ...]) -> Iterator[Finding]:
        name = f"{enum.scope}::{enum.name}"
        there = self.surface.enums.get(name)
        if there is None:
            if self.has_header(str(enum.header)):
                yield self.gone("enum", name, enum.location, "generated code uses it", str(enum.header))
            return
        root = self.interface.namespace("root")
        if not self.same(root, enum.underlying, there.underlying):
            yield self.finding(
                "enum-type",
                "error",
                name,
                there.place,
                enum.location,
                f"{enum.name} is {there.underlying} underneath, {enum.underlying} in the schema",
                RECOMPILE,
                (Edit("set", FILE, (*path, "underlying"), there.underlying),),
            )
        yield from self._values(enum, there, path)
        if enum.to_string is not None:
            scope = enum.scope
            if f"{scope}::{enum.to_string}" not in self.surface.functions:
                name = f"{scope}::{enum.to_string}"
                yield self.gone("function", name, enum.location, "generated messages use it", str(enum.header))

    def _values(self, enum: Enum, there: TreeEnum, path: tuple[str | int, ...]) -> Iterator[Finding]:
        known = {value.name: (number, value) for number, value in enumerate(enum.values)}
        after = -1
        for name, (value, place) in there.values.items():
            subject = f"{enum.name}::{name}"
            if name not in known:
                edit = Edit("insert", FILE, (*path, "values"), {"name": name, "value": value, "doc": ""}, after)
                yield self.finding(
                    "enumerator-new",
                    "warning",
                    subject,
                    place,
                    enum.location,
                    f"{subject} = {value} is new",
                    f"generated code does not know it: it takes the branch for unknown values; {RECOMPILE}",
                    (edit,),
                )
                continue
            number, old = known.pop(name)
            after = number
            if old.value != value:
                edit = Edit("set", FILE, (*path, "values", number, "value"), value)
                yield self.finding(
                    "enumerator-changed",
                    "error",
                    subject,
                    place,
                    old.location,
                    f"{subject} is {value}, {old.value} in the schema",
                    f"a backend compiled before means another value by it: {RECOMPILE}",
                    (edit,),
                )
        for _, old in known.values():
            yield self.finding(
                "enumerator-gone",
                "error",
                f"{enum.name}::{old.name}",
                there.place,
                old.location,
                f"{enum.name} has no {old.name}",
                "generated code that names it does not compile",
                by_hand="take it out of the schema and of what uses it",
            )

    def struct(self, struct: Struct, path: tuple[str | int, ...]) -> Iterator[Finding]:
        name = f"{struct.namespace}::{struct.name}"
        there = self.surface.classes.get(name)
        if there is None:
            if self.has_header(str(struct.header)):
                yield self.gone("struct", name, struct.location, "generated kernels take it", str(struct.header))
            return
        known = {field.name: (number, field) for number, field in enumerate(struct.fields)}
        after = -1
        layout = f"its layout is another: a backend compiled before reads other members; {RECOMPILE}"
        for field in there.fields:
            subject = f"{struct.name}::{field.name}"
            if field.name not in known:
                value = {"name": field.name, "type": field.type.text, "init": field.init, "doc": ""}
                edit = Edit("insert", FILE, (*path, "fields"), value, after)
                yield self.finding(
                    "field-new",
                    "error",
                    subject,
                    field.place,
                    struct.location,
                    f"the member {field.type} {field.name} is new",
                    layout,
                    (edit,),
                )
                continue
            number, old = known.pop(field.name)
            after = max(after, number)
            here = (*path, "fields", number)
            if not self.same(struct.namespace, old.type, field.type.canonical):
                yield self.finding(
                    "field-changed",
                    "error",
                    subject,
                    field.place,
                    old.location,
                    f"{subject} is {field.type}, {old.type} in the schema",
                    layout,
                    (Edit("set", FILE, (*here, "type"), field.type.text),),
                )
            if (field.init or "") != "".join((old.init or "").split()):
                yield self.finding(
                    "field-changed",
                    "warning",
                    subject,
                    field.place,
                    old.location,
                    f"{subject} begins as {field.init or 'nothing'}, {old.init or 'nothing'} in the schema",
                    "generated tests may rely on the initial value",
                    (Edit("set", FILE, (*here, "init"), field.init),),
                )
        for _, old in known.values():
            yield self.finding(
                "field-gone",
                "error",
                f"{struct.name}::{old.name}",
                there.place,
                old.location,
                f"{struct.name} has no member {old.name}",
                layout,
                by_hand="take it out of the schema and of the templates that use it",
            )
