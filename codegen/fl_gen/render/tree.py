"""All files of a backend from their templates, whatever the framework: rendered, or taken from an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen.render.environment import FileRender, environment_for, render_file

if TYPE_CHECKING:
    from fl_gen.render.formatter import TreeFormatter
    from fl_gen.render.incremental import KeptTexts

_ONCE = "once/"  # before the path of a file that is made once, where both kinds are kept together


@dataclass(frozen=True)
class Work:
    """How much of a run was work: its files, how many a template was run for, how many a formatter read."""

    files: int
    rendered: int
    formatted: int

    @property
    def incremental(self) -> bool:
        """Whether texts of an earlier run were used."""
        return self.rendered < self.files


def render_tree(
    generated: Sequence[FileRender],
    once: Sequence[FileRender],
    trees: tuple[Path, ...],
    marked: Callable[[str, FileRender], str],
    cache: Path | None = None,
    formatter: TreeFormatter | None = None,
    kept: KeptTexts | None = None,
) -> tuple[dict[str, str], dict[str, str], Work]:
    """The texts of `generated` and of `once`, by path and sorted, and how much of that was made now.

    All as for TreeRender. Raises TemplateError and FormatterError.
    """
    tree = TreeRender(trees, marked, cache, formatter, kept)
    tree.generate(generated)
    tree.once(once)
    return tree.finish()


class TreeRender:
    """Makes a tree: `generate` files, as often as there are some, then `once`, then `finish`.

    The context of each file is all that its template sees. `trees` are the folders of templates, `cache` that of their
    compiled forms. `marked` completes the text of a generated file before it is formatted, by nothing but that text,
    the file's path and its template. `kept` must have been made for the same `formatter`. `told` finds in a marked text
    what decides about other files; `found` has that by path, for a text of an earlier run as it was found then.
    """

    def __init__(
        self,
        trees: tuple[Path, ...],
        marked: Callable[[str, FileRender], str],
        cache: Path | None = None,
        formatter: TreeFormatter | None = None,
        kept: KeptTexts | None = None,
        told: Callable[[str, str], Sequence[str]] | None = None,
    ) -> None:
        self._trees, self._cache = trees, cache
        self._marked, self._told = marked, told
        self._formatter, self._kept = formatter, kept
        self._texts: dict[str, str] = {}
        self._others: dict[str, str] = {}
        self._made: set[str] = set()
        self.found: dict[str, tuple[str, ...]] = {}
        if kept is not None:
            kept.open(trees, cache)

    def generate(self, files: Iterable[FileRender]) -> None:
        """Render files, or take their texts. Raises TemplateError."""
        for file in files:
            text = self._text(file, file.path)
            if file.path in self._made:
                text = self._marked(text, file)
                if self._formatter is not None:
                    self._formatter.add(file.path, text)
                self.found[file.path] = tuple(self._told(file.path, text)) if self._told is not None else ()
            elif self._kept is not None:
                self.found[file.path] = self._kept.found(file.path)
            self._texts[file.path] = text

    def once(self, files: Iterable[FileRender]) -> None:
        """Render files that are made once, which nothing marks or formats. Raises TemplateError."""
        for file in files:
            self._others[file.path] = self._text(file, f"{_ONCE}{file.path}")

    def finish(self) -> tuple[dict[str, str], dict[str, str], Work]:
        """The texts of both, by path and sorted, and how much of that was made now. Raises FormatterError."""
        texts, others, kept = self._texts, self._others, self._kept
        if self._formatter is not None:
            texts |= self._formatter.finish()
        if kept is not None:
            for key in self._made:
                name = key.removeprefix(_ONCE)
                kept.keep(key, others[name] if key.startswith(_ONCE) else texts[key], self.found.get(key, ()))
            kept.store()
        formatted = self._formatter.formatted if self._formatter is not None else 0
        work = Work(len(texts) + len(others), len(self._made), formatted)
        return dict(sorted(texts.items())), dict(sorted(others.items())), work

    def _text(self, file: FileRender, key: str) -> str:
        known = self._kept.text(key, file) if self._kept is not None else None
        if known is not None:
            return known
        self._made.add(key)
        if self._kept is not None:
            return self._kept.render(key, file)
        return render_file(environment_for(self._trees, self._cache), file)
