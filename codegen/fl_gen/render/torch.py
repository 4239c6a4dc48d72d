"""The files of a PyTorch package: which template makes which file, under which condition, with what context.

As for InfiniTrain, a template's path mirrors the path of the file it makes: every `*.j2` below `templates/torch/` is
rendered to the same place under `generated/torch_<vendor>/`, with `{vendor}` and `{ccl}` in names replaced. The
exceptions are data: what needs a group or an operation of the SDK, or a feature of PyTorch, and what stands for each
shard of a list of ops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fl_gen.render.environment import FileRender, TemplateError
from fl_gen.render.formatter import TreeFormatter
from fl_gen.render.infinitrain import (
    OUTPUT_NAME,
    Rendered,
    base_context,
    in_context,
    mark,
    once_files,
    require_apart,
    templates_of,
)
from fl_gen.render.torch_view import TorchView
from fl_gen.render.tree import TreeRender
from fl_gen.resolve.model import Backend
from fl_gen.resolve.torch_ops import fallback_shards
from fl_gen.schema.errors import Diagnostic, SchemaError
from fl_gen.schema.name import Name

if TYPE_CHECKING:
    from fl_gen.render.incremental import KeptTexts

FRAMEWORK = "torch"
_SUFFIX = ".j2"
# What makes no output by its path: macro libraries, and what people ask for one by one.
_LIBRARIES = ("_macros/", "scaffold/")
_ONCE = "backends/"
# A file whose path contains the key is made only if the SDK has the group.
_NEEDS_GROUP = {"{ccl}": "ccl", "csrc/distributed/": "ccl", "module_distributed": "ccl", "/distributed.py": "ccl"}
_NEEDS_GROUP |= {"tests/test_distributed": "ccl"}
# What is made only if there are hand-written kernels in C++.
_NEEDS_NATIVE = ("csrc/aten/register_native.", "csrc/aten/native_kernels.")
# What is made only if an operator has a kernel for the device at all.
_NEEDS_KERNELS = ("tests/test_kernels.",)
# A file whose path contains the key is made only if one of these operations of op libraries serves an operator.
_PRODUCTS = ("library.gemm", "library.gemm_strided_batched")
_NEEDS_ONE_OF = {"csrc/aten/library.": (*_PRODUCTS, "library.cast"), "csrc/aten/library_products.": _PRODUCTS}
# A template whose path contains this is rendered last, once for each list of operators that no other file registers:
# `shard` is the list, `number` its number.
_SHARD = "{shard}"
NATIVE = "csrc/aten/register_native.cc"
_LIBRARY = re.compile(
    r"^TORCH_LIBRARY_IMPL\(\s*aten,\s*PrivateUse1,\s*(?P<module>\w+)\) \{\n(?P<body>.*?)^\}", re.MULTILINE | re.DOTALL
)


def render_torch(
    backend: Backend,
    torch: TorchView,
    roots: Sequence[Path],
    cache: Path | None = None,
    formatter: TreeFormatter | None = None,
    kept: KeptTexts | None = None,
) -> Rendered:
    """Render every file of `backend`. All as for `render_infinitrain`; `formatter` must format Python too."""
    trees = trees_of(roots)
    context = torch_context(backend, torch)
    files = torch_files(backend, torch, trees)
    tree = TreeRender(trees, partial(mark, framework=FRAMEWORK), cache, formatter, kept, registered_in)
    first = unsharded(files)
    tree.generate(in_context(file, context) for file in first)
    sharded = shard_files(files, torch, tree.found)
    tree.generate(in_context(file, context) for file in sharded)
    tree.once(in_context(file, context) for file in once_files(trees))
    generated, once, work = tree.finish()
    return Rendered(generated, once, {file.path: (file.template, file.nodes) for file in (*first, *sharded)}, work)


def trees_of(roots: Sequence[Path]) -> tuple[Path, ...]:
    """The folders of this framework's templates in some roots, of those that have one."""
    return tuple(root / FRAMEWORK for root in roots if (root / FRAMEWORK).is_dir())


def shard_files(files: Sequence[FileRender], torch: TorchView, found: Mapping[str, Sequence[str]]) -> list[FileRender]:
    """The files of `files` that are made for shards: what the other files register, by path in `found`, is in none.

    Raises TemplateError when two files do not go together, and what `registrations` raises.
    """
    shards = fallback_shards(torch.ops, registrations(found, torch))
    sharded = [part for file in files if _SHARD in file.path for part in _parts(file, shards)]
    require_apart([*unsharded(files), *sharded])
    return sharded


def unsharded(files: Iterable[FileRender]) -> list[FileRender]:
    """The files of `torch_files` that are made as they are."""
    return [file for file in files if _SHARD not in file.path]


def registered_in(path: str, text: str) -> list[str]:
    """The operators that the text of one file registers for the device."""
    if not path.endswith(".cc"):
        return []
    return [
        name
        for block in _LIBRARY.finditer(text)
        for name in re.findall(rf'\b{block["module"]}\.impl\(\s*"([^"]+)"', block["body"])
    ]


def registrations(found: Mapping[str, Sequence[str]], torch: TorchView) -> dict[str, str]:
    """The operators that files register for the device, each with its file; `found` are those of each file.

    The dispatcher keeps the last of two registrations of one operator, with nothing but a warning, so two are an error:
    SchemaError when one is a hand-written kernel's, else TemplateError.
    """
    files: dict[str, str] = {}
    for path, names in found.items():
        for name in names:
            if name in files:
                _twice(f"aten::{name}", sorted({files[name], path}), torch)
            files[name] = path
    return files


def _twice(name: str, paths: Sequence[str], torch: TorchView) -> None:
    """Raise the error about two registrations of one operator."""
    kernel = torch.op(name).kernel if torch.has_op(name) else None
    if kernel is not None:
        message = f"{name} is registered for the device in {' and '.join(p for p in paths if p != NATIVE)} already"
        hint = f"remove the entry; a kernel in Python may come before it: torch_{torch.device}.register_op"
        raise SchemaError([Diagnostic(kernel.op.location, message, hint, length=len(name), rule="kernel")])
    raise TemplateError(
        f"{name} is registered twice for the device, in {' and '.join(paths)}\n  = remove one of the registrations"
    )


def torch_context(backend: Backend, torch: TorchView) -> dict[str, Any]:
    """What every template sees. `v` is the name of the device type, which is the vendor's if PyTorch allows that."""
    context = base_context(backend)
    del context["fw"], context["ops"]
    tree = f"{FRAMEWORK}_{backend.vendor.name.snake}"
    return {**context, "v": torch.device, "torch": torch, "tree": tree}


def torch_files(backend: Backend, torch: TorchView, trees: Iterable[Path]) -> list[FileRender]:
    """Every file below generated/torch_<vendor>; one for each shard still has {shard} in its path.

    Raises TemplateError when two of them do not go together.
    """
    names = {"vendor": torch.device.snake}
    if backend.has_group("ccl"):
        names["ccl"] = Name.of(str(backend.vendor.groups["ccl"].name)).snake
    found = []
    for template in templates_of(trees):
        if template.startswith((*_LIBRARIES, _ONCE)) or not _wanted(template, backend, torch):
            continue
        path = template.removesuffix(_SUFFIX)
        for key, value in names.items():
            path = path.replace("{" + key + "}", value)
        if not OUTPUT_NAME.fullmatch(path.replace(_SHARD, "0")):
            raise TemplateError(
                f"{template!r}: this template makes no usable file name\n"
                "  = letters, digits and _ . + - /, with {vendor}, {ccl} and {shard} as placeholders, and then "
                f"{_SUFFIX}"
            )
        found.append(FileRender(template, path))
    require_apart(found)
    return found


def _wanted(template: str, backend: Backend, torch: TorchView) -> bool:
    if template.startswith(_NEEDS_KERNELS) and not torch.kernels:
        return False
    if template.startswith(_NEEDS_NATIVE) and not torch.native:
        return False
    if any(key in template and not backend.has_group(group) for key, group in _NEEDS_GROUP.items()):
        return False
    return not any(
        key in template and not any(torch.library(operation) for operation in operations)
        for key, operations in _NEEDS_ONE_OF.items()
    )


def _parts(file: FileRender, shards: Mapping[int, Sequence[str]]) -> list[FileRender]:
    """The files that one template makes, one for each shard."""
    return [
        FileRender(file.template, file.path.replace(_SHARD, str(number)), {"shard": shard, "number": number})
        for number, shard in shards.items()
    ]
