"""The one Jinja environment that every template is rendered in.

Templates read like their output: `StrictUndefined` makes a misspelt name an error instead of an empty string, and
block tags leave no blank lines behind. Logic belongs in Python; the filters here only spell lists and literals.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fl_gen.schema.errors import FlGenError

if TYPE_CHECKING:
    import jinja2


class TemplateError(FlGenError):
    """A template that cannot be rendered. Shipped ones never fail; a user's overlay may."""


@dataclass(frozen=True)
class FileRender:
    """One file to make.

    `template` is relative to the template root, `path` to the output folder of the vendor (POSIX separators).
    `nodes` names the schema nodes that the file was made from, for the manifest and the review.
    """

    template: str
    path: str
    context: Mapping[str, Any] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()


def cxx_string(text: str) -> str:
    """`text` as a C++ string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'"{escaped}"'


def comment(text: str, prefix: str = "// ", width: int = 116) -> str:
    """`text` as a wrapped C++ line comment (without a final newline)."""
    import textwrap

    return "\n".join(
        line
        for paragraph in text.strip().split("\n\n")
        for line in textwrap.wrap(
            " ".join(paragraph.split()), width, initial_indent=prefix, subsequent_indent=prefix, break_long_words=False
        )
    )


def spell(items: Iterable[Any], separator: str = ", ", template: str = "{}") -> str:
    """Each item put into `template`, joined by `separator`."""
    return separator.join(template.format(item) for item in items)


def _make(roots: Sequence[Path]) -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([str(root) for root in roots]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
    )
    environment.filters["cxx_string"] = cxx_string
    environment.filters["comment"] = comment
    environment.filters["spell"] = spell
    return environment


@functools.lru_cache(maxsize=8)
def environment_for(roots: tuple[Path, ...]) -> jinja2.Environment:
    """The environment over template `roots`; a template in an earlier root replaces one in a later root."""
    return _make(roots)


_BLANK_RUNS = re.compile(r"\n{3,}")


def render_file(environment: jinja2.Environment, file: FileRender) -> str:
    """Render one file to text with LF line ends and exactly one final newline.

    Raises TemplateError with template, line and the schema nodes that were being rendered.
    """
    import jinja2

    try:
        text = environment.get_template(file.template).render(file.context)
    except jinja2.TemplateNotFound as error:
        raise TemplateError(f"{file.template}: template not found: {error}") from error
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(f"{error.filename or error.name}:{error.lineno}: {error.message}") from error
    except jinja2.UndefinedError as error:
        where = _template_line(error, file.template)
        nodes = f" while rendering {', '.join(file.nodes)}" if file.nodes else ""
        raise TemplateError(f"{where}: {error.message}{nodes}") from error
    text = text.replace("\r\n", "\n")
    return _BLANK_RUNS.sub("\n\n", text).strip("\n") + "\n"


def _template_line(error: BaseException, template: str) -> str:
    """`template:line` of the innermost frame of `error` that lies in a template."""
    where = template
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.endswith(".j2"):
            where = f"{traceback.tb_frame.f_code.co_filename}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return where
