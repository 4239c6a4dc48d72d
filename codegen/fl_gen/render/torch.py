"""The files of a PyTorch package: which template makes which file, under which condition, with what context.

As for InfiniTrain, a template's path mirrors the path of the file it makes: every `*.j2` below `templates/torch/` is
rendered to the same place under `generated/torch_<vendor>/`, with `{vendor}` and `{ccl}` in names replaced. The
exceptions are data: what needs a group or an operation of the SDK, or a feature of PyTorch, and what stands for each
shard of a list of ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fl_gen.render.environment import FileRender, TemplateError, environment_for, render_file
from fl_gen.render.formatter import TreeFormatter
from fl_gen.render.infinitrain import OUTPUT_NAME, Rendered, base_context, mark, require_apart, templates_of
from fl_gen.render.python_format import format_python
from fl_gen.render.sdk_view import SdkView
from fl_gen.render.torch_view import TorchView
from fl_gen.resolve.model import Backend
from fl_gen.schema.name import Name

FRAMEWORK = "torch"
_SUFFIX = ".j2"
# What makes no output by its path: macro libraries, and what people ask for one by one.
_LIBRARIES = ("_macros/", "scaffold/")
_ONCE = "backends/"
# A file whose path contains the key is made only if the SDK has the group.
_NEEDS_GROUP = {"{ccl}": "ccl", "csrc/distributed/": "ccl", "module_distributed": "ccl", "/distributed.py": "ccl"}
_NEEDS_GROUP |= {"tests/test_distributed": "ccl"}
# A file whose path contains the key is made only if one of these operations of op libraries can be called.
_NEEDS_ONE_OF = {"csrc/aten/library.": ("library.gemm", "library.cast")}
# A file whose path contains the key is made once for each shard of that list of ops, with `shard` in its context.
_SHARDED = {"{shard}": "fallback_shards"}


def render_torch(
    backend: Backend,
    torch: TorchView,
    roots: Sequence[Path],
    cache: Path | None = None,
    formatter: TreeFormatter | None = None,
    python_cache: Path | None = None,
) -> Rendered:
    """Render every file of `backend`. `roots` are template roots, a user's overlays before the shipped one.

    `formatter` formats the C++ and None leaves all files, Python too, as the templates make them; `python_cache` is
    where formatted Python is kept. Raises TemplateError and FormatterError.
    """
    trees = tuple(root / FRAMEWORK for root in roots if (root / FRAMEWORK).is_dir())
    environment = environment_for(trees, cache)
    context = torch_context(backend, torch)
    generated: dict[str, str] = {}
    sources: dict[str, tuple[str, tuple[str, ...]]] = {}
    for file in torch_files(backend, torch, trees):
        merged = FileRender(file.template, file.path, {**context, **file.context}, file.nodes)
        generated[file.path] = mark(render_file(environment, merged), file, FRAMEWORK)
        if formatter is not None:
            formatter.add(file.path, generated[file.path])
        sources[file.path] = (file.template, file.nodes)
    once: dict[str, str] = {}
    for file in _once_files(trees):
        merged = FileRender(file.template, file.path, {**context, **file.context}, file.nodes)
        once[file.path] = render_file(environment, merged)
    if formatter is not None:
        python = format_python({path: generated[path] for path in generated if path.endswith(".py")}, python_cache)
        generated = {**formatter.finish(), **python}
    return Rendered(dict(sorted(generated.items())), dict(sorted(once.items())), sources)


def torch_context(backend: Backend, torch: TorchView) -> dict[str, Any]:
    """What every template sees."""
    context = base_context(backend)
    del context["fw"], context["ops"]
    return {**context, "torch": torch}


def torch_files(backend: Backend, torch: TorchView, trees: Iterable[Path]) -> list[FileRender]:
    """Every file below generated/torch_<vendor>. Raises TemplateError when two of them do not go together."""
    names = {"vendor": backend.vendor.name.snake}
    if backend.has_group("ccl"):
        names["ccl"] = Name.of(str(backend.vendor.groups["ccl"].name)).snake
    sdk = SdkView(backend)
    found = []
    for template in templates_of(trees):
        if template.startswith((*_LIBRARIES, _ONCE)) or not _wanted(template, backend, sdk):
            continue
        path = template.removesuffix(_SUFFIX)
        for key, value in names.items():
            path = path.replace("{" + key + "}", value)
        for file in _instances(template, path, torch):
            if not OUTPUT_NAME.fullmatch(file.path):
                raise TemplateError(
                    f"{template!r}: this template makes no usable file name\n"
                    "  = letters, digits and _ . + - /, with {vendor}, {ccl} and {shard} as placeholders, and then "
                    f"{_SUFFIX}"
                )
            found.append(file)
    require_apart(found)
    return found


def _wanted(template: str, backend: Backend, sdk: SdkView) -> bool:
    if any(key in template and not backend.has_group(group) for key, group in _NEEDS_GROUP.items()):
        return False
    return not any(
        key in template and not any(sdk.has(operation) for operation in operations)
        for key, operations in _NEEDS_ONE_OF.items()
    )


def _instances(template: str, path: str, torch: TorchView) -> list[FileRender]:
    """The files that one template makes: one, or one for each shard of a list."""
    for key, shards in _SHARDED.items():
        if key in path:
            lists: Sequence[Any] = getattr(torch, shards)
            return [
                FileRender(template, path.replace(key, str(number)), {"shard": shard, "number": number})
                for number, shard in enumerate(lists)
            ]
    return [FileRender(template, path)]


def _once_files(trees: Iterable[Path]) -> list[FileRender]:
    """The files below backends/torch_<vendor>, which are made once and then belong to people."""
    return [
        FileRender(template, template.removeprefix(_ONCE).removesuffix(_SUFFIX))
        for template in templates_of(trees)
        if template.startswith(_ONCE)
    ]
