"""The second way to render: the same bytes, and for each of them the place in a template that made it.

Every piece of output is a `str` that carries spans, so nothing is put into the text itself and it cannot differ. Where
a filter of a template makes a new text out of traced ones their places are lost, and the place of the whole expression
stands for them. What an expression asked of the model (bindings, schema nodes) is recorded while it is evaluated;
conditions and loops around a piece are recorded apart, since they decide that it is there, not what it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fl_gen.render.schema_nodes import Node, NodeIndex

_CALLS_KEPT = 20  # places of a chain of calls; a macro that calls itself a thousand times says nothing more


@dataclass(frozen=True, eq=False)
class Origin:
    """What made a piece of text. A tracer makes equal origins once, so that they are compared by identity.

    `part` is the macro or block that `line` of `template` is in, as in `macro run`. `nodes` are what the text says,
    `conditions` what decided that it is there. `via` is the place that called the macro.
    """

    template: str
    line: int
    part: str = ""
    nodes: tuple[Node, ...] = ()
    conditions: tuple[Node, ...] = ()
    via: Origin | None = None

    def chain(self) -> Iterator[Origin]:
        """This place and those that called it, innermost first."""
        place: Origin | None = self
        while place is not None:
            yield place
            place = place.via


@dataclass(frozen=True)
class Span:
    """The characters from `start` up to `stop` of a text have one origin."""

    start: int
    stop: int
    origin: Origin


class Text(str):
    """Output of a template with the origins of its parts."""

    spans: tuple[Span, ...]

    def __new__(cls, value: str, spans: Iterable[Span]) -> Text:
        self = super().__new__(cls, value)
        self.spans = tuple(spans)
        return self

    def __str__(self) -> str:
        """Itself: compiled templates call `str` on everything that they put out, and the spans must survive that."""
        return self


def plain(value: object) -> str:
    """`value` as exactly a `str`."""
    return "".join([str(value)])


def join(pieces: Iterable[Any]) -> str:
    """What a template's pieces make together; the spans of each are kept."""
    texts = [piece if isinstance(piece, str) else str(piece) for piece in pieces]
    spans: list[Span] = []
    at = 0
    for text in texts:
        if isinstance(text, Text):
            spans += [Span(span.start + at, span.stop + at, span.origin) for span in text.spans]
        at += len(text)
    joined = "".join(texts)
    return Text(joined, spans) if spans else joined


@dataclass(frozen=True)
class Site:
    """A place in a template that puts out, tests or assigns. `data` is literal text, `names` what the expression uses
    or the assignment sets, `deciders` the sites of the conditions and loops around it, `elements` the variables of the
    loops around it."""

    template: str
    line: int
    part: str
    names: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    data: str = ""
    deciders: tuple[int, ...] = ()
    elements: tuple[str, ...] = ()


@dataclass
class Frame:
    """An expression that is being evaluated, and what it has asked so far; `inner` is what macros in it have asked."""

    site: Site
    number: int
    uses: dict[Node, None] = field(default_factory=dict)
    inner: dict[Node, None] = field(default_factory=dict)


class Tracer:
    """Collects, while templates are rendered, what each expression asks of the model."""

    def __init__(self) -> None:
        self.sites: list[Site] = []
        self.index: NodeIndex | None = None
        self._frames: list[Frame] = []
        self._variables: dict[tuple[str, str], dict[Node, None]] = {}
        self._outcomes: dict[int, dict[Node, None]] = {}
        self._origins: dict[tuple[object, ...], Origin] = {}

    def add(self, site: Site) -> int:
        self.sites.append(site)
        return len(self.sites) - 1

    def reset(self, template: str) -> None:
        """Forget expressions that were left by an error, and what the variables of `template` were made from before."""
        self._frames.clear()
        for key in [key for key in self._variables if key[0] == template]:
            del self._variables[key]

    def touch(self, node: Node | None) -> None:
        """The expression that is being evaluated used `node`."""
        if node is not None and self._frames:
            self._frames[-1].uses[node] = None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What is asked meanwhile is not what the template's expression asked."""
        frame = Frame(Site("", 0, ""), -1)
        self._frames.append(frame)
        try:
            yield
        finally:
            while self._frames and self._frames.pop() is not frame:
                pass

    @property
    def emitting(self) -> bool:
        """Whether the value of the expression is put out as it is, and neither tested, assigned nor looped over."""
        return bool(self._frames) and not self._frames[-1].site.targets

    @property
    def deciding(self) -> bool:
        """Whether the value of the expression is tested, and neither put out, assigned nor looped over."""
        return bool(self._frames) and self._frames[-1].site.targets == ("",)

    def read(self, owner: object, attribute: str, value: object) -> None:
        """A template read an attribute or an item."""
        if self._frames and self.index is not None:
            for node in self.index.read(owner, attribute, value):
                self.touch(node)

    # -- what compiled templates call ----------------------------------------------------------------------------------

    def begin(self, number: int) -> Frame:
        frame = Frame(self.sites[number], number)
        self._frames.append(frame)
        return frame

    def _end(self, frame: Frame, elements: Sequence[Any], whole: bool = True) -> dict[Node, None]:
        """What the expression used. `whole`: what macros in it used counts as well, for their places are not kept.

        Of the loops around it, whose `elements` these are, a list that knows its elements one by one counts by the one.
        """
        while self._frames and self._frames.pop() is not frame:
            pass
        uses = dict(frame.uses)
        own = zip(frame.site.elements, elements, strict=False)
        known = {name for name, value in own if self.index is not None and self.index.of_value(value)}
        for name in frame.site.names:
            if name not in known:
                uses.update(self._variable(frame.site.template, name))
        everything = {**uses, **frame.inner}
        if self._frames:
            self._frames[-1].inner.update(everything)
        return everything if whole else uses

    def _variable(self, template: str, name: str) -> dict[Node, None]:
        return self._variables.get((template, name), {})

    def emit(self, frame: Frame, value: Any, *elements: Any) -> str:
        known = value.spans if isinstance(value, Text) else ()
        uses = self._end(frame, elements, whole=not known)
        if self.index is not None:
            for node in self.index.of_value(value):
                uses[node] = None
        text = plain(value)
        here = self._origin(frame.site, frame.site.line, uses, elements)
        spans: list[Span] = []
        at = 0
        for span in known:
            if span.start > at:
                spans.append(Span(at, span.start, here))
            spans.append(Span(span.start, span.stop, self._called_from(span.origin, here)))
            at = span.stop
        if at < len(text):
            spans.append(Span(at, len(text), here))
        return Text(text, spans)

    def data(self, number: int, *elements: Any) -> str:
        site = self.sites[number]
        spans = []
        at = 0
        first = self._origin(site, site.line, {}, elements)
        for offset, line in enumerate(site.data.splitlines(keepends=True)):
            place = self._made(site.template, site.line + offset, site.part, first.nodes, first.conditions)
            spans.append(Span(at, at + len(line), place))
            at += len(line)
        return Text(site.data, spans)

    def test(self, frame: Frame, value: Any, *elements: Any) -> Any:
        self._outcomes[frame.number] = self._end(frame, elements)
        for target in frame.site.targets:
            self._variables[frame.site.template, target] = self._outcomes[frame.number]
        return value

    def assign(self, frame: Frame, value: Any, *elements: Any) -> Any:
        uses = self._end(frame, elements)
        if self.index is not None:
            for node in self.index.of_value(value):
                uses[node] = None
        for target in frame.site.targets:
            self._variables[frame.site.template, target] = uses
        return value

    def captured(self, value: Any, number: int) -> Any:
        """The text of a `{% set %}` block: whoever puts it through a filter still learns what it was made from."""
        site = self.sites[number]
        uses: dict[Node, None] = {}
        for span in value.spans if isinstance(value, Text) else ():
            for place in span.origin.chain():
                uses.update(dict.fromkeys(place.nodes))
        for target in site.targets:
            self._variables[site.template, target] = uses
        return value

    def filtered(self, value: Any, number: int, *elements: Any) -> str:
        """The text of a `{% filter %}` block, whose places inside are lost."""
        site, text = self.sites[number], plain(value)
        return Text(text, [Span(0, len(text), self._origin(site, site.line, {}, elements))])

    def _origin(self, site: Site, line: int, uses: dict[Node, None], elements: Sequence[Any]) -> Origin:
        found: dict[Node, None] = {}
        if self.index is not None:
            for node in self.index.of_elements(elements):
                found[node] = None
        found.update(uses)
        decided: dict[Node, None] = {}
        for number in site.deciders:
            decided.update(self._outcomes.get(number, {}))
        return self._made(
            site.template, line, site.part, tuple(found), tuple(node for node in decided if node not in found)
        )

    def _made(self, *parts: Any) -> Origin:
        found = self._origins.get(parts)
        if found is None:
            found = self._origins[parts] = Origin(*parts)
        return found

    def _called_from(self, origin: Origin, caller: Origin) -> Origin:
        """The place `origin` with `caller` behind the outermost of its callers."""
        places = list(origin.chain())
        if len(places) >= _CALLS_KEPT:
            return origin
        result = caller
        for place in reversed(places):
            result = self._made(place.template, place.line, place.part, place.nodes, place.conditions, result)
        return result
