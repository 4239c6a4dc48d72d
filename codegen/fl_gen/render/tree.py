"""All files of a backend from their templates, whatever the framework: rendered, or taken from an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fl_gen.render.environment import FileRender, environment_for, render_file

if TYPE_CHECKING:
    from fl_gen.render.formatter import TreeFormatter
    from fl_gen.render.incremental import KeptTexts


@dataclass(frozen=True)
class Work:
    """How much of a run was work: its files, how many a template was run for, how many clang-format read."""

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

    The context of each file is all that its template sees. `trees` are the folders of templates, `cache` that of their
    compiled forms. `marked` completes the text of a generated file before it is formatted, by nothing but that text,
    the file's path and its template. `kept` must have been made for the same `formatter`. Raises TemplateError and
    FormatterError.
    """
    if kept is not None:
        kept.open(trees, cache)
    made: set[str] = set()

    def text_of(file: FileRender, key: str) -> str:
        known = kept.text(key, file) if kept is not None else None
        if known is not None:
            return known
        made.add(key)
        return kept.render(key, file) if kept is not None else render_file(environment_for(trees, cache), file)

    texts: dict[str, str] = {}
    for file in generated:
        text = text_of(file, file.path)
        texts[file.path] = marked(text, file) if file.path in made else text
        if formatter is not None and file.path in made:
            formatter.add(file.path, texts[file.path])
    others = {file.path: text_of(file, f"once/{file.path}") for file in once}
    if formatter is not None:
        texts |= formatter.finish()
    if kept is not None:
        for key in made:
            kept.keep(key, others[key.removeprefix("once/")] if key.startswith("once/") else texts[key])
        kept.store()
    work = Work(len(texts) + len(others), len(made), formatter.formatted if formatter is not None else 0)
    return dict(sorted(texts.items())), dict(sorted(others.items())), work
