"""The one Jinja environment that every template is rendered in.

Templates read like their output: `StrictUndefined` makes a misspelt name an error instead of an empty string, and
block tags leave no blank lines behind. Logic belongs in Python; the filters here only spell lists and literals.

A template of a person's overlay is text to be filled and not a program: with an overlay everything runs in Jinja's
sandbox (which costs a third of the time, so the shipped templates alone do without it), within the limits of `limits`,
and no file outside the roots is read. Whatever goes wrong in a template is reported at its line.
"""

from __future__ import annotations

import functools
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fl_gen.render.limits import CHARACTERS, SECONDS, TooSlow, limited
from fl_gen.schema.errors import FlGenError
from fl_gen.schema.paths import data_dir

if TYPE_CHECKING:
    from types import TracebackType

    import jinja2


SHIPPED = "shipped/"  # how an overlay names a shipped template that it extends, below an overlay of that path


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


_MAX_REPEAT = 1 << 20  # elements that `*` may make in a template: no file of ours is as long


def build(
    roots: Sequence[Path],
    cache: Path | None,
    adapted: Callable[[type[jinja2.Environment]], type[jinja2.Environment]] | None = None,
) -> jinja2.Environment:
    """A new environment over template `roots`. `adapted` makes another kind, whose code must not be in `cache`."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from fl_gen.render.bytecode import TemplateCache

    class Sandbox(ImmutableSandboxedEnvironment):
        """No access to Python's inside, no changes to the model, no unbounded memory by one operator."""

        intercepted_binops = frozenset(["*", "**"])

        def call_binop(self, context: jinja2.runtime.Context, operator: str, left: Any, right: Any) -> Any:
            if operator == "**":
                raise TypeError("templates have no '**'")
            for sequence, count in ((left, right), (right, left)):
                if isinstance(count, int) and hasattr(sequence, "__len__") and len(sequence) * count > _MAX_REPEAT:
                    raise ValueError(f"'*' makes more than {_MAX_REPEAT} elements")
            return super().call_binop(context, operator, left, right)

    class Loader(jinja2.FileSystemLoader):
        """Templates of the roots only: a symbolic link may not lead out, and what is not a file is not opened."""

        def get_source(self, environment: jinja2.Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
            if template.startswith(SHIPPED):
                last = jinja2.FileSystemLoader(self.searchpath[-1])
                return last.get_source(environment, template[len(SHIPPED) :])
            for root in self.searchpath:
                path = os.path.join(root, *template.split("/"))
                if os.path.lexists(path):
                    _require_inside(path, root)
                    break
            return super().get_source(environment, template)

    shipped = data_dir() / "templates"
    trusted = all(root == shipped or shipped in root.parents for root in roots)
    kind = jinja2.Environment if trusted else Sandbox
    environment = (kind if adapted is None else adapted(kind))(
        loader=(jinja2.FileSystemLoader if trusted else Loader)([str(root) for root in roots]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        auto_reload=False,
        optimized=False,  # folding constants costs more than it saves: each template runs a few times at most
        bytecode_cache=TemplateCache(cache, Path(__file__), not trusted) if cache is not None else None,
        cache_size=-1,
    )
    del environment.filters["random"], environment.globals["lipsum"]  # equal inputs give equal bytes
    environment.filters["cxx_string"] = cxx_string
    environment.filters["comment"] = comment
    environment.filters["spell"] = spell
    return environment


def _require_inside(path: str, root: str) -> None:
    """Raises TemplateError for a template that is no regular file or, by links, lies outside its root."""
    real = os.path.realpath(path)
    if os.path.commonpath([real, os.path.realpath(root)]) != os.path.realpath(root):
        raise TemplateError(f"{path}: the link leads out of the template folder: copy the file there instead")
    try:
        regular = stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        raise TemplateError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not regular:
        raise TemplateError(f"{path}: a template must be a regular file")


@functools.lru_cache(maxsize=8)
def environment_for(roots: tuple[Path, ...], cache: Path | None = None) -> jinja2.Environment:
    """The environment over template `roots`; a template in an earlier root replaces one in a later root.

    `cache` is the folder of compiled templates, None to compile them anew.
    """
    return build(roots, cache)


# Control characters, and halves of surrogate pairs, which no encoding can write.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
_ADDRESS = re.compile(r"<[^<>\n]{1,200} at 0x[0-9a-fA-F]{6,16}>")
_BLANK_RUNS = re.compile(r"\n{3,}")


def render_file(environment: jinja2.Environment, file: FileRender) -> str:
    """Render one file to text with LF line ends and exactly one final newline.

    Raises TemplateError with template, line and the schema nodes that were being rendered.
    """
    return tidied(render_text(environment, file), file)


def render_text(environment: jinja2.Environment, file: FileRender) -> str:
    """What the template puts out, as it is. Raises TemplateError."""
    import jinja2

    nodes = f" while rendering {', '.join(file.nodes[:3])}" if file.nodes else ""
    try:
        if not environment.sandboxed:
            return environment.get_template(file.template).render(file.context)
        with limited():
            text = environment.get_template(file.template).render(file.context)
    except FlGenError:
        raise
    except TooSlow as error:
        where = _template_line(error, file.template)
        raise TemplateError(f"{where}: the template takes longer than {SECONDS:.0f} seconds{nodes}") from error
    except jinja2.TemplateNotFound as error:
        raise TemplateError(f"{_template_line(error, file.template)}: template not found: {error.message}") from error
    except jinja2.TemplateSyntaxError as error:
        raise TemplateError(f"{error.filename or error.name}:{error.lineno}: {error.message}") from error
    except jinja2.TemplateError as error:  # undefined names, and what the sandbox refuses
        raise TemplateError(f"{_template_line(error, file.template)}: {error.message}{nodes}") from error
    except UnicodeDecodeError as error:
        raise TemplateError(f"{file.template}: a template or one that it includes is not UTF-8") from error
    except RecursionError as error:
        where = _template_line(error, file.template)
        raise TemplateError(f"{where}: the template includes or calls itself without end{nodes}") from error
    except MemoryError as error:
        raise TemplateError(f"{_template_line(error, file.template)}: the template needs too much memory") from error
    except Exception as error:  # whatever a template's expression can raise
        what = f"no {error} here" if isinstance(error, KeyError) else f"{error} ({type(error).__name__})"
        raise TemplateError(f"{_template_line(error, file.template)}: {what}{nodes}") from error
    if len(text) > CHARACTERS:
        raise TemplateError(
            f"{file.template}: makes more than {CHARACTERS >> 20} MiB of text, too much for a source file"
        )
    if (address := _ADDRESS.search(text)) is not None:
        line = text.count("\n", 0, address.start()) + 1
        raise TemplateError(
            f"{file.template}: prints an object and its place in memory, which is another in each run "
            f"(line {line}: {address.group()})"
        )
    return text


def tidied(text: str, file: FileRender) -> str:
    """What a template put out, with LF, no runs of blank lines and one final newline.

    Raises TemplateError for a character that no source file may hold.
    """
    # Most texts hold nothing but what can be printed, which Python knows ten times faster than an expression tells.
    plain = text.replace("\n", "").replace("\t", "").isprintable()
    found = None if plain else _FORBIDDEN.search(text)
    if found is not None:
        code = f"U+{ord(found.group()):04X}"
        line = text.count("\n", 0, found.start()) + 1
        raise TemplateError(f"{file.template}: makes the character {code}, which no source file may hold (line {line})")
    text = text.replace("\r\n", "\n")
    if "\n\n\n" in text:
        text = _BLANK_RUNS.sub("\n\n", text)
    return text.strip("\n") + "\n"


def _template_line(error: BaseException, template: str) -> str:
    """`template:line` of the innermost frame of `error` that lies in a template."""
    where = template
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.endswith(".j2"):
            where = f"{traceback.tb_frame.f_code.co_filename}:{_line_of(traceback)}"
        traceback = traceback.tb_next
    return where


def _line_of(traceback: TracebackType) -> int:
    """The template's line; a signal can come at an instruction that belongs to none, and then it is the one before."""
    code, line = traceback.tb_frame.f_code, 1
    for start, _, number in code.co_lines():
        if start <= traceback.tb_lasti and number is not None:
            line = number
    # Jinja puts the template's lines into a traceback that it sees; TooSlow goes by it.
    compiled = traceback.tb_frame.f_globals.get("__jinja_template__")
    return compiled.get_corresponding_lineno(line) if compiled is not None else traceback.tb_lineno or line
