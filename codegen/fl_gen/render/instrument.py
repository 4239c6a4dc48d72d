"""Templates that say where their output comes from: what `tracing` needs, put into their trees after parsing.

A template is parsed as always; then every piece of output, condition, loop and assignment in its tree is wrapped in a
call that returns what it was given. Only environments made here compile templates in this way, always anew: cached code
of the other kind is never met.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.runtime import Context

from fl_gen.render.environment import build
from fl_gen.render.tracing import Site, Tracer, join

# Names of filters that no template can spell.
_BEGIN, _EMIT, _DATA, _TEST, _ASSIGN, _CAPTURED, _FILTERED = (
    f"fl-gen:{name}" for name in ("begin", "emit", "data", "test", "assign", "captured", "filtered")
)


class _Instrument:
    """Wraps what a parsed template puts out, tests and assigns."""

    def __init__(self, tracer: Tracer, template: str) -> None:
        self._tracer = tracer
        self._template = template

    def body(self, body: list[nodes.Node], scope: _Scope) -> list[nodes.Node]:
        result: list[nodes.Node] = []
        for node in body:
            self._statement(node, scope)
            result.append(node)
            if isinstance(node, nodes.AssignBlock) and isinstance(node.target, nodes.Name):
                name = node.target.name
                site = self._site(node.lineno, scope, targets=(name,))
                value = _filter(_CAPTURED, nodes.Name(name, "load"), nodes.Const(site))
                result.append(nodes.Assign(nodes.Name(name, "store"), value, lineno=node.lineno))
        return result

    def _statement(self, node: nodes.Node, scope: _Scope) -> None:
        if isinstance(node, nodes.Output):
            node.nodes = [self._output(child, scope) for child in node.nodes]
        elif isinstance(node, nodes.If):
            self._if(node, scope)
        elif isinstance(node, nodes.For):
            targets = _stored(node.target)
            number, node.iter = self._wrapped(_TEST, node.iter, scope, targets)
            inner = scope.inside(number)
            node.body = self.body(node.body, replace(inner, elements=(*scope.elements, *targets)))
            node.else_ = self.body(node.else_, inner)
        elif isinstance(node, nodes.Assign):
            targets = _stored(node.target)
            _, node.node = self._wrapped(_ASSIGN, node.node, scope, targets)
        elif isinstance(node, nodes.Macro):
            node.body = self.body(node.body, _Scope(f"macro {node.name}"))
        elif isinstance(node, nodes.Block):
            node.body = self.body(node.body, _Scope(f"block {node.name}"))
        elif isinstance(node, nodes.FilterBlock):
            site = nodes.Const(self._site(node.lineno, scope))
            node.body = self.body(node.body, scope)
            names = [nodes.Name(name, "load") for name in scope.elements]
            node.filter = _filter(_FILTERED, node.filter, site, *names)
        else:
            for name in ("body", "else_"):
                if isinstance(getattr(node, name, None), list):
                    setattr(node, name, self.body(getattr(node, name), scope))

    def _if(self, node: nodes.If, scope: _Scope) -> None:
        for branch in (node, *node.elif_):
            number, branch.test = self._wrapped(_TEST, branch.test, scope, ("",))
            scope = scope.inside(number)
            branch.body = self.body(branch.body, scope)
        node.else_ = self.body(node.else_, scope)

    def _output(self, node: nodes.Expr, scope: _Scope) -> nodes.Expr:
        elements = [nodes.Name(name, "load") for name in scope.elements]
        if isinstance(node, nodes.TemplateData):
            data = nodes.Const(self._site(node.lineno, scope, data=node.data))
            return _at(node, _filter(_DATA, data, *elements))
        site = nodes.Const(self._site(node.lineno, scope, names=_loaded(node)))
        return _at(node, _filter(_EMIT, _filter(_BEGIN, site), node, *elements))

    def _wrapped(self, kind: str, node: nodes.Node, scope: _Scope, targets: tuple[str, ...]) -> tuple[int, nodes.Expr]:
        number = self._site(node.lineno, scope, names=_loaded(node), targets=targets or ("",))
        elements = [nodes.Name(name, "load") for name in scope.elements]
        return number, _at(node, _filter(kind, _filter(_BEGIN, nodes.Const(number)), node, *elements))

    def _site(self, line: int, scope: _Scope, **rest: Any) -> int:
        site = Site(self._template, line, scope.part, deciders=scope.deciders, elements=scope.elements, **rest)
        return self._tracer.add(site)


@dataclass(frozen=True)
class _Scope:
    part: str = ""
    deciders: tuple[int, ...] = ()
    elements: tuple[str, ...] = ()

    def inside(self, decider: int) -> _Scope:
        return replace(self, deciders=(*self.deciders, decider))


def _filter(name: str, node: Any, *arguments: nodes.Node) -> nodes.Filter:
    return nodes.Filter(node, name, [*arguments], [], None, None)


def _at(place: nodes.Node, made: nodes.Filter) -> nodes.Filter:
    """`made` at the line of `place`, so that what goes wrong in it is told there."""
    made.lineno = place.lineno
    return made


def _loaded(node: nodes.Node) -> tuple[str, ...]:
    own = [node] if isinstance(node, nodes.Name) else []
    return tuple(dict.fromkeys(name.name for name in (*own, *node.find_all(nodes.Name)) if name.ctx == "load"))


def _stored(node: nodes.Node) -> tuple[str, ...]:
    own = [node] if isinstance(node, nodes.Name) else []
    found = tuple(dict.fromkeys(name.name for name in (*own, *node.find_all(nodes.Name))))
    return found or ((node.name,) if isinstance(node, nodes.NSRef) else ())


def traced_environment(roots: tuple[Path, ...]) -> tuple[jinja2.Environment, Tracer]:
    """An environment over template `roots` that gives `Text`, and the tracer that it reports to."""
    tracer = Tracer()

    def adapted(base: type[jinja2.Environment]) -> type[jinja2.Environment]:
        class Traced(base):  # type: ignore[misc, valid-type]
            concat = staticmethod(join)

            def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
                tree: nodes.Template = super()._parse(source, name, filename)
                tree.body = _Instrument(tracer, name or filename or "").body(tree.body, _Scope())
                _complete(tree, 1)
                tree.set_environment(self)
                return tree

            def getattr(self, obj: Any, attribute: str) -> Any:
                value = super().getattr(obj, attribute)
                tracer.read(obj, attribute, value)
                return value

            def getitem(self, obj: Any, argument: Any) -> Any:
                value = super().getitem(obj, argument)
                tracer.read(obj, str(argument), value)
                return value

        return Traced

    environment = build(roots, None, adapted)
    functions: dict[str, Callable[..., Any]] = {
        _BEGIN: tracer.begin, _EMIT: tracer.emit, _DATA: tracer.data, _TEST: tracer.test, _ASSIGN: tracer.assign,
        _CAPTURED: tracer.captured, _FILTERED: tracer.filtered,
    }  # fmt: skip
    for name, function in functions.items():
        environment.filters[name] = _never_constant(function)
    return environment, tracer


def _never_constant(function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose calls no compiler folds away."""

    @jinja2.pass_context
    def call(context: Context, *arguments: Any) -> Any:
        return function(*arguments)

    return call


def _complete(node: nodes.Node, line: int) -> None:
    """Gives nodes that were made here the line of what they stand in."""
    own: int | None = node.lineno  # None in a node that no parser made
    node.lineno = line if own is None else own
    for child in node.iter_child_nodes():
        _complete(child, node.lineno)
