"""What a rendering reads of the model, recorded while it reads, and measured again on another model.

A template sees stand-ins of the records in its context: instances of subclasses that answer as the records do and note
which attributes were asked for and which methods were called with what. Values that a template can print or compare
(texts, numbers, lists of them) are handed out as they are, and count whole. What was noted of one element of a list
counts for all of them, so notes stay small and more is compared than was read, never less. Two models that agree in
everything noted give the same text, since a rendering can only learn of a difference by reading it.
"""

from __future__ import annotations

import hashlib
import json
import marshal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from fl_gen.schema.values import Ref, Table

_LEAVES = frozenset((str, bool, int, float, type(None)))
_FUNCTIONS = (MethodType, FunctionType, BuiltinFunctionType)
_RECORDS: dict[type, bool] = {}
_STAND_INS: dict[type, type] = {}
_BUILT_IN = (str, bytes, int, float, dict, list, tuple, set, frozenset, BaseException, type)


class Reads:
    """What was read of one value: its attributes, the results of its call by arguments, its elements."""

    __slots__ = ("_plan", "attributes", "calls", "elements")

    def __init__(self) -> None:
        self.attributes: dict[str, Reads] = {}
        self.calls: dict[str, Reads] = {}
        self.elements: Reads | None = None
        self._plan: Plan | None = None

    @property
    def plan(self) -> Plan:
        """The attributes in a fixed order, each with its calls. Ask only when all is recorded."""
        if self._plan is None:
            self._plan = tuple(
                (name, noted, tuple(sorted(noted.calls))) for name, noted in sorted(self.attributes.items())
            )
        return self._plan

    def attribute(self, name: str) -> Reads:
        found = self.attributes.get(name)
        if found is None:
            found = self.attributes[name] = Reads()
        return found

    def call(self, arguments: str) -> Reads:
        found = self.calls.get(arguments)
        if found is None:
            found = self.calls[arguments] = Reads()
        return found

    def element(self) -> Reads:
        if self.elements is None:
            self.elements = Reads()
        return self.elements

    def to_json(self) -> list[Any]:
        """Lists and maps that JSON can hold."""
        return [
            {name: reads.to_json() for name, reads in self.attributes.items()},
            {arguments: reads.to_json() for arguments, reads in self.calls.items()},
            None if self.elements is None else self.elements.to_json(),
        ]

    @classmethod
    def from_json(cls, value: Any) -> Reads:
        """The reads that `to_json` gave. Raises ValueError, TypeError or AttributeError for anything else."""
        reads = cls()
        attributes, calls, elements = value
        reads.attributes = {str(name): cls.from_json(one) for name, one in attributes.items()}
        reads.calls = {str(arguments): cls.from_json(one) for arguments, one in calls.items()}
        reads.elements = None if elements is None else cls.from_json(elements)
        return reads


Plan = tuple[tuple[str, Reads, tuple[str, ...]], ...]
NOTHING = Reads()


def is_record(kind: type) -> bool:
    """Whether values of a type are known by their attributes: the model's own classes."""
    found = _RECORDS.get(kind)
    if found is None:
        own = kind.__module__.startswith("fl_gen.") or is_dataclass(kind)
        found = _RECORDS[kind] = own and not issubclass(kind, _BUILT_IN)
    return found


def _arguments(args: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """The arguments of a call as JSON; None when there is one that JSON does not hold exactly."""
    if all(type(one) in _LEAVES or isinstance(one, Ref) for one in (*args, *named.values())):
        return json.dumps([args, named], sort_keys=True)
    return None


# -- recording --------------------------------------------------------------------------------------------------------


class Recorder:
    """Records what one rendering reads of `context`. `fault` says what it met that cannot be measured again,
    `by_identity` that a template asked whether two values are one, which stand-ins are not."""

    def __init__(self, context: Mapping[str, Any]) -> None:
        self.reads = Reads()
        self.fault: str | None = None
        self.by_identity = False
        self._context = context
        self._roots: dict[str, Any] = {}

    def root(self, name: str, value: Any) -> Any:
        """What a template sees as `name`, whose value is `value`: that of the context, or one of the template's own."""
        if name not in self._context:
            self.reads.attribute(name)  # a context that has the name would be seen
            return value
        if value is not self._context[name]:
            return value
        if name not in self._roots:
            self._roots[name] = self.stand_in(value, self.reads.attribute(name))
        return self._roots[name]

    def stand_in(self, value: Any, reads: Reads) -> Any:
        """`value`, or what notes in `reads` how it is used."""
        kind = type(value)
        if kind in _LEAVES:
            return value
        if kind is tuple or kind is list:
            if _plain(value):
                return value
            element = reads.element()
            return kind([self.stand_in(item, element) for item in value])
        if kind is dict:
            return value if _plain(value) else self._map(value, reads)
        if kind is Table:
            return _Table(self._map(value, reads), value, reads, self)
        if kind is Ref:
            return _Ref(value, reads, self)
        if "_fl" in getattr(kind, "__slots__", ()):
            return value  # one already
        if isinstance(value, _FUNCTIONS):
            return self._function(value, reads)
        if is_record(kind):
            made = object.__new__(_stand_in_class(kind))
            object.__setattr__(made, "_fl", (value, reads, self))
            return made
        self.fault = f"a {kind.__qualname__}"
        return value

    def _map(self, value: dict[Any, Any], reads: Reads) -> dict[Any, Any]:
        if not all(type(key) is str for key in value):
            self.fault = "a map whose keys are no plain texts"
        element = reads.element()
        return {key: self.stand_in(item, element) for key, item in value.items()}

    def _function(self, function: Callable[..., Any], reads: Reads) -> Callable[..., Any]:
        def called(*args: Any, **named: Any) -> Any:
            arguments = _arguments(args, named)
            if arguments is None:
                self.fault = f"an argument of {getattr(function, '__qualname__', function)}"
                return function(*args, **named)
            noted = reads.call(arguments)
            return self.stand_in(function(*args, **named), noted)

        return called


def _plain(value: Any) -> bool:
    """Whether a value holds nothing but leaves."""
    kind = type(value)
    if kind in _LEAVES:
        return True
    if kind is tuple or kind is list:
        return all(map(_plain, value))
    return kind is dict and all(type(key) is str for key in value) and all(map(_plain, value.values()))


def _read(self: Any, name: str) -> Any:
    value, reads, recorder = object.__getattribute__(self, "_fl")
    noted = reads.attributes.get(name)
    if noted is None:
        if name.startswith("_"):
            if name == "__class__":
                return type(value)
            recorder.fault = f"{type(value).__qualname__}.{name}"
            return getattr(value, name)
        noted = reads.attribute(name)
    result = getattr(value, name)
    return result if type(result) in _LEAVES else recorder.stand_in(result, noted)


def _stand_in_class(kind: type) -> Any:
    """A subclass whose instances answer every question as the value that they stand for, and note it."""
    found = _STAND_INS.get(kind)
    if found is None:
        namespace = {
            "__slots__": ("_fl",),
            "__getattribute__": _read,
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
        }
        found = _STAND_INS[kind] = type(kind.__name__, (kind,), namespace)
    return found


class _Ref(Ref):
    """A located text: the text is a leaf, the place is noted when it is asked for."""

    __slots__ = ("_fl",)
    _fl: tuple[Ref, Reads, Recorder]

    def __new__(cls, value: Ref, reads: Reads, recorder: Recorder) -> _Ref:
        self = str.__new__(cls, value)
        self._fl = (value, reads, recorder)
        return self

    @property
    def location(self) -> Any:  # type: ignore[override]
        value, reads, recorder = self._fl
        return recorder.stand_in(value.location, reads.attribute("location"))


class _Table(Table[Any]):
    """A map of a schema file: its keys and values count, the places are noted when they are asked for."""

    __slots__ = ("_fl",)

    def __init__(self, items: Mapping[str, Any], value: Table[Any], reads: Reads, recorder: Recorder) -> None:
        dict.__init__(self, items)
        self._fl = (value, reads, recorder)

    @property
    def location(self) -> Any:  # type: ignore[override]
        value, reads, recorder = self._fl
        return recorder.stand_in(value.location, reads.attribute("location"))

    @property
    def location_of(self) -> Any:
        value, reads, recorder = self._fl
        return recorder.stand_in(value.location_of, reads.attribute("location_of"))


# -- measuring --------------------------------------------------------------------------------------------------------


class Unmeasurable(Exception):
    """A value that has no fixed content."""


class Measure:
    """Digests of what was read, over one model. The result of a call is computed once."""

    def __init__(self) -> None:
        self._results: dict[tuple[int, str, str], tuple[Any, Any]] = {}

    def digest(self, reads: Reads, context: Mapping[str, Any]) -> str:
        """A digest of all that `reads` noted of a context. Raises Unmeasurable."""
        out: list[Any] = []
        for name, noted, _ in reads.plan:
            out.append(name)
            out.append(name in context)
            if name in context:
                self._feed(context[name], noted, out)
        # Version 2 of the format depends on nothing but the content, and tells 1 from True and from 1.0.
        return hashlib.sha256(marshal.dumps(out, 2)).hexdigest()

    def _feed(self, value: Any, reads: Reads, out: list[Any]) -> None:
        """Append the content of a value as far as it was read; what comes first always says how to read the rest."""
        kind = type(value)
        if kind in _LEAVES:
            out.append(value)
            return
        if kind is tuple or kind is list:
            out.append((kind.__name__, len(value)))
            self._feed_elements(value, reads.elements or NOTHING, out)
        elif kind is dict or kind is Table:
            if not all(type(key) is str for key in value):
                raise Unmeasurable("a map whose keys are no plain texts")
            out.append((kind.__name__, list(value)))
            self._feed_elements(value.values(), reads.elements or NOTHING, out)
        elif kind is Ref:
            out.append(("Ref", str(value)))
        elif is_record(kind):
            out.append((kind.__module__, kind.__qualname__))
        else:
            raise Unmeasurable(kind.__qualname__)
        if reads.attributes:
            self._feed_attributes(value, reads.plan, out)

    def _feed_elements(self, values: Iterable[Any], reads: Reads, out: list[Any]) -> None:
        plan = reads.plan
        for value in values:
            kind = type(value)
            if kind in _LEAVES:
                out.append(value)
            elif plan and is_record(kind):
                out.append((kind.__module__, kind.__qualname__))
                self._feed_attributes(value, plan, out)
            else:
                self._feed(value, reads, out)

    def _feed_attributes(self, value: Any, plan: Plan, out: list[Any]) -> None:
        for name, noted, calls in plan:
            out.append(name)
            try:
                result = getattr(value, name)
            except Exception as error:  # a template that met this did not go on, so its kind is all there is to know
                out.append(("raised", type(error).__qualname__))
                continue
            if type(result) in _LEAVES:
                out.append(result)
            elif isinstance(result, _FUNCTIONS):
                out.append(("function",))
            else:
                self._feed(result, noted, out)
            for arguments in calls:
                out.append(arguments)
                self._feed(self._called(value, name, arguments), noted.calls[arguments], out)

    def _called(self, value: Any, name: str, arguments: str) -> Any:
        """What a method gives; of one that raises, how."""
        key = (id(value), name, arguments)
        found = self._results.get(key)
        if found is None:
            try:
                args, named = json.loads(arguments)
                result = getattr(value, name)(*args, **named)
            except Exception as error:
                result = ("raised", type(error).__qualname__)
            found = self._results[key] = (value, result)  # with `value`, whose id must stay its own
        return found[1]


def closure(roots: Iterable[str], edges: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """`roots` and everything that can be reached from them, sorted."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += edges.get(name, ())
    return tuple(sorted(found))
