"""The files of an InfiniTrain provider: which template makes which file, under which condition, with what context.

A template's path mirrors the path of the file it makes, so most files need no entry here: every `*.j2` below
`templates/infinitrain/` is rendered to the same place under `generated/<vendor>/`, with `{vendor}` and `{ccl}` in
names replaced. The exceptions are data: folders that need a group of the SDK, and those that other modules expand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from fl_gen.render.environment import FileRender, TemplateError, environment_for, render_file
from fl_gen.render.formatter import TreeFormatter
from fl_gen.render.sdk_view import SdkView
from fl_gen.resolve.model import Backend
from fl_gen.schema.name import Name

FRAMEWORK = "infinitrain"
_SUFFIX = ".j2"
# What makes no output by its path: macro libraries, and templates that kernels.py and op_tests.py render from the ops.
_LIBRARIES = ("_macros/", "native/", "scaffold/", "src/kernels/", "tests/test_ops")
_ONCE = "backends/"
MANIFEST_NAME = "manifest.json"
_OUTPUT_NAME = re.compile(r"[A-Za-z0-9_.+-]+(?:/[A-Za-z0-9_.+-]+)*")
# A file whose path contains the key is made only if the SDK has the group.
_NEEDS_GROUP = {"{ccl}": "ccl", "src/ccl/": "ccl"}
# A file whose path contains the key is the strategy for the operation, and made only if the SDK cannot do it itself.
_STRATEGY_FOR = {
    "src/ccl/{ccl}_average.": "ccl.average_op",
    "src/runtime/{vendor}_release_thread.": "event.query",
}
# A file whose path contains the key is made only if the SDK can do the operation.
_NEEDS_OPERATION = {"src/runtime/{vendor}_deferred_release.cc": "event.query"}

MARKER = {
    ".h": "// {}",
    ".cc": "// {}",
    ".txt": "# {}",
    ".cmake": "# {}",
    ".bash": "# {}",
    ".py": "# {}",
    ".yaml": "# {}",
}


@dataclass(frozen=True)
class Rendered:
    """The text of every file: `generated` relative to generated/<vendor>, `once` relative to backends/<vendor>.

    `sources` maps a generated path to (template, schema nodes).
    """

    generated: dict[str, str]
    once: dict[str, str]
    sources: dict[str, tuple[str, tuple[str, ...]]]


def render_infinitrain(
    backend: Backend, roots: Sequence[Path], cache: Path | None = None, formatter: TreeFormatter | None = None
) -> Rendered:
    """Render every file of `backend`. `roots` are template roots, a user's overlays before the shipped one.

    `cache` is a folder of compiled templates, None to compile all of them. `formatter` gets half of the generated files
    while the other half is rendered, and formats them; None leaves them as they are. Raises TemplateError and
    FormatterError.
    """
    trees = tuple(root / FRAMEWORK for root in roots if (root / FRAMEWORK).is_dir())
    environment = environment_for(trees, cache)
    context = base_context(backend)
    generated: dict[str, str] = {}
    sources: dict[str, tuple[str, tuple[str, ...]]] = {}
    once: dict[str, str] = {}
    for file in generated_files(backend, trees):
        merged = FileRender(file.template, file.path, {**context, **file.context}, file.nodes)
        generated[file.path] = mark(render_file(environment, merged), file)
        if formatter is not None:
            formatter.add(file.path, generated[file.path])
        sources[file.path] = (file.template, file.nodes)
    for file in once_renders(backend, trees):
        merged = FileRender(file.template, file.path, {**context, **file.context}, file.nodes)
        once[file.path] = render_file(environment, merged)
    if formatter is not None:
        generated = formatter.finish()
    return Rendered(dict(sorted(generated.items())), dict(sorted(once.items())), sources)


def generated_files(backend: Backend, trees: Sequence[Path]) -> list[FileRender]:
    """Every file below generated/<vendor>. Raises TemplateError when two of them do not go together."""
    from fl_gen.render.kernels import kernel_files
    from fl_gen.render.op_tests import op_test_files

    files = [*tree_files(backend, trees), *kernel_files(backend), *op_test_files(backend)]
    _require_apart(files)
    return files


def once_renders(backend: Backend, trees: Sequence[Path]) -> list[FileRender]:
    """Every file below backends/<vendor> that is made once."""
    from fl_gen.render.kernels import native_files

    return [*once_files(trees), *native_files(backend)]


def base_context(backend: Backend) -> dict[str, Any]:
    """What every template sees."""
    vendor = backend.vendor
    ccl = vendor.groups["ccl"].name if backend.has_group("ccl") else None
    blas = vendor.groups["blas"].name if backend.has_group("blas") else None
    return {
        "v": vendor.name,
        "ccl": Name.of(str(ccl)) if ccl is not None else None,
        "blas": Name.of(str(blas)) if blas is not None else None,
        "sdk": SdkView(backend),
        "fw": backend.framework,
        "vendor": vendor,
        "ops": backend.ops,
    }


def tree_files(backend: Backend, trees: Iterable[Path]) -> list[FileRender]:
    """The templates that mirror their output, for the groups that this SDK has."""
    names = {"vendor": backend.vendor.name.snake}
    if backend.has_group("ccl"):
        names["ccl"] = Name.of(str(backend.vendor.groups["ccl"].name)).snake
    sdk = SdkView(backend)
    found = []
    for template in _templates(trees):
        if template.startswith((*_LIBRARIES, _ONCE)):
            continue
        if any(key in template and not backend.has_group(group) for key, group in _NEEDS_GROUP.items()):
            continue
        if any(key in template and sdk.has(operation) for key, operation in _STRATEGY_FOR.items()):
            continue
        if any(key in template and not sdk.has(operation) for key, operation in _NEEDS_OPERATION.items()):
            continue
        path = template.removesuffix(_SUFFIX)
        for key, value in names.items():
            path = path.replace("{" + key + "}", value)
        if not _OUTPUT_NAME.fullmatch(path):
            raise TemplateError(
                f"{template!r}: this template makes no usable file name\n"
                f"  = letters, digits and _ . + - /, with {{vendor}} and {{ccl}} as placeholders, and then {_SUFFIX}"
            )
        found.append(FileRender(template, path))
    return found


def _require_apart(files: Sequence[FileRender]) -> None:
    """Raises TemplateError when two templates make one path (in any case of letters), or a file and its folder."""
    made: dict[str, FileRender] = {}
    for file in files:
        other = made.setdefault(file.path.lower(), file)
        if other is not file or file.path == MANIFEST_NAME:
            what = "fl-gen's own manifest" if file.path == MANIFEST_NAME else f"{other.path!r} of {other.template}"
            raise TemplateError(f"{file.template}: makes {file.path!r}, which is {what}\n  = rename the template")
    for file in files:
        for parent in PurePosixPath(file.path.lower()).parents:
            if str(parent) in made:
                raise TemplateError(
                    f"{file.template}: makes {file.path!r}, and {made[str(parent)].template} a file of its folder\n"
                    "  = rename one of the templates"
                )


def once_files(trees: Iterable[Path]) -> list[FileRender]:
    """The files that are made once and then belong to people."""
    return [
        FileRender(template, template.removeprefix(_ONCE).removesuffix(_SUFFIX))
        for template in _templates(trees)
        if template.startswith(_ONCE)
    ]


def mark(text: str, file: FileRender) -> str:
    """`text` under a first line that says what made it, for the kinds of file that have comments."""
    style = MARKER.get(PurePosixPath(file.path).suffix)
    if style is None:
        return text
    line = style.format(f"Generated by fl-gen from {FRAMEWORK}/{file.template}; do not edit.")
    if text.startswith("#!"):
        shebang, _, rest = text.partition("\n")
        return f"{shebang}\n{line}\n{rest}"
    return f"{line}\n\n{text}"


def _templates(trees: Iterable[Path]) -> list[str]:
    found = {
        path.relative_to(tree).as_posix() for tree in trees for path in tree.rglob(f"*{_SUFFIX}") if path.is_file()
    }
    return sorted(found)
