"""What a user's template folders lay over the shipped ones: whole templates, files of their own, single blocks.

A template that begins with `{% extends "shipped/<path>" %}` keeps the shipped one and replaces the blocks that it
defines. Whatever would have no effect is refused, for a misspelt name is the likeliest reason: a block that the shipped
template does not have, text outside of blocks, and a path that is nearly one of the shipped ones.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from fl_gen.render.environment import SHIPPED, TemplateError, environment_for
from fl_gen.schema.paths import shown
from fl_gen.schema.suggest import suggestion

if TYPE_CHECKING:
    import jinja2

_SUFFIX = ".j2"
_NEW = "{# new file #}"
_NEAR = 0.84  # from here on a path is a misspelling of another one


@dataclass(frozen=True)
class TemplateOverlay:
    """A file of a template folder: `path` below the framework's folder, `blocks` empty when it is a whole template.

    `replaces` tells whether a shipped template has that path.
    """

    folder: Path
    path: str
    replaces: bool
    blocks: tuple[str, ...]


def template_overlays(trees: Sequence[Path]) -> tuple[TemplateOverlay, ...]:
    """What the template trees (`<root>/<framework>`, the shipped one last) lay over the shipped one, sorted by path.

    Raises TemplateError for what would have no effect.
    """
    shipped = trees[-1]
    known = dict(_files(shipped))
    found: dict[str, TemplateOverlay] = {}
    for tree in trees[:-1]:
        for name, path in _files(tree):
            if name in found or (path.suffix != _SUFFIX and name not in known):
                if path.suffix != _SUFFIX and name + _SUFFIX in known:
                    raise TemplateError(
                        f"{shown(path)}: this lies over nothing: a template ends in {_SUFFIX}\n"
                        f"  = rename it to {path.name}{_SUFFIX}"
                    )
                continue
            if name not in known and path.suffix == _SUFFIX:
                _refuse_misspelt(path, name, known)
            found[name] = TemplateOverlay(tree, name, name in known, _blocks_of(path, trees))
    return tuple(found[name] for name in sorted(found))


def _files(tree: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(tree.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(tree).as_posix(), path


def _refuse_misspelt(path: Path, name: str, known: Mapping[str, Path]) -> None:
    """Raises TemplateError when the path is nearly a shipped one, unless its first line says that it is meant so."""
    if _source(path).lstrip("\ufeff").startswith(_NEW):
        return
    base = PurePosixPath(name).name
    same = [other for other in known if PurePosixPath(other).name == base and base != "CMakeLists.txt.j2"]
    near = same or difflib.get_close_matches(name, [n for n in known if n.endswith(_SUFFIX)], n=1, cutoff=_NEAR)
    if near:
        raise TemplateError(
            f"{shown(path)}: this lies over nothing: no shipped template is {name!r}\n"
            f"  = did you mean '{near[0]}'? If it is to make a file of its own, begin it with {_NEW}"
        )


def _blocks_of(path: Path, trees: Sequence[Path]) -> tuple[str, ...]:
    """The blocks that a template replaces in the one that it extends; none when it extends no template."""
    text = _source(path)
    if "extends" not in text:
        return ()
    import jinja2
    from jinja2 import nodes

    environment = environment_for(tuple(trees))
    try:
        tree = environment.parse(text)
    except jinja2.TemplateSyntaxError:
        return ()  # told, with its line, when the template is rendered
    extends = next(iter(tree.find_all(nodes.Extends)), None)
    if extends is None or not isinstance(extends.template, nodes.Const):
        return ()
    parent = str(extends.template.value)
    known = _known_blocks(environment, parent)
    if known is None:
        names = [SHIPPED + name for name, _ in _files(trees[-1])]
        hint = suggestion(parent, names) or f"write {SHIPPED} and the path of a shipped template"
        raise TemplateError(f"{shown(path)}:{extends.lineno}: there is no template {parent!r}\n  = {hint}")
    own = list(tree.find_all(nodes.Block))
    for block in own:
        if block.name not in known and not _inside(block, own):
            hint = suggestion(block.name, known, "blocks") or "it has none: replace the whole template instead"
            message = f"this lies over nothing: {parent} has no block {block.name!r}"
            raise TemplateError(f"{shown(path)}:{block.lineno}: {message}\n  = {hint}")
    for node in tree.body:
        for part in node.nodes if isinstance(node, nodes.Output) else ():
            if not isinstance(part, nodes.TemplateData) or part.data.strip():
                message = "text outside of blocks is not used in a template that extends another"
                raise TemplateError(
                    f"{shown(path)}:{part.lineno}: {message}\n"
                    f"  = put it into a block of {parent}: {', '.join(sorted(known))}"
                )
    if not own:
        raise TemplateError(
            f"{shown(path)}:{extends.lineno}: this lies over nothing: it replaces no block of {parent}\n"
            f"  = blocks: {', '.join(sorted(known))}"
        )
    return tuple(sorted(block.name for block in own if block.name in known))


def _inside(block: jinja2.nodes.Block, blocks: Sequence[jinja2.nodes.Block]) -> bool:
    """Whether a block stands in another one, which is then its owner."""
    return any(other is not block and block in list(other.find_all(type(block))) for other in blocks)


def _known_blocks(environment: jinja2.Environment, template: str) -> set[str] | None:
    """The blocks of a template and of those that it extends; None when there is none of that name."""
    import jinja2
    from jinja2 import nodes

    found: set[str] = set()
    seen: set[str] = set()
    name: str | None = template
    while name is not None and name not in seen:
        seen.add(name)
        assert environment.loader is not None
        try:
            tree = environment.parse(environment.loader.get_source(environment, name)[0])
        except jinja2.TemplateError:
            return None if name == template else found
        found |= {block.name for block in tree.find_all(nodes.Block)}
        extends = next(iter(tree.find_all(nodes.Extends)), None)
        name = str(extends.template.value) if extends and isinstance(extends.template, nodes.Const) else None
    return found


def _source(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TemplateError(f"{shown(path)}: cannot be read: {error.strerror or error}") from error
